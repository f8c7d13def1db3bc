"""A quick look at paths: an answer is the one that the whole reading of paths gives; on None, that decides.

- A path is answered here only if it is spelled plainly, no link stands on the way, the file has no other
  name, and it is neither the guard's nor where reading shows more than files.
- A change of what is a folder is not: what lies in it counts as well.
- Every name on the way is looked at once a line. Nothing that the file system says is kept for longer, but
  which folders are Sayso's own, and that no link stands on the way to the folder the line runs in while
  that is the same folder: these are asked for again after a second.
"""

from __future__ import annotations

import functools
import os
import re
import stat
import time

import msgspec

from sayso.core.model import Operation, Risk
from sayso.core.policy import Policy
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.path_operations import CallFolders, operation_at_path, operation_at_place
from sayso.reading.paths.budget import SeenFiles, current_budget, follow_links, leads_straight
from sayso.reading.paths.own_places import Identity, find_own_places, own_places_key
from sayso.reading.paths.places import (
    IN_REVEALING,
    SECRET_FILES,
    SECRET_FOLDERS,
    SECRET_PAIRS,
    PathPlace,
    is_secret,
)
from sayso.reading.paths.protected import GUARDED_FIRST_NAMES, find_named, guarded_at_roots
from sayso.reading.paths.spellings import IN_SYSTEM
from sayso.reading.shell.programs.known import ProgramEffect, default_effect
from sayso.reading.verbs import READ_VERBS, verb_of

_PLAIN = lazy_pattern(
    r"\.|(?:/|\./|~/|(?:\.\./)+)?NAME(?:/NAME)*/?|\./\.\.\.".replace(
        "NAME", r"\.?[A-Za-z0-9_][A-Za-z0-9_+=@-]*(?:\.[A-Za-z0-9_+=@-]+)*"
    )
)
_PLAIN_FOLDER = lazy_pattern(r"(?:/[^/.][^/]*)+")
_PLAINLY_NAMED = [one for one in SECRET_FILES if one[0] != "."]
_SECRET_ENDINGS = tuple(re.split(r"[*?\[]", one)[-1] for one in _PLAINLY_NAMED if one[0] == "*")
_SECRET_STARTS = tuple(re.split(r"[*?\[]", one)[0] for one in _PLAINLY_NAMED if one[0] != "*")
"""How names of secrets end and begin, where no name on the way begins with a dot; in /etc others are, too."""
_PLAIN_PLACES = sorted({*SECRET_FOLDERS, *("/".join(pair) for pair in SECRET_PAIRS)})
_SECRET_WAY = lazy_pattern(
    rf"/(?:{'|'.join(re.escape(one) for one in _PLAIN_PLACES if one[0] != '.')})(?![^/])"
)
_SECONDS = 1.0


class _Own(msgspec.Struct, frozen=True):
    """Sayso's own places, ready to be compared with a path in lower case."""

    below: tuple[str, ...]
    """Each with a slash after it."""
    above: frozenset[str]
    folders: frozenset[Identity]


