"""Deciding recorded decisions again: each by its own facts, under another policy or with a wished grant.

Most of a year is repetition, so a result is kept for all decisions with the same facts. It holds between two
moments at which something ends by itself: a review, or the time of an approval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from sayso.core.deciding.decide import decide
from sayso.core.deciding.facts import Facts, read_facts
from sayso.core.deciding.restore import FOREVER, SAME, restore_request, restore_view
from sayso.core.durations import DAY
from sayso.core.errors import SaysoError
from sayso.core.grants import EXACT, Grant, GrantKind, HeldGrant
from sayso.core.model import Origin, Request, Risk, Tier, Verdict
from sayso.core.policy import Policy
from sayso.core.session import Task, View

MOST_KEPT = 200_000
REFUSED = "malformed"
"""The rule of a call that the policy refuses to decide, because it mistakes a name for another."""

LoadGrant = Callable[[str], Grant | None]
Result = tuple[Verdict, str]
Decided = Result | str
"""A verdict and its rule, or why it cannot be told."""

OTHER_FORM = "recorded without facts that this version can read"
GRANT_GONE = "a grant that was held then cannot be read any more"
BY_PROJECT = "the project's own file was stricter than the policy, and is not kept"
OTHER_CATEGORIES = "it ran in a task, and the policy groups its operations otherwise"


class WishedGrant(msgspec.Struct, frozen=True):
    """A grant that every session is supposed to have held: for an operation, a category or a command."""

    kind: GrantKind
    value: str
    risk: Risk = Risk.MODERATE


class PastDecider:
    """Decides again under one policy, with one grant more if there is a wish."""

    def __init__(self, policy: Policy, recorded: Policy, wish: WishedGrant | None = None) -> None:
        # which approvals a tightened policy had ended is part of the facts
        self._policy = msgspec.structs.replace(policy, tightened={})
        self._recorded = recorded
        self._wish = wish
        self._kept: dict[tuple[object, ...], list[tuple[float, float, Decided]]] = {}

    def decide(
        self, names: tuple[str, ...], text: str, origin: str, at: float, *, wished: bool, load: LoadGrant
    ) -> Decided:
        """Decide by these facts, at this time. `wished`: the wished grant is for this call."""
        key = (names, text, origin, wished)
        spans = self._kept.get(key)
        if spans is not None:
            for first, end, result in spans:
                if first <= at < end:
                    return result
        elif len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        first, end, result = self._decide(names, text, origin, at, wished, load)
        self._kept.setdefault(key, []).append((first, end, result))
        return result

    def _decide(
        self, names: tuple[str, ...], text: str, origin: str, at: float, wished: bool, load: LoadGrant
    ) -> tuple[float, float, Decided]:
        facts = read_facts(text)
        grants = {} if facts is None else {name: load(name) for name in facts.held}
        if facts is None or len(facts.names or names) != len(facts.operations):
            return -FOREVER, FOREVER, OTHER_FORM
        known = {name: one for name, one in grants.items() if one is not None}
        if len(known) < len(grants):
            return -FOREVER, FOREVER, GRANT_GONE
        if "j" in facts.marks:
            return -FOREVER, FOREVER, BY_PROJECT
        if "g" in facts.marks and any(map(self._is_grouped_otherwise, facts.names or names)):
            return -FOREVER, FOREVER, OTHER_CATEGORIES
        turns = sorted(self._turning_points(facts, names, known))
        first = max((turn for turn in turns if turn <= at), default=-FOREVER)
        end = min((turn for turn in turns if turn > at), default=FOREVER)
        return first, end, self._decide_at(facts, names, origin, known, at, wished)

    def _decide_at(
        self,
        facts: Facts,
        names: tuple[str, ...],
        origin: str,
        grants: Mapping[str, Grant],
        at: float,
        wished: bool,
    ) -> Decided:
        try:
            request = restore_request(facts, names, Origin(origin))
            view = self._with_new_permissions(restore_view(facts, request, grants, at), request, at)
            if wished and self._wish is not None:
                view = _with_wish(view, self._wish)
            decision = decide(request, self._policy, view, at)
        except SaysoError:
            return Verdict.DENY, REFUSED
        except ValueError:
            return OTHER_FORM
        return decision.verdict, decision.rule

    def _with_new_permissions(self, view: View, request: Request, at: float) -> View:
        """Return the view with permissions that were not autonomous then as just reviewed."""
        reviews = dict(view.reviews)
        for operation in request.operations:
            entry = self._policy.entry(operation.name)
            known = entry.domain in reviews or entry.name in reviews
            if entry.tier is Tier.AUTONOMOUS and not known and entry.last_reviewed is None:
                reviews[entry.name] = at
        return msgspec.structs.replace(view, reviews=reviews)

    def _is_grouped_otherwise(self, name: str) -> bool:
        try:
            return self._policy.entry(name).category != self._recorded.entry(name).category
        except SaysoError:
            return True

    def _turning_points(
        self, facts: Facts, names: tuple[str, ...], grants: Mapping[str, Grant]
    ) -> Iterator[float]:
        """Yield the moments at which the same facts may be decided otherwise."""
        interval = self._policy.decay.review_interval_days * DAY
        for reviewed in facts.reviewed.values():
            yield reviewed + interval
        for name in facts.names or names:
            found = self._policy.table.get(name)
            written = None if found is None else found.last_reviewed
            if written is not None:
                yield written
                yield written + interval
        for grant in grants.values():
            if grant.kind in EXACT:
                yield grant.given_at + self._policy.settings.approval_of(grant.risk)


def _with_wish(view: View, wish: WishedGrant) -> View:
    """Return the view of a session that held the wished grant; a category only where there was a task."""
    session = view.session
    bound = None
    if wish.kind == "category":
        if session.task is None:
            return view
        bound = session.task.id
    value = SAME if wish.kind == "command" else wish.value
    grant = Grant(
        "wished",
        wish.kind,
        value,
        wish.risk,
        FOREVER,
        SAME,
        ends_with="session" if bound is None else "task",
        bound_to=bound,
    )
    row = (*session.grants.get(grant.key, ()), HeldGrant(grant))
    task: Task | None = session.task
    after = msgspec.structs.replace(session, grants={**session.grants, grant.key: row}, task=task)
    return msgspec.structs.replace(view, session=after)
