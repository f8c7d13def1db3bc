"""Programs that read whole folders: what lies below may hold secrets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sayso.core.model import Risk
from sayso.reading.secrets_below import find_secret, fits_secret
from sayso.reading.shell.programs.known import KnownProgram
from sayso.reading.shell.programs.options import Argument, ParsedOptions
from sayso.reading.shell.state import join_path

if TYPE_CHECKING:
    from sayso.reading.shell.commands.invocation import Invocation
    from sayso.reading.shell.judge import Judge

_INCLUDES = frozenset({"--include", "-g", "--iglob", "-t", "--type"})
_EXCLUDES = frozenset({"--exclude", "--exclude-dir", "-x"})


def judge_deep_reading(
    judge: Judge, program: KnownProgram, parsed: ParsedOptions, paths: list[Argument], invocation: Invocation
) -> None:
    """Judge a reading of everything below these paths, or below the folder it runs in."""
    texts = [(option.name, value.text) for option, value in parsed.options if value is not None]
    included = [text for name, text in texts if name in _INCLUDES and text and text[:1] != "!"]
    if included and not any(fits_secret(text) for text in included):
        return
    excluded = [text for name, text in texts if name in _EXCLUDES and text]
    excluded += [text[1:] for name, text in texts if name in _INCLUDES and text and text[:1] == "!"]
    for start in [one.text for one in paths] or ["."]:
        for folder in invocation.state.folders:
            secret = secret_under(judge, folder, start, tuple(excluded))
            if secret is not None:
                why = f"it reads everything below, and {secret} lies there"
                judge.record("files.search", Risk.HIGH, why, invocation.start, invocation.end)
                return


def secret_under(
    judge: Judge, folder: str | None, start: str | None, excluded: tuple[str, ...] = ()
) -> str | None:
    """What holds secrets below this start; None if nothing does."""
    home = judge.where.home
    if start is None or folder is None:
        return "what cannot be told"
    path = home + start[1:] if start == "~" or start.startswith("~/") else join_path(folder, start)
    real = os.path.realpath(path)
    if f"{real}/".startswith(f"{judge.where.workspace}/"):
        return find_secret(real, excluded)
    if f"{home}/".startswith(f"{real}/"):
        return "your home folder"
    if real.startswith(f"{home}/."):
        return "what programs keep for you"
    return find_secret(real, excluded)
