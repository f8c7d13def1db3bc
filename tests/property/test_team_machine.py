"""Random teams, with everything that can happen to them while a question is open.

A second, slow count stands beside the gate's: for each person who approved it knows by which id, which call
and under which delegations, and tries every way to seat them. What the gate allows, that count allows, and
the other way round.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from sayso.core.errors import SaysoError
from sayso.core.model import Risk
from sayso.core.team import ApprovalRule, Delegation, Escalation, Person, make_team
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.people.answerers import Answerer
from sayso.gate.people.delegations import delegate, end_delegation
from sayso.gate.people.team_view import load_team_view
from sayso.gate.people.tokens import issue_token, revoke_token
from sayso.gate.sessions.sessions import open_session
from sayso.store.contract import Store
from sayso.store.memory.store import MemoryStore
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite.store import SqliteStore
from tests.support.answers import edit_and_allow
from tests.support.gates import KEY, Clock
from tests.support.postgres_place import new_schema
from tests.support.teams import acting_under, allow, asks, pay, team_policy, verdict

EVERY = bool(os.environ.get("SAYSO_ALL"))
EXAMPLES = {"memory": 1_000 if EVERY else 100, "sqlite": 100 if EVERY else 12, "postgres": 30}
PEOPLE = ("ana", "bo", "cy", "di")
GROUPS = ("red", "blue")
TAKING = ("token", "delegation", "time", "group")


class TeamMachine(RuleBasedStateMachine):
    store: Store
    clock: Clock

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, tuple[str, str, frozenset[str]]] = {}
        self.opened = 0.0

    @initialize(
        groups=st.lists(st.sets(st.sampled_from(GROUPS)), min_size=4, max_size=4),
        rules=st.lists(
            st.tuples(
                st.sampled_from(("red", "blue", *PEOPLE)),
                st.sampled_from((1, 1, 2, 3)),
                st.sampled_from((None, 60.0)),
            ),
            min_size=1,
            max_size=2,
        ),
        asker=st.sampled_from((*PEOPLE, None)),
    )
    def begin(
        self, groups: list[set[str]], rules: list[tuple[str, int, float | None]], asker: str | None
    ) -> None:
        base = open_gate(team_policy(), self.store, key=KEY)
        self.tokens = {name: issue_token(base, "operator", name, by="root")[1].id for name in PEOPLE}
        self.groups = dict(zip(PEOPLE, groups, strict=True))
        self.team_rules = tuple(
            ApprovalRule(
                (who,), needed, "bank", Risk.HIGH, None if after is None else Escalation(after, ("blue",))
            )
            for who, needed, after in rules
        )
        self.revoked: set[str] = set()
        self.base = base
        self.asker = asker
        owner = "t_nobody" if asker is None else self.tokens[asker]
        self.session = open_session(base, agent="payer", owner=owner)
        self.amount = 0
        self.ask()

    def ask(self) -> None:
        """Another payment, which nobody has approved."""
        self.amount += 2
        self.given = {}
        self.request, self.question = asks(self.gate(), self.session, self.amount)
        self.edited = pay(self.session, self.amount + 1)
        self.opened = self.clock.now

    def gate(self) -> Gate:
        people = {
            name: Person(tuple(sorted(self.groups[name])), (f"page:{name}", f"token:{self.tokens[name]}"))
            for name in PEOPLE
        }
        team = make_team(people, self.team_rules, (), None)
        entry = msgspec.structs.replace(self.base.policy.table["bank.pay"], approvals=self.team_rules)
        table = {**self.base.policy.table, "bank.pay": entry}
        often = msgspec.structs.replace(
            self.base.policy.settings, open_questions=1_000, questions_per_hour=10_000
        )
        domains = {**self.base.policy.domains, "files": self.base.policy.domains["bank"]}
        changed = {"team": team, "table": table, "settings": often, "domains": domains}
        return acting_under(self.base, msgspec.structs.replace(self.base.policy, **changed))

    # --- the second count ---

    def enough(self, digest: str) -> bool:
        delegations = [one for one in load_team_view(self.base).delegations if self.clock.now < one.until]
        approvers = [
            name
            for name, (identity, call, _) in self.given.items()
            if call == digest and not (identity.startswith("token:") and name in self.revoked)
        ]
        barred = {one.to for one in delegations if one.giver == self.asker} | {self.asker}
        return all(
            self._met(one, [name for name in approvers if name not in barred], delegations)
            for one in self.team_rules
        )

    def _met(self, rule_: ApprovalRule, approvers: list[str], delegations: list[Delegation]) -> bool:
        names = set(rule_.approvers)
        if rule_.escalate is not None and self.clock.now - self.opened >= rule_.escalate.after:
            names |= set(rule_.escalate.to)
        seats = [
            name for name in PEOPLE if name != self.asker and (name in names or names & self.groups[name])
        ]
        may = {(n, n) for n in PEOPLE} | {
            (one.to, one.giver)
            for one in delegations
            if one.highest >= Risk.HIGH
            and one.domain in (None, "bank")
            and one.to in self.given
            and one.id in self.given[one.to][2]
        }
        return any(
            all((person, seat) in may for person, seat in zip(chosen, seated, strict=True))
            for chosen in itertools.combinations(approvers, rule_.needed)
            for seated in itertools.permutations(seats, rule_.needed)
        )

    # --- what happens ---

    @rule(
        name=st.sampled_from(PEOPLE),
        by_token=st.booleans(),
        edits=st.sampled_from((False, False, True)),
        before_it_runs=st.sampled_from(("nothing", *TAKING)),
    )
    def approve(self, name: str, by_token: bool, edits: bool, before_it_runs: str = "nothing") -> None:
        identity = f"token:{self.tokens[name]}" if by_token else f"page:{name}"
        gate, who, call = self.gate(), Answerer(identity), self.edited if edits else self.request
        before = dict(self.given)
        held = frozenset(one.id for one in load_team_view(self.base).delegations if one.to == name)
        try:
            if edits:
                stands = edit_and_allow(gate, self.question, call, by=name, who=who, seen_edited=call.digest)
            else:
                stands = allow(gate, self.question, who)
        except SaysoError:
            self.given = before
            return
        self.given[name] = (identity, call.digest, held)
        assert (stands.state == "answered") == self.enough(call.digest)
        if stands.state == "answered":
            other = self.request if edits else self.edited
            assert verdict(gate, other) != "allow"
            self.take_away(before_it_runs, name)
            assert (verdict(self.gate(), call) == "allow") == self.enough(call.digest)
            assert verdict(self.gate(), call) != "allow"
            self.ask()

    def take_away(self, how: str, name: str) -> None:
        """Something happens to the team between the last approval and the call."""
        if how == "token":
            self.revoke(name)
        elif how == "delegation":
            self.take_back()
        elif how == "time":
            self.wait(90.0)
        elif how == "group":
            self.groups[name] = set()

    @rule(name=st.sampled_from(PEOPLE), by_token=st.booleans())
    def approve_too(self, name: str, by_token: bool) -> None:
        self.approve(name, by_token, edits=False)

    @rule(name=st.sampled_from(PEOPLE), by_token=st.booleans())
    def approve_an_edit(self, name: str, by_token: bool) -> None:
        self.approve(name, by_token, edits=True)

    @rule(identity=st.sampled_from(("page:mallory", "account:ana", "token:t_x", None)))
    def attack(self, identity: str | None) -> None:
        with pytest.raises(SaysoError):
            allow(self.gate(), self.question, None if identity is None else Answerer(identity))

    @rule(name=st.sampled_from(PEOPLE))
    def deny(self, name: str) -> None:
        assert allow(self.gate(), self.question, Answerer(f"page:{name}"), "deny").state == "answered"
        assert verdict(self.gate(), self.request) == "deny"
        self.ask()

    @rule(name=st.sampled_from(PEOPLE), group=st.sampled_from(GROUPS), joins=st.booleans())
    def regroup(self, name: str, group: str, joins: bool) -> None:
        self.groups[name] = self.groups[name] | {group} if joins else self.groups[name] - {group}

    @rule(name=st.sampled_from(PEOPLE))
    def revoke(self, name: str) -> None:
        if name not in self.revoked:
            revoke_token(self.base, self.tokens[name], by="root")
            self.revoked.add(name)

    @rule(
        giver=st.sampled_from(PEOPLE),
        to=st.sampled_from(PEOPLE),
        highest=st.sampled_from((Risk.HIGH, *Risk)),
        domain=st.sampled_from((None, "bank", "files")),
        approves=st.booleans(),
    )
    def hand_over(self, giver: str, to: str, highest: Risk, domain: str | None, approves: bool) -> None:
        gate, who = self.gate(), Answerer(f"page:{giver}")
        with suppress(SaysoError):
            delegate(gate, who, to, seconds=90, by=giver, domain=domain, highest=highest)
        if approves:
            self.approve(to, by_token=False, edits=False)

    @rule(to=st.sampled_from(PEOPLE))
    def hand_over_own_call(self, to: str) -> None:
        """Whoever asks lets somebody approve for them, who does: that is no approval."""
        if self.asker is not None:
            self.hand_over(self.asker, to, Risk.HIGH, None, approves=True)

    @rule(giver=st.sampled_from(PEOPLE), to=st.sampled_from(PEOPLE))
    def hand_over_another_domain(self, giver: str, to: str) -> None:
        """What somebody may approve elsewhere says nothing here."""
        self.hand_over(giver, to, Risk.HIGH, "files", approves=True)

    @rule()
    def take_back(self) -> None:
        for one in load_team_view(self.base).delegations[:1]:
            end_delegation(self.base, one.id, by="root")

    @rule(seconds=st.sampled_from((1.0, 40.0)))
    def wait(self, seconds: float) -> None:
        if not isinstance(self.store, PostgresStore):  # whose clock nobody moves
            self.clock.now += seconds

    @invariant()
    def nothing_runs_without_its_quorum(self) -> None:
        if self.opened:
            for call in (self.request, self.edited):
                assert verdict(self.gate(), call) in ("ask", "deny")  # deny: it was asked too often


def play(kind: str, store: Store, clock: Clock, examples: int) -> None:
    machine = type(f"{kind}Teams", (TeamMachine,), {"store": store, "clock": clock})
    told = settings(
        max_examples=examples,
        stateful_step_count=30,
        phases=(Phase.generate,),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=told)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_no_call_runs_without_its_quorum(kind: str) -> None:
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        store = (
            MemoryStore(clock=clock) if kind == "memory" else SqliteStore(Path(folder) / "s.db", clock=clock)
        )
        with closing(store):
            play(kind, store, clock, EXAMPLES[kind])


ON_POSTGRES = [EXAMPLES["postgres"] if EVERY else 2]


@pytest.mark.slow
@pytest.mark.parametrize("examples", ON_POSTGRES)
def test_no_call_runs_without_its_quorum_on_postgres(postgres_server: str, examples: int) -> None:
    clock = Clock()
    with closing(PostgresStore(new_schema(postgres_server))) as store:
        with store.read() as tx:
            clock.now = tx.now
        play("postgres", store, clock, examples)
