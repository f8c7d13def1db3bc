"""Views of `sayso calls …` and `sayso runs …`: calls and workflow runs in plain lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from sayso.cli.views.operator import format_moment, format_span
from sayso.core import ledger
from sayso.core.deciding.titles import title_of
from sayso.core.digest import decode_canonical
from sayso.core.errors import SaysoError
from sayso.core.ledger import NotNow
from sayso.core.model import Call
from sayso.core.text.counts import count_of
from sayso.core.words import visible
from sayso.gate import words
from sayso.gate.call_rows import Record, UnknownCall, find_record, sound_call, standing_of
from sayso.gate.deciding.approvals import state_of_call
from sayso.gate.gate import Gate
from sayso.gate.ledger.attempts import with_question_outcome
from sayso.gate.ledger.recovery import recover_calls
from sayso.gate.ledger.workflows import MOST, RunProgress
from sayso.store.contract import CallRow, Reader

TAMPERED = "TAMPERED WITH: it is not run"
UNSTARTED = ("ran_out", "taken_back", "used_elsewhere")
TRY_AGAIN = "a retry asks again"
HOLDER_GONE = "its holder is gone, so nobody knows whether it ran"


class CallSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A call as it is listed. `lapsed`: it counts as running, but nobody has kept its lease.

    `state` says also what became of an approval that it did not start with (see `approvals.stands`).

    `tampered`: its record was tampered with. Then only what its row says is shown.
    """

    id: str
    state: str
    tool: str
    title: str
    """The call in a line, by the arguments that matter."""
    session: str
    at: float
    agent: str = ""
    operations: tuple[str, ...] = ()
    workflow: str | None = None
    question: str | None = None
    ended_at: float | None = None
    lapsed: bool = False
    tampered: bool = False


class CallDetails(CallSummary, frozen=True, kw_only=True):
    """All that is kept of a call. `result_bytes` is how long its kept result is, None if there is none."""

    verdict: str = ""
    rule: str = ""
    reason: str = ""
    risks: dict[str, str] = {}
    command: str | None = None
    target: str | None = None
    arguments: Any = None
    folder: str = ""
    digest: str = ""
    holder: str | None = None
    lease_left: float | None = None
    starts: int = 0
    host_id: str | None = None
    effect_key: str | None = None
    result_bytes: int | None = None


def load_call_summaries(gate: Gate, session: str | None, *, everything: bool) -> list[CallSummary]:
    """The calls that are not over, or all of them, oldest first."""
    with gate.store.read() as tx:
        kept = tx.calls(states=ledger.STATES if everything else ledger.NOT_OVER, limit=MOST)
        rows = [_as_it_stands(gate, tx, row) for row in kept if session in (None, row.session)]
        now = tx.now
    told = (CallSummary(**_summary_fields(gate, row, now) | more) for row, more in rows)
    return [one for one in told if everything or one.state in ledger.NOT_OVER]


def load_call_details(gate: Gate, call: str) -> CallDetails:
    with gate.store.read() as tx:
        row, now = tx.call(call), tx.now
        if row is None:
            raise UnknownCall.of(call)
        row, more = _as_it_stands(gate, tx, row)
    kept = find_record(gate, row)
    lease = None if row.lease_until is None else row.lease_until - now
    told = _summary_fields(gate, row, now) | more
    told |= {
        "digest": row.digest,
        "holder": row.holder,
        "lease_left": lease,
        "starts": row.fence,
        "host_id": row.host_id,
        "effect_key": row.effect_key,
        "result_bytes": None if row.result is None or row.ended_at is None else len(row.result),
    }
    return CallDetails(**told, **({} if kept is None else _decision_fields(kept)))


def _as_it_stands(gate: Gate, tx: Reader, row: CallRow) -> tuple[CallRow, dict[str, Any]]:
    """The call as it is now, its state, and whether its row was tampered with."""
    tampered = sound_call(gate, tx, row) is None
    row = with_question_outcome(gate, tx, row)
    return row, {"state": state_of_call(gate, tx, row), "tampered": tampered}


def load_call_to_resolve(gate: Gate, call: str) -> CallDetails:
    """The call, if it is one of which nobody knows. One whose holder has died is found to be that here."""
    found = load_call_details(gate, call)
    if found.lapsed:
        recover_calls(gate)
        found = load_call_details(gate, call)
    if found.state != "ambiguous":
        hint = "its holder is still at it" if found.state == "running" else "sayso calls lists those that can"
        raise NotNow(f"the call is {found.state}, and only an ambiguous one can be resolved", hint=hint)
    return found


