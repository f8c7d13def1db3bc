"""The hosts as their documents describe them: the payloads they send, and what they do with an answer.

`runs` is what the host does in its most permissive mode, with nobody at its own prompt: the call runs unless
the answer stops it in that host's terms.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from sayso.doors.agents import AGENTS, Agent

Payload = dict[str, Any]


class Output(msgspec.Struct, frozen=True):
    """How a hook's process ended."""

    code: int
    out: str
    err: str


class Host(msgspec.Struct, frozen=True):
    """One host: its agent, the payloads of its events, and how it takes an answer."""

    agent: Agent
    before: str
    after: str
    prompt: str | None
    call: Callable[..., Payload]
    ended: Callable[..., Payload]
    message: Callable[..., Payload] | None
    tools: dict[str, tuple[str, str]]
    """Of `read`, `write` and `shell`: the tool, and the argument that names the file or the command."""
    runs: Callable[[Output], bool]
    has_ids: bool = True
    label: str = ""
    """What it is called, if one agent's hooks serve several programs."""

    @property
    def name(self) -> str:
        return self.agent.name

    def arguments(self, kind: str, what: str) -> tuple[str, Payload]:
        tool, argument = self.tools[kind]
        more = {"content": "text"} if kind == "write" else {}
        return tool, {argument: what, **more}


def _claude_like(event: str, session: str, folder: Path, **more: Any) -> Payload:
    return {
        "session_id": session,
        "transcript_path": "/nowhere/transcript.jsonl",
        "cwd": str(folder),
        "permission_mode": "bypassPermissions",
        "hook_event_name": event,
        **more,
    }


