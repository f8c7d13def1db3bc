"""Workflow runs as the store knows them: how far each has come, and trust that is withdrawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sayso.core import ledger
from sayso.core.effects import Revoked
from sayso.core.errors import SaysoError
from sayso.core.grants import Held
from sayso.core.policy import Policy
from sayso.core.session import Run, Scope, ended_by
from sayso.core.workflow import source
from sayso.gate.deciding.authorize import as_it_stands
from sayso.gate.gate import Gate, everything, loaded, settle, writing
from sayso.gate.ledger.rows import UnknownCall, found_record, moved, row_of, standing
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import Loaded, load
from sayso.gate.upkeep.operator_transaction import operator_act
from sayso.store.contract import CallRow, Reader, Writer

MOST = 1_000_000
UNDER_WAY = ("pending", "running", "waiting", "ambiguous")


class BeyondPolicy(SaysoError, TypeError):
    """A workflow declares more than the policy lets one of its name."""

    code = "beyond_policy"


class Note(msgspec.Struct, frozen=True):
    """What a run leaves in the ledger while it goes on: how its steps stand, and how often it was begun.

    `ran` says that something in it that needed consent had been begun when it was parked, `restartable` that
    it may be begun again all the same.
    """

    steps: Mapping[str, str] = {}
    runs: int = 1
    ran: bool = False
    restartable: bool = False


class Progress(msgspec.Struct, frozen=True):
    """One run of a workflow, with the state of each step begun so far."""

    run: str
    workflow: str
    session: str
    state: str
    began: float
    steps: Mapping[str, str]


_note = msgspec.json.Decoder(Note).decode
_encode = msgspec.json.Encoder().encode


def note_of(note: bytes | None) -> Note:
    return Note() if note is None else _note(note)


def check_workflow(policy: Policy, name: str, operations: Sequence[str]) -> None:
    """Refuse a workflow that the policy knows, and that declares more than is said there."""
    known = policy.workflows.get(name)
    beyond = sorted(set(operations) - set(known.operations)) if known is not None else []
    if beyond:
        raise BeyondPolicy(f"the policy does not let the workflow {name} declare {', '.join(beyond)}")


def keep_note(gate: Gate, call: str, fence: int, note: Note) -> None:
    """Write down how far the run has come. Only its holder may."""
    with writing(gate, durable=False) as tx:
        row = row_of(gate, tx, call)
        ledger.held(standing(row), fence)
        moved(gate, tx, row, msgspec.structs.replace(row, result=_encode(note)))


def encoded(note: Note) -> bytes:
    return _encode(note)


def list_runs(gate: Gate, session: str | None = None) -> list[Progress]:
    """Every run that is not over, those that nobody ended among them, oldest first."""
    with gate.store.read() as tx:
        rows = tx.calls(states=UNDER_WAY, runs_only=True, limit=MOST)
    found = (_progress(gate, row) for row in rows if session in (None, row.session))
    return [one for one in found if one is not None]


def run_progress(gate: Gate, run: str) -> Progress:
    """How far this run has come."""
    with gate.store.read() as tx:
        row = row_of(gate, tx, run)
    progress = _progress(gate, row)
    if progress is None:
        raise UnknownCall(f"{run} is no run of a workflow")
    return progress


def watch_run(gate: Gate, run: str, timeout: float = 60.0) -> Iterator[Progress]:
    """The run's progress now, and after each change, until it is over or nothing happens for a while."""
    mark, seen = 0, None
    while True:
        progress = run_progress(gate, run)
        if progress != seen:
            yield progress
            seen = progress
        if progress.state not in UNDER_WAY:
            return
        after = gate.store.changed(mark, timeout)
        if after == mark:
            return
        mark = after


def cascade_revoke(gate: Gate, session: str, workflow: str, *, by: str) -> int:
    """Withdraw trust in a workflow: its class grant and every run grant in flight end; how many did."""
    with operator_act(gate) as tx:
        found = loaded(gate, tx, session, everything())
        ending = [held for held in found.session.held if _of_workflow(held, workflow) and not held.revoked]
        _revoke(gate, tx, found, ending, by)
    return len(ending)


def reconcile(gate: Gate, session: str | None = None) -> int:
    """End the grants of runs that are over or whose holder is gone; how many ended.

    They are looked for without keeping others from writing; only a session that has one is written to.
    """
    names = [session] if session is not None else _with_dead_runs(gate)
    return sum(_reconcile(gate, name) for name in names)


def _with_dead_runs(gate: Gate) -> list[str]:
    """The open sessions that seem to hold the grant of a run that is over, by rows that nobody has sealed.

    A run's lease is looked at whenever its grant would be used, so what is not found here allows nothing.
    """
    with gate.store.read() as tx:
        rows = [row for row in tx.unrevoked_runs(tx.now) if gate.sealer.open_grant(row) is not None]
        return sorted({row.session for row in rows if not _alive(gate, tx, row.session, row.value)})


def _reconcile(gate: Gate, session: str) -> int:
    with writing(gate) as tx:
        found = load(tx, gate.sealer, session, everything())
        if found is None or not found.believed or found.row.ended_at is not None:
            return 0
        dead = [
            held
            for held in found.session.held
            if held.grant.kind == "run"
            and not held.revoked
            and not _alive(gate, tx, session, held.grant.value)
        ]
        _revoke(gate, tx, found, dead, "reconcile")
        return len(dead)


def _alive(gate: Gate, tx: Reader, session: str, run: str) -> bool:
    stands = as_it_stands(gate, tx, session, Scope(run=Run(run, "")))
    return stands.run is not None and stands.run.alive


def _revoke(gate: Gate, tx: Writer, found: Loaded, ending: list[Held], by: str) -> None:
    revoked = tuple(Revoked(held.grant.key, held.grant.id) for held in ending)
    ended = ended_by(found.session, revoked, tx.now)
    settle(gate, tx, found, revoked)
    for held in ended:
        details = {"grant": held.grant.id, "kind": held.grant.kind, "by": by}
        operations = held.grant.pins.operations or ()
        record(
            tx,
            "REVOKED",
            session=found.row.id,
            agent=found.row.agent,
            operations=operations,
            details=details,
            stream=gate.stream,
        )


def _of_workflow(held: Held, workflow: str) -> bool:
    grant = held.grant
    if grant.kind == "workflow":
        return grant.value == workflow
    return grant.kind == "run" and grant.source == source(workflow)


def _progress(gate: Gate, row: CallRow) -> Progress | None:
    kept = found_record(gate, row, any_result=True)
    if kept is None or kept.request.workflow is None:
        return None
    steps = _steps(row) if found_record(gate, row) is not None else {}
    return Progress(row.id, kept.request.workflow, row.session, row.state, row.at, steps)


def _steps(row: CallRow) -> Mapping[str, str]:
    """How far the run has come; a note that cannot be read says nothing."""
    try:
        return note_of(row.result).steps if row.ended_at is None else {}
    except msgspec.MsgspecError:
        return {}
