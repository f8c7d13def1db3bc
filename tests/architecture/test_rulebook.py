"""Nobody keeps a list of rule names beside the rulebook, and what the pages and tables name is a rule."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import sayso
from sayso.core import rulebook
from sayso.core.audit.events import BY_RULE
from sayso.core.deciding import rules
from sayso.core.deciding.rules import RULES, START_RULES
from tests.support.rows import each_row

SOURCE = Path(sayso.__file__).parent
FILES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "rulebook.py")


def named(node: ast.AST) -> Iterator[str]:
    """The rules that this node names by a literal: compared with a rule, or given as one."""
    if isinstance(node, ast.Compare) and _is_rule(node.left):
        yield from (text for side in node.comparators for text in _literals(side))
    if isinstance(node, ast.keyword) and node.arg == "rule":
        yield from _literals(node.value)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Ruling", "Decision") and node.args:
        yield from (text for text in _literals(node.args[1]))


def _is_rule(node: ast.expr) -> bool:
    return getattr(node, "attr", getattr(node, "id", "")) == "rule"


def _literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Tuple | ast.Set | ast.List):
        for each in node.elts:
            yield from _literals(each)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def lists_of_rules(tree: ast.AST) -> Iterator[list[str]]:
    """Collections of three literals or more that are all names of rules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.Set | ast.List):
            found = [text for each in node.elts for text in _literals(each)]
        elif isinstance(node, ast.Dict):
            found = [text for each in node.keys if each is not None for text in _literals(each)]
        else:
            continue
        if len(found) >= 3 and set(found) <= set(rulebook.ROWS):
            yield found


@each_row("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_names_a_rule_but_by_its_row(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert [text for node in ast.walk(tree) for text in named(node)] == []
    assert list(lists_of_rules(tree)) == []


def test_a_planted_name_and_a_planted_list_would_be_noticed() -> None:
    tree = ast.parse(
        'no = x.rule in ("blocked",)\nMINE = frozenset({"plan", "safe", "risky"})\nf(rule="ask")'
    )
    assert [text for node in ast.walk(tree) for text in named(node)] == ["blocked", "ask"]
    assert list(map(sorted, lists_of_rules(tree))) == [["plan", "risky", "safe"]]


def test_each_check_bears_the_name_of_its_rule_and_none_is_left_out() -> None:
    pairs = (*RULES, START_RULES[-1])
    assert [check.__name__ for _, check in pairs] == [f"check_{rule.name}" for rule, _ in pairs]
    checks = {name for name in vars(rules) if name.startswith("check_")}
    assert {check.__name__ for _, check in pairs} == checks


def test_each_check_rules_in_its_own_name() -> None:
    tree = ast.parse(Path(str(rules.__file__)).read_text("utf-8"))
    for function in (one for one in tree.body if isinstance(one, ast.FunctionDef)):
        if function.name.startswith("check_"):
            assert {_row(node) for node in ast.walk(function)} - {None} <= {function.name[6:].upper()}


def _row(node: ast.AST) -> str | None:
    """The row that this node takes from the rulebook."""
    of_book = isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "rulebook"
    return node.attr if of_book and isinstance(node, ast.Attribute) else None


def test_each_row_is_called_what_it_is_named() -> None:
    rows = {name: row for name, row in vars(rulebook).items() if isinstance(row, rulebook.Rule)}
    assert {name.lower(): row for name, row in rows.items()} == rulebook.ROWS


def test_events_of_their_own_belong_to_rules() -> None:
    assert BY_RULE.keys() <= set(rulebook.ROWS)
    assert BY_RULE


def test_the_page_names_no_rule_that_is_not_one() -> None:
    text = "".join(path.read_text("utf-8") for path in (SOURCE / "service/web").rglob("*.js"))
    found = re.findall(r"\.rule [!=]== \"(\w+)\"", text)
    assert found
    assert set(found) <= set(rulebook.ROWS)
