"""Lines that do harm and are made to count as low: the recorders prove on them that they find it."""

from __future__ import annotations

import shlex

from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.value import Value
from tests.shell_judge.court import Commands, Court
from tests.shell_judge.fence import KINDS

CONNECTS = """gawk 'BEGIN { print "x" |& "/inet/tcp/0/127.0.0.1/9" }'"""
PROOFS = {
    "echo x > planted": "file work/planted",
    "rm notes.txt": "file work/notes.txt",
    "touch planted; rm planted": "file: one came",
    "chmod 700 a.txt": "file work/a.txt",
    CONNECTS: "socket",
    "cat ~/.ssh/id_rsa": "secret",
}
"""Lines whose programs are all named, each with what they do."""
UNSAID = {"evil": "program evil", "args a 'b c'": "words"}
"""Lines of which the reading says that they run `true` and `args x`."""


def name_commands(*commands: str) -> Commands:
    """Commands with these words, as a reading names them."""
    return tuple(tuple(Argument(Value(word), 0, 0) for word in shlex.split(one)) for one in commands)


def read_planted(line: str) -> Commands | None:
    """A reading that calls every line low. It knows the programs of PROOFS, and not their harm."""
    if line in UNSAID:
        return name_commands("true", "args x")
    unknown = Argument(Value(None), 0, 0)
    names = ("rm", "touch", "chmod", "gawk", "cat")
    return tuple((Argument(Value(name), 0, 0), unknown) for name in names)


def prove_recorders(court: Court) -> None:
    """Run what does harm in every shell. AssertionError if a recorder misses it."""
    for kind in KINDS:
        for line, expected in {**PROOFS, **UNSAID}.items():
            harms = court.find_harms_of(kind, line, read_planted(line) or ())
            assert any(one.startswith(expected) for one in harms), (
                f"{kind}: {line!r} was not found, but {harms}"
            )
