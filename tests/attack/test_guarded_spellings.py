"""Spellings by which a path would get past its guard, or pass for one inside the workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.core.model import Verdict
from sayso.policy import load_preset
from tests.attack.guarded_home import Agent, coder, home

__all__ = ["coder", "home"]

SPELLED = (
    " {}",
    "{} ",
    "\t{}\n",
    '"{}"',
    "'{}'",
    "`{}`",
    "<{}>",
    "“{}”",
    "file://{}",
    "FILE://localhost{}",
    "file:{}",
    "file:/{}",
    "file:///{}",
    "vscode://file{}",
    "vscode://file{}:3:1",
    "view-source:file://{}",
    "/{}",
    "/.{}",
    "/usr/..{}",
    "{}/",
    "{}//",
    "{}/.",
    "{}.",
    "{}::$DATA",
    "{}\0",
    "{}\0.txt",
    "\u200b{}",
    "{}\u2028",
    "{}:12",
    "{}#L3",
    "{}#usage",
    "{}#",
    "@{}",
    "@@{}:3",
    "a.txt {}",
    "{} a.txt",
    "/proc/self/root{}",
    "/proc/1/root{}",
    "/proc/self/task/1/root{}",
    "\\{}",
    "{{{},/x}}",
    "%2f..{}",
    "$UNSET_VARIABLE{}",
)


@pytest.mark.parametrize("spelling", SPELLED)
@pytest.mark.parametrize(
    "name", [".config/sayso/policy.yaml", ".local/share/sayso/sayso.db", "project/AGENTS.md"]
)
def test_no_spelling_of_a_guarded_path_gets_past(coder: Agent, home: Path, spelling: str, name: str) -> None:
    path = spelling.format(home / name)
    assert coder.verdict("Write", {"file_path": path}) is Verdict.DENY
    assert coder.verdict("NotDeclared_write", {"path": path}) is Verdict.DENY


@pytest.mark.parametrize(
    "path",
    [
        "agents.md",
        "Agents.MD",
        "~/.CONFIG/Sayso/POLICY.yaml",
        "ＡGENTS.md",
        "．．/project/AGENTS.md",
        "AGENTS%2emd",
        "%2e%2e/project/AGENTS%252emd",
        "$HOME/.config/sayso/policy.yaml",
        "${HOME}/.config/sayso/policy.yaml",
        "%USERPROFILE%/.config/sayso/policy.yaml",
        "~root/.config/sayso/policy.yaml",
        "~nobody-of-that-name/.config/sayso/policy.yaml",
        "AGENTS.m?",
        "AGENTS.*",
        "[A]GENTS.md",
        "{AGENTS,README}.md",
        "~/.config/sayso/*",
        "~/.config/*/policy.yaml",
        "~/.c*/s*/p*",
        ".claude/*",
        ".claude\\settings.json",
        "docs\\..\\AGENTS.md",
        "/proc/self/cwd/AGENTS.md",
        "docs/../AGENTS.md",
        "docs/nowhere/../../AGENTS.md",
        ["src/a.py", "AGENTS.md"],
        "src/a.py, AGENTS.md",
        "AGENTS.md;src/a.py",
        "src/a.py\nAGENTS.md",
        {"path": "AGENTS.md"},
        {"uri": ["file:AGENTS.md"]},
        "{" + ",".join(f"x{number}" for number in range(500)) + ",AGENTS.md}",
    ],
)
def test_no_trick_with_names_gets_past(coder: Agent, path: object) -> None:
    assert coder.verdict("Write", {"file_path": path}) is Verdict.DENY


ODD = (
    " ~/.bashrc",
    "file:///etc/hosts",
    "FILE://localhost/etc/hosts",
    '"/etc/hosts"',
    "`~/.bashrc`",
    "vscode://file/etc/hosts",
    "$HOME/.bashrc",
    "%2fetc%2fhosts",
    "{/etc/hosts,a}",
    "src/*/../../../x",
    "\u200b/etc/hosts",
    "a\n/etc/hosts",
    "/etc/host?",
    "$(pwd)/x",
    ["src/a.py", " ~/.bashrc"],
    {"path": "src/a.py"},
)


@pytest.mark.parametrize("path", ODD)
def test_what_is_no_plain_path_is_never_inside(coder: Agent, path: object) -> None:
    assert "files.write_outside_workspace" in coder.operations("Write", {"file_path": path})
    assert coder.verdict("Write", {"file_path": path}) is Verdict.ASK


NAMES = ("AGENTS.md", " AGENTS.md", "`.claude/settings.json`", "file:.sayso.yaml", "AGENTS.m?")


@pytest.mark.parametrize("path", NAMES)
def test_without_a_working_folder_names_are_guarded_all_the_same(home: Path, path: str) -> None:
    agent = Agent(load_preset("coding"), "")
    assert agent.verdict("Write", {"file_path": path}) is Verdict.DENY
    assert agent.verdict("write_notes", {"path": path}) is Verdict.DENY
    agent.gate.close()


@pytest.mark.parametrize("spelling", ["{}:/data", "{}:/data:rw", "/data:{}", "{}:ro,/x:/y"])
@pytest.mark.parametrize("name", [".local/share/sayso", ".config/sayso"])
def test_no_mount_of_a_guarded_folder_gets_past(coder: Agent, home: Path, spelling: str, name: str) -> None:
    (home / name).mkdir(parents=True, exist_ok=True)
    assert coder.verdict("run_container", {"volume": spelling.format(home / name)}) is Verdict.DENY
