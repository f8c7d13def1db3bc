"""Sayso stands between an AI agent and the world: may this call run, must a person approve it, or never?

The names below are loaded when they are first used, so that `import sayso` costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers by its name; typing itself would be the slowest import here
if TYPE_CHECKING:
    from typing import Any

    from sayso.core.decide import decide, explain
    from sayso.core.errors import SaysoError
    from sayso.doors.approval_manager import ApprovalManager, ApprovalMode, RiskLevel
    from sayso.doors.python.sayso import Sayso

__version__ = "0.1.0"

__all__ = ["ApprovalManager", "ApprovalMode", "RiskLevel", "Sayso", "SaysoError", "decide", "explain"]

_HOMES = {
    "ApprovalManager": "sayso.doors.approval_manager",
    "ApprovalMode": "sayso.doors.approval_manager",
    "RiskLevel": "sayso.doors.approval_manager",
    "Sayso": "sayso.doors.python.sayso",
    "SaysoError": "sayso.core.errors",
    "decide": "sayso.core.decide",
    "explain": "sayso.core.decide",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
