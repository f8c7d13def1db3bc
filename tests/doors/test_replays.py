"""A queued operation run later: which consent of which session it may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso import Sayso
from sayso.doors.python.session import Session
from sayso.doors.python.workflow import Step
from sayso.gate.ledger.retry import load_request_to_retry
from sayso.gate.rows.keys import make_key
from sayso.surfaces.inbox import Inbox

pytestmark = pytest.mark.each_store


class Desk:
    """A gate with one gated function, the session that made a call, and a later one."""

    def __init__(self, folder: Path) -> None:
        self.sent: list[str] = []
        self.gate = Sayso.open(
            "gateway", folder / "s.db", surfaces=[Inbox()], key=make_key("test"), marks=folder
        )

        @self.gate.requires_consent("mail.send", risk="moderate")
        def send(text: str) -> str:
            self.sent.append(text)
            if len(self.sent) == 1:
                raise RuntimeError("the bridge is down")
            return text

        self.send = send
        self.made_in = self.gate.session(agent="first")
        self.later = self.gate.session(agent="sweeper")

    def approve(self, session: Session, answer: str) -> str:
        """The first attempt: asked, approved, and failed."""
        waiting = session.run("send", {"text": "hello"}, wait=0)
        with self.gate.gate.store.read() as tx:
            (question,) = tx.questions(session.id)
        self.gate.answer(question.id, answer, by="ana", seen=question.digest)
        failed = session.retry(waiting.operation_id or "")
        assert (failed.status, self.sent) == ("error", ["hello"])
        return failed.operation_id or ""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.gate.close()


def test_a_replay_uses_the_grant_for_its_operation_of_the_session_that_made_it(desk: Desk) -> None:
    queued = desk.approve(desk.made_in, "always")
    assert desk.later.replay(queued, wait=0).status == "ok"
    assert desk.sent == ["hello", "hello"]


def test_revoked_where_it_was_made_it_is_gone_at_once(desk: Desk) -> None:
    queued = desk.approve(desk.made_in, "always")
    for consent in desk.made_in.consents():
        desk.gate.revoke(consent.id, by="ana")
    assert desk.later.replay(queued, wait=0).status == "timeout"
    assert desk.sent == ["hello"]


def test_an_approval_for_once_serves_no_replay(desk: Desk) -> None:
    queued = desk.approve(desk.made_in, "once")
    assert desk.later.replay(queued, wait=0).status == "timeout"


def test_once_its_session_has_ended_it_does_not_run_and_nobody_is_asked(desk: Desk) -> None:
    queued = desk.approve(desk.made_in, "always")
    desk.made_in.end()
    assert desk.later.replay(queued, wait=0).status == "denied"
    with desk.gate.gate.store.read() as tx:
        assert tx.questions(desk.later.id) == []
    assert desk.sent == ["hello"]


def approved(gate: Sayso, session: Session, name: str) -> str:
    """A call of this function that a person approved, and that has not run."""
    waiting = session.run(name, {"text": name}, wait=0)
    with gate.gate.store.read() as tx:
        (question,) = tx.questions(session.id)
    gate.answer(question.id, "always", by="ana", seen=question.digest)
    return waiting.operation_id or ""


def test_a_replay_has_no_effect_a_second_time_and_meets_the_world_of_now(desk: Desk) -> None:
    ran: list[str] = []
    rows = ["1"]

    def record(text: str) -> None:
        ran.append(text)

    def post(text: str) -> None:
        ran.append(text)

    gate, session = desk.gate, desk.made_in
    for function, said in ((record, {"effect_key": str}), (post, {"state": lambda text: rows[0]})):
        gate.capability(**said)(gate.requires_consent(f"mail.{function.__name__}", risk="moderate")(function))
    recorded = approved(gate, session, "record")
    assert session.retry(recorded).status == "ok"
    assert session.replay(recorded, wait=0).status == "error"
    assert ran == ["record"]
    posted = approved(gate, session, "post")
    assert session.retry(posted).status == "ok"
    rows[0] = "2"
    session.replay(posted, wait=0)
    with gate.gate.store.read() as tx:
        last = tx.calls(states=("succeeded", "pending"))[-1]
    assert load_request_to_retry(gate.gate, last.id).call.state == "2"


def test_a_name_that_stands_for_another_function_now_is_not_replayed(desk: Desk, tmp_path: Path) -> None:
    queued = desk.approve(desk.made_in, "always")
    ran: list[str] = []
    with Sayso.open(
        "gateway", tmp_path / "s.db", surfaces=[Inbox()], key=make_key("test"), marks=tmp_path
    ) as gate:

        @gate.requires_consent("mail.send", risk="moderate")
        def send(text: str, everywhere: bool = True) -> None:
            ran.append(text)

        assert gate.session_by_id(desk.made_in.id).replay(queued, wait=0).status == "error"
    assert ran == []


def test_trust_in_a_workflow_does_not_travel_to_a_replay(desk: Desk) -> None:
    def step() -> None:
        desk.send("hello")

    workflow = desk.gate.workflow("digest", [Step("send", step, operations=("mail.send",))])
    asked = workflow.run(session=desk.made_in.id, wait=0)
    with desk.gate.gate.store.read() as tx:
        (question,) = tx.questions(desk.made_in.id)
    desk.gate.answer(question.id, "always", by="ana", seen=question.digest)
    assert desk.made_in.retry(asked.operation_id or "").status == "error"  # the bridge
    with desk.gate.gate.store.read() as tx:
        (failed,) = [row for row in tx.calls(states=("failed",)) if row.tool == "send"]
    assert any(consent.kind == "workflow" for consent in desk.made_in.consents())
    assert desk.made_in.replay(failed.id, wait=0).status == "timeout"
    assert desk.later.replay(failed.id, wait=0).status == "timeout"
    assert desk.sent == ["hello"]
