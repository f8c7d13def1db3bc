"""Calls under way, as their rows say, and the grants that end with others because calls rest on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hashlib import sha256

import msgspec

from sayso.core.decision import Item
from sayso.core.grants import Grant
from sayso.core.model import Request
from sayso.core.session import CallUnderWay
from sayso.gate.rows.row_seals import Sealer, SessionState
from sayso.store.contract import Ahead, CallRow, GrantRow, Reader, Writer


class _StartedCall(msgspec.Struct, frozen=True):
    """The parts of a running call's record that are read here."""

    request: Request
    items: tuple[Item, ...] = ()


_decode_started_call = msgspec.json.Decoder(_StartedCall).decode


def running_label(fence: int) -> str:
    """Return the state of a call that runs under this number, as its session stores it."""
    return f"running {fence}"


def standing_label(row: CallRow) -> str | None:
    """Return the standing of a call that is under way, with the note of a parked one."""
    if row.state == "running":
        return running_label(row.fence)
    if row.state != "waiting":
        return None
    return f"waiting {row.fence} {sha256(row.result or b'').hexdigest()[:32]}"


def load_calls_under_way(tx: Reader, sealer: Sealer, kept: SessionState) -> dict[str, CallUnderWay]:
    """The calls under way whose consent has not been taken back, as their rows say."""
    found = {name: tx.call(name) for name in kept.calls if name not in kept.ended}
    return {name: _as_under_way(name, row, sealer) for name, row in found.items()}


def _as_under_way(name: str, row: CallRow | None, sealer: Sealer) -> CallUnderWay:
    body = None if row is None else sealer.open_call(row)
    if row is None or body is None:
        return CallUnderWay(name)
    request = _decode_started_call(body).request
    waits_for = row.question if row.state == "waiting" else None
    call, workflow = request.call, request.workflow
    return CallUnderWay(name, call.tool, workflow, call.command, request.operation_names, waits_for)


def find_grants_of_same_answers(
    tx: Writer, sealer: Sealer, session: str, kept: SessionState, over: Collection[str]
) -> list[str]:
    """The grants of the same answers, and retries that stem from these: what they started ends as well.

    Among those that are live, and those that calls under way were started with.
    """
    rows = _find_rows_that_count(tx, sealer, session, kept, over)
    given = [grant for grant in map(sealer.open_grant, rows) if grant is not None]
    answers = {grant.question for grant in given if grant.id in over and grant.question is not None}
    gone = {*over, *answers}
    return [grant.id for grant in given if _ends_with(grant, answers, gone)]


def _ends_with(grant: Grant, answers: Collection[str], gone: set[str]) -> bool:
    return grant.question in answers or not gone.isdisjoint(grant.stems)


def _find_rows_that_count(
    tx: Writer, sealer: Sealer, session: str, kept: SessionState, over: Iterable[str]
) -> Iterable[GrantRow]:
    """The rows of these grants. Where a call does not say what it was started with, all of the session."""
    started = _find_grants_started_with(tx, sealer, kept)
    return tx.grants(session) if started is None else tx.grants_named(session, (*kept.spent, *over, *started))


def _find_grants_started_with(tx: Writer, sealer: Sealer, kept: SessionState) -> list[str] | None:
    """The grants that the calls under way were started with; None if a row of these is not the last one."""
    if not tx.local:
        tx.read_ahead(Ahead(calls=frozenset(kept.calls)))
    started: list[str] = []
    for name, label in kept.calls.items():
        row = tx.call(name)
        body = None if row is None or standing_label(row) != label else sealer.open_call(row)
        if body is None:
            return None
        started += (grant for item in _decode_started_call(body).items for grant in item.ruling.grants)
    return started
