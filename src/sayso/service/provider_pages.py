"""Signing in with a provider, on the page: where it begins, where the provider sends people back to.

The provider sends a browser back to a page of ours, whose script takes the code out of the address and posts
it. So the same checks hold as for every act of the page: our own origin, our own cookie, no other site.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from sayso.core.words import visible
from sayso.gate.gate import Gate
from sayso.gate.people.passkey_sign_in import SignInRefused
from sayso.gate.people.provider_sign_in import (
    BEGIN_AGAIN,
    LASTS,
    NotOnTeam,
    SignInAttempt,
    begin_attempt,
    find_attempt,
    finish_attempt,
)
from sayso.service.http.act_body import read_act_body
from sayso.service.http.auth import check_same_origin
from sayso.service.http.problems import RequestRefused
from sayso.service.pages import act_route, index_route, sign_in_response
from sayso.service.providers.id_token import BadToken
from sayso.service.providers.provider import Provider, ProviderDown

log = logging.getLogger("sayso.service")
LIST, PAGE = "/sign-in-providers", "/sign-in/{provider}"
ATTEMPT_COOKIE = "sayso_attempt"
COOKIE_PATH = "/sign-in"
THREADS = 4
MOST_AT_ONCE = 16
LARGEST_BODY = 16_000
T = TypeVar("T")


class ProviderView(msgspec.Struct, frozen=True):
    """A provider, as the sign-in page shows it."""

    name: str
    label: str


class BegunView(msgspec.Struct, frozen=True):
    """The address the browser goes to, and what the page keeps until it is back."""

    url: str
    page: str


Opaque = Annotated[str, msgspec.Meta(pattern=r"^[ -~]*$", max_length=4_000)]
"""A text that only its maker understands, in the letters that OAuth has for it (RFC 6749, appendix A)."""


class ReturnBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters the provider sent back with the browser, and what the page kept."""

    code: Opaque
    state: Opaque
    page: Opaque
    iss: Opaque | None = None


class ProviderLine:
    """Threads that wait for providers. Only so many wait at once, and nobody else waits behind them."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, "sayso-providers")
        self._under_way = 0

    async def run(self, work: Callable[[], T]) -> T:
        if self._under_way >= MOST_AT_ONCE:
            raise RequestRefused(429, "too_many", "too many people sign in at once")
        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except ProviderDown as error:
            _log_refusal(error.provider, error.why)
            raise
        finally:
            self._under_way -= 1


def provider_routes(
    gate: Gate, providers: Mapping[str, Provider], origins: tuple[str, ...]
) -> list[BaseRoute]:
    """The routes for signing in with these providers, on pages at these origins."""
    line = ProviderLine()

    async def list_providers(gate: Gate, request: Request) -> Response:
        return _json([ProviderView(name, one.settings.shown) for name, one in providers.items()])

    async def begin(gate: Gate, request: Request) -> Response:
        provider, origin = _check(request, providers, origins)
        attempt, url = await line.run(lambda: _begin(gate, provider, origin))
        response = _json(BegunView(url, attempt.page))
        _set_cookie(response, attempt.secret, origin)
        return response

    async def finish(gate: Gate, request: Request) -> Response:
        provider, origin = _check(request, providers, origins)
        body = await read_act_body(request, ReturnBody, LARGEST_BODY)
        secret = request.cookies.get(ATTEMPT_COOKIE, "")
        name, browser = await line.run(lambda: _finish(gate, provider, origin, secret, body))
        response = sign_in_response(gate, name, browser, secure=origin.startswith("https:"))
        response.delete_cookie(ATTEMPT_COOKIE, path=COOKIE_PATH, httponly=True, samesite="strict")
        return response

    acts: tuple[tuple[str, str, Callable[[Gate, Request], Awaitable[Response]]], ...] = (
        ("GET", LIST, list_providers),
        ("POST", f"{PAGE}/begin", begin),
        ("POST", PAGE, finish),
    )
    return [*(act_route(gate, *act) for act in acts), index_route(PAGE)]


def redirect_address(origin: str, provider: str) -> str:
    """Return where this provider sends people back to: it has to be told this address beforehand."""
    return origin + PAGE.format(provider=provider)


def _begin(gate: Gate, provider: Provider, origin: str) -> tuple[SignInAttempt, str]:
    name = provider.settings.name
    attempt = begin_attempt(gate, name, origin)
    return attempt, provider.authorization_url(attempt, redirect_address(origin, name))


def _finish(gate: Gate, provider: Provider, origin: str, secret: str, body: ReturnBody) -> tuple[str, str]:
    """Sign in whom the provider proves. What is wrong with its word is logged, and told to nobody else."""
    name = provider.settings.name
    attempt = find_attempt(gate, name, origin, secret=secret, state=body.state, page=body.page)
    provider.check_issuer(body.iss)
    with gate.store.read() as tx:
        now = tx.now
    try:
        claims = provider.redeem(body.code, attempt, redirect_address(origin, name), now=now)
        return finish_attempt(gate, attempt, name, claims)
    except BadToken as error:
        _log_refusal(name, error.message)
        refused = f"the answer from {provider.settings.shown} does not sign you in"
        raise SignInRefused(refused, hint=BEGIN_AGAIN) from error
    except NotOnTeam as error:
        _log_refusal(name, error.message)
        raise


def _log_refusal(provider: str, why: str) -> None:
    log.warning("nobody was signed in with %s: %s", provider, visible(why))


def _check(
    request: Request, providers: Mapping[str, Provider], origins: tuple[str, ...]
) -> tuple[Provider, str]:
    """Return the provider, and which of our pages asks; refused if another site does, or another page."""
    check_same_origin(request)
    provider = providers.get(request.path_params["provider"])
    if provider is None:
        raise RequestRefused(404, "not_found", "there is no provider of that name")
    origin = request.headers.get("origin", "")
    if origin not in origins:
        where = origins[0] if origins else "https, or http://localhost"
        raise RequestRefused(
            409, "other_page", "people do not sign in with a provider at this address", hint=f"open {where}"
        )
    return provider, origin


def _set_cookie(response: Response, secret: str, origin: str) -> None:
    response.set_cookie(
        ATTEMPT_COOKIE,
        secret,
        max_age=int(LASTS),
        path=COOKIE_PATH,
        secure=origin.startswith("https:"),
        httponly=True,
        samesite="strict",
    )


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
