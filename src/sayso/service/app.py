"""The service as an ASGI application: every endpoint behind the same checks, in the same order."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast
from urllib.parse import urlencode

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from sayso.core.digest import parse_json
from sayso.core.errors import SaysoError
from sayso.core.ledger import LONGEST_KEY
from sayso.gate.decoding import convert_to
from sayso.gate.deliveries.remote_surface import RemoteSurface
from sayso.gate.gate import TRIES, Gate, PolicyMoved
from sayso.gate.people.tokens import Token
from sayso.gate.policy_acts.apply import alert_refused_act
from sayso.service import openapi
from sayso.service.api import (
    audit,
    calls,
    conversation,
    events,
    grants,
    history,
    hooks,
    leases,
    passkeys,
    runs,
    sessions,
    stats,
    system,
    tokens,
)
from sayso.service.api.asking import people, questions, surfaces
from sayso.service.api.changing import hindsight, policy, proposals, trusted
from sayso.service.authzen import access_requests, evaluations
from sayso.service.http.auth import SAFE, check_caller_again, find_bearer, find_caller, token_name
from sayso.service.http.batches import BatchedStep
from sayso.service.http.callers import agent_session_key
from sayso.service.http.connections import mark_caller_known
from sayso.service.http.endpoints import (
    NOBODY,
    Context,
    Endpoint,
    HttpRequest,
    JsonAnswer,
    Paged,
    Routes,
    UnreadBody,
)
from sayso.service.http.guard import Guard
from sayso.service.http.hints import hint_for
from sayso.service.http.names import may_be_unnameable, refuse_nul, refuse_unnameable
from sayso.service.http.problems import Problem, RequestRefused, problem_response
from sayso.service.http.state import ServiceSettings, ServiceState
from sayso.service.pages import missing_page_response
from sayso.store.contract import Ahead, StoreBusy
from sayso.wire import KEY_HEADER, SESSION_HEADER, HookDialect

log = logging.getLogger("sayso.service")
LARGEST_BODY = 1024 * 1024
LARGEST_UNSIGNED = 64 * 1024
"""A body of somebody without a token: they sign in, and nothing else."""
URGENT = 30.0
"""How many seconds an operator's act is tried again while others hold the store."""
LOOK_AGAIN = 0.05
LONGEST_PARAMETER = 300
LONGEST_QUERY = 4_000
REQUEST_ID = "x-request-id"
KEY, SESSION = KEY_HEADER.lower(), SESSION_HEADER.lower()
GROUPS = (
    calls, leases, questions, grants, sessions, conversation, runs, history, audit, policy, hindsight,
    proposals, stats, tokens, passkeys, people, evaluations, access_requests, hooks, trusted, surfaces,
    events, system,
)  # fmt: skip
ENDPOINTS: tuple[Endpoint, ...] = tuple(one for group in GROUPS for one in group.ENDPOINTS)
DESCRIBED = (*ENDPOINTS, openapi.openapi_endpoint(ENDPOINTS))
MOST_CALLED = ("/v1/hooks", "/v1/calls")
"""Agents wait for these with every call: their routes are tried first."""
SOONEST = sorted(DESCRIBED, key=lambda one: not one.path.startswith(MOST_CALLED))


