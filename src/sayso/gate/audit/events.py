"""The entries of the audit trail that record a decision, and what was decided: the one list of them.

Some rules have an event of their own. Whatever counts, lists or watches decisions goes by this list, so that
none of them is left out of a figure.
"""

from __future__ import annotations

from collections.abc import Mapping

from sayso.core.decision import Decision
from sayso.core.model import Verdict

EVENTS = {
    Verdict.ALLOW: "DECIDED",
    Verdict.ASK: "ASKED",
    Verdict.DENY: "BLOCKED",
    "user_initiated": "USER_INITIATED_COVERED",
    "workflow_start": "WORKFLOW_AUTO_BYPASS_LOW_WEIGHT",
}
"""By verdict, and for allows that used no grant by rule."""
ASKED, BLOCKED = EVENTS[Verdict.ASK], EVENTS[Verdict.DENY]
DECISIONS: Mapping[str, Verdict] = {
    event: key if isinstance(key, Verdict) else Verdict.ALLOW for key, event in EVENTS.items()
}
ALLOWED = tuple(event for event, verdict in DECISIONS.items() if verdict is Verdict.ALLOW)


def event_of(decision: Decision) -> str:
    """The event under which this decision is recorded."""
    plain = EVENTS[decision.verdict]
    if decision.verdict is not Verdict.ALLOW or decision.grants:
        return plain
    return EVENTS.get(decision.rule, plain)
