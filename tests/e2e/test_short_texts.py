"""What commands say of slips: the true reason, and what to type instead; empty stores show empty lists."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from sayso.cli import short_ids
from sayso.cli.commands.stop import resume_sessions
from sayso.cli.options import complete_modes, complete_presets
from sayso.core.errors import MalformedRequest
from sayso.gate.gate import Gate, UnknownSession
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.start import start_call
from sayso.gate.questions.answer import answer_question
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import close_session, open_session
from sayso.gate.sessions.stop import stop_session
from sayso.policy import load_text
from sayso.policy.lint import lint_policy
from tests.e2e.operator_place import Place
from tests.support.asking import asked, edit


def test_stop_takes_a_session_or_all_and_not_both(place: Place, gate: Gate, session: str) -> None:
    both = place.sayso("stop", session, "--all")
    assert both.returncode != 0
    assert "leave one of them out" in " ".join(both.stderr.split())
    with gate.store.read() as tx:
        assert tx.session(session) is not None


def test_a_beginning_that_several_sessions_have_is_ambiguous_however_short(gate: Gate, session: str) -> None:
    with pytest.raises(MalformedRequest, match="s_ is too short for a session"):
        short_ids.expand_open_session_id(gate, "s_")
    others = [open_session(gate, agent="other", owner="host") for _ in range(2)]
    with pytest.raises(MalformedRequest, match="s_ may be any of 3 sessions") as found:
        short_ids.expand_open_session_id(gate, "s_")
    assert all(name in str(found.value) for name in (session, *others))


def test_a_session_that_ended_is_said_to_have_ended(gate: Gate, session: str) -> None:
    close_session(gate, session)
    with pytest.raises(UnknownSession, match=f"session {session} has ended"):
        short_ids.expand_open_session_id(gate, session[:8])
    with pytest.raises(UnknownSession, match="there is no session s_nobody"):
        short_ids.expand_open_session_id(gate, "s_nobody")


def test_a_second_stop_says_that_it_was_stopped_and_no_more(place: Place, gate: Gate, session: str) -> None:
    stop_session(gate, session, by="ana")
    assert place.sayso("stop", session).stdout == f"Was stopped already: {session}\n"


def test_of_several_questions_the_open_one_is_named_and_shown(gate: Gate, session: str) -> None:
    first = asked(gate, edit(session))
    answer_question(gate, first, "once", by="ana")
    second = asked(gate, edit(session, "b.py"))
    with pytest.raises(MalformedRequest, match=f"any of 2 questions, of which {second} is open"):
        short_ids.expand_question_id(gate, session)
    assert short_ids.expand_shown_question_id(gate, session) == second
    assert short_ids.expand_shown_question_id(gate, first) == first


def test_a_store_that_nobody_used_shows_empty_lists(place: Place) -> None:
    assert place.sayso("store", "init").returncode == 0
    for command in ("inbox", "sessions", "grants", "calls", "runs", "history"):
        shown = place.sayso(command, "--json")
        assert (shown.returncode, json.loads(shown.stdout)) == (0, []), command
    assert place.told("stats")["decisions"] == 0


def test_a_figure_of_one_is_not_a_plural(place: Place, gate: Gate, session: str) -> None:
    answer_question(gate, asked(gate, edit(session)), "once", by="ana")
    shown = place.sayso("stats").stdout
    assert "1 question asked" in shown
    assert "of 1 answer\n" in shown


def test_arguments_that_are_not_json_are_said_to_be_that_once(place: Place) -> None:
    shown = place.sayso("check", "--tool", "pay", "--args", "{no")
    assert " ".join(shown.stderr.split()).count("not JSON") == 1


def test_an_entry_that_replaces_a_presets_is_told_from_a_slip() -> None:
    file = "extends: [coding]\ntools: [{tool: Write, operation: files.write}]\n"
    (found,) = [one for one in lint_policy(load_text(file)) if one.where == "tool Write"]
    assert found.severity == "note"
    assert found.message == "a preset's entry for it is never reached: yours for Write comes first"


# --- completion ---


def names(kind: Callable[[Gate], object], gate: Gate) -> list[str]:
    return [name for name, _ in kind(gate)]  # type: ignore[attr-defined]


def test_resume_offers_the_sessions_that_are_stopped(gate: Gate, session: str) -> None:
    open_session(gate, agent="other", owner="host")
    assert names(short_ids.stopped_session_ids, gate) == []
    stop_session(gate, session, by="ana")
    assert names(short_ids.stopped_session_ids, gate) == [session]


def test_resolve_offers_the_calls_whose_end_nobody_knows(gate: Gate, session: str) -> None:
    give_grant(gate, session, by="ana", operation="files.edit")
    calls = [start_call(gate, edit(session, name), holder="host") for name in ("a.py", "b.py")]
    assert all(one.runs for one in calls)
    end_call(gate, calls[0].call, calls[0].fence, "succeeded")
    end_call(gate, calls[1].call, calls[1].fence, "ambiguous")
    assert names(short_ids.ambiguous_call_ids, gate) == [calls[1].call]
    assert names(short_ids.run_ids, gate) == []


def test_presets_modes_and_answers_are_offered() -> None:
    assert "balanced" in complete_presets("bal")
    assert complete_modes("pa") == ["paranoid"]
    assert short_ids.complete_words("once", "task")("t") == ["task"]
    assert resume_sessions.__annotations__["session"] == "OneStoppedSession"
