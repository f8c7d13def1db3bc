"""The web page: its files, and signing a browser in and out. What the page shows it asks of the API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import sha256
from importlib.resources import files

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sayso.core.digest import parse
from sayso.core.errors import SaysoError
from sayso.doors.python.embedded import EmbeddedDoor
from sayso.gate.gate import Gate
from sayso.gate.people.browsers import BROWSER_LASTS, browser_of, page_key, sign_out, use_link
from sayso.service.http.auth import COOKIE, check_page, check_same_origin
from sayso.service.http.problems import Refused, problem

PATHS = (
    "/", "/sign-in", "/history", "/grants", "/sessions", "/workflows", "/policy", "/audit", "/figures",
    "/passkeys",
)  # fmt: skip
"""Every page is the same file: its script looks at the address."""
MISSING = "missing.html"
AT_THE_ROOT = ("sw.js", "manifest.webmanifest")
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "webmanifest": "application/manifest+json",
}
LARGEST_CODE = 1_000


class CodeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: str


class SignedIn(msgspec.Struct, frozen=True):
    """Who is signed in. `page` is told once, at signing in: the key this page proves itself with."""

    name: str
    page: str | None = None


class File(msgspec.Struct, frozen=True):
    content: bytes
    media: str
    tag: str


def pages(door: EmbeddedDoor) -> list[BaseRoute]:
    """The routes of the page. Anybody may load it; without signing in it shows how to sign in."""
    found = web_files()
    routes: list[BaseRoute] = [_file_route(path, found["index.html"]) for path in PATHS]
    routes += [_file_route(f"/{name}", found[name]) for name in AT_THE_ROOT]
    routes += [_file_route(f"/web/{name}", file) for name, file in found.items() if name != "index.html"]
    acts = (("POST", "/sign-in", _sign_in), ("POST", "/sign-out", _sign_out), ("GET", "/signed-in", _who))
    return [*(_act_route(door.gate, *act) for act in acts), *routes]


def missing_page(request: Request, status: int) -> Response | None:
    """What a person sees at an address that is none, with a way back; None for who did not want a page."""
    wanted = {one.partition(";")[0].strip() for one in request.headers.get("accept", "").split(",")}
    if request.method not in ("GET", "HEAD") or "text/html" not in wanted:
        return None
    found = files("sayso.service").joinpath("web", MISSING).read_bytes()
    return Response(found, status, media_type=TYPES["html"])


def signed_in(gate: Gate, name: str, browser: str, *, secure: bool) -> Response:
    """Tell a browser that it is signed in: its cookie, and the key of its page."""
    response = _told(SignedIn(name, page_key(gate, browser)))
    response.set_cookie(
        COOKIE,
        browser,
        max_age=int(BROWSER_LASTS),
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )
    return response


def web_files() -> dict[str, File]:
    """The files of the page by name."""
    return {
        one.name: _file(one.name, one.read_bytes())
        for one in files("sayso.service").joinpath("web").iterdir()
        if one.name.rpartition(".")[2] in TYPES
    }


def _file(name: str, content: bytes) -> File:
    return File(content, TYPES[name.rpartition(".")[2]], f'"{sha256(content).hexdigest()[:32]}"')


def _file_route(path: str, file: File) -> Route:
    async def answer(request: Request) -> Response:
        headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
        if file.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers, media_type=file.media)

    return Route(path, answer, methods=["GET"])


def _act_route(
    gate: Gate, method: str, path: str, act: Callable[[Gate, Request], Awaitable[Response]]
) -> Route:
    async def answer(request: Request) -> Response:
        try:
            return await act(gate, request)
        except SaysoError as error:
            return problem(error)

    return Route(path, answer, methods=[method])


async def _sign_in(gate: Gate, request: Request) -> Response:
    """The code of a link becomes a cookie. Only this page may ask, so nobody is signed in by another site."""
    check_same_origin(request)
    browser = await asyncio.to_thread(use_link, gate, await _code(request))
    name = browser_of(gate, browser) or ""
    return signed_in(gate, name, browser, secure=request.url.scheme == "https")


async def _sign_out(gate: Gate, request: Request) -> Response:
    secret = request.cookies.get(COOKIE, "")
    check_same_origin(request)
    check_page(gate, request, secret)
    await asyncio.to_thread(sign_out, gate, secret)
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


async def _who(gate: Gate, request: Request) -> Response:
    name = await asyncio.to_thread(browser_of, gate, request.cookies.get(COOKIE, ""))
    if name is None:
        raise Refused(401, "unauthorized", "nobody is signed in here", hint="`sayso link` makes a link")
    check_page(gate, request, request.cookies[COOKIE])
    return _told(SignedIn(name))


async def _code(request: Request) -> str:
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > LARGEST_CODE:
            raise Refused(413, "too_large", f"a code holds {LARGEST_CODE} bytes at most")
    try:
        return msgspec.convert(parse(raw), CodeBody).code
    except msgspec.ValidationError as error:
        raise Refused(422, "malformed", str(error)) from error


def _told(signed_in: SignedIn) -> Response:
    return Response(msgspec.json.encode(signed_in), media_type="application/json")
