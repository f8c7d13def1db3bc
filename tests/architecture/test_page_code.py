"""The page's code is really checked: planted faults are refused, and no file is left out."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.page import shapes, words

ROOT = Path(__file__).parents[2]
Tool = list[str | Path]
WEB, TOOLS = Path("src/sayso/service/web"), Path("tools/page")
NODE, MODULES = ROOT / ".venv/bin/node", ROOT / ".venv/page/node_modules"
BIOME: Tool = [
    MODULES / "@biomejs/biome/bin/biome",
    "check",
    f"--config-path={TOOLS}",
    "--error-on-warnings",
    WEB,
]
TSC: Tool = [MODULES / "typescript/bin/tsc", "--pretty", "false", "--project"]
PAGE: Tool = [*TSC, TOOLS / "tsconfig.json"]
WORKERS: Tool = [*TSC, TOOLS / "workers.json"]

MAY_IMPORT = {
    "lib": {"lib"},
    "live": {"lib", "live"},
    "question": {"lib", "question"},
    "proposal": {"lib", "question", "proposal"},
    "pages": {"lib", "question", "proposal", "pages"},
}


def run(tool: Tool, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """One of the tools, as `make lint` installed it, on the copy in this folder."""
    command = [str(part) for part in (NODE, *tool, *more)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the page and of what checks it."""
    for folder in (WEB, TOOLS):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def plant(copy: Path, file: str, line: str) -> None:
    with (copy / WEB / file).open("a", encoding="utf-8") as planted:
        planted.write(f"{line}\n")


def wrong_imports(web: Path) -> Iterator[str]:
    """Imports against the order of the rooms: pages stand on question, and both on lib."""
    for file in sorted(web.glob("*/*.js")):
        for name in re.findall(r"from \"(\.[^\"]+)\"", file.read_text(encoding="utf-8")):
            room = (file.parent / name).resolve().relative_to(web.resolve()).parts[0]
            if room not in MAY_IMPORT[file.parent.name]:
                yield f"{file.relative_to(web)}: {name}"


@pytest.mark.parametrize("tool", [BIOME, PAGE, WORKERS], ids=["biome", "page", "workers"])
def test_the_page_has_no_fault(copy: Path, tool: Tool) -> None:
    done = run(tool, copy)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("tool", "file", "line", "fault"),
    [
        (BIOME, "lib/time.js", "export const soon = now() == 1;", "noDoubleEquals"),
        (BIOME, "lib/time.js", 'import { h } from "./dom.js";', "noUnusedImports"),
        (BIOME, "lib/time.js", "export  const  soon = 1", "format"),
        (PAGE, "lib/time.js", 'clock("soon");', "TS2345"),
        (PAGE, "lib/time.js", "export const twice = (seconds) => 2 * seconds;", "TS7006"),
        (PAGE, "pages/audit.js", 'get("/v1/audit").then((told) => told.entires);', "TS2551"),
        (PAGE, "pages/audit.js", 'post("/v1/policy/diff", { txt: "" });', "TS2561"),
        (PAGE, "question/list.js", 'h("p", {}, new Map());', "TS2345"),
        (WORKERS, "sw.js", 'fresh("/", "/");', "TS2345"),
        (WORKERS, "live-worker.js", "tell({ live: 1, every: 5 });", "TS2322"),
    ],
)
def test_a_planted_fault_is_refused(copy: Path, tool: Tool, file: str, line: str, fault: str) -> None:
    plant(copy, file, line)
    done = run(tool, copy)
    assert done.returncode != 0
    assert fault in done.stdout + done.stderr


def test_every_script_is_checked() -> None:
    listed = run(PAGE, ROOT, "--listFilesOnly").stdout + run(WORKERS, ROOT, "--listFilesOnly").stdout
    scripts = {str(path.relative_to(ROOT)) for path in (ROOT / WEB).rglob("*.js")}
    assert scripts == {script for script in scripts if script in listed}
    assert len(scripts) > 30


def test_the_types_of_the_page_are_those_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails: `python -m tools.page.shapes`, and `make lint` shows what the page has to change."""
    written = shapes.FILE.read_text(encoding="utf-8")
    assert shapes.shapes() == written
    monkeypatch.setattr(shapes, "ASKS", shapes.ASKS[1:])
    assert shapes.shapes() != written


def test_the_words_the_page_has_for_answers_and_states_are_those_of_the_gate() -> None:
    """If this fails: `python -m tools.page.words`."""
    assert words.script() == words.FILE.read_text(encoding="utf-8")
    tables = [table for _, table in words.TABLES.values()]
    told = {text for table in tables for key, text in table.items() if " " in text and key != "pending"}
    again = [
        (file.name, text)
        for file in sorted((ROOT / WEB).glob("*/*.js"))
        for text in told
        if file != words.FILE and re.search(rf'"{text}"', file.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert again == []


def test_the_rooms_of_the_page_import_in_one_direction(copy: Path) -> None:
    assert list(wrong_imports(ROOT / WEB)) == []
    plant(copy, "lib/time.js", 'import { view } from "../pages/audit.js";')
    plant(copy, "question/card.js", 'import "./bar.js"; import { view } from "../app.js";')
    found = list(wrong_imports(copy / WEB))
    assert found == [
        "lib/time.js: ../pages/audit.js",
        "question/card.js: ../app.js",
    ]


def test_every_button_looks_like_one() -> None:
    """Without a class, a button is bare text."""
    bare = [
        f"{file.name}: {text}"
        for file in sorted((ROOT / WEB).glob("*/*.js"))
        for text in re.findall(r'\bact\(\s*"([^"]*)",\s*\{\s*\}', file.read_text(encoding="utf-8"))
    ]
    assert bare == []
