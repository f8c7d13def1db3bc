"""The documentation points to files, headings and code that exist."""

from __future__ import annotations

import importlib
import importlib.util
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
    """Whether this is a name of core, with or without a member, or a module path with a name at its end."""
    first, _, member = name.partition(".")
    for module in CORE:
        found = getattr(module, first, None)
        if found is not None and (not member or has_member(found, member)):
            return True
    path, _, last = name.rpartition(".")
    try:
        if not path or hasattr(importlib.import_module(f"sayso.{path}"), last):
            return bool(path)
        return importlib.util.find_spec(f"sayso.{name}") is not None  # a module that nobody imported yet
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


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_no_page_names_a_file_that_is_gone(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    places = (ROOT, ROOT / "src" / "sayso")
    assert [path for path in PATH.findall(text) if not any((place / path).exists() for place in places)] == []
