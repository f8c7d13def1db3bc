"""Files that a repository records: what prints their names or their content may show secrets."""

from __future__ import annotations

import fnmatch
import glob
import os

from sayso.core.model import Risk
from sayso.reading.paths.budget import follow_links, look_at
from sayso.reading.paths.git_files import follow_git_file, list_tracked_secrets
from sayso.reading.paths.places import is_secret
from sayso.reading.paths.spellings import WILD
from sayso.reading.secrets_below import leads_to_secret
from sayso.reading.shell.files.patterns import split_pattern
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.state import join_path

_UNTOLD = "what cannot be told"


def judge_tracked_reading(judge: Judge, paths: tuple[Argument, ...], invocation: Invocation) -> None:
    """Judge a reading of all that the repository records, or of what lies below the paths that are named."""
    texts = [one.text for one in paths]
    for folder in invocation.state.folders:
        if folder is None:
            continue  # which repository it is, is asked by whoever judges git
        named = [text for text in texts if text and _is_path(join_path(folder, text))]
        secret = find_tracked_secret(folder, named, opens=False) if None not in texts else _UNTOLD
        if secret is not None:
            why = f"it shows what the repository holds, and {secret[:60]} is in it"
            judge.record("files.search", Risk.HIGH, why, invocation.start, invocation.end)
            return


def find_tracked_secret(folder: str, paths: list[str], *, opens: bool = True) -> str | None:
    """A secret among the files that the repository records, below these paths if there are any.

    To who `opens` each of them, a link to a secret is one.
    """
    try:
        tree = _find_tree(folder)
        noted = None if tree is None else list_tracked_secrets(follow_git_file(f"{tree}/.git"))
    except (OSError, ValueError):
        return _UNTOLD
    if tree is None or noted is None:
        return _UNTOLD
    below = _patterns(tree, folder, paths)
    for is_link, name in noted:
        if not any(fnmatch.fnmatchcase(f"{name}/", one) for one in below):
            continue
        if is_secret(name) or (opens and is_link and leads_to_secret(f"{tree}/{name}")):
            return name
    return None


def _find_tree(folder: str) -> str | None:
    """The folder with `.git` in it, here or above; None if there is none."""
    here = follow_links(folder)
    while here and look_at(f"{here}/.git") is None:
        here = here.rpartition("/")[0]
    return here or None


def _is_path(text: str) -> bool:
    return WILD.search(text) is not None or os.path.lexists(text)


def _patterns(tree: str, folder: str, paths: list[str]) -> list[str]:
    """Return patterns for the names at or below these paths; in git a wildcard matches slashes as well."""
    found: list[str] = []
    for path in paths or ["."]:
        fixed, wild = split_pattern(path) if WILD.search(path) is not None else (path, "")
        place = f"{follow_links(join_path(folder, fixed or '.'))}/"
        if path[:1] == ":" or not place.startswith(f"{tree}/"):
            return ["*"]
        top = glob.escape(place[len(tree) + 1 :])
        found.append(f"{top}{wild}*" if wild else f"{top}*")
    return found
