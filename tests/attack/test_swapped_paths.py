"""Readings are made again (SPEC 2): when a call is decided, and again before one that waited starts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso
from sayso.doors.python.session import Session
from sayso.gate.call_rows import KeyReused
from sayso.gate.questions.answer import answer_question
from tests.attack.opening import a_gate, a_service, answer_last
from tests.attack.workplaces import work

__all__ = ["work"]


def at_work(gate: Sayso, work: Path) -> AbstractContextManager[Session]:
    return gate.session(agent="a", workspace=str(work)).active()


def swap(work: Path, to: Path) -> None:
    (work / "notes.txt").unlink()
    (work / "notes.txt").symlink_to(to)


TARGETS: dict[str, Callable[[Path], Path]] = {
    "secret": lambda work: work.parent / "home" / ".ssh" / "authorized_keys",
    "outside": lambda work: work.parent / "elsewhere.txt",
    "system": lambda work: Path("/etc/cron.d/x"),
    "inside": lambda work: work / "other.txt",
}
EDIT = {"path": "notes.txt", "content": "ssh-rsa AAAA"}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("answer", ["once", "always", "temporary"])
def test_an_approval_never_follows_a_path_that_was_swapped(work: Path, to: str, answer: str) -> None:
    with a_gate("extends: [balanced]") as gate:
        session = gate.session(agent="a", workspace=str(work))
        called = session.call("write_file", EDIT)
        answer_last(gate, session.id, answer)
        swap(work, TARGETS[to](work))
        assert not called.retry().allowed
        assert not session.call("write_file", EDIT).allowed


def test_an_approval_of_a_decorated_call_never_follows_a_swapped_path(work: Path) -> None:
    ran: list[Any] = []
    with a_gate("extends: [balanced]") as gate, at_work(gate, work) as session:

        @gate.requires_consent("files.write", risk="moderate")
        def write_file(path: str, content: str) -> None:
            ran.append(path)

        late = gate.run("write_file", EDIT, wait=0)
        answer_last(gate, session.id, "once")
        swap(work, TARGETS["secret"](work))
        assert gate.retry(late.operation_id or "", wait=0).status == "blocked"
    assert ran == []


def test_an_approval_over_http_never_follows_a_swapped_path(work: Path) -> None:
    with a_gate("extends: [balanced]") as gate, a_service(gate) as service:
        session = service.opened(workspace=str(work))
        told = service.told(
            "host", "POST", "/v1/calls", {"tool": "write_file", "args": EDIT, "session": session}
        )
        answer_question(gate.gate, told["question"], "once", by="ana")
        swap(work, TARGETS["secret"](work))
        again = service.told("host", "POST", f"/v1/calls/{told['operation_id']}/retry", {})
        assert again["status"] == "blocked"


def test_a_recorded_decision_never_serves_for_a_path_that_was_swapped(work: Path) -> None:
    with a_gate("extends: [balanced]") as gate:
        session = gate.session(agent="a", workspace=str(work))
        first = session.call("write_file", EDIT, call_id="c1")
        answer_last(gate, session.id, "once")
        assert first.retry().allowed
        swap(work, TARGETS["outside"](work))
        with pytest.raises(KeyReused, match="has changed"):
            session.call("write_file", EDIT, call_id="c1")


def test_the_free_retry_of_a_failed_call_never_follows_a_swapped_path(work: Path) -> None:
    with a_gate("extends: [chat]") as gate:
        session = gate.session(agent="a", workspace=str(work))
        session.hear("write it down")
        called = session.call("write_file", EDIT)
        session.hear("yes")
        running = called.retry()
        assert running.allowed
        running.failed()
        swap(work, TARGETS["inside"](work))
        assert not session.call("write_file", EDIT).allowed


def test_a_replay_never_follows_a_swapped_path(work: Path) -> None:
    ran: list[Any] = []
    with a_gate("extends: [balanced]") as gate, at_work(gate, work) as session:

        @gate.requires_consent("files.write", risk="moderate")
        def write_file(path: str, content: str) -> None:
            ran.append(path)

        late = gate.run("write_file", EDIT, wait=0)
        answer_last(gate, session.id, "always")
        swap(work, TARGETS["inside"](work))
        with gate.session(agent="b", workspace=str(work)).active():
            assert gate.replay(late.operation_id or "", wait=0).status != "ok"
    assert ran == []


@pytest.mark.parametrize("preset", ["balanced", "coding", "chat"])
def test_a_workspace_that_was_swapped_for_a_link_takes_no_consent_along(work: Path, preset: str) -> None:
    elsewhere = work.parent / "elsewhere"
    elsewhere.mkdir()
    with a_gate(f"extends: [{preset}]") as gate:
        session = gate.session(agent="a", workspace=str(work))
        session.hear("write it down")
        session.call("write_file", EDIT)
        answer_last(gate, session.id, "task")
        assert session.call("write_file", {**EDIT, "content": "more"}).allowed
        work.rename(work.parent / "work.old")
        work.symlink_to(elsewhere)
        assert not session.call("write_file", {"path": "x.desktop", "content": "x"}).allowed
        assert not session.call("write_file", {"path": str(elsewhere / "y"), "content": "x"}).allowed


def test_a_path_that_stays_the_same_is_still_approved(work: Path) -> None:
    with a_gate("extends: [balanced]") as gate:
        session = gate.session(agent="a", workspace=str(work))
        called = session.call("write_file", EDIT)
        answer_last(gate, session.id, "once")
        assert called.retry().allowed


# --- what no tool entry reads (SPEC 2: resolved paths are part of every reading) ---

PLAIN = ("{}", "./{}", " {}", "{}\n")
SPELLED = dict.fromkeys(("path", "file_path", "to"), (*PLAIN, "file:{}", "${{PWD}}/{}")) | {"doc": PLAIN}
"""How a path may be written under these names; under the name of a text, only as itself."""


@pytest.mark.parametrize(("name", "spelled"), [(name, one) for name in SPELLED for one in SPELLED[name]])
@pytest.mark.parametrize("to", ["outside", "inside"])
def test_an_approval_of_an_undeclared_tool_never_follows_a_swapped_path(
    work: Path, spelled: str, name: str, to: str
) -> None:
    args = {name: spelled.format("notes.txt"), "content": "x"}
    for answer in ("once", "always"):
        with a_gate("extends: [coding]") as gate:
            session = gate.session(agent="a", workspace=str(work))
            called = session.call("publish", args)
            answer_last(gate, session.id, answer)
            swap(work, TARGETS[to](work))
            assert not called.retry().allowed
            assert not session.call("publish", args).allowed
        (work / "notes.txt").unlink()
        (work / "notes.txt").write_text("notes")


@pytest.mark.parametrize("path", ["d/notes.txt", "d/new.txt"])
@pytest.mark.parametrize("name", ["path", "doc"])
def test_an_approval_of_a_decorated_function_never_follows_a_swapped_folder(
    work: Path, path: str, name: str
) -> None:
    (work / "d").mkdir()
    (work / "d/notes.txt").write_text("n")
    (work.parent / "other").mkdir()
    ran: list[Any] = []
    with a_gate("extends: [coding]") as gate, at_work(gate, work) as session:

        @gate.requires_consent("notes.write", risk="moderate")
        def save(args: dict[str, str]) -> None:
            ran.append(args)

        late = gate.run("save", {"args": {name: path}}, wait=0)
        answer_last(gate, session.id, "once")
        (work / "d").rename(work / "old")
        (work / "d").symlink_to(work.parent / "other")
        assert gate.retry(late.operation_id or "", wait=0).status == "timeout"
    assert ran == []


def test_a_file_that_an_approved_call_makes_is_still_approved(work: Path) -> None:
    with a_gate("extends: [coding]") as gate:
        session = gate.session(agent="a", workspace=str(work))
        args = {"path": "new.txt", "doc": "new.txt"}
        called = session.call("publish", args)
        answer_last(gate, session.id, "always")
        (work / "new.txt").write_text("made")
        assert called.retry().allowed
