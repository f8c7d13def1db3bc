"""Is a coding agent really gated? Looked at piece by piece, and tried with a call that must be blocked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sayso.core.errors import SaysoError
from sayso.doors.agents.agent import UNPROVEN, Agent, Place, Scope
from sayso.doors.agents.doctor.canary import PATIENCE, Diagnosis, try_canary, try_program, try_without_service
from sayso.doors.agents.doctor.caveats import list_caveats
from sayso.doors.agents.settings.changes import plan_install
from sayso.doors.agents.settings.installed import Installation, hook_file, wanted_files
from sayso.doors.agents.settings.registration import HOOK, find_python
from sayso.gate.settings import service_user, socket_path


def examine_agent(agent: Agent, place: Place, scope: Scope, one: Installation | None) -> list[Diagnosis]:
    """Return what is found about an agent's gate, in the order to mend it."""
    found = [_look_at_program(agent)]
    if one is None:
        return [*found, Diagnosis("hook", good=False, text=f"not installed: sayso install {agent.name}")]
    file = hook_file(agent, scope, place.project)
    found += [_look_at_registration(agent, place, scope, one), *_look_at_parts(file)]
    found += [Diagnosis("host", good=False, text=text) for text in list_caveats(agent.name, place, scope)]
    found += [try_canary(agent, place, file), try_without_service(agent, place, file)]
    run = try_program(agent, place, file)
    return found if run is None else [*found, run]


def find_level(path: Path | None, gates: Mapping[str, Sequence[Diagnosis]]) -> Diagnosis:
    """Return how far the gates hold that were examined: guarded, or separated from the agents' user."""
    if not gates:
        return Diagnosis("level", good=False, text="none: no call here asks Sayso first")
    wrong = [name for name, found in gates.items() if not all(one.good for one in found)]
    if wrong:
        return Diagnosis("level", good=False, text=f"not proven for {', '.join(wrong)}: see BAD above")
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


def _look_at_program(agent: Agent) -> Diagnosis:
    path = shutil.which(agent.program)
    if path is None:
        missing = f"{agent.title}: no command {agent.program} found, so {UNPROVEN}"
        return Diagnosis("program", good=True, text=missing)
    try:
        done = subprocess.run(  # noqa: S603  the user's own agent, asked for its version
            [path, "--version"], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        version = re.search(r"\d+\.\d+[\w.+-]*", done.stdout + done.stderr)
    except (OSError, subprocess.TimeoutExpired):
        version = None
    named = f"{agent.title} {version[0] if version else 'of an unknown version'}"
    return Diagnosis("program", good=True, text=named if agent.headless else f"{named}; {agent.unproven}")


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
