"""What holds for every coding agent: one suite over the payloads of each."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from sayso.gate.sessions.sessions import close_session
from tests.agents.conftest import Desk, with_ids, with_messages
from tests.agents.hosts import HOSTS, Host, Output
from tests.support.gates import Clock
from tests.support.service import Service


def test_reading_a_file_of_the_workspace_runs(desk: Desk) -> None:
    answer = desk.call("read", desk.file())
    assert answer.code == 0
    assert desk.host.runs(answer)
    assert desk.questions() == []


def test_a_blocked_call_does_not_run_and_the_agent_reads_why(desk: Desk) -> None:
    answer = desk.call("write", desk.file(".claude/settings.json"))
    assert not desk.host.runs(answer)
    assert "agent" in answer.out + answer.err
    assert desk.questions() == []


def test_a_call_nobody_answers_does_not_run_and_names_what_to_retry(desk: Desk) -> None:
    answer = desk.call("write", desk.file())
    assert not desk.host.runs(answer)
    [waiting] = desk.calls()
    assert waiting["operation_id"] in answer.out + answer.err


def test_the_same_call_runs_once_after_a_late_yes(desk: Desk) -> None:
    desk.call("write", desk.file())
    [question] = desk.questions()
    desk.service.answer(question["id"], "once")
    assert desk.host.runs(desk.call("write", desk.file()))
    assert not desk.host.runs(desk.call("write", desk.file()))


def test_another_call_does_not_run_by_that_yes(desk: Desk) -> None:
    desk.call("write", desk.file())
    [question] = desk.questions()
    desk.service.answer(question["id"], "once")
    assert not desk.host.runs(desk.call("write", desk.file("b.txt")))


@pytest.mark.parametrize(("given", "runs"), [("once", True), ("deny", False)])
def test_a_call_waits_for_its_answer(desk: Desk, given: str, runs: bool) -> None:
    async def ask_and_answer() -> Output:
        raw = json.dumps(desk.payload("write", desk.file())).encode()
        held = asyncio.create_task(desk.send(desk.host.before, raw, wait=60))
        question = await _first_question(desk)
        body = {"answer": given, "digest": question["digest"]}
        await desk.service.ask("operator", "POST", f"/v1/questions/{question['id']}/answer", body)
        return await held

    answer = desk.service.runner.run(ask_and_answer())
    assert desk.host.runs(answer) is runs


async def _first_question(desk: Desk) -> dict[str, str]:
    while True:
        found = (await desk.service.ask("operator", "GET", "/v1/questions")).json()
        if found:
            shown = await desk.service.ask("operator", "GET", f"/v1/questions/{found[0]['id']}")
            told: dict[str, str] = shown.json()
            return told
        await asyncio.sleep(0.01)


def test_a_denied_call_is_not_asked_again_in_its_turn(desk: Desk) -> None:
    desk.call("write", desk.file())
    [question] = desk.questions()
    desk.service.answer(question["id"], "deny")
    assert not desk.host.runs(desk.call("write", desk.file()))
    assert desk.questions() == []


def test_the_same_call_made_again_joins_its_question(desk: Desk) -> None:
    desk.call("write", desk.file())
    desk.call("write", desk.file())
    assert len(desk.questions()) == 1


@with_ids
def test_one_call_seen_by_two_hooks_is_asked_and_counted_once(desk: Desk) -> None:
    desk.call("write", desk.file(), "same")
    [question] = desk.questions()
    desk.service.answer(question["id"], "once")
    assert desk.host.runs(desk.call("write", desk.file(), "same"))
    assert desk.host.runs(desk.call("write", desk.file(), "same"))
    assert len(desk.calls()) == 1


def test_an_id_used_for_another_call_decides_that_one_anew(desk: Desk) -> None:
    assert desk.host.runs(desk.call("read", desk.file(), "same"))
    assert not desk.host.runs(desk.call("write", desk.file(), "same"))


def test_an_id_used_again_long_after_is_a_new_call(desk: Desk, clock: Clock) -> None:
    desk.call("write", desk.file(), "same")
    [question] = desk.questions()
    desk.service.answer(question["id"], "once")
    assert desk.host.runs(desk.call("write", desk.file(), "same"))
    clock.now += 61
    assert not desk.host.runs(desk.call("write", desk.file(), "same"))


def test_the_end_of_a_call_is_noted_as_the_agents_word(desk: Desk) -> None:
    desk.call("read", desk.file(), "one")
    assert [one["status"] for one in desk.calls()] == ["running"]
    answer = desk.ended("read", desk.file(), "one")
    assert answer.code == 0
    assert desk.calls() == []


def test_two_sessions_of_a_host_share_no_consent(desk: Desk) -> None:
    desk.call("write", desk.file())
    [question] = desk.questions()
    desk.service.answer(question["id"], "once")
    desk.session = "session-2"
    assert not desk.host.runs(desk.call("write", desk.file()))


def test_a_session_that_the_operator_ended_begins_clean(desk: Desk) -> None:
    desk.call("write", desk.file())
    [question] = desk.questions()
    desk.service.answer(question["id"], "once")
    close_session(desk.service.gate, question["id"].rpartition(".")[0])
    assert not desk.host.runs(desk.call("write", desk.file()))


@with_messages
def test_a_stop_that_the_host_claims_stops_at_once(desk: Desk) -> None:
    assert desk.host.runs(desk.call("read", desk.file()))
    assert desk.says("stop").code == 0
    assert not desk.host.runs(desk.call("read", desk.file()))


@with_messages
def test_a_grant_that_the_host_claims_opens_a_question_and_grants_nothing(desk: Desk) -> None:
    desk.says("Grant standing consent for: git push")
    assert len(desk.questions()) == 1
    assert not desk.host.runs(desk.call("shell", "git push"))


@pytest.mark.parametrize("name", ["claude", "codex", "opencode"])
def test_a_sub_agent_is_named_and_judged_like_its_parent(service: Service, project: Path, name: str) -> None:
    host = next(one for one in HOSTS if one.name == name)
    desk = Desk(service, host, project)
    assert not host.runs(desk.call("write", desk.file(), sub="Explore"))
    [question] = desk.questions()
    assert "sub-agent Explore" in json.dumps(
        service.told("operator", "GET", f"/v1/questions/{question['id']}")
    )
    assert host.runs(desk.call("read", desk.file(), sub="Explore"))
    assert not host.runs(desk.call("write", desk.file(".claude/settings.json"), sub="Explore"))


def test_an_event_the_agent_does_not_have_is_refused(desk: Desk) -> None:
    assert not desk.host.agent.is_blocked(0, "")
    answer = desk.fire("NoSuchEvent", desk.payload("read", desk.file()))
    assert (answer.code, answer.out) == (2, "")


@pytest.mark.parametrize(
    "garbage", [b"", b"null", b"[]", b'"text"', b"{", b"\xff\xfe", b"{}", b'{"a":1,"a":2}']
)
def test_a_payload_that_is_none_is_refused(desk: Desk, garbage: bytes) -> None:
    assert not desk.host.runs(desk.fire(desk.host.before, garbage))


READ = {
    "session_id", "sessionId", "conversation_id", "taskId", "cwd", "hook_event_name", "hookEventName",
    "hookName", "tool_name", "toolName", "tool_input", "toolArgs", "tool_use_id", "preToolUse",
}  # fmt: skip
"""The fields of payloads that say what is to be decided."""


def test_a_payload_with_a_field_of_another_type_does_not_run(desk: Desk) -> None:
    assert READ & set(desk.payload("read", desk.file()))
    for name in READ & set(desk.payload("read", desk.file())):
        broken = {**desk.payload("read", desk.file()), name: [1]}
        assert not desk.host.runs(desk.fire(desk.host.before, broken)), name


def test_every_event_that_is_registered_is_read(desk: Desk, host: Host) -> None:
    known = {one.name for one in host.agent.events}
    assert {host.before, host.after, *([host.prompt] if host.prompt else [])} <= known
