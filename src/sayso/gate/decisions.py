"""The entries of the audit trail that record a decision, and what was decided: the one list of them.

Some rules have an event of their own. Whatever counts, lists or watches decisions goes by this list, so that
none of them is left out of a figure.
"""

from __future__ import annotations

from collections.abc import Mapping

from sayso.core.decision import Decision
from sayso.core.model import Verdict

DECIDED, ASKED, BLOCKED = "DECIDED", "ASKED", "BLOCKED"
BY_RULE = {
    "user_initiated": "USER_INITIATED_COVERED",
    "workflow_start": "WORKFLOW_AUTO_BYPASS_LOW_WEIGHT",
}
"""Rules whose allows have an event of their own, as long as they used no grant."""
_BY_VERDICT = {Verdict.ALLOW: DECIDED, Verdict.ASK: ASKED, Verdict.DENY: BLOCKED}

DECISIONS: Mapping[str, Verdict] = {
    **{event: verdict for verdict, event in _BY_VERDICT.items()},
    **dict.fromkeys(BY_RULE.values(), Verdict.ALLOW),
}
ALLOWED = tuple(event for event, verdict in DECISIONS.items() if verdict is Verdict.ALLOW)


def event_of(decision: Decision) -> str:
    """The event under which this decision is recorded."""
    plain = _BY_VERDICT[decision.verdict]
    if decision.verdict is not Verdict.ALLOW or decision.grants:
        return plain
    return BY_RULE.get(decision.rule, plain)
