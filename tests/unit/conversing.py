"""A policy, calls, a plan and a task: for the tests of the conversation's details."""

from __future__ import annotations

from sayso.core.effects import Effect, GrantAdded
from sayso.core.grants import Grant
from sayso.core.model import Mode, Operation, Risk
from sayso.core.plans.plan import plan_from_parts
from sayso.core.policy import Detail, Domain, compile_policy
from sayso.core.session import Task
from sayso.gate.deciding.request import make_call, make_request

NOW = 1_800_000_000.0
DAY = 86_400.0
POLICY = compile_policy(
    mode=Mode.TRUSTING,
    domains={
        "git": Domain(requires_approval=("commit", "push")),
        "files": Domain(requires_approval=("edit",)),
    },
    operations={"git.commit": Detail(category="git-local"), "git.push": Detail(risk=Risk.HIGH)},
    digest="policy-1",
)
TASK = Task("session.t1", "work", 1, 4)
COMMIT = make_request(make_call("commit", {"all": True}, workspace="/w"), [Operation("git.commit")])
PUSH = make_request(make_call("push", {}, workspace="/w"), [Operation("git.push")])
PLAN = plan_from_parts(["a.py"], ["rename it"], None, None, ["files.edit"])


def given(effects: tuple[Effect, ...]) -> list[Grant]:
    return [effect.grant for effect in effects if isinstance(effect, GrantAdded)]
