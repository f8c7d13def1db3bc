"""Requests that a browser was made to send: other names, other sites, and the cookie of who signed in."""

from __future__ import annotations

import httpx
import pytest

from sayso.gate.people.browsers import make_link, page_key, use_link
from sayso.service.http.auth import COOKIE, PAGE
from tests.support.service import HOST, Service

ORIGIN = {"Origin": f"http://{HOST}"}


@pytest.fixture
def cookie(service: Service) -> dict[str, str]:
    browser = use_link(service.gate, make_link(service.gate, "ann"))
    return {"Cookie": f"{COOKIE}={browser}", PAGE: page_key(service.gate, browser)}


@pytest.mark.parametrize(
    "name",
    ["evil.test", "127.0.0.1.evil.test", f"{HOST}.evil.test", f"{HOST}:81", "", f"{HOST}\x00", "[::1]"],
)
def test_a_name_that_is_not_ours_is_refused_whatever_else_is_right(service: Service, name: str) -> None:
    """So does a page whose own name was made to point here."""
    refused = service.get("operator", "/v1/questions", headers={"Host": name})
    assert (refused.status_code, refused.json()["code"]) == (421, "foreign_host")


@pytest.mark.parametrize("names", [(HOST, "evil.test"), ("evil.test", HOST), (HOST, HOST)])
def test_a_request_that_calls_us_by_two_names_is_refused(service: Service, names: tuple[str, str]) -> None:
    headers = [*service.headers("operator").items(), *(("Host", name) for name in names)]
    refused = service.runner.run(ask_raw(service, headers))
    assert (refused.status_code, refused.json()["code"]) == (421, "foreign_host")


async def ask_raw(service: Service, headers: list[tuple[str, str]]) -> httpx.Response:
    async with service.client() as client:
        return await client.get("/v1/questions", headers=headers)


def test_a_signed_in_browser_answers_under_its_own_name(service: Service, cookie: dict[str, str]) -> None:
    question = service.asked()
    assert service.get(None, "/v1/questions", headers=cookie).json()[0]["id"] == question
    path = f"/v1/questions/{question}/answer"
    told = service.post(None, path, {"answer": "deny"}, headers=cookie | ORIGIN)
    assert told.json()["by"] == "ann"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"Origin": f"http://{HOST}.evil.test"},
        {"Origin": f"http://evil.test/{HOST}"},
        {"Origin": f"http://evil.test://{HOST}"},
        {"Origin": f"http://{HOST}", "Sec-Fetch-Site": "cross-site"},
        {"Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-site"},
        {"Referer": f"http://{HOST}/"},
    ],
    ids=str,
)
def test_a_request_that_another_site_started_changes_nothing(
    service: Service, cookie: dict[str, str], headers: dict[str, str]
) -> None:
    question = service.asked()
    path = f"/v1/questions/{question}/answer"
    refused = service.post(None, path, {"answer": "once"}, headers=cookie | headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "foreign_origin")
    assert service.told("operator", "GET", f"/v1/questions/{question}")["state"] == "open"


def test_a_cookie_of_nobody_is_none(service: Service) -> None:
    for made_up in ("", "x", "a" * 5_000, "é", '"', "\\", "x;x"):
        header = {"Cookie": f"{COOKIE}={made_up}".encode()}
        assert service.get(None, "/v1/questions", headers=header).status_code == 401


@pytest.mark.parametrize(
    "value", ["", "Bearer", "Bearer ", "Basic abc", "bearer  x y", "Bearer sayso_operator_x", "Bearer \xff"]
)
def test_an_authorization_that_is_none_lets_nobody_in(
    service: Service, cookie: dict[str, str], value: str
) -> None:
    """Not even beside a cookie that is right: what was said first is not looked past."""
    headers = {**cookie, "Authorization": value.encode("latin-1")}
    assert service.get(None, "/v1/questions", headers=headers).status_code == 401


def test_every_answer_carries_the_headers_that_keep_browsers_safe(service: Service) -> None:
    for who, path in (("operator", "/v1/questions"), (None, "/v1/questions"), (None, "/nowhere")):
        headers = service.get(who, path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers
        assert "set-cookie" not in headers


def test_no_other_site_is_ever_invited(service: Service) -> None:
    asked = service.request(
        None,
        "OPTIONS",
        "/v1/calls",
        headers={"Origin": "http://evil.test", "Access-Control-Request-Method": "POST"},
    )
    assert asked.status_code == 405
    assert not [name for name in asked.headers if name.startswith("access-control-allow")]
