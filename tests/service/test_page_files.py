"""The page's files and sign-in, without a browser: what is served, and what a stolen cookie is worth."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from sayso.gate.gate import Gate
from sayso.gate.people.browsers import make_link
from sayso.service.app import make_app
from sayso.service.http.guard import POLICY
from sayso.service.pages import PATHS, TYPES, page_routes, web_files
from tests.support.gates import Clock
from tests.support.service import HOST, Service

ORIGIN = {"Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}
MAKES_MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTMLUnsafe"
    r"|\beval\(|new Function|srcdoc|javascript:"
)


class Visitor:
    """A client with cookies, as a browser has them."""

    def __init__(self, service: Service, scheme: str = "http") -> None:
        app = make_app(service.gate, hosts=(HOST,), pages=page_routes(service.gate))
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self._runner = service.runner
        self.client = httpx.AsyncClient(transport=transport, base_url=f"{scheme}://{HOST}")

    def ask(self, method: str, path: str, headers: Mapping[str, str] = {}, **more: Any) -> httpx.Response:
        async def asked() -> httpx.Response:
            return await self.client.request(method, path, headers=dict(headers), **more)

        return self._runner.run(asyncio.wait_for(asked(), 10))

    def sign_in(self, gate: Gate) -> dict[str, str]:
        """What the page sends with each request once it is signed in."""
        told = self.ask("POST", "/sign-in", ORIGIN, json={"code": make_link(gate, "ana")})
        assert told.status_code == 200, told.text
        return {**ORIGIN, "X-Sayso-Page": told.json()["page"]}


@pytest.fixture
def visitor(service: Service) -> Visitor:
    return Visitor(service)


def test_every_page_is_the_same_file_behind_the_strict_policy(visitor: Visitor) -> None:
    for path in PATHS:
        told = visitor.ask("GET", path)
        assert told.headers["content-type"] == TYPES["html"]
        assert told.headers["content-security-policy"] == "; ".join(POLICY)
        assert "'unsafe" not in told.headers["content-security-policy"]
    assert len({visitor.ask("GET", path).text for path in PATHS}) == 1


def test_files_have_their_types_and_are_asked_for_again_only_if_they_changed(visitor: Visitor) -> None:
    for name in web_files():
        path = "/" if name == "index.html" else f"/web/{name}"
        told = visitor.ask("GET", path)
        assert told.headers["content-type"] == TYPES[name.rpartition(".")[2]]
        assert told.headers["cache-control"] == "no-cache"
        again = visitor.ask("GET", path, {"If-None-Match": told.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_files_outside_the_page_are_not_served(visitor: Visitor) -> None:
    outside = ("/web/../pages.py", "/web/%2e%2e/pages.py", "/web/lib/../../pages.py", "/web/pages.py")
    for path in (*outside, "/web/", "/web/lib", "/web/lib/", "/web/dom.js", "/web/index.html"):
        assert visitor.ask("GET", path).status_code == 404


def test_the_pages_code_makes_no_markup_from_text() -> None:
    for name, file in web_files().items():
        if name.endswith((".js", ".html")):
            assert not MAKES_MARKUP.search(file.content.decode()), name


def test_the_page_has_no_inline_script_or_style() -> None:
    page = web_files()["index.html"].content.decode()
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", page) == []


def test_a_stranger_is_told_nothing(visitor: Visitor) -> None:
    for path in ("/signed-in", "/v1/questions", "/v1/history", "/v1/audit/proof/1"):
        assert visitor.ask("GET", path).status_code == 401


def test_a_link_works_once_and_not_after_two_minutes(visitor: Visitor, gate: Gate, clock: Clock) -> None:
    code = make_link(gate, "ana")
    assert visitor.ask("POST", "/sign-in", ORIGIN, json={"code": code}).status_code == 200
    again = visitor.ask("POST", "/sign-in", ORIGIN, json={"code": code})
    assert (again.status_code, again.json()["code"]) == (400, "link_refused")
    late = make_link(gate, "ana")
    clock.now += 121
    assert visitor.ask("POST", "/sign-in", ORIGIN, json={"code": late}).status_code == 400


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"code": 1}', b'{"code": "x", "role": "operator"}'])
def test_garbage_does_not_sign_in(visitor: Visitor, body: bytes) -> None:
    told = visitor.ask("POST", "/sign-in", ORIGIN, content=body)
    assert told.status_code in (400, 422)
    assert "set-cookie" not in told.headers


def test_a_code_longer_than_any_is_refused(visitor: Visitor) -> None:
    assert visitor.ask("POST", "/sign-in", ORIGIN, content=b"x" * 5_000).status_code == 413


def test_another_site_signs_nobody_in(visitor: Visitor, gate: Gate) -> None:
    code = make_link(gate, "mallory")
    for headers in ({}, {"Origin": "http://evil.test"}, {**ORIGIN, "Sec-Fetch-Site": "cross-site"}):
        told = visitor.ask("POST", "/sign-in", headers, json={"code": code})
        assert told.status_code == 403
        assert "set-cookie" not in told.headers


def test_the_cookie_is_for_this_site_alone_and_not_for_scripts(service: Service, gate: Gate) -> None:
    for scheme in ("http", "https"):
        visitor = Visitor(service, scheme)
        origin = {**ORIGIN, "Origin": f"{scheme}://{HOST}"}
        told = visitor.ask("POST", "/sign-in", origin, json={"code": make_link(gate, "ana")})
        parts = {part.strip().lower() for part in told.headers["set-cookie"].split(";")}
        assert {"httponly", "samesite=strict", "path=/"} <= parts
        assert ("secure" in parts) == (scheme == "https")


def test_a_cookie_without_the_pages_key_is_worth_nothing(visitor: Visitor, gate: Gate) -> None:
    """A browser sends it to every port of this machine, so an agent's own web server gets to see it."""
    key = visitor.sign_in(gate)
    assert visitor.ask("GET", "/v1/questions", key).status_code == 200
    assert visitor.ask("GET", "/signed-in", key).json()["name"] == "ana"
    stolen = {**ORIGIN, "X-Sayso-Page": "0" * 64}
    for headers in (ORIGIN, stolen):
        assert visitor.ask("GET", "/v1/questions", headers).status_code == 401
        assert visitor.ask("POST", "/v1/audit/verify", headers, json={}).status_code == 401
        assert visitor.ask("GET", "/signed-in", headers).status_code == 401
        assert visitor.ask("POST", "/sign-out", headers).status_code == 401


