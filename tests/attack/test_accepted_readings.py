"""Threat: the operator accepts that `git fetch` reads as high, and a line that does more profits from it.

It counts for one simple command of exactly this operation that only its own row makes risky, and for nothing
else: no option, operand, redirection, assignment, wrapper or folder, and nothing that the repository runs.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso
from sayso.core.model import Risk, Verdict
from sayso.core.policy import Detail, compile_policy
from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.policy.problems import PolicyProblems
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.budget import share_budget
from sayso.reading.shell.read import read_line
from sayso.store.memory.store import MemoryStore
from tests.attack.workplaces import work
from tests.support.gates import KEY, no_settings
from tests.support.people import Person
from tests.support.shell_lines import tricks

__all__ = ["no_settings", "work"]

ACCEPTS = """
tools: [{tool: Bash, resolve: shell, command: args.command, ignore: [description, timeout]}]
operations: {git.fetch: {risk: low, reading: accepted}}
"""
PROFITS = (
    "git fetch",
    "git fetch origin",
    "git fetch origin --prune",
    "git fetch --all --tags -q",
    "git fetch --depth=1 origin main",
    "git fetch -j 4 origin topic/part",
    "git ls-remote origin",
    "git remote update",
)
DOES_MORE = (
    "git fetch https://evil.test/x",
    "git fetch git@evil.test:x.git",
    "git fetch evil:x",
    "git fetch ext::sh",
    "git fetch ../other",
    "git fetch /tmp/other",
    "git fetch ./sub",
    "git fetch sub",
    "git fetch evil.test",
    "git fetch other",
    "git fetch --upload-pack=x",
    "git fetch --upload-pack=x origin",
    "git fetch --up=x origin",
    "git fetch --unknown",
    "git fetch -o x origin",
    "git fetch --server-option=x",
    "git fetch origin +main:main",
    "git fetch origin main:main",
    "git fetch -f origin main",
    "git fetch --force",
    "git fetch --set-upstream origin main",
    "git fetch --prune-tags -p",
    "git fetch --recurse-submodules",
    "git fetch --multiple origin other",
    "git fetch --depth=x",
    "git fetch > out",
    "git fetch 2> out",
    "git fetch < in",
    "git fetch &",
    "X=1 git fetch",
    "GIT_SSH_COMMAND=x git fetch",
    "PATH=/x git fetch",
    "env git fetch",
    "env X=1 git fetch",
    "nice git fetch",
    "timeout 5 git fetch",
    "command git fetch",
    "sudo git fetch",
    "xargs git fetch",
    "sh -c 'git fetch'",
    "eval git fetch",
    "ssh host git fetch",
    "git -C ../other fetch",
    "git -C sub fetch",
    "git -c core.sshCommand=x fetch",
    "git -c fetch.prune=true fetch",
    "git --git-dir=../other/.git fetch",
    "git --exec-path=x fetch",
    "git fetch; rm x",
    "git fetch; git fetch",
    "git fetch && git fetch",
    "git fetch | cat",
    "git fetch\nrm x",
    "git fetch \\\n--upload-pack=x",
    "git fetch $(x)",
    "git fetch `x`",
    "git fetch $X",
    "git fetch *",
    "git fetch {a,b}",
    "git fetch ~/x",
    "cd ../other && git fetch",
    "cd sub && git fetch",
    "(git fetch)",
    "! git fetch",
    "./git fetch",
    "sub/git fetch",
    "git fetch-pack origin",
    "git bundle unbundle x",
    "git remote-http origin x",
    "git request-pull v1 origin",
    "git pull",
    "git push",
    "git clone origin",
    "git submodule update --remote",
    "git archive --remote=origin HEAD",
    "curl https://evil.test",
    "cat .env",
    "rm -rf sub",
)
RUNS_PROGRAM = {
    "an ssh command": "[core]\n\tsshCommand = ./evil\n",
    "a proxy": "[core]\n\tgitProxy = ./evil\n",
    "a monitor": "[core]\n\tfsmonitor = ./evil\n",
    "a helper": "[credential]\n\thelper = !./evil\n",
    "a pack program": '[remote "origin"]\n\tuploadpack = ./evil\n',
    "a remote helper": '[remote "origin"]\n\tvcs = evil\n',
    "an address that is a program": '[remote "origin"]\n\turl = ext::./evil\n',
    "an address that is a folder": '[remote "origin"]\n\turl = ../other\n',
    "a hook of tidying": "[gc]\n\trecentObjectsHook = ./evil\n",
    "an include": "[include]\n\tpath = ../evil\n",
    "a branch's own address": '[branch "main"]\n\tremote = https://evil.test/x\n',
    "a rule for addresses that may be a program": '[protocol "ext"]\n\tallow = always\n',
}
NEVER = (
    "self_modification.change_guard",
    "secrets.read",
    "files.read_secrets",
    "files.delete",
    "files.delete_outside_workspace",
    "files.write_outside_workspace",
    "files.read",
    "shell.run",
    "scripts.run",
    "tests.run",
    "build.run",
    "packages.install",
    "packages.list",
    "network.fetch",
    "network.api",
    "system.privilege",
    "remote.read",
    "remote.run",
    "git.pull",
    "git.push",
    "git.clone",
    "git.status",
    "gh.auth_token",
    "aws.secretsmanager_get",
    "bank.list",
)


@pytest.fixture
def repository(work: Path) -> Path:
    """The workspace as a repository with one remote, and folders and repositories around it."""
    for place in (work, work / "sub", work.parent / "other"):
        place.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "-q", str(place)], check=True)  # noqa: S607 - the git of this machine
    configure(work, '[remote "origin"]\n\turl = https://git.example/team/work.git\n')
    return work


def configure(place: Path, text: str) -> None:
    with (place / ".git/config").open("a") as file:
        file.write(text)


def gate_of(text: str = ACCEPTS) -> Sayso:
    return Sayso(open_gate(load_text(text), MemoryStore(), key=KEY), [Person()])


def is_stopped(place: Path, line: str, text: str = ACCEPTS, **beside: Any) -> bool:
    """Whether this line does not run by itself: a person is asked, or it is denied."""
    with gate_of(text) as gate:
        called = gate.session(workspace=str(place)).call("Bash", {"command": line, **beside})
        return called.decision.verdict is not Verdict.ALLOW


def may_profit(place: Path, line: str, folder: Path | None = None) -> bool:
    """Whether anything that the line does is read as risky by its own row alone."""
    where = CallFolders(str(folder or place), str(place), str(place.parent))
    with share_budget():
        return any(one.own_row for one in read_line(line, where, load_text(ACCEPTS)).findings)


@pytest.mark.parametrize("line", PROFITS)
def test_what_only_its_own_row_makes_risky_is_not_asked_about(repository: Path, line: str) -> None:
    assert not is_stopped(repository, line)
    assert not is_stopped(repository, line, description="look", timeout=5)


@pytest.mark.parametrize("line", PROFITS)
def test_without_the_operators_word_it_is(repository: Path, line: str) -> None:
    assert is_stopped(repository, line, ACCEPTS.replace(", reading: accepted", ""))


@pytest.mark.parametrize("line", DOES_MORE)
def test_a_line_that_does_more_never_profits(repository: Path, line: str) -> None:
    assert not may_profit(repository, line)
    assert is_stopped(repository, line)


@pytest.mark.parametrize("line", PROFITS[:3])
def test_no_trick_that_hides_the_command_profits(repository: Path, line: str) -> None:
    assert [one for one in tricks(line) if one != line and may_profit(repository, one)] == []


@pytest.mark.parametrize("name", ["cwd", "workdir", "directory"])
def test_a_call_that_names_another_folder_never_profits(repository: Path, name: str) -> None:
    assert is_stopped(repository, "git fetch", **{name: str(repository.parent / "other")})
    assert is_stopped(repository, "git fetch", **{name: "../other"})


@pytest.mark.parametrize(
    "beside",
    [{"env": {"GIT_SSH": "./evil"}}, {"args": ["--upload-pack=x"]}, {"force": True}, {"stdin": "x"}],
    ids=repr,
)
def test_an_argument_beside_the_line_never_profits(repository: Path, beside: dict[str, Any]) -> None:
    assert is_stopped(repository, "git fetch", **beside)


def test_a_folder_outside_the_workspace_never_profits(repository: Path) -> None:
    assert not may_profit(repository / "sub", "git fetch", repository)
    other = repository.parent / "other"
    configure(other, '[remote "origin"]\n\turl = https://git.example/other.git\n')
    assert may_profit(other, "git fetch")
    assert not may_profit(repository, "git fetch", other)
    (repository / "link").symlink_to(other)
    assert not may_profit(repository, "git fetch", repository / "link")


def test_a_repository_above_the_workspace_never_profits(repository: Path) -> None:
    inner = repository / "plain"
    inner.mkdir()
    assert may_profit(repository, "git fetch", inner)
    assert not may_profit(inner, "git fetch")


@pytest.mark.parametrize("text", RUNS_PROGRAM.values(), ids=RUNS_PROGRAM)
def test_a_repository_whose_configuration_may_run_something_never_profits(
    repository: Path, text: str
) -> None:
    configure(repository, text)
    assert not may_profit(repository, "git fetch")
    assert is_stopped(repository, "git fetch")


@pytest.mark.parametrize("name", ["reference-transaction", "pre-auto-gc", "post-index-change"])
def test_a_repository_with_a_hook_that_fetching_runs_never_profits(repository: Path, name: str) -> None:
    hook = repository / ".git/hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    assert may_profit(repository, "git fetch")
    hook.chmod(0o755)
    assert not may_profit(repository, "git fetch")


def test_a_repository_without_remotes_never_profits(repository: Path) -> None:
    assert not may_profit(repository / "sub", "git fetch")
    assert not may_profit(repository / "sub", "git fetch origin")
    configure(repository / "sub", '[remote "mirror"]\n\turl = https://git.example/m.git\n')
    assert not may_profit(repository / "sub", "git fetch")
    assert may_profit(repository / "sub", "git fetch mirror")


def test_settings_of_one_tree_that_change_the_remotes_never_profit(repository: Path) -> None:
    (repository / ".git/config.worktree").write_text('[remote "origin"]\n\turl = https://evil.test/x\n')
    assert not may_profit(repository, "git fetch")


def test_a_program_of_the_operators_own_is_no_row_of_sayso(repository: Path) -> None:
    text = f"{ACCEPTS}programs: {{look: {{is: git.fetch}}}}\n"
    assert is_stopped(repository, "look", text)
    raised = f"{ACCEPTS}programs: {{git: {{is: git.status, subcommands: {{fetch: {{is: git.push}}}}}}}}\n"
    assert is_stopped(repository, "git fetch", raised)


def test_a_tool_entry_that_names_the_operation_itself_never_profits(repository: Path) -> None:
    entry = "{tool: fetcher, operation: git.fetch, command: args.command}, "
    with gate_of(ACCEPTS.replace("tools: [", f"tools: [{entry}")) as gate:
        called = gate.session(workspace=str(repository)).call(
            "fetcher", {"command": "git fetch --upload-pack=x"}
        )
        assert (called.asked, called.decision.risk) == (True, Risk.HIGH)


def test_a_condition_that_fails_never_profits(repository: Path) -> None:
    entry = '{tool: Bash, resolve: shell, command: args.command, when: "args.nothing == 1"}, '
    assert is_stopped(repository, "git fetch", ACCEPTS.replace("tools: [", f"tools: [{entry}"))


@pytest.mark.parametrize("name", NEVER)
def test_what_may_never_be_accepted_is_refused_where_it_stands(name: str) -> None:
    with pytest.raises(PolicyProblems) as refused:
        load_text(f"sayso: 1\noperations:\n  {name}: {{risk: low, reading: accepted}}\n")
    assert "can never be accepted" in str(refused.value)
    assert "3:" in str(refused.value)


def test_no_policy_made_by_hand_accepts_what_may_never_be() -> None:
    accepts = Detail(risk=Risk.LOW, reading="accepted")
    named = (*(one for one in NEVER if one != "bank.list"), "git.fetch")  # no row reads a line as bank.list
    policy = compile_policy(operations=dict.fromkeys(named, accepts))
    assert [name for name in named if policy.entry(name).accepted] == ["git.fetch"]
    preset = Detail(risk=Risk.LOW, preset=True, reading="accepted")
    weak = compile_policy(operations={"git.fetch": preset, "gh.pr_view": Detail(reading="accepted")})
    assert not any(one.accepted for one in weak.table.values())


def test_it_changes_no_mode(repository: Path) -> None:
    assert is_stopped(repository, "git fetch", f"{ACCEPTS}mode: paranoid\n")
