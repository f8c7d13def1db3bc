"""Every offer keeps its word: the answer lets the identical call run, once or as long as the offer says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from sayso.core.deciding.decide import decide
from sayso.core.deciding.offers import with_offers
from sayso.core.deciding.questions import effects_of_answer, effects_of_showing, find_or_open_question
from sayso.core.decision import Decision, Item
from sayso.core.effects import ConsentCleared, SlashUsed
from sayso.core.errors import UnknownAnswer
from sayso.core.grants import Grant
from sayso.core.model import Mode, Operation, Risk, Verdict
from sayso.core.policy import Detail, Domain, compile_policy
from sayso.core.session import Session, Task, View, apply_effects
from sayso.gate.deciding.request import make_call, make_request
from tests.property.draws import NOW
from tests.property.facts import facts_of
from tests.property.shrinking import hold
from tests.property.worlds import World

ANSWERS = ("once", "task", "temporary", "always", "remember", "deny")
WIDER = ("task", "temporary", "always", "remember")
LASTS = {"temporary": 900.0, "always": 86_400.0, "task": 86_400.0, "remember": 86_400.0}


class Asked(msgspec.Struct, frozen=True):
    """A world that asks, its decision with offers, and the session while the question is open."""

    world: World
    decision: Decision
    session: Session

    @property
    def risk(self) -> Risk:
        return max(item.risk for item in self.decision.items_to_ask)

    def answered(self, given: str) -> Session:
        question = next(iter(self.session.questions.values()))
        seen = question.request.digest
        return apply_effects(
            self.session,
            effects_of_answer(question, given, self.world.policy, self.session, self.world.now, seen=seen),
        )

    def again(self, session: Session, after: float = 0.0) -> Decision:
        """The decision for the identical call in this session, so much later."""
        world = self.world
        view = msgspec.structs.replace(world.view, session=session)
        return decide(world.request, world.policy, view, world.now + after)


def ask(world: World) -> Asked | None:
    """The world's question opened and shown, as a gate does it; None where it does not ask."""
    decision = with_offers(decide(*world.parts), *world.parts)
    if decision.verdict is not Verdict.ASK:
        return None
    session = apply_effects(world.view.session, decision.effects)
    question = find_or_open_question(decision, world.request, world.policy, session, world.now)
    return Asked(world, decision, apply_effects(session, effects_of_showing(question, session)))


def for_each_offer(check: Callable[[Asked, str], None], among: tuple[str, ...], seed: int) -> None:
    """Try a check on every offer of every world that asks. While the clock is not trusted no answer helps."""
    tried = 0

    def check_world(world: World) -> None:
        nonlocal tried
        asked = ask(world) if world.view.time_trusted else None
        if asked is None:
            return
        for offer in asked.decision.offers:
            if offer.answer in among:
                tried += 1
                check(asked, offer.answer)

    hold(check_world, seed=seed)
    assert tried > 100


def of_the_asked(asked: Asked, decision: Decision) -> Iterator[Item]:
    """What is decided now for the operations that were asked about."""
    pairs = zip(asked.decision.items, decision.items, strict=True)
    return (item for before, item in pairs if before.ruling.verdict is Verdict.ASK)


def rests_on_what_runs_out(asked: Asked, decision: Decision) -> bool:
    """Whether another operation of the call uses up something of its own, which no answer refills."""
    counted = {held.grant.id for held in asked.session.all_grants if held.grant.uses is not None}
    return bool(counted & set(decision.grants)) or any(
        isinstance(effect, SlashUsed) for effect in decision.effects
    )


def new_grants(asked: Asked, session: Session) -> list[Grant]:
    before = {held.grant.id for held in asked.session.all_grants}
    return [held.grant for held in session.all_grants if held.grant.id not in before]


def test_only_an_ask_has_offers_and_they_begin_with_once_unless_time_is_untrusted_and_end_with_deny() -> None:
    def check(world: World) -> None:
        decision = with_offers(decide(*world.parts), *world.parts)
        answers = tuple(offer.answer for offer in decision.offers)
        if decision.verdict is not Verdict.ASK:
            assert answers == ()
            return
        assert answers[-1] == "deny"
        assert answers[0] == "once" or not world.view.time_trusted
        assert answers == tuple(each for each in ANSWERS if each in answers)
        assert all(offer.words for offer in decision.offers)

    hold(check, seed=200)


