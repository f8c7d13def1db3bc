"""Made-up command lines: line n of seed n, the same on every machine.

They come from a grammar (grammar.txt), and from mutations. What harm is in them stays in the folder that they
run in.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
Make = Callable[[random.Random], str]
_SIGNS = str.maketrans({"⏎": "\n", "␉": "\t", "␠": " ", "␍": "\r", "␀": "\0"})


def _read_grammar() -> dict[str, list[list[str]]]:
    """The rows of each section, and the entries of each row."""
    sections: dict[str, list[list[str]]] = {}
    text = (Path(__file__).with_name("grammar.txt")).read_text(encoding="utf-8").replace("\n  ", " ")
    for section in text.split("\n== ")[1:]:
        title, *rows = section.strip("\n").split("\n")
        entries = [[one.strip(" ").translate(_SIGNS) for one in row.split("¦")] for row in rows if row]
        sections[title.partition(":")[0]] = entries
    return sections


GRAMMAR = _read_grammar()
(
    HARM,
    CALM,
    SET,
    USE,
    BRANCHES,
    AROUND,
    REDIRECTIONS,
    WRAPS,
    SCRIPTED,
    OPERANDS,
    JOINTS,
    NOISE,
    CONTINUATIONS,
) = (
    GRAMMAR[name][0]
    for name in (
        *(
            "HARM",
            "CALM",
            "SET",
            "USE",
            "BRANCHES",
            "AROUND",
            "REDIRECTIONS",
            "WRAPS",
            "SCRIPTED",
            "OPERANDS",
        ),
        *("JOINTS", "NOISE", "CONTINUATIONS"),
    )
)
QUIET = [one for one in REDIRECTIONS if "planted" not in one and "evil" not in one]
IN_ARGUMENTS = [one.removeprefix("args ") for one in USE if one.startswith("args ")]
AWK_NOISE = ("\\\n", "\\\n", "\\\n", "\n", " ", "#", '"', "/", ";", "\\", "(", ")", ">", "|", "{", "}", ",")
SED_NOISE = ("\\\n", "\n", "\\", ";", "}", "{", " ", "#", "/", "w", "e", "[", "]")


def make_line(seed: int) -> str:
    """The line of this seed."""
    chance = random.Random(seed)
    line = _pick(MAKERS, chance)(chance)
    if chance.random() < 0.12:
        line = f"{line}{chance.choice(JOINTS)}{_pick(MAKERS, chance)(chance)}"
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2))):
        line = _pick(MUTATIONS, chance)(line, chance)
    return line


def _pick(weighed: dict[T, int], chance: random.Random) -> T:
    return chance.choices(tuple(weighed), tuple(weighed.values()))[0]


def _some(several: Sequence[str], chance: random.Random, most: int = 2) -> list[str]:
    return chance.choices(several, k=chance.randint(1, most))


# The grammar


def _several(chance: random.Random) -> str:
    """Harmless commands, one after the other."""
    parts = _some(CALM, chance, 3)
    return "".join(f"{one}{chance.choice(JOINTS)}" for one in parts[:-1]) + parts[-1]


def _hidden(chance: random.Random) -> str:
    """A command where it is text, or seems to be; most often a harmful one."""
    around = chance.choice(AROUND)
    if chance.random() < 0.15:
        around = around.replace("CMD", chance.choice(AROUND), 1)
    return around.replace("CMD", chance.choice(HARM if chance.random() < 0.8 else CALM))


def _branches(chance: random.Random) -> str:
    """Variables that are set in a branch or before it, and used."""

    def fill(found: re.Match[str]) -> str:
        return chance.choice(USE if found[0] == "C" else SET if chance.random() < 0.85 else CALM)

    return re.sub(r"\b[ABC]\b", fill, chance.choice(BRANCHES))


def _words(chance: random.Random) -> str:
    """A program, and words of every spelling."""
    words = [
        chance.choice(IN_ARGUMENTS) if chance.random() < 0.3 else _word(chance)
        for _ in range(chance.randint(1, 4))
    ]
    return f"args {' '.join(words)}"


def _word(chance: random.Random) -> str:
    """A word of parts that are quoted in different ways."""
    parts = _some(GRAMMAR["WORD_PARTS"][0], chance, 3)
    return "".join(_pick(QUOTES, chance).format(one) for one in parts)


def _program(chance: random.Random) -> str:
    """A program with options, some of which write or run something."""
    name, *options = chance.choice(GRAMMAR["OPTIONS"])
    operand = chance.choice((*OPERANDS, "", "", ""))
    return " ".join(filter(None, (name, *_some(options or [""], chance), operand))).replace(" ;", " \\;")


def _awk(chance: random.Random) -> str:
    patterns, actions, options = (GRAMMAR[f"AWK_{one}"][0] for one in ("PATTERNS", "ACTIONS", "OPTIONS"))
    rules = [
        f"{chance.choice(('', *patterns))} {{ {'; '.join(_some(actions, chance))} }}"
        for _ in range(chance.choice((1, 1, 2)))
    ]
    program = chance.choice((" ", "\n", "; ")).join(rules)
    for _ in range(chance.choice((0, 0, 1, 2))):
        program = _put_in(program, chance, AWK_NOISE)
    option = chance.choice(options) if chance.random() < 0.5 else ""
    return (
        f"awk {option} {_quoted(program, chance)} {chance.choice(('a.txt', 'notes.txt', 'x=1 a.txt', '-'))}"
    )


def _sed(chance: random.Random) -> str:
    parts, options = GRAMMAR["SED_PARTS"][0], GRAMMAR["SED_OPTIONS"][0]
    script = chance.choice((";", ";", "\n", " ; ")).join(_some(parts, chance, 3))
    if chance.random() < 0.4:
        script = _put_in(script, chance, SED_NOISE)
    option = chance.choice(("", "-n", "-n", "-e", chance.choice(options)))
    return (
        f"sed {option} {_quoted(script, chance)} {chance.choice(('a.txt', 'notes.txt', 'a.txt b.txt', ''))}"
    )


def _jq(chance: random.Random) -> str:
    option = chance.choice(("", *GRAMMAR["JQ_OPTIONS"][0]))
    return f"jq {option} {_quoted(chance.choice(GRAMMAR['JQ'][0]), chance)} data.json"


def _scripted(chance: random.Random) -> str:
    """A line in a word of another."""
    inner = chance.choice((_several, _hidden, _branches, _words))(chance)
    return f"{chance.choice(SCRIPTED)} {_quoted(inner, chance)}{chance.choice(('', '', ' x', ' x evil'))}"


def _redirected(chance: random.Random) -> str:
    """A redirection anywhere, in tests and after whole branches as well."""
    words = chance.choice((_several, _hidden, _program, _branches))(chance).split(" ")
    for one in _some(QUIET if chance.random() < 0.7 else REDIRECTIONS, chance):
        words.insert(chance.randint(0, len(words)), one)
    return " ".join(words)


def _quoted(text: str, chance: random.Random) -> str:
    if chance.random() < 0.8:
        return "'" + text.replace("'", "'\\''") + "'"
    for one in '\\"$`':
        text = text.replace(one, f"\\{one}") if chance.random() < 0.9 else text
    return f'"{text}"'


# Mutations


def _put_in(text: str, chance: random.Random, pool: Sequence[str] = NOISE) -> str:
    at = chance.randint(0, len(text))
    return text[:at] + chance.choice(pool) + text[at:]


def _put_in_noise(line: str, chance: random.Random) -> str:
    return _put_in(line, chance)


def _continue(line: str, chance: random.Random) -> str:
    """Put in a continuation where a word, a line or an expansion begins, or a command after it."""
    at = chance.choice([found.start() for found in re.finditer(r"(?<=\n)|(?<=[$<>|&;({ ])|$", line)])
    harm = chance.choice(HARM) if at == len(line) and chance.random() < 0.6 else ""
    return line[:at] + chance.choice(CONTINUATIONS) + harm + line[at:]


def _break(line: str, chance: random.Random) -> str:
    """Put in a line end, alone or with a harmful command behind it."""
    at = chance.randrange(len(line) + 1)
    behind = chance.choice(("\n", "\n", " \n", "\n\t", f"\n{chance.choice(HARM)}\n"))
    return line[:at] + behind + line[at:]


def _quote(line: str, chance: random.Random) -> str:
    """Quote a part of the line."""
    first, last = sorted(chance.choices(range(len(line) + 1), k=2))
    before, after = chance.choice(PAIRS)
    return line[:first] + before + line[first:last] + after + line[last:]


def _leave_out(line: str, chance: random.Random) -> str:
    at = chance.randint(0, len(line))
    return line[:at] + line[at + chance.choice((1, 1, 1, 2, 5)) :]


def _swap(line: str, chance: random.Random) -> str:
    words = line.split(" ")
    one, two = chance.choices(range(len(words)), k=2)
    words[one], words[two] = words[two], words[one]
    return " ".join(words)


def _wrap(line: str, chance: random.Random) -> str:
    return chance.choice(WRAPS).replace("LINE", line)


def _respell(line: str, chance: random.Random) -> str:
    """Spell the letters of a word in several ways of quoting."""
    words = line.split(" ")
    at = chance.randrange(len(words))
    words[at] = "".join(_pick(SPELLINGS, chance).format(one, ord(one)) for one in words[at])
    return " ".join(words)


QUOTES = {"{}": 16, "'{}'": 10, '"{}"': 10, "\\{}": 4, "$'{}'": 1, '$"{}"': 1}
SPELLINGS = {"{}": 24, "\\{}": 6, "'{}'": 4, '"{}"': 4, "''{}": 2, '""{}': 2, "$'\\x{1:02x}'": 1, "{}\\\n": 1}
PAIRS = (("'", "'"), ('"', '"'), ("$'", "'"), ("\\", ""), ("''", ""), ('"$(', ')"'), ("${x:-", "}"))
MAKERS: dict[Make, int] = {
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
MUTATIONS = {
    _put_in_noise: 5,
    _continue: 7,
    _break: 4,
    _quote: 3,
    _leave_out: 3,
    _swap: 2,
    _wrap: 4,
    _respell: 7,
}
