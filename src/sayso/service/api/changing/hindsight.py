"""What the recorded past says about the policy: replay, suggestions, and a proposal made of one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from sayso.core.durations import ALL_TIME, DAY
from sayso.core.model import Risk, check_name, trim_command
from sayso.core.proposals.proposal import Proposal
from sayso.gate.hindsight.decide_again import WishedGrant
from sayso.gate.hindsight.own_file import find_own_file
from sayso.gate.hindsight.propose import choose_suggestion, propose_suggestion
from sayso.gate.hindsight.replay import ReplayReport, replay_decisions
from sayso.gate.hindsight.suggest import Suggestion, suggest_changes
from sayso.gate.proposals.roots import load_roots
from sayso.gate.settings import in_chosen_mode
from sayso.policy import load_text
from sayso.service.http.endpoints import OPERATORS, Context, Endpoint

MONTH = 30 * DAY


class WishedGrantBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A grant that every session is supposed to have held."""

    kind: Literal["operation", "category", "command"]
    value: str
    risk: Literal["low", "moderate", "high"] = "moderate"


class PolicyReplayBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy file's text, a grant, or neither; and how many seconds to look back, 30 days unless told."""

    text: str | None = None
    grant: WishedGrantBody | None = None
    seconds: Annotated[float, msgspec.Meta(ge=0, le=ALL_TIME)] = MONTH


def post_policy_replay(context: Context) -> ReplayReport:
    """Decide the recorded past again, under a draft or with a grant. Nothing is applied."""
    body: PolicyReplayBody = context.body
    draft = None if body.text is None else in_chosen_mode(load_text(body.text, name="draft"))
    return replay_decisions(
        context.gate, draft, wish=_read_wish(body.grant), since=_since(context, body.seconds)
    )


def get_suggestions(context: Context) -> list[Suggestion]:
    """What is always approved, never used or often refused, with the evidence. Nothing is applied."""
    return _suggest(context)


def post_suggestion(context: Context) -> Proposal:
    """File a suggestion as a proposal. It changes nothing before it is approved and has cooled."""
    chosen = choose_suggestion(_suggest(context), context.parameters["suggestion"])
    return propose_suggestion(context.gate, load_roots(), chosen, by=context.token.name)


def _suggest(context: Context) -> list[Suggestion]:
    seconds, high = context.number("seconds", MONTH, 0, ALL_TIME), context.whole_number("high", 0, 0, 1)
    file = find_own_file(context.gate, load_roots())
    return suggest_changes(context.gate, file, days=seconds / DAY, high=bool(high))


def _read_wish(wish: WishedGrantBody | None) -> WishedGrant | None:
    if wish is None:
        return None
    if wish.kind == "operation":
        check_name(wish.value)
    value = trim_command(wish.value) if wish.kind == "command" else wish.value
    return WishedGrant(wish.kind, value, Risk.parse(wish.risk))


def _since(context: Context, seconds: float) -> float:
    with context.gate.store.read() as tx:
        return max(tx.now - seconds, 0.0)


SUGGESTIONS: Any = list[Suggestion]
LISTING = {
    "seconds": "How far to look back; 30 days unless told.",
    "high": "1 to also suggest to loosen high risk.",
}
ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/policy/replay",
        OPERATORS,
        "Decide the recorded past again",
        post_policy_replay,
        PolicyReplayBody,
        ReplayReport,
        bare=True,
    ),
    Endpoint(
        "GET",
        "/v1/policy/suggestions",
        OPERATORS,
        "Suggest changes from the recorded past",
        get_suggestions,
        result=SUGGESTIONS,
        query=LISTING,
    ),
    Endpoint(
        "POST",
        "/v1/policy/suggestions/{suggestion}/proposal",
        OPERATORS,
        "File a suggestion as a proposal",
        post_suggestion,
        result=Proposal,
        query=LISTING,
        bare=True,
    ),
)
