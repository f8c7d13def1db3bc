"""Whole conversations, made up by hypothesis: messages, plans, calls, answers, outcomes, time, in any order.

Here the states are only those that a session can really get into. In each of them the second evaluator must
agree with the rules, and what a person was promised must hold.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sayso.core.errors import UnknownAnswer
from sayso.core.model import Tier
from sayso.core.policy import Policy
from sayso.gate.sessions.play import Player
from sayso.policy import load_preset
from tests.property.oracle import Answer, verdict_of

DAY = 86_400.0
EXAMPLES, STEPS = (1_500, 50) if os.environ.get("SAYSO_ALL") else (80, 30)

MESSAGES = (
    "fix the parser",
    "yes",
    "ok",
    "go ahead",
    "no",
    "done",
    "yes, but skip the tests",
    "please run `git status`",
    "run `git push`",
    "/commit",
    "/pr",
    "/status",
    "that's wrong",
    "actually, let's work on the docs instead",
    "Grant standing consent for: git push, git status",
    "Revoke consent for: git push",
    "Clear session allowlist",
    "Clear consent state",
    "What have I consented to?",
    "yes, just this once",
    "yes to all",
    "2",
    "the first one",
    "both",
    "no to git push",
    "sure",
    "yeah right",
    "no problem, go ahead",
    "yes, if the tests pass",
    "New task: the docs",
    "Revoke consent for: file-edit and git push",
    "Grant standing consent for: git push, but not to main",
    "/pr no, don't",
)
PROHIBITIONS = ("do not edit b.py", "please don't push", "stay away from a.py", "no more commits")
STOPS = ("stop", "wait", "yes, wait", "Hold on!", "not yet please")
OPERATIONS = (
    "git.status",
    "git.commit",
    "git.push",
    "git.push_force",
    "files.edit",
    "files.delete",
    "files.modify_secrets",
    "tests.run",
    "email.send",
    "notifications.discord",
    "notifications.imessage",
    "self_modification.modify_policy",
    "nowhere.known",
)
CALLS = st.fixed_dictionaries(
    {"operations": st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=2)},
    optional={
        "command": st.sampled_from(("git push", "git status", "git push --force")),
        "target": st.sampled_from(("a.py", "b.py")),
        "args": st.sampled_from(({"content": "hello"}, {"content": "bye"})),
        "confidence": st.sampled_from((0.85, 0.84, 1.0)),
        "risk": st.sampled_from(("low", "moderate", "high")),
        "reading": st.sampled_from(("low", "moderate", "high")),
        "origin": st.sampled_from(("agent", "subagent", "schedule", "user")),
    },
)
PLANS = st.fixed_dictionaries(
    {
        "targets": st.sampled_from((["a.py"], ["a.py", "b.py"])),
        "changes": st.just(["rename the parser"]),
        "operations": st.sampled_from((["files.edit"], ["files.edit", "git.commit"])),
    }
)
MOMENTS = st.sampled_from((0.0, 1.0, 599.0, 600.0, 899.0, 900.0))
LONG = st.sampled_from((3600.0, 7200.0, DAY - 1, DAY, 30 * DAY))


@cache
def preset(name: str) -> Policy:
    return load_preset(name)


class Conversation(RuleBasedStateMachine):
    """A session in the making, beside the little that the test remembers of it."""

    player: Player

    @initialize(
        name=st.sampled_from(("chat", "balanced", "trusting", "gateway", "graph", "coding", "paranoid"))
    )
    def open(self, name: str) -> None:
        self.player = Player(preset(name))
        self.stopped = False
        self.before_the_stop: set[str] = set()
        self.approvals: Counter[str] = Counter()
        self.last_call: dict[str, Any] | None = None

    # What the user does

    @rule(text=st.sampled_from(MESSAGES))
    def say(self, text: str) -> None:
        self.hear(text)

    def hear(self, text: str) -> None:
        turn = self.player.session.turn
        self.player.step({"hear": text})
        self.stopped = False
        assert self.player.session.turn == turn + 1

    def stop(self, text: str) -> None:
        assert self.player.step({"hear": text})["kind"] == "stop"
        self.stopped = True
        self.before_the_stop = self.known()
        assert all(held.grant.kind == "command" for held in self.player.session.all_grants)
        assert not self.player.session.questions

    @rule(text=st.sampled_from(PROHIBITIONS))
    def forbid(self, text: str) -> None:
        """A prohibition outside a yes leaves nothing but standing consent, and none that it forbids."""
        assert self.player.step({"hear": text})["kind"] == "refusal"
        self.stopped = False
        left = [held.grant for held in self.player.session.all_grants if not held.revoked]
        assert all(grant.kind == "command" for grant in left)
        assert "push" not in text or all("push" not in grant.value for grant in left)

    def revoke_all(self) -> None:
        self.player.step({"hear": "Revoke all consent"})
        self.stopped = False
        assert not [held for held in self.player.session.all_grants if not held.revoked]

    @precondition(lambda self: self.player.question is not None)
    @rule(choice=st.data())
    def answer_the_question(self, choice: Any) -> None:
        self.answer(choice)

    def answer(self, choice: Any) -> str | None:
        """Give one of the answers that were offered; None where it came too late."""
        question = self.player.question
        assert question is not None
        given: str = choice.draw(st.sampled_from([offer.answer for offer in question.offers]))
        if self.is_open(given):
            self.player.step({"answer": given})
            return given
        with pytest.raises(UnknownAnswer):
            self.player.step({"answer": given})
        return None

    def is_open(self, given: str) -> bool:
        """Whether the question may still be answered so: open, not too old, its task not ended."""
        question, session = self.player.question, self.player.session
        if question is None or question.id not in session.questions:
            return False
        in_time = self.player.now - question.opened_at < 7200
        same_task = session.task is not None and session.task.id == question.task
        return in_time and (given != "task" or same_task)

    @rule(given=st.sampled_from(("yes", "ALWAYS", "allow", "")))
    def answer_with_other_words(self, given: str) -> None:
        known = self.known()
        with pytest.raises(UnknownAnswer):
            self.player.step({"answer": given})
        assert self.known() == known

    # What the agent and the host do: none of it may create a grant

    @rule(call=CALLS)
    def make_a_call(self, call: dict[str, Any]) -> None:
        self.call(call)

    def call(self, call: dict[str, Any]) -> str:
        self.last_call = call
        known, view = self.known(), self.player.view
        told = self.player.step({"call": call})
        assert self.player.last is not None
        request, decision = self.player.last
        answer = Answer(told["verdict"], told["rule"], frozenset(told["grants"]))
        assert answer == verdict_of(request, self.player.policy, view, self.player.now)
        assert self.known() <= known
        if told["verdict"] == "allow":
            self.check_allowed(call, told)
            approved = [item.ruling.grants for item in decision.items if item.ruling.rule == "approved_call"]
            self.approvals.update(set().union(*approved))
        return str(told["verdict"])

    def check_allowed(self, call: dict[str, Any], told: dict[str, Any]) -> None:
        tiers = {self.player.policy.entry(name).tier for name in call["operations"]}
        assert Tier.BLOCKED not in tiers
        if self.stopped:
            assert told["rule"] == "approved_call"
            assert not set(told["grants"]) & self.before_the_stop
        given = {held.grant.id: held.grant.given_at for held in self.player.session.all_grants}
        assert all(self.player.now - given[name] < DAY for name in told["grants"] if name in given)

    @precondition(lambda self: self.last_call is not None)
    @rule()
    def call_again(self) -> None:
        assert self.last_call is not None
        self.call(self.last_call)

    @rule(call=CALLS, choice=st.data())
    def call_answer_and_call_again(self, call: dict[str, Any], choice: Any) -> None:
        """Answered with any allow, the identical call runs when it comes again; denied, it does not.

        A call that joined a question asked at another risk is asked again at its own.
        """
        if self.call(call) != "ask":
            return
        as_asked = self.is_asked_as_decided()
        given = self.answer(choice)
        if given is not None and (as_asked or given == "deny"):
            assert self.call(call) == ("deny" if given == "deny" else "allow")

    def is_asked_as_decided(self) -> bool:
        assert self.player.question is not None
        assert self.player.last is not None
        asked, (_, decision) = self.player.question.items, self.player.last
        return [(one.operation, one.risk) for one in asked] == [
            (one.operation, one.risk) for one in decision.items_to_ask
        ]

    @rule(plan=PLANS)
    def plan(self, plan: dict[str, Any]) -> None:
        self.show_plan(plan)

    @rule(plan=PLANS, assent=st.sampled_from(("yes", "go ahead", "ok")), call=CALLS)
    def plan_and_go(self, plan: dict[str, Any], assent: str, call: dict[str, Any]) -> None:
        self.show_plan(plan)
        self.hear(assent)
        self.call({**call, "operations": plan["operations"][:1]})

    def show_plan(self, plan: dict[str, Any]) -> None:
        known = self.known()
        names = [name for name in plan["operations"] if name in self.player.policy.table]
        self.player.step({"plan": {**plan, "operations": names}})
        assert self.known() == known

    @precondition(lambda self: self.player.allowed is not None)
    @rule(how=st.sampled_from(("ok", "error")))
    def outcome(self, how: str) -> None:
        known = self.known()
        self.player.step({"outcome": how})
        new = [held.grant for held in self.player.session.all_grants if held.grant.id not in known]
        assert [grant.kind for grant in new] in ([], ["retry"])
        assert how == "error" or not new

    @rule(seconds=MOMENTS)
    def wait(self, seconds: float) -> None:
        self.player.step({"advance": seconds})

    @rule(
        what=st.sampled_from(("stop", "revoke", "begin", "end", "wait")),
        stop=st.sampled_from(STOPS),
        seconds=LONG,
    )
    def disturb(self, what: str, stop: str, seconds: float) -> None:
        """What ends much at once: one rule for all of it, so that conversations get somewhere in between."""
        match what:
            case "stop":
                self.stop(stop)
            case "revoke":
                self.revoke_all()
            case "begin":
                self.begin_task()
            case "end":
                self.end_task()
            case _:
                self.player.step({"advance": seconds})

    def begin_task(self) -> None:
        known = self.known()
        self.player.step({"begin_task": "another task"})
        assert self.known() <= known

    def end_task(self) -> None:
        self.player.step({"end_task": True})
        assert not [held for held in self.player.session.all_grants if held.grant.ends_with == "task"]

    # What holds after every step

    def known(self) -> set[str]:
        return {held.grant.id for held in self.player.session.all_grants}

    @invariant()
    def grants_are_numbered_once_and_live_a_day_at_the_most(self) -> None:
        grants = [held.grant for held in self.player.session.all_grants]
        assert len({grant.id for grant in grants}) == len(grants)
        assert all(grant.expires_at - grant.given_at <= DAY for grant in grants)
        assert all(grant.session == self.player.session.id for grant in grants)

    @invariant()
    def an_approval_is_used_once(self) -> None:
        assert all(count == 1 for count in self.approvals.values())


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None)