def test_who_signs_out_is_out_even_with_the_old_cookie(visitor: Visitor, gate: Gate) -> None:
    key = visitor.sign_in(gate)
    kept = {"Cookie": f"sayso_browser={visitor.client.cookies['sayso_browser']}"}
    assert visitor.ask("POST", "/sign-out", key).status_code == 204
    assert visitor.ask("GET", "/v1/questions", {**key, **kept}).status_code == 401


def test_a_browser_is_signed_out_after_twelve_hours(visitor: Visitor, gate: Gate, clock: Clock) -> None:
    key = visitor.sign_in(gate)
    clock.now += 12 * 3_600
    assert visitor.ask("GET", "/v1/questions", key).status_code == 401


PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("path", "status"), [("/histroy", 404), ("/questions/q_1", 404), ("/v1/nothing", 404), ("/sign-out", 405)]
)
def test_a_browser_at_a_missing_address_is_not_shown_json(visitor: Visitor, path: str, status: int) -> None:
    told = visitor.ask("GET", path, {"Accept": PAGE})
    assert (told.status_code, told.headers["content-type"]) == (status, TYPES["html"])
    assert told.headers["content-security-policy"] == "; ".join(POLICY)
    assert 'href="/"' in told.text


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html-not", ""])
def test_a_program_at_a_missing_address_is_not_shown_a_page(visitor: Visitor, accept: str) -> None:
    told = visitor.ask("GET", "/histroy", {"Accept": accept})
    assert (told.status_code, told.headers["content-type"]) == (404, "application/problem+json")
    assert (
        visitor.ask("POST", "/histroy", {"Accept": PAGE}).headers["content-type"].startswith("application/pr")
    )


def test_a_service_without_pages_shows_none(service: Service) -> None:
    told = service.get(None, "/histroy", headers={"Accept": PAGE})
    assert told.headers["content-type"] == "application/problem+json"
