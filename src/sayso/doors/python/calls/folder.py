"""Where this process works, and that a call is entered in the folder it was allowed in, or not at all.

The digest of a call holds its working folder, and whoever approved it saw that. What runs in this process
runs wherever the process is by then; so the two are compared before a call that waited is started, which uses
nothing up, and once more right before any function is entered.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sayso.core import words
from sayso.core.errors import SaysoError


class ProgramMoved(SaysoError):
    """The program works in another folder than the call was allowed in. The call is not run."""

    code = "program_moved"


def folder_here() -> str:
    """The real working folder of this process, as the system tells it; empty if it is gone."""
    with suppress(OSError):
        return os.getcwd()  # noqa: PTH109  for every call, to which a Path would be slow
    return ""


def check_here(folder: str) -> None:
    """Refuse to enter a function anywhere but in this folder."""
    here = folder_here()
    if here != folder:
        raise ProgramMoved(words.program_moved_reason(folder, here), hint=words.go_back(folder))


def check_still_here(folder: str) -> None:
    """The same before a call that waited is started. Of no folder nobody knows whether it is the same one."""
    check_here(folder)
    if not folder:
        raise ProgramMoved(words.program_moved_reason(folder, folder), hint=words.go_back(folder))