def call_summary_lines(found: Iterable[CallSummary]) -> list[str]:
    lines: list[str] = []
    for one in found:
        lines += [_heading(one), f"    {', '.join(_facts(one))}"]
        lines += [f"    {remark}" for remark in _remarks(one)]
    return lines or ["No call is under way."]


def call_detail_lines(one: CallDetails) -> list[str]:
    told = {
        "command": one.command,
        "target": one.target,
        "arguments": None if one.arguments is None else msgspec.json.encode(one.arguments).decode(),
        "folder": one.folder,
        "decided": f"{one.verdict} ({one.rule}): {one.reason}" if one.verdict else None,
        "operations": ", ".join(f"{name} ({risk} risk)" for name, risk in one.risks.items()),
        "digest": one.digest,
        "held by": one.holder,
        "lease": None if one.lease_left is None else _format_lease(one.lease_left),
        "started": count_of(one.starts, "time") if one.starts else None,
        "id of the host": one.host_id,
        "effect": one.effect_key,
        "ended": None if one.ended_at is None else format_moment(one.ended_at),
        "result": None if one.result_bytes is None else f"{one.result_bytes} bytes kept",
    }
    lines = [_heading(one), f"    {', '.join(_facts(one))}"]
    lines += [f"    {label}: {visible(text)}" for label, text in told.items() if text]
    return lines + [f"    {remark}" for remark in _remarks(one)]


def run_lines(found: Iterable[RunProgress]) -> list[str]:
    lines: list[str] = []
    for one in found:
        since = format_moment(one.began)
        lines += [f"{visible(one.run)}  {visible(one.workflow)}: {one.state}"]
        lines += [f"    session {visible(one.session)}, since {since}"]
        lines += [f"    {visible(step)}: {visible(state)}" for step, state in one.steps.items()]
    return lines


def _summary_fields(gate: Gate, row: CallRow, now: float) -> dict[str, Any]:
    kept = find_record(gate, row)
    told: dict[str, Any] = {
        "id": row.id,
        "state": row.state,
        "tool": row.tool,
        "title": visible(row.tool),
        "session": row.session,
        "at": row.at,
        "question": row.question,
        "ended_at": row.ended_at,
        "lapsed": row.state != ledger.expire_lease(standing_of(row), now).state,
        "tampered": kept is None,
    }
    if kept is None:
        return told
    request = kept.request
    own = {"agent": request.agent, "operations": request.operation_names, "workflow": request.workflow}
    return told | own | {"title": title_of(kept.request.call)}


def _decision_fields(kept: Record) -> dict[str, Any]:
    call = kept.request.call
    return {
        "verdict": kept.verdict.value,
        "rule": kept.rule,
        "reason": kept.reason,
        "risks": {item.operation: item.risk.word for item in kept.items},
        "command": call.command,
        "target": call.target,
        "arguments": _decode_call_arguments(call),
        "folder": call.folder,
    }


def _decode_call_arguments(call: Call) -> Any:
    try:
        return decode_canonical(call.arguments)
    except SaysoError:
        return call.arguments.decode("utf-8", "backslashreplace")


def _heading(one: CallSummary) -> str:
    return f"{visible(one.id)}  {one.state.replace('_', ' ')}  {one.title}"


def _facts(one: CallSummary) -> list[str]:
    facts = [f"session {visible(one.session)}", f"since {format_moment(one.at)}"]
    facts += [f"does {visible(', '.join(one.operations))}"] if one.operations else []
    facts += [f"for {visible(one.agent)}"] if one.agent else []
    facts += [f"workflow {visible(one.workflow)}"] if one.workflow else []
    facts += [f"question {visible(one.question)}"] if one.question else []
    return facts


def _remarks(one: CallSummary) -> list[str]:
    remarks = [HOLDER_GONE] if one.lapsed else []
    remarks += [words.STANDS[one.state], TRY_AGAIN] if one.state in UNSTARTED else []
    if one.lapsed or one.state == "ambiguous":
        remarks += ["look what happened, then:"]
        remarks += [f"  sayso calls resolve {visible(one.id)} succeeded|failed"]
    return remarks + ([TAMPERED] if one.tampered else [])


def _format_lease(left: float) -> str:
    return f"{format_span(left)} left" if left > 0 else f"ran out {format_span(-left)} ago"
