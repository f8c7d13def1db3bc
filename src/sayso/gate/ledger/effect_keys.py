"""Effect keys: what two calls with one key would do is done once, in whatever sessions they are made.

- A key is taken by a call that runs, waits, succeeded, is ambiguous, or that only its agent says failed.
- The mark beside the key remembers the last call that was started with it; one whose row is gone took it.
"""

from __future__ import annotations

from sayso.core.audit.entry import format_timestamp
from sayso.core.ledger import IN_PROGRESS
from sayso.core.model import Request
from sayso.gate import words
from sayso.gate.call_rows import EffectTaken, find_record, with_effect_turn
from sayso.gate.gate import Gate
from sayso.store.contract import CallRow, Reader

TAKEN = (*IN_PROGRESS, "succeeded", "ambiguous")


def check_effect(
    gate: Gate, tx: Reader, request: Request, effect_key: str, call: str, *, again: bool = False
) -> None:
    """Refuse a call whose effect another call had, has now, or may have had.

    `again`: the call was decided before, and its refusal continues that story.
    """
    tx.session(request.session)  # which holds it: always the session first, then the effect
    rows = tx.calls_by_effect(effect_key)
    kept = [find_record(gate, row) for row in rows]
    claimed = {row.id for row, one in zip(rows, kept, strict=True) if one is not None and one.claimed}
    last = gate.sealer.mark.version("effect", effect_key)
    turns = {one.effect_turn for one in kept if one is not None}
    if None in kept or (last and last not in turns):
        finding = words.EFFECT_ROW_CHANGED
        gate.sealer.doubts.note(finding, request.session)
        raise EffectTaken(request, call, *words.EFFECT_TAMPERED, again=again)
    if turns:
        gate.sealer.mark.go_by("effect", effect_key, max(turns))
    taken = (row for row in rows if row.id != call and (row.state in TAKEN or row.id in claimed))
    by = next(taken, None)
    if by is not None:
        ended = "" if by.ended_at is None else f"{format_timestamp(by.ended_at)[:19]}Z"
        raise EffectTaken(request, call, *words.effect_taken(by.id, by.state, ended), again=again)


def take_effect(gate: Gate, tx: Reader, row: CallRow, effect_key: str) -> CallRow:
    """The call as the last one that was started with its effect key, which the mark remembers."""
    rows = tx.calls_by_effect(effect_key)
    turns = [kept.effect_turn for kept in (find_record(gate, one) for one in rows) if kept is not None]
    turn = 1 + max((gate.sealer.mark.version("effect", effect_key), *turns))
    gate.sealer.mark.note("effect", effect_key, turn)
    return with_effect_turn(gate, row, turn)
