"""The consent layer between an AI agent and the world: may a call run, must a person approve it, or never?

The names below are loaded when they are first used, so that `import sayso` costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers by its name; typing itself would be the slowest import here
if TYPE_CHECKING:
    from typing import Any

    from sayso.core.deciding.decide import decide, explain
    from sayso.core.errors import SaysoError
    from sayso.doors.approval_manager import ApprovalManager, ApprovalMode, RiskLevel
    from sayso.doors.python.calls.results import (
        Ambiguous,
        ConsentDenied,
        ConsentRequired,
        ConsentTimeout,
        Result,
    )
    from sayso.doors.python.host_call import Called
    from sayso.doors.python.session import Session
    from sayso.doors.python.workflow import Step
    from sayso.doors.remote.connected import Connected
    from sayso.doors.sayso import Sayso
    from sayso.gate.rows.keys import make_key
    from sayso.surfaces.inbox import Inbox
    from sayso.surfaces.terminal.terminal import Terminal

__version__ = "0.1.0"

__all__ = [
    "Ambiguous",
    "ApprovalManager",
    "ApprovalMode",
    "Called",
    "Connected",
    "ConsentDenied",
    "ConsentRequired",
    "ConsentTimeout",
    "Inbox",
    "Result",
    "RiskLevel",
    "Sayso",
    "SaysoError",
    "Session",
    "Step",
    "Terminal",
    "decide",
    "explain",
    "make_key",
]

_HOMES = {
    "Ambiguous": "sayso.doors.python.calls.results",
    "ApprovalManager": "sayso.doors.approval_manager",
    "ApprovalMode": "sayso.doors.approval_manager",
    "Called": "sayso.doors.python.host_call",
    "Connected": "sayso.doors.remote.connected",
    "ConsentDenied": "sayso.doors.python.calls.results",
    "ConsentRequired": "sayso.doors.python.calls.results",
    "ConsentTimeout": "sayso.doors.python.calls.results",
    "Inbox": "sayso.surfaces.inbox",
    "Result": "sayso.doors.python.calls.results",
    "RiskLevel": "sayso.doors.approval_manager",
    "Sayso": "sayso.doors.sayso",
    "SaysoError": "sayso.core.errors",
    "Session": "sayso.doors.python.session",
    "Step": "sayso.doors.python.workflow",
    "Terminal": "sayso.surfaces.terminal.terminal",
    "decide": "sayso.core.deciding.decide",
    "explain": "sayso.core.deciding.decide",
    "make_key": "sayso.gate.rows.keys",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
