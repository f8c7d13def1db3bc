"""What services of others do to us, and what agents try through us: nothing hangs, nothing acts, all fits."""

from __future__ import annotations

import json
import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

from sayso.core.audit import events
from sayso.core.audit.notices import Notice
from sayso.core.model import Operation
from sayso.doors.sayso import Sayso
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.deliveries.answers import take_answer
from sayso.gate.deliveries.cards import fit_text
from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.deliveries.remote_surface import GivenAnswer
from sayso.gate.deliveries.rests import LONGEST_PAUSE
from sayso.gate.gate import Gate, current_gate
from sayso.gate.open import open_gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.read import UnknownQuestion
from sayso.gate.questions.wait import load_question_now
from sayso.gate.refusal_limit import RefusalLimit
from sayso.gate.rows.journal import record
from sayso.policy import load_text
from sayso.store.contract import FateUnknown, StoreBusy
from sayso.store.postgres.store import PostgresStore
from sayso.surfaces.remote.exchange import SendingFailed, post
from sayso.surfaces.remote.mail import MailSettings, make_client
from tests.support.asking import asked, edit
from tests.support.boards import Board, Down
from tests.support.gates import KEY, Clock
from tests.support.postgres_place import new_schema
from tests.surfaces.seats import ANSWERING, RemoteSeat, SlackSeat, TelegramSeat

CALLS_ALL = "<!channel> <@U1> <https://evil.example|ok> @everyone /start https://evil.example"


@pytest.fixture(params=[(kind, detail) for kind in ANSWERING for detail in ("full", "masked")], ids="-".join)
def seat(request: pytest.FixtureRequest) -> Iterator[RemoteSeat]:
    kind, detail = request.param
    made = ANSWERING[kind](detail)
    yield made
    made.stop()


def sent(gate: Gate, seat: RemoteSeat) -> Dispatcher:
    seat.begin(gate)
    seat.put()
    return seat.dispatcher


def delivered(gate: Gate, seat: RemoteSeat, question: str) -> tuple[str, str | None]:
    with gate.store.read() as tx:
        row = tx.delivery(seat.surface.name, question)
    assert row is not None
    return row.state, row.error


@pytest.mark.parametrize("target", ["漢" * 1_300, "x" * 9_000], ids=["wide", "long"])
def test_a_question_of_any_length_is_shown(gate: Gate, session: str, seat: RemoteSeat, target: str) -> None:
    question = asked(gate, edit(session, target))
    sent(gate, seat)
    assert delivered(gate, seat, question) == ("shown", None)


def test_a_question_about_very_many_operations_is_shown(gate: Gate, session: str, seat: RemoteSeat) -> None:
    operations = [Operation(f"files.edit_{number:03}_{'x' * 40}") for number in range(120)]
    question = asked(gate, make_request(make_call("edit", {}), operations, session=session))
    sent(gate, seat)
    assert delivered(gate, seat, question) == ("shown", None)


def test_a_long_ending_and_a_long_notice_are_shown(gate: Gate, session: str, seat: RemoteSeat) -> None:
    question = asked(gate, edit(session))
    dispatcher = sent(gate, seat)
    dispatcher.send_notices()
    answer_question(gate, question, "deny", by="bo", reason="🙂" * 1_900)
    with gate.store.write() as tx:
        record(tx, events.PolicyAlerted("d", "漢" * 3_000), stream=gate.stream)
    while dispatcher.send(seat.surface) or dispatcher.send_notices():
        pass
    assert delivered(gate, seat, question) == ("over", None)
    assert "bo" in seat.ends()
    with gate.store.read() as tx:
        assert not list(tx.deliveries_due("notices", by=tx.now + 1_000, limit=1))


def test_what_does_not_fit_is_cut_between_characters_and_says_so() -> None:
    assert fit_text("漢" * 10, 30) == "漢" * 10
    cut = fit_text("漢" * 200, 100)
    assert cut.startswith("漢漢")
    assert cut.endswith("(200 characters in all)")
    assert len(cut.encode()) <= 100


def test_slack_is_given_no_text_that_calls_or_links(gate: Gate, session: str) -> None:
    seat = SlackSeat("full")
    question = asked(gate, make_request(make_call("edit", {"x": CALLS_ALL}), [Operation("files.edit")],
                                        session=session, agent=CALLS_ALL))  # fmt: skip
    dispatcher = sent(gate, seat)
    answer_question(gate, question, "deny", by=CALLS_ALL, reason=CALLS_ALL)
    while dispatcher.send(seat.surface):
        pass
    seat.surface.tell(Notice("n", 0.0, "BLOCKED", CALLS_ALL), "n")
    seat.server.stop()
    bodies = [json.loads(body) for _, _, body in seat.server.posts]
    assert len(bodies) == 3
    assert [one["text"] for one in bodies if "<" in one["text"]] == []
    assert {block["text"]["type"] for one in bodies for block in one["blocks"] if "text" in block} == {
        "plain_text"
    }


