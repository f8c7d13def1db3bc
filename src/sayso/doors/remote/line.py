"""The line to the service: requests over its Unix socket or a URL, sent again while it is away.

A restarted service knows every question and call of before, so whoever waits just asks again. What
could be done twice by sending it twice is only sent again if it never reached the service.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sayso.core.errors import MalformedRequest, NotCanonical, SaysoError, UnknownAnswer
from sayso.core.ledger import NotNow
from sayso.doors.remote.exchange import Answer, LineLost, NotReached, Sent, Server
from sayso.gate.call_rows import KeyReused, UnknownCall
from sayso.gate.decoding import decode_json
from sayso.gate.gate import UnknownSession
from sayso.gate.ledger.workflows import BeyondPolicy
from sayso.gate.questions.answer import EditRefused
from sayso.gate.questions.read import UnknownQuestion
from sayso.gate.sessions.operator_grants import UnknownGrant
from sayso.gate.sessions.reopen import OtherSession
from sayso.wire import KEY_HEADER, SOCKET_HOST

AWAY = 30.0
"""How long a request is tried again while the service cannot be reached."""
NEVER_THERE = 1.0
"""The same where it has not been reached yet: then the address is wrong, or nobody has started it."""
CONNECT = 3.0
"""How long an address may take to answer the door."""
FIRST_WORD = 5.0
"""How long something that took the connection may stay silent where no answer was ever heard."""
READ = 30.0
MORE = 15.0
"""How much longer than it was told to wait the service may take to answer."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
TOO_MANY, AWAY_NOW = 429, 503
BY_PROXIES = (429, 502, 503, 504)
"""Answers that a proxy gives while the service behind it does not."""
PAGE, MOST_PAGES = 200, 1_000

_KNOWN: dict[str, type[SaysoError]] = {
    kind.code: kind
    for kind in (
        BeyondPolicy,
        EditRefused,
        KeyReused,
        MalformedRequest,
        NotCanonical,
        NotNow,
        OtherSession,
        UnknownAnswer,
        UnknownCall,
        UnknownGrant,
        UnknownQuestion,
        UnknownSession,
    )
}


class Unreachable(SaysoError):
    """The service cannot be reached. Nothing was allowed by that."""

    code = "unreachable"


