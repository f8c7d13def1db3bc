"""Web Push: encrypted for one signed-in browser; deny comes back bound to question, token and sign-in."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec

from sayso.core.errors import SaysoError
from sayso.core.model import Operation
from sayso.core.signed_messages import BadMessage
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.deliveries.answers import AnswerRefused, take_answer
from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.gate import Gate
from sayso.gate.people.browsers import BROWSER_LASTS, browser_key, make_link, sign_out, use_link
from sayso.gate.people.push import (
    MOST_BROWSERS,
    PushRefused,
    PushSubscription,
    live_subscriptions,
    subscribe,
    unsubscribe,
)
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_now
from sayso.gate.refusal_limit import RefusalLimit
from sayso.surfaces.remote.browser import BrowserSurface, browser_surfaces, find_browser_surface
from sayso.surfaces.remote.settings_file import SurfacesRefused, add_surface
from sayso.surfaces.remote.web_push import BadSubscription, check_subscription, encrypt_message
from tests.support.asking import asked, edit, push
from tests.support.chat_services import strings_in
from tests.support.gates import Clock
from tests.support.push_service import CURVE, BrowserKeys, FakePushService, decode, encode

HOSTILE = "agent\u202e\x1b[2J <b>ok</b>\nAllow once"


@pytest.fixture
def service() -> Iterator[FakePushService]:
    made = FakePushService()
    yield made
    made.stop()


class Phone:
    """A browser that is signed in and subscribed."""

    def __init__(self, gate: Gate, service: FakePushService, name: str = "ana", at: str = "1") -> None:
        self.keys = BrowserKeys()
        self.cookie = use_link(gate, make_link(gate, name))
        self.path = f"/push/{at}"
        subscribe(gate, self.cookie, service.endpoint(at), encode(self.keys.point), encode(self.keys.auth))
        self.surface = next(
            one for one in browser_surfaces(gate) if one.name.endswith(browser_key(self.cookie)[:12])
        )

    def messages(self, service: FakePushService) -> list[dict[str, str]]:
        return [json.loads(self.keys.open(body)) for path, _, body in service.messages if path == self.path]

    def deny(self, gate: Gate, told: dict[str, str], **changed: str) -> bool:
        headers = {"cookie": f"sayso_browser={changed.get('cookie', self.cookie)}"}
        body = {"question": told["question"], "token": changed.get("token", told["deny"])}
        given = self.surface.receive(headers, json.dumps(body).encode())
        return take_answer(gate, self.surface, given, RefusalLimit()).yours


def send_all(gate: Gate, *phones: Phone) -> None:
    for phone in phones:
        dispatcher = Dispatcher(gate, (), notices_to=lambda: None)
        while dispatcher.send(phone.surface):
            pass


def test_the_example_of_the_standard_comes_out_byte_for_byte() -> None:
    """RFC 8291, section 5."""
    sender = ec.derive_private_key(
        int.from_bytes(decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")), CURVE
    )
    to = PushSubscription(
        "",
        "https://push.example.net/",
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "BTBZMqHH6r4Tts7J_aSIgg",
    )
    text = b"When I grow up, I want to be a watermelon"
    sent = encrypt_message(text, to, sender=sender, salt=decode("DGv6ra1nlYgDCS1FRnbzlw"))
    assert encode(sent) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz"
        "AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
    private = int.from_bytes(decode("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
    assert BrowserKeys(private, decode(to.auth)).open(sent) == text


def test_every_message_has_a_key_and_a_salt_of_its_own() -> None:
    keys = BrowserKeys()
    to = PushSubscription("", "https://x/", encode(keys.point), encode(keys.auth))
    one, other = (encrypt_message(b"the same", to) for _ in range(2))
    assert one[:16] != other[:16]
    assert one[21:86] != other[21:86]


def test_it_says_operation_risk_and_agent_and_no_argument(
    gate: Gate, session: str, service: FakePushService
) -> None:
    phone = Phone(gate, service)
    question = asked(gate, push(session))
    send_all(gate, phone)
    (told,) = phone.messages(service)
    assert (told["kind"], told["question"], told["surface"]) == ("question", question, phone.surface.name)
    assert told["title"] == "agent: git.push (high risk)"
    assert "git push" not in str(told)
    ((_, headers, body),) = service.messages
    assert (headers["urgency"], question.encode() in body) == ("high", False)


def test_deny_works_and_closes_the_notification(gate: Gate, session: str, service: FakePushService) -> None:
    phone = Phone(gate, service)
    question = asked(gate, push(session))
    send_all(gate, phone)
    (told,) = phone.messages(service)
    assert phone.deny(gate, told)
    row = load_question_now(gate, question)
    assert (row.answer, row.by) == ("deny", f"ana on {phone.surface.name}")
    send_all(gate, phone)
    closed = phone.messages(service)[1]
    assert (closed["kind"], closed["question"]) == ("closed", question)
    assert "Denied by ana" in closed["body"]
    assert service.messages[0][1]["topic"] == service.messages[1][1]["topic"], "the newest replaces the other"


def test_nothing_but_deny_can_be_made_of_what_was_sent(
    gate: Gate, session: str, service: FakePushService
) -> None:
    phone = Phone(gate, service)
    question = asked(gate, edit(session))
    send_all(gate, phone)
    (told,) = phone.messages(service)
    body = {"question": question, "token": told["deny"], "answer": "once"}
    with pytest.raises(msgspec.ValidationError, match="answer"):
        phone.surface.receive({"cookie": f"sayso_browser={phone.cookie}"}, json.dumps(body).encode())
    assert load_question_now(gate, question).state == "open"


def test_a_second_and_a_late_denial_do_not_count(
    gate: Gate, session: str, service: FakePushService, clock: Clock
) -> None:
    phone = Phone(gate, service)
    first, second = asked(gate, edit(session, "a.py")), asked(gate, edit(session, "b.py"))
    send_all(gate, phone)
    told = {one["question"]: one for one in phone.messages(service)}
    answer_question(gate, first, "once", by="bo")
    assert not phone.deny(gate, told[first])
    clock.now += 3 * 3600
    assert not phone.deny(gate, told[second])
    assert load_question_now(gate, second).state == "expired"


def test_no_forged_and_no_foreign_denial_counts(gate: Gate, session: str, service: FakePushService) -> None:
    ana, bo = Phone(gate, service), Phone(gate, service, "bo", "2")
    question = asked(gate, edit(session))
    send_all(gate, ana, bo)
    (told,), (other,) = ana.messages(service), bo.messages(service)
    for cookie in ("", "x", bo.cookie):
        with pytest.raises(BadMessage):
            ana.deny(gate, told, cookie=cookie)
    for token in ("", "AAAA", other["deny"]):
        with pytest.raises(AnswerRefused):
            ana.deny(gate, told, token=token)
    assert load_question_now(gate, question).state == "open"
    with pytest.raises(InvalidTag):
        bo.keys.open(service.messages[0][2])


def test_a_browser_that_signs_out_is_told_nothing_more_and_cannot_answer(
    gate: Gate, session: str, service: FakePushService
) -> None:
    phone = Phone(gate, service)
    asked(gate, edit(session))
    send_all(gate, phone)
    (told,) = phone.messages(service)
    sign_out(gate, phone.cookie)
    assert live_subscriptions(gate) == []
    assert find_browser_surface(gate, phone.surface.name) is None
    assert phone.surface.approvers == frozenset()
    with pytest.raises(BadMessage):
        phone.deny(gate, told)


def test_a_sign_in_that_ended_by_itself_takes_the_subscription_with_it(
    gate: Gate, service: FakePushService, clock: Clock
) -> None:
    Phone(gate, service)
    clock.now += BROWSER_LASTS
    assert live_subscriptions(gate) == []


@pytest.mark.parametrize("status", [404, 410])
def test_a_browser_that_its_push_service_knows_no_more_is_forgotten(
    gate: Gate, session: str, service: FakePushService, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, there = Phone(gate, service), Phone(gate, service, at="2")
    usual = service.answer
    monkeypatch.setattr(
        service, "answer", lambda path, *rest: (status, {}) if path == gone.path else usual(path, *rest)
    )
    asked(gate, edit(session))
    send_all(gate, gone, there)
    assert [one.browser for one in live_subscriptions(gate)] == [browser_key(there.cookie)]
    assert len(there.messages(service)) == 1


def test_it_is_sent_once_the_push_service_is_back(
    gate: Gate, session: str, service: FakePushService, clock: Clock
) -> None:
    phone = Phone(gate, service)
    dispatcher = Dispatcher(gate, (), notices_to=lambda: None)
    service.down = True
    asked(gate, edit(session))
    while dispatcher.send(phone.surface):
        pass
    assert phone.messages(service) == []
    assert len(live_subscriptions(gate)) == 1
    service.down = False
    clock.now += 5
    while dispatcher.send(phone.surface):
        pass
    assert len(phone.messages(service)) == 1


def test_an_answer_from_elsewhere_is_told(gate: Gate, session: str, service: FakePushService) -> None:
    phone = Phone(gate, service)
    question = asked(gate, edit(session))
    send_all(gate, phone)
    answer_question(gate, question, "once", by="bo at the desk")
    send_all(gate, phone)
    assert "Answered elsewhere: allowed once by bo at the desk" in phone.messages(service)[1]["body"]


def test_text_of_an_agent_is_sent_as_data(gate: Gate, session: str, service: FakePushService) -> None:
    phone = Phone(gate, service)
    call = make_call("edit", {"path": "a.py"})
    asked(gate, make_request(call, [Operation("files.edit")], session=session, agent=HOSTILE))
    send_all(gate, phone)
    told = "".join(strings_in(phone.messages(service)))
    assert "\\x1b[2J" in told
    assert all(one.isprintable() or one == "\n" for one in told)
    assert "Allow once" not in told.splitlines()


def test_a_browser_has_one_subscription_and_there_is_an_end_to_them(
    gate: Gate, service: FakePushService
) -> None:
    phone = Phone(gate, service)
    spelled = (encode(phone.keys.point), encode(phone.keys.auth))
    subscribe(gate, phone.cookie, service.endpoint("new"), *spelled)
    assert [one.endpoint for one in live_subscriptions(gate)] == [service.endpoint("new")]
    unsubscribe(gate, browser_key(phone.cookie), service.endpoint("1"))
    assert len(live_subscriptions(gate)) == 1, "its address has changed meanwhile"
    for n in range(MOST_BROWSERS - 1):
        subscribe(gate, use_link(gate, make_link(gate, "ana")), service.endpoint(f"n{n}"), *spelled)
    with pytest.raises(PushRefused):
        subscribe(gate, use_link(gate, make_link(gate, "ana")), service.endpoint("last"), *spelled)
    with pytest.raises(PushRefused, match="signed in"):
        subscribe(gate, "nobody", service.endpoint("x"), *spelled)


KEYS = BrowserKeys(7)


@pytest.mark.parametrize(
    ("endpoint", "p256dh", "auth"),
    [
        ("http://push.example.org/1", encode(KEYS.point), encode(KEYS.auth)),
        ("file:///etc/passwd", encode(KEYS.point), encode(KEYS.auth)),
        ("https://", encode(KEYS.point), encode(KEYS.auth)),
        ("https://a:b@push.example.org/1", encode(KEYS.point), encode(KEYS.auth)),
        ("https://push.example.org/1 x", encode(KEYS.point), encode(KEYS.auth)),
        ("https://push.example.org/1", encode(b"\x04" + b"\x01" * 64), encode(KEYS.auth)),
        ("https://push.example.org/1", encode(KEYS.point[:33]), encode(KEYS.auth)),
        ("https://push.example.org/1", "not base64 !", encode(KEYS.auth)),
        ("https://push.example.org/1", encode(KEYS.point), encode(b"short")),
    ],
)
def test_what_cannot_be_a_subscription_is_refused(endpoint: str, p256dh: str, auth: str) -> None:
    with pytest.raises(BadSubscription):
        check_subscription(endpoint, p256dh, auth)
    check_subscription("https://push.example.org/1", encode(KEYS.point), encode(KEYS.auth))


def test_no_other_surface_has_the_name_of_a_browser(tmp_path: Path) -> None:
    values = {"name": "push-0123456789ab", "topic": "t"}
    with pytest.raises(SurfacesRefused):
        add_surface("ntfy", values, tmp_path / "surfaces.json")


def test_a_browser_that_joins_while_the_service_runs_is_served_until_it_leaves(
    gate: Gate, session: str, service: FakePushService
) -> None:
    dispatcher = Dispatcher(gate, (), notices_to=lambda: None, joining=lambda: browser_surfaces(gate))
    dispatcher.start()
    try:
        asked(gate, edit(session))
        phone = Phone(gate, service)
        wait_until(lambda: len(phone.messages(service)) == 1)
        sign_out(gate, phone.cookie)
        asked(gate, edit(session, "other.py"))
        again = Phone(gate, service, at="2")
        wait_until(lambda: len(again.messages(service)) == 2)
        assert len(phone.messages(service)) == 1
    finally:
        dispatcher.stop()


def test_a_browser_that_signed_out_is_told_nothing_by_a_sending_already_under_way(
    gate: Gate, session: str, service: FakePushService
) -> None:
    phone = Phone(gate, service)
    sign_out(gate, phone.cookie)
    asked(gate, edit(session))
    send_all(gate, phone)
    assert phone.messages(service) == []


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_surface_is_known_by_its_browser(gate: Gate, service: FakePushService) -> None:
    phone = Phone(gate, service)
    found = find_browser_surface(gate, phone.surface.name)
    assert isinstance(found, BrowserSurface)
    assert find_browser_surface(gate, "push-000000000000") is None
    assert find_browser_surface(gate, "phone") is None
    assert issubclass(PushRefused, SaysoError)
