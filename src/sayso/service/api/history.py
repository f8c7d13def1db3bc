"""The history: one story a call, newest first."""

from __future__ import annotations

from typing import Any

from sayso.core.audit.entry import MAIN
from sayso.core.errors import SaysoError
from sayso.core.model import Piece, Request
from sayso.gate.as_json import trace_to_json
from sayso.gate.decoding import convert_to
from sayso.gate.figures.recorded_decision import load_past_decision
from sayso.gate.figures.stories import filter_from_query, find_stories
from sayso.gate.figures.story import Story, load_story
from sayso.gate.gate import Gate, UnknownSession
from sayso.gate.questions.explain import trace_decision
from sayso.service.api.audit import IN_STREAM, entry_number
from sayso.service.api.call_body import describe_ruling
from sayso.service.http.endpoints import OPERATORS, Context, Endpoint, Paged
from sayso.service.shapes import DecisionRecord, FreshDecision, HistoryEntry, OperationTrace

PAGE = 50
MOST = 200
GONE = "the call itself is no longer kept, or was edited since"


def list_decisions(context: Context) -> Paged:
    """Calls, those decided last first, each with its story: asked, edited, answered, started, ended."""
    limit, before = context.whole_number("limit", PAGE, 1, MOST), context.query.get("before")
    found = find_stories(context.gate, filter_from_query(context.query), before=before, limit=limit)
    more = None if found.before is None else {**context.query, "before": found.before}
    return Paged([_describe_story(one) for one in found.stories], more)


def get_decision(context: Context) -> DecisionRecord:
    """One decision as it was recorded; and, apart from that, the same call decided again now."""
    gate = context.gate
    past = load_past_decision(gate, entry_number(context), stream=context.query.get("stream", MAIN))
    with gate.store.read() as tx:
        story = load_story(gate, tx, past.row, past.said)
    again, again_not = _decide_again(gate, past.request)
    return DecisionRecord(
        decision=_describe_story(story),
        origin=past.decision.origin,
        policy=past.decision.policy,
        operations=tuple(describe_ruling(item) for item in past.items),
        grants=past.grants,
        call=None if story.ledger is None else story.ledger.id,
        state=story.state,
        because=() if story.request is None else _evidence_of(story.request),
        again=again,
        again_not=again_not,
    )


def _find_edited_digest(story: Story) -> str | None:
    edited = any(step.after is not None for step in story.steps)
    return story.request.digest if edited and story.request is not None else None


def _evidence_of(request: Request) -> tuple[Piece, ...]:
    return tuple(dict.fromkeys(piece for one in request.operations for piece in one.because))


def _decide_again(gate: Gate, request: Request | None) -> tuple[FreshDecision | None, str | None]:
    if request is None:
        return None, GONE
    try:
        decision, traces = trace_decision(gate, request)
    except UnknownSession:
        return None, "its session is over"
    except SaysoError as error:
        return None, error.message
    trace = tuple(convert_to(one, OperationTrace) for one in trace_to_json(traces))
    now = FreshDecision(decision.verdict.value, decision.rule, decision.reason, gate.policy.digest, trace)
    return now, None


def _describe_story(story: Story) -> HistoryEntry:
    said, decided, question = story.said, story.decision, story.question
    return HistoryEntry(
        seq=story.row.seq,
        stream=story.row.stream,
        at=said.at,
        event=said.event,
        session=said.session,
        agent=said.agent,
        operations=said.operations,
        tool=decided.tool,
        verdict=decided.verdict,
        rule=decided.rule,
        reason=decided.reason,
        risk=decided.risk,
        digest=decided.digest,
        question=None if question is None else question.id,
        answer=None if question is None else question.answer,
        by=None if question is None else question.by,
        call=story.call,
        title=story.title,
        state=story.state,
        steps=story.steps,
        edited_digest=_find_edited_digest(story),
    )


DECIDED: Any = list[HistoryEntry]
LISTING = {
    "agent": "Only of this agent.",
    "domain": "Only with an operation of this domain.",
    "risk": "Only of this risk.",
    "verdict": "Only those that were asked (ask), or came out so, by rule or by answer: allow, deny.",
    "rule": "Only decided by this rule.",
    "session": "Only of this session.",
    "text": "Only those that hold this text: what ran, its arguments, tool, operations, rule, reason, names.",
    "before": "Only those before this place; the link to the next page names it.",
    "limit": f"How many at most, up to {MOST}.",
}
ENDPOINTS = (
    Endpoint(
        "GET", "/v1/history", OPERATORS, "List decided calls", list_decisions, result=DECIDED, query=LISTING
    ),
    Endpoint(
        "GET",
        "/v1/history/{seq}",
        OPERATORS,
        "Get a decision, and decide it again now",
        get_decision,
        result=DecisionRecord,
        query=IN_STREAM,
    ),
)
