"""Which arguments the calls in a store had, by tool: for the linter, which wonders what a title may name."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import get_args

from sayso.core.digest import decode_canonical
from sayso.core.errors import SaysoError
from sayso.core.ledger import State
from sayso.core.model import Call
from sayso.gate.call_rows import find_record
from sayso.gate.gate import Gate

MOST = 2_000


def collect_argument_names(gate: Gate) -> dict[str, frozenset[str]]:
    """Return the names of arguments by tool, from the calls in the ledger that were not tampered with."""
    with gate.store.read() as tx:
        rows = tx.calls(states=get_args(State), limit=MOST)
    seen: dict[str, frozenset[str]] = {}
    for row in rows:
        kept = find_record(gate, row, any_result=True)
        if kept is not None:
            seen[row.tool] = seen.get(row.tool, frozenset()) | _argument_names(kept.request.call)
    return seen


def _argument_names(call: Call) -> frozenset[str]:
    with suppress(SaysoError):
        given = decode_canonical(call.arguments)
        return frozenset(given) if isinstance(given, Mapping) else frozenset()
    return frozenset()
