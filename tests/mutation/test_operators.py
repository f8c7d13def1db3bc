"""The mutants that a source has: each kind of fault is made, and what is for people is left alone."""

from __future__ import annotations

import ast

import pytest

from tests.mutation.checks import FILES, READING, SLOW
from tests.mutation.operators import mutants
from tests.support.repository import ROOT


def changes(source: str) -> set[str]:
    return {f"{mutant.before} -> {mutant.after}" for mutant in mutants("some", source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a > b", {"a > b -> a >= b", "a > b -> a <= b"}),
        ("x = a is None", {"a is None -> a is not None"}),
        ("x = a and b", {"a and b -> a or b", "a and b -> a", "a and b -> b"}),
        ("x = not a", {"not a -> a"}),
        ("x = b if a else c", {"b if a else c -> b", "b if a else c -> c"}),
        ("if a:\n    b = c", {"if a -> if True", "if a -> if False"}),
        ("x = 15", {"15 -> 16", "15 -> 14"}),
        ("x = True", {"True -> False"}),
        ("x = 'task'", {"'task' -> 'not task'"}),
        ("x = (a, b)", {"(a, b) -> (b,)", "(a, b) -> (a,)"}),
        ("x = Risk.HIGH", {"Risk.HIGH -> Risk.MODERATE"}),
        ("x = ASK", {"ASK -> ALLOW"}),
        ("f(a=b)", {"f(a=b) -> f()", "f(a=b) -> pass"}),
        ("x = [a for a in b if c]", {"for a in b if c -> for a in b"}),
    ],
)
def test_each_kind_of_fault_is_made(source: str, expected: set[str]) -> None:
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "import a",
        "'What it promises.'",
        "x = 'a sentence for people'",
        "raise E('no', hint=1 > 2)",
        "if TYPE_CHECKING:\n    import a",
        "x: Literal['a', 'b']",
    ],
)
def test_what_is_for_people_or_the_type_checker_is_left_alone(source: str) -> None:
    assert changes(source) == set()


def test_a_mutant_is_the_whole_file_with_one_fault_and_a_name_that_other_lines_do_not_alter() -> None:
    source = "def f(a):\n    return a\n\n\ndef g(b):\n    return b > 1 or b > 1\n"
    found = {mutant.key: ast.unparse(mutant.tree) for mutant in mutants("some", source)}
    assert found["some.g: b > 1 -> b >= 1 (#2)"] == ast.unparse(ast.parse(source)).replace(
        "or b > 1", "or b >= 1"
    )
    assert set(found) >= {mutant.key for mutant in mutants("some", source.partition("\n\n\n")[2])}


def test_every_test_that_has_to_notice_a_mutant_exists() -> None:
    named = {file for files in (*FILES.values(), READING, SLOW) for file in files}
    assert {file for file in named if not (ROOT / file).is_file()} == set()
