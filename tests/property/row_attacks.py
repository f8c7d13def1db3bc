"""A random life of a gate, and somebody who puts rows back.

Every act (`row_acts`, `row_endings`) that uses up, denies, stops, ends, removes or revokes something leaves a
probe, which tries to have it once more. Rows are copied at random moments, and later any of them are put
back, or taken away for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Request, Verdict
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.sessions.sessions import open_session
from tests.support.by_hand import Copy, Place

LOSABLE = ("streams", "entries", "nodes", "secrets")
"""Tables of the audit trail: with these put back, what was reported may be gone as well."""

NAME = ("meta", ("name",))
"""Without its name a store is another one, which is a matter of its own."""

Chosen = list[tuple[str, tuple[Any, ...]]]
Names = set[tuple[str, str]]
"""Rows by their table and the first part of their key."""


class Probe(msgspec.Struct, frozen=True):
    """Something that must not come true again: what it is, and a try to have it.

    Where the row of `session` is another than it was, the try has to be reported. Of `rows` it has to be told
    once that they were changed.
    """

    what: str
    comes_true: Callable[[Gate], bool]
    session: str = ""
    rows: tuple[tuple[str, str], ...] = ()


def edit(session: str, number: int) -> Request:
    call = make_call("edit", {"path": f"{number}.py"}, target=f"{number}.py")
    return make_request(call, [Operation("files.edit")], session=session)


def command(session: str, number: int) -> Request:
    call = make_call("shell", {}, command=f"deploy {number}")
    return make_request(call, [Operation("git.push")], session=session)


def allowed(gate: Gate, request: Request) -> bool:
    return authorize(gate, request).decision.verdict is Verdict.ALLOW


class Life:
    """A gate that is used at random."""

    def __init__(self, place: Place, seed: int, acts: Sequence[Act]) -> None:
        self.place = place
        self.acts = acts
        self.random = Random(seed)
        self.ages = self.random.random() < 0.2
        self.attacked: Names = set()
        self.astray: Names = set()
        self.number = 0
        self.probes: list[Probe] = []
        self.copies: list[Copy] = []
        self.sessions: list[str] = []
        self.new_session()

    @property
    def gate(self) -> Gate:
        return self.place.gate

    def new_session(self) -> str:
        self.number += 1
        session = open_session(self.gate, agent="tester", owner="host", user=f"user {self.number}")
        self.sessions.append(session)
        return session

    def live(self, steps: int) -> None:
        for _ in range(steps):
            if self.random.random() < 0.3:
                self.copies.append(self.place.hand.copy())
            self.number += 1
            self.place.pass_time(self.random.random())
            act = self.random.choice(self.acts)
            with suppress(
                SaysoError
            ):  # in a session that ended or was tampered with nothing is done any more
                act(self, self.random.choice(self.sessions), self.number)
        if self.random.random() < 0.7:
            self.new_session()

    def keep_copy(self) -> None:
        """Let somebody copy all rows as they are now."""
        self.copies.append(self.place.hand.copy())

    def add(
        self,
        what: str,
        comes_true: Callable[[Gate], bool],
        session: str = "",
        rows: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.probes.append(Probe(what, comes_true, session, rows))

    def has_probe(self, what: str) -> bool:
        return any(probe.what == what for probe in self.probes)

    def add_call(self, what: str, request: Request) -> None:
        """A call that must not be allowed any more; deciding it meets the row of its session."""
        self.add(what, lambda gate: allowed(gate, request), request.session)

    # --- the attack ---

    def attack(self) -> None:
        """Put any rows back to any earlier moment, look, open anew, look, and maybe put all right again."""
        truth = self.place.hand.copy()
        nothing: Copy = {table: {} for table in truth}
        copy = self.random.choice([*self.copies, nothing])
        chosen, void = self.choose(copy, truth), self.find_void()
        self.place.hand.put_back(copy, chosen)
        changed = {
            (table, str(key[0])) for table, key in chosen if copy[table].get(key) != truth[table].get(key)
        }
        seen = set() if any(table in LOSABLE for table, _ in changed) else changed - void
        if self.random.random() < 0.6:
            self.look(seen)
        if self.random.random() < 0.6:
            self.place.restart()
            self.look(set())
        self.attacked |= changed
        self.astray |= changed
        if self.random.random() < 0.5:
            self.place.hand.put_back(truth, [one for one in chosen if one[0] not in LOSABLE])
            self.astray -= changed
            self.look(set())
        self.sessions = self.sessions[-4:]

    def find_void(self) -> Names:
        """Sessions that a new epoch has ended: nothing is made of their rows, so nothing is said of them."""
        with self.gate.store.read() as tx:
            rows = [tx.session(name) for name in {probe.session for probe in self.probes}]
        sealer = self.gate.sealer
        return {
            ("sessions", row.id) for row in rows if row is not None and sealer.void_session(row) is not None
        }

    def choose(self, copy: Copy, truth: Copy) -> Chosen:
        """Whole tables, some rows of some tables, or one row."""
        most = self.random.choice((1, 2, len(truth)))
        tables = self.random.sample(sorted(truth), self.random.randint(1, most))
        if self.random.random() < 0.7:
            tables = [table for table in tables if table not in LOSABLE] or ["sessions"]
        share = self.random.choice((1.0, 1.0, 0.5, 0.1))
        rows = [(table, key) for table in tables for key in sorted({**copy[table], **truth[table]}, key=str)]
        return [row for row in rows if row != NAME and self.random.random() < share]

    def look(self, changed: Names) -> None:
        """Try everything that must not come true. What met a session that was changed has to be reported.

        Not so where the row was astray before: it may have been put right.
        """
        start = self.place.reported()
        for probe in self.probes:
            met = ("sessions", probe.session) in changed - self.astray
            before = self.place.reported() if met else 0
            with suppress(SaysoError):
                assert not probe.comes_true(self.gate), probe.what
            assert not met or self.place.reported() > before, f"{probe.what}: not reported"
        told = {row for probe in self.probes for row in probe.rows} & (changed - self.attacked)
        assert not told or self.place.reported() > start, f"{sorted(told)}: not reported"


Act = Callable[[Life, str, int], None]
