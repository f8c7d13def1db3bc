"""Checks of what a program passes besides its functions' arguments, before anything is decided."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from sayso.core.ledger import LONGEST_KEY
from sayso.core.words import visible
from sayso.doors.python.values.arguments import WrongArguments

LONGEST_SHOWN = 80
"""How much of a wrong value is shown."""
log = logging.getLogger("sayso")


def check_params(params: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The parameters of a call by name; none if nothing was passed."""
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise WrongArguments(
            f"parameters are passed by name, in a dict, and not in a {type(params).__name__}",
            hint='like {"title": "x"}',
        )
    return params


def check_wait(wait: object) -> None:
    """Refuse a time to wait that is none."""
    number = isinstance(wait, (int, float)) and not isinstance(wait, bool)
    if not number or math.isnan(wait) or wait < 0:  # type: ignore[arg-type, operator]
        raise WrongArguments(
            f"wait takes the seconds to wait for an answer, and not {_show(wait)}",
            hint="0 or more; with 0 nobody is waited for",
        )


def check_key(key: object) -> None:
    """Refuse what cannot be the key of a call: an empty one would stand for every call."""
    if key is None or (isinstance(key, str) and 1 <= len(key) <= LONGEST_KEY):
        return
    wrong = f"one of {len(key):,}" if isinstance(key, str) and key else _show(key)
    raise WrongArguments(
        f"the key of a call is a text of 1 to {LONGEST_KEY} characters, and not {wrong}",
        hint="leave it out for a call without a key",
    )


def check_workspace(workspace: object) -> str:
    """The workspace a program names, as a whole path; empty if it names none.

    A whole path that is not a folder here is only warned of: the host may speak for an agent elsewhere.
    """
    if workspace is None or workspace == "":
        return ""
    if not isinstance(workspace, (str, PurePath)) or "\0" in str(workspace):
        raise WrongArguments(
            f"workspace takes the path of a folder, and not {_show(workspace)}", hint=_NO_WORKSPACE
        )
    named, shown = Path(workspace), visible(str(workspace), LONGEST_SHOWN)
    if named.is_dir():
        return str(named.absolute())
    if not named.is_absolute():
        raise WrongArguments(
            f"the workspace {shown} is not a folder in the working folder",
            hint=f"name it by its whole path; {_NO_WORKSPACE}",
        )
    log.warning("the workspace %s is not a folder on this machine: no path here lies in it", shown)
    return str(workspace)


def _show(value: object) -> str:
    """A wrong value as Python writes it, with its true length instead of all of a long one."""
    return visible(repr(value), LONGEST_SHOWN)


_NO_WORKSPACE = "without one, it is the project around the working folder"
