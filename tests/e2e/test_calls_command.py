"""`sayso calls` and `sayso runs` as real processes, beside an agent that holds the store open."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from sayso.core.model import Operation, Risk
from sayso.gate.call_rows import Attempt
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.ledger.workflows import RunNote, save_note
from sayso.gate.questions.answer import answer_question
from sayso.gate.sessions.messages import record_message
from tests.e2e.operator_place import CHAT, PATIENCE, Place, everything, verified
from tests.support.asking import edit, push, rule

EVIL = "edit\x1b[2J\u202e\nop_fake  succeeded  edit"


def running(gate: Gate, session: str) -> Attempt:
    record_message(gate, session, "Grant standing consent for: git push")
    attempt = start_call(gate, push(session), holder="worker")
    assert attempt.runs
    return attempt


def ambiguous(gate: Gate, session: str) -> str:
    attempt = running(gate, session)
    end_call(gate, attempt.call, attempt.fence, "ambiguous")
    return attempt.call


def started(gate: Gate, session: str) -> Attempt:
    """A workflow run that goes on."""
    call = make_call("workflow:digest", {"day": "monday"})
    operation = Operation("files.read", risk=Risk.LOW, weight=Risk.LOW)
    request = make_request(call, [operation], session=session, workflow="digest")
    attempt = start_call(gate, request, holder="worker")
    assert attempt.runs
    return attempt


def by_hand(place: Place, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(place.store)) as db, db:
        db.execute(statement, values)


def state(gate: Gate, call: str) -> str:
    with gate.store.read() as tx:
        row = tx.call(call)
    assert row is not None
    return row.state


def test_a_call_is_not_called_pending_once_its_question_was_answered(
    place: Place, gate: Gate, session: str
) -> None:
    first, joined = (start_call(gate, edit(session), holder="worker") for _ in range(2))
    assert first.question is not None
    assert joined.question == first.question
    answer_question(gate, first.question, "once", by="ana")
    told = {one["id"]: one["state"] for one in place.told("calls")}
    assert told == {first.call: "allowed", joined.call: "allowed"}
    assert retry_call(gate, first.call, holder="worker").runs
    assert {one["id"]: one["state"] for one in place.told("calls")} == {first.call: "running"}
    told = {one["id"]: one["state"] for one in place.told("calls", "--all")}
    assert told == {first.call: "running", joined.call: "used_elsewhere"}
    shown = place.sayso("calls", "show", joined.call).stdout
    assert "used elsewhere" in shown
    assert "a retry asks again" in shown


def test_a_call_whose_approval_was_stopped_is_not_called_pending(
    place: Place, gate: Gate, session: str
) -> None:
    asked = start_call(gate, edit(session), holder="worker")
    assert asked.question is not None
    answer_question(gate, asked.question, "once", by="ana")
    place.sayso("stop", session)
    assert place.sayso("calls").stdout == "No call is under way.\n"
    assert [one["state"] for one in place.told("calls", "--all")] == ["taken_back"]
    history = place.sayso("history").stdout
    assert "taken back" in history
    assert "has not started" not in history


def test_calls_that_are_not_over_are_listed_and_with_all_the_others_too(
    place: Place, gate: Gate, session: str
) -> None:
    assert place.sayso("calls").stdout == "No call is under way.\n"
    pending = start_call(gate, edit(session), holder="worker")
    unsure = ambiguous(gate, session)
    done = start_call(gate, push(session), holder="worker")
    end_call(gate, done.call, done.fence, "succeeded")
    listed = {one["id"]: (one["state"], one["operations"]) for one in place.told("calls")}
    assert listed == {
        pending.call: ("pending", ["files.edit"]),
        unsure: ("ambiguous", ["git.push"]),
    }
    everywhere = {one["id"]: one["state"] for one in place.told("calls", "--all")}
    assert everywhere == {pending.call: "pending", unsure: "ambiguous", done.call: "succeeded"}
    assert place.told("calls", "--all", "--session", "elsewhere") == []
    text = place.sayso("calls").stdout
    assert f"{pending.call}  pending  edit" in text
    titles = {one["title"] for one in place.told("calls")}
    assert all(title in text for title in titles)
    assert any("a.py" in title for title in titles), "calls with other arguments look different"
    assert f"sayso calls resolve {unsure} succeeded|failed" in text


def test_one_call_is_shown_with_its_arguments_and_how_it_was_decided(
    place: Place, gate: Gate, session: str
) -> None:
    call = start_call(gate, edit(session), holder="worker", host_id="host-1").call
    told = place.told("calls", "show", call)
    assert (told["arguments"], told["verdict"], told["rule"]) == ({"path": "a.py"}, "ask", "ask")
    assert (told["risks"], told["host_id"], told["starts"]) == ({"files.edit": "moderate"}, "host-1", 0)
    text = place.sayso("calls", "show", call).stdout
    assert 'arguments: {"path":"a.py"}' in text
    assert "operations: files.edit (moderate risk)" in text
    missing = place.sayso("calls", "show", "op_nowhere")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "there is no call op_nowhere" in missing.stderr


def test_the_operators_word_ends_an_ambiguous_call_for_every_process(
    place: Place, gate: Gate, session: str
) -> None:
    call = ambiguous(gate, session)
    told = place.told("calls", "resolve", call, "succeeded", "--yes", *CHAT)
    assert (told["id"], told["state"]) == (call, "succeeded")
    assert retry_call(gate, call, holder="next").state == "succeeded"
    entries, signed = verified(place)
    assert entries == signed
    again = place.sayso("calls", "resolve", call, "failed", "--yes", *CHAT)
    assert (again.returncode, "the call is succeeded" in again.stderr) == (1, True)
    assert state(gate, call) == "succeeded"


def test_a_failure_the_operator_tells_suspends_what_a_failure_suspends(
    place: Place, gate: Gate, session: str
) -> None:
    call = ambiguous(gate, session)
    ran = place.sayso("calls", "resolve", call, "failed", "--yes", *CHAT)
    assert (ran.returncode, ran.stdout) == (0, f"Resolved as failed: {call}\n"), ran.stderr
    with gate.store.read() as tx:
        events = [row.event for row in tx.entries("main", limit=100)]
    assert events[-2:] == ["RESOLVED", "EXECUTED"]


def test_without_a_yes_nothing_is_resolved(place: Place, gate: Gate, session: str) -> None:
    call = ambiguous(gate, session)
    ran = place.sayso("calls", "resolve", call, "succeeded", *CHAT)
    assert (ran.returncode, ran.stdout.strip()) == (1, "")
    assert "git push" in ran.stderr
    assert state(gate, call) == "ambiguous"


@pytest.mark.parametrize("word", ["yes", "ambiguous", "denied", "Succeeded", ""])
def test_a_call_is_resolved_in_one_of_two_words(place: Place, gate: Gate, session: str, word: str) -> None:
    call = ambiguous(gate, session)
    assert place.sayso("calls", "resolve", call, word, "--yes", *CHAT).returncode == 2
    assert state(gate, call) == "ambiguous"


def test_a_call_that_somebody_still_runs_cannot_be_resolved(place: Place, gate: Gate, session: str) -> None:
    attempt = running(gate, session)
    ran = place.sayso("calls", "resolve", attempt.call, "succeeded", "--yes", *CHAT)
    assert (ran.returncode, "its holder is still at it" in ran.stderr) == (1, True)
    end_call(gate, attempt.call, attempt.fence, "failed")


def test_a_call_whose_holder_died_is_seen_as_that_without_a_write_and_can_be_resolved(
    place: Place, gate: Gate, session: str
) -> None:
    attempt = running(gate, session)
    by_hand(place, "UPDATE calls SET lease_until = ? WHERE id = ?", 1.0, attempt.call)
    before = everything(place)
    (listed,) = place.told("calls")
    assert (listed["state"], listed["lapsed"]) == ("running", True)
    assert "nobody knows whether it ran" in place.sayso("calls").stdout
    assert everything(place) == before
    told = place.told("calls", "resolve", attempt.call, "failed", "--yes", *CHAT)
    assert (told["state"], told["lapsed"]) == ("failed", False)


def test_what_agents_wrote_cannot_forge_a_line_of_the_list(place: Place, gate: Gate, session: str) -> None:
    call = make_call(EVIL, {"path": EVIL}, command=EVIL, target=EVIL)
    made = start_call(gate, make_request(call, [Operation("files.edit")], session=session), holder=EVIL)
    for words in (("calls",), ("calls", "--all"), ("calls", "show", made.call)):
        shown = place.sayso(*words).stdout
        assert made.call in shown
        assert not [line for line in shown.splitlines() if line.startswith("op_fake")]
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_a_call_changed_by_hand_is_marked_and_tells_nothing_that_was_put_there(
    place: Place, gate: Gate, session: str
) -> None:
    call, other = (start_call(gate, edit(session, name), holder="worker").call for name in ("a", "b"))
    by_hand(place, "UPDATE calls SET body = (SELECT body FROM calls WHERE id = ?) WHERE id = ?", other, call)
    listed, sound = place.told("calls")
    assert (listed["id"], listed["tampered"], listed["operations"]) == (call, True, [])
    assert (sound["id"], sound["tampered"], sound["operations"]) == (other, False, ["files.edit"])
    assert place.told("calls", "show", call)["arguments"] is None
    assert "TAMPERED WITH" in place.sayso("calls").stdout


def test_without_the_key_no_call_is_told(place: Place, gate: Gate, session: str) -> None:
    call = start_call(gate, edit(session), holder="worker").call
    (place.home / "share" / "sayso" / "gate.key").unlink()
    for words in (
        ("calls",),
        ("calls", "show", call),
        ("runs",),
        ("calls", "resolve", call, "failed", "--yes"),
    ):
        ran = place.sayso(*words)
        assert (ran.returncode, "key is not at hand" in ran.stderr) == (1, True)


def test_runs_are_listed_with_their_steps_also_if_a_note_cannot_be_read(
    place: Place, gate: Gate, session: str
) -> None:
    assert place.sayso("runs").stdout == "No workflow is under way.\n"
    run, other = started(gate, session), started(gate, session)
    save_note(gate, run.call, run.fence, RunNote({"fetch\x1b[2J": "succeeded", "write": "running"}))
    by_hand(place, "UPDATE calls SET result = ? WHERE id = ?", b"no note", other.call)
    running(gate, session)
    told = {one["run"]: one["steps"] for one in place.told("runs")}
    assert told == {run.call: {"fetch\x1b[2J": "succeeded", "write": "running"}, other.call: {}}
    text = place.sayso("runs", "--session", session).stdout
    assert f"{run.call}  digest: running" in text
    assert "    fetch\\x1b[2J: succeeded\n    write: running\n" in text


def test_a_run_is_watched_until_it_is_over(place: Place, gate: Gate, session: str) -> None:
    run = started(gate, session)
    with place.start("runs", "watch", run.call, "--json", "--timeout", "600") as watching:
        assert watching.stdout is not None
        seen = [json.loads(watching.stdout.readline())]
        save_note(gate, run.call, run.fence, RunNote({"fetch": "running"}))
        seen.append(json.loads(watching.stdout.readline()))
        end_call(gate, run.call, run.fence, "succeeded")
        rest, errors = watching.communicate(timeout=PATIENCE)
    seen += [json.loads(line) for line in rest.splitlines()]
    assert (watching.returncode, errors) == (0, "")
    assert [(one["state"], one["steps"]) for one in seen] == [
        ("running", {}),
        ("running", {"fetch": "running"}),
        ("succeeded", {}),
    ]


def test_the_exit_code_of_watch_tells_how_the_run_stands(place: Place, gate: Gate, session: str) -> None:
    failed, still = started(gate, session), started(gate, session)
    end_call(gate, failed.call, failed.fence, "failed")
    no_run = running(gate, session)
    expected = {failed.call: 1, still.call: 2, "op_nowhere": 3, no_run.call: 3}
    for run, code in expected.items():
        ran = place.sayso("runs", "watch", run, "--timeout", "0")
        assert ran.returncode == code, ran.stderr
    assert rule(gate, push(session)) == "allowlist"
