"""Where a path really leads: inside the workspace or out of it, to secrets, to the system."""

from __future__ import annotations

import fnmatch
import os.path
from pathlib import Path

import msgspec

MARKS = (".git", "pyproject.toml", "package.json", "go.mod")
SYSTEM = ("/etc", "/usr", "/bin", "/sbin", "/boot", "/dev", "/proc", "/sys")
TELLING = ("/proc", "/dev", "/sys")
"""System folders where reading, too, shows more than files."""

SECRET_FOLDERS = {".secrets", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store"}
SECRET_FILES = (
    ".env*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".pgpass",
    ".git-credentials",
)  # fmt: skip

SECRET_PLACES = {("proc", "environ"), ("etc", "shadow"), ("etc", "gshadow"), ("etc", "sudoers")}
"""Secrets of the system: the top folder and the name."""


class Place(msgspec.Struct, frozen=True):
    """What is known of a path. An unknown one lies outside."""

    real: str | None
    inside: bool = False
    secret: bool = False
    system: bool = False
    telling: bool = False
    versions: bool = False
    """Inside `.git`, where a write can run code or rewrite history."""


def locate(path: object, *, folder: str, workspace: str, home: str) -> Place:
    """Where this path leads from this folder, with `~`, `..` and symbolic links resolved."""
    written = _absolute(path, folder, home)
    if written is None:
        return Place(None, secret=isinstance(path, str) and _is_secret(path))
    try:
        real = os.path.realpath(written)
        root = os.path.realpath(workspace) if workspace else ""
    except (OSError, ValueError):
        return Place(None, secret=_is_secret(written))
    if _unresolved(real):
        return Place(None, secret=_is_secret(real) or _is_secret(written))
    inside = bool(root) and not _too_wide(root, home) and _within(real, root)
    return Place(
        real=real,
        inside=inside,
        secret=_is_secret(real) or _is_secret(written),
        system=any(_within(real, top) or _within(written, top) for top in SYSTEM),
        telling=any(_within(real, top) for top in TELLING),
        versions=".git" in _parts(real),
    )


def find_workspace(folder: str, named: str | None = None, *, home: str | None = None) -> str:
    """The folder the host names, else the nearest parent that looks like a project, else the working folder.

    Never `/`, the home folder or what lies above it: then there is no workspace, and everything is outside.
    """
    home = str(Path.home()) if home is None else home
    if named and Path(named).is_absolute() and not _too_wide(os.path.realpath(named), home):
        return os.path.realpath(named)
    if not Path(folder).is_absolute():
        return ""
    here = Path(os.path.realpath(folder))
    for parent in (here, *here.parents):
        if _too_wide(str(parent), home):
            break
        if any((parent / mark).exists() for mark in MARKS):
            return str(parent)
    return "" if _too_wide(str(here), home) else str(here)


def _absolute(path: object, folder: str, home: str) -> str | None:
    """The path from the root on, symbolic links not yet followed; None if that cannot be told."""
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        return None
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    elif path.startswith("~"):
        return None
    if Path(path).is_absolute():
        return path
    return f"{folder}/{path}" if Path(folder).is_absolute() else None


def _unresolved(real: str) -> bool:
    """Whether a symbolic link is left, which happens when links go in a circle; or nobody can say."""
    path = Path(real)
    try:
        return any(step.is_symlink() for step in (path, *path.parents))
    except OSError:  # a name longer than the system takes
        return True


def _too_wide(folder: str, home: str) -> bool:
    """The root, the home folder, or a folder that the home folder lies in."""
    return _within(os.path.realpath(home), folder) if home else folder == os.sep


def _within(path: str, folder: str) -> bool:
    folder = folder.rstrip(os.sep)
    return path == (folder or os.sep) or path.startswith(folder + os.sep)


def _is_secret(path: str) -> bool:
    """By its name or that of a folder on the way, in any case: some file systems do not tell cases apart."""
    parts = _parts(path)
    if not parts:
        return False
    if SECRET_FOLDERS.intersection(parts) or (parts[0], parts[-1]) in SECRET_PLACES:
        return True
    return any(fnmatch.fnmatchcase(parts[-1], pattern) for pattern in SECRET_FILES)


def _parts(path: str) -> list[str]:
    return [part for part in path.casefold().replace("\\", "/").split("/") if part]
