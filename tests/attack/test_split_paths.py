"""A path that is cut into pieces: each argument alone is harmless, together they lead somewhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sayso.core.model import Risk, Verdict
from sayso.policy import load_preset
from tests.attack.guarded_home import Agent, coder, home
from tests.attack.opening import a_gate, a_service, answer_last
from tests.attack.workplaces import work

__all__ = ["coder", "home", "work"]

FOLDERS = ("directory", "dir", "cwd", "root", "base_dir", "folder", "parent", "workdir", "where", "prefix")
NAMED = ("file_path", "path", "name", "filename", "relative_path", "leaf", "title_of_page")


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("tool", ["Write", "write_file", "save_somewhere"])
def test_no_two_arguments_together_lead_to_a_guarded_file(coder: Agent, tool: str, folder: str) -> None:
    for name in NAMED:
        assert coder.verdict(tool, {name: "settings.json", folder: ".claude"}) is Verdict.DENY, name


PIECES: list[dict[str, Any]] = [
    {"directory": ".claude/", "file_path": "settings.json"},
    {"directory": ".claude", "file_path": "./settings.json"},
    {"directory": ".claude/x", "file_path": "../settings.json"},
    {"directory": ".claude\\", "file_path": "settings.json"},
    {"directory": " .claude ", "file_path": '"settings.json"'},
    {"directory": ".CLAUDE", "file_path": "Settings.JSON"},
    {"directory": "file:.claude", "file_path": "settings.json"},
    {"root": ".claude", "path": "/settings.json"},
    {"parts": [".claude", "settings.json"]},
    {"path": [".claude", "settings.json"]},
    {"segments": [".", ".claude", "settings.local.json"]},
    {"segments": ["~", ".config", "opencode", "opencode.jsonc"]},
    {"where": {"folder": {"name": ".claude"}}, "what": {"file": "settings.json"}},
    {"tree": {".claude": {"settings.json": "{}"}}},
    {"files": [{"dir": ".claude", "name": "settings.json", "content": "{}"}]},
    {"root": "..", "folder": "project", "sub": ".github", "name": "hooks/x.json"},
    {"root": "~", "folder": ".config", "sub": "systemd", "name": "user/sayso.service"},
    {"cwd": "~/.config", "path": "sayso/policy.yaml"},
    {"cwd": "~/.local", "path": "share/sayso/sayso.db"},
    {"cwd": "~/.local", "area": "share", "program": "sayso", "path": "new.mark"},
    {"root": "/", "path": "etc/codex/requirements.toml"},
    {"root": "/etc", "path": "codex/requirements.toml"},
    {"root": "/run/user/1000", "path": "sayso/sayso.sock"},
    {"name": "AGENTS", "extension": "md"},
    {"stem": "AGENTS", "ext": ".md"},
    {"folder": ".claude", "name": "settings", "suffix": ".json"},
    {
        "folder": ".claude",
        "name": "settings.json",
        **{f"x{number}": f"y{number}.txt" for number in range(30)},
    },
]


@pytest.mark.parametrize("args", PIECES, ids=repr)
@pytest.mark.parametrize("tool", ["Write", "write_thing"])
def test_no_way_to_cut_a_path_hides_a_guarded_file(coder: Agent, tool: str, args: dict[str, Any]) -> None:
    assert coder.verdict(tool, {"content": "x", **args}) is Verdict.DENY


LINKED: list[dict[str, Any]] = [
    {"folder": "sub", "name": "k"},
    {"name": "k", "zone": "sub"},
    {"parts": ["sub", "k"]},
    {"parts": ["deep", "er", "k"]},
    {"a": "deep", "b": "er", "c": "k"},
    {"folder": "deep/er", "name": "../../sub/k"},
    {"tree": {"sub": {"k": 1}}},
    {"folder": "sub", "number": 5},
    {"folder": "way", "name": "id_data"},
    {"root": "/etc", "name": "shadow"},
    {"root": "/", "name": "etc/shadow"},
    {"root": "/proc", "process": "1", "name": "environ"},
    {"root": "file:///etc", "name": "shadow"},
]


@pytest.fixture
def linked(work: Path) -> Path:
    """Folders of plain names with links of plain names to a secret."""
    secret = work.parent / "home" / ".ssh" / "id_rsa"
    (secret.parent / "id_data").write_text("secret")
    for folder in ("sub", "deep/er"):
        (work / folder).mkdir(parents=True)
        (work / folder / "k").symlink_to(secret)
    (work / "sub" / "5").symlink_to(secret)
    (work / "way").symlink_to(secret.parent)
    return work


@pytest.mark.parametrize("args", LINKED, ids=repr)
def test_no_two_arguments_together_lead_to_a_secret(linked: Path, args: dict[str, Any]) -> None:
    with a_gate("extends: [balanced]") as gate:
        session = gate.session(agent="a", workspace=str(linked))
        assert session.call("Read", {"file_path": "notes.txt"}).allowed
        assert not session.call("Read", {"file_path": "notes.txt", **args}).allowed
        assert not session.call("read_file", args).allowed


def test_a_yes_to_edits_never_covers_a_path_in_two_arguments(linked: Path) -> None:
    with a_gate("extends: [coding]") as gate:
        session = gate.session(agent="a", workspace=str(linked))
        session.hear("write it down")
        session.call("Write", {"file_path": "notes.txt", "content": "x"})
        answer_last(gate, session.id, "task")
        assert session.call("Write", {"file_path": "notes.txt", "content": "y"}).allowed
        for more in ({"directory": "sub", "file_path": "k"}, {"directory": "way", "file_path": "new"}):
            assert not session.call("Write", {"content": "y", **more}).allowed


@pytest.mark.parametrize("args", PIECES[:4], ids=repr)
def test_over_http_a_path_in_pieces_leads_to_the_same_file(home: Path, args: dict[str, Any]) -> None:
    with a_gate("extends: [coding]") as gate, a_service(gate) as service:
        told = service.told("agent", "POST", "/v1/calls", {"tool": "Write", "args": args})
        assert told["status"] == "blocked"


ORDINARY: list[tuple[str, dict[str, Any], Verdict]] = [
    ("Read", {"file_path": "src/a.py", "offset": 1, "limit": 100}, Verdict.ALLOW),
    ("Read", {"file_path": "AGENTS.md"}, Verdict.ALLOW),
    ("Read", {"file_path": ".claude/settings.json"}, Verdict.ALLOW),
    ("Read", {"file_path": "settings.json", "directory": ".claude"}, Verdict.ALLOW),
    ("Grep", {"pattern": "TODO", "path": "src", "glob": "*.py", "output_mode": "content"}, Verdict.ALLOW),
    ("Grep", {"pattern": ".env", "path": "src"}, Verdict.ALLOW),
    ("Grep", {"pattern": "AGENTS.md", "path": "."}, Verdict.ALLOW),
    ("Glob", {"pattern": "**/*.py"}, Verdict.ALLOW),
    ("Glob", {"pattern": "src/**/*.ts", "path": "."}, Verdict.ALLOW),
    ("Glob", {"pattern": "**/*key*"}, Verdict.ALLOW),
    ("Glob", {"pattern": "*.{json,yaml}", "path": "docs"}, Verdict.ALLOW),
    ("list_files", {"path": "docs", "recursive": True}, Verdict.ALLOW),
    (
        "search_files",
        {"path": ".", "query": "settings.json", "exclude": [".env", "node_modules"]},
        Verdict.ALLOW,
    ),
    ("Write", {"file_path": "src/a.py", "content": ".claude/settings.json"}, Verdict.ASK),
    ("Write", {"file_path": "settings.json", "content": "{}"}, Verdict.ASK),
    ("Write", {"file_path": "docs/settings.json", "directory": "docs", "content": "{}"}, Verdict.ASK),
    ("Write", {"file_path": "fix.patch", "content": "--- a/AGENTS.md\n+++ b/AGENTS.md\n"}, Verdict.ASK),
    ("Edit", {"file_path": "README.md", "old_string": "AGENTS.md", "new_string": "agents.md"}, Verdict.ASK),
    ("Edit", {"file_path": "src/a.py", "old_string": ".claude", "new_string": "settings.json"}, Verdict.ASK),
    ("git_add", {"paths": ["AGENTS.md", "src/a.py"]}, Verdict.ASK),
    ("git_add", {"paths": [".claude", "settings.json"]}, Verdict.ASK),
    ("git_add", {"cwd": "docs", "paths": ["AGENTS.md"]}, Verdict.ASK),
    ("git_commit", {"message": "Explain .claude/settings.json"}, Verdict.ASK),
    (
        "create_issue",
        {"title": "settings.json", "body": "In .claude it fails", "labels": ["bug"]},
        Verdict.ASK,
    ),
    ("create_task", {"name": "write AGENTS", "format": "md", "project": "docs"}, Verdict.ASK),
    ("run_tests", {"path": "tests", "python": "/usr/bin/python3"}, Verdict.ASK),
]


@pytest.mark.parametrize(("tool", "args", "verdict"), ORDINARY, ids=repr)
def test_ordinary_calls_with_several_arguments_stay_as_they_are(
    coder: Agent, tool: str, args: dict[str, Any], verdict: Verdict
) -> None:
    called = coder.session.call(tool, args)
    assert called.decision.verdict is verdict
    assert all(item.operation.partition(".")[0] != "self_modification" for item in called.decision.items)


def test_many_arguments_are_read_in_bounded_time_and_still_name_a_guarded_file(home: Path) -> None:
    agent = Agent(load_preset("coding"), home / "project")
    many = {f"a{number}": [f"docs/{number}", "etc", "settings.json", ".codex"] for number in range(200)}
    agent.verdict("frobnicate", many)
    assert agent.verdict("Write", {**many, "dir": ".claude", "file": "settings.json"}) is Verdict.DENY
    agent.gate.close()


HALVES: list[dict[str, Any]] = [
    {"files": [[".claude", "settings.json"]]},
    {"paths": [[".claude", "settings.json"]]},
    {"items": [".claude", "settings.json"]},
    {"names": [".claude", "settings.json"]},
    {"dir": ".claude", "script_name": "settings.json"},
    {"dir": ".claude", "query": "settings.json"},
    {"dir": ".claude", "text": "settings.json"},
    {"dir": ".claude", "code": "settings.json"},
    {"dir": ".cl%2561ude", "name": "settings.json"},
    {"dir": ".{claude,x}", "name": "settings.json"},
    {"dir": ".claude\n", "name": "settings.json"},
    {"dir": ".claude", "name": "settings.json\n"},
    {"dir": "./" * 600 + ".claude", "name": "settings.json"},
    {"name": "AGENTS", "format": "md"},
    {"path": "AGENTS", "type": "md"},
    {"path": "AGENTS", "file-extension": "md"},
    {"path": "AGENTS", "extensions": ["a", "b", "c", "d", "md"]},
    {"prefix": "AGE", "name": "NTS.md"},
    {"path": "{name}.md", "name": "AGENTS"},
    {"path": "${name}.md", "name": "AGENTS"},
    {"template": "%s.md", "value": "AGENTS"},
    {"cwd": ".claude", "argv": ["--out=settings.json"]},
    {"cwd": ".claude", "argv": ["-osettings.json"]},
    {"argv": ["--out=AGENTS.md"]},
]


@pytest.mark.parametrize("args", HALVES, ids=repr)
def test_no_way_to_split_a_path_hides_a_guarded_file(coder: Agent, args: dict[str, Any]) -> None:
    assert coder.verdict("save", {"args": args}) is Verdict.DENY
    assert coder.verdict("save", args) is Verdict.DENY


def test_more_folders_than_are_followed_are_high_risk(coder: Agent, home: Path) -> None:
    (home / "project/a/b/c/d/e/f").mkdir(parents=True)
    items = coder.session.call("frobnicate", {"parts": ["a", "b", "c", "d", "e", "f"]}).decision.items
    assert {item.risk for item in items} == {Risk.HIGH}