def test_telegram_is_given_text_in_which_nothing_acts(gate: Gate, session: str) -> None:
    seat = TelegramSeat("full")
    asked(gate, edit(session, CALLS_ALL + "🙂"))
    sent(gate, seat)
    seat.surface.tell(Notice("n", 0.0, "BLOCKED", CALLS_ALL), "n")
    seat.server.stop()
    for _, _, body in seat.server.posts:
        what = json.loads(body)
        (entity,) = what["entities"]
        covered = what["text"].encode("utf-16-le")[: 2 * entity["length"]].decode("utf-16-le")
        assert (entity["type"], entity["offset"]) == ("pre", 0)
        assert CALLS_ALL in covered
        assert what["link_preview_options"] == {"is_disabled": True}


def test_a_pressed_button_on_telegram_stops_spinning(gate: Gate, session: str) -> None:
    seat = TelegramSeat("full")
    asked(gate, edit(session))
    sent(gate, seat)
    seat.answer("once")
    seat.server.stop()
    assert seat.server.received == ["1"]


class Drip:
    """Takes a request and answers a byte at a time, for as long as it is listened to."""

    bytes_in_all = 200

    def __init__(self, head: bytes) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.finished = False
        self._thread = threading.Thread(target=self._drip, args=(head,), daemon=True)
        self._thread.start()

    def _drip(self, head: bytes) -> None:
        taken, _ = self._socket.accept()
        with taken, suppress(OSError):
            taken.recv(65_536)
            taken.sendall(head)
            for _ in range(self.bytes_in_all):
                taken.sendall(b" ")
                threading.Event().wait(0.02)
            self.finished = True

    def stop(self) -> None:
        self._thread.join()
        self._socket.close()


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n", b"HTTP/1.1 200 OK\r\nx: "]
)
def test_a_service_that_answers_a_byte_at_a_time_is_cut_off(head: bytes) -> None:
    drip = Drip(head)
    with suppress(SendingFailed):
        post(f"http://127.0.0.1:{drip.port}/", b"{}", {}, timeout=0.2)
    drip.stop()
    assert not drip.finished


def test_a_mail_server_has_to_prove_who_it_is_before_it_gets_the_password() -> None:
    settings = MailSettings("post", "mail.example.org", "a@b.c", "d@e.f", 465, "tls", "me", "hush")
    client = make_client(settings)
    assert isinstance(client, smtplib.SMTP_SSL)
    assert client.context.verify_mode is ssl.CERT_REQUIRED
    assert client.context.check_hostname


