"""Installations as they are kept: the file that the hook reads, and what each file was before.

They lie in the config folder, where no agent may read or write.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from sayso.core.digest import sha256
from sayso.core.errors import SaysoError
from sayso.doors.agents.agent import Agent, Place, Scope, Wanted
from sayso.doors.agents.settings.changes import Change, InstalledFile
from sayso.doors.agents.settings.registration import SPARE, hook_command
from sayso.gate.decoding import decode_json
from sayso.gate.settings import gate_config_folder
from sayso.reading.paths.own_places import guard_program

FOLDER = "hooks"


class Installation(msgspec.Struct, frozen=True):
    """One installation of one agent's hook."""

    agent: str
    scope: Scope
    project: str
    wait: int
    token: str
    """The id of the hook's token."""
    files: tuple[InstalledFile, ...] = ()


def hook_file(agent: Agent, scope: Scope, project: Path) -> Path:
    """Return the file that the hook of this installation reads."""
    name = agent.name if scope == "user" else f"{agent.name}-{sha256(str(project).encode())[:12]}"
    return gate_config_folder() / FOLDER / name


def wanted_files(agent: Agent, place: Place, scope: Scope, wait: int) -> tuple[Wanted, ...]:
    """Return what this agent needs in its settings."""
    file = hook_file(agent, scope, place.project)
    return agent.wanted(place, scope, lambda event: hook_command(agent, event, file), wait + SPARE)


def find_place(project: Path | None = None) -> Place:
    """Return where agents keep their settings for whoever runs this."""
    return Place(Path.home(), (project or Path.cwd()).resolve(), dict(os.environ))


def load_installation(file: Path) -> Installation | None:
    """Return the installation of this hook file; None if there is none."""
    try:
        return decode_json(_record(file).read_bytes(), Installation)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise SaysoError(f"cannot read {_record(file)}: {error}", hint="install the hook again") from error


def list_installations() -> list[tuple[Path, Installation]]:
    """Return every installation on this machine, with its hook file."""
    found = sorted((gate_config_folder() / FOLDER).glob("*.json"))
    loaded = ((one.with_suffix(""), load_installation(one.with_suffix(""))) for one in found)
    return [(file, one) for file, one in loaded if one is not None]


def guard_installed_files() -> None:
    """Guard the settings that hooks are registered in, wherever they were when they were installed."""
    for _, one in list_installations():
        for file in one.files:
            guard_program(file.path)


def save_installation(file: Path, text: str, one: Installation) -> None:
    """Write the hook's file and the record, for this user alone."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(file, text.encode())
    write_private(_record(file), msgspec.json.format(msgspec.json.encode(one)))


def forget_installation(file: Path) -> None:
    for path in (file, _record(file)):
        path.unlink(missing_ok=True)


def note_files(changes: Sequence[Change], earlier: Installation | None) -> tuple[InstalledFile, ...]:
    """Return the files as they are after these changes, and as they were before the first installation.

    A file that an earlier installation wrote elsewhere, under another variable, is kept in mind.
    """
    known = {one.path: one for one in earlier.files} if earlier is not None else {}
    noted = []
    for change in changes:
        old = known.pop(str(change.path), None)
        before = old.before if old is not None and old.after == change.before else change.before
        folders = change.folders or (old.folders if old is not None else ())
        noted.append(InstalledFile(str(change.path), before, change.after or "", folders))
    return (*noted, *known.values())


def list_hook_tokens(agent: str, file: Path) -> list[str]:
    """Return the tokens in the hook files of the agent of this name, this one's first.

    The installations of an agent share one token: a call that two hooks see is then one call.
    """
    name = re.compile(rf"{re.escape(agent)}(-[0-9a-f]{{12}})?")
    others = sorted(one for one in file.parent.glob("*") if name.fullmatch(one.name) and one != file)
    return [token for one in (file, *others) if (token := read_token(one)) is not None]


def read_token(file: Path) -> str | None:
    """Return the token in the hook's file, if there is one."""
    return _read_line(file, "token ")


def installed_socket() -> Path | None:
    """Return the socket that hooks connect to, if one is installed."""
    found = (_read_line(file, "socket ") for file, _ in list_installations())
    return next((Path(one) for one in found if one), None)


def _read_line(file: Path, name: str) -> str | None:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return next((line.removeprefix(name) for line in lines if line.startswith(name)), None)


def write_private(path: Path, raw: bytes) -> None:
    """Write a file that only this user can read, in one step."""
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(raw)
    beside.replace(path)


def _record(file: Path) -> Path:
    return file.with_name(f"{file.name}.json")
