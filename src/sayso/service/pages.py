"""The web page: its files, and signing a browser in and out. What the page shows it asks of the API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from sayso.core.errors import SaysoError
from sayso.gate.gate import Gate
from sayso.gate.people.browsers import (
    BROWSER_LASTS,
    browser_key,
    page_key,
    sign_out,
    use_link,
    user_of_browser,
)
from sayso.gate.people.push import unsubscribe
from sayso.service.http.act_body import read_act_body
from sayso.service.http.auth import COOKIE, check_page, check_same_origin
from sayso.service.http.problems import RequestRefused, problem_response
from sayso.service.notifying import ACTS as NOTIFY_ACTS

PATHS = (
    "/", "/sign-in", "/history", "/grants", "/sessions", "/workflows", "/proposals", "/policy", "/review",
    "/audit", "/figures", "/people", "/passkeys",
)  # fmt: skip
"""Every page is the same file: its script looks at the address."""
MISSING = "missing.html"
AT_THE_ROOT = ("sw.js", "manifest.webmanifest")
FILES = "/web/files.json"
"""The paths of the page's files, for the browser to keep them at its first visit."""
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "json": "application/json",
    "webmanifest": "application/manifest+json",
}
LARGEST_CODE = 1_000


class CodeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: str


class SignedInUser(msgspec.Struct, frozen=True):
    """The signed-in user. `page`, the key that this page proves itself with, is sent once, at signing in."""

    name: str
    page: str | None = None


class WebFile(msgspec.Struct, frozen=True):
    content: bytes
    media: str
    tag: str


def page_routes(gate: Gate) -> list[BaseRoute]:
    """The routes of the page. Anybody may load it; without signing in it shows how to sign in."""
    found = web_files()
    routes: list[BaseRoute] = [_file_route(path, found["index.html"]) for path in PATHS]
    routes += [_file_route(f"/{name}", found[name]) for name in AT_THE_ROOT]
    below = {f"/web/{name}": file for name, file in found.items() if name != "index.html"}
    routes += [_file_route(path, file) for path, file in below.items()]
    routes.append(_file_route(FILES, _file(FILES, msgspec.json.encode(sorted(below)))))
    acts = (
        ("POST", "/sign-in", _sign_in),
        ("POST", "/sign-out", _sign_out),
        ("GET", "/signed-in", _get_user),
        *NOTIFY_ACTS,
    )
    return [*(act_route(gate, *act) for act in acts), *routes]


def missing_page_response(request: Request, status: int) -> Response | None:
    """Return a page for an unknown address, with a way back; None for callers that want no page."""
    wanted = {one.partition(";")[0].strip() for one in request.headers.get("accept", "").split(",")}
    if request.method not in ("GET", "HEAD") or "text/html" not in wanted:
        return None
    found = files("sayso.service").joinpath("web", MISSING).read_bytes()
    return Response(found, status, media_type=TYPES["html"])


def sign_in_response(gate: Gate, name: str, browser: str, *, secure: bool) -> Response:
    """Tell a browser that it is signed in: its cookie, and the key of its page."""
    response = _user_response(SignedInUser(name, page_key(gate, browser)))
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


def web_files() -> dict[str, WebFile]:
    """The files of the page by their path below `web`: `index.html`, `lib/dom.js`."""
    return dict(_files_in(files("sayso.service").joinpath("web"), ""))


def _files_in(folder: Traversable, path: str) -> Iterator[tuple[str, WebFile]]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _files_in(one, f"{path}{one.name}/")
        elif one.name.rpartition(".")[2] in TYPES:
            yield path + one.name, _file(one.name, one.read_bytes())


def _file(name: str, content: bytes) -> WebFile:
    return WebFile(content, TYPES[name.rpartition(".")[2]], f'"{sha256(content).hexdigest()[:32]}"')


def _file_route(path: str, file: WebFile) -> Route:
    async def answer(request: Request) -> Response:
        headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
        if file.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers, media_type=file.media)

    return Route(path, answer, methods=["GET"])


def index_route(path: str) -> Route:
    """A page at one more address. Its script looks at that, as for all of them."""
    return _file_route(path, web_files()["index.html"])


def act_route(
    gate: Gate, method: str, path: str, act: Callable[[Gate, Request], Awaitable[Response]]
) -> Route:
    """An act of the page. What is wrong with it is told as a problem."""

    async def answer(request: Request) -> Response:
        try:
            return await act(gate, request)
        except SaysoError as error:
            return problem_response(error)

    return Route(path, answer, methods=[method])


async def _sign_in(gate: Gate, request: Request) -> Response:
    """The code of a link becomes a cookie. Only this page may ask, so nobody is signed in by another site."""
    check_same_origin(request)
    browser = await asyncio.to_thread(
        use_link, gate, (await read_act_body(request, CodeBody, LARGEST_CODE)).code
    )
    name = user_of_browser(gate, browser) or ""
    return sign_in_response(gate, name, browser, secure=request.url.scheme == "https")


async def _sign_out(gate: Gate, request: Request) -> Response:
    secret = request.cookies.get(COOKIE, "")
    check_same_origin(request)
    check_page(gate, request, secret)
    await asyncio.to_thread(sign_out, gate, secret)
    await asyncio.to_thread(unsubscribe, gate, browser_key(secret))
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


async def _get_user(gate: Gate, request: Request) -> Response:
    name = await asyncio.to_thread(user_of_browser, gate, request.cookies.get(COOKIE, ""))
    if name is None:
        raise RequestRefused(
            401, "unauthorized", "nobody is signed in here", hint="`sayso link` makes a link"
        )
    check_page(gate, request, request.cookies[COOKIE])
    return _user_response(SignedInUser(name))


def _user_response(signed_in: SignedInUser) -> Response:
    return Response(msgspec.json.encode(signed_in), media_type="application/json")
