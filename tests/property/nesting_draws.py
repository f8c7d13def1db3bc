"""Drawing programs of nested calls, by hypothesis or by a seeded generator alike.

The first of the options is always the plainest, so that shrinking leads to the plainest program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.property.nestings import (
    HIGH,
    LOW,
    MODERATE,
    WORLDS,
    Body,
    Call,
    Cascade,
    Click,
    Elsewhere,
    Give,
    Node,
    Pause,
    Program,
    Revoke,
    SafeCaller,
    Spawn,
    Stage,
    Start,
    Tool,
)

DEPTH, WIDTH = 4, 3
RISKS = (LOW, MODERATE, HIGH)
ANSWERS = (None, "once", "once", "always", "always", "deny")
Choose = Callable[[Sequence[Any]], Any]


@st.composite
def programs(draw: st.DrawFn, world: str) -> Program:
    return _program(world, lambda options: draw(st.sampled_from(options)))


def seeded(world: str, seed: int) -> Program:
    return _program(world, Random(f"{world} {seed}").choice)


def _program(world: str, choose: Choose) -> Program:
    """A body, and up to two workflows, the second of which may start the first.

    A program has two operations and four functions at most, so that what is granted and what is called meet.
    Either all functions say how much they weigh or none does; mixtures are tested in tests/doors.
    """
    names = [choose(tuple(WORLDS[world].facts)) for _ in range(2)]
    weights = choose(((None,), RISKS))
    tools = [Tool(choose(names), choose(RISKS), choose(weights)) for _ in range(4)]
    hand = Hand(choose, names, tools)
    workflows: tuple[tuple[Stage, ...], ...] = ()
    for number in range(choose((0, 1, 2, 2))):
        hand.known = number + 1
        workflows = (*workflows, hand.stages(number))
    return Program(world, hand.body(len(workflows), DEPTH), workflows)


@dataclass
class Hand:
    """Draws the parts of one program.

    `known` is how many workflows there are so far, `runs` how many can be started from some point: a step
    starts only earlier ones, but trust may be withdrawn from its own.
    """

    choose: Choose
    names: Sequence[str]
    tools: Sequence[Tool]
    known: int = 0

    def stages(self, runs: int) -> tuple[Stage, ...]:
        return tuple(self._stage(runs) for _ in range(self.choose((1, 2))))

    def body(self, runs: int, depth: int) -> Body:
        nodes: Body = ()
        while len(nodes) < WIDTH and self.choose((False, True, True, True)):
            nodes = (*nodes, self._node(runs, depth))
        return nodes

    def _stage(self, runs: int) -> Stage:
        declared = tuple(dict.fromkeys(self.choose(self.names) for _ in range(self.choose((1, 2)))))
        return Stage(declared, self.body(runs, DEPTH - 2), self.choose((False, False, True)))

    def _node(self, runs: int, depth: int) -> Node:
        kinds = [self._call] * 6 + [self._operator] * 2 + [self._start] * 3 * bool(runs)
        if depth:
            kinds += [self._safe_caller] * 2 + [self._spawn] * 2 + [self._elsewhere, self._click]
        kind: Callable[[int, int], Node] = self.choose(kinds)
        return kind(runs, depth - 1)

    def _call(self, runs: int, depth: int) -> Node:
        body = self.body(runs, depth) if depth >= 0 else ()
        return Call(self.choose(self.tools), self.choose((0, 1)), self.choose(ANSWERS), body)

    def _start(self, runs: int, depth: int) -> Node:
        return Start(self.choose(range(runs)), self.choose(ANSWERS))

    def _safe_caller(self, runs: int, depth: int) -> Node:
        return SafeCaller(self.choose(self.names), self.choose((LOW, MODERATE)), self.body(runs, depth))

    def _click(self, runs: int, depth: int) -> Node:
        return Click(self.body(runs, depth))

    def _elsewhere(self, runs: int, depth: int) -> Node:
        return Elsewhere(self.body(runs, depth))

    def _spawn(self, runs: int, depth: int) -> Node:
        body = self.body(runs, depth)
        if self.choose((False, False, False, True)):
            return Spawn(body, bare=True)
        paused = (Pause(), *body) if self.choose((False, True)) else body
        return Spawn(paused, outlives=self.choose((0, 1, 2, 3, 9)))

    def _operator(self, runs: int, depth: int) -> Node:
        operation = self.choose(self.names)
        give = Give(operation, self.choose((None, *RISKS)), self.choose((None, 1, 2)))
        others = [Revoke(operation), Revoke(), Pause(), Pause(), *map(Cascade, range(self.known))]
        node: Node = self.choose([give, give, *others])
        return node
