"""Problems of a policy file, all at once, each with its place and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from sayso.core.errors import PolicyError

MAX_PROBLEMS = 100
"""A file with so many is refused there and then: nobody reads on, and looking for more takes long."""


class PolicyProblem(msgspec.Struct, frozen=True, order=True):
    """One fault at one place. Lines and columns count from 1; both are 0 where no place can be named."""

    line: int
    column: int
    message: str
    hint: str = ""
    source: str = "policy"

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}:{self.column}" if self.line else self.source
        return f"{place}: {self.message} ({self.hint})" if self.hint else f"{place}: {self.message}"


class PolicyProblems(PolicyError):
    """A policy text that was refused, with all the problems found in it, in the order of their places."""

    code = "policy_problems"

    def __init__(self, problems: Sequence[PolicyProblem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)))


def spelling_hint(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """A hint that names the known word this one looks like."""
    import difflib

    spellings: dict[str, str] = {}
    for name in sorted(known, key=str.swapcase):  # of spellings that differ only in case, the small one
        spellings.setdefault(name.casefold(), name)
    close = difflib.get_close_matches(word.casefold(), spellings, n=1, cutoff=0.7)
    return f"did you mean {spellings[close[0]]}?" if close else otherwise
