"""Decode the service's answers into the objects that an embedded gate gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.conversation.hearing import Heard
from sayso.core.conversation.lifecycle import Report
from sayso.core.decision import Decision, Item, Offer, Ruling
from sayso.core.digest import encode_canonical
from sayso.core.errors import SaysoError
from sayso.core.model import Call, Operation, Request, Risk, Verdict
from sayso.core.session.plan_text import PlanText
from sayso.doors.python.calls.door import PendingAsk
from sayso.gate.call_rows import Attempt, Record
from sayso.gate.decoding import convert_to
from sayso.gate.ledger.workflows import encode_note
from sayso.gate.sessions.operator_grants import ListedGrant
from sayso.wire import CallView, OperationRuling, RunnableCall

STATES = {"allowed": "running", "blocked": "denied"}
"""The ledger's words for what callers are told."""


class RemoteAttempt(Attempt, frozen=True):
    """The standing of a remote call. `asks` is what it waits for; `answered`: the question is closed."""

    asks: PendingAsk | None = None
    answered: bool = False


class OtherCall(SaysoError):
    """The answer is about another call than the request. Nothing was allowed by it."""

    code = "other_call"
    advice = "see what stands between this program and the service; it mixes up answers"


def decode_attempt(answer: object, *, call: str | None = None, tool: str | None = None) -> RemoteAttempt:
    """Return the state of a call; an answer about another call, or tool, than this one is refused."""
    told = convert_to(answer, CallView)
    if call not in (None, told.operation_id) or tool not in (None, told.tool):
        raise OtherCall(f"the service was asked about {call or tool}, and the answer is about another call")
    state = STATES.get(told.status, told.status)
    runs = told.status == "allowed" and told.fence > 0 and told.call is not None
    held = told.status == "denied" and told.verdict == Verdict.DENY.value
    return RemoteAttempt(
        told.operation_id,
        state,
        told.fence if runs or held else 0,
        _decode_record(told),
        told.question,
        None if told.result is msgspec.UNSET else msgspec.json.encode(told.result),
        None if told.note is None else encode_note(told.note),
        asks=_decode_ask(told) if state == "pending" and told.question is not None else None,
        answered=told.answered,
    )


def decode_decision(told: Mapping[str, Any]) -> Decision:
    """The decision as an object again, as far as the service tells it."""
    return Decision(
        Verdict(told["verdict"]),
        told["rule"],
        told["reason"],
        told["announce"],
        tuple(_decode_item(one) for one in convert_to(told["operations"], list[OperationRuling])),
        tuple(told["grants"]),
        (),
        tuple(Offer(answer, "") for answer in told["offers"]),
    )


def decode_heard(said: Mapping[str, Any]) -> Heard:
    return Heard(
        said["kind"],
        said["turn"],
        tuple(said["did"]),
        tuple(said["announced"]),
        tuple(said["cleared"]),
        said["answered"],
        (),
        said["question"],
    )


def decode_plan_text(said: Mapping[str, Any]) -> PlanText:
    evidence = said.get("evidence", {})
    return PlanText(
        said["shown"],
        targets=tuple(said["targets"]),
        changes=(evidence["changes"],) if "changes" in evidence else (),
        scope=evidence.get("scope"),
        success=evidence.get("success"),
        operations=tuple(said["operations"]),
        places={name: tuple(targets) for name, targets in said["covers"].items()},
        asked=tuple(said["asked"]),
        blocked=tuple(said["blocked"]),
    )


def decode_report(said: Mapping[str, Any]) -> Report:
    return Report((), tuple(said["announced"]), tuple(said["cleared"]))


def decode_grants(answer: object) -> list[ListedGrant]:
    return convert_to(answer, list[ListedGrant])


def _decode_record(told: CallView) -> Record:
    runs = told.call or told.wanted or RunnableCall(told.tool, {})
    call = Call(
        runs.tool,
        encode_canonical(runs.args),
        folder=runs.folder,
        command=runs.command,
        schema=told.schema,
        state=told.state,
    )
    named = tuple(Operation(one.operation) for one in told.operations) or (Operation(told.operation),)
    request = Request(call, named, told.digest, told.digest, session=told.session, workflow=told.workflow)
    items = tuple(_decode_item(one) for one in told.operations)
    verdict = Verdict(told.verdict)
    return Record(request, verdict, told.rule, told.reason, items, told.announce, unkept=told.unkept)


def _decode_ask(told: CallView) -> PendingAsk:
    risk = Risk.parse(told.risk)
    return PendingAsk(told.question or "", told.operation, told.reason, risk, told.digest, told.offers)


def _decode_item(told: OperationRuling) -> Item:
    risk, weight = Risk.parse(told.risk), Risk.parse(told.weight)
    ruling = Ruling(Verdict(told.verdict), told.rule, told.reason)
    return Item(told.operation, told.category, told.category, risk, risk, weight, ruling)
