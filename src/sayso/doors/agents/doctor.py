"""Is a coding agent really gated? Looked at piece by piece, and tried with a call that must be blocked.

The canary goes through the very command line that is registered. It would write Sayso's own policy file,
which every policy blocks; nothing is written, because nothing runs it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from sayso.core.errors import SaysoError
from sayso.doors.agents.agent import Agent, Place, Scope
from sayso.doors.agents.claude import claude_settings_file
from sayso.doors.agents.claude_settings import find_claude_fault, list_disarming_variables
from sayso.doors.agents.codex import AGENT as CODEX
from sayso.doors.agents.codex import codex_hooks_file, is_trusted_by_codex
from sayso.doors.agents.gemini import gemini_settings_file
from sayso.doors.agents.settings import json_edit
from sayso.doors.agents.settings.changes import has_foreign_hooks, plan_install
from sayso.doors.agents.settings.installed import Installation, hook_file, wanted_files
from sayso.doors.agents.settings.registration import HOOK, find_python, hook_command
from sayso.gate.settings import gate_config_folder, service_user, socket_path
from sayso.wire import CANARY_SESSION, canary_word

PATIENCE = 60


class Diagnosis(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    about: str
    good: bool
    text: str


def examine_agent(agent: Agent, place: Place, scope: Scope, one: Installation | None) -> list[Diagnosis]:
    """Return what is found about an agent's gate, in the order to mend it."""
    found = [_look_at_program(agent)]
    if one is None:
        return [*found, Diagnosis("hook", good=False, text=f"not installed: sayso install {agent.name}")]
    file = hook_file(agent, scope, place.project)
    found += [_look_at_registration(agent, place, scope, one), *_look_at_parts(file)]
    caveats = CAVEATS.get(agent.name, _none)(place, scope)
    found += [Diagnosis("host", good=False, text=text) for text in caveats]
    found += [try_canary(agent, place, file), try_without_service(agent, place, file)]
    return found


def find_level(path: Path | None = None) -> Diagnosis:
    """Return how far the gate holds: guarded, or separated from the user whose agents it gates."""
    path, user = path or socket_path(), service_user()
    if user is None or user == os.getuid():
        text = "guarded: stops mistakes and injected calls, not a hostile program that runs as you"
        return Diagnosis("level", good=True, text=text)
    folder = None if path is None else path.parent
    if folder is None or not folder.exists() or os.access(folder, os.W_OK):
        return Diagnosis(
            "level", good=False, text=f"guarded: you can write to {folder}, so anybody may listen there"
        )
    return Diagnosis("level", good=True, text=f"separated: the service runs as user {user}")


def try_canary(agent: Agent, place: Place, file: Path) -> Diagnosis:
    """Send a call that must be blocked through the registered command.

    A hook or a program that is missing ends with the exit code that blocks, too: only the service's own word
    for this canary proves that it was decided.
    """
    event, payload = agent.canary(str(gate_config_folder() / "policy.yaml"), str(place.project))
    session = f"{CANARY_SESSION}-{secrets.token_hex(8)}"
    sent = json.dumps(payload).replace(f'"{CANARY_SESSION}"', f'"{session}"')
    code, out, err = _run(hook_command(agent, event, file), sent.encode())
    said = " ".join((err or out).split())[:200]
    if not agent.is_blocked(code, out):
        return Diagnosis("canary", good=False, text=f"the call that must be blocked was not: {said}")
    if canary_word(session) not in f"{out} {err}":
        return Diagnosis("canary", good=False, text=f"blocked, but not by the service's decision: {said}")
    return Diagnosis("canary", good=True, text="a call that must be blocked was blocked")


def try_without_service(agent: Agent, place: Place, file: Path) -> Diagnosis:
    """Send the same with the hook's file missing: what cannot be decided must not run."""
    event, payload = agent.canary(str(gate_config_folder() / "policy.yaml"), str(place.project))
    command = hook_command(agent, event, file.with_name(f"{file.name}.missing"))
    code, out, _ = _run(command, json.dumps(payload).encode())
    held = agent.is_blocked(code, out) or code == 2
    return Diagnosis(
        "failure", good=held, text="a hook that fails blocks" if held else "a hook that fails lets it run"
    )


