"""Why a call is asked about: the decision made again with every check on the way, as text."""

from __future__ import annotations

import msgspec

from sayso.core.deciding.decide import Trace, explain
from sayso.core.decision import Decision, Question
from sayso.core.model import Request, Verdict
from sayso.core.session import Scope
from sayso.core.words import visible
from sayso.gate import words
from sayso.gate.gate import NO_SCOPE, Gate, load_open_session, select_rows_for
from sayso.gate.policy.projects import decide_here, name_project
from sayso.gate.questions.answer import check_edit
from sayso.gate.questions.surface import EditDecided
from sayso.gate.questions.view import view_of
from sayso.gate.rows.sessions import RowSelection


def preview_decision(gate: Gate, request: Request, scope: Scope = NO_SCOPE) -> Decision:
    """Decide as of now, without effects. Nothing is used up, opened or written."""
    gate = gate.in_workspace(request.call.workspace)
    with gate.store.read() as tx:
        found = load_open_session(gate, tx, request.session, select_rows_for_preview(gate, request, scope))
        return decide_here(gate, request, view_of(gate, tx, found, request, scope), tx.now)


def decide_edit(gate: Gate, asked: Question, edited: Request) -> EditDecided:
    """Decide this call in place of the one asked about, without effects."""
    check_edit(asked, edited)
    decision = preview_decision(gate, edited)
    return EditDecided(
        edited.digest, decision.risk, decision.verdict is Verdict.DENY, describe_reason(decision)
    )


def describe_reason(decision: Decision) -> str:
    """Why a call is denied; else what there is to say of its riskiest operation."""
    if decision.verdict is Verdict.DENY:
        return decision.reason
    return max(decision.items, key=lambda item: item.risk).ruling.reason


def describe_why_asked(gate: Gate, question: Question) -> str:
    """Why this question is asked: the checks of its call, or that its message is only claimed."""
    if question.claim is not None:
        return f"{question.items[0].operation} (high risk)\n  * claimed: {question.items[0].ruling.reason}"
    return format_trace(gate, question.request)


def trace_decision(
    gate: Gate, request: Request, scope: Scope = NO_SCOPE
) -> tuple[Decision, tuple[Trace, ...]]:
    """The same, with every check on the way."""
    gate = gate.in_workspace(request.call.workspace)
    with gate.store.read() as tx:
        found = load_open_session(gate, tx, request.session, select_rows_for_preview(gate, request, scope))
        view = view_of(gate, tx, found, request, scope)
        decision, traces = explain(request, gate.policy, view, tx.now)
        return name_project(gate, request, view, tx.now, decision), traces


def format_trace(gate: Gate, request: Request, scope: Scope = NO_SCOPE) -> str:
    """One line a check, for each operation of the call. Deciding again changes nothing.

    Line breaks in what somebody else wrote are spelled out: a break in this text is one of ours.
    """
    _, traces = trace_decision(gate, request, scope)
    project = gate.in_workspace(request.call.workspace).policy.project
    lines = [words.project_file_counts(visible(project, None))] if project else []
    for trace in traces:
        lines.append(f"{trace.operation} ({trace.tier}, {trace.risk.word} risk)")
        lines += [
            f"  {'*' if check.spoke else '-'} {check.rule}: {visible(check.why, None)}"
            for check in trace.checks
        ]
    return "\n".join(lines)


def select_rows_for_preview(gate: Gate, request: Request, scope: Scope) -> RowSelection:
    """What this request can depend on, and all that is live, as an ask may end the plan."""
    return msgspec.structs.replace(select_rows_for(request, gate.policy, scope), live=True)
