"""opencode: a plugin that starts the hook before each tool, and throws unless the answer is an exact allow.

opencode never calls a plugin's `permission.ask`, so `tool.execute.before` is where a call is stopped. A
sub-agent has a session of its own there; the plugin finds the one above it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sayso.doors.agents.agent import Agent, CommandFor, HookEvent, Place, Scope, Wanted, WantedFile, canary_of
from sayso.doors.agents.payload import folder_of_call, optional_text, read_place, read_tool, refuse_event
from sayso.doors.agents.plugins import answer_plugin, write_plugin
from sayso.wire import HostCall, HostEvent, HostMessage, HostOutcome

PLUGIN = """
const DEEPEST = 8;

export const Sayso = async ({ client, directory, worktree }) => {
  const agents = new Map();
  const where = async (sessionID) => {
    let session = sessionID;
    for (let depth = 0; depth < DEEPEST; depth += 1) {
      const found = await client.session.get({ path: { id: session } }).catch(() => undefined);
      const parent = found?.data?.parentID;
      if (!parent) break;
      session = parent;
    }
    const name = agents.get(sessionID) ?? "unnamed";
    const inside = session === sessionID ? {} : { agent_id: sessionID, agent_type: name };
    return { session_id: session, cwd: directory, workspace: worktree, ...inside };
  };
  return {
    "tool.execute.before": async (input, output) => {
      await askSayso("tool.execute.before", {
        ...(await where(input.sessionID)),
        hook_event_name: "tool.execute.before",
        tool_name: input.tool,
        tool_use_id: input.callID,
        tool_input: output.args ?? {},
      });
    },
    "tool.execute.after": async (input) => {
      await tellSayso("tool.execute.after", {
        ...(await where(input.sessionID)),
        hook_event_name: "tool.execute.after",
        tool_name: input.tool,
        tool_use_id: input.callID,
        tool_input: input.args ?? {},
      });
    },
    "chat.message": async (input, output) => {
      if (input.agent) agents.set(input.sessionID, input.agent);
      const texts = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic);
      const place = await where(input.sessionID);
      if (place.agent_id) return;
      await tellSayso("chat.message", {
        ...place,
        hook_event_name: "chat.message",
        prompt: texts.map((part) => part.text).join("\\n"),
      });
    },
  };
};
"""
SHELL = "bash"


def _read_event(event: str, payload: dict[str, Any]) -> HostEvent:
    where = read_place(event, payload)
    where["workspace"] = optional_text(payload, "workspace")
    if event in ("tool.execute.before", "tool.execute.after"):
        tool = read_tool(payload)
        if tool["tool"] == SHELL:
            where["folder"] = folder_of_call(where["folder"], tool["args"], "workdir")
        return HostCall(**where, **tool) if event.endswith("before") else HostOutcome(**where, **tool)
    if event == "chat.message":
        return HostMessage(**where, text=_unquote_prompt(optional_text(payload, "prompt")))
    raise refuse_event(event)


def _unquote_prompt(text: str) -> str:
    """Return what the user typed: `opencode run` puts it into quotes, where no stop would count."""
    inner = text[1:-1]
    return inner if text == f'"{inner}"' and '"' not in inner else text


EVENTS = (
    HookEvent("tool.execute.before"),
    HookEvent("tool.execute.after", quick=True),
    HookEvent("chat.message", quick=True),
)


def _wanted(place: Place, scope: Scope, command: CommandFor, seconds: int) -> tuple[Wanted, ...]:
    return (WantedFile(plugin_file(place, scope), write_plugin("opencode", EVENTS, command, PLUGIN)),)


def plugin_file(place: Place, scope: Scope) -> Path:
    if scope == "project":
        return place.project / ".opencode" / "plugins" / "sayso.js"
    named = place.variables.get("OPENCODE_CONFIG_DIR")
    config = Path(place.variables.get("XDG_CONFIG_HOME") or place.home / ".config")
    return (Path(named) if named else config / "opencode") / "plugins" / "sayso.js"


AGENT = Agent(
    name="opencode",
    read_event=_read_event,
    render_answer=answer_plugin,
    title="opencode",
    program="opencode",
    events=EVENTS,
    wanted=_wanted,
    canary=canary_of("tool.execute.before", "write", "filePath"),
    levels=2,
)
