"""What in a host's own settings, or in a project's, makes the host run calls whatever the hook says."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from sayso.core.errors import SaysoError
from sayso.doors.agents.agent import Place, Scope
from sayso.doors.agents.claude import claude_settings_file
from sayso.doors.agents.claude_settings import find_claude_fault, list_disarming_variables
from sayso.doors.agents.codex import AGENT as CODEX
from sayso.doors.agents.codex import codex_hooks_file, is_trusted_by_codex
from sayso.doors.agents.gemini import gemini_settings_file
from sayso.doors.agents.settings import json_edit
from sayso.doors.agents.settings.changes import has_foreign_hooks
from sayso.doors.agents.settings.installed import hook_file
from sayso.doors.agents.settings.registration import hook_command

INLINE_COMMAND = re.compile(r"!`|^```!", re.MULTILINE)
OWN_HOOKS = re.compile(r"\A---\n(?:(?!---).*\n)*hooks:")
TEXTS = ("skills", "commands", "agents")
LARGEST_TEXT = 1024 * 1024
MOST_TEXTS = 1_000


def list_caveats(agent: str, place: Place, scope: Scope) -> list[str]:
    """Return what is known to let calls of this agent run unasked here."""
    return CAVEATS.get(agent, _none)(place, scope)


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
    projects = [file for file in files if file != user]
    found = [text for file in projects for text in _project_caveats(file)]
    return [*off, *found, *_text_caveats(place.project / ".claude")]


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

    plugins = value.get("enabledPlugins")
    if isinstance(plugins, dict) and any(plugins.values()):
        named = ", ".join(sorted(name for name, on in plugins.items() if on))
        yield f"{file} switches on plugins ({named}): their hooks can change a call after Sayso has judged it"


def _text_caveats(folder: Path) -> Iterator[str]:
    """What a project's skills, commands and agents do without calling a tool."""
    texts = (one for kind in TEXTS for one in sorted((folder / kind).rglob("*.md")))
    for file in islice(texts, MOST_TEXTS):
        try:
            with file.open("rb") as opened:
                text = opened.read(LARGEST_TEXT).decode("utf-8", "replace")
        except OSError:
            yield f"{file} cannot be read"
            continue
        if INLINE_COMMAND.search(text):
            yield f"{file} has commands that Claude Code runs when it loads the text, without a hook"
        if OWN_HOOKS.match(text.replace("\r\n", "\n")):
            yield f"{file} has hooks of its own: they can change a call after Sayso has judged it"


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
