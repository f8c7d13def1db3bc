"""What every request passes first: the name it calls us by, and the headers every answer carries."""

from __future__ import annotations

from contextlib import suppress

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sayso.service.http.problems import RequestRefused, problem_response

POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    (b"content-security-policy", "; ".join(POLICY).encode()),
)
NO_STORE = (b"cache-control", b"no-store")
LINES = b"".join(b"%s: %s\r\n" % one for one in (*HEADERS, NO_STORE))
"""The same as they are sent."""


class Guard:
    """Refuses names that are not ours (a rebound DNS name is one of those), and sets the headers."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                more = [one for one in (*HEADERS, NO_STORE) if one[0] not in present]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        if len(hosts) != 1 or hosts[0] not in self._hosts:  # of two names, others might read the other
            refused = problem_response(
                RequestRefused(421, "foreign_host", "this service is not called by that name")
            )
            await refused(scope, receive, sending)
            return
        with suppress(ClientDisconnect):  # nobody is there any more to be told, and it is no fault of ours
            await self._app(scope, receive, sending)
