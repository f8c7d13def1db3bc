"""Installing and uninstalling: what changes in the files of a coding agent, shown before it is written.

- A file of the user's keeps every byte that is not ours. Installing twice changes nothing.
- Uninstalling restores what was there before; if the file was changed since, only our entries go.
- A file that cannot be read or is not what it should be is left alone.
"""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from sayso.core.errors import SaysoError
from sayso.doors.agents.agent import Wanted, WantedEntries, WantedFile
from sayso.doors.agents.settings import json_edit
from sayso.doors.agents.settings.registration import is_hook_command, is_own_file


class CannotInstall(SaysoError):
    """A file is in the way, or cannot be read. Nothing was changed."""

    code = "cannot_install"


class Change(msgspec.Struct, frozen=True):
    """One file before and after; None where there is none."""

    path: Path
    before: str | None
    after: str | None
    executable: bool = False
    folders: tuple[str, ...] = ()
    """Folders that are made for it, or removed with it if nothing else is in them; the innermost first."""

    @property
    def is_needed(self) -> bool:
        return self.before != self.after


class InstalledFile(msgspec.Struct, frozen=True):
    """A file as an installation left it, and as it was before."""

    path: str
    before: str | None
    after: str
    folders: tuple[str, ...] = ()
    """Those that were made for it."""


def plan_install(wanted: Sequence[Wanted], inside: Path | None = None) -> list[Change]:
    """Return what has to change. With `inside`, a file that leads out of that folder is refused."""
    return [_plan_file(one, inside) for one in wanted]


def plan_uninstall(wanted: Sequence[Wanted], installed: Sequence[InstalledFile]) -> list[Change]:
    """Return what has to change for every trace of an installation to go."""
    known = {one.path: one for one in installed}
    return [_plan_removal(one, known.get(str(resolve_link(one.path)))) for one in wanted]


def add_earlier_places(wanted: Sequence[Wanted], installed: Sequence[InstalledFile]) -> list[Wanted]:
    """Return what is wanted, also where an installation wrote it and a variable of today leads elsewhere."""
    known = {str(resolve_link(one.path)) for one in wanted}
    moved = [one for one in installed if one.path not in known]
    return [*wanted, *(msgspec.structs.replace(wanted[0], path=Path(one.path)) for one in moved)]


def apply_changes(changes: Sequence[Change]) -> None:
    """Write the changes, each file as a whole."""
    for change in changes:
        if change.is_needed:
            _write(change)


def show_changes(changes: Sequence[Change]) -> list[str]:
    """Return the changes as a diff."""
    lines: list[str] = []
    for change in changes:
        before, after = change.before or "", change.after or ""
        names = (str(change.path), str(change.path) if change.after is not None else "(removed)")
        found = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
        lines += [*found]
    return lines


def _plan_file(one: Wanted, inside: Path | None) -> Change:
    path = resolve_link(one.path)
    if inside is not None and not path.is_relative_to(resolve_link(inside)):
        raise CannotInstall(f"{one.path} leads out of the project, to {path}", hint="it was left alone")
    before = read_settings_file(path)
    if isinstance(one, WantedFile):
        if before is not None and not is_own_file(before):
            raise CannotInstall(
                f"{path} is there already, and not Sayso's", hint="move it away, or call Sayso from it"
            )
        return Change(path, before, one.text, one.executable, _missing_folders(path))
    return Change(path, before, _with_entries(path, before or "", one), folders=_missing_folders(path))


def _missing_folders(path: Path) -> tuple[str, ...]:
    return tuple(str(folder) for folder in path.parents if not folder.exists())


def _with_entries(path: Path, text: str, one: WantedEntries) -> str:
    try:
        _refuse_dropped(path, text, one)
        for name, value in one.values.items():
            text = json_edit.set_missing(text, name, value)
        for where, entry in one.lists.items():
            if list_own_entries(json_edit.list_items(text, where)) != [entry]:
                text = json_edit.append_to_list(_remove_own(text, where), where, entry)
    except json_edit.BrokenFile as error:
        raise CannotInstall(f"{path}, {error.message}", hint="mend the file; it was left alone") from error
    return text


