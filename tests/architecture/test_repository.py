"""What a stranger gets: plain pins, and no trace of the machine a file was written on."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.repository import ROOT

MADE = {
    ".git", ".hypothesis", ".import_linter_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv",
    ".venv-bench", "__pycache__", "build", "dist", "mutants", "node_modules",
}  # fmt: skip

# Folders of people. Examples in tests and documents are about people who do not exist.
NOBODY = r"(?!(?:ana|alex|dev|me|user|you)\b)"
HOMES = re.compile(rf"/(?:home|Users)/{NOBODY}\w+|/root[/]|[A-Z]:\\+Users\\+{NOBODY}\w+")
TYPED_NAME = re.compile(r"[A-Za-z0-9._/@-]+")
PIN = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+")


def files(folder: Path = ROOT) -> Iterator[Path]:
    """Every file of the repository, without what make or git made."""
    for path in sorted(folder.iterdir()):
        if path.name in MADE or path.name.endswith(".egg-info"):
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def traces(text: str, root: Path = ROOT) -> list[str]:
    """The places in a text that tell of one machine."""
    found = HOMES.findall(text)
    # A root directly below `/` is a word that any text may hold.
    if len(root.parts) > 2 and str(root) in text:
        found.append(str(root))
    return found


RUNTIME, BENCH = "constraints.txt", "bench/constraints.txt"


def pins(file: str = RUNTIME) -> dict[str, str]:
    """Package name in its normal form to the line that pins it."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return {normal(line.partition("==")[0]): line for line in lines if not line.startswith("#")}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(*, bench: bool = False) -> list[str]:
    """Every package that pyproject.toml names, for running, building and each extra; or for measuring."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    extras = project["project"]["optional-dependencies"]
    lines += [line for name, extra in extras.items() for line in extra if (name == "bench") is bench]
    return sorted({normal(re.split(r"[^\w.-]", line)[0]) for line in lines})


def test_no_file_has_a_name_that_nobody_would_type() -> None:
    """A program that takes a wrong text for a file's name leaves such a file behind."""
    names = [str(path.relative_to(ROOT)) for path in files()]
    assert len(names) > 500
    assert [name for name in names if not TYPED_NAME.fullmatch(name)] == []


def test_no_file_tells_of_the_machine_it_was_written_on() -> None:
    texts = {path: path.read_bytes().decode("utf-8", "replace") for path in files()}
    assert Path(__file__) in texts
    assert {str(path): traces(text) for path, text in texts.items() if traces(text)} == {}


@pytest.mark.parametrize("path", ["home/kim/x", "Users/kim/x", "root/.ssh", "srv/checkout/sayso/src"])
def test_a_trace_of_a_machine_is_found(path: str) -> None:
    assert traces(f"see /{path}", root=Path("/srv/checkout/sayso")) != []


@pytest.mark.parametrize("file", [RUNTIME, BENCH])
def test_a_pin_is_a_name_and_one_exact_version(file: str) -> None:
    assert [line for line in pins(file).values() if not PIN.fullmatch(line)] == []


@pytest.mark.parametrize(("file", "bench"), [(RUNTIME, False), (BENCH, True)])
def test_every_package_we_name_is_pinned(file: str, bench: bool) -> None:
    assert "msgspec" in required(bench=bench)
    assert [name for name in required(bench=bench) if name not in pins(file)] == []


def test_what_we_are_measured_against_holds_nothing_back_that_we_run_on() -> None:
    peers = set(required(bench=True)) - set(required())
    assert {"oso", "casbin", "cedarpy", "permitd", "ctrlrun"} <= peers
    assert peers & set(pins()) == set()
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert make.count(".[bench]") == 1
    assert ".[bench],.venv-bench,bench/constraints.txt" in make
