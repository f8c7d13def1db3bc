"""Everything stops: every open session, each in a transaction of its own."""

from __future__ import annotations

import msgspec

from sayso.core.model import Assurance
from sayso.gate.acts import sign_off
from sayso.gate.conversation import hear_message
from sayso.gate.gate import Gate, TamperedSession, UnknownSession, writing
from sayso.gate.journal import record
from sayso.store.base import StoreBusy

AT_ONCE = 1_000
"""How many rows are read at a time."""
MOST_PASSES = 20


class StoppedAll(msgspec.Struct, frozen=True):
    """How many sessions were stopped; in how many nothing is decided anyway, as they were changed by hand.

    `settled`: the last look found none that had not been seen to. It is False if sessions were opened faster
    than they could be stopped, or if one stayed held by others all the time.
    """

    stopped: int
    tampered: int
    settled: bool


def stop_all(gate: Gate, *, by: str) -> StoppedAll:
    """Stop every open session as if its user had said so, those that are opened meanwhile as well.

    Looks again until it finds none that it has not seen to, a bounded number of times. A session that begins
    after the last look is not stopped: nothing is granted in it, and it asks as the policy says.
    """
    seen: dict[str, str] = {}
    settled = False
    mark = gate.sealer.mark
    begun = mark.tick
    for _ in range(MOST_PASSES):
        found = [name for name in _open(gate) if name not in seen]
        if not found:
            settled = True
            break
        done = ((name, _stop(gate, name, by)) for name in found)
        seen.update((name, how) for name, how in done if how != "busy")
    if settled and mark.burn("session", set(seen), before=begun):
        _tell_hidden(gate)
    sign_off(gate)
    ways = list(seen.values())
    return StoppedAll(ways.count("stopped"), ways.count("tampered"), settled)


def _tell_hidden(gate: Gate) -> None:
    """Sessions that were not to be found have lost the right to go on, should their rows come back."""
    with writing(gate) as tx:
        details = {"finding": "rows of open sessions were taken away or changed while all were stopped"}
        record(tx, "TAMPERED", details=details, stream=gate.stream)


def _stop(gate: Gate, session: str, by: str) -> str:
    """What became of it. One that somebody holds must not keep the others from being stopped."""
    try:
        hear_message(gate, session, "stop", Assurance.ASSURED, by=by)
    except StoreBusy:
        return "busy"
    except UnknownSession:
        return "ended"
    except TamperedSession:
        return "tampered"
    return "stopped"


def _open(gate: Gate) -> list[str]:
    found: list[str] = []
    with gate.store.read() as tx:
        while page := tx.sessions(after=found[-1] if found else "", limit=AT_ONCE):
            found += [row.id for row in page]
    return found
