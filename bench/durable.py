"""A durable allow: decided, its grant used and counted, its entry written, and on the disk before we go on.

Against the least that any durable answer costs, one bare commit of one row, and against the peers that allow
a call durably and write it down. Everything lies on the disk of the working folder: a temporary folder may be
in memory, where nothing is ever durable. Both sides take turns call by call, and p50 is held against p50.
Both have run for a while before: until a write-ahead log has grown to its size, every commit pays for that.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from bench.measure import Race, Row, Side, Watch, race
from bench.world import make_world
from sayso.core.model import Operation, Request, Verdict
from sayso.gate.deciding.authorize import Authorization, authorize, authorize_in
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate, writing
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import make_key
from sayso.gate.sessions.operator_grants import give_grant, list_grants
from sayso.gate.sessions.sessions import open_session
from sayso.store.sqlite.store import SqliteStore

ROUNDS_WITH_COMMIT, ROUNDS_WITH_PEER = 2_000, 1_000
TIMES_A_COMMIT, TIMES_A_PEER = 2.2, 1.0
WARM_COMMITS = 1_100
"""Until the bare log is full (1,000 pages); ours is after 256."""
WARM_ALLOWS = 300
DOMAINS = 12
OPERATION = "domain0000.label"
ROW_BYTES = 464
"""What an audit entry of an allow comes to, more or less."""

Act = Callable[[object], object]


class DurablePeer(msgspec.Struct, frozen=True):
    """A peer that allows durably, in one way of using it. It is built in a folder of its own."""

    name: str
    package: str
    way: str
    build: Callable[[Path], Act]
    synced: bool
    """Whether what it wrote is on the disk when it answers."""
    possible: bool = True

    @property
    def installed(self) -> bool:
        return find_spec(self.package) is not None


@contextmanager
def on_disk() -> Iterator[Path]:
    """A folder on the disk of the working folder, gone afterwards."""
    beside = Path("build").absolute()
    beside.mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="bench-", dir=beside) as folder:
        yield Path(folder)


@contextmanager
def a_gate(folder: Path) -> Iterator[Gate]:
    """A gate as it is opened in earnest: SQLite, a key, and the mark beside it."""
    store = SqliteStore(folder / "sayso.db")
    try:
        yield open_gate(make_world(DOMAINS).policy, store, key=make_key("bench"), marks=folder)
    finally:
        store.close()


def allow_against_commit(watch: Watch) -> list[Row]:
    """Requests are made ahead, as for `decide`; timed is what the gate does with them."""
    with on_disk() as folder, a_gate(folder) as gate:
        session = _session_with_grant(gate)
        _warm(gate, session)
        requests = iter([_request(session, n) for n in range(ROUNDS_WITH_COMMIT + 1)])
        ours = _once(lambda _: _allowed(gate, next(requests)))
        with _bare(folder / "bare.db") as commit:
            result = race("durable allow and a commit", ours, _once(commit), ROUNDS_WITH_COMMIT, watch)
        _check_uses(gate, session, WARM_ALLOWS + ROUNDS_WITH_COMMIT + 1)
    return [_row("bare commit, FULL", result, TIMES_A_COMMIT)]


def allow_against_peers(watch: Watch) -> list[Row]:
    """The peers are given bare arguments, so we make our request within the time, too.

    Against a peer that does not wait for the disk there is a second row, in which we do not wait either.
    """
    rows = []
    for peer in DURABLE_PEERS:
        rows.append(_against(peer, "durable allow, p50", _allowing, watch))
        if not peer.synced:
            rows.append(_against(peer, "allow, not synced, p50", _allowing_unsynced, watch))
    return rows


def _against(peer: DurablePeer, what: str, way: Callable[[Gate, str], Act], watch: Watch) -> Row:
    with on_disk() as folder, a_gate(folder) as gate:
        session = _session_with_grant(gate)
        _warm(gate, session)
        ours, theirs = _once(way(gate, session)), _once(peer.build(folder / peer.package))
        result = race(f"{what}, and {peer.name}", ours, theirs, ROUNDS_WITH_PEER, watch)
        _check_uses(gate, session, WARM_ALLOWS + ROUNDS_WITH_PEER + 1)
    return _row(f"{peer.name}, {peer.way}", result, TIMES_A_PEER, what)


# --- ours ---


def _session_with_grant(gate: Gate) -> str:
    """A session in which the operator let this one operation run for a day, any number of times."""
    session = open_session(gate, agent="agent", owner="bench", workspace="/home/user/project")
    give_grant(gate, session, by="operator", operation=OPERATION, minutes=24 * 60)
    return session


def _warm(gate: Gate, session: str) -> None:
    """Allows that nobody waits for on the disk."""
    for number in range(WARM_ALLOWS):
        with gate.store.write(durable=False) as tx:
            authorize_in(gate, tx, _request(session, -number))


def _request(session: str, number: int) -> Request:
    where = {"folder": "/home/user/project", "workspace": "/home/user/project"}
    call = make_call("label", {"number": number, "text": "to be read"}, **where)
    return make_request(call, [Operation(OPERATION)], agent="agent", session=session)


def _allowing(gate: Gate, session: str) -> Act:
    numbers = count()
    return lambda _: _allowed(gate, _request(session, next(numbers)))


def _allowing_unsynced(gate: Gate, session: str) -> Act:
    """What `authorize` does, committed with synchronous NORMAL."""
    numbers = count()

    def allowed(_: object) -> None:
        with writing(gate, durable=False) as tx:
            done = authorize_in(gate, tx, _request(session, next(numbers)))
        _check_allowed(done)

    return allowed


def _allowed(gate: Gate, request: Request) -> None:
    _check_allowed(authorize(gate, request))


def _check_allowed(done: Authorization) -> None:
    decision = done.decision
    if decision.verdict is not Verdict.ALLOW or decision.rule != "operation_grant":
        raise AssertionError(f"not allowed by the grant: {decision.rule}, {decision.reason}")


def _check_uses(gate: Gate, session: str, uses: int) -> None:
    """Every allow used the grant and was counted; otherwise we would measure something else."""
    (grant,) = list_grants(gate, session)
    if grant.used != uses:
        raise AssertionError(f"{grant.used} uses of the grant were counted, not {uses}")


# --- theirs ---


@contextmanager
def _bare(path: Path) -> Iterator[Act]:
    """One insert of one row that commits by itself, over a kept connection with its statement prepared."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE entries (seq INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT")
    body = bytes(range(256)) + bytes(ROW_BYTES - 256)
    insert = "INSERT INTO entries (body) VALUES (?)"
    try:
        connection.execute("PRAGMA synchronous = OFF")
        for _ in range(WARM_COMMITS):
            connection.execute(insert, (body,))
        connection.execute("PRAGMA synchronous = FULL")
        yield lambda _: connection.execute(insert, (body,))
    finally:
        connection.close()


