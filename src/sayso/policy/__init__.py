"""Policies: text to Policy, calls to operations, and what one policy allows that another does not.

The names below are loaded when first used; YAML, phone numbers and CEL only where they are needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sayso.policy.load import (
        LoadedPolicy,
        load_file,
        load_preset,
        load_text,
        preset_names,
        read_file,
        read_text,
    )
    from sayso.policy.problems import PolicyProblem, PolicyProblems

__all__ = [
    "LoadedPolicy",
    "PolicyProblem",
    "PolicyProblems",
    "load_file",
    "load_preset",
    "load_text",
    "preset_names",
    "read_file",
    "read_text",
]

_HOMES = {
    "LoadedPolicy": "load",
    "PolicyProblems": "problems",
    "PolicyProblem": "problems",
    "load_file": "load",
    "load_preset": "load",
    "load_text": "load",
    "preset_names": "load",
    "read_file": "load",
    "read_text": "load",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
