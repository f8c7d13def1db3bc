"""The documentation points to files, headings and code that exist."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import sayso.core
from tests.support.repository import ROOT
from tests.support.rows import each_row

PAGES = sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"`([\w-]+/[\w./-]+\.(?:py|md|yaml|json|txt))`")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = [line.strip().strip("|").split("|") for line in GLOSSARY.splitlines() if line.startswith("| ")]
NAMES = sorted({name for row in ROWS if len(row) == 3 for name in re.findall(r"`([\w.]+)`", row[2])})
CORE = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(sayso.core.__path__, "sayso.core.")
    if not module.ispkg
]


def exists(name: str) -> bool:
    """Return whether this is a name of core, with or without a member, a module, or a name in a module."""
    first, _, member = name.partition(".")
    for module in CORE:
        found = getattr(module, first, None)
        if found is not None and (not member or has_member(found, member)):
            return True
    path, _, last = name.rpartition(".")
    return is_module(f"sayso.{name}") or (
        bool(path) and is_module(f"sayso.{path}") and hasattr(importlib.import_module(f"sayso.{path}"), last)
    )


def is_module(path: str) -> bool:
    """Return whether this can be imported, whatever other tests have imported before."""
    try:
        return importlib.import_module(path) is not None
    except ModuleNotFoundError:
        return False


def has_member(kind: object, member: str) -> bool:
    return hasattr(kind, member) or member in getattr(kind, "__struct_fields__", ())


def test_the_glossary_names_code() -> None:
    assert len(NAMES) > 30
    assert not exists("Request.nothing")
    assert not exists("gate.nowhere.Surface")


@each_row("name", NAMES)
def test_no_word_points_to_code_that_is_gone(name: str) -> None:
    assert exists(name)


def anchors_in(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere in this repository."""
    dead = []
    for link in LINK.findall(text):
        path, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors_in(target)):
            dead.append(link)
    return dead


@each_row("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_of_a_page_leads_nowhere(page: Path) -> None:
    assert dead_links(page, page.read_text(encoding="utf-8")) == []


def test_a_dead_link_would_be_noticed() -> None:
    page = ROOT / "README.md"
    assert dead_links(
        page, "[a](docs/nowhere.md) [b](docs/policy.md#nothing) [c](docs/policy.md#presets)"
    ) == [
        "docs/nowhere.md",
        "docs/policy.md#nothing",
    ]


def pages_to_find(*left_out: str) -> set[Path]:
    """The pages that a reader comes to from README; links on pages that are left out are not followed."""
    found: set[Path] = set()
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        found.add(page)
        links = [] if page.name in left_out else LINK.findall(page.read_text(encoding="utf-8"))
        targets = {(page.parent / link.partition("#")[0]).resolve() for link in links}
        ahead += [one for one in targets if one in PAGES and one not in found]
    return found


def test_a_reader_finds_every_page_from_the_readme() -> None:
    assert set(PAGES) - pages_to_find("CHANGELOG.md") == set()
    assert ROOT / "docs" / "adr" / "0001-one-pure-decision.md" not in pages_to_find("README.md")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_no_page_names_a_file_that_is_gone(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    places = (ROOT, ROOT / "src" / "sayso")
    assert [path for path in PATH.findall(text) if not any((place / path).exists() for place in places)] == []


def unnamed_rooms(page: str) -> list[str]:
    """Return the rooms of the source, and the suites, that the tables of CONTRIBUTING leave out."""
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([\w/]+)`", row)}
    source = ROOT / "src" / "sayso"
    rooms = [path.relative_to(source) for path in (*source.glob("*/"), *source.glob("*/*/")) if path.is_dir()]
    suites = [path.relative_to(ROOT) for path in (ROOT / "tests").glob("*/") if path.is_dir()]
    found = [str(one) for one in (*rooms, *suites) if not one.name.startswith("_")]
    return sorted(one for one in found if one not in named and one.rpartition("/")[2] not in named)


def test_every_room_and_suite_is_in_the_tables() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert unnamed_rooms(page) == []
    assert unnamed_rooms(page.replace("`gate/hindsight`", "").replace("`tests/crash`", "")) == [
        "gate/hindsight",
        "tests/crash",
    ]


def test_the_page_about_logging_names_every_field_of_a_record() -> None:
    source = (ROOT / "src" / "sayso" / "gate" / "telemetry.py").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "logging.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`sayso_(\w+)`", page))
    assert named == set(re.findall(r"%\((\w+)\)s", source))
    assert len(named) > 15
