"""Options of a program: what is abbreviated, and what an option takes as its value."""

from __future__ import annotations

from sayso.reading.shell.programs.options import Argument, Option, OptionTable, parse_options
from sayso.reading.shell.value import Value
from tests.support.rows import each_row

NAMED = {one.name: one for one in (Option("--strategy-option", ":"), Option("--verbose"), Option("-n", ":"))}


def problem(line: str, *, wary: bool = False) -> bool:
    words = tuple(Argument(Value(word), 0, 0) for word in line.split())
    return parse_options(OptionTable(NAMED, wary=wary), words).problem is not None


@each_row("line", ("--strategy-opt=x", "--strategy-o x", "--verb", "--strat=x"))
def test_the_beginning_of_an_option_is_that_option(line: str) -> None:
    assert not problem(line)


@each_row("line", ("--strategy=x", "--strategy x", "--v=x", "--verbosely"))
def test_whole_words_of_an_option_may_be_another_one(line: str) -> None:
    assert problem(line)


def test_a_value_with_a_dash_is_refused_where_programs_differ_in_what_they_take_it_for() -> None:
    assert not problem("-n --config=x")
    assert problem("-n --config=x", wary=True)
    assert problem("--strategy-option -x", wary=True)
    assert not problem("-n x --strategy-option=-x", wary=True)