def test_every_allow_answer_lets_the_identical_call_run_as_an_approved_call() -> None:
    def check(asked: Asked, given: str) -> None:
        decision = asked.again(asked.answered(given))
        assert decision.verdict is Verdict.ALLOW, f"{given}: {decision.rule}: {decision.reason}"
        assert {item.ruling.rule for item in of_the_asked(asked, decision)} == {"approved_call"}

    for_each_offer(check, ("once", *WIDER), seed=201)


def test_once_is_used_up_by_the_first_run() -> None:
    def check(asked: Asked, given: str) -> None:
        session = asked.answered(given)
        (approval,) = new_grants(asked, session)
        after = apply_effects(session, asked.again(session).effects)
        second = asked.again(after)
        assert approval.id not in second.grants
        assert second.verdict is not Verdict.ALLOW or second.rule != "approved_call"

    for_each_offer(check, ("once",), seed=202)


def test_once_waits_for_the_call_as_long_as_the_policy_says_and_shorter_at_high_risk() -> None:
    def check(asked: Asked, given: str) -> None:
        session = asked.answered(given)
        (approval,) = new_grants(asked, session)
        usual = asked.world.policy.settings.approval_lasts
        high = min(usual, 600.0 if usual <= 900.0 else 3_600.0)
        lasts = high if asked.risk is Risk.HIGH else usual
        just_before, just_then = asked.again(session, lasts - 1), asked.again(session, lasts)
        if [item.risk for item in just_before.items] == [item.risk for item in asked.decision.items]:
            assert {item.ruling.rule for item in of_the_asked(asked, just_before)} == {"approved_call"}
        assert approval.id not in just_then.grants

    for_each_offer(check, ("once",), seed=203)


def test_a_wider_answer_lets_the_identical_call_run_a_second_and_a_third_time() -> None:
    def check(asked: Asked, given: str) -> None:
        session = asked.answered(given)
        if rests_on_what_runs_out(asked, asked.again(session)):
            return
        for _ in range(2):
            session = apply_effects(session, asked.again(session).effects)
            decision = asked.again(session)
            assert decision.verdict is Verdict.ALLOW, f"{given}: {decision.rule}: {decision.reason}"
            assert "approved_call" not in {item.ruling.rule for item in of_the_asked(asked, decision)}

    for_each_offer(check, WIDER, seed=204)


def test_a_wider_answer_lasts_as_long_as_it_says_and_not_a_second_longer() -> None:
    def check(asked: Asked, given: str) -> None:
        session = asked.answered(given)
        approval, *wider = [grant.id for grant in new_grants(asked, session)]
        session = apply_effects(session, asked.again(session).effects)
        just_before = asked.again(session, LASTS[given] - 1)
        if [item.risk for item in just_before.items] == [item.risk for item in asked.decision.items]:
            assert all(item.ruling.verdict is Verdict.ALLOW for item in of_the_asked(asked, just_before)), (
                given
            )
        assert not {approval, *wider} & set(asked.again(session, LASTS[given]).grants)

    for_each_offer(check, WIDER, seed=205)


def test_nothing_an_answer_gives_lives_longer_than_a_day_or_covers_a_higher_risk() -> None:
    def check(asked: Asked, given: str) -> None:
        request, policy, view, now = asked.world.parts
        full = max(facts_of(operation, policy, view, now).risk for operation in request.operations)
        for grant in new_grants(asked, asked.answered(given)):
            assert grant.expires_at <= now + 86_400
            assert grant.risk <= (full if grant.kind == "call" else asked.risk)
            assert grant.session == asked.session.id
            assert grant.question is not None

    for_each_offer(check, ("once", *WIDER), seed=206)


def test_an_answer_for_the_task_ends_with_the_task() -> None:
    def check(asked: Asked, given: str) -> None:
        session = asked.answered(given)
        given_now = {grant.id for grant in new_grants(asked, session)}
        over = apply_effects(session, (ConsentCleared("task", "done"),))
        assert not given_now & set(asked.again(over).grants)
        other = msgspec.structs.replace(over, task=Task("task-2", "other work", 6, 6))
        assert not given_now & set(asked.again(other).grants)

    for_each_offer(check, ("task",), seed=207)


