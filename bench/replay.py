"""A year of decisions decided again under a changed policy, against reading the same rows.

The year is a mix: permissions that decay, low risk, grants that are used again and again, questions that are
each answered once, and what is blocked. All facts are as the gate records them.
"""

from __future__ import annotations

from contextlib import closing
from hashlib import sha256

import msgspec

from bench.durable import on_disk
from bench.measure import Race, Row, Side, Watch, race
from sayso.core.audit.events import Asked, Blocked, Decided, DecisionEvent
from sayso.core.durations import DAY
from sayso.core.policy import Policy
from sayso.gate.gate import Gate
from sayso.gate.hindsight.recorded import read_decision_row, read_pages
from sayso.gate.hindsight.replay import replay_decisions
from sayso.gate.open import open_gate
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import make_key
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from sayso.store.contract import Writer
from sayso.store.sqlite.store import SqliteStore

DECISIONS = 1_000_000
PAGES = 500
SESSIONS = 1_000
ROUNDS = 3
TIMES_READING = 3.0
BEGAN = 1_800_000_000.0
YEAR = 365 * DAY
KEY = make_key("bench")
POLICY = """
sayso: 1
consent_decay: {review_interval_days: 400}
domains:
  files: {autonomous: [read, list], requires_approval: [edit, delete], blocked: [wipe]}
  tests: {autonomous: [], requires_approval: [run], blocked: []}
"""
CHANGED = POLICY.replace("autonomous: [read, list]", "autonomous: [read]").replace(
    "requires_approval: [edit,", "requires_approval: [list, edit,"
)


def replay_of_a_year(watch: Watch) -> list[Row]:
    """Everything is read and decided in each round; nothing is kept from one to the next."""
    clock = [BEGAN]
    with on_disk() as folder, closing(SqliteStore(folder / "sayso.db", clock=lambda: clock[0])) as store:
        gate = open_gate(load_text(POLICY), store, key=KEY, marks=folder)
        _fill(gate, clock, watch)
        changed = load_text(CHANGED)
        ours, theirs = Side(lambda _: _replay(gate, changed), (None,)), Side(lambda _: _read(gate), (None,))
        return [_row(race("a year of decisions", ours, theirs, ROUNDS, watch))]


def _replay(gate: Gate, changed: Policy) -> None:
    report = replay_decisions(gate, changed)
    if report.decisions != DECISIONS or report.not_replayed or not report.tightened or report.loosened:
        raise AssertionError(f"not the year that was written: {report.before}, {report.not_replayed}")


def _read(gate: Gate) -> None:
    read = sum(
        1 for _, _, page in read_pages(gate, 0.0) for row in page if read_decision_row(row) is not None
    )
    if read != DECISIONS:
        raise AssertionError(f"{read} decisions were read")


def _fill(gate: Gate, clock: list[float], watch: Watch) -> None:
    """Write the year in pages, each in one transaction, in sessions that hold a grant each."""
    sessions = [open_session(gate, agent=f"agent {n % 20}", owner="bench") for n in range(SESSIONS)]
    grants = [
        give_grant(gate, one, by="bench", operation="tests.run", minutes=24 * 60).id for one in sessions
    ]
    size = DECISIONS // PAGES
    for page in range(PAGES):
        with gate.store.write(durable=False) as tx:
            for number in range(page * size, (page + 1) * size):
                _write(tx, number, sessions[number // 50 % SESSIONS], grants[number // 50 % SESSIONS])
        clock[0] += YEAR / PAGES
        watch(f"{DECISIONS:,} decisions (writing them first)", page + 1, PAGES)


def _write(tx: Writer, number: int, session: str, grant: str) -> None:
    """One decision of the mix."""
    kind, rule, name, facts = MIX[number % len(MIX)]
    made = msgspec.convert(
        {
            "digest": sha256(b"call %d" % number).hexdigest(),
            "tool": "tool",
            "origin": "agent",
            "verdict": kind.decides.value if kind.decides else "",
            "rule": rule,
            "reason": "the policy lists it",
            "risk": "moderate",
            "grants": (grant,) if "GRANT" in facts else (),
            "policy": "",
            "facts": facts.replace("GRANT", grant),
        },
        kind,
    )
    record(tx, made, session=session, agent="agent", operations=(name,))


REVIEWED = f'"reviewed":{{"files":{BEGAN}}}'
MIX: tuple[tuple[type[DecisionEvent], str, str, str], ...] = (
    *[(Decided, "autonomous", "files.read", f'{{"ops":["---"],"is":"n",{REVIEWED}}}')] * 4,
    (Decided, "autonomous", "files.list", f'{{"ops":["--l"],"is":"cn",{REVIEWED}}}'),
    *[(Decided, "operation_grant", "tests.run", '{"ops":["--m"],"is":"ckgn","held":["GRANT"]}')] * 3,
    (Asked, "ask", "files.edit", '{"ops":["--md"],"is":"kn"}'),
    (Blocked, "blocked", "files.wipe", '{"ops":["---"],"is":"n"}'),
)


def _row(result: Race) -> Row:
    ratio = result.left.median / result.right.median
    return Row(
        what=f"replay of {DECISIONS:,} decisions",
        against="reading the same rows",
        ours=result.left.median / 1e9,
        theirs=result.right.median / 1e9,
        unit=" s",
        ratio=ratio,
        aim=f"≤ {TIMES_READING:g}×",
        met=ratio <= TIMES_READING,
        spread=(result.left.spread, result.right.spread),
    )