class ServiceRefusal(SaysoError):
    """The service refused the request; `code` says why."""

    code = "refused"

    def __init__(self, status: int, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code


class NotSayso(SaysoError):
    """Something answers at the address, but not as a Sayso service does. Nothing was allowed by that."""

    code = "not_sayso"


class _Problem(msgspec.Struct, frozen=True):
    code: str
    detail: str = ""
    hint: str = ""


class ServiceRequest(msgspec.Struct, frozen=True):
    """One request. `again`: it may be sent twice, because the service takes it for the same one."""

    method: str
    path: str
    body: Any = None
    query: Mapping[str, str] = {}
    key: str | None = None
    wait: float = 0.0
    again: bool = True

    def with_token(self, token: str) -> Sent:
        """The request as it is sent."""
        headers = {"Authorization": f"Bearer {token}"}
        if self.key is not None:
            headers[KEY_HEADER] = self.key
        content = b""
        if self.body is not None:
            headers["Content-Type"] = "application/json"
            content = msgspec.json.encode(self.body)
        query = {**self.query, "wait": f"{self.wait:.3f}"} if self.wait else self.query
        reading = (self.wait or READ) + MORE
        return Sent(self.method, self.path, query, headers, content, connecting=CONNECT, reading=reading)


class ServiceAddress(msgspec.Struct, frozen=True):
    """The address of a service: a URL or a socket; and what to do before connecting to it."""

    where: str | Path
    before: Callable[[], None]

    @property
    def url(self) -> str:
        return f"http://{SOCKET_HOST}" if isinstance(self.where, Path) else self.where

    def make_server(self) -> Server:
        return Server(self.url, str(self.where) if isinstance(self.where, Path) else None)


class ServiceLine:
    """The service, spoken to with one token; several services on one store stand in for each other."""

    def __init__(self, places: Sequence[ServiceAddress], token: str) -> None:
        self._token = token
        self._places = deque((place, place.make_server()) for place in places)
        self._checked = False
        self._reached = False

    def ask(self, sent: ServiceRequest, away: float = AWAY) -> Any:
        """Send the request, again while the service is away, for so many seconds; return its answer."""
        tries = self._tries(sent, away)
        while True:
            place, server = self._places[0]
            try:
                self._check(place)
                if not self._reached:
                    _hear_first_word(server)
                answer = server.ask(tries.next_request.with_token(self._token))
                self._reached = True  # a service is there, whatever it answered
                return tries.read(answer, place)
            except (NotReached, LineLost, _TryLater) as error:
                pause = tries.pause(error, place)
                self._turn(place)
                time.sleep(pause)

    def ask_for_all(self, path: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
        """Everything a list of the service holds, read page by page."""
        found: list[dict[str, Any]] = []
        more = {**query, "limit": str(PAGE)}
        for _ in range(MOST_PAGES):
            page: list[dict[str, Any]] = self.ask(ServiceRequest("GET", path, query=more))
            found += page
            if len(page) < PAGE:
                return found
            more["after"] = str(page[-1]["id"])
        raise ServiceRefusal(413, "too_many", "the list is too long to be read whole")

    async def ask_later(self, sent: ServiceRequest, away: float = AWAY) -> Any:
        """The same for a coroutine; on a connection of its own, so that nobody waits behind another."""
        tries = self._tries(sent, away)
        while True:
            place, server = self._places[0]
            try:
                await asyncio.to_thread(self._check, place)
                if not self._reached:
                    await asyncio.to_thread(_hear_first_word, server)
                answer = await server.ask_later(tries.next_request.with_token(self._token))
                self._reached = True
                return tries.read(answer, place)
            except (NotReached, LineLost, _TryLater) as error:
                pause = tries.pause(error, place)
                self._turn(place)
                await asyncio.sleep(pause)

    def close(self) -> None:
        for _, server in self._places:
            server.close()

    def _tries(self, sent: ServiceRequest, away: float) -> _Tries:
        if self._reached:
            return _Tries(sent, away)
        return _Tries(sent, min(away, NEVER_THERE), places=len(self._places), began=True)

    def _check(self, place: ServiceAddress) -> None:
        if not self._checked:
            place.before()
            self._checked = True

    def _turn(self, place: ServiceAddress) -> None:
        """Go on with the next service, if there is one and nobody has turned away from this one yet."""
        self._checked = False
        if self._places[0][0] is place:
            self._places.rotate(-1)


KNOCK = Sent("GET", "/healthz", {}, {}, b"", connecting=CONNECT, reading=FIRST_WORD)
"""Asks whether anybody is there, without a token, and whether they can do their work."""


def _hear_first_word(server: Server) -> None:
    """Ask whether anybody is there, without a token. A silent one is not reached: nothing was asked of it."""
    try:
        server.ask(KNOCK)
    except LineLost as error:
        raise NotReached(str(error)) from error


class _TryLater(Exception):
    """The service says to come back: at once refused, or in trouble of its own."""

    def __init__(self, answer: Answer, error: SaysoError) -> None:
        super().__init__(answer.status)
        self.after = _seconds(answer.headers.get("retry-after"))
        self.refused = answer.status == TOO_MANY
        self.error = error


class _Tries:
    """The attempts at one request: what an answer means, and whether to come back after a failure.

    The time to come back in begins with the first failure; with `began`, it has begun. Each of the `places`
    is tried once in any case.
    """

    def __init__(self, sent: ServiceRequest, away: float, *, places: int = 1, began: bool = False) -> None:
        self._first = sent
        self._began = time.monotonic()
        self._away = away
        self._untried = places
        self._until: float | None = self._began + away if began else None
        self._pause = FIRST_PAUSE

    @property
    def next_request(self) -> ServiceRequest:
        """The request, with what is left of its wait."""
        if not self._first.wait:
            return self._first
        left = self._first.wait - (time.monotonic() - self._began)
        return msgspec.structs.replace(self._first, wait=max(left, 0.0))

    def read(self, answer: Answer, place: ServiceAddress) -> Any:
        """Return what was answered; a refusal raises the error that an embedded gate would raise."""
        if not answer.is_success:
            error = error_from_answer(answer, place)
            raise _TryLater(answer, error) if answer.status in (TOO_MANY, AWAY_NOW) else error
        try:
            return msgspec.json.decode(answer.content) if answer.content else None
        except msgspec.MsgspecError as error:
            raise _not_sayso(answer, place) from error

    def pause(self, error: NotReached | LineLost | _TryLater, place: ServiceAddress) -> float:
        """Return how long to pause before the next attempt; raises if there is to be none."""
        now = time.monotonic()
        self._until = now + self._away if self._until is None else self._until
        self._untried -= 1
        over = now >= self._until and self._untried <= 0
        if over or not (self._first.again or _undone(error)):
            raise self._final_error(error, place) from error
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        jittered = self._pause * random.uniform(0.5, 1)  # noqa: S311  only so that not all come back at once
        if isinstance(error, _TryLater):
            return max(jittered, error.after)
        return min(jittered, max(self._until - now, 0.0))

    def _final_error(self, error: NotReached | LineLost | _TryLater, place: ServiceAddress) -> SaysoError:
        if isinstance(error, _TryLater):
            return error.error
        why = str(error)
        return Unreachable(f"the service cannot be reached at {place.where}: {why}", hint=_hint(why, place))


def _hint(why: str, place: ServiceAddress) -> str:
    if place.url.startswith("https://") and "WRONG_VERSION_NUMBER" in why.upper().replace(" ", "_"):
        return f"there is no TLS at that port: write http://{place.url.removeprefix('https://')}"
    return "start it with `sayso serve`, or correct the address"


def _undone(error: NotReached | LineLost | _TryLater) -> bool:
    """Return whether the request was certainly not taken."""
    if isinstance(error, _TryLater):
        return error.refused
    return isinstance(error, NotReached)


def _not_sayso(answer: Answer, place: ServiceAddress) -> NotSayso:
    """Make the error for an answer that is not the service's: another server, or a proxy before it."""
    status = answer.status
    if status in BY_PROXIES:
        return NotSayso(
            f"something between here and the service at {place.where} answered for it, with {status}",
            hint="see whether the service runs behind that proxy: `sayso serve`",
        )
    return NotSayso(
        f"no Sayso service answers at {place.where}, but something else, with {status}",
        hint="`sayso serve` prints its address when it starts, and `sayso link` the address of the one that "
        "runs here",
    )


def error_from_answer(answer: Answer, place: ServiceAddress) -> SaysoError:
    """Make the error for a refusal: the one an embedded gate would raise, where it is known."""
    try:
        said = decode_json(answer.content, _Problem)
    except msgspec.MsgspecError:
        return _not_sayso(answer, place)
    known = _KNOWN.get(said.code)
    hint = said.hint or None
    if known is not None:
        return known(said.detail, hint=hint)
    return ServiceRefusal(answer.status, said.code, said.detail, hint)


def _seconds(text: str | None) -> float:
    try:
        return min(max(float(text or 0), 0.0), 60.0)
    except ValueError:
        return 0.0
