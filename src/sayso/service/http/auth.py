"""Authentication: by a bearer token, or by a signed-in browser; never by anything in the body."""

from __future__ import annotations

import secrets

from starlette.requests import Request

from sayso.gate.gate import Gate
from sayso.gate.people.browsers import find_browser, page_key
from sayso.gate.people.tokens import Token, find_token, read_token_again
from sayso.gate.sealed_values import ValueReading, secret_value_name
from sayso.service.http.problems import RequestRefused
from sayso.wire import BROWSER_COOKIE

COOKIE = BROWSER_COOKIE
BROWSER = "browser:"
"""How the id of a caller begins that is a signed-in browser; its time is that of the sign-in."""
PAGE = "x-sayso-page"
EVENTS = "/v1/events"
"""A browser cannot send a header when it listens to events, and those only say that something changed."""
SAME_ORIGIN = ("same-origin", "none")
SAFE = ("GET", "HEAD")
MOST_KNOWN = 10_000


class BrowserCaller(Token, frozen=True):
    """A signed-in browser as a caller, and the passkey it signed in with, or the id a provider proved."""

    passkey: str | None = None
    identity: str = ""


class KnownCallers:
    """The tokens that were shown lately, as they were then, by the names under which they are stored.

    It says who a request counts for before it is read. Whether the token still lets anybody in is looked up
    for every request all the same (`check_caller_again`).
    """

    def __init__(self) -> None:
        self._tokens: dict[str, Token] = {}
        self._readings: dict[str, ValueReading[Token]] = {}
        self._sessions: dict[str, str] = {}

    def find(self, name: str) -> Token | None:
        return self._tokens.get(name)

    def remember(self, name: str, token: Token) -> None:
        if len(self._tokens) >= MOST_KNOWN:
            self._tokens.clear()
        self._tokens[name] = token

    def forget(self, name: str) -> None:
        self._tokens.pop(name, None)
        self._readings.pop(name, None)

    def last_reading(self, name: str) -> ValueReading[Token] | None:
        return self._readings.get(name)

    def note_reading(self, name: str, reading: ValueReading[Token]) -> None:
        """This is what the token was read from: as long as that is the same, so is the token."""
        if len(self._readings) >= MOST_KNOWN:
            self._readings.clear()
        self._readings[name] = reading

    def note_session(self, token: Token, session: str) -> None:
        """This was the session of an agent's token; which one it is now is looked up every time."""
        if len(self._sessions) >= MOST_KNOWN:
            self._sessions.clear()
        self._sessions[token.id] = session

    def last_session(self, token: Token) -> str | None:
        return self._sessions.get(token.id)


def token_name(authorization: str) -> str:
    """The name under which the token in this header is stored; refused if it holds none."""
    return secret_value_name("token", _secret_in(authorization))


def _secret_in(authorization: str) -> str:
    kind, _, secret = authorization.partition(" ")
    if kind.lower() != "bearer" or not secret:
        raise RequestRefused(401, "unauthorized", "this is not a bearer token")
    return secret.strip()


def check_caller_again(gate: Gate, known: KnownCallers, name: str, token: Token) -> None:
    """Refuse a request whose token, stored under this name, is not what it was when it was shown before."""
    before = known.last_reading(name)
    with gate.store.read() as tx:
        now = read_token_again(gate, tx, name, before)
    if now.value is None or now.value.revoked:
        known.forget(name)
        raise _unknown_token()
    if now.value is not token and now.value != token:
        known.forget(name)
        raise RequestRefused(401, "unauthorized", "the token was changed just now", hint="send it again")
    if now is not before:
        known.note_reading(name, now)


def find_caller(gate: Gate, request: Request) -> Token:
    """The token behind the request. A browser counts as the operator it signed in as."""
    authorization = request.headers.get("authorization")
    if authorization is not None:
        return find_bearer(gate, authorization)
    secret = request.cookies.get(COOKIE)
    browser = find_browser(gate, secret) if secret else None
    if browser is None:
        raise RequestRefused(
            401, "unauthorized", "no token was given", hint="send one: Authorization: Bearer …"
        )
    check_same_origin(request)
    if request.url.path != EVENTS:
        check_page(gate, request, secret or "")
    name, passkey, identity = browser.name, browser.passkey, browser.identity
    return BrowserCaller(
        f"{BROWSER}{name}", "operator", name, browser.since, passkey=passkey, identity=identity
    )


def proven_identity(token: Token) -> str:
    """Return the id of this caller that a provider proved; empty if they came another way."""
    return token.identity if isinstance(token, BrowserCaller) else ""


def check_same_origin(request: Request) -> None:
    """A browser sends cookies along with requests that other sites start: those change nothing here."""
    if request.method in SAFE:
        return
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None and site not in SAME_ORIGIN:
        raise RequestRefused(403, "foreign_origin", "this request was started by another site")
    host = request.headers.get("host", "")
    if origin not in (f"http://{host}", f"https://{host}"):
        raise RequestRefused(403, "foreign_origin", "this request was not started by the page itself")


def check_page(gate: Gate, request: Request, secret: str) -> None:
    """The cookie alone is not enough: the browser also shows it to other programs of this machine."""
    if not secrets.compare_digest(page_key(gate, secret).encode(), request.headers.get(PAGE, "").encode()):
        raise RequestRefused(
            401, "unauthorized", "the page did not prove itself", hint="sign in with a new link"
        )


def find_bearer(gate: Gate, authorization: str) -> Token:
    """The token in this header; refused if nobody has it, or it was revoked."""
    secret = _secret_in(authorization)
    with gate.store.read() as tx:
        token = find_token(gate, tx, secret)
    if token is None:
        raise _unknown_token()
    return token


def _unknown_token() -> RequestRefused:
    return RequestRefused(401, "unauthorized", "nobody has this token, or it was revoked")
