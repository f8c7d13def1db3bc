"""What it costs to decorate a function: a call that a standing grant allows, from the outside.

Timed is the whole call as a program makes it: arguments bound, written down and digested, the decision, the
start in the ledger, the function, its end in the ledger. Against the bare function, and against the same
function behind permitd. Only the latter has an aim: the former says what a program pays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from bench.durable import DOMAINS, DURABLE_PEERS, OPERATION, Act, on_disk
from bench.measure import Row, Side, Watch, race
from bench.world import make_world
from sayso.doors.python.session import Session
from sayso.doors.sayso import Sayso
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import make_key
from sayso.gate.sessions.operator_grants import give_grant
from sayso.store.contract import Store
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore

ROUNDS = 1_000
WARM = 300
TIMES_PERMITD = {"memory": 0.8, "durable": 2.0}


def decorated_calls(watch: Watch) -> list[Row]:
    """In memory and durable, against nothing at all and against permitd."""
    permitd = next(peer for peer in DURABLE_PEERS if peer.package == "permitd")
    rows = []
    for where, store in (("memory", _memory), ("durable", _file)):
        for against, theirs in (("undecorated", _bare), ("behind permitd", permitd.build)):
            with on_disk() as folder, _decorated(store(folder), folder) as (session, ours), session.active():
                other = theirs(folder / "theirs")
                for _ in range(WARM):
                    ours(None)
                result = race(
                    f"decorated call, {where}", Side(ours, (None,)), Side(other, (None,)), ROUNDS, watch
                )
            ratio = result.left.median / result.right.median
            times = None if theirs is _bare else TIMES_PERMITD[where]
            rows.append(
                Row(
                    what=f"decorated call, {where}, p50",
                    against=against,
                    ours=result.left.median / 1e3,
                    theirs=result.right.median / 1e3,
                    unit=" µs",
                    ratio=ratio,
                    aim="none" if times is None else f"≤ {times:g}×",
                    met=None if times is None else ratio <= times,
                    spread=(result.left.spread, result.right.spread),
                )
            )
    return rows


def _memory(folder: Path) -> Store:
    return MemoryStore()


def _file(folder: Path) -> Store:
    return SqliteStore(folder / "sayso.db")


@contextmanager
def _decorated(store: Store, folder: Path) -> Iterator[tuple[Session, Act]]:
    """A function that needs consent, and a session whose operator lets it run for a day.

    What lives in memory has its mark there too: a file would outlast what it is about.
    """
    marks = None if isinstance(store, MemoryStore) else folder
    opened = open_gate(make_world(DOMAINS).policy, store, key=make_key("bench"), marks=marks)
    with Sayso(opened) as gate:

        @gate.requires_consent(OPERATION)
        def label(number: int, text: str) -> int:
            return number

        session = gate.session(agent="agent")
        give_grant(opened, session.id, by="operator", operation=OPERATION, minutes=24 * 60)
        yield session, _calling(label)


def _bare(folder: Path) -> Act:
    def label(number: int, text: str) -> int:
        return number

    return _calling(label)


def _calling(label: Callable[[int, str], int]) -> Act:
    numbers = count()

    def call(_: object) -> None:
        number = next(numbers)
        if label(number, "to be read") != number:
            raise AssertionError("the call did not run")

    return call
