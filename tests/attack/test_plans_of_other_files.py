"""A yes to a plan for one file never lets another file be changed (SPEC 6.4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.attack.opening import a_gate, a_service
from tests.attack.workplaces import work
from tests.support.service import Service

__all__ = ["work"]

PLAN = "Edit `src/a.py`: add a null check. Nothing else changes. Done when tests pass."
BOTH = "Edit `src/a.py` and `src/b.py`: add a null check. Nothing else changes. Done when tests pass."
POLICY = """
extends: [{preset}]
tools:
  - {{tool: rewrite, operation: files.edit}}
  - {{tool: retouch, operation: files.edit, target: args.what}}
"""
PATCH = "--- a/src/b.py\n+++ b/src/b.py\n@@ -1 +1 @@\n-x\n+y\n"
OTHERS: list[dict[str, Any]] = [
    {"path": "src/b.py"},
    {"path": "./src/../src/b.py"},
    {"filename": "src/b.py"},
    {"spec": {"f": "src/b.py"}},
    {"spec": [["x", "src/b.py"]]},
    {"edits": {"src/b.py": "x"}},
    {"files": ["src/b.py", "src/c.py"]},
    {"files": ["src/a.py", "src/b.py"]},
    {"files": [{"path": "src/b.py", "content": "x"}]},
    {"path": "src/a.py", "target_file": "src/b.py"},
    {"path": "src/a.py", "output": "src/b.py"},
    {"path": "src/a.py", "rename": "b.py"},
    {"path": "src/a.py", "copy_to": "src/new"},
    {"path": "src/a.py", "edits": [{"path": "src/b.py"}]},
    {"path": "src/a.py", "patch": PATCH},
    {"path": "src/a.py", "also": "notes.txt"},
    {"path": "src/a.py", "script": "src/b.py"},
    {"path": "src/a.py", "args": ["--out=src/b.py"]},
    {"path": "src/a.py,src/b.py"},
    {"path": "src"},
    {"path": "."},
    {"path": "src/*.py"},
    {"path": "src/link.py"},
    {"directory": "src", "filename": "b.py"},
    {"path": "a.py", "cwd": "src"},
]
SAME: list[dict[str, Any]] = [
    {"path": "src/a.py"},
    {"path": "./src/a.py", "content": "see src/b.py", "old_string": "src/b.py", "new_string": "src/c.py"},
    {"path": "src/a.py", "old": "foo.bar", "new": "a b"},
    {"files": ["src/a.py"], "cwd": "."},
    {"files": [{"path": "src/a.py", "content": "x"}]},
    {"path": "src/a.py", "url": "https://example.com/src/b.py", "line": 3, "encoding": "utf-8"},
    {},
]


@pytest.fixture
def project(work: Path) -> Path:
    (work / "src").mkdir()
    for name in ("a.py", "b.py"):
        (work / "src" / name).write_text("x")
    (work / "src" / "link.py").symlink_to(work / "src" / "b.py")
    return work


def planned(service: Service, project: Path, plan: str = PLAN) -> str:
    """A session in which the user has just accepted this plan."""
    session = service.opened("host", workspace=str(project))
    for path, body in (
        ("messages", {"text": "fix it"}),
        ("plans", {"plan": plan, "shown": True}),
        ("messages", {"text": "go ahead"}),
    ):
        service.told("host", "POST", f"/v1/sessions/{session}/{path}", body)
    return session


def made(
    service: Service,
    project: Path,
    tool: str,
    args: dict[str, Any],
    plan: str = PLAN,
    more: dict[str, Any] | None = None,
) -> Any:
    body = {"session": planned(service, project, plan), "tool": tool, "args": args, "folder": str(project)}
    return service.post("host", "/v1/calls", body | (more or {})).json()


DECLARED = {"operations": [{"operation": "files.edit"}]}


@pytest.mark.parametrize("args", OTHERS)
def test_a_plan_never_covers_a_path_that_it_does_not_name(project: Path, args: dict[str, Any]) -> None:
    with a_gate(POLICY.format(preset="chat")) as gate, a_service(gate) as service:
        for tool, more in (("rewrite", None), ("change", DECLARED)):
            found = made(service, project, tool, args, more=more)
            assert found.get("rule") != "plan", found
            assert found["status"] != "allowed", found


@pytest.mark.parametrize("args", SAME)
def test_a_plan_covers_calls_on_what_it_names_and_calls_without_a_path(
    project: Path, args: dict[str, Any]
) -> None:
    with a_gate(POLICY.format(preset="chat")) as gate, a_service(gate) as service:
        for tool, more in (("rewrite", None), ("change", DECLARED)):
            found = made(service, project, tool, args, more=more)
            assert (found["status"], found["rule"]) == ("allowed", "plan"), found


def test_a_plan_covers_several_paths_only_if_it_names_all(project: Path) -> None:
    with a_gate(POLICY.format(preset="chat")) as gate, a_service(gate) as service:
        for args in ({"files": ["src/a.py", "src/b.py"]}, {"path": "src/a.py", "output": "src/b.py"}):
            assert made(service, project, "rewrite", args, BOTH)["rule"] == "plan"
        edit = {"path": "src/a.py", "file_path": "src/b.py"}
        assert made(service, project, "edit_file", edit, BOTH)["rule"] == "plan"
        assert made(service, project, "edit_file", edit, PLAN)["status"] != "allowed"


def test_a_declared_target_never_hides_another_path(project: Path) -> None:
    with a_gate(POLICY.format(preset="chat")) as gate, a_service(gate) as service:
        assert made(service, project, "retouch", {"what": "src/a.py"})["rule"] == "plan"
        other = {"what": "src/a.py", "path": "src/b.py"}
        assert made(service, project, "retouch", other)["status"] != "allowed"


@pytest.mark.parametrize("preset", ["chat", "balanced", "coding"])
def test_a_plan_never_lets_a_decorated_function_change_another_file(project: Path, preset: str) -> None:
    ran: list[str] = []
    with a_gate(f"extends: [{preset}]") as gate:

        @gate.requires_consent("files.edit", risk="moderate")
        def change(path: str, content: str) -> None:
            ran.append(path)

        for path, status in (("src/b.py", "timeout"), ("src/a.py", "ok")):
            with gate.session(workspace=str(project)).active() as session:
                session.hear("fix it")
                session.plan(PLAN)
                session.hear("go ahead")
                assert session.run("change", {"path": path, "content": "x"}, wait=0).status == status
    assert ran == ["src/a.py"]
