"""AuthZEN's access request profile: a denial that a person can lift, asking for that, and what came of it.

The request is bound to what was evaluated by a seal that comes back with it. Neither that seal nor the id of
an approval allows anything: whoever was approved evaluates again, and the gate looks at what it keeps itself.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from sayso.core.digest import encode_canonical, sha256
from sayso.core.durations import ACCESS_OFFER_LASTS, COME_BACK_AFTER
from sayso.core.model import Request
from sayso.gate.call_rows import KeyReused
from sayso.gate.gate import Gate
from sayso.gate.ledger.access_requests import (
    AccessRequest,
    NotRequestable,
    TooManyQuestions,
    find_access_request,
    find_grants_of_answer,
    load_access_request,
    request_access,
)
from sayso.gate.questions.expiry import ends_at
from sayso.service.authzen.evaluation_request import (
    EvaluationBody,
    evaluation_session,
    request_from_evaluation,
)
from sayso.service.http.callers import is_own
from sayso.service.http.endpoints import ANY, Context, Endpoint
from sayso.service.http.problems import RequestRefused
from sayso.store.contract import QuestionRow, Reader

REQUESTS = "/access/v1/requests"
CAPABILITY = "urn:openid:authzen:capability:access-request"
PROBLEM = "urn:openid:authzen:access-request:error:"
TEMPLATE = "approval"
"""Seconds in which access can be asked for after a denial."""
LONGEST_TOKEN = 200
INSTEAD = "a person allowed another call instead; retry the call by this id to run that one"

TaskStatus = Literal["pending", "approved", "denied", "expired", "cancelled", "failed"]


class DenialBody(msgspec.Struct, frozen=True):
    """The `denial` of the evaluation, sent back unchanged."""

    expires_at: str
    binding_token: str = ""


class AccessRequestBody(EvaluationBody, frozen=True, kw_only=True):
    """The evaluation, with its denial."""

    denial: DenialBody


class AccessTask(msgspec.Struct, frozen=True):
    """The question that was opened. Its id is that of a call: retried once it is approved, it runs, once."""

    id: str
    status: TaskStatus
    status_endpoint: str
    expires_at: str | UnsetType = UNSET
    display: dict[str, str] | UnsetType = UNSET


class AccessApproval(msgspec.Struct, frozen=True):
    """For whoever evaluates again. It grants nothing."""

    id: str
    approved_at: str
    approved_until: str


class AccessResult(msgspec.Struct, frozen=True):
    mode: Literal["reevaluate"]
    approval: AccessApproval


class AccessTaskView(msgspec.Struct, frozen=True):
    task: AccessTask
    result: AccessResult | UnsetType = UNSET


def describe_access_offer(context: Context, request: Request, body: EvaluationBody) -> dict[str, str]:
    """Return the offer that goes with a denial a person could lift."""
    with context.gate.store.read() as tx:
        expires = int(tx.now) + int(ACCESS_OFFER_LASTS)
    return {
        "endpoint": f"{context.base}{REQUESTS}",
        "template": TEMPLATE,
        "expires_at": rfc3339_seconds(expires),
        "binding_token": _make_binding(context, request, body, expires),
    }


def post_access_request(context: Context) -> AccessTaskView:
    """Ask a person for what was evaluated. The same Idempotency-Key and body give the same task again."""
    body: AccessRequestBody = context.body
    request = request_from_evaluation(context, evaluation_session(context), body)
    expires = _check_binding(context, request, body)
    same = sha256(encode_canonical(msgspec.to_builtins(body)))
    try:
        asked = _find_request(context, request, same)
        if asked is None:
            _check_fresh(context, expires)
            asked = request_access(context.gate, request, key=context.key, same=same)
    except KeyReused as error:
        raise _make_refusal(409, "duplicate_request", error.message) from error
    except NotRequestable as error:
        raise _make_refusal(400, "not_requestable", error.message) from error
    except TooManyQuestions as error:
        raise RequestRefused(
            429, "too_many", error.message, hint=error.hint, after=COME_BACK_AFTER
        ) from error
    with context.gate.store.read() as tx:
        return _describe_task(context, tx, asked)


def get_access_request(context: Context) -> AccessTaskView:
    """Return the state of the request. Only approved means that it is worth evaluating again."""
    with context.gate.store.read() as tx:
        found = load_access_request(context.gate, tx, context.parameters["task"])
        if found is None or not is_own(context, tx.session(found[0].session)):
            raise _make_refusal(404, "unknown_task", "there is no such task")
        return _describe_task(context, tx, found[1])


def rfc3339_seconds(at: float) -> str:
    """A time in words, down to the second: never later than it is."""
    return datetime.fromtimestamp(int(at), UTC).isoformat().replace("+00:00", "Z")


def _make_binding(context: Context, request: Request, body: EvaluationBody, expires: int) -> str:
    """The seal on this denial: for this caller, this request, these words, until then."""
    asked = sha256(encode_canonical(body.content))
    text = encode_canonical([expires, request.digest, asked, context.token.id]).decode()
    return f"{expires}.{context.gate.sealer.text('denial', text).hex()}"


def _check_binding(context: Context, request: Request, body: AccessRequestBody) -> int:
    """Until when the denial holds that this was sealed for; refused if it was for anything else."""
    given = body.denial.binding_token
    digits = given.partition(".")[0]
    if len(given) <= LONGEST_TOKEN and given.isascii() and digits.isdigit() and len(digits) < 16:
        right = _make_binding(context, request, body, int(digits))
        if secrets.compare_digest(given, right) and body.denial.expires_at == rfc3339_seconds(int(digits)):
            return int(digits)
    raise _make_refusal(400, "invalid_denial_binding", "this is not what was evaluated and denied")


def _check_fresh(context: Context, expires: int) -> None:
    with context.gate.store.read() as tx:
        late = tx.now >= expires
    if late:
        raise _make_refusal(410, "expired_denial", "the denial is too old; evaluate again")


def _find_request(context: Context, request: Request, same: str) -> AccessRequest | None:
    with context.gate.store.read() as tx:
        return find_access_request(context.gate, tx, request.session, context.key, same)


def _describe_task(context: Context, tx: Reader, asked: AccessRequest) -> AccessTaskView:
    row = asked.question
    place = f"{context.base}{REQUESTS}/{asked.call}"
    if row is None:
        return AccessTaskView(AccessTask(asked.call, "failed", place))
    result = _result(context, tx, row)
    status = _status(context.gate, tx, row, result)
    display = {"description": INSTEAD} if row.answer == "edit" else UNSET
    task = AccessTask(asked.call, status, place, rfc3339_seconds(ends_at(context.gate, row)), display)
    return AccessTaskView(task, UNSET if result is None else result)


def _status(gate: Gate, tx: Reader, row: QuestionRow, result: AccessResult | None) -> TaskStatus:
    """Approved only where an answer gave something; what a person changed is not what was asked for."""
    if row.state == "open":
        return "pending" if tx.now < ends_at(gate, row) else "expired"
    if row.state == "expired" or row.state == "cancelled":
        return row.state
    if result is not None:
        return "approved"
    return "denied" if row.answer in ("deny", "edit") else "failed"


def _result(context: Context, tx: Reader, row: QuestionRow) -> AccessResult | None:
    if row.state != "answered" or row.answer in ("deny", "edit") or row.closed_at is None:
        return None
    grants = find_grants_of_answer(context.gate, tx, row)
    if not grants:
        return None
    name = f"apr_{context.gate.sealer.text('approval', row.id).hex()[:32]}"
    until = max(grant.expires_at for grant in grants)
    return AccessResult(
        "reevaluate", AccessApproval(name, rfc3339_seconds(row.closed_at), rfc3339_seconds(until))
    )


def _make_refusal(status: int, code: str, message: str) -> RequestRefused:
    return RequestRefused(status, code, message, uri=f"{PROBLEM}{code}")


ENDPOINTS = (
    Endpoint(
        "POST",
        REQUESTS,
        ANY,
        "AuthZEN: request access",
        post_access_request,
        AccessRequestBody,
        AccessTaskView,
        status=202,
        authzen=True,
    ),
    Endpoint(
        "GET",
        f"{REQUESTS}/{{task}}",
        ANY,
        "AuthZEN: get an access request",
        get_access_request,
        result=AccessTaskView,
        authzen=True,
    ),
)