class QuickLook:
    """The file system as one line finds it."""

    __slots__ = ("_folders", "_made", "_own", "_policy", "_seen", "_start", "_where", "running_keys")

    def __init__(self, where: CallFolders, policy: Policy) -> None:
        self._where = where
        self._policy = policy
        self._seen = current_budget().files
        self._folders: dict[str, bool] = {}
        self._made = _operations_under(policy)
        self._own: _Own | None = None
        self.running_keys: dict[tuple[str, str | None, tuple[str, ...]], str | None] = {}
        """Of each repository that was looked at, the key of its configuration that may run a program."""
        self._start = "//"
        """A folder that no link stands on the way to, with a slash after it."""

    def operation_at(self, operation: str, path: str, folder: str) -> Operation:
        """The operation at this path, seen from this folder."""
        return self.effect_at(operation, path, folder)[0]

    def effect_at(self, operation: str, path: str, folder: str) -> OperationEffect:
        """The same with its risk and sentence."""
        found = self._look(operation, path, folder)
        if found is None:
            where = CallFolders(folder, self._where.workspace, self._where.home)
            made = operation_at_path(operation, path, self._policy, where, ())
            found = made, effect_of_operation(made)
        return found

    def look(self, operation: str, path: str, folder: str) -> Operation | None:
        """The operation at a quick look; None if that takes a closer one."""
        found = self._look(operation, path, folder)
        return None if found is None else found[0]

    def _look(self, operation: str, path: str, folder: str) -> OperationEffect | None:
        whole = self._resolve(path, folder)
        if whole is None or (verb_of(operation) not in READ_VERBS and self._is_folder_of_note(whole)):
            return None
        inside = self._is_inside(whole)
        system = not inside and f"{whole}/".startswith(IN_SYSTEM)
        hidden = "/." in whole
        secret = (hidden or system or _may_be_secret(whole)) and is_secret(whole)
        versions = hidden and "/.git" in whole and ".git" in whole.lower().split("/")
        kind = (operation, inside, secret, system, versions)
        found = self._made.get(kind)
        if found is None:
            place = PathPlace(real=whole, inside=inside, secret=secret, system=system, versions=versions)
            made = operation_at_place(operation, place, self._policy)
            found = self._made[kind] = (made, effect_of_operation(made))
        return found

    def is_elsewhere(self, path: str, folder: str) -> bool:
        """Return whether this is an ordinary path outside the workspace; False may take a closer look."""
        whole = self._resolve(path, folder)
        return whole is not None and not self._is_inside(whole)

    def find_real(self, folder: str) -> str:
        """Return the real path of this folder."""
        return folder if self._looks_sound(folder) else follow_links(folder)

    def find_inside(self, path: str, folder: str) -> str | None:
        """Where an ordinary path in the workspace leads; None if it is none, or takes a closer look."""
        whole = self._resolve(path, folder)
        return None if whole is None or not self._is_inside(whole) or _may_be_secret(whole) else whole

    def _resolve(self, path: str, folder: str) -> str | None:
        if _PLAIN.fullmatch(path) is None or not (self._folders.get(folder) or self._looks_sound(folder)):
            return None
        plain = path[0] not in "./~" and path[-1] != "/"
        whole = f"{folder}/{path}" if plain else self._spell(path, folder)
        if whole is None:
            return None
        start = len(self._start) if whole.startswith(self._start) else 0
        if self._is_of_note(whole, start):
            return None
        return whole if leads_straight(whole, self._seen, self._leads_away, start) else None

    def _looks_sound(self, folder: str) -> bool:
        sound = self._folders.get(folder)
        if sound is None:
            sound = self._folders[folder] = self._is_sound(folder)
            self._start = f"{folder}/" if sound and self._seen.get(folder) is not None else "//"
        return sound

    def _is_folder_of_note(self, whole: str) -> bool:
        """Return whether this is a folder in which an agent's instructions or a host's settings lie."""
        found = self._seen.get(whole)
        if found is None or not stat.S_ISDIR(found.st_mode):
            return False
        try:
            names = [name.casefold() for name in os.listdir(whole)]  # noqa: PTH208 - a Path costs more
        except OSError:
            return True
        return not guarded_at_roots().isdisjoint(names)

    def _spell(self, path: str, folder: str) -> str | None:
        """The path from the root on. `..` leads up from a folder that no link stands on the way to."""
        if path[:2] == "..":
            if "/." in folder:
                return None  # what is hidden above may be a secret
            while path[:3] == "../":
                folder, path = folder.rpartition("/")[0], path[3:]
            return f"{folder}/{path.rstrip('/')}" if folder else None
        if path[0] == "/":
            return path.rstrip("/")
        start = self._where.home if path[0] == "~" else folder
        return f"{start}/{path[2:] if path[:2] in ('~/', './', '.') else path}".rstrip("/")

    def _is_inside(self, whole: str) -> bool:
        workspace = self._where.workspace
        return whole == workspace or whole.startswith(f"{workspace}/")

    def _is_sound(self, folder: str) -> bool:
        """Return whether folder, workspace and home are spelled plainly, and by their real names."""
        global _sound  # noqa: PLW0603 - as below
        folders = (folder, self._where.workspace, self._where.home)
        if not _are_plain(folders):
            return False
        self._own = self._own or _own_places(self._where.home)
        if _is_known_sound(self._seen, self._own, folders):
            return True
        others = [one for one in folders[1:] if not f"{folder}/".startswith(f"{one}/")]
        if not all(leads_straight(one, self._seen, self._leads_away) for one in (folder, *others)):
            return False
        found = self._seen.get(folder)
        if found is not None:
            _sound = (folders, self._own, time.monotonic(), (found.st_dev, found.st_ino))
        return True

    def _is_of_note(self, whole: str, start: int) -> bool:
        """Return whether this is the guard's, holds something of it, or lies where more counts than names."""
        own = self._own
        assert own is not None  # noqa: S101 - looked up with the folder
        folded = whole.lower()
        below = f"{folded}/"
        odd = not start and (not folded.isascii() or below.startswith(IN_REVEALING))
        if odd or folded in own.above or below.startswith(own.below):
            return True
        if GUARDED_FIRST_NAMES.isdisjoint(folded.split("/")):
            return False
        found = find_named(whole)
        return found.at is not None or found.around is not None

    def _leads_away(self, found: os.stat_result) -> bool:
        """Return whether this is a folder of Sayso, a link, or a file with other names."""
        if stat.S_ISDIR(found.st_mode):
            return self._own is not None and (found.st_dev, found.st_ino) in self._own.folders
        return stat.S_ISLNK(found.st_mode) or found.st_nlink > 1


