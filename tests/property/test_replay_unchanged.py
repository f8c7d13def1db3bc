"""Whatever was done with a gate: under the policy it was decided by, the past is decided as it was."""

from __future__ import annotations

import os
from contextlib import closing
from random import Random

from sayso.core.audit.entry import read_entry
from sayso.core.audit.events import DECISIONS
from sayso.core.deciding.facts import read_facts
from sayso.core.policy import Policy
from sayso.gate.gate import Gate
from sayso.gate.hindsight.decide_again import PastDecider
from sayso.gate.hindsight.replay import BY_CHECKS, replay_decisions
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import make_key
from sayso.policy import load_preset
from sayso.store.contract import Store
from sayso.store.memory.store import MemoryStore
from sayso.store.postgres.store import PostgresStore
from tests.property.acts import Side
from tests.property.test_stores_agree import NAMES, TIMES
from tests.support.gates import Clock
from tests.support.postgres_place import new_schema
from tests.support.rows import each_row

LIVES = 400 if os.environ.get("SAYSO_ALL") else 25
STEPS = 150
PRESETS = ("chat", "balanced", "coding", "gateway", "trusting", "paranoid", "graph")
KEY = make_key("replay")
PARTS = ("held", "reviewed", "slash", "suspended")
OFTEN = ("authorize", "start", "hear", "answer", "task", "end", "retry", "give")


def live(seed: int, policy: Policy, store: Store | None = None) -> Gate:
    made, clock = Random(seed), Clock()
    gate = open_gate(policy, MemoryStore(clock=clock) if store is None else store, key=KEY)
    side = Side(gate)
    side.do(("open", 0, 0))
    for _ in range(STEPS):
        name = made.choice((*NAMES, *OFTEN, *OFTEN, "pass"))
        if name == "pass":
            clock.now += made.choice(TIMES)
        else:
            side.do((name, made.randrange(31), made.randrange(31)))
    return gate


def decide_one_by_one(gate: Gate) -> list[tuple[object, ...]]:
    """Every decision that a check made and that is decided otherwise now, rule and all."""
    decider = PastDecider(gate.policy, gate.policy)
    differ: list[tuple[object, ...]] = []
    with gate.store.read() as tx:
        for row in tx.entries("main", limit=100_000):
            if row.event not in DECISIONS or row.body is None:
                continue
            said = read_entry(row.body)
            if said.details["rule"] not in BY_CHECKS:
                continue

            def load(name: str):  # type: ignore[no-untyped-def]
                found = tx.grant(name)
                return None if found is None else gate.sealer.open_grant(found)

            facts = said.details["facts"]
            got = decider.decide(
                said.operations, facts, said.details["origin"], row.at, wished=False, load=load
            )
            if got != (DECISIONS[row.event], said.details["rule"]):
                differ.append((row.seq, row.event, said.operations, said.details["rule"], got, facts))
    return differ


@each_row("seed", range(LIVES))
def test_nothing_changes_under_the_unchanged_policy(seed: int) -> None:
    gate = live(seed, load_preset(PRESETS[seed % len(PRESETS)]))
    report = replay_decisions(gate)
    assert (report.loosened, report.tightened, report.not_replayed) == ((), (), {})
    assert report.before == report.after
    assert report.decisions > 0
    assert decide_one_by_one(gate) == [], "not even the rule is another"


def test_nothing_changes_on_postgres_either(postgres_server: str) -> None:
    with closing(PostgresStore(new_schema(postgres_server))) as store:
        report = replay_decisions(live(0, load_preset("chat"), store))
    assert (report.loosened, report.tightened, report.not_replayed) == ((), (), {})
    assert report.decisions > 0


def test_the_lives_hold_what_decisions_can_rest_on() -> None:
    """Otherwise the test above would say nothing of it."""
    seen: set[str] = set()
    for seed in range(2 * len(PRESETS)):
        gate = live(seed, load_preset(PRESETS[seed % len(PRESETS)]))
        with gate.store.read() as tx:
            for row in tx.entries("main", limit=100_000):
                said = None if row.body is None or row.event not in DECISIONS else read_entry(row.body)
                facts = None if said is None else read_facts(said.details.get("facts", ""))
                if facts is not None:
                    seen |= {*facts.marks, *(name for name in PARTS if getattr(facts, name))}
    assert seen >= {*"codskg", *PARTS}
