"""AuthZEN 1.0: evaluations, one or many, and where to find them. They tell what would be decided now.

An evaluation opens no question, uses nothing up and writes nothing.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from sayso.core.decision import Decision
from sayso.core.errors import MalformedRequest
from sayso.core.model import Request, Verdict
from sayso.gate.ledger.access_requests import granted_until
from sayso.service.authzen.as_request import (
    Action,
    EvaluationBody,
    Resource,
    Subject,
    decide_evaluation,
    session_asked,
)
from sayso.service.authzen.requests import CAPABILITY, REQUESTS, requestable, rfc3339
from sayso.service.http.endpoints import ANY, Context, Endpoint
from sayso.service.http.problems import Refused

EVALUATION = "/access/v1/evaluation"
EVALUATIONS = "/access/v1/evaluations"
CONFIGURATION = "/.well-known/authzen-configuration"
MOST_EVALUATIONS = 100
LAST: dict[str, bool | None] = {
    "execute_all": None,
    "deny_on_first_deny": False,
    "permit_on_first_permit": True,
}
"""By semantics, the decision after which the rest is not looked at."""


class Options(msgspec.Struct, frozen=True):
    evaluations_semantic: Literal["execute_all", "deny_on_first_deny", "permit_on_first_permit"] = (
        "execute_all"
    )


class EvaluationsBody(msgspec.Struct, frozen=True):
    """Many evaluations. What stands beside them holds for those that do not say otherwise."""

    subject: Subject | UnsetType = UNSET
    action: Action | UnsetType = UNSET
    resource: Resource | UnsetType = UNSET
    context: dict[str, Any] | UnsetType = UNSET
    evaluations: list[Any] = []
    """Each an object as for one evaluation; one that is none is denied, and the others are not."""
    options: Options = Options()


class Evaluated(msgspec.Struct, frozen=True):
    """The decision, and why. Only true permits."""

    decision: bool
    context: dict[str, Any]


class EvaluationsTold(msgspec.Struct, frozen=True):
    """The decisions in the order they were asked for; or just one, if none were listed."""

    evaluations: list[Evaluated] | UnsetType = UNSET
    decision: bool | UnsetType = UNSET
    context: dict[str, Any] | UnsetType = UNSET


class Configuration(msgspec.Struct, frozen=True):
    """What there is of AuthZEN here. There is no search."""

    policy_decision_point: str
    access_evaluation_endpoint: str
    access_evaluations_endpoint: str
    access_request_endpoint: str
    capabilities: tuple[str, ...]


def evaluate(context: Context) -> Evaluated:
    """What would be decided now. Opens no question and uses nothing up; a denial is no error."""
    return _evaluated(context, session_asked(context), context.body)


def evaluate_many(context: Context) -> EvaluationsTold:
    """The same for many at once. One that says nothing clear is denied by itself."""
    body: EvaluationsBody = context.body
    session = session_asked(context)
    if not body.evaluations:
        one = _evaluated(context, session, _converted(_defaults(body)))
        return EvaluationsTold(decision=one.decision, context=one.context)
    if len(body.evaluations) > MOST_EVALUATIONS:
        raise Refused(400, "malformed", f"there may be {MOST_EVALUATIONS} evaluations at once")
    for _ in body.evaluations[1:]:  # each counts as a request of its own
        context.running.limits.take(context.token.id)
    last = LAST[body.options.evaluations_semantic]
    found: list[Evaluated] = []
    for item in body.evaluations:
        found.append(_item(context, session, _defaults(body), item))
        if found[-1].decision is last:
            break
    return EvaluationsTold(evaluations=found)


def configuration(context: Context) -> Configuration:
    """Where the endpoints are, for the name the service was asked by."""
    return Configuration(
        policy_decision_point=context.base,
        access_evaluation_endpoint=f"{context.base}{EVALUATION}",
        access_evaluations_endpoint=f"{context.base}{EVALUATIONS}",
        access_request_endpoint=f"{context.base}{REQUESTS}",
        capabilities=(CAPABILITY,),
    )


def _item(context: Context, session: str, defaults: dict[str, Any], item: Any) -> Evaluated:
    """One of many: what it names itself replaces the default whole."""
    try:
        whole = {**defaults, **item} if isinstance(item, dict) else item
        return _evaluated(context, session, _converted(whole))
    except (MalformedRequest, Refused) as error:
        return Evaluated(False, {"reason": "malformed", "error": {"status": 400, "message": error.message}})


def _defaults(body: EvaluationsBody) -> dict[str, Any]:
    given = {name: getattr(body, name) for name in ("subject", "action", "resource", "context")}
    found: dict[str, Any] = msgspec.to_builtins({k: v for k, v in given.items() if v is not UNSET})
    return found


def _converted(value: Any) -> EvaluationBody:
    try:
        return msgspec.convert(value, EvaluationBody)
    except msgspec.ValidationError as error:
        raise Refused(400, "malformed", str(error)) from error


def _evaluated(context: Context, session: str, body: EvaluationBody) -> Evaluated:
    request, decision = decide_evaluation(context, session, body)
    told: dict[str, Any] = {
        "sayso": {
            "verdict": decision.verdict.value,
            "rule": decision.rule,
            "reason": decision.reason,
            "announce": decision.announce,
        }
    }
    if decision.verdict is Verdict.ALLOW:
        return Evaluated(True, told | _limits(context, decision))
    return Evaluated(False, told | _why(context, request, body, decision))


def _limits(context: Context, decision: Decision) -> dict[str, Any]:
    """Until when it is permitted, where that is by consent which ends."""
    until = granted_until(context.gate, decision)
    return {} if until is None else {"approval": {"approved_until": rfc3339(until)}}


def _why(context: Context, request: Request, body: EvaluationBody, decision: Decision) -> dict[str, Any]:
    """Why it is denied, and what can be done about it. To show an approval changes nothing by itself."""
    again = "approval" in body.context
    if decision.verdict is Verdict.ASK:
        told = {"reason": "approval_required", "access_request": requestable(context, request, body)}
        return told | ({"next_action": "request"} if again else {})
    return {"reason": "policy_denied", "next_action": "none"} if again else {"reason": decision.rule}


ENDPOINTS = (
    Endpoint(
        "POST", EVALUATION, ANY, "AuthZEN: one evaluation", evaluate, EvaluationBody, Evaluated, authzen=True
    ),
    Endpoint(
        "POST",
        EVALUATIONS,
        ANY,
        "AuthZEN: many evaluations",
        evaluate_many,
        EvaluationsBody,
        EvaluationsTold,
        authzen=True,
    ),
    Endpoint(
        "GET",
        CONFIGURATION,
        frozenset(),
        "AuthZEN: what there is of it",
        configuration,
        result=Configuration,
        authzen=True,
    ),
)
