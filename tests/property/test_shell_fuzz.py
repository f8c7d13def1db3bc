"""Made-up command lines: nothing crashes or hangs, and no line made from a harmful command is low risk."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from sayso.core.model import Risk
from sayso.reading.shell.grammar.parse import parse_line
from sayso.reading.shell.grammar.plain import parse_plain, split_bare
from sayso.reading.shell.grammar.syntax import CannotTell, Command, Pipeline, Sequence, Simple
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.words import value_of_word
from tests.support.shell_lines import HARMFUL, Reader, tricks

LINES = 1_000_000 if os.environ.get("SAYSO_ALL") else 3_000
"""Lines that are read, half of them damaged in any way, half of them made from a harmful command."""
HARMLESS = (
    "ls -la",
    "cat notes.txt",
    "git status",
    "grep -n x f",
    "echo hi",
    "find . -name '*.py'",
    "head -5 f",
    "pwd",
    "wc -l f",
)
JOINTS = (" ; ", " && ", " || ", " | ", "\n", " & ", ";", "&&")
NOISE = "abz09 '\"\\$`(){}[]<>|&;*?~#!=-\n\t%^:@,.+\u200b\u00e9/"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    folder = tmp_path_factory.mktemp("home") / "work"
    (folder / "src").mkdir(parents=True)
    return Reader(Path(folder).resolve(), Path(folder).resolve().parent)


def _noise(chance: random.Random) -> str:
    return "".join(chance.choices(NOISE, k=chance.randint(1, 40)))


def _damaged(line: str, chance: random.Random) -> str:
    made = list(line)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(made) + 1)
        if chance.random() < 0.5 or not made:
            made.insert(at, chance.choice(NOISE))
        else:
            made.pop(min(at, len(made) - 1))
    return "".join(made)


def test_no_line_crashes_the_reading(reader: Reader) -> None:
    chance = random.Random(7)
    for _ in range(LINES // 2):
        parts = [chance.choice((*HARMLESS, *HARMFUL, _noise(chance))) for _ in range(chance.randint(1, 4))]
        line = _damaged(chance.choice(JOINTS).join(parts), chance)
        found = reader.read(line)
        assert found.findings
        assert not any("cannot be read (" in one.why for one in found.findings), (line, found.findings[0].why)
        assert all(0 <= one.start <= one.end <= len(line) for one in found.findings), line


def test_no_line_with_a_harmful_command_in_it_is_low(reader: Reader) -> None:
    chance = random.Random(11)
    hidden = [line for command in HARMFUL for line in tricks(command)]
    for _ in range(LINES // 2):
        parts = [chance.choice(HARMLESS) for _ in range(chance.randint(0, 3))]
        parts.insert(chance.randint(0, len(parts)), chance.choice((*HARMFUL, chance.choice(hidden))))
        line = (
            "\n".join(parts) if any("<<" in part for part in parts) else chance.choice(JOINTS[:6]).join(parts)
        )
        assert reader.risk(line) is not Risk.LOW, line


def _shape(command: Command) -> object:
    """What counts of a command: its words, their values and where they stand."""
    if isinstance(command, Simple):
        state = ShellState(("/w",), "/h")
        words = [(word.text, word.start, word.end, value_of_word(word, state)) for word in command.words]
        return (words, command.assignments, command.redirections, command.start, command.end)
    if isinstance(command, Pipeline):
        return [_shape(one) for one in command.commands]
    assert isinstance(command, Sequence)
    return [(joiner, _shape(one)) for joiner, one in command.items]


def _only_command(plain: Sequence) -> Simple:
    ((_, command),) = plain.items
    assert isinstance(command, Simple)
    return command


@pytest.mark.parametrize("line", ["a | b | c && d", "a | b | c || d | e | f && g", "x && a | b | c && d; e"])
def test_pipes_that_the_grammar_nests_are_one_row(line: str) -> None:
    plain = parse_plain(line)
    assert plain is not None
    assert _shape(plain) == _shape(parse_line(line))


def test_plain_lines_are_what_the_grammar_says(reader: Reader) -> None:
    chance = random.Random(13)
    pieces = (
        "ls",
        "-la",
        "a=b",
        "x.py",
        "'a b'",
        '"c d"',
        "&&",
        "||",
        "|",
        ";",
        "*.ts",
        "{}",
        "--x=1",
        "\\;",
        "./f",
        "HEAD~1",
        "HEAD^",
        "a=~b",
        "x:~/y",
        "~/z",
        "a:b",
        "1",
        "é",
        ">",
        "<",
        ">>",
        "2>&1",
        ">&2",
        "2>/dev/null",
        "&>out",
        "&>>",
        ">out.txt",
        "12>x",
        "A=1",
        "B=x/y",
        "C=",
        "D+=1",
        "E='x y'",
        "--in='x y'",
        "-f'z'",
        "x'y'",
        "$name",
        '"$name"',
        '"$a',
        '$b"',
        "~",
        "~x/y",
        "a;",
        "time",
        "export",
    )
    agreed = 0
    for _ in range(LINES):
        line = " ".join(chance.choices(pieces, k=chance.randint(1, 8)))
        plain = parse_plain(line)
        if plain is None:
            continue
        try:
            assert _shape(plain) == _shape(parse_line(line)), line
            bare = split_bare(line)
            assert bare is None or bare == [word.value for word in _only_command(plain).words], line
        except CannotTell:
            raise AssertionError(line) from None
        agreed += 1
    assert agreed > LINES // 20
