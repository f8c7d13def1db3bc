"""JavaScript for hosts that take plugins: it starts the hook, and blocks all but an exact allow."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sayso.doors.agents.agent import CommandFor, HookEvent
from sayso.doors.agents.answers import refuse_by_exit
from sayso.wire import HookAnswer, HookOutput, HostCall, HostEvent

PLUGIN_ALLOW = '{"decision":"allow"}'
RUN_HOOK = """\
// Written by `sayso install %(agent)s`; `sayso uninstall %(agent)s` removes it.
import { spawn } from "node:child_process";

const HOOK = %(words)s;

/** Ask Sayso about one event. Anything but an exact allow is an error: the call then does not run. */
function askSayso(event, payload) {
  return new Promise((resolve, reject) => {
    const words = HOOK[event];
    const child = spawn(words[0], words.slice(1), { stdio: ["pipe", "pipe", "pipe"] });
    let out = "";
    let err = "";
    child.stdout.on("data", (part) => { out += part; });
    child.stderr.on("data", (part) => { err += part; });
    child.on("error", (error) => reject(new Error(`Sayso: the hook could not be started: ${error.message}`)));
    child.on("close", (code) => {
      const why = err.trim() || "Sayso could not decide, so nothing runs.";
      if (code !== 0) return reject(new Error(why));
      if (out.trim() === '{"decision":"allow"}') return resolve(true);
      return reject(new Error(why));
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(payload));
  });
}

/** Report something that has happened. If that fails, nothing follows from it. */
async function tellSayso(event, payload) {
  await askSayso(event, payload).catch(() => undefined);
}
"""


def write_plugin(agent: str, events: Iterable[HookEvent], command: CommandFor, rest: str) -> str:
    """Return the text of a plugin: how the hook is started, and what the host calls."""
    words = {one.name: ["/bin/sh", "-c", command(one.name)] for one in events}
    return RUN_HOOK % {"agent": agent, "words": json.dumps(words, indent=2)} + rest


def answer_plugin(event: HostEvent, answer: HookAnswer) -> HookOutput:
    """Allow, in the exact words that the plugin expects, or refuse; what only reports is always allowed."""
    if not isinstance(event, HostCall) or answer.verdict == "allow":
        return HookOutput(out=PLUGIN_ALLOW)
    return refuse_by_exit(answer)