def test_whatever_was_answered_ends_when_everything_is_cleared() -> None:
    def check(asked: Asked, given: str) -> None:
        cleared = apply_effects(asked.answered(given), (ConsentCleared("everything", "the session ended"),))
        assert not cleared.all_grants
        assert not asked.again(cleared).grants

    for_each_offer(check, ("once", *WIDER), seed=208)


def test_deny_denies_the_identical_call_in_this_turn_for_fifteen_minutes() -> None:
    def check(asked: Asked, given: str) -> None:
        session = asked.answered(given)
        for after in (0.0, 899.0, 900.0):
            assert asked.again(session, after).verdict is Verdict.DENY
            assert asked.again(session, after).rule == "denied_call"
        assert asked.again(session, 900.5).rule != "denied_call"
        next_turn = msgspec.structs.replace(session, turn=session.turn + 1)
        assert asked.again(next_turn).rule != "denied_call"

    for_each_offer(check, ("deny",), seed=209)


def test_high_risk_is_offered_once_and_deny_unless_the_policy_keeps_high_consent() -> None:
    def check(world: World) -> None:
        asked = ask(world)
        if asked is None or asked.risk is not Risk.HIGH:
            return
        settings, offered = world.policy.settings, {offer.answer for offer in asked.decision.offers}
        may = {"once", "deny"}
        may |= {"temporary", "always"} if settings.risky_grants == "standing" else set()
        may |= (
            {"remember"} if settings.trusting_remembers_high and world.policy.mode is Mode.TRUSTING else set()
        )
        assert offered <= may

    hold(check, seed=210)


def test_an_answer_that_was_not_offered_allows_nothing() -> None:
    def check(world: World) -> None:
        asked = ask(world)
        if asked is None:
            return
        offered = {offer.answer for offer in asked.decision.offers}
        for given in {*ANSWERS, "yes", "Once", " once", "allow", ""} - offered:
            with pytest.raises(UnknownAnswer):
                asked.answered(given)

    hold(check, seed=211, count=500)


def test_a_question_is_answered_once() -> None:
    def check(world: World) -> None:
        asked = ask(world)
        if asked is None:
            return
        question = next(iter(asked.session.questions.values()))
        after = asked.answered("deny")
        with pytest.raises(UnknownAnswer):
            effects_of_answer(question, "once", world.policy, after, world.now, seen=question.request.digest)

    hold(check, seed=212, count=500)


def test_a_call_asked_again_after_its_question_expired_opens_one_that_can_be_answered() -> None:
    def check(world: World) -> None:
        asked = ask(world) if world.view.time_trusted else None
        if asked is None:
            return
        later = msgspec.structs.replace(
            world, view=msgspec.structs.replace(world.view, session=asked.session), now=world.now + 7200
        )
        again = ask(later)
        if again is None:
            return
        question = max(again.session.questions.values(), key=lambda each: each.opened_at)
        seen = question.request.digest
        assert effects_of_answer(question, "once", later.policy, again.session, later.now, seen=seen)

    hold(check, seed=213)


# Which offers there are, in the plainest cases


def plain(mode: Mode = Mode.BALANCED, *, task: bool = True, **detail: Any) -> World:
    policy = compile_policy(
        mode=mode,
        domains={"git": Domain(requires_approval=("commit",))},
        operations={"git.commit": Detail(**detail)},
    )
    request = make_request(make_call("shell", {}, command="git commit"), [Operation("git.commit")])
    session = Session(task=Task("task-1", "work", 1, 1) if task else None, turn=1)
    return World(request, policy, View(session), NOW)


def offered(world: World) -> tuple[str, ...]:
    asked = ask(world)
    assert asked is not None
    return tuple(offer.answer for offer in asked.decision.offers)


def test_a_moderate_call_in_a_task_can_be_allowed_once_for_the_task_for_a_while_and_for_the_session() -> None:
    assert offered(plain()) == ("once", "task", "temporary", "always", "deny")


def test_without_a_task_nothing_is_offered_for_it() -> None:
    assert offered(plain(task=False)) == ("once", "temporary", "always", "deny")


def test_mode_trusting_also_offers_to_remember() -> None:
    assert offered(plain(Mode.TRUSTING)) == ("once", "task", "temporary", "always", "remember", "deny")


@pytest.mark.parametrize("world", [plain(Mode.PARANOID), plain(always_ask=True), plain(risk=Risk.HIGH)])
def test_what_is_asked_every_time_is_offered_once_only(world: World) -> None:
    assert offered(world) == ("once", "deny")
