"""The switch for notifications: for signed-in browsers whose own page asks, and for nobody else."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.people.answerers import on_page
from sayso.gate.people.browsers import make_link, page_key, use_link
from sayso.gate.people.push import live_subscriptions
from sayso.service.app import make_app
from sayso.service.http.auth import COOKIE, PAGE
from sayso.service.pages import page_routes
from sayso.surfaces.remote.browser import browser_surfaces
from tests.support.push_service import BrowserKeys, FakePushService, encode
from tests.support.service import HOST, Service

ORIGIN = {"Origin": f"http://{HOST}"}
KEYS = BrowserKeys(7)
SPELLED = {"p256dh": encode(KEYS.point), "auth": encode(KEYS.auth)}


@pytest.fixture
def service(service: Service) -> Service:
    """With its page."""
    service.app = make_app(service.gate, hosts=(HOST,), pages=page_routes(service.gate))
    return service


@pytest.fixture
def cookie(service: Service) -> dict[str, str]:
    browser = use_link(service.gate, make_link(service.gate, "ann"))
    return {"Cookie": f"{COOKIE}={browser}", PAGE: page_key(service.gate, browser)}


@pytest.fixture
def push_service() -> Iterator[FakePushService]:
    made = FakePushService()
    yield made
    made.stop()


def body(endpoint: str = "https://push.example.org/1") -> dict[str, object]:
    return {"endpoint": endpoint, "expirationTime": None, "keys": SPELLED}


def test_a_browser_switches_itself_on_and_off(service: Service, cookie: dict[str, str]) -> None:
    before = service.get(None, "/notify", headers=cookie).json()
    assert before["on"] is False
    told = service.post(None, "/notify", body(), headers=cookie | ORIGIN)
    assert told.json() == {"on": True, "key": before["key"]}
    assert len(live_subscriptions(service.gate)) == 1
    off = service.request(None, "DELETE", "/notify", headers=cookie | ORIGIN)
    assert off.json()["on"] is False
    assert live_subscriptions(service.gate) == []


def test_signing_out_removes_it(service: Service, cookie: dict[str, str]) -> None:
    service.post(None, "/notify", body(), headers=cookie | ORIGIN)
    assert service.post(None, "/sign-out", headers=cookie | ORIGIN).status_code == 204
    assert live_subscriptions(service.gate) == []
    with service.gate.store.read() as tx:
        assert "push.example.org" not in str(tx.meta("push/browsers"))


@pytest.mark.parametrize("without", ["Cookie", PAGE, "Origin"])
def test_nobody_else_switches_it(service: Service, cookie: dict[str, str], without: str) -> None:
    given = {key: value for key, value in (cookie | ORIGIN).items() if key != without}
    assert service.post(None, "/notify", body(), headers=given).status_code in (401, 403)
    assert live_subscriptions(service.gate) == []


def test_a_token_is_not_a_browser(service: Service) -> None:
    assert service.post("operator", "/notify", body()).status_code == 401


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        body("http://push.example.org/1"),
        body("file:///etc/passwd"),
        {**body(), "more": 1},
        {**body(), "keys": {"p256dh": "x", "auth": "y"}},
        {**body(), "endpoint": "https://push.example.org/" + "x" * 5_000},
    ],
    ids=range(6),
)
def test_what_is_not_a_subscription_is_refused(
    service: Service, cookie: dict[str, str], wrong: dict[str, object]
) -> None:
    refused = service.post(None, "/notify", wrong, headers=cookie | ORIGIN)
    assert 400 <= refused.status_code < 500
    assert live_subscriptions(service.gate) == []


def test_the_worker_denies_with_its_token_and_cookie_and_with_nothing_less(
    service: Service, cookie: dict[str, str], push_service: FakePushService
) -> None:
    service.post(None, "/notify", body(push_service.endpoint("1")), headers=cookie | ORIGIN)
    question = service.asked()
    (surface,) = browser_surfaces(service.gate)
    Dispatcher(service.gate, (), notices_to=lambda: None).send(surface)
    (told,) = push_service.opened(KEYS)
    path, given = f"/surfaces/v1/{told['surface']}", {"question": question, "token": told["deny"]}
    mine = {"Cookie": cookie["Cookie"]}
    for headers, sent, status in (
        ({}, given, 401),
        ({"Cookie": f"{COOKIE}=x"}, given, 401),
        (mine, {**given, "token": "AAAA"}, 403),
        (mine, {**given, "answer": "once"}, 400),
        (mine, {"question": question}, 400),
    ):
        assert service.post(None, path, sent, headers=headers).status_code == status, json.dumps(sent)
    assert service.told("operator", "GET", f"/v1/questions/{question}")["state"] == "open"
    stands = service.post(None, path, given, headers=mine).json()
    assert (stands["answer"], stands["yours"]) == ("deny", True)
    assert service.post(None, path, given, headers=mine).json()["yours"] is False
    assert service.post(None, "/surfaces/v1/push-000000000000", given, headers=mine).status_code == 404


def test_who_denies_from_a_notification_is_who_they_are_on_the_page(
    service: Service, cookie: dict[str, str], push_service: FakePushService
) -> None:
    service.post(None, "/notify", body(push_service.endpoint("1")), headers=cookie | ORIGIN)
    (surface,) = browser_surfaces(service.gate)
    assert surface.answerer == on_page("ann")
