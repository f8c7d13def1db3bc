"""The agent of `sayso demo`: it works in a scratch repository, and every call goes through the gate."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from sayso.doors.remote.line import ServiceLine, ServiceRequest
from sayso.gate.decoding import convert_to

HELLO = "def greet(name):\n    return 'Hello ' + name\n"
LONGEST_WAIT = 30.0
MOST_WAITS = 60


class DemoJob(msgspec.Struct, frozen=True):
    """One thing the agent wants to do, and what it says about it."""

    says: str
    tool: str
    args: dict[str, Any]
    line: str | None = None
    """What a person would type for it; only to be shown."""


class AllowedCall(msgspec.Struct, frozen=True):
    """The call that was allowed; a person may have changed it."""

    tool: str
    args: dict[str, Any]


class CallStatus(msgspec.Struct, frozen=True):
    """The state of a call as the service reports it."""

    operation_id: str
    status: str
    reason: str
    call: AllowedCall | None = None
    fence: int = 0
    question: str | None = None


JOBS: tuple[DemoJob, ...] = (
    DemoJob("Let me look at the code.", "read_file", {"path": "hello.py"}),
    DemoJob(
        "I would make the greeting friendlier.",
        "edit_file",
        {"path": "hello.py", "old": "'Hello ' + name", "new": "f'Hello, {name}!'"},
    ),
    DemoJob(
        "That wants a commit.",
        "git_commit",
        {"message": "A friendlier greeting"},
        "git commit -am 'A friendlier greeting'",
    ),
    DemoJob(
        "And now publish it.", "git_push", {"remote": "origin", "branch": "main"}, "git push origin main"
    ),
    DemoJob(
        "A note for the readers (try Edit, and change the text before you allow it).",
        "write_file",
        {"path": "NOTES.md", "text": "greet() is friendlier now.\n"},
    ),
    DemoJob(
        "And a copy of it beside the project, for whoever works there next.",
        "write_file",
        {"path": "../copy-of-NOTES.md", "text": "greet() is friendlier now.\n"},
    ),
    DemoJob(
        "And I will just add my key, so that I can come back.",
        "write_file",
        {"path": "~/.ssh/authorized_keys", "text": "ssh-ed25519 AAAA… agent\n"},
    ),
)


def make_repository(folder: Path) -> Path:
    """A scratch repository with one commit, and a bare remote beside it that can be pushed to."""
    work, remote = folder / "project", folder / "remote.git"
    _git(folder, "init", "-q", "--bare", "-b", "main", str(remote))
    _git(folder, "clone", "-q", str(remote), str(work))
    (work / "hello.py").write_text(HELLO, encoding="utf-8")
    for words in (
        ("config", "user.name", "Demo Agent"),
        ("config", "user.email", "agent@example.invalid"),
        ("checkout", "-q", "-B", "main"),
        ("add", "hello.py"),
        ("commit", "-q", "-m", "A greeting"),
        ("push", "-q", "origin", "main"),
    ):
        _git(work, *words)
    return work


class DemoWatch(msgspec.Struct, frozen=True):
    """Shows the agent's work: `tell` prints what it does, `ask` puts a question on the terminal.

    `ask` gives a way to take the question down again. `is_over`: the demo ends, and nothing more is done.
    """

    tell: Callable[[str, str], object]
    ask: Callable[[str], Callable[[], None]]
    is_over: Callable[[], bool]


def do_jobs(line: ServiceLine, session: str, folder: Path, watch: DemoWatch, *, patient: bool) -> None:
    """Do the jobs one after the other. What is not allowed is not done, and the agent goes on."""
    tell = watch.tell
    for job in JOBS:
        tell("agent", job.says)
        told = _request_call(line, session, job)
        if told.status == "pending":
            tell("asked", f"{job.line or job.tool}: {told.reason}")
            told = (
                _ask_person(line, told, watch) if patient else replace(told, reason="nobody is here to ask")
            )
        if watch.is_over():
            return
        if told.status != "allowed" or told.call is None:
            tell("not run", f"{job.line or job.tool}: {told.reason}")
            continue
        done = _run_tool(folder, told.call.tool, told.call.args)
        state = "succeeded" if done.returncode == 0 else "failed"
        ended = {"fence": told.fence, "state": state}
        line.ask(ServiceRequest("POST", f"/v1/calls/{told.operation_id}/outcome", ended))
        tell("ran" if state == "succeeded" else "failed", f"{job.line or job.tool} {done.said}".rstrip())


class ToolOutcome(msgspec.Struct, frozen=True):
    returncode: int
    said: str = ""


def _request_call(line: ServiceLine, session: str, job: DemoJob) -> CallStatus:
    body = {"tool": job.tool, "args": job.args, "session": session}
    return _ask(line, ServiceRequest("POST", "/v1/calls", body, again=False))


def _ask_person(line: ServiceLine, told: CallStatus, watch: DemoWatch) -> CallStatus:
    """Ask, and wait until somebody has answered, here or on the page; then nobody is asked here any more."""
    if watch.is_over():
        return told
    take_down = watch.ask(told.question or "")
    try:
        return _retry_until_answered(line, told, watch)
    finally:
        take_down()


def _retry_until_answered(line: ServiceLine, told: CallStatus, watch: DemoWatch) -> CallStatus:
    """The call once somebody has answered, which starts it if they allowed it; or as it is at last."""
    for _ in range(MOST_WAITS):
        if told.status != "pending" or watch.is_over():
            break
        told = _ask(
            line,
            ServiceRequest("POST", f"/v1/calls/{told.operation_id}/retry", wait=LONGEST_WAIT, again=False),
        )
    return told


def _ask(line: ServiceLine, sent: ServiceRequest) -> CallStatus:
    return convert_to(line.ask(sent, away=0.0), CallStatus)


def _run_tool(folder: Path, tool: str, args: Mapping[str, Any]) -> ToolOutcome:
    """The call for real. A tool that is none of these is not run."""
    if tool == "read_file":
        lines = (folder / args["path"]).read_text(encoding="utf-8").splitlines()
        return ToolOutcome(0, f"({len(lines)} lines)")
    if tool == "edit_file":
        path = folder / args["path"]
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(args["old"], args["new"]), encoding="utf-8")
        return ToolOutcome(0, f"({args['path']})")
    if tool == "write_file":
        (folder / args["path"]).write_text(args["text"], encoding="utf-8")
        return ToolOutcome(0, f"({args['path']})")
    if tool == "git_commit":
        return _git(folder, "commit", "-q", "-a", "-m", args["message"])
    if tool == "git_push":
        return _git(folder, "push", "-q", args["remote"], args["branch"])
    return ToolOutcome(1, "the agent has no such tool")


def _git(folder: Path, *words: str) -> ToolOutcome:
    ran = subprocess.run(  # noqa: S603  words written in this file, and what a person allowed
        ["git", *words],  # noqa: S607  the git of whoever runs the demo
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return ToolOutcome(ran.returncode, ran.stderr.strip())


def missing_programs(program: str = "git") -> Sequence[str]:
    """Return the programs that the demo needs and that are missing."""
    from shutil import which

    return [] if which(program) else [program]