def _refuse_dropped(path: Path, text: str, one: WantedEntries) -> None:
    """Refuse a file that the agent would not take: it drops it as a whole, and our hooks with it."""
    if not text.strip():
        return
    json_edit.refuse_mark(text)
    value = json_edit.load_value(json_edit.parse_text(text))
    json_edit.refuse_loose(text, comments=one.comments)
    fault = one.find_fault(value) if one.find_fault is not None else ""
    if fault:
        raise CannotInstall(
            f"{path} has a value that makes the agent drop the file or its hooks: {fault}",
            hint="mend the file; it was left alone",
        )


def _plan_removal(one: Wanted, installed: InstalledFile | None) -> Change:
    path = resolve_link(one.path)
    before = read_settings_file(path)
    if before is None:
        return Change(path, None, None)
    folders = () if installed is None else installed.folders
    if installed is not None and before == installed.after:
        return Change(path, before, installed.before, folders=folders)
    if isinstance(one, WantedFile):
        return Change(path, before, None if is_own_file(before) else before, folders=folders)
    try:
        return Change(path, before, _without_entries(before, one))
    except json_edit.BrokenFile as error:
        raise CannotInstall(f"{path}, {error.message}", hint="mend the file; it was left alone") from error


def _without_entries(text: str, one: WantedEntries) -> str | None:
    for where in one.lists:
        text = _remove_own(text, where)
    return text


def list_own_entries(items: Sequence[Any]) -> list[Any]:
    """Return our entries: of one that the user has put a hook into, what of it is ours."""
    found = []
    for item in items:
        inner, own = _inner_hooks(item), _own_hooks(item)
        if own or _is_own_hook(item):
            found.append({**item, "hooks": own} if inner else item)
    return found


def has_foreign_hooks(items: Sequence[Any]) -> bool:
    """Return whether somebody else's hook is among these entries."""
    return any(_inner_hooks(one) != _own_hooks(one) for one in items)


def _remove_own(text: str, where: tuple[str, ...]) -> str:
    """Take our hooks off this list, and an entry only if nothing else is in it."""
    items = json_edit.list_items(text, where)
    for number, item in enumerate(items):
        own = _own_hooks(item)
        if len(own) < len(_inner_hooks(item)):
            text = json_edit.remove_items(text, (*where, number, "hooks"), own)
    return json_edit.remove_items(text, where, [one for one in items if _is_all_own(one)])


def _inner_hooks(item: Any) -> list[Any]:
    inner = item.get("hooks") if isinstance(item, dict) else None
    return inner if isinstance(inner, list) else []


def _own_hooks(item: Any) -> list[Any]:
    return [one for one in _inner_hooks(item) if _is_own_hook(one)]


def _is_all_own(item: Any) -> bool:
    own = _own_hooks(item)
    return _is_own_hook(item) or (bool(own) and own == _inner_hooks(item))


def _is_own_hook(item: Any) -> bool:
    return isinstance(item, dict) and is_hook_command(item.get("command"))


def resolve_link(path: Path) -> Path:
    """Return where the file really is: a link in the user's own folder stays a link."""
    return Path(os.path.realpath(path))


def read_settings_file(path: Path) -> str | None:
    """Return the text of somebody's file, None without one; refuse what cannot be read."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CannotInstall(f"cannot read {path}: {error.strerror}", hint="it was left alone") from error
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CannotInstall(f"{path} is not text in UTF-8", hint="it was left alone") from error


def _write(change: Change) -> None:
    path = change.path
    try:
        if change.after is None:
            path.unlink(missing_ok=True)
            _remove_empty(change.folders)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o755 if change.executable else 0o600
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(change.after.encode())
        Path(name).chmod(mode)
        os.replace(name, path)  # noqa: PTH105  one step, whoever reads it meanwhile
    except OSError as error:
        raise CannotInstall(f"cannot write {path}: {error.strerror}") from error


def _remove_empty(folders: Sequence[str]) -> None:
    with suppress(OSError):
        for folder in folders:
            Path(folder).rmdir()
