"""A session: its state, how effects change it, and the ids of what it makes."""

from __future__ import annotations

from sayso.core.session.applying import (
    apply_effects,
    find_ended_grants,
    find_replaced_questions,
    only_count_uses,
)
from sayso.core.session.state import (
    RETRIES,
    CallUnderWay,
    Click,
    Denial,
    OuterCall,
    PendingPrompt,
    Plan,
    Run,
    Scope,
    Sending,
    Session,
    SessionHead,
    Suspension,
    Task,
    View,
    join_outers,
)

__all__ = [
    "RETRIES",
    "CallUnderWay",
    "Click",
    "Denial",
    "OuterCall",
    "PendingPrompt",
    "Plan",
    "Run",
    "Scope",
    "Sending",
    "Session",
    "SessionHead",
    "Suspension",
    "Task",
    "View",
    "apply_effects",
    "find_ended_grants",
    "find_replaced_questions",
    "join_outers",
    "only_count_uses",
]