def test_a_place_that_does_not_let_us_wait_is_not_asked_without_a_pause(gate: Gate) -> None:
    class Impatient(Board):
        fetched = 0

        def fetch(self, seconds: float) -> list[GivenAnswer]:
            self.fetched += 1
            if self.fetched > 1_000:
                over.set()
            return []

    class OverAfterOnePause(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            self.set()
            return True

    board, over = Impatient(), OverAfterOnePause()
    dispatcher = Dispatcher(gate, (board,), notices_to=lambda: None)
    dispatcher._over = over  # noqa: SLF001
    dispatcher._listen(board)  # noqa: SLF001
    assert board.fetched == 1


@pytest.mark.parametrize(
    "event",
    [
        events.DecayNear("mail", 1.0, "p", "mail decays soon"),
        events.Claimed("plan", "", "too many questions"),
        events.PolicyAlerted("d", "the file is broken"),
    ],
)
def test_what_an_entry_says_is_to_be_told_is_told(gate: Gate, event: events.AuditEvent) -> None:
    board = Board()
    dispatcher = Dispatcher(gate, (board,), notices_to=lambda: "board")
    dispatcher.send_notices()
    with gate.store.write() as tx:
        record(tx, event, stream=gate.stream, agent="a\u202eb")
    while dispatcher.send_notices():
        pass
    (notice,) = board.told.values()
    assert notice.text == event.notice  # type: ignore[attr-defined]
    assert "\u202e" not in notice.agent


POLICY = "domains:\n  mail: {autonomous: [], requires_approval: [read, send], blocked: [%s]}\n"


def test_an_answer_counts_under_the_policy_of_now(tmp_path: Path) -> None:
    file, board = tmp_path / "policy.yaml", Board()
    file.write_text(POLICY % "wipe")
    with Sayso.open(file, tmp_path / "s.db", surfaces=(), key=KEY, marks=tmp_path) as opened:
        gate, session = opened.gate, opened.session(agent="tester").id
        question = asked(gate, make_request(make_call("send", {}), [Operation("mail.send")], session=session))
        dispatcher = Dispatcher(gate, (board,), notices_to=lambda: None)
        dispatcher.send(board)
        fresh = tmp_path / "fresh.yaml"
        fresh.write_text(POLICY % "wipe, burn")
        fresh.replace(file)
        board.press(question, "once")
        assert dispatcher.fetch_answers(board, 0) == 1
        now = current_gate(gate).policy.digest
        assert now != gate.policy.digest
        with gate.store.read() as tx:
            (answered,) = [one.body for one in tx.entries("main", limit=100) if one.event == "ANSWERED"]
    assert answered is not None
    assert json.loads(answered)["details"]["policy"] == now


TEAM = """
people: {{ana: {{ids: [surface:board/ana]}}, bo: {{ids: [page:bo]}}}}
approvals: [{{domain: mail, from: [ana, bo], needed: {needed}}}]
"""


def test_an_approval_is_counted_again_if_the_policy_moves_meanwhile(tmp_path: Path) -> None:
    """Another program puts a stricter policy in force at the moment in which somebody's answer is taken."""
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY % "wipe" + TEAM.format(needed=1))

    class Moving(Board):
        moved = True

        def __getattribute__(self, name: str) -> Any:
            if name == "approvers" and not self.moved:
                self.moved = True
                fresh = tmp_path / "fresh.yaml"
                fresh.write_text(POLICY % "wipe" + TEAM.format(needed=2))
                fresh.replace(file)
                Sayso.open(file, tmp_path / "s.db", surfaces=(), key=KEY, marks=tmp_path).close()
            return super().__getattribute__(name)

    board = Moving()
    with Sayso.open(file, tmp_path / "s.db", surfaces=(), key=KEY, marks=tmp_path) as opened:
        gate, session = opened.gate, opened.session(agent="tester").id
        question = asked(gate, make_request(make_call("send", {}), [Operation("mail.send")], session=session))
        dispatcher = Dispatcher(gate, (board,), notices_to=lambda: None)
        dispatcher.send(board)
        board.press(question, "once")
        board.moved = False
        assert dispatcher.fetch_answers(board, 0) == 1
        with gate.store.read() as tx:
            assert [one.event for one in tx.entries("main", limit=100)].count("APPROVED") == 1
        assert load_question_now(gate, question).state == "open"


@pytest.mark.parametrize("error", [Down("the store is gone"), StoreBusy("busy"), FateUnknown("gone")])
def test_an_answer_is_fetched_again_if_it_could_not_be_taken(
    gate: Gate, session: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The store fails at the moment in which somebody's answer arrives from Telegram."""
    seat = TelegramSeat("full")
    question = asked(gate, edit(session))
    seat.begin(gate)
    seat.put()
    seat.server.press("Deny", 41)

    def fail(*args: object, **how: object) -> NoReturn:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(type(gate.store), "write", fail)
        with pytest.raises(type(error)):
            seat.dispatcher.fetch_answers(seat.surface, 0)
    assert load_question_now(gate, question).state == "open"
    assert seat.dispatcher.fetch_answers(seat.surface, 0) == 1
    assert load_question_now(gate, question).answer == "deny"
    assert seat.dispatcher.fetch_answers(seat.surface, 0) == 0
    seat.stop()


@pytest.mark.parametrize("kind", [TelegramSeat, SlackSeat])
def test_a_message_that_somebody_deleted_is_not_closed_again_and_again(
    gate: Gate, session: str, kind: type[TelegramSeat | SlackSeat], clock: Clock
) -> None:
    seat = kind("full")
    question = asked(gate, edit(session))
    seat.begin(gate)
    seat.put()
    seat.server.messages.clear()
    answer_question(gate, question, "deny", by="bo")
    seat.put()
    before = len(seat.server.posts)
    for _ in range(3):
        clock.now += LONGEST_PAUSE
        seat.put()
    assert len(seat.server.posts) == before
    with gate.store.read() as tx:
        row = tx.delivery(seat.surface.name, question)
    assert row is not None
    assert row.state == "over"
    seat.stop()


def test_an_id_that_no_database_can_hold_is_that_of_no_question(postgres_server: str) -> None:
    """Whoever sends it is not told which database there is."""
    with closing(PostgresStore(new_schema(postgres_server))) as store:
        gate = open_gate(load_text("extends: [balanced]"), store, key=KEY)
        for name in ("\x00", "s_1.q1\x00"):
            with pytest.raises(UnknownQuestion):
                take_answer(gate, Board(), GivenAnswer(name, "once", "", "ana"), RefusalLimit())
