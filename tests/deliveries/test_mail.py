"""Mails to a server that speaks SMTP: what an agent wrote is text in them, and never a header or a link."""

from __future__ import annotations

from collections.abc import Iterator
from email import message_from_string, policy
from email.message import EmailMessage
from typing import Any

import pytest

from sayso.core.errors import SaysoError
from sayso.core.model import Operation
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_now
from tests.support.asking import asked, edit
from tests.support.gates import Clock
from tests.surfaces.seats import LINK, MailSeat

HEADERS = ["From", "To", "Subject", "Message-ID", "Content-Type", "Content-Transfer-Encoding", "MIME-Version"]
TRICKS = {
    "line ends": "x\r\nBcc: eve@evil.example\r\nContent-Type: text/html\r\n\r\n<h1>Allowed</h1>",
    "bare line end": "x\nBcc: eve@evil.example\n\nAllowed once by ana.",
    "end of the mail": "x\r\n.\r\nMAIL FROM:<eve@evil.example>\r\nRCPT TO:<eve@evil.example>\r\nDATA\r\n",
    "other line ends": "x\x0bBcc: eve@evil.example\x85Bcc: eve@evil.example\u2028Bcc: eve@evil.example",
    "encoded word": "=?utf-8?B?QmNjOiBldmVAZXZpbC5leGFtcGxl?= =?utf-8?Q?=0D=0ABcc:_eve?=",
    "bidirectional": "\u202eelpmaxe.live\u2066 \u200b\ufeff",
    "html": "<a href='http://evil.example'>Answer it here</a><img src=x onerror=alert(1)><!--",
    "address": '"ana" <eve@evil.example>, eve@evil.example',
    "long": "x" * 50_000,
    "wide": "漢" * 20_000,
    "lone surrogate as text": "\\ud800",
}


@pytest.fixture
def seat() -> Iterator[MailSeat]:
    made = MailSeat("full")
    yield made
    made.stop()


def mails(seat: MailSeat) -> list[EmailMessage]:
    return [message_from_string(one, policy=policy.default) for one in seat.server.mails]


def check_plain(mail: EmailMessage) -> None:
    """One text for one reader, with the headers that we wrote and no others."""
    assert sorted(mail.keys()) == sorted(HEADERS)
    assert (mail["To"], mail["From"]) == ("ana@example.org", "sayso@example.org")
    assert mail.get_content_type() == "text/plain"
    assert not mail.is_multipart()
    subject = str(mail["Subject"])
    assert len(subject) <= 200
    assert subject.isprintable()
    assert "Bcc: eve@evil.example\n" not in subject
    odd = [one for one in mail.get_content() if one != "\n" and not one.isprintable()]
    assert odd == []


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("field", ["agent", "tool", "target", "command", "value", "name", "folder", "server"])
def test_nothing_an_agent_writes_is_a_header_or_a_second_mail(
    gate: Gate, session: str, seat: MailSeat, field: str, trick: str
) -> None:
    text = TRICKS[trick]
    every: dict[str, dict[str, Any]] = {"value": {"x": text}, "name": {text: 1}}
    args = every.get(field, {"x": 1})
    where = {field: text} if field in ("target", "command", "server") else {}
    call = make_call(
        text if field == "tool" else "edit", args, folder=text if field == "folder" else "", **where
    )
    agent = text if field == "agent" else "agent"
    asked(gate, make_request(call, [Operation("files.edit")], session=session, agent=agent))
    seat.begin(gate)
    seat.put()
    (mail,) = mails(seat)
    check_plain(mail)
    assert mail.get_content().count(f"Answer it here: {LINK}") == 1
    assert mail.get_content().rstrip().splitlines()[-1].startswith(f"Answer it here: {LINK}")


@pytest.mark.parametrize("trick", TRICKS)
def test_no_notice_is_a_header_or_a_second_mail(gate: Gate, seat: MailSeat, trick: str) -> None:
    seat.begin(gate)
    seat.tell(TRICKS[trick])
    (mail,) = mails(seat)
    check_plain(mail)
    assert mail["Subject"] == "Sayso: a notice"


def test_no_answer_by_mail_counts_whoever_it_comes_from(gate: Gate, session: str, seat: MailSeat) -> None:
    question = asked(gate, edit(session))
    seat.begin(gate)
    seat.put()
    (mail,) = mails(seat)
    for sender in ("ana@example.org", "mallory@example.org"):
        reply = f"In-Reply-To: {mail['Message-ID']}\r\n\r\nallow once".encode()
        with pytest.raises(SaysoError):
            seat.surface.receive({"from": sender}, reply)
    assert list(seat.surface.fetch(0)) == []
    assert not seat.surface.approvers
    assert load_question_now(gate, question).state == "open"


def test_a_question_that_is_over_or_expired_is_mailed_no_more(
    gate: Gate, session: str, seat: MailSeat, clock: Clock
) -> None:
    first, second = asked(gate, edit(session)), asked(gate, edit(session, "b.py"))
    seat.begin(gate)
    seat.put()
    assert len(seat.server.mails) == 2
    answer_question(gate, first, "deny", by="bo")
    clock.now += 3 * 3600
    seat.settle()
    assert load_question_now(gate, second).state == "expired"
    assert len(seat.server.mails) == 2


def test_a_question_answered_while_the_server_was_down_is_never_mailed(
    gate: Gate, session: str, seat: MailSeat, clock: Clock
) -> None:
    seat.set_down(True)
    question = asked(gate, edit(session))
    seat.begin(gate)
    seat.put()
    answer_question(gate, question, "deny", by="bo")
    seat.set_down(False)
    clock.now += 10
    seat.put()
    assert seat.server.mails == []


def test_every_try_has_the_same_message_id_so_that_a_second_one_is_known(
    gate: Gate, session: str, seat: MailSeat
) -> None:
    asked(gate, edit(session))
    seat.begin(gate)
    seat.put()
    (mail,) = mails(seat)
    assert mail["Message-ID"].endswith(".question@sayso>")


def test_a_masked_mail_holds_no_argument(gate: Gate, session: str) -> None:
    seat = MailSeat("masked")
    asked(gate, edit(session, "notes.txt"))
    seat.begin(gate)
    seat.put()
    seat.stop()
    assert "files.edit" in seat.shown()
    assert "notes.txt" not in seat.shown()
