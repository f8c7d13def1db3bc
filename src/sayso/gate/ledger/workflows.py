"""Workflow runs as the store knows them: how far each has come, and trust that is withdrawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sayso.core import ledger
from sayso.core.audit import events
from sayso.core.deciding.workflow import run_source
from sayso.core.durations import RUN_SILENCE
from sayso.core.effects import GrantRevoked
from sayso.core.errors import SaysoError
from sayso.core.grants import HeldGrant
from sayso.core.ledger import IN_PROGRESS
from sayso.core.policy import Policy
from sayso.core.session import Run, Scope, find_ended_grants
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.call_rows import UnknownCall, find_record, load_call_row, move_call_row, standing_of
from sayso.gate.deciding.authorize import with_run_standing
from sayso.gate.gate import Gate, apply_and_save, load_open_session, select_live_rows, writing
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import LoadedSession, load_session
from sayso.store.contract import CallRow, Reader, Writer

MOST = 1_000_000
STOPPED = "stopped"
"""The state of a step in which a gate was not passed."""
UNDER_WAY = ("pending", *IN_PROGRESS, "ambiguous")


class BeyondPolicy(SaysoError, TypeError):
    """A workflow declares more than the policy lets one of its name."""

    code = "beyond_policy"


class RunNote(msgspec.Struct, frozen=True):
    """A run's note in the ledger until it has succeeded: the state of its steps, how often it was begun.

    `ran`: something that needed consent had begun in the step at which it was parked. `restartable`: that
    step may be begun again all the same. `results` is what the finished steps returned, as JSON text.
    """

    steps: Mapping[str, str] = {}
    runs: int = 1
    ran: bool = False
    restartable: bool = False
    results: Mapping[str, str] = {}

    @property
    def finished(self) -> int:
        """Return how many steps are done. Each lets the run be begun that much more often."""
        return list(self.steps.values()).count("succeeded")

    @property
    def goes_on(self) -> bool:
        """Return whether a run that failed can go on where it did: no gate in it was closed."""
        return bool(self.steps) and STOPPED not in self.steps.values()


class RunProgress(msgspec.Struct, frozen=True):
    """One run of a workflow, with the state of each step begun so far."""

    run: str
    workflow: str
    session: str
    state: str
    began: float
    steps: Mapping[str, str]


_decode_note = msgspec.json.Decoder(RunNote).decode
_encode = msgspec.json.Encoder().encode


def decode_note(note: bytes | None) -> RunNote:
    return RunNote() if note is None else _decode_note(note)


def check_workflow(policy: Policy, name: str, operations: Sequence[str]) -> None:
    """Refuse a workflow that the policy knows, and that declares more than is said there."""
    known = policy.workflows.get(name)
    beyond = sorted(set(operations) - set(known.operations)) if known is not None else []
    if beyond:
        raise BeyondPolicy(f"the policy does not let the workflow {name} declare {', '.join(beyond)}")


def save_note(gate: Gate, call: str, fence: int, note: RunNote) -> None:
    """Write down how far the run has come. Only its holder may. What a step returned has to last."""
    with writing(gate, durable=False) as tx:
        row = load_call_row(gate, tx, call)
        ledger.check_holder(standing_of(row), fence)
        tx.durable = note.finished > decode_note(row.result).finished
        move_call_row(gate, tx, row, msgspec.structs.replace(row, result=_encode(note)))


def encode_note(note: RunNote) -> bytes:
    return _encode(note)


def list_workflow_runs(gate: Gate, session: str | None = None) -> list[RunProgress]:
    """Every run that is not over, those that nobody ended among them, oldest first."""
    with gate.store.read() as tx:
        rows = tx.calls(states=UNDER_WAY, runs_only=True, limit=MOST)
    found = (_progress_from_row(gate, row) for row in rows if session in (None, row.session))
    return [one for one in found if one is not None]


def load_run_progress(gate: Gate, run: str) -> RunProgress:
    """Return the progress of this run."""
    with gate.store.read() as tx:
        row = load_call_row(gate, tx, run)
    progress = _progress_from_row(gate, row)
    if progress is None:
        raise UnknownCall(f"{run} is not a run of a workflow")
    return progress


def watch_run(gate: Gate, run: str, timeout: float = RUN_SILENCE) -> Iterator[RunProgress]:
    """The run's progress now, and after each change, until it is over or nothing happens for a while."""
    mark, seen = 0, None
    while True:
        progress = load_run_progress(gate, run)
        if progress != seen:
            yield progress
            seen = progress
        if progress.state not in UNDER_WAY:
            return
        after = gate.store.wait_for_change(mark, timeout)
        if after == mark:
            return
        mark = after


