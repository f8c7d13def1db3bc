"""The folder a call runs in, and its workspace, are read again (SPEC 2): consent is for what they were.

One that a link has replaced, or that is gone, is another: no approval, standing consent or grant serves it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sayso.doors.python.session import Session
from tests.attack.opening import a_gate, a_service, answer_last, open_questions

CLEAN = {"tool": "run_bash", "args": {"command": "make clean"}}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project to work in; the user's home lies beside it."""
    home, work = tmp_path / "place" / "home", tmp_path / "place" / "work"
    home.mkdir(parents=True)
    work.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    return work


def by_link(folder: Path) -> None:
    folder.rename(folder.parent / "old")
    folder.symlink_to(folder.parent / "home")


def by_link_above(folder: Path) -> None:
    """A folder above it is the link; under its name lies a folder that is spelled the same."""
    (folder.parent / "home" / folder.name).mkdir()
    above = folder.parent
    above.rename(above.parent / "above")
    above.symlink_to(above.parent / "above" / "home")


def by_nothing(folder: Path) -> None:
    folder.rename(folder.parent / "old")


SWAPS: dict[str, Callable[[Path], None]] = {
    "a link": by_link,
    "a link above": by_link_above,
    "nothing": by_nothing,
}
EACH = pytest.mark.parametrize("swap", SWAPS)


@EACH
@pytest.mark.parametrize("tool", ["run_bash", "wipe"])
def test_no_approval_over_http_serves_once_its_folder_was_replaced(work: Path, swap: str, tool: str) -> None:
    folder = work.parent / "inner"
    folder.mkdir()
    with a_gate("extends: [balanced]") as gate, a_service(gate) as service:
        session = service.opened(workspace=str(work))
        body = {"tool": tool, "args": {"command": "rm -rf *"}, "session": session, "folder": str(folder)}
        told = service.told("host", "POST", "/v1/calls", body)
        service.answer(told["question"], "once")
        SWAPS[swap](folder)
        again = service.told("host", "POST", f"/v1/calls/{told['operation_id']}/retry", {})
        assert again["status"] != "allowed"
        assert service.told("host", "POST", "/v1/calls", body)["status"] != "allowed"


@EACH
def test_no_approval_over_http_serves_once_its_workspace_was_replaced(work: Path, swap: str) -> None:
    with a_gate("extends: [balanced]") as gate, a_service(gate) as service:
        session = service.opened(workspace=str(work))
        body = {"tool": "run_bash", "args": {"command": "rm -rf *"}, "session": session}
        told = service.told("host", "POST", "/v1/calls", body)
        service.answer(told["question"], "once")
        SWAPS[swap](work)
        again = service.told("host", "POST", f"/v1/calls/{told['operation_id']}/retry", {})
        assert again["status"] != "allowed"


@EACH
@pytest.mark.parametrize("folder", [None, "sub"])
def test_no_standing_consent_serves_once_the_workspace_was_replaced(
    work: Path, swap: str, folder: str | None
) -> None:
    (work / "sub").mkdir()
    with a_gate("extends: [balanced]") as gate, a_service(gate) as service:
        session = service.opened(workspace=str(work))
        said = {"text": "Grant standing consent for: make clean"}
        service.told("host", "POST", f"/v1/sessions/{session}/messages", said)
        where = {} if folder is None else {"folder": str(work / folder)}
        body = {**CLEAN, **where, "session": session}
        assert service.told("host", "POST", "/v1/calls", body)["rule"] == "allowlist"
        SWAPS[swap](work)
        told = service.told("host", "POST", "/v1/calls", body)
        assert told["status"] == "pending"
        assert str(work) in told["reason"] or "risk" in told["reason"]


def test_no_standing_consent_serves_in_a_link_of_the_workspace_that_leads_out(work: Path) -> None:
    (work / "link").symlink_to(work.parent / "home")
    with a_gate("extends: [balanced]") as gate, a_service(gate) as service:
        session = service.opened(workspace=str(work))
        said = {"text": "Grant standing consent for: make clean"}
        service.told("host", "POST", f"/v1/sessions/{session}/messages", said)
        body = {**CLEAN, "session": session, "folder": str(work / "link")}
        assert service.told("host", "POST", "/v1/calls", body)["status"] == "pending"


@EACH
@pytest.mark.parametrize("answer", ["task", "always", "temporary"])
@pytest.mark.parametrize("preset", ["chat", "gateway", "coding"])
def test_no_wider_answer_serves_once_the_workspace_was_replaced(
    work: Path, swap: str, answer: str, preset: str
) -> None:
    def drop(session: Session) -> Any:
        return session.call("add_note", {"text": "hello"})

    policy = f"extends: [{preset}]\noperations: {{notes.add: {{risk: moderate}}}}\n"
    policy += "tools: [{tool: add_note, operation: notes.add}]\n"
    with a_gate(policy) as gate:
        session = gate.session(agent="a", workspace=str(work))
        session.hear("write it down")
        called = drop(session)
        assert answer in [one.answer for one in open_questions(gate, session.id)[-1].offers]
        answer_last(gate, session.id, answer)
        assert called.retry().allowed
        assert drop(session).allowed
        SWAPS[swap](work)
        assert not drop(session).allowed


