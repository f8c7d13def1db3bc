"""The same over HTTP: on this machine only, with a token for every request."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Route

from sayso.core.errors import SaysoError
from sayso.doors.mcp.tokens import Tokens
from sayso.reading.urls import LOOPBACK

PATH = "/mcp"
MOST_CONNECTIONS = 100
GOODBYE = 3  # seconds for requests under way, once the server is told to stop
HERE = tuple(f"[{host}]" if ":" in host else host for host in LOOPBACK)


class BadAddress(SaysoError):
    code = "bad_address"


def open_listener(address: str) -> socket.socket:
    """A socket that listens at HOST:PORT, for this machine alone: what goes over it is not encrypted."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not port.isdecimal() or not _is_here(host):
        raise BadAddress(
            f"cannot serve at {address!r}",
            hint="say 127.0.0.1:PORT; for others, put a proxy with TLS before it",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, int(port)), family=family)
    except (OSError, OverflowError) as error:
        raise BadAddress(f"cannot listen at {address}: {error}") from error


def url_of_listener(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


async def serve_on_http(server: Server[Any], listener: socket.socket, tokens: Tokens) -> None:
    """Serve until this is cancelled; then give requests under way a moment, and end every connection."""
    serving = _Uvicorn(
        uvicorn.Config(
            make_http_app(server, tokens),
            lifespan="on",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=GOODBYE,
        )
    )
    task = asyncio.ensure_future(serving.serve(sockets=[listener]))
    try:
        await asyncio.shield(task)
    finally:
        serving.should_exit = True
        await task


def make_http_app(server: Server[Any], tokens: Tokens) -> Starlette:
    connections = StreamableHTTPSessionManager(
        server,
        max_sessions=MOST_CONNECTIONS,
        security_settings=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[f"{host}:*" for host in HERE],
            allowed_origins=[f"http://{host}:*" for host in HERE],
        ),
    )
    return Starlette(
        routes=[Route(PATH, RequireAuthMiddleware(StreamableHTTPASGIApp(connections), []))],
        middleware=[Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(tokens))],
        lifespan=lambda _: connections.run(),
    )


class _Uvicorn(uvicorn.Server):
    """Signals are ours: uvicorn would send them on to the process before everything is closed."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