def cascade_revoke(gate: Gate, session: str, workflow: str, *, by: str) -> int:
    """Withdraw trust in a workflow: its class grant and every run grant in flight end; how many did."""
    with operator_act(gate) as tx:
        found = load_open_session(gate, tx, session, select_live_rows())
        ending = [
            held for held in found.session.all_grants if _is_of_workflow(held, workflow) and not held.revoked
        ]
        _revoke_grants(gate, tx, found, ending, by)
    return len(ending)


def reconcile_runs(gate: Gate, session: str | None = None) -> int:
    """End the grants of runs that are over or whose holder is gone; how many ended.

    They are looked for without keeping others from writing; only a session that has one is written to.
    """
    names = [session] if session is not None else _find_sessions_with_dead_runs(gate)
    return sum(_reconcile_session(gate, name) for name in names)


def _find_sessions_with_dead_runs(gate: Gate) -> list[str]:
    """The open sessions that seem to hold the grant of a run that is over, by rows that nobody has sealed.

    A run's lease is looked at whenever its grant would be used, so what is not found here allows nothing.
    """
    with gate.store.read() as tx:
        rows = [row for row in tx.active_run_grants(tx.now) if gate.sealer.open_grant(row) is not None]
        return sorted({row.session for row in rows if not _is_alive(gate, tx, row.session, row.value)})


def _reconcile_session(gate: Gate, session: str) -> int:
    with writing(gate) as tx:
        found = load_session(tx, gate.sealer, session, select_live_rows())
        if found is None or not found.believed or found.row.ended_at is not None:
            return 0
        dead = [
            held
            for held in found.session.all_grants
            if held.grant.kind == "run"
            and not held.revoked
            and not _is_alive(gate, tx, session, held.grant.value)
        ]
        _revoke_grants(gate, tx, found, dead, "reconcile")
        return len(dead)


def _is_alive(gate: Gate, tx: Reader, session: str, run: str) -> bool:
    stands = with_run_standing(gate, tx, session, Scope(run=Run(run, "")))
    return stands.run is not None and stands.run.alive


def _revoke_grants(gate: Gate, tx: Writer, found: LoadedSession, ending: list[HeldGrant], by: str) -> None:
    revoked = tuple(GrantRevoked(held.grant.key, held.grant.id) for held in ending)
    ended = find_ended_grants(found.session, revoked, tx.now)
    apply_and_save(gate, tx, found, revoked)
    for held in ended:
        ended_grant = events.Revoked(by, grant=held.grant.id, kind=held.grant.kind)
        operations = held.grant.pins.operations or ()
        record(
            tx,
            ended_grant,
            session=found.row.id,
            agent=found.row.agent,
            operations=operations,
            stream=gate.stream,
        )


def _is_of_workflow(held: HeldGrant, workflow: str) -> bool:
    grant = held.grant
    if grant.kind == "workflow":
        return grant.value == workflow
    return grant.kind == "run" and grant.source == run_source(workflow)


def _progress_from_row(gate: Gate, row: CallRow) -> RunProgress | None:
    kept = find_record(gate, row, any_result=True)
    if kept is None or kept.request.workflow is None:
        return None
    steps = _steps_from_row(row) if find_record(gate, row) is not None else {}
    return RunProgress(row.id, kept.request.workflow, row.session, row.state, row.at, steps)


def _steps_from_row(row: CallRow) -> Mapping[str, str]:
    """Return the steps of the run; none if the note cannot be read."""
    try:
        return decode_note(row.result).steps if row.ended_at is None else {}
    except msgspec.MsgspecError:
        return {}