def _permitd(folder: Path) -> Act:
    """The yellow tier under standing authorization: what comes nearest to a standing grant, and is quickest.

    It writes an audit line and syncs it; of the use itself nothing is kept. A permit for each call (red)
    writes to SQLite besides, and takes some four times as long.
    """
    permitd: Any = import_module("permitd")
    folder.mkdir()
    gate = permitd.Gate(db=folder / "permitd.db", standing_authorization=True)
    gate.register("label", lambda number, text: number, tier=permitd.YELLOW)
    numbers = count()

    def allowed(_: object) -> None:
        answer = gate.call("label", {"number": next(numbers), "text": "to be read"})
        if not answer.ok or gate.audit.dropped:
            raise AssertionError(f"permitd did not allow: {answer.error}")

    return allowed


CTRLRUN_POLICY = """
schema: ctrlrun.policy/v2
actions:
  mail.label:
    rules:
      - when: { number_gte: 0, number_lte: 1000000000 }
        decision: allow
      - decision: deny
"""


def _ctrlrun(folder: Path) -> Act:
    """An action that a rule allows, without an effect key, which would double its time.

    Its store commits with synchronous NORMAL: a power failure may take the newest receipts with it.
    """
    ctrlrun: Any = import_module("ctrlrun")
    folder.mkdir()
    policy = folder / "ctrlrun.yaml"
    policy.write_text(CTRLRUN_POLICY)
    control = ctrlrun.Control.from_file(policy)

    def label(number: int, text: str) -> int:
        return number

    protected = ctrlrun.protect("mail.label", control=control)(label)
    numbers = count()

    def allowed(_: object) -> None:
        number = next(numbers)
        with ctrlrun.context(agent="agent"):
            if protected(number=number, text="to be read") != number:
                raise AssertionError("ctrlrun did not run the call")

    return allowed


DURABLE_PEERS = (
    DurablePeer("permitd", "permitd", "standing", _permitd, synced=True),
    DurablePeer("CTRLRun", "ctrlrun", "rule, NORMAL", _ctrlrun, synced=False),
)


# --- the rows ---


def _once(act: Act) -> Side:
    """A side that acts once a round, so that a round is one call and the median p50."""
    return Side(act, (None,))


def _row(against: str, result: Race, times: float, what: str = "durable allow, p50") -> Row:
    ratio = result.left.median / result.right.median
    met = ratio <= times if times > 1 else ratio < 1
    return Row(
        what=what,
        against=against,
        ours=result.left.median / 1e3,
        theirs=result.right.median / 1e3,
        unit=" µs",
        ratio=ratio,
        aim=f"≤ {times:g}×" if times > 1 else "< 1×",
        met=met,
        spread=(result.left.spread, result.right.spread),
    )
