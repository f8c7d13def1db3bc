"""Spends: the log of what became of each grant, a row for each use, return, entry and end.

An older session row that somebody restores meets its own number in the log and fails. Where the mark refuses
every such row anyway, a grant that can be used any number of times has only its end in the log: its uses are
in the trail, with the calls they were for, and counted in its session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sayso.core.grants import HeldGrant
from sayso.core.session import Session
from sayso.gate.rows.row_seals import GrantUsage
from sayso.store.contract import SpendKind, SpendRow

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
