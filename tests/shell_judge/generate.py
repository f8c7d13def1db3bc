"""Made-up command lines: line n of seed n, the same on every machine.

They come from a grammar, and from mutations of it. What harm is in them stays in the folder that they run in.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from tests.shell_judge.words_of_lines import (
    AROUND,
    AWK_ACTIONS,
    AWK_PATTERNS,
    BRANCHES,
    CALM,
    HARM,
    JOINTS,
    JQ,
    NOISE,
    OPERANDS,
    OPTIONS,
    REDIRECTIONS,
    SCRIPTED,
    SED_OPTIONS,
    SED_PARTS,
    SET,
    USE,
    WRAPS,
)

Make = Callable[[random.Random], str]
PROGRAMS = tuple(OPTIONS.items())


def make_line(seed: int) -> str:
    """The line of this seed."""
    chance = random.Random(seed)
    line = _maker(chance)(chance)
    if chance.random() < 0.12:
        line = f"{line}{chance.choice(JOINTS)}{_maker(chance)(chance)}"
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2))):
        line = chance.choices(MUTATIONS, WEIGHTS)[0](line, chance)
    return line


def _maker(chance: random.Random) -> Make:
    return chance.choices(tuple(MAKERS), tuple(MAKERS.values()))[0]


def _command(chance: random.Random) -> str:
    return chance.choice(CALM)


def _several(chance: random.Random) -> str:
    """Harmless commands, one after the other."""
    parts = [_command(chance)]
    for _ in range(chance.choice((0, 1, 1, 2))):
        parts += [chance.choice(JOINTS), _command(chance)]
    return "".join(parts)


def _hidden(chance: random.Random) -> str:
    """A harmful command where it is text, or seems to be."""
    harm = chance.choice(HARM) if chance.random() < 0.8 else _command(chance)
    around = chance.choice(AROUND)
    if chance.random() < 0.15:
        around = around.replace("CMD", chance.choice(AROUND), 1)
    return around.replace("CMD", harm)


def _branches(chance: random.Random) -> str:
    """Variables that are set in a branch or before it, and used."""

    def fill(found: re.Match[str]) -> str:
        pool = USE if found[0] == "C" else SET if chance.random() < 0.85 else CALM
        return chance.choice(pool)

    return re.sub(r"\b[ABC]\b", fill, chance.choice(BRANCHES))


def _words(chance: random.Random) -> str:
    """A program, and words of every spelling."""
    words = [chance.choice(PIECES)(chance) for _ in range(chance.randint(1, 4))]
    return f"args {' '.join(words)}"


def _piece(chance: random.Random) -> str:
    """A word of parts that are quoted in different ways."""
    quotes = ("{}", "'{}'", '"{}"', "\\{}", "$'{}'", '"{}', "{}'", '$"{}"')
    texts = (
        "a",
        "b c",
        "$x",
        "$HOME",
        "*",
        "~",
        "{a,b}",
        "\\n",
        "\\\\",
        "$(echo a)",
        "`echo b`",
        "#",
        "=",
        "é",
        "!",
        "${x:-c}",
        "\\x41",
        "\\",
        ";",
        "|",
        ">",
        "",
        "${x",
        "$((1+1))",
        "\\\n",
        "$",
    )
    return "".join(
        chance.choices(quotes, (8, 5, 5, 2, 2, 0.1, 0.1, 0.3))[0].format(chance.choice(texts))
        for _ in range(chance.choice((1, 1, 2, 3)))
    )


def _variable(chance: random.Random) -> str:
    return chance.choice([one.partition(" ")[2] for one in USE if one.startswith("args ")])


PIECES = (_piece, _piece, _variable)


def _program(chance: random.Random) -> str:
    """A program with options, some of which write or run something."""
    name, options = chance.choice(PROGRAMS)
    chosen = chance.choices(options.split("|"), k=chance.choice((1, 1, 2)))
    return " ".join(filter(None, (name, *chosen, chance.choice(OPERANDS)))).replace(" ;", " \\;")


def _awk(chance: random.Random) -> str:
    rules = [
        f"{chance.choice(AWK_PATTERNS)} {{ {'; '.join(chance.choices(AWK_ACTIONS, k=chance.choice((1, 1, 2))))} }}"
        for _ in range(chance.choice((1, 1, 2)))
    ]
    program = chance.choice((" ", "\n", "; ")).join(rules)
    for _ in range(chance.choice((0, 0, 1, 2))):
        program = _put_in(
            program,
            chance,
            ("\\\n", "\\\n", "\n", " ", "#", '"', "/", ";", "\\", "(", ")", ">", "|", "{", "}", ","),
        )
    options = chance.choice(
        ("", "", "", "-F, ", "-v x=1 ", "-v 'x=\\n' ", "-F '|' ", "-f names ", "-- ", "-W posix ")
    )
    return f"awk {options}{_quoted(program, chance)} {chance.choice(('a.txt', 'notes.txt', 'x=1 a.txt', '', '-'))}"


def _sed(chance: random.Random) -> str:
    script = chance.choice((";", ";", "\n", " ; ")).join(
        chance.choices(SED_PARTS, k=chance.choice((1, 1, 2, 3)))
    )
    if chance.random() < 0.4:
        script = _put_in(
            script, chance, ("\\\n", "\n", "\\", ";", "}", "{", " ", "#", "/", "w", "e", "[", "]")
        )
    option = chance.choice(("", "-n ", "-n ", "-e ", f"{chance.choice(SED_OPTIONS)} "))
    return f"sed {option}{_quoted(script, chance)} {chance.choice(('a.txt', 'notes.txt', 'a.txt b.txt', ''))}"


def _jq(chance: random.Random) -> str:
    option = chance.choice(
        (
            "",
            "",
            "-r ",
            "-n ",
            "-c ",
            "--arg x y ",
            "--rawfile x a.txt ",
            "-f names ",
            "-L sub ",
            "--args ",
            "-s ",
        )
    )
    return f"jq {option}{_quoted(chance.choice(JQ), chance)} data.json"


def _scripted(chance: random.Random) -> str:
    """A line in a word of another."""
    inner = chance.choice((_several, _hidden, _branches, _words))(chance)
    return f"{chance.choice(SCRIPTED)} {_quoted(inner, chance)}{chance.choice(('', '', ' x', ' x evil'))}"


def _redirected(chance: random.Random) -> str:
    """A redirection anywhere, in tests and after whole branches as well."""
    words = chance.choice((_several, _hidden, _program, _branches))(chance).split(" ")
    safe = [one for one in REDIRECTIONS if "planted" not in one and "evil" not in one]
    for _ in range(chance.choice((1, 1, 2))):
        pool = safe if chance.random() < 0.7 else REDIRECTIONS
        words.insert(chance.randint(0, len(words)), chance.choice(pool))
    return " ".join(words)


def _quoted(text: str, chance: random.Random) -> str:
    if chance.random() < 0.8:
        return "'" + text.replace("'", "'\\''") + "'"
    for one in '\\"$`':
        text = text.replace(one, f"\\{one}") if chance.random() < 0.9 else text
    return f'"{text}"'


def _put_in(text: str, chance: random.Random, pool: tuple[str, ...]) -> str:
    at = chance.randint(0, len(text))
    return text[:at] + chance.choice(pool) + text[at:]


# Mutations


def _noise(line: str, chance: random.Random) -> str:
    return _put_in(line, chance, NOISE)


def _continue(line: str, chance: random.Random) -> str:
    """Put continuations where the line is, and at beginnings of its lines and words."""
    places = [found.start() for found in re.finditer(r"(?<=\n)|(?<=[$<>|&;({ ])|$", line)]
    at = chance.choice(places)
    return line[:at] + chance.choice(("\\\n", "\\\n", "\n\\\n", "\\\n\\\n", " \\\n", "\\\n ")) + line[at:]


def _harm_after(line: str, chance: random.Random) -> str:
    """Put a continuation and a command after a line break, a comment or an operator."""
    return f"{line}{chance.choice((chr(10) + chr(92) + chr(10), ' # x' + chr(92) + chr(10), ' #' + chr(10) + chr(92) + chr(10)))}{chance.choice(HARM)}"


def _quote(line: str, chance: random.Random) -> str:
    """Quote a part of the line."""
    first, last = sorted((chance.randint(0, len(line)), chance.randint(0, len(line))))
    before, after = chance.choice(
        (("'", "'"), ('"', '"'), ("$'", "'"), ("\\", ""), ("''", ""), ('"$(', ')"'), ("${x:-", "}"))
    )
    return line[:first] + before + line[first:last] + after + line[last:]


def _leave_out(line: str, chance: random.Random) -> str:
    at = chance.randint(0, len(line))
    return line[:at] + line[at + chance.choice((1, 1, 1, 2, 5)) :]


def _swap(line: str, chance: random.Random) -> str:
    words = line.split(" ")
    one, two = chance.randrange(len(words)), chance.randrange(len(words))
    words[one], words[two] = words[two], words[one]
    return " ".join(words)


def _wrap(line: str, chance: random.Random) -> str:
    return chance.choice(WRAPS).replace("LINE", line)


def _other_case(line: str, chance: random.Random) -> str:
    """Spell a letter as an escape, or a blank as another."""
    at = chance.randint(0, max(0, len(line) - 1))
    made = (
        (f"$'\\x{ord(line[at]) & 255:02x}'", f"\\{line[at]}", f"'{line[at]}'", f'"{line[at]}"')
        if line
        else ("",)
    )
    return line[:at] + chance.choice(made) + line[at + 1 :]


def _respell(line: str, chance: random.Random) -> str:
    """Spell the letters of a word in several ways of quoting."""
    words = line.split(" ")
    at = chance.randrange(len(words))
    spelled = (
        "{}",
        "{}",
        "{}",
        "\\{}",
        "'{}'",
        '"{}"',
        "''{}",
        '""{}',
        "{}\\\n",
        "$HOME{}",
        "$((1)){}",
        "`echo`{}",
    )
    words[at] = "".join(
        chance.choices(spelled, (4, 4, 4, 3, 2, 2, 1, 1, 0.5, 0.1, 0.1, 0.1))[0].format(one)
        for one in words[at]
    )
    return " ".join(words)


MAKERS: dict[Make, float] = {
    _several: 14,
    _hidden: 24,
    _branches: 14,
    _words: 12,
    _program: 9,
    _awk: 8,
    _sed: 6,
    _jq: 1,
    _scripted: 5,
    _redirected: 7,
}
MUTATIONS = (_noise, _continue, _harm_after, _quote, _leave_out, _swap, _wrap, _other_case, _respell)
WEIGHTS = (5, 6, 1, 3, 3, 2, 4, 2, 4)
