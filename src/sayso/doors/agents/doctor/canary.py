"""Calls that must be blocked, sent to prove that the gate blocks.

- The canary goes through the very command line that is registered. It would write Sayso's own policy file,
  which every policy blocks; nothing is written, because nothing runs it.
- Where the program can take a message without a model, it is started once: only then it is proven that this
  program, with the settings of this folder, runs the hook.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import msgspec

from sayso.doors.agents.agent import NOWHERE, Agent, Headless, Place
from sayso.doors.agents.settings.registration import hook_command
from sayso.gate.settings import gate_config_folder
from sayso.wire import CANARY_SESSION, canary_word, heard_word

PATIENCE = 60
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
WHY_NOT = "Look for hooks that are switched off, or a value of the wrong kind in its settings"


class Diagnosis(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    about: str
    good: bool
    text: str


class HookEnd(msgspec.Struct, frozen=True):
    """How a hook's process ended."""

    code: int
    out: str
    err: str


def try_canary(agent: Agent, place: Place, file: Path) -> Diagnosis:
    """Send a call that must be blocked through the registered command.

    A hook or a program that is missing ends with the exit code that blocks, too: only the service's own word
    for this canary proves that it was decided.
    """
    session = make_session_name()
    ended = _send_canary(agent, place, file, session)
    said = shorten_refusal(ended.err or ended.out)
    if not agent.is_blocked(ended.code, ended.out):
        return Diagnosis("canary", good=False, text=f"the call that must be blocked was not: {said}")
    if canary_word(session) not in f"{ended.out} {ended.err}":
        return Diagnosis("canary", good=False, text=f"blocked, but not by the service's decision: {said}")
    return Diagnosis(
        "canary", good=True, text="the registered command blocked a call that must be blocked, as decided"
    )


def try_without_service(agent: Agent, place: Place, file: Path) -> Diagnosis:
    """Send the same with the hook's file missing: what cannot be decided must not run."""
    ended = _send_canary(agent, place, file.with_name(f"{file.name}.missing"), CANARY_SESSION)
    held = agent.is_blocked(ended.code, ended.out) or ended.code == 2
    return Diagnosis(
        "failure", good=held, text="a hook that fails blocks" if held else "a hook that fails lets it run"
    )


def try_program(agent: Agent, place: Place, file: Path) -> Diagnosis | None:
    """Start the program with a message and no model: its hook must bring the message to the service.

    None where the program is not here, or asks a model before it runs a hook.
    """
    program = shutil.which(agent.program)
    if program is None or agent.headless is None:
        return None
    session = make_session_name()
    _run_headless([program, *agent.headless(session).words], agent.headless(session), place.project)
    ended = _send_canary(agent, place, file, session)
    if heard_word(session) in f"{ended.out} {ended.err}":
        text = f"{agent.title} was started here, and ran the hook"
        return Diagnosis("run", good=True, text=text)
    text = f"{agent.title} was started here, and did not run the hook: every call runs. {WHY_NOT}"
    return Diagnosis("run", good=False, text=text)


def shorten_refusal(said: str) -> str:
    """Return what was said in a line; of a problem that the service names in JSON, its sentence."""
    found = re.search(r'"detail": ?("(?:[^"\\]|\\.)*")', said)
    return " ".join((json.loads(found[1]) if found else said).split())[:200]


def make_session_name() -> str:
    return f"{CANARY_SESSION}-{secrets.token_hex(8)}"


def _send_canary(agent: Agent, place: Place, file: Path, session: str) -> HookEnd:
    event, payload = agent.canary(str(gate_config_folder() / "policy.yaml"), str(place.project))
    sent = json.dumps(payload).replace(f'"{CANARY_SESSION}"', f'"{session}"')
    try:
        done = subprocess.run(  # noqa: S603  the registered command, as the host runs it
            ["/bin/sh", "-c", hook_command(agent, event, file)],
            input=sent.encode(),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return HookEnd(1, "", "no answer in time")
    return HookEnd(
        done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    )


def _run_headless(words: list[str], how: Headless, folder: Path) -> None:
    """Run the program to its end, with nothing to reach but this machine; how it ends says nothing."""
    closed = dict.fromkeys(PROXIES, NOWHERE)
    with (
        suppress(OSError),
        subprocess.Popen(  # noqa: S603  the user's own agent
            words,
            cwd=folder,
            env={**os.environ, **closed, **how.variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process,
    ):
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
