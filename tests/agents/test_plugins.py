"""The plugins for opencode and OpenClaw, run by Node: only an exact allow lets the call go on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sayso.doors.agents import AGENTS
from sayso.doors.agents.agent import Place, WantedFile

NODE = Path(sys.executable).parent / "node"
PATIENCE = 180
OPENCODE = """
import { Sayso } from "./plugin.mjs";
const parents = { "ses-child": "ses-root" };
const get = async ({ path }) => ({ data: { id: path.id, parentID: parents[path.id] } });
const hooks = await Sayso({ client: { session: { get } }, directory: "/work", worktree: "/work" });
const call = { tool: "bash", sessionID: process.argv[2], callID: "c1" };
try {
  await hooks["tool.execute.before"](call, { args: { command: "ls" } });
  console.log("runs");
} catch (error) {
  console.log(`blocked: ${error.message}`);
}
"""
OPENCLAW = """
import plugin from "./plugin.mjs";
const handlers = {};
plugin.register({ on: (event, handler, options) => { handlers[event] = [handler, options]; } });
const [handler, options] = handlers["before_tool_call"];
const event = { toolName: "exec", params: { command: "ls" }, toolCallId: "c1" };
const result = await handler(event, { sessionKey: process.argv[2], workspaceDir: "/work" });
const went = result === undefined ? "runs" : "else";
console.log(result?.block === true ? `blocked: ${result.blockReason}` : went);
if (options.timeoutMs !== 60000) console.log("another time");
"""
HARNESSES = {"opencode": OPENCODE, "openclaw": OPENCLAW}


@pytest.fixture(params=sorted(HARNESSES))
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def run(name: str, folder: Path, script: str, session: str = "ses-root") -> str:
    """What the host does when the hook is this script."""
    place = Place(folder, folder, {})
    plugin = AGENTS[name].wanted(place, "user", lambda event: script, 60)[-1]
    assert isinstance(plugin, WantedFile)
    (folder / "plugin.mjs").write_text(plugin.text)
    (folder / "host.mjs").write_text(HARNESSES[name])
    done = subprocess.run(
        [NODE, folder / "host.mjs", session], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_exact_allow_lets_the_call_go_on(name: str, tmp_path: Path) -> None:
    assert run(name, tmp_path, """cat > /dev/null; printf '{"decision":"allow"}'""") == "runs"


FAILURES = {
    "a deny": "echo 'not allowed' >&2; exit 2",
    "another code": """printf '{"decision":"allow"}'; exit 1""",
    "nothing": "true",
    "another answer": """printf '{"decision":"deny"}'""",
    "more than an allow": """printf '{"decision":"allow"} and more'""",
    "a signal": "kill -9 $$",
    "a hook that is not there": "/nowhere/at/all",
    "one that reads nothing": """exec 0<&-; exit 2""",
}


@pytest.mark.parametrize("script", FAILURES.values(), ids=FAILURES.keys())
def test_everything_else_blocks(name: str, tmp_path: Path, script: str) -> None:
    assert run(name, tmp_path, script).startswith("blocked: ")


def test_the_agent_reads_the_reason(name: str, tmp_path: Path) -> None:
    assert (
        run(name, tmp_path, "echo 'Pending approval (op_1)' >&2; exit 2")
        == "blocked: Pending approval (op_1)"
    )


def sent(name: str, folder: Path, session: str) -> dict[str, Any]:
    run(name, folder, f"cat > {folder}/sent.json; exit 2", session)
    found: dict[str, Any] = json.loads((folder / "sent.json").read_text())
    return found


def test_the_payload_is_what_the_agents_file_reads(name: str, tmp_path: Path) -> None:
    payload = sent(name, tmp_path, "ses-root")
    event = AGENTS[name].read_event(payload["hook_event_name"], payload)
    assert (event.session, event.folder, event.subagent) == ("ses-root", "/work", "")
    assert payload["tool_input"] == {"command": "ls"}


def test_a_sub_agent_of_opencode_acts_in_the_session_above_it(tmp_path: Path) -> None:
    payload = sent("opencode", tmp_path, "ses-child")
    event = AGENTS["opencode"].read_event("tool.execute.before", payload)
    assert (event.session, event.subagent) == ("ses-root", "unnamed")
