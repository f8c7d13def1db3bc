"""Authentication: by a bearer token, or by a signed-in browser; never by anything in the body."""

from __future__ import annotations

import secrets
from hashlib import sha256

from starlette.requests import Request

from sayso.gate.gate import Gate
from sayso.gate.people.browsers import find_browser, page_key
from sayso.gate.people.tokens import Token, find_token
from sayso.gate.sealed_values import secret_value_name
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
    """The tokens behind the secrets that were shown lately, as they were then.

    It says who a request counts for before it is read. Whether the token still lets anybody in is looked up
    for every request all the same (`check_caller_again`).
    """

    def __init__(self) -> None:
        self._tokens: dict[bytes, Token] = {}
        self._sessions: dict[str, str] = {}

    def find(self, authorization: str) -> Token | None:
        return self._tokens.get(_hash(authorization))

    def remember(self, authorization: str, token: Token) -> None:
        if len(self._tokens) >= MOST_KNOWN:
            self._tokens.clear()
        self._tokens[_hash(authorization)] = token

    def forget(self, authorization: str) -> None:
        self._tokens.pop(_hash(authorization), None)

    def note_session(self, token: Token, session: str) -> None:
        """This was the session of an agent's token; which one it is now is looked up every time."""
        if len(self._sessions) >= MOST_KNOWN:
            self._sessions.clear()
        self._sessions[token.id] = session

    def last_session(self, token: Token) -> str | None:
        return self._sessions.get(token.id)


def token_name(authorization: str) -> str:
    """The name under which the token in this header is stored."""
    return secret_value_name("token", authorization.partition(" ")[2].strip())


def _hash(authorization: str) -> bytes:
    return sha256(authorization.encode()).digest()


def check_caller_again(gate: Gate, known: KnownCallers, authorization: str, token: Token) -> None:
    """Refuse a request whose token is not what it was when it was shown before."""
    try:
        same = find_bearer(gate, authorization) == token
    except RequestRefused:
        known.forget(authorization)
        raise
    if not same:
        known.forget(authorization)
        raise RequestRefused(401, "unauthorized", "the token was changed just now", hint="send it again")


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
    kind, _, secret = authorization.partition(" ")
    if kind.lower() != "bearer" or not secret:
        raise RequestRefused(401, "unauthorized", "this is not a bearer token")
    with gate.store.read() as tx:
        token = find_token(gate, tx, secret.strip())
    if token is None:
        raise RequestRefused(401, "unauthorized", "nobody has this token, or it was revoked")
    return token
