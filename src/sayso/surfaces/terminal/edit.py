"""Changing the arguments of a call, in the person's editor or line by line."""

from __future__ import annotations

import json
import os
import shlex
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sayso.core.digest import encode_canonical, parse_json
from sayso.core.errors import NotCanonical
from sayso.core.text.foreign import spell_character, visible
from sayso.surfaces.terminal.device import LONGEST_LINE, LOOKS_UP_EVERY, Device

GRACE = 10  # looks that an editor gets to leave when the question is over


class EditorFailed(Exception):
    """The editor did not start, or said that it failed."""


def find_editor(environ: Mapping[str, str]) -> list[str]:
    """The command of the person's editor; empty if they have named none."""
    try:
        return shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "")
    except ValueError:
        return []


def write_draft(values: Mapping[str, Any]) -> str:
    """The arguments as JSON to edit. Characters that would not show are escaped, as JSON can."""
    text = json.dumps(values, ensure_ascii=False, indent=2)
    return "".join(c if c == "\n" or spell_character(c) == c else json.dumps(c)[1:-1] for c in text)


def read_draft(text: str) -> dict[str, Any]:
    """The arguments that were written, read as strictly as an agent's."""
    values = parse_json(text)
    if not isinstance(values, dict):
        raise NotCanonical("the arguments must be an object: names and values in braces")
    encode_canonical(values)
    return values


def edit_by_lines(values: Mapping[str, Any], ask: Callable[[str], str], say: Callable[[str], None]) -> str:
    """A draft made by asking for each argument in turn; Enter keeps what is there.

    What replaces text is taken as text, letter by letter; what replaces anything else is read as JSON.
    """
    edited = {}
    for name, old in values.items():
        say(visible(f"{name}: {json.dumps(old, ensure_ascii=False)}"))
        edited[name] = _ask_value(old, ask, say)
    return json.dumps(edited, ensure_ascii=False)


def _ask_value(old: Any, ask: Callable[[str], str], say: Callable[[str], None]) -> Any:
    while typed := ask("New value [keep]: "):
        if len(typed.encode()) >= LONGEST_LINE:
            say("That is longer than a terminal line can be. Set EDITOR to edit long text.")
        elif isinstance(old, str):
            return typed
        else:
            try:
                return parse_json(typed)
            except NotCanonical as error:
                say(f"{error.message}. Text goes in double quotes.")
    return old


def edit_in_editor(device: Device, editor: list[str], draft: str, look_up: Callable[[], None]) -> str:
    """Return what the person made of the draft. The file is theirs alone and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="sayso-") as folder:
        path = Path(folder) / "arguments.json"
        path.touch(mode=0o600)
        path.write_text(draft.rstrip("\n") + "\n", encoding="utf-8")
        _run_on_terminal([*editor, str(path)], device, look_up)
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise EditorFailed("the editor left no text behind") from error


def _run_on_terminal(command: list[str], device: Device, look_up: Callable[[], None]) -> None:
    """Run a program on the terminal, in a group of its own so that its Ctrl-C is not ours."""
    device.restore()
    on_terminal = [(os.POSIX_SPAWN_DUP2, device.descriptor, number) for number in (0, 1, 2)]
    try:
        child = os.posix_spawnp(
            command[0], command, os.environ, file_actions=on_terminal, setpgroup=0, setsigdef=[signal.SIGPIPE]
        )
    except OSError as error:
        raise EditorFailed(f"{command[0]} did not start: {error.strerror}") from error
    with _lend_terminal(device.descriptor, child):
        status = _wait_for_child(child, look_up)
    if status != 0:
        raise EditorFailed(f"{command[0]} ended with {status}")


@contextmanager
def _lend_terminal(terminal: int, group: int) -> Iterator[None]:
    """The terminal belongs to this group for a while, if it is ours to give."""
    try:
        ours = os.tcgetpgrp(terminal)
        os.tcsetpgrp(terminal, group)
    except OSError:
        yield
        return
    try:
        os.killpg(group, signal.SIGCONT)  # it may have read too early, and been stopped
        yield
    finally:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
        with suppress(OSError):
            os.tcsetpgrp(terminal, ours)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait_for_child(child: int, look_up: Callable[[], None]) -> int:
    """Its exit status. If the question is over before, it is told to leave, then made to."""
    try:
        while (status := _poll_child(child)) is None:
            look_up()
            time.sleep(LOOKS_UP_EVERY)
    except BaseException:
        _end_child(child)
        raise
    return status


def _end_child(child: int) -> None:
    os.kill(child, signal.SIGTERM)
    for _ in range(GRACE):
        if _poll_child(child) is not None:
            return
        time.sleep(LOOKS_UP_EVERY)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _poll_child(child: int) -> int | None:
    """The exit status of a child that has ended. One that was suspended goes on: nobody could wake it."""
    found, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
    if found == 0:
        return None
    if os.WIFSTOPPED(status):
        os.kill(child, signal.SIGCONT)
        return None
    return os.waitstatus_to_exitcode(status)
