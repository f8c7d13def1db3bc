"""Sayso's own places: its folders, its program, and the files this process has opened.

The folders are read from this process's environment; a request has no say in it.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from sayso.reading.paths.spellings import fold_path, in_system

OwnKind = Literal["config", "data", "policy", "store", "keys", "socket", "program"]
Identity = tuple[int, int]
_FolderState = tuple[str, OwnKind, Identity | None, int]
"""A folder as it is now, with the time it was written to: what it holds is read again only after that."""
_UNREADABLE = ("data", "store", "keys")

_HOSTS = {
    "CLAUDE_CONFIG_DIR": ("settings.json", "settings.local.json", "hooks", "plugins"),
    "CODEX_HOME": ("config.toml", "hooks.json", "hooks", "rules"),
    "OPENCODE_CONFIG": ("",),
    "OPENCODE_CONFIG_DIR": ("opencode.json", "plugin", "plugins"),
    "GEMINI_CLI_HOME": (".gemini/settings.json", ".gemini/hooks", ".gemini/policies", ".gemini/extensions"),
    "OPENCLAW_CONFIG_PATH": ("",),
    "OPENCLAW_STATE_DIR": ("extensions", "openclaw.json"),
    "XDG_CONFIG_HOME": ("opencode", "goose"),
}
"""Variables that say where a host keeps its settings, and which of them decide what it may do."""

_VARIABLES = (
    "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
    "XDG_CONFIG_DIRS", "XDG_DATA_DIRS", "LOCALAPPDATA", "APPDATA", "PATH",
    *_HOSTS,
)  # fmt: skip
_KEPT: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)
_KEYS = tuple(name if _KEPT is os.environ else os.environ.encodekey(name) for name in _VARIABLES)
_PlaceTable = tuple[dict[tuple[str, ...], OwnKind], dict[tuple[str, ...], OwnKind], dict[str, OwnKind]]
_opened: dict[str, OwnKind] = {}
_lock = threading.Lock()


class OwnPlaces(msgspec.Struct, frozen=True):
    """Everything of Sayso's, by folded names and by what the file system says it is.

    `above` holds every folder that one of the places lies in.
    """

    at: dict[tuple[str, ...], OwnKind]
    above: dict[tuple[str, ...], OwnKind]
    folders: dict[Identity, OwnKind]
    files: dict[Identity, tuple[str, OwnKind]]


def config_folder_path() -> Path:
    """The folder of the operator's policy and settings."""
    import platformdirs

    return Path(platformdirs.user_config_dir("sayso", appauthor=False))


def home_folder() -> str:
    """The home folder of now, asked for by every call."""
    return os.path.expanduser("~")  # noqa: PTH111  a Path costs ten times as much


def data_folder_path() -> Path:
    """The folder of store, key and marks."""
    import platformdirs

    return Path(platformdirs.user_data_dir("sayso", appauthor=False))


def runtime_folder_path() -> Path:
    """The folder of the service's socket."""
    import platformdirs

    with warnings.catch_warnings():  # that XDG_RUNTIME_DIR is not set is no news to anybody
        warnings.simplefilter("ignore")
        return Path(platformdirs.user_runtime_dir("sayso", appauthor=False))


def _guard(known: OwnKind, path: str | Path, *, endings: Iterable[str] = ("",)) -> None:
    with _lock:
        _opened.update(dict.fromkeys((f"{_absolute(path)}{ending}" for ending in endings), known))


