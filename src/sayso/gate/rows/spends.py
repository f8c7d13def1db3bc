"""Spends: the log of what became of each grant, a row for each use, return, entry and end.

An older session row that somebody restores meets its own number in the log and fails. Where the mark refuses
every such row anyway, a grant that can be used any number of times has only its end in the log: its uses are
in the trail, with the calls they were for, and counted in its session.

What ends takes more with it: the other grants of the same answer, and what calls under way were started with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from sayso.core.decision import Item
from sayso.core.grants import Grant, HeldGrant
from sayso.core.session import Session
from sayso.gate.rows.row_seals import GrantUsage, Sealer, SessionState, standing_label
from sayso.store.contract import Ahead, GrantRow, SpendKind, SpendRow, Writer

COUNTS: dict[SpendKind, int] = {"use": 1, "return": -1, "enter": 0, "revoke": 0}


def find_entered(old: Session, after: Session) -> list[str]:
    """Return the grants of the calls that were entered, each as often as it was used for them."""
    if not old.unentered:
        return []
    return [grant for name in old.unentered if name not in after.unentered for grant in old.unentered[name]]


def find_spends(
    known: Mapping[str, HeldGrant],
    still: Mapping[str, HeldGrant],
    entered: Sequence[str],
    spent: dict[str, GrantUsage],
    *,
    at: float,
    call: str | None,
    marked: bool,
) -> list[SpendRow]:
    """Return what became of the grants known before, given those of now. `spent` is kept up.

    `entered`: the grants of the calls that were entered meanwhile. `marked`: the mark refuses older rows.
    """
    rows: list[SpendRow] = []
    for name, held in known.items():
        became = still.get(name)
        if name not in spent:  # it is over; what was started with it may not be
            if became is not None and became.revoked and not held.revoked:
                rows.append(SpendRow(name, 0, held.grant.session, "revoke", call, at))
            continue
        for what in _list_spend_kinds(held, became, entered.count(name)):
            before, logged = spent[name], not marked or what == "revoke" or held.grant.uses is not None
            number = before.number + logged
            spent[name] = GrantUsage(number, before.used + COUNTS[what], before.until)
            if logged:
                rows.append(SpendRow(name, number, held.grant.session, what, call, at))
        if became is None or became.revoked:
            del spent[name]
    return rows


def _list_spend_kinds(held: HeldGrant, became: HeldGrant | None, entered: int) -> list[SpendKind]:
    """Return what happened to a grant, each as often as it did, in an order in which it makes sense."""
    used = 0 if became is None else became.used - held.used
    returned = max(-used, 0)
    found: list[SpendKind] = ["use"] * used
    found += ["return"] * returned
    found += ["enter"] * (entered - returned)
    if became is None or became.revoked:
        found.append("revoke")
    return found


class _StartedCall(msgspec.Struct, frozen=True):
    """The part of a started call's record that is read here."""

    items: tuple[Item, ...] = ()


_decode_started_call = msgspec.json.Decoder(_StartedCall).decode


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
