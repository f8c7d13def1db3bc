"""A real service and a surface: the question goes out, the answer comes back, and the caller goes on."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sayso.core.signed_messages import encode_secret
from sayso.surfaces.remote.settings_file import add_surface, remove_surface
from tests.support.chat_services import SECRET, FakeReceiver
from tests.support.service_process import Home, Service, a_home, said

PATIENCE = 180.0


@pytest.fixture
def receiver() -> Iterator[FakeReceiver]:
    made = FakeReceiver()
    yield made
    made.stop()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, receiver: FakeReceiver) -> Home:
    made = a_home(monkeypatch, tmp_path)
    secret = encode_secret(SECRET)
    add_surface("webhook", {"name": "hook", "url": receiver.url, "secret": secret, "approvers": ["ana"]})
    return made


def wait_until_asked(receiver: FakeReceiver) -> None:
    until = time.monotonic() + PATIENCE
    while not any(one["type"] == "question.asked" for one in receiver.taken.values()):
        assert time.monotonic() < until, "nothing was sent"
        time.sleep(0.02)


def send(service: Service, answer: tuple[str, dict[str, str], bytes]) -> tuple[int, dict[str, object]]:
    name, headers, body = answer
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
    connection.request("POST", f"/surfaces/v1/{name}", body, headers)
    told = connection.getresponse()
    content = json.loads(told.read())
    connection.close()
    return told.status, content


def test_a_caller_goes_on_once_somebody_answered_on_a_surface(home: Home, receiver: FakeReceiver) -> None:
    with home.serve() as service, closing(service.connect(home.token("host"))) as gate:
        done: list[object] = []

        @gate.requires_consent("tasks.create")
        def create(title: str) -> str:
            return title

        def call() -> None:
            done.append(gate.run("create", {"title": "x"}, wait=PATIENCE).status)

        caller = threading.Thread(target=call)
        caller.start()
        wait_until_asked(receiver)
        assert send(service, receiver.reply("once", "mallory"))[0] == 403
        assert send(service, receiver.reply("once", "ana", secret=b"x" * 32))[0] == 401
        assert send(service, ("nowhere", {}, b"{}"))[0] == 404
        status, told = send(service, receiver.reply("once", "ana"))
        assert (status, told["yours"]) == (200, True)
        caller.join(PATIENCE)
        assert done == ["ok"]
        assert send(service, receiver.reply("deny", "ana"))[1]["yours"] is False


def test_a_message_that_the_surface_did_not_sign_is_recorded(home: Home, receiver: FakeReceiver) -> None:
    forged = {"webhook-id": "x", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
    with home.serve() as service:
        assert send(service, ("hook", forged, b"{}"))[0] == 401
    code, told = said("audit", "export", "--store", home.store)
    assert code == 0
    assert "ANSWER_REFUSED" in told
    assert "the signature does not fit" in told


def test_a_blocked_attempt_is_told_there_once(home: Home, receiver: FakeReceiver) -> None:
    with home.serve() as service, closing(service.connect(home.token("host"))) as gate:

        @gate.requires_consent("tasks.wipe")
        def wipe() -> None:
            raise AssertionError("it ran")

        assert gate.run("wipe", {}).status == "blocked"
        until = time.monotonic() + PATIENCE
        while not any(one["type"] == "notice" for one in receiver.taken.values()):
            assert time.monotonic() < until, "nothing was told"
            time.sleep(0.02)
    told = [one["data"]["text"] for one in receiver.taken.values() if one["type"] == "notice"]
    assert len(told) == 1
    assert "tasks.wipe" in told[0]


def test_a_policy_that_sends_notices_to_no_surface_is_refused(home: Home) -> None:
    home.policy.write_text(home.policy.read_text().replace("safe: auto", "safe: auto, notices: nowhere"))
    with pytest.raises(AssertionError, match="nowhere"):
        home.serve()


@pytest.mark.parametrize("surfaces", [0, 1])
def test_check_and_the_service_agree_on_what_confidence_allows(
    home: Home, receiver: FakeReceiver, surfaces: int
) -> None:
    """Preset graph lets a confident call run and tells of it, where there is somewhere to tell it."""
    if not surfaces:
        remove_surface("hook")
    home.policy.write_text("extends: [graph]\n")
    confident = {"tool": "send", "operations": [{"operation": "email.send"}], "confidence": 0.9}
    with home.serve() as service:
        told = ask_to_run(service, home.token("host"), confident)
    code, checked = said("check", "email", "send", "0.9", "--store", home.store, "--policy", str(home.policy))
    assert (told, code) == (("allowed", 0) if surfaces else ("pending", 3))
    assert ("VISIBLE" if surfaces else "FORCED") in checked


def ask_to_run(service: Service, token: str, call: dict[str, object]) -> object:
    with closing(http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)) as connection:
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        connection.request("POST", "/v1/sessions", json.dumps({"agent": "a"}), headers)
        session = json.loads(connection.getresponse().read())["id"]
        connection.request("POST", "/v1/calls", json.dumps({**call, "session": session}), headers)
        told = json.loads(connection.getresponse().read())
    return told.get("status", told)
