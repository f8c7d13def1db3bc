"""Decisions and what was heard as plain values, in the words every door uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sayso.core.deciding.questions import question_text
from sayso.core.model import Verdict

if TYPE_CHECKING:
    from sayso.core.conversation.hearing import Heard
    from sayso.core.deciding.decide import Trace
    from sayso.core.decision import Decision
    from sayso.core.model import Request
    from sayso.core.policy import Policy


def decision_to_json(decision: Decision) -> dict[str, Any]:
    """The whole decision, as `--json` prints it."""
    return {
        "verdict": decision.verdict.value,
        "outcome": decision.outcome,
        "rule": decision.rule,
        "source": decision.source,
        "reason": decision.reason,
        "announce": decision.announce,
        "risk": decision.risk.word,
        "operations": [
            {
                "operation": item.operation,
                "category": item.category,
                "risk": item.risk.word,
                "weight": item.weight.word,
                "verdict": item.ruling.verdict.value,
                "rule": item.ruling.rule,
                "reason": item.ruling.reason,
            }
            for item in decision.items
        ],
        "offers": [offer.answer for offer in decision.offers],
        "grants": list(decision.grants),
    }


def question_to_json(decision: Decision, request: Request, policy: Policy) -> dict[str, Any]:
    """Return the question to show the user; an empty dict if nothing is asked."""
    if decision.verdict is not Verdict.ASK:
        return {"question": None}
    text = question_text(decision, request, policy)
    return {"question": text, "announce": text}


def trace_to_json(traces: tuple[Trace, ...]) -> list[dict[str, Any]]:
    return [
        {
            "operation": trace.operation,
            "tier": trace.tier,
            "risk": trace.risk.word,
            "weight": trace.weight.word,
            "checks": [{"rule": c.rule, "spoke": c.spoke, "why": c.why} for c in trace.checks],
        }
        for trace in traces
    ]


def hearing_to_json(heard: Heard) -> dict[str, Any]:
    return {
        "kind": heard.kind,
        "turn": heard.turn,
        "did": list(heard.did),
        "announced": list(heard.announced),
        "cleared": list(heard.cleared),
        "answered": {"answer": heard.answered} if heard.answered else None,
    }
