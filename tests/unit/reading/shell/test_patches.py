"""Command lines that apply patches: the files are read from them, each is judged by what is done to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.core.model import Risk
from tests.support.shell_lines import Reader

ENVELOPE = "*** Begin Patch\n*** {} File: {}\n+x\n*** End Patch"
DIFF = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n"
LINES = (
    "git apply x.patch",
    "git apply -p1 x.patch",
    "git apply -R x.patch",
    "patch -p1 -i x.patch",
    "patch -p1 src/a.py x.patch",
    "patch -i x.patch",
)
APPLYING = (
    "apply_patch <<'EOF'\n{}\nEOF",
    "applypatch <<'EOF'\n{}\nEOF",
    "apply_patch '{}'",
    "apply_patch <<< '{}'",
)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    (tmp_path / "work" / "src").mkdir(parents=True)
    return Reader((tmp_path / "work").resolve(), tmp_path.resolve())


def write(reader: Reader, text: str) -> None:
    (Path(reader.where.workspace) / "x.patch").write_text(text)


@pytest.mark.parametrize("line", LINES)
def test_a_patch_of_ordinary_files_is_an_edit(reader: Reader, line: str) -> None:
    write(reader, DIFF.format("src/a.py"))
    assert reader.risk(line) is Risk.MODERATE


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("path", ["AGENTS.md", "src/.claude/settings.json"])
def test_a_patch_of_a_guarded_file_is_blocked(reader: Reader, line: str, path: str) -> None:
    for text in (
        DIFF.format(path),
        f"> {DIFF.format(path)}",
        f"{DIFF.format('src/a.py')}@@ ... @@\n {path}\n",
    ):
        write(reader, text)
        assert any(one.barred for one in reader.read(line).findings), text


@pytest.mark.parametrize(
    "line",
    [
        "git apply --recount x.patch",
        "git apply -p x x.patch",
        "patch -d src -p1 -i x.patch",
        "patch -n -p1 -i x.patch",
        "git apply --directory=../.. x.patch",
        "git apply -p0 ../x.patch",
        "patch -p1",
        "apply_patch",
        'apply_patch "$PATCH"',
        "cat x.patch | apply_patch",
    ],
)
def test_a_patch_that_is_read_in_another_way_is_high_risk(reader: Reader, line: str) -> None:
    write(reader, DIFF.format("src/a.py"))
    assert reader.risk(line) is Risk.HIGH


@pytest.mark.parametrize("line", APPLYING)
def test_the_patches_of_codex_are_read_in_shell_lines(reader: Reader, line: str) -> None:
    assert reader.risk(line.format(ENVELOPE.format("Add", "src/a.py"))) is Risk.MODERATE
    assert reader.risk(line.format(ENVELOPE.format("Add", "../../a.py"))) is Risk.HIGH
    assert reader.risk(line.format(ENVELOPE.format("Create", "src/a.py"))) is Risk.HIGH
    assert reader.risk(line.format("see src/a.py")) is Risk.HIGH
    for text in (ENVELOPE.format("Add", "AGENTS.md"), ENVELOPE.format("Create", "AGENTS.md")):
        assert any(one.barred for one in reader.read(line.format(text)).findings), text


def test_a_reversed_patch_deletes_what_it_made(reader: Reader) -> None:
    write(reader, "--- /dev/null\n+++ b/src/a.py\n@@ -0,0 +1 @@\n+x\n")
    assert {one.operation for one in reader.read("git apply x.patch").findings} >= {"files.write"}
    assert {one.operation for one in reader.read("git apply -R x.patch").findings} >= {"files.delete"}
