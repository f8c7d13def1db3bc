"""Units of time, waits, lists of states, ids and other constants are written down once."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import sayso
from sayso.core import ledger
from sayso.core.model import Tier
from sayso.reading.urls import LOOPBACK
from tests.support.rows import each_row

SOURCE = Path(sayso.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
ID = re.compile(r'f"\{[\w.]+\}\.[gqtp]\{')
UNIT = re.compile(r"\b(?:3_?600|7_?200|86_?400)(?:\.0)?\b|24 \* 60|^(?:MINUTE|HOUR|DAY) =", re.MULTILINE)
WAIT = re.compile(r"= 90\.0\b|[=(,] ?600(?:\.0)?\b")
LISTS: dict[str, Iterable[str]] = {
    "core/ledger.py NOT_STARTED": ledger.NOT_STARTED,
    "core/ledger.py IN_PROGRESS": ledger.IN_PROGRESS,
    "core/ledger.py AWAITING": ledger.AWAITING,
    "core/ledger.py NOT_OVER": ledger.NOT_OVER,
    "core/ledger.py RESOLUTIONS": ledger.RESOLUTIONS,
    "core/ledger.py OUTCOMES": ledger.OUTCOMES,
    "core/ledger.py STATES": ledger.STATES,
    "core/model.py Tier": [tier.value for tier in Tier],
    "reading/urls.py LOOPBACK": LOOPBACK,
}
"""Lists that have a name. Whoever means one of them imports it from its file."""
OF_EACH_FILE = {
    "FOUND",
    "LONGEST",
    "LOOK_AGAIN",
    "MOST",
    "MOST_KNOWN",
    "PAGE",
    "CASE_BLIND",
    "P",
    "R",
    "S",
    "T",
}
"""Sizes and rests that each file chooses for itself, flags, and type variables."""


def literal_lists(tree: ast.Module) -> Iterator[frozenset[str]]:
    """Every tuple, list or set of texts that is written out, but for the members of a `Literal`."""
    types = {
        id(node.slice)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal"
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and id(node) not in types:
            texts = [one.value for one in node.elts if isinstance(one, ast.Constant)]
            if len(texts) == len(node.elts) > 1 and all(isinstance(one, str) for one in texts):
                yield frozenset(map(str, texts))


def retyped_lists(tree: ast.Module) -> list[str]:
    """The named lists that are written out again."""
    named = {frozenset(members): name for name, members in LISTS.items()}
    return [named[found] for found in literal_lists(tree) if found in named]


def retyped_constants(modules: Iterable[tuple[str, ast.Module]]) -> dict[str, list[str]]:
    """Constants that several modules define under the same name, with the same value."""
    where: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for path, tree in modules:
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id.strip("_")
                if name.isupper() and name not in OF_EACH_FILE:
                    where[name, ast.unparse(node.value)].append(path)
    return {name: paths for (name, _), paths in where.items() if len(paths) > 1}


@each_row("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nobody_writes_an_id_a_time_or_a_named_list_down_again(path: Path) -> None:
    text = path.read_text("utf-8")
    place = str(path.relative_to(SOURCE))
    assert path.name == "numbering.py" or not ID.findall(text)
    assert path.name == "durations.py" or not [*UNIT.findall(text), *WAIT.findall(text)]
    assert [name for name in retyped_lists(ast.parse(text)) if not name.startswith(f"{place} ")] == []


def test_no_constant_is_written_down_in_two_modules() -> None:
    read = ((str(path.relative_to(SOURCE)), ast.parse(path.read_text("utf-8"))) for path in FILES)
    assert retyped_constants(read) == {}


def test_what_is_written_down_twice_would_be_noticed() -> None:
    assert ID.findall('id=f"{session.id}.g{session.granted + 1}"')
    assert all(map(UNIT.findall, ("HOUR = 60", "x = 86_400.0", "y = 3600", "at + 7_200.0", "24 * 60")))
    assert all(map(WAIT.findall, ("PATIENCE = 90.0", "LONGEST = 600.0\n", "Option(max=600, min=0)")))
    again = ast.parse('if state in ("waiting", "pending"): ...\nHERE = {"localhost", "127.0.0.1", "::1"}')
    assert sorted(retyped_lists(again)) == ["core/ledger.py AWAITING", "reading/urls.py LOOPBACK"]
    assert retyped_lists(ast.parse('State = Literal["pending", "waiting"]')) == []
    one, other = ast.parse("FOLD_AT = 2_000"), ast.parse("_FOLD_AT = 2000")
    assert retyped_constants([("a.py", one), ("b.py", other)]) == {"FOLD_AT": ["a.py", "b.py"]}
