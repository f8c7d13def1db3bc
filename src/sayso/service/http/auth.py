"""Authentication: by a bearer token, or by a signed-in browser; never by anything in the body."""

from __future__ import annotations

import secrets

from starlette.requests import Request

from sayso.gate.gate import Gate
from sayso.gate.people.browsers import find_browser, page_key
from sayso.gate.people.tokens import Token, find_token
from sayso.service.http.problems import RequestRefused

COOKIE = "sayso_browser"
BROWSER = "browser:"
"""How the id of a caller begins that is a signed-in browser; its time is that of the sign-in."""
PAGE = "x-sayso-page"
EVENTS = "/v1/events"
"""A browser cannot send a header when it listens to events, and those only say that something changed."""
SAME_ORIGIN = ("same-origin", "none")
SAFE = ("GET", "HEAD")


def find_caller(gate: Gate, request: Request) -> Token:
    """The token behind the request. A browser counts as the operator it signed in as."""
    authorization = request.headers.get("authorization")
    if authorization is not None:
        return _bearer(gate, authorization)
    secret = request.cookies.get(COOKIE)
    browser = find_browser(gate, secret) if secret else None
    if browser is None:
        raise RequestRefused(
            401, "unauthorized", "no token was given", hint="send one: Authorization: Bearer …"
        )
    check_same_origin(request)
    if request.url.path != EVENTS:
        check_page(gate, request, secret or "")
    return Token(f"{BROWSER}{browser.name}", "operator", browser.name, browser.since)


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


def _bearer(gate: Gate, authorization: str) -> Token:
    kind, _, secret = authorization.partition(" ")
    if kind.lower() != "bearer" or not secret:
        raise RequestRefused(401, "unauthorized", "this is no bearer token")
    with gate.store.read() as tx:
        token = find_token(gate, tx, secret.strip())
    if token is None:
        raise RequestRefused(401, "unauthorized", "nobody has this token, or it was revoked")
    return token