class ServiceApp(Starlette):
    """The application. What an endpoint answers is answered at once; the framework is asked for the rest:
    pages, methods that an address does not have, and addresses that are none.
    """

    def __init__(self, running: ServiceState, pages: Sequence[BaseRoute], hosts: tuple[str, ...]) -> None:
        routes = [*(_route(running, one) for one in SOONEST), *pages]
        super().__init__(routes=routes, exception_handlers=_error_handlers(shown=bool(pages)))
        self.state.running = running
        self._running = running
        self._endpoints = Routes(SOONEST)
        self._guard = Guard(self._answer, hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._guard(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._endpoints.find(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await super().__call__(scope, receive, send)
            return
        endpoint, parameters = found
        response = await _respond(self._running, endpoint, HttpRequest(scope, receive, parameters))
        await response(scope, receive, send)


def make_app(
    gate: Gate,
    *,
    hosts: Sequence[str],
    pages: Sequence[BaseRoute] = (),
    settings: ServiceSettings | None = None,
    agents: Mapping[str, HookDialect] | None = None,
    remote: Sequence[RemoteSurface] = (),
) -> ServiceApp:
    """The application on this gate. `hosts` are the names it may be called by, and no other."""
    return ServiceApp(ServiceState(gate, settings, agents, remote), pages, tuple(hosts))


def _route(running: ServiceState, endpoint: Endpoint) -> Route:
    """The endpoint for the framework, which finds it for HEAD, and knows by it what an address allows."""

    async def answer(request: Request) -> Any:
        parameters = {name: str(value) for name, value in request.path_params.items()}
        return await _respond(running, endpoint, HttpRequest(request.scope, request.receive, parameters))

    return Route(endpoint.path, answer, methods=[endpoint.method])


async def _respond(running: ServiceState, endpoint: Endpoint, request: HttpRequest) -> Response | JsonAnswer:
    response = await _respond_or_explain(running, endpoint, request)
    named = request.headers.get(REQUEST_ID) if endpoint.authzen else None
    if named is not None:
        response.headers[REQUEST_ID] = named
    running.metrics.count_request(endpoint.method, endpoint.path, response.status_code)
    return response


async def _respond_or_explain(
    running: ServiceState, endpoint: Endpoint, request: HttpRequest
) -> Response | JsonAnswer:
    try:
        return await _handle_request(running, endpoint, request)
    except SaysoError as error:
        return problem_response(error)
    except ClientDisconnect:
        raise
    except Exception:
        log.exception("%s %s failed", endpoint.method, endpoint.path)
        return problem_response(
            RequestRefused(500, "internal", "something went wrong; nothing was allowed by it")
        )


async def _handle_request(
    running: ServiceState, endpoint: Endpoint, request: HttpRequest
) -> Response | JsonAnswer:
    name = _name_of_token(endpoint, request)
    token = await _check_caller(running, endpoint, request, name)
    body = await _body(running, endpoint, request, token)
    headers = request.headers
    context = Context(
        running,
        token,
        _parameters(request),
        _query(endpoint, request),
        body,
        _key(request),
        headers.get("last-event-id"),
        headers.get(SESSION),
        headers.get("host", ""),
        request.scheme,
        request.wait_for_disconnect,
        name,
        partial(_check_still_known, running, request, token, name),
        request.length,
    )
    if request.method not in SAFE and not _is_checked_later(endpoint, request):
        await running.lanes.run("tokens", context.check_still_known)
    result = await _run_endpoint(endpoint, context)
    if isinstance(result, Response):
        return result
    if not isinstance(result, Paged):
        return JsonAnswer(result, endpoint.status)
    answer = JsonAnswer(result.items, endpoint.status)
    if result.more is not None:
        answer.headers["link"] = f'<{request.path}?{urlencode(result.more)}>; rel="next"'
    return answer


async def _run_endpoint(endpoint: Endpoint, context: Context) -> Any:
    """Run the endpoint, and run it again if the policy moves before anything was done.

    A batch looks at the policy by itself. Health needs none, and no store to read it from.
    """
    running = context.running
    in_batch = endpoint.in_batch and context.waits_for_batch(_size_in_batch(endpoint, context))
    looks = endpoint is not system.HEALTH and not in_batch
    for _ in range(TRIES):
        if looks and running.has_policy_moved:
            await running.lanes.run("tokens", running.look_at_policy)
        try:
            return await _run_once(endpoint, context)
        except PolicyMoved:
            continue
    return await _run_once(endpoint, context)


async def _run_once(endpoint: Endpoint, context: Context) -> Any:
    """Run the endpoint. What is urgent is tried again while others hold the store."""
    if endpoint.in_batch:
        if endpoint.before is not None:
            await endpoint.before(context)
        prepare = cast("Callable[[Context], BatchedStep]", endpoint.answer)
        return await context.in_batch(prepare, _size_in_batch(endpoint, context), _first_reads(context))
    if inspect.iscoroutinefunction(endpoint.answer):
        return await endpoint.answer(context)
    until = time.monotonic() + (URGENT if endpoint.is_urgent_for(context.token.role) else 0.0)
    while True:
        try:
            return await context.in_thread(endpoint.answer, context)
        except StoreBusy:  # nothing was done by it
            if time.monotonic() >= until:
                raise
            await asyncio.sleep(LOOK_AGAIN)


def _size_in_batch(endpoint: Endpoint, context: Context) -> int | None:
    return context.size if endpoint.size is None else endpoint.size(context)


def _first_reads(context: Context) -> Ahead:
    """What is read before a call is decided, beside the token: the calls it names, and its likely session."""
    token, metas = context.token, frozenset[str]()
    if token.role == "agent":
        metas = frozenset({agent_session_key(token)})
        named = context.running.callers.last_session(token)
    else:
        named = getattr(context.body, "session", None)
    return Ahead(
        metas=metas,
        sessions=_plain_names(named),
        calls=_plain_names(context.parameters.get("call"), getattr(context.body, "run", None)),
    )


def _plain_names(*names: Any) -> frozenset[str]:
    """Those of the names that a row can have."""
    texts = (name for name in names if isinstance(name, str))
    return frozenset({name for name in texts if name.isprintable() and len(name) <= LONGEST_PARAMETER})


OF_THE_POLICY = ("/v1/policy", "/v1/proposals")
"""Where what decides is changed: whoever tries that and may not is told of."""


def _name_of_token(endpoint: Endpoint, request: HttpRequest) -> str | None:
    """Return the name under which the token of this request is stored; None if it has or needs none."""
    authorization = request.headers.get("authorization")
    return None if authorization is None or not endpoint.roles else token_name(authorization)


async def _check_caller(
    running: ServiceState, endpoint: Endpoint, request: HttpRequest, name: str | None
) -> Token:
    """Return the caller's token; refuse callers that may not ask, or ask too often."""
    if not endpoint.roles or (endpoint is system.METRICS and running.settings.open_metrics):
        return NOBODY
    token = await _find_caller(running, endpoint, request, name)
    mark_caller_known()
    running.limits.take(token, follows_call=endpoint.follows_call)
    if token.role not in endpoint.roles:
        if endpoint.method not in SAFE and endpoint.path.startswith(OF_THE_POLICY):
            act = f"{endpoint.method} {endpoint.path}"
            await running.lanes.run("tokens", alert_refused_act, running.gate, act, token)
        roles = " or ".join(sorted(endpoint.roles))
        hint = f"use a token of the role {roles}: `sayso token new {min(endpoint.roles)} NAME`"
        raise RequestRefused(403, "forbidden", f"this is not for tokens of the role {token.role}", hint=hint)
    return token


def _is_checked_later(endpoint: Endpoint, request: HttpRequest) -> bool:
    """A token is looked up in the batch, or by the endpoint itself; a browser, an operator's, has none."""
    return (endpoint.in_batch or endpoint.checks_token) and "authorization" in request.headers


def _check_still_known(running: ServiceState, request: HttpRequest, token: Token, name: str | None) -> None:
    """Refuse a caller who was turned out while the body was on its way, or while they waited."""
    if token is NOBODY:
        return
    if name is not None:
        check_caller_again(running.gate, running.callers, name, token)
    elif find_caller(running.gate, request.whole) != token:
        raise RequestRefused(401, "unauthorized", "the browser signed in again", hint="send it again")


async def _find_caller(
    running: ServiceState, endpoint: Endpoint, request: HttpRequest, name: str | None
) -> Token:
    """Who asks. What is decided in a batch looks again whether their token still lets them in."""
    if name is None:
        return await running.lanes.run("tokens", find_caller, running.gate, request.whole)
    if endpoint.in_batch or endpoint.checks_token:
        known = running.callers.find(name)
        if known is not None:
            return known
    token = await running.lanes.run("tokens", find_bearer, running.gate, request.headers["authorization"])
    if token.role != "operator":
        running.callers.remember(name, token)
    return token


def _parameters(request: HttpRequest) -> Mapping[str, str]:
    """The parts of the path that name something. What cannot be a name names nothing."""
    for value in request.parameters.values():
        if len(value) > LONGEST_PARAMETER or not value.isprintable():
            raise RequestRefused(404, "not_found", "there is nothing of that name")
    return request.parameters


def _query(endpoint: Endpoint, request: HttpRequest) -> Mapping[str, str]:
    found = request.query()
    if not found:
        return found
    unknown = sorted(set(found) - set(endpoint.query))
    if unknown:
        known = ", ".join(sorted(endpoint.query)) or "none"
        raise RequestRefused(
            400, "malformed", f"there is no parameter {unknown[0]!r} here", hint=f"it takes: {known}"
        )
    if any(len(value) > LONGEST_QUERY for value in found.values()):
        raise RequestRefused(400, "malformed", "a parameter is too long")
    refuse_nul(tuple(found.values()))
    return found


async def _body(running: ServiceState, endpoint: Endpoint, request: HttpRequest, token: Token) -> Any:
    """The body as the endpoint's type: strict JSON, no unknown fields, and not more than it may hold."""
    raw = await _read(running, request, token)
    if endpoint.raw:
        whole = request.whole
        return UnreadBody(raw, whole.headers, whole.client.host if whole.client is not None else "")
    if endpoint.body is None:
        if raw.strip() not in (b"", b"{}"):  # many programs send an empty object, and a stop has to arrive
            raise RequestRefused(400, "malformed", "this takes no body")
        return None
    if endpoint.authzen and _media(request) != "application/json":
        raise RequestRefused(
            400, "malformed", "the body has to be JSON", hint="Content-Type: application/json"
        )
    try:
        body = convert_to(parse_json(raw) if raw or not endpoint.bare else {}, endpoint.body)
    except msgspec.ValidationError as error:
        hint = hint_for(str(error), endpoint.body)
        raise RequestRefused(400 if endpoint.authzen else 422, "malformed", str(error), hint=hint) from error
    if may_be_unnameable(raw):
        refuse_unnameable(body, 400 if endpoint.authzen else 404)
    return body


def _media(request: HttpRequest) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _read(running: ServiceState, request: HttpRequest, token: Token) -> bytes:
    """The body. Its size is charged to the token before it is read, so that nothing piles up in memory."""
    told, free = request.length, token is NOBODY or token.role == "operator"
    most = LARGEST_UNSIGNED if token is NOBODY else LARGEST_BODY
    if told is not None and told > most:
        raise _too_large(most)
    if not free:
        running.limits.take_bytes(token, most if told is None else told)
    whole = request.take_body()
    if whole is not None:
        if len(whole) > most:
            raise _too_large(most)
        return whole
    raw = bytearray()
    try:
        async with asyncio.timeout(running.settings.slowest_body):
            async for part in request.parts():
                raw += part
                if len(raw) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise RequestRefused(408, "too_slow", "the body did not arrive in time") from None
    return bytes(raw)


def _too_large(most: int) -> RequestRefused:
    return RequestRefused(413, "too_large", f"a body holds {most:,} bytes at most")


def _key(request: HttpRequest) -> str | None:
    key = request.headers.get(KEY)
    if key is not None and not 1 <= len(key) <= LONGEST_KEY:
        raise RequestRefused(400, "malformed", f"an {KEY_HEADER} has 1 to {LONGEST_KEY} characters")
    return key


def _error_handlers(*, shown: bool) -> dict[Any, Any]:
    """The answers at addresses that are none: a problem, or to a browser that wants a page, where there are
    pages, one of those."""
    known = {404: ("not_found", "there is nothing here"), 405: ("not_allowed", "this cannot be done here")}

    async def answer(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        page = missing_page_response(request, status) if shown else None
        return page or problem_response(RequestRefused(status, *known[status]))

    return dict.fromkeys(known, answer)


__all__ = ["DESCRIBED", "ENDPOINTS", "Problem", "make_app"]
