"""The history: what was decided, newest first, with who answered what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.audit import Entry
from sayso.gate.history import newest_first
from sayso.gate.stats import DECISIONS
from sayso.service.endpoints import OPERATORS, Context, Endpoint, Paged
from sayso.service.shapes import DecisionTold
from sayso.store.base import EntryRow, Reader

PAGE = 50
MOST = 200
EVENTS = frozenset({*DECISIONS, "USER_INITIATED_COVERED", "WORKFLOW_AUTO_BYPASS_LOW_WEIGHT"})


def list_decisions(context: Context) -> Paged:
    """Decisions, newest first. One that was asked is told with its answer, once there is one."""
    limit, before = context.whole("limit", PAGE, 1, MOST), context.query.get("before")
    wanted = Filter(context.query)
    found = newest_first(context.gate, wanted, before=before, limit=limit, events=EVENTS)
    with context.gate.store.read() as tx:
        told = [_told(tx, row, said) for row, said in found.entries if said is not None]
    more = None if found.before is None else {**context.query, "before": found.before}
    return Paged(told, more)


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
)