@EACH
def test_no_slash_command_serves_once_the_workspace_was_replaced(work: Path, swap: str) -> None:
    with a_gate("extends: [chat]") as gate:
        session = gate.session(agent="a", workspace=str(work))
        session.hear("/commit")
        assert session.call("git_commit", {"message": "x"}).allowed
        SWAPS[swap](work)
        assert not session.call("git_commit", {"message": "x"}).allowed


@EACH
def test_no_tool_is_remembered_once_the_workspace_was_replaced(work: Path, swap: str) -> None:
    with a_gate("extends: [trusting]\ntools: [{tool: add_note, operation: notes.add}]\n") as gate:
        session = gate.session(agent="a", workspace=str(work))
        session.call("add_note", {"text": "hello"})
        answer_last(gate, session.id, "remember")
        assert session.call("add_note", {"text": "hello"}).allowed
        assert session.call("add_note", {"text": "hello"}).allowed
        SWAPS[swap](work)
        assert not session.call("add_note", {"text": "hello"}).allowed


def test_a_person_can_still_approve_one_call_in_a_workspace_that_was_replaced(work: Path) -> None:
    with a_gate("extends: [balanced]") as gate:
        session = gate.session(agent="a", workspace=str(work))
        by_link(work)
        called = session.call("add_note", {"text": "hello"})
        asked = open_questions(gate, session.id)[-1]
        assert asked.request.call.folder == str(work.parent / "home"), "people see where it would run"
        assert [one.answer for one in asked.offers] == ["once", "deny"]
        answer_last(gate, session.id, "once")
        assert called.retry().allowed


def test_a_workspace_that_the_gate_never_saw_keeps_its_consent(work: Path) -> None:
    with a_gate("extends: [balanced]") as gate:
        session = gate.session(agent="a", workspace="/nowhere/on/this/machine")
        called = session.call("add_note", {"text": "hello"})
        answer_last(gate, session.id, "always")
        assert called.retry().allowed
        assert session.call("add_note", {"text": "hello"}).allowed


# --- grants for exact arguments are for the folder they were given in ---


@pytest.mark.parametrize("answer", ["always", "temporary"])
@pytest.mark.parametrize("name", ["path", "name", "what"])
def test_no_grant_for_exact_arguments_serves_in_another_folder(work: Path, answer: str, name: str) -> None:
    for one in ("tmp", "keep"):
        (work / one).mkdir()
        (work / one / "notes.txt").write_text(one)
    ran: list[str] = []
    with a_gate("extends: [balanced]") as gate, gate.session(workspace=str(work)).active() as session:

        @gate.requires_consent("notes.drop", risk="moderate")
        def drop(what: dict[str, str]) -> None:
            ran.append(Path.cwd().name)

        os.chdir(work / "tmp")
        late = session.run("drop", {"what": {name: "notes.txt"}}, wait=0)
        offers = open_questions(gate, session.id)[-1].offers
        assert any(str(work / "tmp") in one.words for one in offers if one.answer == answer)
        answer_last(gate, session.id, answer)
        assert gate.retry(late.operation_id or "", wait=0).ok
        assert session.run("drop", {"what": {name: "notes.txt"}}, wait=0).ok
        os.chdir(work / "keep")
        assert session.run("drop", {"what": {name: "notes.txt"}}, wait=0).status == "timeout"
    assert ran == ["tmp", "tmp"]


def test_no_grant_over_http_for_exact_arguments_serves_in_another_folder(work: Path) -> None:
    for one in ("tmp", "keep"):
        (work / one).mkdir()
    with a_gate("extends: [balanced]") as gate, a_service(gate) as service:
        session = service.opened(workspace=str(work))
        body = {"tool": "wipe", "args": {"x": "1"}, "session": session}
        told = service.told("host", "POST", "/v1/calls", {**body, "folder": str(work / "tmp")})
        assert told["wanted"]["folder"] == str(work / "tmp")
        service.answer(told["question"], "always")
        again = service.told("host", "POST", f"/v1/calls/{told['operation_id']}/retry", {})
        assert again["call"]["folder"] == str(work / "tmp"), "whoever runs it is told where"
        other = service.told("host", "POST", "/v1/calls", {**body, "folder": str(work / "keep")})
        assert other["status"] == "pending"
