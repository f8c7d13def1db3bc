"""Stop one session or every open one, and let what was stopped go on: each in a transaction of its own.

- A stop here is an act, not a message: no turn passes, no task begins, and a denial of the turn stays.
- Stopping clears all consent but the allowlist. Letting go on brings none of it back.
- Only the operator lets a session go on here; its own user does so with their next message.
- A session below a stopped one asks until that one goes on, too.
"""

from __future__ import annotations

import msgspec

from sayso.core.audit import events
from sayso.core.conversation import lifecycle
from sayso.core.effects import SessionChanged
from sayso.core.model import Assurance
from sayso.gate import words
from sayso.gate.audit.operator_transaction import sign_off
from sayso.gate.gate import (
    Gate,
    TamperedSession,
    UnknownSession,
    apply_and_save,
    load_open_session,
    select_live_rows,
    writing,
)
from sayso.gate.rows.journal import record
from sayso.gate.rows.sessions import RowSelection, load_session
from sayso.gate.sessions.messages import clear_children
from sayso.store.contract import Reader, StoreBusy

AT_ONCE = 1_000
"""How many rows are read at a time."""
MOST_PASSES = 20


class Stopped(msgspec.Struct, frozen=True):
    """A session that was stopped, and what that cleared. `already`: it had been stopped before."""

    session: str
    stopped: bool = True
    already: bool = False
    cleared: tuple[str, ...] = ()


class StoppedAll(msgspec.Struct, frozen=True):
    """How many sessions were stopped; in how many nothing is decided anyway, as they were tampered with.

    `settled`: the last look found none that had not been seen to. It is False if sessions were opened faster
    than they could be stopped, or if one stayed held by others all the time.
    """

    stopped: int
    tampered: int
    settled: bool


class StoppedAndCleared(StoppedAll, frozen=True):
    """The same with the sessions that lost something by it, and what."""

    cleared: tuple[Stopped, ...] = ()


def stop_session(gate: Gate, session: str, *, by: str, assurance: Assurance = Assurance.ASSURED) -> Stopped:
    """Stop a session: everything in it asks, and all consent but the allowlist is gone."""
    stopped = _stop(gate, session, by, assurance)
    sign_off(gate)
    return stopped


def stop_all(gate: Gate, *, by: str) -> StoppedAll:
    """Stop every open session; how many that were."""
    done = stop_all_and_tell(gate, by=by)
    return StoppedAll(done.stopped, done.tampered, done.settled)


def stop_all_and_tell(gate: Gate, *, by: str) -> StoppedAndCleared:
    """Stop every open session, those that are opened meanwhile as well.

    Looks again until it finds none that it has not seen to, a bounded number of times. A session that begins
    after the last look is not stopped: nothing is granted in it, and it asks as the policy says.
    """
    seen: dict[str, str | Stopped] = {}
    settled = False
    mark = gate.sealer.mark
    begun = mark.tick
    for _ in range(MOST_PASSES):
        found = [name for name in _list_open_sessions(gate) if name not in seen]
        if not found:
            settled = True
            break
        done = ((name, _try_to_stop(gate, name, by)) for name in found)
        seen.update((name, how) for name, how in done if how != "busy")
    if settled and mark.burn("session", set(seen), before=begun):
        _record_hidden(gate)
    sign_off(gate)
    stopped = [how for how in seen.values() if isinstance(how, Stopped)]
    cleared = tuple(one for one in stopped if len(one.cleared) > 1)
    return StoppedAndCleared(len(stopped), list(seen.values()).count("tampered"), settled, cleared)


class Resumed(msgspec.Struct, frozen=True):
    """A session that was let go on. `already`: it was not stopped itself.

    `held_by` names a stopped session above it: until that one goes on, everything here still asks.
    """

    session: str
    already: bool = False
    held_by: str | None = None


class ResumedAll(msgspec.Struct, frozen=True):
    """The number of sessions that continue, and of those that stay stopped: tampered with, or busy."""

    resumed: int
    tampered: int
    busy: int


def resume_session(gate: Gate, session: str, *, by: str) -> Resumed:
    """Lift the stop of a session, as the operator: the policy decides again. Cleared consent stays gone."""
    resumed = _resume(gate, session, by)
    sign_off(gate)
    return resumed


def resume_all(gate: Gate, *, by: str) -> ResumedAll:
    """Lift the stop of every open session that is stopped now, as the operator."""
    ways = [_try_to_resume(gate, name, by) for name in _list_open_sessions(gate)]
    sign_off(gate)
    return ResumedAll(ways.count("resumed"), ways.count("tampered"), ways.count("busy"))


def _stop(gate: Gate, session: str, by: str, assurance: Assurance) -> Stopped:
    with writing(gate) as tx:
        found = load_open_session(gate, tx, session, select_live_rows())
        report = lifecycle.report_stop(found.session, assurance, tx.now)
        apply_and_save(gate, tx, found, report.effects, by=by)
        stopped = events.SessionStopped(by, report.cleared)
        record(tx, stopped, session=session, agent=found.row.agent, stream=gate.stream)
        below = clear_children(gate, tx, session, report.effects, by=by)
    already = found.session.stopped is not None
    return Stopped(session, already=already, cleared=(*report.cleared, *below))


def _resume(gate: Gate, session: str, by: str) -> Resumed:
    with writing(gate) as tx:
        found = load_open_session(gate, tx, session, RowSelection())
        held_by = _find_stopped_above(gate, tx, found.row.parent)
        if found.session.stopped is None:
            return Resumed(session, already=True, held_by=held_by)
        apply_and_save(gate, tx, found, (SessionChanged(stopped=None),))
        record(tx, events.GoesOn(by), session=session, agent=found.row.agent, stream=gate.stream)
    return Resumed(session, held_by=held_by)


def _try_to_resume(gate: Gate, session: str, by: str) -> str:
    try:
        return "not stopped" if _resume(gate, session, by).already else "resumed"
    except StoreBusy:
        return "busy"
    except UnknownSession:
        return "ended"
    except TamperedSession:
        return "tampered"


def _find_stopped_above(gate: Gate, tx: Reader, session: str | None) -> str | None:
    """The nearest session from here up that is stopped, or cannot be read, which counts as stopped."""
    while session is not None:
        found = load_session(tx, gate.sealer, session, RowSelection())
        if found is None or found.findings or found.session.stopped is not None:
            return session
        session = found.row.parent
    return None


def _record_hidden(gate: Gate) -> None:
    """Sessions that were not to be found have lost the right to go on, should their rows come back."""
    with writing(gate) as tx:
        finding = words.HIDDEN_WHILE_STOPPING
        record(tx, events.TamperingFound(finding=finding), stream=gate.stream)


def _try_to_stop(gate: Gate, session: str, by: str) -> str | Stopped:
    """Stop this session; return the result. A session that is held must not keep the others running."""
    try:
        return _stop(gate, session, by, Assurance.ASSURED)
    except StoreBusy:
        return "busy"
    except UnknownSession:
        return "ended"
    except TamperedSession:
        return "tampered"


def _list_open_sessions(gate: Gate) -> list[str]:
    found: list[str] = []
    with gate.store.read() as tx:
        while page := tx.sessions(after=found[-1] if found else "", limit=AT_ONCE):
            found += [row.id for row in page]
    return found
