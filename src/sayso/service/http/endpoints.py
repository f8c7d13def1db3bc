"""Endpoints as data: method, path, who may, what goes in and out, and the function that does it.

The routes, the checks of roles and bodies, and the OpenAPI description are all made from these. A request as
an endpoint needs it, and its answer in JSON, are as plain as they can be: many calls wait for their answers
with every object that stands between them and the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, ParamSpec, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from sayso.gate.gate import Gate
from sayso.gate.people.tokens import Role, Token
from sayso.service.http import guard
from sayso.service.http.batches import BatchedStep
from sayso.service.http.connections import answer_whole, take_body
from sayso.service.http.lanes import Lane
from sayso.service.http.problems import RequestRefused
from sayso.service.http.state import ServiceState
from sayso.store.contract import Ahead

P = ParamSpec("P")
T = TypeVar("T")

_encode = msgspec.json.Encoder().encode
_JSON = (b"content-type", b"application/json")
_JSON_LINES = b"%s: %s\r\n" % _JSON + guard.LINES
ANY: frozenset[Role] = frozenset({"agent", "host", "operator"})
HOSTS: frozenset[Role] = frozenset({"host", "operator"})
HOST: frozenset[Role] = frozenset({"host"})
AGENTS_AND_HOSTS: frozenset[Role] = frozenset({"agent", "host"})
OPERATORS: frozenset[Role] = frozenset({"operator"})
NOBODY = Token("", "agent", "", 0.0)
"""Stands for the caller of an endpoint that asks for no token."""


SOON_READ = 4_096
"""The body of a call that is read in no time: larger ones are read where nobody waits behind them."""


async def _never_leaves() -> None:
    await asyncio.Event().wait()


def _is_nobody() -> None:
    """Whoever asks without a token cannot be turned out."""


class Context(msgspec.Struct, frozen=True):
    """Who asks, and what is at hand to answer: everything about the caller comes from their token."""

    running: ServiceState
    token: Token
    parameters: Mapping[str, str]
    query: Mapping[str, str]
    body: Any = None
    key: str | None = None
    """The Idempotency-Key of the request."""
    last_event: str | None = None
    """The Last-Event-ID of the request."""
    session: str | None = None
    """The X-Sayso-Session of the request: which session it is about, where the body has no place for it."""
    host: str = ""
    """By which name the caller called us."""
    scheme: str = "http"
    left: Callable[[], Awaitable[None]] = _never_leaves
    """Returns once the caller has closed the connection."""
    token_name: str | None = None
    """The name under which the token is stored; None if none was shown."""
    check_still_known: Callable[[], None] = _is_nobody
    """Refuses a caller who was turned out since: a token that was revoked, a browser that signed out."""
    size: int | None = 0
    """How many bytes the body has; None if that was not told."""

    @property
    def gate(self) -> Gate:
        return self.running.gate

    @property
    def base(self) -> str:
        """Return where the caller found us, without a path: one of our origins, or the host it named."""
        origins = self.running.settings.origins
        known = (origin for origin in origins if origin.partition("://")[2] == self.host)
        return next(known, f"{self.scheme}://{self.host}")

    async def in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do what blocks in a thread, in the lane of whoever asks."""
        return await self.running.lanes.run(self.lane, work, *args, **kwargs)

    def waits_for_batch(self, size: int | None) -> bool:
        """Return whether all of it is done in a batch. Nobody waits there while a large call is read."""
        return size is not None and size <= SOON_READ and self.token.role != "operator"

    async def in_batch(
        self, prepare: Callable[[Context], BatchedStep], size: int | None, first: Ahead
    ) -> Any:
        """Prepare it, and do what that returned in a batch with others. Operators never wait for one.

        `size` is that of the call that is read for it, None if nobody knows; `first` is what preparing it
        reads, beside the token.
        """
        prepare_known = partial(_prepare_if_known, self, prepare)
        if self.token.role == "operator":
            return await self.in_thread(lambda: prepare_known().do())
        if self.token_name is not None:
            first = msgspec.structs.replace(first, metas=first.metas | {self.token_name})
        if self.waits_for_batch(size):
            return await self.running.batches.run(prepare_known, first)
        step = await self.in_thread(prepare_known)
        return await self.running.batches.run(lambda: step, first)

    @property
    def lane(self) -> Lane:
        if self.token is NOBODY:
            return "strangers"
        return "operators" if self.token.role == "operator" else "others"

    def number(self, name: str, default: float, least: float, most: float) -> float:
        """A number of the query; refused if it is none, or out of bounds."""
        text = self.query.get(name)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise RequestRefused(400, "malformed", f"{name} takes a number from {least:g} to {most:g}")
        return value

    def whole_number(self, name: str, default: int, least: int, most: int) -> int:
        """The same, for a whole number."""
        text = self.query.get(name)
        if text is not None and not (text.isascii() and text.isdigit()):
            raise RequestRefused(400, "malformed", f"{name} takes a whole number")
        return int(self.number(name, default, least, most))


def _prepare_if_known(context: Context, prepare: Callable[[Context], BatchedStep]) -> BatchedStep:
    """What the request wants done. Its caller is looked up for that, and again where it is done."""
    context.check_still_known()
    step = prepare(context)
    return BatchedStep(partial(_do_if_known, context, step.do), step.ahead)


def _do_if_known(context: Context, do: Callable[[], Any]) -> Any:
    context.check_still_known()
    return do()


