"""The switch "Notify me" of the page: whether this browser is told of questions while the page is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from sayso.gate.gate import Gate
from sayso.gate.people.browsers import browser_key, find_browser
from sayso.gate.people.push import live_subscriptions, subscribe, unsubscribe
from sayso.service.http.act_body import read_act_body
from sayso.service.http.auth import COOKIE, check_page, check_same_origin
from sayso.service.http.problems import RequestRefused
from sayso.surfaces.remote.browser import public_push_key
from sayso.surfaces.remote.web_push import check_subscription

PATH = "/notify"
LARGEST_BODY = 4_000


class PushKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The browser's public key, and a secret that both ends know."""

    p256dh: str
    auth: str


class SubscriptionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A subscription as browsers spell it (Push API, `toJSON`)."""

    endpoint: str
    keys: PushKeys
    expirationTime: float | None = None  # noqa: N815  the browser's own name for it


class NotifyView(msgspec.Struct, frozen=True):
    """The switch of this browser, and the key by which its push service knows us."""

    on: bool
    key: str


async def get_notify(gate: Gate, request: Request) -> Response:
    secret = await _check_browser(gate, request)
    return await asyncio.to_thread(_view, gate, secret)


async def switch_on(gate: Gate, request: Request) -> Response:
    secret = await _check_browser(gate, request)
    body = await read_act_body(request, SubscriptionBody, LARGEST_BODY)
    check_subscription(body.endpoint, body.keys.p256dh, body.keys.auth)
    await asyncio.to_thread(subscribe, gate, secret, body.endpoint, body.keys.p256dh, body.keys.auth)
    return await asyncio.to_thread(_view, gate, secret)


async def switch_off(gate: Gate, request: Request) -> Response:
    secret = await _check_browser(gate, request)
    await asyncio.to_thread(unsubscribe, gate, browser_key(secret))
    return await asyncio.to_thread(_view, gate, secret)


ACTS: tuple[tuple[str, str, Callable[[Gate, Request], Awaitable[Response]]], ...] = (
    ("GET", PATH, get_notify),
    ("POST", PATH, switch_on),
    ("DELETE", PATH, switch_off),
)


async def _check_browser(gate: Gate, request: Request) -> str:
    """Return the secret of the cookie, if somebody is signed in with it and our own page asks."""
    secret = request.cookies.get(COOKIE, "")
    if not secret or await asyncio.to_thread(find_browser, gate, secret) is None:
        raise RequestRefused(
            401, "unauthorized", "nobody is signed in here", hint="`sayso link` makes a link"
        )
    check_same_origin(request)
    check_page(gate, request, secret)
    return secret


def _view(gate: Gate, secret: str) -> Response:
    mine = browser_key(secret)
    on = any(one.browser == mine for one in live_subscriptions(gate))
    return Response(msgspec.json.encode(NotifyView(on, public_push_key(gate))), media_type="application/json")
