"""Nobody is shown a question that somebody has rewritten, though the row be put right before they answer.

Whoever does this can write the database at any time. They change what a question says, let people read it,
and put the row right while they make up their minds.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayso import Inbox, Sayso
from sayso.cli.short_ids import CHANGED, call_ids, grant_ids, question_ids, session_ids
from sayso.cli.views.grants import load_pinned_arguments
from sayso.cli.views.operator import load_open_questions
from sayso.cli.views.question_card import confirm_at_terminal, load_open_question
from sayso.core.model import Operation, Request
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.figures.recorded_decision import load_past_decision
from sayso.gate.figures.stories import StoryFilter, find_stories
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.questions.coverage import measure_coverage
from sayso.gate.questions.expiry import expire_questions
from sayso.gate.questions.read import TamperedQuestion, find_question
from sayso.gate.questions.wait import load_question_row, wait_for_answer
from sayso.gate.sessions.operator_grants import list_grants
from sayso.gate.sessions.sessions import open_session
from sayso.store.contract import QuestionRow
from tests.support.answers import answer_question
from tests.support.asking import asked
from tests.support.by_hand import Place, memory_place, postgres_place, sqlite_place
from tests.support.gates import Clock
from tests.support.postgres_place import new_schema
from tests.support.service import Service

EVIL, NICE = "rm -rf everything", "water the flowers"
HOUR = 3_600.0


@pytest.fixture(params=["sqlite", "memory", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        made = sqlite_place(tmp_path, Clock())
    elif request.param == "memory":
        made = memory_place(tmp_path, Clock())
    else:
        made = postgres_place(new_schema(request.getfixturevalue("postgres_server")), tmp_path)
    with closing(made):
        yield made


@pytest.fixture
def session(place: Place) -> str:
    return open_session(place.gate, agent="tester", owner="host", user="ana")


def evil(session: str, operation: str = "git.push") -> Request:
    call = make_call("save", {"text": EVIL}, target="a")
    return make_request(call, [Operation(operation)], session=session)


def rewritten(value: Any) -> Any:
    """The same with every mention of the evil made nice, in the bytes as well."""
    if isinstance(value, dict):
        return {name: rewritten(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rewritten(one) for one in value]
    if not isinstance(value, str):
        return value
    try:
        inner = base64.b64decode(value, validate=True)
    except ValueError:
        inner = b""
    if EVIL.encode() in inner:
        return base64.b64encode(inner.replace(EVIL.encode(), NICE.encode())).decode()
    return value.replace(EVIL, NICE)


def forged(row: Any) -> Any:
    """The row of a question with another text under the same digest and seal."""
    body = bytes(row.body if isinstance(row, QuestionRow) else row["body"])
    body = body[:32] + json.dumps(rewritten(json.loads(body[32:]))).encode()
    assert NICE in json.loads(body[32:])["text"]
    return msgspec.structs.replace(row, body=body) if isinstance(row, QuestionRow) else {**row, "body": body}


def with_words(row: Any, words: dict[str, Any]) -> Any:
    return {**row, **words} if isinstance(row, dict) else msgspec.structs.replace(row, **words)


def rewrite(place: Place, question: str) -> None:
    """Let the question say something nice."""
    copy = place.hand.copy("questions")
    copy["questions"][question,] = forged(copy["questions"][question,])
    place.hand.put_back(copy)


def test_a_rewritten_question_is_read_by_nobody_and_reported_once(place: Place, session: str) -> None:
    question = asked(place.gate, evil(session))
    rewrite(place, question)
    for _ in range(3):
        with pytest.raises(TamperedQuestion):
            find_question(place.gate, question)
        with pytest.raises(TamperedQuestion):
            load_question_row(place.gate, question)
        assert load_open_questions(place.gate, None) == ([], [question])
    assert place.reported() == 1


@pytest.mark.parametrize("operation", ["git.push", "files.edit"])
def test_a_rewritten_question_is_not_confirmed_at_a_terminal(
    place: Place, session: str, operation: str
) -> None:
    question = asked(place.gate, evil(session, operation))
    rewrite(place, question)
    with pytest.raises(TamperedQuestion):
        confirm_at_terminal(place.gate, question, "once")
    with pytest.raises(TamperedQuestion):
        load_open_question(place.gate, question)
    assert place.reported() == 1


def test_a_rewritten_question_is_on_no_surface_of_the_program_that_asks(place: Place, session: str) -> None:
    call = start_call(place.gate, evil(session), holder="one")
    assert call.question is not None
    with Sayso(place.gate, [Inbox()]) as door:
        rewrite(place, call.question)
        with pytest.raises(TamperedQuestion):
            door.door.question(call.question)
        with pytest.raises(TamperedQuestion):
            door.door.asker.wait(call.question, 0)
        with pytest.raises(TamperedQuestion):
            wait_for_answer(place.gate, call.question, 0)


def test_a_rewritten_question_is_not_told_over_http_and_the_true_one_is(place: Place, session: str) -> None:
    with asyncio.Runner() as runner:
        service = Service(place.gate, runner)
        question = asked(place.gate, evil(session))
        truth = place.hand.copy("questions")
        rewrite(place, question)
        before = place.reported()
        for state in ("open", "any"):
            assert service.told("operator", "GET", f"/v1/questions?state={state}") == []
        answer = {"answer": "once"}
        for method, path, body in (
            ("GET", "", None),
            ("GET", "/why", None),
            ("POST", "/show", None),
            ("POST", "/answer", answer),
            ("POST", "/edited", {"edited": {"text": "x"}}),
            ("POST", "/sign", answer),
        ):
            response = service.request("operator", method, f"/v1/questions/{question}{path}", body)
            assert response.status_code in (403, 404, 409), (path, response.text)
            assert NICE not in response.text
        assert service.get("operator", f"/v1/questions/{question}").json()["code"] == "tampered_question"
        assert place.reported() == before + 1
        place.hand.put_back(truth)
        told = service.told("operator", "GET", f"/v1/questions/{question}")
        assert EVIL in told["text"]
        assert told["arguments"] == {"text": EVIL}
        assert told["digest"] == evil(session).digest


def test_a_rewritten_question_that_expires_gets_no_seal_for_its_new_words(place: Place, session: str) -> None:
    question = asked(place.gate, evil(session))
    rewrite(place, question)
    if not place.pass_time(3 * HOUR):
        place.hand.run("UPDATE questions SET expires_at = 1, opened_at = 0")
    expire_questions(place.gate)
    with pytest.raises(TamperedQuestion):
        find_question(place.gate, question)
    assert place.reported() == 1


def test_a_question_rewritten_with_another_end_is_not_hidden_in_silence(place: Place, session: str) -> None:
    question = asked(place.gate, evil(session))
    copy = place.hand.copy("questions")
    row = copy["questions"][question,]
    copy["questions"][question,] = with_words(row, {"opened_at": 0.0, "expires_at": 1.0})
    place.hand.put_back(copy)
    assert load_open_questions(place.gate, None) == ([], [question])
    assert place.reported() == 1


def test_a_closed_question_put_back_as_open_is_not_shown_as_one_that_waits(
    place: Place, session: str
) -> None:
    question = asked(place.gate, evil(session))
    truth = place.hand.copy("questions")
    answer_question(place.gate, question, "deny", by="ana")
    place.hand.put_back(truth)
    assert load_open_questions(place.gate, None) == ([], [question])
    with pytest.raises(TamperedQuestion):
        load_open_question(place.gate, question)
    assert place.reported() == 1


def test_history_and_lists_never_tell_rewritten_words(place: Place, session: str) -> None:
    gate = place.gate
    call = start_call(gate, evil(session, "files.edit"), holder="one")
    assert call.question is not None
    answer_question(gate, call.question, "always", by="ana")
    retry_call(gate, call.call, holder="one")
    rewrite(place, call.question)
    with gate.store.read() as tx:
        (asking,) = (row.seq for row in tx.entries("main", limit=100) if row.event == "ASKED")
    later = find_question(gate, asked(gate, evil(session))).question
    shown = (
        find_stories(gate, StoryFilter()),
        load_past_decision(gate, asking),
        load_pinned_arguments(gate, list_grants(gate, session)),
        measure_coverage(gate, later),
    )
    assert NICE not in repr(shown)
    assert place.reported() == 1


def test_a_kept_value_that_was_exchanged_is_not_told_in_the_history(tmp_path: Path) -> None:
    with closing(sqlite_place(tmp_path)) as place:
        asked(place.gate, evil(open_session(place.gate, agent="tester", owner="host", user="ana")))
        copy = place.hand.copy("secrets")
        for row in copy["secrets"].values():
            row["value"] = bytes(row["value"]).replace(EVIL.encode(), NICE.encode())
        place.hand.put_back(copy)
        assert NICE not in repr(find_stories(place.gate, StoryFilter()))


def test_completion_says_of_what_was_changed_only_that_it_was(place: Place, session: str) -> None:
    gate = place.gate
    call = start_call(gate, evil(session, "files.edit"), holder="one")
    answer_question(gate, call.question or "", "always", by="ana")
    copy = place.hand.copy("questions", "calls", "grants", "sessions")
    for table, words in (
        ("questions", {"reason": NICE}),
        ("calls", {"tool": NICE}),
        ("grants", {"value": NICE}),
        ("sessions", {"agent": NICE}),
    ):
        for key, row in copy[table].items():
            copy[table][key] = with_words(row, words)
    place.hand.put_back(copy)
    for offered in (question_ids, call_ids, grant_ids, session_ids):
        assert {about for _, about in offered(gate)} == {CHANGED}, offered.__name__


def test_questions_of_an_earlier_epoch_are_told_and_not_called_changed(place: Place, session: str) -> None:
    question = asked(place.gate, evil(session))
    answer_question(place.gate, question, "deny", by="ana")
    still = asked(place.gate, evil(session, "files.edit"))
    for mark in place.marks.glob("*.mark"):
        mark.unlink()
    gate = place.restart()
    assert gate.sealer.epoch > 0
    before = place.reported()
    assert find_question(gate, question).row.answer == "deny"
    find_question(gate, still)
    if place.pass_time(3 * HOUR):
        expire_questions(gate)
        assert find_question(gate, still).row.state == "expired"
    assert place.reported() == before