class UnreadBody(msgspec.Struct, frozen=True):
    """A body as it came, with its headers and the address it came from: nothing of it is believed yet."""

    content: bytes
    headers: Mapping[str, str]
    source: str


class Paged(msgspec.Struct, frozen=True):
    """One page of a list. `more` is the query that asks for the next, sent as a link; None at the end."""

    items: list[Any]
    more: Mapping[str, str] | None = None


class Endpoint(msgspec.Struct, frozen=True):
    """One endpoint. A function that blocks is run in a thread; one that waits is a coroutine function."""

    method: str
    path: str
    roles: frozenset[Role]
    """Who may; if nobody is named, no token is asked for."""
    summary: str
    answer: Callable[[Context], Any] | Callable[[Context], Awaitable[Any]]
    body: Any = None
    result: Any = None
    status: int = 200
    query: Mapping[str, str] = {}
    """Parameters of the query, and what each is for."""
    media: str = "application/json"
    bare: bool = False
    """The body may be left out."""
    in_batch: bool = False
    """Whether calls are decided with others in one transaction: it then returns what is to be done in that,
    and what it does itself is done before."""
    before: Callable[[Context], Awaitable[object]] | None = None
    """What is waited for before that."""
    size: Callable[[Context], int | None] | None = None
    """How large the call is that is read for it, None if nobody knows; without this, as large as the body."""
    checks_token: bool = False
    """Whether it looks its token up by itself, with the first thing it does in a thread."""
    follows_call: bool = False
    """Whether it is about a call that was counted when it was made."""
    raw: bool = False
    """Whether it takes the body as it came, as a `UnreadBody`, and checks it itself."""
    authzen: bool = False
    """Whether it speaks AuthZEN: bodies are JSON by their content type and may hold fields that nobody knows,
    whatever else is wrong with one is a 400, and an X-Request-ID comes back."""

    def is_urgent_for(self, role: Role) -> bool:
        """Return whether this is an operator's act, like an answer, a revocation or a stop.

        It is tried again while others hold the store.
        """
        acts = self.roles == OPERATORS and self.method != "GET"
        return role == "operator" and (acts or self.path.endswith("/stop"))


Pieces = tuple[tuple[str, str | None], ...]
"""Of each piece of a path, what it has to be, or else the name of what it says."""
Found = tuple[Endpoint, Mapping[str, str]]


class Routes:
    """The endpoints, by method and number of pieces."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._endpoints: dict[tuple[str, int], list[tuple[Endpoint, Pieces]]] = {}
        for endpoint in endpoints:
            pieces = tuple(_read_piece(piece) for piece in endpoint.path.split("/"))
            self._endpoints.setdefault((endpoint.method, len(pieces)), []).append((endpoint, pieces))

    def find(self, method: str, path: str) -> Found | None:
        """The endpoint, and what the path names; None if there is none for exactly this."""
        there = path.split("/")
        for endpoint, pieces in self._endpoints.get((method, len(there)), ()):
            named: dict[str, str] = {}
            for (wanted, name), piece in zip(pieces, there, strict=True):
                if name is not None and piece:
                    named[name] = piece
                elif name is not None or wanted != piece:
                    break
            else:
                return endpoint, named
        return None


def _read_piece(piece: str) -> tuple[str, str | None]:
    return ("", piece[1:-1]) if piece.startswith("{") else (piece, None)


class HttpRequest:
    """One request. `parameters` are the parts of its path that name something."""

    __slots__ = ("_receive", "_scope", "headers", "parameters")

    def __init__(self, scope: Scope, receive: Receive, parameters: Mapping[str, str]) -> None:
        self._scope, self._receive, self.parameters = scope, receive, parameters
        self.headers: dict[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])
        }
        """By their names in small letters. Of two with one name, the first counts."""

    @property
    def method(self) -> str:
        return str(self._scope["method"])

    @property
    def path(self) -> str:
        return str(self._scope["path"])

    @property
    def scheme(self) -> str:
        return str(self._scope.get("scheme", "http"))

    @property
    def whole(self) -> Request:
        """The same with all that the framework knows to ask of one."""
        return Request(self._scope, self._receive)

    @property
    def length(self) -> int | None:
        """Return how long the body is going to be, 0 without one; None if that is not told."""
        if "transfer-encoding" in self.headers:
            return None
        text = self.headers.get("content-length", "0")
        return int(text) if text.isascii() and text.isdigit() else None

    def query(self) -> dict[str, str]:
        raw = self._scope["query_string"]
        return dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True)) if raw else {}

    def take_body(self) -> bytes | None:
        """Return the body if all of it is there; else it comes in parts."""
        return take_body(self._scope)

    async def parts(self) -> AsyncIterator[bytes]:
        """The body, as it comes."""
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            yield message.get("body", b"")
            more = message.get("more_body", False)

    async def wait_for_disconnect(self) -> None:
        """Return once the caller has closed the connection, after all of the body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


class JsonAnswer:
    """The result of an endpoint, as JSON."""

    __slots__ = ("_body", "headers", "status_code")

    def __init__(self, result: Any, status: int) -> None:
        self._body = _encode(result)
        self.status_code = status
        self.headers: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self.headers and answer_whole(scope, self.status_code, _JSON_LINES, self._body):
            return
        more = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self.headers.items()]
        length = (b"content-length", b"%d" % len(self._body))
        start = {"status": self.status_code, "headers": [length, _JSON, *more]}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": self._body})