def _absolute(path: str | Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100  links stay: both ends of one are guarded


guard_store = functools.partial(_guard, "store", endings=("", "-wal", "-shm", "-journal"))
"""Guard a store that this process opens, wherever it lies, with the files SQLite keeps beside it."""
guard_policy = functools.partial(_guard, "policy")
"""Guard the policy file that this process decides by."""
guard_socket = functools.partial(_guard, "socket")
"""Guard the socket that this process listens on."""
guard_program = functools.partial(_guard, "program")
"""Guard a file that decides whether calls are judged at all, wherever it lies."""
guard_keys = functools.partial(_guard, "keys")
"""Guard a file or folder with keys or marks."""


def find_own_places(home: str) -> OwnPlaces:
    """Return the places of now, for this environment and home folder."""
    at, above, table = _build_place_table(*own_places_key(home))
    seen = tuple(_stat_folder(path, known) for path, known in table.items() if known != "program")
    folders = {identity: known for _, known, identity, _ in seen if identity is not None}
    return OwnPlaces(at, above, folders, _files_in(seen))


def own_places_key(home: str) -> tuple[tuple[Any, ...], str, int]:
    """Return what the places depend on: the environment, the home folder, the files opened so far.

    It reads the variables in their raw form, which takes a tenth of the time.
    """
    return tuple(map(_KEPT.get, _KEYS)), home, len(_opened)


def list_opened_files() -> tuple[tuple[str, OwnKind], ...]:
    """Return the files this process has opened elsewhere."""
    return tuple(_opened.items())


def identity_of(path: str) -> Identity | None:
    """Return device and inode of the file at this path, links followed; None if nothing is there."""
    try:
        found = os.stat(path)  # noqa: PTH116  asked several times a call
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _stat_folder(path: str, known: OwnKind) -> _FolderState:
    try:
        found = os.stat(path)  # noqa: PTH116  asked several times a call
    except (OSError, ValueError):
        return path, known, None, 0
    return path, known, (found.st_dev, found.st_ino), found.st_mtime_ns


@functools.lru_cache(maxsize=16)
def _files_in(folders: tuple[_FolderState, ...]) -> dict[Identity, tuple[str, OwnKind]]:
    entries = ((path, known) for folder, known, *_ in folders for path in _entries(folder))
    found = ((identity_of(path), (os.path.basename(path), known)) for path, known in entries)  # noqa: PTH119
    return {identity: file for identity, file in found if identity is not None}


def _entries(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return [entry.path for entry in found]
    except OSError:
        return []


@functools.lru_cache(maxsize=64)
def _build_place_table(environment: tuple[Any, ...], home: str, opened: int) -> _PlaceTable:
    """Return the places, the folders above them, and those of them that are folders of Sayso's."""
    folders = _folders(environment, home)
    places: dict[str, OwnKind] = dict.fromkeys((*_programs(environment), *_host_settings()), "program")
    places |= folders | dict(list_opened_files())
    spelled = ((spelling, known) for path, known in places.items() for spelling in _spell_place(path, known))
    at = {tuple(fold_path(path)): known for path, known in spelled}
    ordered = sorted(at.items(), key=lambda one: one[1] in _UNREADABLE)  # what must not be read comes last
    above = {place[:end]: known for place, known in ordered for end in range(len(place))}
    return at, above, folders


def _spell_place(path: str, known: OwnKind) -> Iterator[str]:
    """The place as it is written and as it resolves, and where each file in it leads that is a link.

    Python itself is the system's where it lies in a system folder: writing it is high risk, naming it is not.
    """
    spelled = (path, os.path.realpath(path))
    yield from spelled if path != sys.executable else (one for one in spelled if not in_system(one))
    if known in ("config", "data"):
        yield from (os.path.realpath(entry) for entry in _entries(path) if Path(entry).is_symlink())


@functools.lru_cache(maxsize=64)
def _folders(environment: tuple[Any, ...], home: str) -> dict[str, OwnKind]:
    import platformdirs

    return {
        f"{home}/.config/sayso": "config",
        f"{home}/.local/share/sayso": "data",
        str(config_folder_path()): "config",
        str(runtime_folder_path()): "socket",
        platformdirs.user_state_dir("sayso", appauthor=False): "program",
        platformdirs.user_cache_dir("sayso", appauthor=False): "program",
        platformdirs.site_config_dir("sayso", appauthor=False): "config",
        platformdirs.site_data_dir("sayso", appauthor=False): "program",
        str(Path(__file__).parents[2]): "program",
        str(data_folder_path()): "data",  # last: some systems keep all in one folder
    }


def _host_settings() -> Iterator[str]:
    """Settings of hosts that the environment has put elsewhere."""
    for variable, names in _HOSTS.items():
        folder = os.environ.get(variable)
        if folder:
            yield from (_absolute(f"{folder}/{name}") for name in names)


@functools.lru_cache(maxsize=8)
def _programs(environment: tuple[Any, ...]) -> tuple[str, ...]:
    """The commands `sayso`, and what Python reads before any program of its own."""
    import shutil

    from sayso.reading.paths.python_folders import LIBRARIES, SCRIPTS

    named = [shutil.which("sayso"), *(f"{SCRIPTS}/{name}" for name in ("sayso", "sayso-hook"))]
    started = [f"{LIBRARIES}/{name}" for name in ("sitecustomize.py", "usercustomize.py")]
    return tuple(str(path) for path in (*named, *started, sys.executable) if path)
