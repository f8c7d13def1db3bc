"""The path reading of the actual call can always raise what was declared of it (SPEC 3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sayso import ConsentDenied, ConsentRequired, Sayso
from sayso.core.model import Risk, Verdict
from tests.attack.guarded_home import Agent, coder, home
from tests.attack.opening import a_gate, a_service
from tests.attack.workplaces import work

__all__ = ["coder", "home", "work"]

SECRETS = (
    ".env",
    " .env",
    "./.env",
    '".env"',
    "sub/../.env.local",
    "~/.ssh/id_rsa",
    "$HOME/.ssh/id_rsa",
    "../home/.ssh/id_rsa",
    "file:.env",
    "%2eenv",
    "/proc/1/environ",
    "/etc/shadow",
    "id_rsa",
    "plain",
    "notes.txt,.env",
)


READS = [{"operation": "files.read"}]


def decorated(gate: Sayso, operation: str, risk: str, ran: list[str]) -> Any:
    """A function that no tool entry of a preset knows."""

    @gate.requires_consent(operation, risk=risk)
    def look(path: str) -> str:
        ran.append(path)
        return path

    return look


@pytest.mark.parametrize("path", SECRETS)
@pytest.mark.parametrize("operation", ["files.read", "notes.show", "misc.x"])
def test_no_declaration_lets_a_function_take_a_secret_unasked(work: Path, path: str, operation: str) -> None:
    (work / "plain").symlink_to(work.parent / "home" / ".ssh" / "id_rsa")
    ran: list[str] = []
    with a_gate("extends: [balanced]") as gate, gate.session(agent="a", workspace=str(work)).active():
        look = decorated(gate, operation, "low", ran)
        assert look("notes.txt") == "notes.txt"
        with pytest.raises(ConsentRequired) as asked:
            look(path)
        assert asked.value.risk is Risk.HIGH
        assert gate.run("look", {"path": path}, wait=0).status == "timeout"
    assert ran == ["notes.txt"]


@pytest.mark.parametrize("name", ["p", "what", "doc", "name", "thing", "file", "entry"])
@pytest.mark.parametrize("path", [".env", "~/.ssh/id_rsa", "../home/.ssh/id_rsa", "sub/.env"])
def test_a_secret_is_one_under_any_name_of_an_argument(work: Path, name: str, path: str) -> None:
    with a_gate("extends: [balanced]") as gate, a_service(gate) as service:
        session = service.opened(workspace=str(work))
        for args in ({name: path}, {name: [path]}, {name: {path: 1}}, {"x": {"y": [{name: path}]}}):
            call = {"tool": "look", "args": args, "session": session, "operations": READS}
            told = service.told("host", "POST", "/v1/check", call)
            assert (told["verdict"], told["rule"]) == ("ask", "risky"), args


KEYS: list[dict[str, Any]] = [
    {"files": {"~/.ssh/id_rsa": 1}},
    {"~/.ssh/id_rsa": 1},
    {"set": {"a": {".env": {}}}},
]


def test_a_secret_as_a_key_is_never_read_unasked_by_a_tool_that_a_host_declares(work: Path) -> None:
    with a_gate("extends: [balanced]") as gate, a_service(gate) as service:
        session = service.opened(workspace=str(work))
        for args in KEYS:
            call = {"tool": "read_set", "args": args, "session": session, "operations": READS}
            assert service.told("host", "POST", "/v1/check", call)["verdict"] != "allow", args


@pytest.mark.parametrize("path", ["/etc/cron.d/x", "/usr/lib/x", "/dev/sda", "/var/../etc/hosts"])
def test_no_declaration_lets_a_function_change_the_system_unasked(work: Path, path: str) -> None:
    ran: list[str] = []
    with a_gate("extends: [balanced]") as gate, gate.session(agent="a", workspace=str(work)).active():

        @gate.requires_consent("config.keep", risk="low")
        def keep(path: str) -> None:
            ran.append(path)

        keep("notes.txt")
        with pytest.raises(ConsentRequired) as asked:
            keep(path)
        assert asked.value.risk is Risk.HIGH
    assert ran == ["notes.txt"]


def test_a_tool_entry_without_a_resolver_lets_no_secret_through(work: Path) -> None:
    policy = "extends: [balanced]\ntools:\n  - {tool: look, operation: files.read}"
    with a_gate(policy) as gate:
        session = gate.session(agent="a", workspace=str(work))
        assert session.call("look", {"it": "notes.txt"}).allowed
        assert not session.call("look", {"it": ".env"}).allowed


HARMLESS: list[dict[str, Any]] = [
    {"path": "/etc/hosts"},
    {"path": "src/environment.py"},
    {"title": "Rotate the id_rsa key"},
    {"title": ".env"},
    {"message": "see ~/.ssh/config"},
    {"text": ".env is not read"},
    {"note": "see server.pem and .env"},
    {"label": "prod.key"},
    {"key": "home.title.key"},
    {"name": "monitor.key"},
    {"to": "ana@example.com", "subject": ".env", "body": "the file .env is missing"},
    {"url": "https://example.com/docs/.env"},
    {"python": "/usr/bin/python3"},
    {"exclude": [".env", "*.pem"]},
    {"query": "~/.ssh/known"},
    {"amount": 5, "ratio": 0.5, "flag": True},
]


@pytest.mark.parametrize("args", HARMLESS, ids=repr)
def test_ordinary_arguments_raise_nothing(work: Path, args: dict[str, Any]) -> None:
    policy = "extends: [balanced]\ntools:\n  - {tool: look_up, operation: files.read}"
    with a_gate(policy) as gate:
        assert gate.session(agent="a", workspace=str(work)).call("look_up", args).allowed


PATCHES = (
    "*** Update File: AGENTS.md",
    "*** Begin Patch\n*** Delete File: AGENTS.md\n*** End Patch",
    "*** Begin Patch\n*** Update File: a.py\n*** Move to: AGENTS.md\n*** End Patch",
    "--- a/a.py\n+++ b/AGENTS.md\n@@ -1 +1 @@\n-a\n+b\n",
    "--- AGENTS.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
    "--- a/AGENTS.md\t2026-01-01\n+++ b/AGENTS.md\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n",
    '--- "a/AGENTS.md"\n+++ "b/AGENTS.md"\n@@ -1 +1 @@\n-a\n+b\n',
    "*** AGENTS.md\n--- AGENTS.md\n***************\n",
    "Index: AGENTS.md\n=====\n--- x\n+++ x\n",
    "diff --git a/a.md b/AGENTS.md\nsimilarity index 100%\nrename from a.md\nrename to AGENTS.md\n",
    "diff --git a/AGENTS.md b/AGENTS.md\ndeleted file mode 100644\n",
    "diff --git a/AGENTS.md b/AGENTS.md\r\nold mode 100644\r\nnew mode 100755\r\n",
    "--- i/.claude/settings.json\n+++ w/.claude/settings.json\n@@ -1 +1 @@\n-a\n+b\n",
    "AGENTS.md\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
)


ODD_PATCHES = (
    (
        'diff --git "a/\\101GENTS.md" "b/\\101GENTS.md"\n--- "a/\\101GENTS.md"\n'
        '+++ "b/\\101GENTS.md"\n@@ -1 +1 @@\n-a\n+b\n'
    ),
    '--- "a/.claud\\145/settings.json"\n+++ "b/.claud\\145/settings.json"\n@@ -1 +1 @@\n-a\n+b\n',
    "\ufeff--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1 @@\n-a\n+b\n",
    "--- a/x\r+++ b/AGENTS.md\r@@ -1 +1 @@\r-a\r+b\r",
    "Prereq: 1\n*** AGENTS.md\t2026\n--- AGENTS.md\t2026\n***************\n",
    "*** Begin Patch\n***Update File: AGENTS.md\n*** End Patch",
    "*** Begin Patch\n***\u00a0Update File: AGENTS.md\n*** End Patch",
    "*** Begin Patch\n***\tUpdate File: AGENTS.md\n*** End Patch",
    "*** Begin Patch\n*** Rename File To: AGENTS.md\n*** End Patch",
    "AGENTS.md\n<<<< SEARCH\na\n====\nb\n>>>> REPLACE",
    "AGENTS.md\n<<<<<<< ORIGINAL\na\n=======\nb\n>>>>>>> UPDATED",
    "AGENTS.md\n\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE",
    '<file path="AGENTS.md">\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE',
    "diff -r 000 -r 111 AGENTS.md\n@@ -1 +1 @@\n-a\n+b\n",
    "diff -ru old/AGENTS.md new/AGENTS.md\n1c1\n< a\n---\n> b\n",
)


@pytest.mark.parametrize("patch", ODD_PATCHES)
@pytest.mark.parametrize("name", ["patch", "diff", "text", "data"])
def test_no_odd_spelling_of_a_patch_hides_the_file_it_writes(coder: Agent, patch: str, name: str) -> None:
    assert coder.verdict("apply_patch", {name: patch}) is Verdict.DENY
    assert coder.verdict("save", {name: patch}) is Verdict.DENY


def test_an_ed_script_names_the_file_it_writes(coder: Agent) -> None:
    assert coder.verdict("apply_patch", {"patch": "1c\nfoo\n.\nw AGENTS.md\n"}) is Verdict.DENY
    assert coder.verdict("save", {"diff": "1,$s/a/b/\nw AGENTS.md\nq\n"}) is Verdict.DENY


@pytest.mark.parametrize("patch", PATCHES)
@pytest.mark.parametrize("name", ["text", "patch", "diff", "input", "content", "x"])
def test_no_patch_writes_a_guarded_file_under_any_name_of_its_argument(
    coder: Agent, patch: str, name: str
) -> None:
    assert coder.verdict("apply_patch", {name: patch}) is Verdict.DENY
    assert coder.verdict("ApplyDiff", {"args": {name: [patch]}}) is Verdict.DENY


@pytest.mark.parametrize("patch", PATCHES[1:])
def test_no_tool_that_changes_files_takes_a_patch_of_a_guarded_file(coder: Agent, patch: str) -> None:
    assert coder.verdict("edit_files", {"text": patch}) is Verdict.DENY


def test_a_patch_of_a_secret_or_the_system_is_high_risk(coder: Agent) -> None:
    for path in (".env", "/etc/cron.d/x", "../.ssh/authorized_keys"):
        called = coder.session.call("apply_patch", {"text": f"*** Add File: {path}\n+x"})
        assert {item.risk for item in called.decision.items} == {Risk.HIGH}, path
    called = coder.session.call("apply_patch", {"text": "*** Add File: src/a.py\n+.env\n--- x\n"})
    assert max(item.risk for item in called.decision.items) is not Risk.LOW


@pytest.mark.parametrize("tool", ["frobnicate", "open_thing", "mcp__x__process"])
def test_a_link_hides_a_guarded_file_from_no_tool_of_an_unknown_verb(
    coder: Agent, home: Path, tool: str
) -> None:
    project = home / "project"
    (project / "AGENTS.md").touch()
    (project / "sub").mkdir()
    (project / "notes").symlink_to("AGENTS.md")
    (project / "sub" / "n").symlink_to("../AGENTS.md")
    (project / "hard").hardlink_to(project / "AGENTS.md")
    for args in ({"path": "notes"}, {"x": "sub/n"}, {"x": ["hard"]}, {"folder": "sub", "leaf": "n"}):
        assert coder.verdict(tool, args) is Verdict.DENY, args
    assert coder.verdict(tool, {"path": "AGENTS.md"}) is Verdict.ASK
    assert coder.operations("git_add", {"paths": ["notes"]}) == {"git.add"}


@pytest.mark.parametrize("name", ["system_prompt", "safety_rules", "SYSTEM-PROMPT"])
def test_a_guarded_name_without_dot_or_slash_is_guarded(coder: Agent, name: str) -> None:
    assert coder.verdict("write_notes", {"path": name}) is Verdict.DENY


@pytest.mark.parametrize(
    "args",
    [
        {"pattern": "~/.ssh/*"},
        {"pattern": "../home/.ssh/*"},
        {"pattern": "**/.ssh/*"},
        {"pattern": ".ssh/*", "path": "~"},
        {"pattern": "*", "path": "~/.ssh"},
        {"pattern": "/home/*/.ssh/id_*"},
        {"pattern": ".env*"},
        {"patterns": ["*.py", "~/.aws/**"]},
    ],
    ids=repr,
)
@pytest.mark.parametrize("tool", ["Glob", "glob_files", "list_files"])
def test_no_pattern_lists_the_names_of_secrets_unasked(work: Path, tool: str, args: dict[str, Any]) -> None:
    with a_gate("extends: [balanced]") as gate:
        assert not gate.session(agent="a", workspace=str(work)).call(tool, args).allowed


def test_a_yes_never_carries_a_declared_function_from_a_file_to_a_secret(work: Path) -> None:
    ran: list[str] = []
    with a_gate("extends: [balanced]") as gate, gate.session(agent="a", workspace=str(work)).active():
        look = decorated(gate, "notes.show", "low", ran)
        with gate.user_initiated("notes.show"):
            look("notes.txt")
        (work / "notes.txt").unlink()
        (work / "notes.txt").symlink_to(work.parent / "home" / ".ssh" / "id_rsa")
        with pytest.raises((ConsentRequired, ConsentDenied)):
            look("notes.txt")
    assert ran == ["notes.txt"]


BARE = "domains: {tasks: {autonomous: [read], requires_approval: [], blocked: []}}"


@pytest.mark.parametrize("policy", ["extends: [balanced]", BARE])
def test_a_function_that_declares_nothing_takes_neither_secrets_nor_the_guard(
    work: Path, policy: str
) -> None:
    ran: list[str] = []
    with a_gate(policy) as gate, gate.session(agent="a", workspace=str(work)).active():

        @gate.capability()
        def save(path: str) -> None:
            ran.append(path)

        assert gate.run("save", {"path": "notes.txt"}, wait=0).status == "ok"
        for path in (".env", "~/.ssh/id_rsa", "/etc/cron.d/x"):
            assert gate.run("save", {"path": path}, wait=0).status == "timeout", path
        for path in ("AGENTS.md", ".claude/settings.json"):
            assert gate.run("save", {"path": path}, wait=0).status == "blocked", path
    assert ran == ["notes.txt"]
