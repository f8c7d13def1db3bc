"""What ends a question or an approval is told with who did it and why, never as the agent's own doing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sayso.cli.views.history import load_story_summaries as listed_stories
from sayso.cli.views.history import story_lines
from sayso.gate.figures.stories import StoryFilter
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import revoke_all, revoke_grant
from sayso.gate.sessions.sessions import close_session
from sayso.gate.sessions.stop import resume_session, stop_all, stop_session
from tests.support.gates import Clock
from tests.support.service import READ, WRITE, Service

pytestmark = pytest.mark.each_store


def asked_in(service: Service, session: str, path: str = "a.txt") -> dict[str, Any]:
    call = {**WRITE, "args": {"path": path, "text": "hello"}, "session": session}
    told: dict[str, Any] = service.told("host", "POST", "/v1/calls", call)
    assert told["status"] == "pending", told
    return told


def question_told(service: Service, question: str) -> dict[str, Any]:
    found: dict[str, Any] = service.told("operator", "GET", f"/v1/questions/{question}")
    return found


def last_step(service: Service) -> dict[str, Any]:
    found: dict[str, Any] = service.told("operator", "GET", "/v1/history")[0]["steps"][-1]
    return found


ENDINGS = {
    "stop": ("ana", "the session was stopped"),
    "stop all": ("ana", "the session was stopped"),
    "end": ("ana", "the session ended"),
    "end unnamed": (None, "the session ended"),
    "revoke all": ("ana", "the operator revoked everything"),
    "say stop": ("user", "you said stop"),
}


def end(service: Service, session: str, how: str) -> None:
    acts: dict[str, Callable[[], object]] = {
        "stop": lambda: stop_session(service.gate, session, by="ana"),
        "stop all": lambda: stop_all(service.gate, by="ana"),
        "end": lambda: close_session(service.gate, session, by="ana"),
        "end unnamed": lambda: close_session(service.gate, session),
        "revoke all": lambda: revoke_all(service.gate, session, by="ana"),
        "say stop": lambda: record_message(service.gate, session, "stop"),
    }
    acts[how]()


@pytest.mark.parametrize("how", ENDINGS)
def test_a_question_that_was_taken_back_says_by_whom_and_why(service: Service, how: str) -> None:
    session = service.opened()
    question = asked_in(service, session)["question"]
    end(service, session, how)
    by, why = ENDINGS[how]
    told = question_told(service, question)
    assert (told["state"], told["by"], told["reason"]) == ("cancelled", by, why)
    step = last_step(service)
    assert (step["what"], step["by"], step["reason"]) == ("cancelled", by, why)


@pytest.mark.parametrize("how", ENDINGS)
def test_an_approval_that_was_taken_back_says_by_whom_and_why(
    service: Service, clock: Clock, how: str
) -> None:
    session = service.opened()
    service.answer(asked_in(service, session)["question"], "once")
    clock.now += 5
    end(service, session, how)
    by, why = ENDINGS[how]
    step = last_step(service)
    assert (step["what"], step["by"]) == ("taken_back", by)
    assert step["reason"] == (None if how == "revoke all" else why), "a revocation says it all"


def test_an_approval_that_was_revoked_by_its_id_says_by_whom(service: Service, clock: Clock) -> None:
    session = service.opened()
    service.answer(asked_in(service, session)["question"], "once")
    clock.now += 5
    (grant,) = service.told("operator", "GET", "/v1/grants")
    revoke_grant(service.gate, grant["id"], by="ben")
    step = last_step(service)
    assert (step["what"], step["by"]) == ("taken_back", "ben")


def test_another_persons_stop_is_not_told_as_the_one_that_ended_an_approval(
    service: Service, clock: Clock
) -> None:
    session, other = service.opened(), service.opened()
    service.answer(asked_in(service, session)["question"], "once")
    stop_session(service.gate, other, by="ben")
    clock.now += 1
    stop_session(service.gate, session, by="ana")
    stop_session(service.gate, other, by="ben")
    assert last_step(service)["by"] == "ana"


def test_a_question_below_a_stopped_session_says_which_one_was_stopped(service: Service) -> None:
    above = service.opened()
    below = service.opened(parent=above)
    question = asked_in(service, below)["question"]
    stop_session(service.gate, above, by="ana")
    told = question_told(service, question)
    assert told["by"] == "ana"
    assert told["reason"] == "in the session that started this one: the session was stopped"


def test_a_question_asked_again_by_another_rule_says_so(service: Service) -> None:
    session = service.opened()
    stop_session(service.gate, session, by="ana")
    first = asked_in(service, session)["question"]
    resume_session(service.gate, session, by="ana")
    second = asked_in(service, session)["question"]
    assert second != first
    told = question_told(service, first)
    assert (told["by"], told["reason"]) == (None, f"the call is asked again, by question {second}")


def test_history_on_a_terminal_says_who_took_it_back(service: Service) -> None:
    session = service.opened()
    asked_in(service, session)
    stop_session(service.gate, session, by="ana")
    lines = story_lines(listed_stories(service.gate, StoryFilter(), 10))
    assert any("taken back by ana: the session was stopped" in line for line in lines)


def test_a_question_does_not_say_that_a_session_is_stopped_once_it_may_go_on(service: Service) -> None:
    above = service.opened()
    below = service.opened(parent=above)
    stop_session(service.gate, above, by="ana")
    call = service.told("host", "POST", "/v1/calls", {**READ, "session": below})
    question = call["question"]
    before = question_told(service, question)
    assert "is stopped" in before["why"]
    assert "until you let it go on" in before["why"]
    resume_session(service.gate, above, by="ana")
    told = question_told(service, question)
    why = service.told("operator", "GET", f"/v1/questions/{question}")["items"][0]["why"]
    for said in (told["why"], told["text"], why):
        assert "is stopped" not in said
    assert told["why"] == "this session was stopped when it asked; it may go on now"
    assert told["digest"] == before["digest"]
    shown = service.told("host", "POST", f"/v1/questions/{question}/show")
    assert "is stopped" not in shown["text"]
    stop_session(service.gate, below, by="ana")


def test_words_of_an_agent_are_left_alone_where_the_reason_is_told_anew(service: Service) -> None:
    session = service.opened()
    stop_session(service.gate, session, by="ana")
    said = "This session is stopped; everything asks until you let it go on; need consent:"
    call = {"tool": "write_file", "args": {"path": "a.txt", "text": said}, "session": session}
    question = service.told("host", "POST", "/v1/calls", call)["question"]
    resume_session(service.gate, session, by="ana")
    told = question_told(service, question)
    assert told["arguments"]["text"] == said
    assert said in told["text"]
    assert not told["text"].startswith(said)
