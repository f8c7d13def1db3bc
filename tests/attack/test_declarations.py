"""A tool declaration always speaks, and a preset never lowers what code declares (SPEC 3)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from sayso import ConsentDenied, ConsentRequired, Sayso
from sayso.core.model import Risk
from sayso.doors.python.session import Session
from tests.attack.opening import a_gate, answer_last
from tests.attack.workplaces import work
from tests.support.rows import each_row

__all__ = ["work"]

WHEN = """
extends: [balanced]
domains:
  bank: {autonomous: [pay], requires_approval: [transfer], blocked: [empty]}
tools:
  - {tool: transfer, operation: bank.empty, when: "args.amount > 100"}
  - {tool: transfer, operation: bank.transfer}
"""


def decorated(gate: Sayso, name: str, operation: str, risk: str | None, ran: list[Any]) -> Any:
    """A function of one path under a name that the policy knows as a tool."""

    def body(path: str) -> str:
        ran.append(path)
        return path

    body.__name__ = body.__qualname__ = name
    return gate.requires_consent(operation, risk=risk)(body)


def at_work(gate: Sayso, work: Path) -> AbstractContextManager[Session]:
    return gate.session(agent="a", workspace=str(work)).active()


@pytest.mark.parametrize(
    "path", ["~/.ssh/id_rsa", "../home/.ssh/id_rsa", ".env", "notes/../.env.local", "/proc/1/environ"]
)
@pytest.mark.parametrize("preset", ["balanced", "coding"])
def test_a_decorated_reader_never_reads_a_secret_unasked(work: Path, preset: str, path: str) -> None:
    ran: list[Any] = []
    with a_gate(f"extends: [{preset}]") as gate, gate.session(agent="a", workspace=str(work)).active():
        read_file = decorated(gate, "read_file", "files.read", "low", ran)
        assert read_file("notes.txt") == "notes.txt"
        with pytest.raises((ConsentRequired, ConsentDenied)):
            read_file(path)
        result = gate.run("read_file", {"path": path}, wait=0)
        assert result.status in ("timeout", "denied", "blocked")
    assert ran == ["notes.txt"]


@pytest.mark.parametrize("path", [".env", "sub/../.env", "~/.ssh/authorized_keys"])
def test_a_yes_to_one_write_never_lets_a_decorated_writer_change_secrets(work: Path, path: str) -> None:
    ran: list[Any] = []
    with a_gate("extends: [balanced]") as gate, at_work(gate, work) as session:
        write_file = decorated(gate, "write_file", "files.write", "moderate", ran)
        session.hear("write it down")
        with pytest.raises(ConsentRequired):
            write_file("notes.txt")
        answer_last(gate, session.id, "task")
        assert write_file("notes.txt") == "notes.txt"
        with pytest.raises(ConsentDenied) as refused:
            write_file(path)
        assert refused.value.rule == "blocked"
    assert ran == ["notes.txt"]


OTHER_PATHS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "notes.txt", "paths": ["~/.ssh/id_rsa"]}),
    ("Read", {"file_path": "notes.txt", "path": "~/.ssh/id_rsa"}),
    ("Grep", {"pattern": "KEY", "path": ".", "glob": ".env"}),
    ("grep_files", {"path": ".", "include": "../home/.ssh/id_rsa"}),
    ("Read", {"file_path": "notes.txt", "doc": "~/.ssh/id_rsa"}),
    ("Read", {"file_path": "notes.txt", "files": {"~/.ssh/id_rsa": 1}}),
    ("Read", {"file_path": "notes.txt", "x": {"path": ".env"}}),
]


@pytest.mark.parametrize(("tool", "args"), OTHER_PATHS, ids=repr)
def test_a_secret_named_beside_the_declared_path_is_never_read_unasked(
    work: Path, tool: str, args: dict[str, Any]
) -> None:
    with a_gate("extends: [balanced]") as gate:
        session = gate.session(agent="a", workspace=str(work))
        assert not session.call(tool, args).allowed


OTHER_TARGETS: list[dict[str, Any]] = [
    {"dest": "~/.ssh/authorized_keys"},
    {"output": "/etc/cron.d/x"},
    {"also": ["/etc/passwd"]},
    {"backup": ".git/hooks/pre-commit"},
    {"backup": ".env"},
    {"root": "/etc"},
    {"files": {"/etc/cron.d/x": "x"}},
    {"uri": "file:///etc/passwd"},
]


@pytest.mark.parametrize("more", OTHER_TARGETS, ids=repr)
def test_a_yes_to_edits_never_covers_a_target_named_beside_the_declared_path(
    work: Path, more: dict[str, Any]
) -> None:
    with a_gate("extends: [coding]") as gate:
        session = gate.session(agent="a", workspace=str(work))
        session.hear("write it down")
        session.call("Write", {"file_path": "notes.txt", "content": "x"})
        answer_last(gate, session.id, "task")
        assert session.call("Write", {"file_path": "notes.txt", "content": "see /etc/passwd"}).allowed
        assert not session.call("Write", {"file_path": "notes.txt", "content": "x", **more}).allowed


@pytest.mark.parametrize("tool", ["Glob", "Grep", "glob_files", "grep_files", "list_files", "search_files"])
def test_listing_and_searching_without_a_path_go_through_the_working_folder(work: Path, tool: str) -> None:
    with a_gate("extends: [balanced]") as gate:
        session = gate.session(agent="a", workspace=str(work))
        assert session.call(tool, {"pattern": "**/*.py"}).allowed


def test_a_condition_that_leads_to_a_blocked_operation_is_never_passed_over_in_code() -> None:
    ran: list[int] = []
    with a_gate(WHEN) as gate, gate.session(agent="a").active():

        @gate.requires_consent("bank.pay", risk="low")
        def transfer(amount: int) -> None:
            ran.append(amount)

        with pytest.raises(ConsentDenied) as refused:
            transfer(101)
        assert refused.value.rule == "blocked"
        with pytest.raises(ConsentRequired):
            transfer(100)
        assert gate.run("transfer", {"amount": 101}, wait=0).status == "blocked"
    assert ran == []


def test_a_capability_that_declares_nothing_is_decided_where_the_policy_knows_its_tool() -> None:
    ran: list[int] = []
    with a_gate(WHEN) as gate, gate.session(agent="a").active():

        @gate.capability()
        def transfer(amount: int) -> None:
            ran.append(amount)

        assert gate.run("transfer", {"amount": 101}, wait=0).status == "blocked"
        assert gate.run("transfer", {"amount": 100}, wait=0).status == "timeout"
    assert ran == []


@each_row("preset", ["balanced", "coding", "chat", "gateway", "trusting", "graph", "paranoid"])
@each_row("operation", ["files.read", "files.delete", "git.status", "git.log", "email.read", "misc.x"])
def test_a_preset_never_lowers_what_code_declares(preset: str, operation: str) -> None:
    ran: list[int] = []
    with a_gate(f"extends: [{preset}]") as gate, gate.session(agent="a").active():

        @gate.requires_consent(operation, risk="high")
        def act() -> None:
            ran.append(1)

        with pytest.raises(ConsentRequired) as asked:
            act()
        assert asked.value.risk is Risk.HIGH
    assert ran == []


@pytest.mark.parametrize("preset", ["balanced", "coding"])
def test_a_tools_entry_of_a_preset_never_lowers_what_the_function_of_that_name_declares(
    work: Path, preset: str
) -> None:
    with a_gate(f"extends: [{preset}]") as gate:

        @gate.requires_consent("files.read", risk="high")
        def read_file(path: str) -> str:
            return path

        with pytest.raises(ConsentRequired) as raised:
            read_file("a.txt")
        assert raised.value.risk is Risk.HIGH


def test_the_operators_own_file_may_lower_what_code_declares() -> None:
    with (
        a_gate("extends: [balanced]\noperations: {files.read: {risk: low}}") as gate,
        gate.session(agent="a"),
    ):

        @gate.requires_consent("files.read", risk="high")
        def act() -> str:
            return "ran"

        assert act() == "ran"


def test_a_detail_of_the_operators_that_sets_no_risk_does_not_lower_anything() -> None:
    text = "extends: [balanced]\noperations: {files.read: {reason: reads}}"
    with a_gate(text) as gate, gate.session(agent="a").active():

        @gate.requires_consent("files.read", risk="high")
        def act() -> str:
            return "ran"

        with pytest.raises(ConsentRequired):
            act()


@pytest.mark.parametrize("preset", ["chat", "balanced", "coding", "trusting"])
def test_a_yes_to_file_edits_never_lets_a_file_be_deleted(work: Path, preset: str) -> None:
    with a_gate(f"extends: [{preset}]") as gate:
        session = gate.session(agent="a", workspace=str(work))
        session.hear("tidy up")
        session.call("edit_file", {"path": "notes.txt", "old": "a", "new": "b"})
        answer_last(gate, session.id, "task")
        assert session.call("edit_file", {"path": "notes.txt", "old": "b", "new": "c"}).rule == "task_grant"
        assert not session.call("delete_file", {"path": "notes.txt"}).allowed
