"""Deciding in a workspace whose project has its own file: whoever is asked learns that the file asks."""

from __future__ import annotations

import msgspec

from sayso.core.audit import events
from sayso.core.deciding.decide import decide
from sayso.core.decision import Decision, Item
from sayso.core.errors import SaysoError
from sayso.core.model import Request, Verdict
from sayso.core.session import View
from sayso.gate import words
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record
from sayso.store.contract import Writer

STRICTNESS = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}


def decide_here(gate: Gate, request: Request, view: View, now: float) -> Decision:
    """Decide under the gate's policy. If the project's own file made it stricter, the reason says so."""
    return name_project(gate, request, view, now, decide(request, gate.policy, view, now))


def name_project(gate: Gate, request: Request, view: View, now: float, decision: Decision) -> Decision:
    """The decision, with a remark where the operator's policy alone would be looser."""
    if gate.base is None or decision.verdict is Verdict.ALLOW:
        return decision
    try:
        alone = {one.operation: one for one in decide(request, gate.base, view, now).items}
    except SaysoError:
        return decision
    items = tuple(_with_remark(one, alone.get(one.operation)) for one in decision.items)
    if items == decision.items:
        return decision
    return msgspec.structs.replace(decision, reason=words.with_project(decision.reason), items=items)


def record_project_alerts(gate: Gate, tx: Writer) -> None:
    """Record what is wrong with projects' files, each once."""
    for digest, alert in () if gate.projects is None else gate.projects.take_alerts():
        record(tx, events.PolicyAlerted(digest, alert), stream=gate.stream)


def _with_remark(item: Item, alone: Item | None) -> Item:
    stricter = alone is None or STRICTNESS[item.ruling.verdict] > STRICTNESS[alone.ruling.verdict]
    if not stricter:
        return item
    ruling = msgspec.structs.replace(item.ruling, reason=words.with_project(item.ruling.reason))
    return msgspec.structs.replace(item, ruling=ruling)