def _may_be_secret(whole: str) -> bool:
    """Fast check: False is certain, outside the folders of the system."""
    if "/." in whole:
        return True
    folded = whole.lower()
    name = folded.rpartition("/")[2]
    return (
        name.endswith(_SECRET_ENDINGS) or name.startswith(_SECRET_STARTS) or bool(_SECRET_WAY.search(folded))
    )


_OperationKind = tuple[str, bool, bool, bool, bool]
"""An operation; and of a place: inside, secret, the system's, in `.git`."""
OperationEffect = tuple[Operation, ProgramEffect]
"""An operation at a place, and what that is under the operation's name: its risk and a sentence."""
_under: tuple[Policy | None, dict[_OperationKind, OperationEffect]] = (None, {})


def effect_of_operation(found: Operation) -> ProgramEffect:
    """The risk and the sentence of an operation at a place."""
    default = default_effect(found.name)
    told = Risk.HIGH if found.barred is not None else found.reading
    risk = default.risk if told is None else max(told, default.risk)
    why = found.barred or found.found or default.why or found.name
    if found.reading is Risk.HIGH and why == default.why:
        why = f"{why}, in a place that holds secrets, belongs to the system or cannot be told"
    return ProgramEffect(found.name, risk, why)


def _operations_under(policy: Policy) -> dict[_OperationKind, OperationEffect]:
    """The operations for each kind of place under this policy, filled in on demand."""
    global _under  # noqa: PLW0603 - as below
    if _under[0] is not policy:
        _under = (policy, {})
    return _under[1]


_Folders = tuple[str, str, str]
"""The folder that a line runs in, its workspace, and home."""


@functools.lru_cache(maxsize=1024)
def _are_plain(folders: _Folders) -> bool:
    """Return whether these are spelled plainly, none is the system's, and home is not in the workspace."""
    _, workspace, home = folders
    if not workspace or not home or f"{home}/".startswith(f"{workspace}/"):
        return False
    return all(
        _PLAIN_FOLDER.fullmatch(one) is not None and one.isascii() and not f"{one}/".startswith(IN_SYSTEM)
        for one in folders
    )


_sound: tuple[_Folders, _Own, float, Identity] | None = None


def _is_known_sound(seen: SeenFiles, own: _Own, folders: _Folders) -> bool:
    """Return whether these were sound less than a second ago, and the first is the same folder still."""
    kept = _sound
    if kept is None or kept[0] != folders or kept[1] is not own or time.monotonic() - kept[2] > _SECONDS:
        return False
    folder = folders[0]
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode) or (found.st_dev, found.st_ino) != kept[3]:
        return False
    seen[folder] = found
    return True


_kept: tuple[object, float, _Own] | None = None


def _own_places(home: str) -> _Own:
    """Sayso's own places: by their names as they are now, and the folders as they were a second ago."""
    global _kept  # noqa: PLW0603 - one small table a process, asked for by every line
    key, now = own_places_key(home), time.monotonic()
    if _kept is not None and _kept[0] == key and now - _kept[1] < _SECONDS:
        return _kept[2]
    own = find_own_places(home)
    below = tuple("/".join(("", *parts, "")) for parts in own.at)
    above = frozenset("/".join(("", *parts)) for parts in own.above)
    _kept = (key, now, _Own(below, above, frozenset(own.folders)))
    return _kept[2]
