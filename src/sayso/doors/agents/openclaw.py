"""OpenClaw: a plugin that starts the hook in `before_tool_call`, and blocks all but an exact allow.

Messages that reach OpenClaw come from any channel, so none is taken for the user's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sayso.doors.agents.agent import Agent, CommandFor, HookEvent, Place, Scope, Wanted, WantedFile, canary_of
from sayso.doors.agents.answers import to_json
from sayso.doors.agents.payload import optional_text, read_place, read_tool, refuse_event
from sayso.doors.agents.plugins import answer_plugin, write_plugin
from sayso.wire import HostCall, HostEvent, HostOutcome

PLUGIN = """
const place = (context) => ({
  session_id: context?.sessionKey ?? context?.sessionId ?? "openclaw",
  cwd: context?.workspaceDir ?? "",
});

export default {
  id: "sayso",
  name: "Sayso",
  register(api) {
    api.on(
      "before_tool_call",
      async (event, context) => {
        try {
          await askSayso("before_tool_call", {
            ...place(context),
            hook_event_name: "before_tool_call",
            tool_name: event.toolName,
            tool_use_id: event.toolCallId ?? context?.toolCallId,
            tool_input: event.params ?? {},
          });
          return undefined;
        } catch (error) {
          return { block: true, blockReason: String(error?.message ?? error) };
        }
      },
      { timeoutMs: TIMEOUT },
    );
    api.on("after_tool_call", async (event, context) => {
      await tellSayso("after_tool_call", {
        ...place(context),
        hook_event_name: "after_tool_call",
        tool_name: event.toolName,
        tool_use_id: event.toolCallId ?? context?.toolCallId,
        tool_input: event.params ?? {},
        error: event.error ? String(event.error) : "",
      });
    });
  },
};
"""
MANIFEST = {
    "id": "sayso",
    "name": "Sayso",
    "description": "Asks Sayso before every tool call; written by sayso install.",
    "configSchema": {"type": "object", "additionalProperties": False, "properties": {}},
}


def _read_event(event: str, payload: dict[str, Any]) -> HostEvent:
    where = read_place(event, payload)
    if event == "before_tool_call":
        return HostCall(**where, **read_tool(payload))
    if event == "after_tool_call":
        return HostOutcome(**where, **read_tool(payload), ok=not optional_text(payload, "error"))
    raise refuse_event(event)


EVENTS = (HookEvent("before_tool_call"), HookEvent("after_tool_call", quick=True))


def _wanted(place: Place, scope: Scope, command: CommandFor, seconds: int) -> tuple[Wanted, ...]:
    folder = plugin_folder(place)
    package = {
        "name": "sayso",
        "description": MANIFEST["description"],
        "version": "1.0.0",
        "type": "module",
        "openclaw": {"extensions": ["./index.js"]},
    }
    return (
        WantedFile(folder / "package.json", f"{to_json(package)}\n"),
        WantedFile(folder / "openclaw.plugin.json", f"{to_json(MANIFEST)}\n"),
        WantedFile(
            folder / "index.js",
            write_plugin("openclaw", EVENTS, command, PLUGIN.replace("TIMEOUT", str(seconds * 1_000))),
        ),
    )


def plugin_folder(place: Place) -> Path:
    named = place.variables.get("OPENCLAW_STATE_DIR")
    return (Path(named) if named else place.home / ".openclaw") / "extensions" / "sayso"


AGENT = Agent(
    name="openclaw",
    read_event=_read_event,
    render_answer=answer_plugin,
    title="OpenClaw",
    program="openclaw",
    events=EVENTS,
    wanted=_wanted,
    canary=canary_of("before_tool_call", "write", "path"),
    levels=3,
    scopes=("user",),
    condition="its plugin is enabled, and not before",
    advice=("Switch the plugin on: openclaw plugins enable sayso, then restart the gateway.",),
)
