"""AuthZEN 1.0: evaluations, one or many, and where to find them. They tell what would be decided now.

An evaluation opens no question, uses nothing up and writes nothing. It permits nothing either while the store
is known not to be writable: nobody could take back what it permits.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from sayso.core.decision import Decision
from sayso.core.errors import MalformedRequest
from sayso.core.model import Request, Verdict
from sayso.gate.decoding import convert_to
from sayso.gate.ledger.access_requests import earliest_grant_end
from sayso.gate.upkeep.faults import refuse_to_permit
from sayso.service.authzen.access_requests import CAPABILITY, REQUESTS, describe_access_offer, rfc3339_seconds
from sayso.service.authzen.evaluation_request import (
    Action,
    EvaluationBody,
    Resource,
    Subject,
    decide_evaluation,
    evaluation_session,
)
from sayso.service.http.endpoints import ANY, Context, Endpoint
from sayso.service.http.problems import RequestRefused

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
    """Many evaluations. What is beside them holds for those that do not say otherwise."""

    subject: Subject | UnsetType = UNSET
    action: Action | UnsetType = UNSET
    resource: Resource | UnsetType = UNSET
    context: dict[str, Any] | UnsetType = UNSET
    evaluations: list[Any] = []
    """Each an object as for one evaluation; one that is none is denied, and the others are not."""
    options: Options = Options()


class Evaluation(msgspec.Struct, frozen=True):
    """The decision, and why. Only true permits."""

    decision: bool
    context: dict[str, Any]


class EvaluationList(msgspec.Struct, frozen=True):
    """The decisions in the order they were asked for; or just one, if none were listed."""

    evaluations: list[Evaluation] | UnsetType = UNSET
    decision: bool | UnsetType = UNSET
    context: dict[str, Any] | UnsetType = UNSET


class Configuration(msgspec.Struct, frozen=True):
    """The AuthZEN endpoints of this service. There is no search."""

    policy_decision_point: str
    access_evaluation_endpoint: str
    access_evaluations_endpoint: str
    access_request_endpoint: str
    capabilities: tuple[str, ...]


def post_evaluation(context: Context) -> Evaluation:
    """Decide as of now. Opens no question and uses nothing up; a denial is not an error."""
    return _evaluate(context, evaluation_session(context), context.body)


def post_evaluations(context: Context) -> EvaluationList:
    """The same for many at once. One that says nothing clear is denied by itself."""
    body: EvaluationsBody = context.body
    session = evaluation_session(context)
    if not body.evaluations:
        one = _evaluate(context, session, _parse_body(_defaults(body)))
        return EvaluationList(decision=one.decision, context=one.context)
    if len(body.evaluations) > MOST_EVALUATIONS:
        raise RequestRefused(400, "malformed", f"there may be {MOST_EVALUATIONS} evaluations at once")
    for _ in body.evaluations[1:]:  # each counts as a request of its own
        context.running.limits.take(context.token)
    last = LAST[body.options.evaluations_semantic]
    found: list[Evaluation] = []
    for item in body.evaluations:
        found.append(_evaluate_item(context, session, _defaults(body), item))
        if found[-1].decision is last:
            break
    return EvaluationList(evaluations=found)


def get_configuration(context: Context) -> Configuration:
    """Return the endpoints' URLs, under the name the service was asked by."""
    return Configuration(
        policy_decision_point=context.base,
        access_evaluation_endpoint=f"{context.base}{EVALUATION}",
        access_evaluations_endpoint=f"{context.base}{EVALUATIONS}",
        access_request_endpoint=f"{context.base}{REQUESTS}",
        capabilities=(CAPABILITY,),
    )


def _evaluate_item(context: Context, session: str, defaults: dict[str, Any], item: Any) -> Evaluation:
    """One of many: what it names itself replaces the default whole."""
    try:
        whole = {**defaults, **item} if isinstance(item, dict) else item
        return _evaluate(context, session, _parse_body(whole))
    except (MalformedRequest, RequestRefused) as error:
        return Evaluation(False, {"reason": "malformed", "error": {"status": 400, "message": error.message}})


def _defaults(body: EvaluationsBody) -> dict[str, Any]:
    given = {name: getattr(body, name) for name in ("subject", "action", "resource", "context")}
    found: dict[str, Any] = msgspec.to_builtins({k: v for k, v in given.items() if v is not UNSET})
    return found


def _parse_body(value: Any) -> EvaluationBody:
    try:
        return convert_to(value, EvaluationBody)
    except msgspec.ValidationError as error:
        raise RequestRefused(400, "malformed", str(error)) from error


def _evaluate(context: Context, session: str, body: EvaluationBody) -> Evaluation:
    request, decision = decide_evaluation(context, session, body)
    refuse_to_permit(context.gate, decision.verdict)
    told: dict[str, Any] = {
        "sayso": {
            "verdict": decision.verdict.value,
            "rule": decision.rule,
            "reason": decision.reason,
            "announce": decision.announce,
        }
    }
    if decision.verdict is Verdict.ALLOW:
        return Evaluation(True, told | _describe_limits(context, decision))
    return Evaluation(False, told | _describe_denial(context, request, body, decision))


def _describe_limits(context: Context, decision: Decision) -> dict[str, Any]:
    """Until when it is permitted, where that is by consent which ends."""
    until = earliest_grant_end(context.gate, decision)
    return {} if until is None else {"approval": {"approved_until": rfc3339_seconds(until)}}


def _describe_denial(
    context: Context, request: Request, body: EvaluationBody, decision: Decision
) -> dict[str, Any]:
    """Why it is denied, and what can be done about it. To show an approval changes nothing by itself."""
    again = "approval" in body.context
    if decision.verdict is Verdict.ASK:
        told = {
            "reason": "approval_required",
            "access_request": describe_access_offer(context, request, body),
        }
        return told | ({"next_action": "request"} if again else {})
    return {"reason": "policy_denied", "next_action": "none"} if again else {"reason": decision.rule}


ENDPOINTS = (
    Endpoint(
        "POST",
        EVALUATION,
        ANY,
        "AuthZEN: evaluate a request",
        post_evaluation,
        EvaluationBody,
        Evaluation,
        authzen=True,
    ),
    Endpoint(
        "POST",
        EVALUATIONS,
        ANY,
        "AuthZEN: evaluate many requests",
        post_evaluations,
        EvaluationsBody,
        EvaluationList,
        authzen=True,
    ),
    Endpoint(
        "GET",
        CONFIGURATION,
        frozenset(),
        "AuthZEN: get the configuration",
        get_configuration,
        result=Configuration,
        authzen=True,
    ),
)
