"""A command is what a declared tool runs, and what stands beside it counts (SPEC 2).

The attack: the operator gave standing consent to a command, and an agent says that command beside a call that
does something else, or hides what else it does in other arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sayso import Sayso
from sayso.core.errors import MalformedRequest
from sayso.gate.sessions.operator_grants import give_grant
from sayso.policy import PolicyProblems, load_text
from tests.attack.opening import a_gate, a_service
from tests.support.rows import each_row

POLICY = """
extends: [balanced]
tools:
  - {tool: notes, operation: notes.write, command: args.line, ignore: [comment]}
domains:
  notes: {autonomous: [], requires_approval: [write], blocked: []}
"""

CLAIMS: list[dict[str, Any]] = [
    {"tool": "bank_transfer", "args": {"amount": 1_000_000, "memo": "git push"}, "command": "git push"},
    {"tool": "wipe_disk", "args": {}, "command": "git push"},
    {"tool": "wipe_disk", "args": {"note": "git push"}, "command": "git push"},
    {"tool": "write_file", "args": {"path": "/etc/cron.d/x", "content": "git push"}, "command": "git push"},
    {"tool": "run_bash", "args": {"command": "rm -rf /", "x": "git push"}, "command": "git push"},
    {"tool": "run_bash", "args": {"command": ["git push"]}, "command": "git push"},
    {"tool": "run_bash", "args": {"command": " git push"}, "command": "git push"},
    {"tool": "Bash", "args": {"cmd": "git push"}, "command": "git push"},
    {"tool": "git_push", "args": {"remote": "git push"}, "command": "git push"},
]
"""Calls that claim a command which no declaration says they run."""

COVERT: list[dict[str, Any]] = [
    {"command": "rm -rf /", "x": "git push"},
    {"command": "git push", "env": {"GIT_SSH_COMMAND": "evil"}},
    {"command": "git push", "environment": {"LD_PRELOAD": "./x.so"}},
    {"command": "git push", "stdin": "yes"},
    {"command": "git push", "cwd": "/elsewhere"},
    {"command": "git push", "workdir": "../other"},
    {"command": "git push", "directory": "/"},
    {"command": "git push", "shell": "./evil"},
    {"command": "git push", "sandbox": False},
    {"command": "git push", "run_in_background": True},
    {"command": "git push", "unknown": 0},
    {"command": "git push", "description": {"env": {"LD_PRELOAD": "x"}}},
    {"command": "git push", "timeout": [1], "description": "a\nb"},
    {"command": "git push", "description": "push", "args": ["--force"]},
    {"command": "git push --force"},
    {"command": "git push\ngit push --force"},
    {"command": "git\u00a0push"},
    {"command": "git push\u00a0"},
    {"command": "git push\r"},
    {"command": ["git", "push"]},
    {"command": [["git push"], ["rm -rf /"]]},
    {"command": {"line": "git push"}},
    {"Command": "git push"},
]
"""Arguments of a shell tool that standing consent for `git push` does not cover."""

PLAIN: list[dict[str, Any]] = [
    {"command": "git push"},
    {"command": " git push\n"},
    {"command": "git push", "description": "publish", "timeout": 5},
    {"command": "git push", "env": {}, "stdin": "", "cwd": None},
]


@pytest.fixture
def gate() -> Iterator[Sayso]:
    with a_gate(POLICY) as opened:
        yield opened


@pytest.mark.parametrize("call", CLAIMS, ids=repr)
def test_a_command_that_the_tool_is_not_declared_to_run_is_refused_in_the_process(
    gate: Sayso, call: dict[str, Any]
) -> None:
    with gate.session(agent="a") as session:
        give_grant(gate.gate, session.id, by="ana", command="git push")
        with pytest.raises(MalformedRequest, match="declared to run"):
            session.call(call["tool"], call["args"], command=call["command"])


@pytest.mark.parametrize("role", ["agent", "host"])
@pytest.mark.parametrize("call", CLAIMS, ids=repr)
@pytest.mark.parametrize("path", ["/v1/calls", "/v1/check"])
def test_a_command_that_the_tool_is_not_declared_to_run_is_refused_over_http(
    gate: Sayso, role: str, call: dict[str, Any], path: str
) -> None:
    with a_service(gate) as service:
        named = {} if role == "agent" else {"session": service.opened()}
        assert service.post(role, path, {**call, **named}).status_code == 400


@pytest.mark.parametrize("tool", ["run_bash", "Bash", "execute_command", "shell", "run_shell_command"])
@pytest.mark.parametrize("args", COVERT, ids=repr)
def test_standing_consent_for_a_command_never_covers_what_else_a_call_does(
    gate: Sayso, tool: str, args: dict[str, Any]
) -> None:
    with gate.session(agent="a") as session:
        give_grant(gate.gate, session.id, by="ana", command="git push")
        called = session.call(tool, args)
        assert not called.allowed
        assert called.rule != "allowlist"


@pytest.mark.parametrize("folder", ["/elsewhere", "/", "/workspace/../etc", "/workspace2"])
def test_standing_consent_never_covers_a_command_in_another_folder(gate: Sayso, folder: str) -> None:
    with a_service(gate) as service:
        session = service.opened(workspace="/workspace")
        give_grant(gate.gate, session, by="ana", command="./deploy.sh")
        body = {"tool": "run_bash", "args": {"command": "./deploy.sh"}, "session": session}
        there = service.told("host", "POST", "/v1/calls", {**body, "folder": folder})
        assert there["rule"] != "allowlist"
        inside = service.told("host", "POST", "/v1/calls", {**body, "folder": "/workspace/sub"})
        assert inside["rule"] == "allowlist"


GIT_FLAGS: list[tuple[str, str, dict[str, Any]]] = [
    ("/pr", "git_push", {"force": True, "branch": "main"}),
    ("/pr", "git_push", {"args": ["--force", "origin", "main"]}),
    ("/pr", "git_push", {"remote": "origin", "branch": "+main"}),
    ("/pr", "git_push", {"refspec": "-f"}),
    ("/commit", "git_commit", {"message": "x", "amend": True}),
    ("/commit", "git_commit", {"message": "x", "extra": "--amend"}),
    ("/pr", "git_push", {"branch": "main --force"}),
    ("/pr", "git_push", {"remote": "ext::sh -c id"}),
    ("/pr", "git_push", {"remote": "/elsewhere"}),
    ("/pr", "git_push", {"f": True}),
    ("/pr", "git_push", {"cwd": "/elsewhere"}),
    ("/commit", "git_commit", {"message": "x", "config": {"core.hooksPath": "x"}}),
    ("/commit", "git_commit", {"message": "x", "env": {"GIT_EDITOR": "x"}}),
]


@each_row(("slash", "tool", "args"), GIT_FLAGS, ids=repr)
@each_row("preset", ["chat", "balanced", "coding"])
def test_no_slash_command_lets_flags_rewrite_history(
    preset: str, slash: str, tool: str, args: dict[str, Any]
) -> None:
    with a_gate(f"extends: [{preset}]") as gate, gate.session(agent="a") as session:
        session.hear(slash)
        assert not session.call(tool, args).allowed


@pytest.mark.parametrize("tool", ["git_diff", "git_log", "git_status"])
def test_a_git_tool_with_flags_is_never_free(gate: Sayso, tool: str) -> None:
    with gate.session(agent="a") as session:
        assert session.call(tool, {}).allowed
        assert not session.call(tool, {"args": ["--output=.bashrc"]}).allowed


@pytest.mark.parametrize("args", PLAIN, ids=repr)
def test_standing_consent_covers_the_command_itself(gate: Sayso, args: dict[str, Any]) -> None:
    with gate.session(agent="a") as session:
        give_grant(gate.gate, session.id, by="ana", command="git push")
        assert session.call("run_bash", args).rule == "allowlist"


@pytest.mark.parametrize("args", [{"command": "git status", "env": {"PAGER": "evil"}}], ids=repr)
def test_an_order_to_run_a_command_never_covers_what_stands_beside_it(args: dict[str, Any]) -> None:
    text = "extends: [chat]\ntools: [{tool: sh, operation: git.status, command: args.command}]"
    with a_gate(text) as gate, gate.session(agent="a") as session:
        session.hear("Run `git status`")
        assert not session.call("sh", args).allowed
        assert session.call("sh", {"command": "git status"}).rule == "safe"


def test_a_slash_command_never_covers_what_stands_beside_the_command() -> None:
    text = "extends: [chat]\ntools: [{tool: commit, operation: git.commit, command: args.line}]"
    with a_gate(text) as gate, gate.session(agent="a") as session:
        session.hear("/commit")
        assert not session.call("commit", {"line": "git commit", "env": {"GIT_EDITOR": "evil"}}).allowed
        assert session.call("commit", {"line": "git commit"}).rule == "slash_command"
        assert session.call("git_commit", {"message": "x"}).rule == "slash_command"


@pytest.mark.parametrize(
    "name", ["env", "ENV", "env_vars", "stdin", "cwd", "workdir", "working_directory", "args.env"]
)
def test_what_can_change_a_command_is_never_listed_as_harmless(name: str) -> None:
    text = f"tools: [{{tool: sh, resolve: shell, command: args.command, ignore: [{name}]}}]"
    with pytest.raises(PolicyProblems, match="can change what a command does"):
        load_text(f"extends: [balanced]\n{text}")


def test_a_command_is_never_two_arguments() -> None:
    with pytest.raises(PolicyProblems, match="one argument"):
        load_text("extends: [balanced]\ntools: [{tool: sh, resolve: shell, command: 'args.a, args.b'}]")


def test_a_refused_command_says_whether_the_tool_declares_one_and_which_argument_it_is(gate: Sayso) -> None:
    with gate.session(agent="a") as session:
        with pytest.raises(MalformedRequest) as undeclared:
            session.call("frobnicate", {"line": "git push"}, command="git push")
        with pytest.raises(MalformedRequest) as different:
            session.call("run_bash", {"command": "ls"}, command="git push")
    assert "frobnicate is not declared to run a command" in undeclared.value.message
    hint = str(undeclared.value.hint)
    assert "leave `command` out" in hint
    assert "{tool: frobnicate, command: args.line}" in hint
    assert "argument command" in different.value.message
    assert different.value.hint == "leave `command` out: Sayso reads it from the argument command"