def _claude_tool(event: str, session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
    named = {"tool_name": tool, "tool_input": args, "tool_use_id": id_}
    return _claude_like(event, session, folder, **named)


def claude_runs(output: Output) -> bool:
    """Only exit 2 and a deny stop it: every other code, and JSON that is none, count as no decision."""
    if output.code == 2:
        return False
    return _decision(output, "permissionDecision") != "deny"


def codex_runs(output: Output) -> bool:
    """Exit 2 with a text on stderr stops it, and a deny with a reason. All else fails the hook: it runs."""
    if output.code == 2:
        return not output.err.strip()
    said = _hook_specific(output)
    if said.get("permissionDecision") != "deny":
        return True
    return not said.get("permissionDecisionReason") or set(said) - {
        "hookEventName", "permissionDecision", "permissionDecisionReason"
    } != set()  # fmt: skip


def gemini_runs(output: Output) -> bool:
    if output.code == 2:
        return False
    found = _json(output)
    assert found.get("decision") != "ask", "a run without a terminal hangs"
    return found.get("decision") not in ("deny", "block")


def cursor_runs(output: Output) -> bool:
    """With failClosed, every failure stops it; so does an answer that is no JSON."""
    return output.code == 0 and _json(output).get("permission") == "allow"


def copilot_runs(output: Output) -> bool:
    if output.code != 0:
        return False
    found = _json(output)
    return (found.get("permissionDecision") or _hook_specific(output).get("permissionDecision")) != "deny"


def vs_code_runs(output: Output) -> bool:
    """Exit 2 and a deny stop it; every other code is a warning, and the call goes on."""
    return output.code != 2 and _decision(output, "permissionDecision") != "deny"


def plugin_runs(output: Output) -> bool:
    """What the plugin makes of it: anything but an exact allow throws."""
    return output.code == 0 and output.out.strip() == '{"decision":"allow"}'


def cline_runs(output: Output) -> bool:
    return _json(output).get("cancel") is not True


def _json(output: Output) -> Payload:
    try:
        found = json.loads(output.out or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _hook_specific(output: Output) -> Payload:
    found = _json(output).get("hookSpecificOutput")
    return found if isinstance(found, dict) else {}


def _decision(output: Output, name: str) -> object:
    return _hook_specific(output).get(name)


def _claude_host(name: str, runs: Callable[[Output], bool], tools: dict[str, tuple[str, str]]) -> Host:
    turn = {"turn_id": "turn-1", "model": "gpt-5"} if name == "codex" else {}

    def call(session: str, folder: Path, tool: str, args: Payload, id_: str, sub: str = "") -> Payload:
        inside = {"agent_id": "a-1", "agent_type": sub} if sub else {}
        return _claude_tool("PreToolUse", session, folder, tool, args, id_) | turn | inside

    def ended(session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
        return _claude_tool("PostToolUse", session, folder, tool, args, id_) | turn | {"tool_response": {}}

    def message(session: str, folder: Path, text: str) -> Payload:
        return _claude_like("UserPromptSubmit", session, folder, prompt=text) | turn

    return Host(
        AGENTS[name], "PreToolUse", "PostToolUse", "UserPromptSubmit", call, ended, message, tools, runs
    )


def _gemini() -> Host:
    def base(event: str, session: str, folder: Path, **more: Any) -> Payload:
        return {
            "session_id": session,
            "transcript_path": "/nowhere",
            "cwd": str(folder),
            "hook_event_name": event,
            "timestamp": "2026-11-17T12:00:00Z",
            **more,
        }

    def call(session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
        return base("BeforeTool", session, folder, tool_name=tool, tool_input=args)

    def ended(session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
        done = {"tool_response": {"llmContent": "ok", "returnDisplay": "ok"}}
        return base("AfterTool", session, folder, tool_name=tool, tool_input=args, **done)

    def message(session: str, folder: Path, text: str) -> Payload:
        return base("BeforeAgent", session, folder, prompt=text)

    tools = {
        "read": ("read_file", "file_path"),
        "write": ("write_file", "file_path"),
        "shell": ("run_shell_command", "command"),
    }
    return Host(
        AGENTS["gemini"], "BeforeTool", "AfterTool", "BeforeAgent", call, ended, message, tools, gemini_runs,
        has_ids=False,
    )  # fmt: skip


def _cursor() -> Host:
    def base(event: str, session: str, folder: Path, **more: Any) -> Payload:
        return {
            "conversation_id": session,
            "generation_id": "g-1",
            "hook_event_name": event,
            "workspace_roots": [str(folder)],
            "cursor_version": "2.4.0",
            "user_email": None,
            **more,
        }

    def call(session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
        return base("preToolUse", session, folder, tool_name=tool, tool_input=args)

    def ended(session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
        return base("postToolUse", session, folder, tool_name=tool, tool_input=args, tool_output="{}")

    def message(session: str, folder: Path, text: str) -> Payload:
        return base("beforeSubmitPrompt", session, folder, prompt=text, attachments=[])

    tools = {"read": ("Read", "file_path"), "write": ("Write", "file_path"), "shell": ("Shell", "command")}
    return Host(
        AGENTS["cursor"], "preToolUse", "postToolUse", "beforeSubmitPrompt", call, ended, message, tools,
        cursor_runs, has_ids=False,
    )  # fmt: skip


def _copilot() -> Host:
    def base(session: str, folder: Path, **more: Any) -> Payload:
        return {"sessionId": session, "timestamp": 1_794_915_844_469, "cwd": str(folder), **more}

    def call(session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
        return base(session, folder, toolName=tool, toolArgs=json.dumps(args))

    def ended(session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
        done = {"toolResult": {"resultType": "success", "textResultForLlm": "ok"}}
        return base(session, folder, toolName=tool, toolArgs=json.dumps(args), **done)

    def message(session: str, folder: Path, text: str) -> Payload:
        return base(session, folder, prompt=text)

    tools = {"read": ("view", "path"), "write": ("create", "path"), "shell": ("bash", "command")}
    return Host(
        AGENTS["copilot"], "preToolUse", "postToolUse", "userPromptSubmitted", call, ended, message, tools,
        copilot_runs, has_ids=False,
    )  # fmt: skip


def _vs_code() -> Host:
    """It takes the file of Copilot CLI, sends events by its own names, and tools with its own arguments."""

    def base(event: str, session: str, folder: Path, **more: Any) -> Payload:
        return {
            "timestamp": "2026-11-17T12:00:00.000Z",
            "cwd": str(folder),
            "sessionId": session,
            "hookEventName": event,
            "transcript_path": "/nowhere/transcript.json",
            **more,
        }

    def call(session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
        return base("PreToolUse", session, folder, tool_name=tool, tool_input=args, tool_use_id=id_)

    def ended(session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
        done = {"tool_use_id": id_, "tool_response": "ok"}
        return base("PostToolUse", session, folder, tool_name=tool, tool_input=args, **done)

    def message(session: str, folder: Path, text: str) -> Payload:
        return base("UserPromptSubmit", session, folder, prompt=text)

    tools = {
        "read": ("read_file", "filePath"),
        "write": ("create_file", "filePath"),
        "shell": ("run_in_terminal", "command"),
    }
    return Host(
        AGENTS["copilot"], "preToolUse", "postToolUse", "userPromptSubmitted", call, ended, message, tools,
        vs_code_runs, label="vscode",
    )  # fmt: skip


def _plugin(name: str, before: str, after: str, prompt: str | None, file: str) -> Host:
    def base(event: str, session: str, folder: Path, **more: Any) -> Payload:
        return {"session_id": session, "cwd": str(folder), "hook_event_name": event, **more}

    def call(session: str, folder: Path, tool: str, args: Payload, id_: str, sub: str = "") -> Payload:
        inside = {"agent_id": "ses_2", "agent_type": sub} if sub else {}
        return base(before, session, folder, tool_name=tool, tool_use_id=id_, tool_input=args, **inside)

    def ended(session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
        return base(after, session, folder, tool_name=tool, tool_use_id=id_, tool_input=args)

    def message(session: str, folder: Path, text: str) -> Payload:
        return base(prompt or "", session, folder, prompt=text)

    shell = "bash" if name == "opencode" else "exec"
    tools = {"read": ("read", file), "write": ("write", file), "shell": (shell, "command")}
    said = message if prompt else None
    return Host(AGENTS[name], before, after, prompt, call, ended, said, tools, plugin_runs)


def _cline() -> Host:
    def base(event: str, session: str, folder: Path, **more: Any) -> Payload:
        return {
            "clineVersion": "3.40.0",
            "hookName": event,
            "timestamp": "1794915844469",
            "taskId": session,
            "workspaceRoots": [str(folder)],
            "userId": "u",
            **more,
        }

    def call(session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
        return base("PreToolUse", session, folder, preToolUse={"toolName": tool, "parameters": args})

    def ended(session: str, folder: Path, tool: str, args: Payload, id_: str) -> Payload:
        done = {"toolName": tool, "parameters": args, "result": "ok", "success": True, "executionTimeMs": 3}
        return base("PostToolUse", session, folder, postToolUse=done)

    def message(session: str, folder: Path, text: str) -> Payload:
        return base("UserPromptSubmit", session, folder, userPromptSubmit={"prompt": text, "attachments": []})

    tools = {
        "read": ("read_file", "path"),
        "write": ("write_to_file", "path"),
        "shell": ("execute_command", "command"),
    }
    return Host(
        AGENTS["cline"], "PreToolUse", "PostToolUse", "UserPromptSubmit", call, ended, message, tools,
        cline_runs, has_ids=False,
    )  # fmt: skip


CLAUDE_TOOLS = {"read": ("Read", "file_path"), "write": ("Write", "file_path"), "shell": ("Bash", "command")}
HOSTS = (
    _claude_host("claude", claude_runs, CLAUDE_TOOLS),
    _claude_host("codex", codex_runs, CLAUDE_TOOLS),
    _gemini(),
    _cursor(),
    _copilot(),
    _vs_code(),
    _plugin("opencode", "tool.execute.before", "tool.execute.after", "chat.message", "filePath"),
    _cline(),
    _plugin("openclaw", "before_tool_call", "after_tool_call", None, "path"),
)
