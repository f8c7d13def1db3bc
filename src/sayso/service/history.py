"""The history: what was decided, newest first, with who answered what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.audit import MAIN, Entry
from sayso.core.decision import Item
from sayso.core.errors import SaysoError
from sayso.core.model import Piece, Request
from sayso.gate.decisions import DECISIONS
from sayso.gate.explaining import traced
from sayso.gate.gate import Gate, UnknownSession
from sayso.gate.history import newest_first
from sayso.gate.journal import what_would_run
from sayso.gate.past import past_decision
from sayso.gate.telling import tell_trace
from sayso.service.audit import IN_STREAM, seq_in
from sayso.service.endpoints import OPERATORS, Context, Endpoint, Paged
from sayso.service.shapes import AgainTold, DecisionTold, RuledTold, TraceTold, WholeDecision
from sayso.store.base import EntryRow, Reader

PAGE = 50
MOST = 200
GONE = "the call itself is no longer kept, or was edited since"


def list_decisions(context: Context) -> Paged:
    """Decisions, newest first. One that was asked is told with its answer, once there is one."""
    limit, before = context.whole("limit", PAGE, 1, MOST), context.query.get("before")
    wanted = Filter(context.query)
    found = newest_first(context.gate, wanted, before=before, limit=limit, events=frozenset(DECISIONS))
    with context.gate.store.read() as tx:
        told = [_told(tx, row, said) for row, said in found.entries if said is not None]
    more = None if found.before is None else {**context.query, "before": found.before}
    return Paged(told, more)


def look(context: Context) -> WholeDecision:
    """One decision as it was recorded; and, apart from that, the same call decided again now."""
    gate = context.gate
    past = past_decision(gate, seq_in(context), stream=context.query.get("stream", MAIN))
    with gate.store.read() as tx:
        told = _told(tx, past.row, past.said)
    if told.call is None and "call" not in past.said.commitments and past.request is not None:
        told = msgspec.structs.replace(told, call=_what_ran(past.request))
    again, again_not = _again(gate, past.request)
    return WholeDecision(
        decision=told,
        origin=str(past.said.details.get("origin", "")),
        policy=str(past.said.details.get("policy", "")),
        operations=tuple(_ruled(item) for item in past.items),
        grants=past.grants,
        call=None if past.call is None else past.call.id,
        state=None if past.call is None else past.call.state,
        because=() if told.call is None or past.request is None else _because(past.request),
        again=again,
        again_not=again_not,
    )


def _what_ran(request: Request) -> Mapping[str, Any]:
    """What the ledger has of a call that was allowed; the trail has what was stopped, until it is erased."""
    return msgspec.json.decode(what_would_run(request.call)["call"], type=dict[str, Any])


def _because(request: Request) -> tuple[Piece, ...]:
    return tuple(dict.fromkeys(piece for one in request.operations for piece in one.because))


def _again(gate: Gate, request: Request | None) -> tuple[AgainTold | None, str | None]:
    if request is None:
        return None, GONE
    try:
        decision, traces = traced(gate, request)
    except UnknownSession:
        return None, "its session is over"
    except SaysoError as error:
        return None, error.message
    trace = tuple(msgspec.convert(one, TraceTold) for one in tell_trace(traces))
    now = AgainTold(decision.verdict.value, decision.rule, decision.reason, gate.policy.digest, trace)
    return now, None


def _ruled(item: Item) -> RuledTold:
    ruling = item.ruling
    return RuledTold(
        item.operation,
        item.category,
        item.risk.word,
        item.weight.word,
        ruling.verdict.value,
        ruling.rule,
        ruling.reason,
    )


class Filter:
    """Which decisions are wanted."""

    def __init__(self, query: Mapping[str, str]) -> None:
        self._agent, self._domain = query.get("agent"), query.get("domain")
        self._details = {name: query[name] for name in ("risk", "verdict", "rule") if name in query}
        self._session, self._text = query.get("session"), query.get("text", "").casefold()

    def __call__(self, tx: Reader, row: EntryRow, said: Entry | None) -> bool:
        if said is None or self._session not in (None, said.session) or self._agent not in (None, said.agent):
            return False
        if any(said.details.get(name) != value for name, value in self._details.items()):
            return False
        if self._domain is not None and self._domain not in _domains(said):
            return False
        if not self._text or any(self._text in str(text).casefold() for text in _texts(said)):
            return True
        call = _call(tx, row) or {}
        return self._text in f"{call.get('command') or ''} {call.get('arguments') or ''}".casefold()


def _domains(said: Entry) -> set[str]:
    return {name.partition(".")[0] for name in said.operations}


def _texts(said: Entry) -> tuple[object, ...]:
    details = (said.details.get(name, "") for name in ("tool", "rule", "reason", "digest"))
    return (*details, *said.operations, said.agent, said.session)


def _told(tx: Reader, row: EntryRow, said: Entry) -> DecisionTold:
    details = said.details
    name = details.get("question")
    question = tx.question(str(name)) if name else None
    return DecisionTold(
        seq=row.seq,
        stream=row.stream,
        at=said.at,
        event=said.event,
        session=said.session,
        agent=said.agent,
        operations=said.operations,
        tool=str(details.get("tool", "")),
        verdict=str(details.get("verdict", "")),
        rule=str(details.get("rule", "")),
        reason=str(details.get("reason", "")),
        risk=str(details.get("risk", "")),
        digest=str(details.get("digest", "")),
        question=None if name is None else str(name),
        answer=None if question is None else question.answer,
        by=None if question is None else question.by,
        call=_call(tx, row),
    )


def _call(tx: Reader, row: EntryRow) -> Mapping[str, Any] | None:
    """What would have run, if that is still kept beside the entry."""
    for secret in tx.secrets(row.stream, row.seq):
        if secret.name == "call":
            call: Mapping[str, Any] = msgspec.json.decode(secret.value)
            return call
    return None


DECIDED: Any = list[DecisionTold]
LISTING = {
    "agent": "Only of this agent.",
    "domain": "Only with an operation of this domain.",
    "risk": "Only of this risk.",
    "verdict": "Only with this verdict: allow, ask or deny.",
    "rule": "Only decided by this rule.",
    "session": "Only of this session.",
    "text": "Only those that hold this text.",
    "before": "Only those before this place; the link to the next page names it.",
    "limit": f"How many at most, up to {MOST}.",
}
ENDPOINTS = (
    Endpoint(
        "GET", "/v1/history", OPERATORS, "What was decided", list_decisions, result=DECIDED, query=LISTING
    ),
    Endpoint(
        "GET",
        "/v1/history/{seq}",
        OPERATORS,
        "One decision, and the same decided again now",
        look,
        result=WholeDecision,
        query=IN_STREAM,
    ),
)
