"""Checks of what a program passes besides its functions' arguments, before anything is decided."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sayso.core.ledger import LONGEST_KEY
from sayso.core.words import visible
from sayso.doors.python.values.arguments import WrongArguments

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
            f"wait takes the seconds to wait for an answer, and not {visible(repr(wait))}",
            hint="0 or more; with 0 nobody is waited for",
        )


def check_key(key: object) -> None:
    """Refuse what cannot be the key of a call: an empty one would stand for every call."""
    if key is None or (isinstance(key, str) and 1 <= len(key) <= LONGEST_KEY):
        return
    raise WrongArguments(
        f"the key of a call is a text of 1 to {LONGEST_KEY} characters, and not {visible(repr(key))}",
        hint="leave it out for a call without a key",
    )


def note_missing_workspace(workspace: str) -> None:
    """Warn of a workspace that is not a folder here: it may be one elsewhere, or a slip."""
    if workspace and not Path(workspace).is_dir():
        log.warning(
            "the workspace %s is not a folder on this machine: no path here lies in it", visible(workspace)
        )
