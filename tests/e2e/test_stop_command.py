"""`sayso stop` and its way back, ids typed short, grants with their pins, and lines that fit."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from tests.e2e.operator_place import CHAT, Place
from tests.support.asking import asked, edit, push, rule


def test_a_stopped_session_goes_on_when_the_operator_says_so(place: Place, gate: Gate, session: str) -> None:
    give_grant(gate, session, by="ana", operation="files.edit")
    told = place.told("stop", session)
    assert (told["session"], told["stopped"]) == (session, True)
    assert rule(gate, edit(session)) == "stopped"
    assert place.told("sessions")[0]["stopped"]
    assert place.told("resume", session) == {"session": session, "already": False, "held_by": None}
    assert rule(gate, edit(session)) == "ask"
    assert place.told("grants") == []


def test_every_session_is_stopped_and_goes_on_at_once(place: Place, gate: Gate, session: str) -> None:
    other = open_session(gate, agent="other", owner="host", parent=session)
    assert place.sayso("stop", "--all").stdout == "Stopped: 2 sessions.\n"
    assert {rule(gate, edit(one)) for one in (session, other)} == {"stopped"}
    held = place.sayso("resume", other).stdout
    assert f"{session}, which started it, is stopped" in " ".join(held.split())
    assert place.sayso("resume", "--all").stdout == "Resumed: 1 session.\n"
    assert {rule(gate, edit(one)) for one in (session, other)} == {"ask"}


def test_stopping_every_session_says_what_each_of_them_lost(place: Place, gate: Gate, session: str) -> None:
    other = open_session(gate, agent="other", owner="host", parent=session)
    give_grant(gate, session, by="ana", operation="files.edit")
    asked(gate, edit(other))
    shown = place.sayso("stop", "--all").stdout
    assert shown.startswith("Stopped: 2 sessions.\n")
    lines = " ".join(shown.split())
    assert f"{session} cleared: grant for files.edit" in lines
    assert "open question about" in lines
    assert f"(in session {other})" in lines


@pytest.mark.parametrize("named", [True, False])
def test_a_stop_tells_no_fewer_questions_than_it_cleared(
    named: bool, place: Place, gate: Gate, session: str
) -> None:
    for target in ("a.py", "b.py", "c.py"):
        asked(gate, edit(session, target))
    shown = place.sayso("stop", session if named else "--all").stdout
    assert "cleared: 3 open questions about files.edit" in shown


def test_a_stop_by_the_operator_is_nothing_the_user_said(place: Place, gate: Gate, session: str) -> None:
    first = place.sayso("stop", session).stdout
    assert first.startswith(f"Stopped: {session}\n")
    assert "you said" not in first
    assert place.sayso("stop", session).stdout.startswith(f"Was stopped already: {session}\n")
    assert place.told("stop", session)["already"]
    place.sayso("resume", session)
    told = place.told("sessions")[0]
    assert (told["turn"], told["task"]) == (0, None)
    assert "HEARD" not in place.sayso("audit", "tail").stdout


@pytest.mark.parametrize("command", ["stop", "resume"])
def test_stopping_names_what_it_means(command: str, place: Place, gate: Gate, session: str) -> None:
    for words in ((), (session, "--all")):
        ran = place.sayso(command, *words)
        assert (ran.returncode, ran.stdout) == (2, "")
    assert place.sayso(command, "s_none").returncode == 1


def test_an_id_is_typed_as_short_as_is_unique(place: Place, gate: Gate, session: str) -> None:
    question = asked(gate, edit(session))
    short = session[:6]
    assert place.told("inbox", question[:12])["id"] == question
    assert place.sayso("approve", f"{short}.q1", *CHAT).stdout == f"Approved (once): {question}\n"
    assert place.sayso("wait", short).returncode == 0
    given = give_grant(gate, session, by="ana", operation="files.edit")
    assert [one["id"] for one in place.told("grants", "--session", short)][-1] == given.id
    (ended,) = place.told("revoke", f"{short}.{given.id.rpartition('.')[2]}")
    assert ended["id"] == given.id
    assert place.told("sessions", "end", short)["session"] == session


def test_a_short_id_that_may_mean_several_does_nothing_and_lists_them(
    place: Place, gate: Gate, session: str
) -> None:
    first, second = asked(gate, edit(session)), asked(gate, edit(session, "b.py"))
    ran = place.sayso("approve", session[:6], *CHAT)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert first in ran.stderr
    assert second in ran.stderr
    assert len(place.told("inbox")) == 2


def test_a_short_id_does_not_come_to_mean_another_question_once_the_first_is_answered(
    place: Place, gate: Gate, session: str
) -> None:
    first = asked(gate, edit(session))
    answer_question(gate, first, "deny", by="ana")
    second = asked(gate, edit(session, "b.py"))
    assert place.sayso("approve", session[:6], *CHAT).returncode == 2
    assert [one["id"] for one in place.told("inbox")] == [second]


def test_an_id_of_nothing_is_no_beginning_of_another(place: Place, gate: Gate, session: str) -> None:
    question = asked(gate, edit(session))
    for typed in ("", "s", "s_", f"{question}0", f"{session[:6]}.q", "x_", f"{session[:2]}.q1"):
        assert place.sayso("approve", typed, *CHAT).returncode != 0
    assert len(place.told("inbox")) == 1


def completed(place: Place, *words: str) -> str:
    line = " ".join(("sayso", *words))
    clean = {key: one for key, one in os.environ.items() if not key.startswith(("SAYSO", "XDG"))}
    environment = {
        "HOME": str(place.home),
        "XDG_DATA_HOME": str(place.home / "share"),
        "SAYSO_STORE": str(place.store),
        "_SAYSO_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
    }
    start = "import sys; sys.argv[0] = 'sayso'; from sayso.cli.main import app; app(prog_name='sayso')"
    return subprocess.run(
        [sys.executable, "-c", start], env=clean | environment, capture_output=True, text=True, check=False
    ).stdout


def test_shell_completion_offers_the_ids_that_can_be_meant(place: Place, gate: Gate, session: str) -> None:
    question = asked(gate, edit(session))
    closed = asked(gate, edit(session, "b.py"))
    answer_question(gate, closed, "deny", by="ana")
    assert completed(place, "approve", "s_").split() == [question]
    assert completed(place, "stop", "s").split() == [session]
    assert completed(place, "approve", "x").split() == []
    place.store.rename(place.home / "gone.db")
    assert completed(place, "approve", "s_").split() == []


def test_grants_are_listed_with_what_they_are_pinned_to(place: Place, gate: Gate, session: str) -> None:
    for target in ("a.py", "b.py"):
        question = authorize(gate, edit(session, target)).question
        assert question is not None
        answer_question(gate, question.id, "always", by="ana", seen=question.request.digest)
    shown = place.sayso("grants").stdout
    assert "only tool: edit" in shown
    assert 'only arguments: {"path":"a.py"}' in shown
    assert 'only arguments: {"path":"b.py"}' in shown


def test_what_an_agent_pinned_a_grant_to_cannot_pass_for_a_line_of_ours(
    place: Place, gate: Gate, session: str
) -> None:
    question = authorize(gate, edit(session, "a.py\ngrant.g9  everything\u202e")).question
    assert question is not None
    answer_question(gate, question.id, "always", by="ana", seen=question.request.digest)
    shown = place.sayso("grants").stdout
    assert "\u202e" not in shown
    assert not any(line.startswith("grant.g9") for line in shown.splitlines())


@pytest.mark.parametrize("command", ["inbox", "grants", "sessions", "allowlist"])
def test_no_line_of_a_list_is_wider_than_80_columns(
    command: str, place: Place, gate: Gate, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.environment["COLUMNS"] = "80"
    long = " and ".join(f"file-{number}.py" for number in range(40))
    asked(gate, edit(session, long))
    asked(gate, push(session))
    give_grant(gate, session, by="somebody with a rather long name", command=f"echo {long}")
    wide = [line for line in place.sayso(command).stdout.splitlines() if len(line) > 80]
    assert wide == []
