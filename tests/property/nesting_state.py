"""What the model of nested calls keeps: frames around a point of the program, and what a session holds."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

from tests.property.nestings import HIGH, LOW, MODERATE, WORLDS, Blocks, Program, Tool, World

FLOORS = {"autonomous": LOW, "requires_approval": MODERATE, "blocked": HIGH, None: MODERATE}
"""The risk of an operation that nothing else is said of, by the list it stands in."""


@dataclass(frozen=True)
class Item:
    """One operation at the risk and weight it has at some point."""

    operation: str
    risk: int
    weight: int


def item_of(world: World, tool: Tool) -> Item:
    """What a function does, as the policy and its decorator say."""
    fact = world.facts[tool.operation]
    floor = LOW if fact.listed is None else FLOORS[fact.listed]
    risk = max(floor, tool.risk) if fact.risk is None else fact.risk
    if world.preset is not None and tool.risk is not None:  # a preset never lowers what code declares
        risk = max(risk, tool.risk)
    weight = risk if tool.weight is None else tool.weight
    return Item(tool.operation, risk, weight if fact.weight is None else fact.weight)


def declared(program: Program, operation: str) -> Item:
    """An operation as a workflow declares it: the strictest of the functions that do it."""
    world = WORLDS[program.world]
    fact = world.facts[operation]
    items = [item_of(world, tool) for tool in program.tools() if tool.operation == operation]
    if not items:
        risk = FLOORS[fact.listed] if fact.risk is None else fact.risk
        items = [Item(operation, risk, risk if fact.weight is None else fact.weight)]
    return Item(operation, max(item.risk for item in items), max(item.weight for item in items))


@dataclass
class Grant:
    """`only` is the one call it is for, if it is; `operations` are those of a call, a run or a workflow.

    `wider` is what the same answer gave beside the approval of one call: revoked, it takes that with it.
    """

    kind: str
    value: str
    risk: int
    uses: int | None = None
    only: str | None = None
    operations: tuple[str, ...] = ()
    workflow: int | None = None
    revoked: bool = False
    wider: Grant | None = None

    def is_over(self) -> bool:
        return self.revoked or (self.wider is not None and self.wider.revoked)


@dataclass(frozen=True)
class Question:
    """An open question: what is asked, what "always" would give, if it is offered, and the rule that asks."""

    items: tuple[Item, ...]
    always: Grant | None
    rule: str = ""


@dataclass
class Ledger:
    """What one session holds."""

    grants: list[Grant] = field(default_factory=list)
    questions: dict[str, Question] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)
    clearings: int = 0

    def drop(self, ended: Callable[[Grant], bool]) -> None:
        self.grants = [grant for grant in self.grants if not ended(grant)]

    def revoke(self, ended: Callable[[Grant], bool]) -> None:
        """What rests on one of these is over with it."""
        for grant in self.grants:
            grant.revoked = grant.revoked or ended(grant)
        self.drop(Grant.is_over)

    def asks(self, digest: str, rule: str, item: Item) -> bool:
        """Whether the call is asked about already; by another rule or at another risk it is asked anew."""
        question = self.questions.get(digest)
        return question is not None and (question.rule, question.items[0].risk) == (rule, item.risk)

    def clear(self) -> None:
        self.revoke(lambda grant: True)
        self.questions.clear()
        self.clearings += 1

    def with_also(self, grant: Grant) -> Ledger:
        """A copy to try out what this grant would change."""
        copied = [replace(one) for one in (*self.grants, grant)]
        return Ledger(copied, denied=self.denied, clearings=self.clearings)

    def approval(self, digest: str, item: Item) -> Grant | None:
        """The first unused approval of this call that names the operation, at this risk or above."""
        for grant in self.grants:
            named = grant.kind == "call" and grant.value == digest and item.operation in grant.operations
            if named and item.risk <= grant.risk:
                return grant
        return None

    def operation_grant(self, item: Item, digest: str, *, standing: bool) -> Grant | None:
        for grant in self.grants:
            for_it = grant.kind == "operation" and grant.value == item.operation
            for_it = for_it and grant.only in (None, digest) and item.risk <= grant.risk
            if for_it and (item.risk < HIGH or standing or grant.uses == 1):
                return grant
        return None

    def run_grant(self, item: Item, run: tuple[int, int] | None) -> Grant | None:
        """The grant of the run, else that of its workflow, if it declares the operation at this weight."""
        for key in [("run", str(run[0])), ("workflow", str(run[1]))] if run else []:
            for grant in self.grants:
                declared = (grant.kind, grant.value) == key and item.operation in grant.operations
                if declared and item.weight < HIGH and item.weight <= grant.risk:
                    return grant
        return None

    def use(self, grant: Grant) -> None:
        """One use less; a grant that is used up is gone."""
        if grant.uses is not None:
            grant.uses -= 1
            self.drop(lambda one: one is grant and one.uses == 0)


@dataclass
class Consent:
    """What a call was allowed by: its grants, and how often all consent had been cleared by then."""

    grants: list[Grant] = field(default_factory=list)
    clearings: int = 0

    def lasts(self, ledger: Ledger) -> bool:
        return self.clearings == ledger.clearings and not any(grant.is_over() for grant in self.grants)


@dataclass
class Job:
    """One run under way; a gate that is not passed stops it. It goes on after a wait while this is so."""

    name: str
    consent: Consent
    stopped: bool = False

    def goes_on(self, ledger: Ledger) -> bool:
        return self.consent.lasts(ledger) and self.name not in ledger.denied


@dataclass
class Frame:
    """One scope of one session, open until what it was opened for ends."""

    session: str
    granted: dict[str, int] = field(default_factory=dict)
    weight: int = 0
    click: bool = False
    lowers: tuple[str, int] | None = None
    run: tuple[int, int] | None = None
    individual: bool = False
    job: Job | None = None
    open: bool = True
    consent: Consent = field(default_factory=Consent)


@dataclass(frozen=True)
class Where:
    """A point of the program: the frames and blocks around it, outermost first, its session, its task."""

    frames: tuple[Frame, ...]
    session: str
    in_task: bool = False
    blocks: Blocks[Generator[None]] = ()

    def at(self, **changes: Any) -> Where:
        return replace(self, **changes)

    def mine(self) -> list[Frame]:
        return [frame for frame in self.frames if frame.session == self.session]

    def open(self) -> list[Frame]:
        return [frame for frame in self.mine() if frame.open]

    def job(self) -> Job | None:
        jobs = [frame.job for frame in self.open() if frame.job is not None]
        return jobs[-1] if jobs else None

    def on_its_own(self) -> list[Frame]:
        """The open frames whose consent counts here: a step that wants its own keeps out what is around it.

        Work that such a step leaves behind is still its work.
        """
        mine = self.mine()
        steps = [number for number, frame in enumerate(mine) if frame.individual]
        return [frame for frame in mine[steps[-1] + 1 if steps else 0 :] if frame.open]

    def carrying(self) -> list[Frame]:
        """The outer calls that consent covers."""
        return [frame for frame in self.on_its_own() if frame.granted]

    def run(self) -> tuple[int, int] | None:
        runs = [frame.run for frame in self.on_its_own() if frame.run is not None]
        return runs[-1] if runs else None
