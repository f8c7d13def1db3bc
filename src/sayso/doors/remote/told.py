"""What the service tells of calls and decisions, as the objects an embedded gate gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.conversation.hear import Heard
from sayso.core.conversation.lifecycle import Report
from sayso.core.decision import Decision, Item, Offer, Ruling
from sayso.core.digest import canonical
from sayso.core.model import Call, Operation, Request, Risk, Verdict
from sayso.core.plans.text import PlanText
from sayso.doors.python.door import Asks
from sayso.doors.python.host import Runs
from sayso.doors.remote.shapes import CallTold, OperationTold
from sayso.gate.ledger.rows import Attempt, Record
from sayso.gate.ledger.workflows import encoded
from sayso.gate.sessions.operator_grants import Listed

STATES = {"allowed": "running", "blocked": "denied"}
"""The ledger's words for what callers are told."""


class ToldAttempt(Attempt, frozen=True):
    """Where a call stands. `asks` is what it waits for; `answered` that the question is closed."""

    asks: Asks | None = None
    answered: bool = False


def attempt_of(answer: object) -> ToldAttempt:
    told = msgspec.convert(answer, CallTold)
    state = STATES.get(told.status, told.status)
    runs = told.status == "allowed" and told.fence > 0 and told.call is not None
    held = told.status == "denied" and told.verdict == Verdict.DENY.value
    return ToldAttempt(
        told.operation_id,
        state,
        told.fence if runs or held else 0,
        _record(told),
        told.question,
        None if told.result is msgspec.UNSET else msgspec.json.encode(told.result),
        None if told.note is None else encoded(told.note),
        asks=_asks(told) if state == "pending" and told.question is not None else None,
        answered=told.answered,
    )


def decision_of(told: Mapping[str, Any]) -> Decision:
    """The decision as an object again, as far as the service tells it."""
    return Decision(
        Verdict(told["verdict"]),
        told["rule"],
        told["reason"],
        told["announce"],
        tuple(_item(one) for one in msgspec.convert(told["operations"], list[OperationTold])),
        tuple(told["grants"]),
        (),
        tuple(Offer(answer, "") for answer in told["offers"]),
    )


def heard_of(said: Mapping[str, Any]) -> Heard:
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


def plan_text_of(said: Mapping[str, Any]) -> PlanText:
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


def report_of(said: Mapping[str, Any]) -> Report:
    return Report((), tuple(said["announced"]), tuple(said["cleared"]))


def listed_of(answer: object) -> list[Listed]:
    return msgspec.convert(answer, list[Listed])


def _record(told: CallTold) -> Record:
    runs = told.call or told.wanted or Runs(told.tool, {})
    call = Call(
        runs.tool,
        canonical(runs.args),
        folder=runs.folder,
        command=runs.command,
        schema=told.schema,
        state=told.state,
    )
    named = tuple(Operation(one.operation) for one in told.operations) or (Operation(told.operation),)
    request = Request(call, named, told.digest, told.digest, session=told.session, workflow=told.workflow)
    items = tuple(_item(one) for one in told.operations)
    verdict = Verdict(told.verdict)
    return Record(request, verdict, told.rule, told.reason, items, told.announce, unkept=told.unkept)


def _asks(told: CallTold) -> Asks:
    risk = Risk.of(told.risk)
    return Asks(told.question or "", told.operation, told.reason, risk, told.digest, told.offers)


def _item(told: OperationTold) -> Item:
    risk, weight = Risk.of(told.risk), Risk.of(told.weight)
    ruling = Ruling(Verdict(told.verdict), told.rule, told.reason)
    return Item(told.operation, told.category, told.category, risk, risk, weight, ruling)
