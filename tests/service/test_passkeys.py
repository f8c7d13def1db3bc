"""Passkeys over HTTP: who adds and removes them, signing in, and answers that have to be signed."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import msgspec
import pytest

from sayso.gate.gate import Gate
from sayso.gate.people.browsers import make_link, page_key, use_link
from sayso.gate.people.passkeys import list_passkeys, require_passkeys
from sayso.service.http.auth import COOKIE, PAGE
from sayso.service.http.state import ServiceSettings
from sayso.service.serve import Address
from tests.support.authenticator import Authenticator
from tests.support.gates import Clock
from tests.support.service import HOST, PUSH, WRITE, Service

pytestmark = pytest.mark.each_store

ORIGIN = f"https://{HOST}"


class Desk:
    """Somebody at a browser, signed in by a link, with a device that can hold a passkey."""

    def __init__(self, service: Service, name: str = "ana") -> None:
        self.service, self.name = service, name
        self.device = Authenticator(place=HOST)
        self.use(use_link(service.gate, make_link(service.gate, name)))

    def use(self, cookie: str) -> None:
        self.headers = {
            "Cookie": f"{COOKIE}={cookie}",
            "Origin": f"http://{HOST}",
            PAGE: page_key(self.service.gate, cookie),
        }

    def request(self, method: str, path: str, body: Any = None) -> httpx.Response:
        return self.service.request(None, method, path, body, headers=self.headers)

    def told(self, method: str, path: str, body: Any = None) -> Any:
        response = self.request(method, path, body)
        assert response.status_code < 300, response.text
        return response.json()

    def register(self) -> str:
        made = self.device.create(self.told("POST", "/v1/passkeys/options"), origin=ORIGIN)
        name: str = self.told("POST", "/v1/passkeys", {"name": "desk", "credential": made})["id"]
        return name

    def proof(self, question: str, body: dict[str, Any]) -> dict[str, Any]:
        options = self.told("POST", f"/v1/questions/{question}/challenge", body)
        assert options["allowCredentials"] == [{"type": "public-key", "id": self.device.id}]
        return sent(self.device.get(options, origin=ORIGIN))

    def answer(self, question: str, body: dict[str, Any]) -> httpx.Response:
        seen = self.told("GET", f"/v1/questions/{question}")["digest"]
        return self.request("POST", f"/v1/questions/{question}/answer", {"digest": seen} | body)


def sent(proof: Any) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(proof)
    return told


@pytest.fixture
def service(gate: Gate, runner: asyncio.Runner) -> Service:
    return Service(gate, runner, ServiceSettings(origins=(ORIGIN,)))


@pytest.fixture
def desk(service: Service) -> Desk:
    return Desk(service)


def test_a_passkey_is_added_listed_and_removed(desk: Desk) -> None:
    assert desk.told("GET", "/v1/passkeys") == {"passkeys": [], "require": None}
    name = desk.register()
    (told,) = desk.told("GET", "/v1/passkeys")["passkeys"]
    assert (told["id"], told["name"], told["place"]) == (name, "desk", HOST)
    assert not {"key", "credential"} & told.keys()
    desk.told("DELETE", f"/v1/passkeys/{name}")
    assert desk.told("GET", "/v1/passkeys")["passkeys"] == []


def test_a_passkey_signs_in_and_the_browser_gets_its_cookie_and_key(service: Service, desk: Desk) -> None:
    desk.register()
    options = service.told(None, "POST", "/v1/sign-in/options")
    assert options["allowCredentials"] == []
    proof = sent(desk.device.get(options, origin=ORIGIN))
    response = service.post(None, "/v1/sign-in", proof)
    assert response.json()["name"] == "ana"
    cookie = response.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "Secure", "SameSite=strict"))
    desk.use(cookie.partition("=")[2].partition(";")[0])
    assert desk.headers[PAGE] == response.json()["page"]
    assert desk.told("GET", "/v1/passkeys")["passkeys"] != []
    again = service.post(None, "/v1/sign-in", proof)
    assert (again.status_code, again.json()["code"]) == (403, "sign_in_refused")


def test_five_minutes_after_signing_in_no_passkey_is_added_or_removed(desk: Desk, clock: Clock) -> None:
    name = desk.register()
    clock.now += 301
    for method, path in (("POST", "/v1/passkeys/options"), ("DELETE", f"/v1/passkeys/{name}")):
        response = desk.request(method, path)
        assert (response.status_code, response.json()["code"]) == (403, "sign_in_again")
    assert len(list_passkeys(desk.service.gate)) == 1


def test_a_token_adds_and_removes_no_passkey(service: Service, desk: Desk) -> None:
    name = desk.register()
    assert service.post("operator", "/v1/passkeys/options").status_code == 403
    assert service.request("operator", "DELETE", f"/v1/passkeys/{name}").status_code == 403


def test_nobody_removes_the_passkey_of_another(service: Service, desk: Desk) -> None:
    name = desk.register()
    assert Desk(service, "bob").request("DELETE", f"/v1/passkeys/{name}").status_code == 404


def test_a_question_says_whether_it_has_to_be_signed(service: Service, desk: Desk) -> None:
    high, moderate = service.asked(call=PUSH), service.asked(call=WRITE)
    assert not desk.told("GET", f"/v1/questions/{high}")["signed"]
    desk.register()
    assert desk.told("GET", f"/v1/questions/{high}")["signed"]
    assert not desk.told("GET", f"/v1/questions/{moderate}")["signed"]


@pytest.mark.parametrize("body", [{"answer": "once"}, {"items": {"1": "once"}}])
def test_a_signed_answer_allows(service: Service, desk: Desk, body: dict[str, Any]) -> None:
    desk.register()
    question = service.asked(call=PUSH)
    refused = desk.answer(question, body)
    assert (refused.status_code, refused.json()["code"]) == (403, "proof_needed")
    told = desk.answer(question, body | {"proof": desk.proof(question, body)}).json()
    assert (told["yours"], told["answer"]) == (True, "once")


def test_an_edited_call_is_signed_as_it_was_edited(service: Service, desk: Desk) -> None:
    desk.register()
    question = service.asked(call=PUSH)
    line = "git push backup"
    edit = {"answer": "edit", "command": line, "edited": {"line": line}}
    other = edit | {"edited": {"line": line, "remote": "elsewhere"}}
    proof = desk.proof(question, edit)
    assert desk.answer(question, other | {"proof": proof}).json()["code"] == "bad_proof"
    assert desk.answer(question, edit | {"proof": desk.proof(question, edit)}).json()["answer"] == "edit"


def test_a_no_needs_no_signature(service: Service, desk: Desk) -> None:
    desk.register()
    assert desk.answer(service.asked(call=PUSH), {"answer": "deny"}).json()["yours"]


def test_an_operators_token_does_not_allow_what_has_to_be_signed(service: Service, desk: Desk) -> None:
    desk.register()
    question = service.asked(call=PUSH)
    answer = {"answer": "once", "digest": desk.told("GET", f"/v1/questions/{question}")["digest"]}
    response = service.post("operator", f"/v1/questions/{question}/answer", answer)
    assert response.json()["code"] == "proof_needed"
    proof = desk.proof(question, {"answer": "once"})
    signed = answer | {"proof": proof}
    assert service.post("operator", f"/v1/questions/{question}/answer", signed).json()["code"] == "bad_proof"


def test_who_has_no_passkey_is_told_what_to_do(service: Service, desk: Desk) -> None:
    question = service.asked(call=PUSH)
    response = desk.request("POST", f"/v1/questions/{question}/challenge", {"answer": "once"})
    assert (response.status_code, response.json()["code"]) == (409, "no_passkey")


@pytest.mark.parametrize(
    "body",
    [{}, {"answer": "edit"}, {"answer": "once", "digest": "0" * 64}, {"items": {"x": "once", "y": "task"}}],
)
def test_what_is_no_answer_is_not_given_out_to_sign(service: Service, desk: Desk, body: Any) -> None:
    desk.register()
    question = service.asked(call=PUSH)
    assert 400 <= desk.request("POST", f"/v1/questions/{question}/challenge", body).status_code < 500


def test_a_service_without_a_place_for_passkeys_says_so(gate: Gate, runner: asyncio.Runner) -> None:
    desk = Desk(Service(gate, runner, ServiceSettings()))
    response = desk.request("POST", "/v1/passkeys/options")
    assert (response.status_code, response.json()["code"]) == (409, "no_passkeys_here")


def test_the_page_is_opened_where_passkeys_work() -> None:
    assert Address(port=7333).page == "http://localhost:7333"
    assert Address(port=7333).origins == ("http://localhost:7333",)
    assert Address(host="10.0.0.5").origins == ()
    behind = Address(origin="https://sayso.example")
    assert (behind.page, behind.origins[0]) == ("https://sayso.example", "https://sayso.example")
    assert "sayso.example" in behind.names


def test_a_grant_by_hand_over_http_does_not_get_around_signing(service: Service) -> None:
    session = service.opened()
    body = {"session": session, "operation": "files.write", "minutes": 5}
    assert service.post("operator", "/v1/grants", {**body, "risk": "high"}).status_code != 403
    require_passkeys(service.gate, "high", by="ana")
    for wanted in ({}, {"risk": "high"}):
        refused = service.post("operator", "/v1/grants", {**body, **wanted})
        assert (refused.status_code, refused.json()["code"]) == (403, "signature_needed")
    assert service.post("operator", "/v1/grants", {**body, "risk": "moderate"}).status_code == 201
