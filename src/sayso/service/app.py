"""The service as an ASGI application: every endpoint behind the same checks, in the same order."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sayso.core.digest import parse
from sayso.core.errors import SaysoError
from sayso.doors.python.door import Door
from sayso.gate.tokens import Token
from sayso.service import calls
from sayso.service.auth import caller
from sayso.service.endpoints import Context, Endpoint
from sayso.service.guard import Guard
from sayso.service.problems import Problem, Refused, problem

log = logging.getLogger("sayso.service")
LARGEST_BODY = 1024 * 1024
SLOWEST_BODY = 10.0
LONGEST_KEY = 200
ENDPOINTS: tuple[Endpoint, ...] = calls.ENDPOINTS


def make_app(door: Door, *, hosts: Sequence[str], pages: Sequence[BaseRoute] = ()) -> Starlette:
    """The application on this gate. `hosts` are the names it may be called by, and no other."""
    routes = [*(_route(door, one) for one in ENDPOINTS), *pages]
    app = Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_allowed})
    app.add_middleware(Guard, hosts=tuple(hosts))
    app.state.door = door
    return app


def _route(door: Door, endpoint: Endpoint) -> Route:
    async def answer(request: Request) -> Response:
        try:
            return await _answered(door, endpoint, request)
        except SaysoError as error:
            return problem(error)
        except Exception:
            log.exception("%s %s failed", endpoint.method, endpoint.path)
            return problem(Refused(500, "internal", "something went wrong; nothing was allowed by it"))

    return Route(endpoint.path, answer, methods=[endpoint.method])


async def _answered(door: Door, endpoint: Endpoint, request: Request) -> Response:
    token = await asyncio.to_thread(caller, door.gate, request)
    _check_role(token, endpoint)
    context = Context(
        door,
        token,
        dict(request.path_params),
        _query(endpoint, request),
        await _body(endpoint, request),
        _key(request),
    )
    result = await _called(endpoint.answer, context)
    if isinstance(result, Response):
        return result
    return Response(msgspec.json.encode(result), endpoint.status, media_type="application/json")


async def _called(
    answer: Callable[[Context], Any] | Callable[[Context], Awaitable[Any]], context: Context
) -> Any:
    if inspect.iscoroutinefunction(answer):
        return await answer(context)
    return await asyncio.to_thread(answer, context)


def _check_role(token: Token, endpoint: Endpoint) -> None:
    if token.role not in endpoint.roles:
        raise Refused(403, "forbidden", f"a token of an {token.role} may not do this")


def _query(endpoint: Endpoint, request: Request) -> dict[str, str]:
    unknown = sorted(set(request.query_params) - set(endpoint.query))
    if unknown:
        raise Refused(400, "malformed", f"there is no parameter {unknown[0]!r} here")
    return dict(request.query_params)


async def _body(endpoint: Endpoint, request: Request) -> Any:
    """The body as the endpoint's type: strict JSON, no unknown fields, and not more than it may hold."""
    raw = await _read(request)
    if endpoint.body is None:
        if raw:
            raise Refused(400, "malformed", "this takes no body")
        return None
    try:
        return msgspec.convert(parse(raw), endpoint.body)
    except msgspec.ValidationError as error:
        raise Refused(422, "malformed", str(error)) from error


async def _read(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(SLOWEST_BODY):
            async for part in request.stream():
                size += len(part)
                if size > LARGEST_BODY:
                    raise Refused(413, "too_large", f"a body holds {LARGEST_BODY:,} bytes at most")
                parts.append(part)
    except TimeoutError:
        raise Refused(408, "too_slow", "the body did not arrive in time") from None
    return b"".join(parts)


def _key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not 1 <= len(key) <= LONGEST_KEY:
        raise Refused(400, "malformed", f"an Idempotency-Key has 1 to {LONGEST_KEY} characters")
    return key


async def _not_found(request: Request, error: Exception) -> Response:
    return problem(Refused(404, "not_found", "there is nothing here"))


async def _not_allowed(request: Request, error: Exception) -> Response:
    return problem(Refused(405, "not_allowed", "this cannot be done here"))


__all__ = ["ENDPOINTS", "Problem", "make_app"]
