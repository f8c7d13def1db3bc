"""A quick look at a path that is read: True is certain; on False, the whole reading of paths decides."""

from __future__ import annotations

import os
import stat

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.path_operations import CallFolders

_PLAIN = lazy_pattern(
    r"\.|(?:\./)?[A-Za-z0-9_][\w+=@-]*(?:\.[\w+=@-]+)*(?:/[A-Za-z0-9_][\w+=@-]*(?:\.[\w+=@-]+)*)*/?"
)
_SUSPECT = lazy_pattern(
    r"(?i)env|key|pem|p12|pfx|jks|kdbx|ppk|id_|netrc|pgpass|secret|ssh|gnupg|aws|azure|kube|password|credential"
    r"|token|sayso|claude|codex|gemini|cursor|opencode|cline|copilot|goose|agents|soul|hooks|settings|mcp|store|auth|tfstate|tfrc|npmrc|pypirc|history|docker|hosts|vault|gcloud|cargo|gem"
)


def is_plainly_inside(path: str, where: CallFolders, sound: dict[CallFolders, bool]) -> bool:
    """Return whether this is an ordinary path in the workspace: no link on the way, no name of note.

    `sound` keeps what is known of folders while one line is read.
    """
    if _PLAIN.fullmatch(path) is None or _SUSPECT.search(path) is not None:
        return False
    known = sound.get(where)
    if known is None:
        known = sound[where] = _is_sound(where)
    return known and _has_no_links(where.folder, path)


def _is_sound(where: CallFolders) -> bool:
    """Return whether the folder lies in the workspace, by its real name, and neither is of note."""
    folder, workspace, home = where.folder, where.workspace, where.home
    if not workspace or not home or _SUSPECT.search(folder) or "/." in folder:
        return False
    if f"{home}/".startswith(f"{workspace}/") or not f"{folder}/".startswith(f"{workspace}/"):
        return False
    try:
        return os.path.realpath(folder) == folder
    except (OSError, ValueError):
        return False


def _has_no_links(folder: str, path: str) -> bool:
    here = folder
    try:
        for name in path.split("/"):
            if name in (".", ""):
                continue
            here = f"{here}/{name}"
            found = os.lstat(here)
            if stat.S_ISLNK(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink > 1):
                return False
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return True