def _look_at_program(agent: Agent) -> Diagnosis:
    path = shutil.which(agent.program)
    if path is None:
        return Diagnosis("program", good=True, text=f"{agent.title}: no command {agent.program} found")
    try:
        done = subprocess.run(  # noqa: S603  the user's own agent, asked for its version
            [path, "--version"], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        version = re.search(r"\d+\.\d+[\w.+-]*", done.stdout + done.stderr)
    except (OSError, subprocess.TimeoutExpired):
        version = None
    return Diagnosis(
        "program", good=True, text=f"{agent.title} {version[0] if version else 'of an unknown version'}"
    )


def _look_at_registration(agent: Agent, place: Place, scope: Scope, one: Installation) -> Diagnosis:
    try:
        changes = plan_install(wanted_files(agent, place, scope, one.wait))
    except SaysoError as error:
        return Diagnosis("hook", good=False, text=f"{error.message}")
    wrong = [str(change.path) for change in changes if change.is_needed]
    if wrong:
        text = f"not registered as installed in {', '.join(wrong)}: sayso install {agent.name}"
        return Diagnosis("hook", good=False, text=text)
    return Diagnosis(
        "hook", good=True, text=f"registered in {', '.join(str(change.path) for change in changes)}"
    )


def _look_at_parts(file: Path) -> Iterator[Diagnosis]:
    python = find_python()
    if not HOOK.is_file() or not os.access(python, os.X_OK):
        yield Diagnosis("parts", good=False, text=f"{HOOK} or {python} is missing")
    try:
        mode = file.stat().st_mode & 0o777
    except OSError:
        yield Diagnosis("parts", good=False, text=f"{file} is missing: install the hook again")
        return
    if mode & 0o077:
        yield Diagnosis("parts", good=False, text=f"others can read the hook's token: chmod 600 {file}")


def _codex_caveats(place: Place, scope: Scope) -> list[str]:
    """Codex runs only hooks that the user trusts as they are; the rest it skips without a word."""
    program = shutil.which("codex")
    hooks, file = codex_hooks_file(place, scope), hook_file(CODEX, scope, place.project)
    command = hook_command(CODEX, "PreToolUse", file)
    trusted = None if program is None else is_trusted_by_codex(program, place.project, hooks, command)
    if trusted is None:
        return ["nobody knows whether Codex trusts the hook: the command codex cannot be asked"]
    return [] if trusted else ["Codex skips the hook and runs the call: type /hooks in codex, and trust it"]


def _claude_caveats(place: Place, scope: Scope) -> list[str]:
    user, local = (claude_settings_file(place, one) for one in ("user", "project"))
    files = dict.fromkeys((user, local.with_name("settings.json"), local))
    off = _switched_off(list(files), lambda value: value.get("disableAllHooks") is True)
    return [*off, *(text for file in files if file != user for text in _project_caveats(file))]


def _project_caveats(file: Path) -> Iterator[str]:
    """What a project's own settings do to the hooks of the user."""
    value = _load_object(file) or {}
    fault = find_claude_fault(value)
    if fault:
        yield f"Claude Code drops {file}: {fault}"
    names = list_disarming_variables(value)
    if names:
        yield f"{file} sets {', '.join(names)}: a program of the project's can take the place of the hook"
    entries = json_edit.items_of(value, ("hooks", "PreToolUse"))
    if has_foreign_hooks(entries):
        yield f"{file} has a PreToolUse hook of its own: it can change a call after Sayso has judged it"


def _gemini_caveats(place: Place, scope: Scope) -> list[str]:
    def is_off(value: dict[str, object]) -> bool:
        config = value.get("hooksConfig")
        return isinstance(config, dict) and (
            config.get("enabled") is False or "sayso" in config.get("disabled", [])
        )

    return _switched_off(
        [gemini_settings_file(place, "user"), gemini_settings_file(place, "project")], is_off
    )


def _switched_off(files: list[Path], is_off: Callable[[dict[str, object]], bool]) -> list[str]:
    """Return what is wrong in these files. A project's own file switches the user's hooks off as well."""
    found = []
    for file in files:
        value = _load_object(file)
        if value is None:
            found.append(f"{file} cannot be read")
        elif is_off(value):
            found.append(f"hooks are switched off in {file}: every call runs")
    return found


def _load_object(file: Path) -> dict[str, Any] | None:
    """Return the settings in the file, none if there is no file; None if they cannot be read."""
    try:
        text = file.read_text(encoding="utf-8")
        value = json_edit.load_value(json_edit.parse_text(text)) if text.strip() else {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, SaysoError):
        return None
    return value if isinstance(value, dict) else None


def _none(place: Place, scope: Scope) -> list[str]:
    return []


CAVEATS: dict[str, Callable[[Place, Scope], list[str]]] = {
    "claude": _claude_caveats,
    "codex": _codex_caveats,
    "gemini": _gemini_caveats,
}
"""What in a host's own settings makes it run calls whatever the hook says."""


def _run(command: str, given: bytes) -> tuple[int, str, str]:
    try:
        done = subprocess.run(  # noqa: S603  the registered command, as the host runs it
            ["/bin/sh", "-c", command], input=given, capture_output=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return 1, "", "no answer in time"
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
