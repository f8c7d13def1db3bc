"""The compiled data is what the files beside it mean. Anything else is made again, never read."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from sayso.reading.shell.programs.shipped import COMPILED_FILE, FOLDER, load_compiled

DATA = b"operations: {x.look: {risk: low, why: looks}}\nprograms: {one two: {is: x.look}}\n"
OTHER = b'{"operations":{},"sets":{},"programs":{"stale":0},"entries":[{}]}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of one data file and the compiler."""
    (tmp_path / "few.yaml").write_bytes(DATA)
    shutil.copy(FOLDER / "compile.py", tmp_path)
    return tmp_path


def _names(folder: Path) -> set[str]:
    return set(json.loads(load_compiled(folder))["programs"])


def test_what_is_missing_is_made_and_kept(folder: Path) -> None:
    made = load_compiled(folder)
    assert set(json.loads(made)["programs"]) == {"one", "two"}
    assert (folder / COMPILED_FILE).read_bytes().endswith(b"\n" + made)
    assert sorted(one.name for one in folder.iterdir()) == ["compile.py", COMPILED_FILE, "few.yaml"]


def test_what_is_current_is_read_and_nothing_is_compiled(folder: Path) -> None:
    load_compiled(folder)
    kept = (folder / COMPILED_FILE).stat()
    load_compiled(folder)
    assert (folder / COMPILED_FILE).stat() == kept


def _edit(folder: Path) -> None:
    before = (folder / "few.yaml").stat()
    (folder / "few.yaml").write_bytes(DATA.replace(b"two", b"six"))
    os.utime(folder / "few.yaml", ns=(before.st_atime_ns, before.st_mtime_ns))  # as an archive has it


def _compile_otherwise(folder: Path) -> None:
    with (folder / "compile.py").open("a") as file:
        file.write("\n")


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (_edit, {"one", "six"}),
        (lambda folder: (folder / "few.yaml").rename(folder / "other.yaml"), {"one", "two"}),
        (lambda folder: (folder / "more.yaml").write_text("programs: {six: {}}"), {"one", "two", "six"}),
        (_compile_otherwise, {"one", "two"}),
    ],
)
def test_what_was_made_of_other_files_is_made_again(
    folder: Path, change: Callable[[Path], object], names: set[str]
) -> None:
    load_compiled(folder)
    _spoil(folder, lambda head, _: head[:64] + b" " + sha256(OTHER).hexdigest().encode() + b"\n" + OTHER)
    assert _names(folder) == {"stale"}, "what is kept for these files is read"
    change(folder)
    assert _names(folder) == names


def _spoil(folder: Path, change: Callable[[bytes, bytes], bytes]) -> None:
    head, _, body = (folder / COMPILED_FILE).read_bytes().partition(b"\n")
    (folder / COMPILED_FILE).write_bytes(change(head + b"\n", body))


@pytest.mark.parametrize(
    "change",
    [
        lambda head, body: b"",
        lambda head, body: head,
        lambda head, body: head + body[:-9],
        lambda head, body: head + body.replace(b"low", b"???"),
        lambda head, body: body,
        lambda head, body: b"\xff" + head + body,
    ],
    ids=["empty", "no data", "truncated", "one word changed", "no digests", "not a text"],
)
def test_what_is_damaged_is_made_again(folder: Path, change: Callable[[bytes, bytes], bytes]) -> None:
    whole = load_compiled(folder)
    _spoil(folder, change)
    assert load_compiled(folder) == whole
    assert (folder / COMPILED_FILE).read_bytes().endswith(b"\n" + whole)


def test_it_is_made_in_memory_where_it_cannot_be_kept(folder: Path) -> None:
    (folder / COMPILED_FILE).mkdir()
    assert _names(folder) == {"one", "two"}
    assert sorted(one.name for one in folder.iterdir()) == ["compile.py", COMPILED_FILE, "few.yaml"]


def test_an_installation_without_data_files_reads_what_the_build_made(folder: Path) -> None:
    made = load_compiled(folder)
    (folder / "few.yaml").unlink()
    assert load_compiled(folder) == made


def test_without_data_files_what_is_damaged_is_not_read(folder: Path) -> None:
    load_compiled(folder)
    (folder / "few.yaml").unlink()
    _spoil(folder, lambda head, body: head + body[:-9])
    assert _names(folder) == set()


def test_several_may_make_it_at_once(folder: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(load_compiled, [folder] * 8))
    assert made == {load_compiled(folder)}
    assert sorted(one.name for one in folder.iterdir()) == ["compile.py", COMPILED_FILE, "few.yaml"]
