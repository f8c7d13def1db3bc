"""Record what the real programs send to their hooks: `python -m tests.e2e.agents.record [AGENT …]`.

Each program makes a tour of its tools, with a hook on every event that keeps what it read. The payloads go to
tests/agents/recorded, to be replayed without the programs. Folders of this machine are replaced.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sayso.doors.agents import AGENTS, agent
from sayso.doors.agents.plugins import PLUGIN_ALLOW
from tests.e2e.agents.model import PROMPT, ToolCall, serve_model
from tests.e2e.agents.place import HandWritten, Place, Program, pinned_version, run_program, write_script
from tests.e2e.agents.programs.codex import LEADING_AGENT, trust_hooks
from tests.e2e.agents.programs.every import EVERY
from tests.support.repository import ROOT

RECORDED = ROOT / "tests" / "agents" / "recorded"
FOR_SUBAGENT = "Look after the second file."
PATCH = "*** Begin Patch\n*** Add File: note.txt\n+one\n*** End Patch"
CODEX_EVENTS = (
    "PreToolUse", "PermissionRequest", "PostToolUse", "UserPromptSubmit", "SessionStart", "Stop",
    "SubagentStart", "SubagentStop",
)  # fmt: skip
CLAUDE_EVENTS = (*CODEX_EVENTS, "PostToolUseFailure", "SessionEnd")
GEMINI_EVENTS = (
    "BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "SessionStart", "SessionEnd", "Notification",
)  # fmt: skip
Scripts = Mapping[str, Sequence[ToolCall]]


def main(names: Sequence[str]) -> None:
    """Record every program, or those that are named."""
    programs = {program.name: program for program in reversed(EVERY)}
    for name, program in programs.items():
        if not names or name in names:
            with tempfile.TemporaryDirectory() as folder:
                _write(program, _record(program, Place(Path(folder))))


def _record(program: Program, place: Place) -> list[dict[str, Any]]:
    with serve_model(program.api, TOURS[program.name](place)) as model:
        program.configure(place, model.url)
        (place.work / "sub").mkdir()
        _register(program, place)
        ended = run_program(program, place, model)
        print(program.name, ended.code, model.results(), ended.err[-2000:])  # noqa: T201  a person reads it
    seen = [path.read_text(encoding="utf-8") for path in sorted((place.home / "seen").iterdir())]
    return [json.loads(_scrub(text, place)) for text in seen]


def _scrub(text: str, place: Place) -> str:
    """Replace the folders of this machine, in each of the spellings that programs use."""
    for folder, name in ((place.work, "/home/dev/project"), (place.home, "/home/dev")):
        text = text.replace(str(folder), name).replace(str(folder)[1:], name[1:])
        text = text.replace(re.sub(r"[\W_]", "-", str(folder)), name.replace("/", "-"))
    return text.replace(f"{LEADING_AGENT}/", "/lead/")  # no folder, but it looks like one of this machine


def _write(program: Program, payloads: Sequence[Mapping[str, Any]]) -> None:
    RECORDED.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(payload, ensure_ascii=False) + "\n" for payload in payloads]
    path = RECORDED / f"{program.name}-{pinned_version(program)}.jsonl"
    path.write_text("".join(lines), encoding="utf-8")


def _register(program: Program, place: Place) -> None:
    seen = place.home / "seen"
    command = write_script(
        place.home / "hook", HandWritten(PLUGIN_ALLOW if program.name == "opencode" else ""), seen
    )
    if program.name == "opencode":  # its hook is Sayso's own plugin, which starts this command
        user = agent.Place(place.home, place.work, place.environment())
        for wanted in AGENTS["opencode"].wanted(user, "user", lambda _: command, 30):
            assert isinstance(wanted, agent.WantedFile)
            wanted.path.parent.mkdir()
            wanted.path.write_text(wanted.text, encoding="utf-8")
        return
    events, file = {
        "claude": (CLAUDE_EVENTS, ".claude/settings.json"),
        "codex": (CODEX_EVENTS, ".codex/hooks.json"),
        "gemini": (GEMINI_EVENTS, ".gemini/settings.json"),
    }[program.name]
    entry = {"matcher": "*", "hooks": [{"type": "command", "command": command}]}
    path = place.home / file
    settings = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**settings, "hooks": {event: [entry] for event in events}}), encoding="utf-8")
    if program.name == "codex":
        trust_hooks(place)


def _claude_tour(place: Place) -> Scripts:
    note = str(place.work / "note.txt")
    spawned = {"description": "Second file", "prompt": FOR_SUBAGENT, "subagent_type": "general-purpose"}
    tour = [
        ToolCall("Write", {"file_path": note, "content": "one\n"}),
        ToolCall("Read", {"file_path": note}),
        ToolCall("Edit", {"file_path": note, "old_string": "one", "new_string": "two"}),
        ToolCall("Bash", {"command": "cat note.txt", "description": "Show the note"}),
        ToolCall("Bash", {"command": "ls nowhere", "description": "Fail"}),
        ToolCall("Agent", spawned),
    ]
    return {FOR_SUBAGENT: [ToolCall("Bash", {"command": "touch second.txt"})], PROMPT: tour}


def _codex_tour(place: Place) -> Scripts:
    script = (
        "text(await tools.exec_command({cmd: 'pwd', workdir: '/'}));"
        "text(await tools.exec_command({cmd: 'ls nowhere'}));"
        f"text(await tools.apply_patch({json.dumps(PATCH)}))"
    )
    spawned = {"task_name": "second", "message": FOR_SUBAGENT, "fork_turns": "none"}
    tour = [
        ToolCall("exec", {"input": script}),
        ToolCall("collaboration.spawn_agent", spawned),
        ToolCall("collaboration.wait_agent", {"timeout_ms": 20000}),
    ]
    second = ToolCall("exec", {"input": "text(await tools.exec_command({cmd: 'touch second.txt'}))"})
    return {f"Task name: {LEADING_AGENT}/second": [second], PROMPT: tour}  # what it has to do is encrypted


def _gemini_tour(place: Place) -> Scripts:
    note = str(place.work / "note.txt")
    edit = {"file_path": note, "instruction": "Count on", "old_string": "one", "new_string": "two"}
    tour = [
        ToolCall("write_file", {"file_path": note, "content": "one\n"}),
        ToolCall("read_file", {"file_path": note}),
        ToolCall("replace", edit),
        ToolCall("run_shell_command", {"command": "cat note.txt", "description": "Show the note"}),
        ToolCall("run_shell_command", {"command": "ls nowhere", "dir_path": "sub"}),
        ToolCall("invoke_agent", {"agent_name": "generalist", "prompt": FOR_SUBAGENT}),
    ]
    return {FOR_SUBAGENT: [ToolCall("run_shell_command", {"command": "touch second.txt"})], PROMPT: tour}


def _opencode_tour(place: Place) -> Scripts:
    note = str(place.work / "note.txt")
    tour = [
        ToolCall("write", {"filePath": note, "content": "one\n"}),
        ToolCall("read", {"filePath": note}),
        ToolCall("edit", {"filePath": note, "oldString": "one", "newString": "two"}),
        ToolCall("bash", {"command": "cat note.txt", "description": "Show the note"}),
        ToolCall(
            "bash", {"command": "ls nowhere", "description": "Fail", "workdir": str(place.work / "sub")}
        ),
        ToolCall("task", {"description": "Second", "prompt": FOR_SUBAGENT, "subagent_type": "general"}),
    ]
    second = ToolCall("bash", {"command": "touch second.txt", "description": "Touch"})
    return {FOR_SUBAGENT: [second], PROMPT: tour}


TOURS = {"claude": _claude_tour, "codex": _codex_tour, "gemini": _gemini_tour, "opencode": _opencode_tour}

if __name__ == "__main__":
    main(sys.argv[1:])
