"""Programs of nested gated calls, scopes, runs, grants and revocations: what they are made of, and as text.

A program runs one thing at a time, also where it starts tasks: a task goes on until it pauses or ends, and is
resumed where it is waited for. So what has to come of it is known before it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from sayso.core.model import Mode, Risk
from sayso.core.policy import Detail, Domain, Policy, Settings, compile_policy
from sayso.policy import load_preset

LOW, MODERATE, HIGH = 0, 1, 2
T = TypeVar("T")
WORDS = ("low", "moderate", "high")
MAIN, OTHER, OWN = "main", "other", "own"
"""The sessions: the program's, one it turns to in between, and the one of threads that name none."""


@dataclass(frozen=True)
class Fact:
    """What a policy says of one operation."""

    listed: str | None
    risk: int | None = None
    weight: int | None = None
    always_ask: bool = False


@dataclass(frozen=True)
class World:
    """A policy as plain facts about the operations that programs use."""

    name: str
    facts: dict[str, Fact] = field(hash=False)
    safe: str = "ask"
    standing: bool = False
    exact: bool = True
    paranoid: bool = False
    preset: str | None = None

    def policy(self) -> Policy:
        if self.preset is not None:
            return load_preset(self.preset)
        desk = Domain(self._listed("autonomous"), self._listed("requires_approval"), self._listed("blocked"))
        details = {
            name: Detail(risk=_risk(fact.risk), weight=_risk(fact.weight), always_ask=fact.always_ask)
            for name, fact in self.facts.items()
        }
        settings = Settings(
            safe="auto" if self.safe == "auto" else "ask",
            risky_grants="standing" if self.standing else "once",
            grant_pins="exact" if self.exact else "operation",
        )
        mode = Mode.PARANOID if self.paranoid else Mode.BALANCED
        return compile_policy(mode=mode, settings=settings, domains={"desk": desk}, operations=details)

    def _listed(self, tier: str) -> tuple[str, ...]:
        return tuple(name.partition(".")[2] for name, fact in self.facts.items() if fact.listed == tier)


def _risk(number: int | None) -> Risk | None:
    return None if number is None else Risk.parse(WORDS[number])


DESK = {
    "desk.note": Fact("requires_approval"),
    "desk.look": Fact("autonomous"),
    "desk.ring": Fact(None),
    "desk.post": Fact("requires_approval", weight=LOW),
    "desk.pay": Fact("requires_approval", risk=HIGH),
    "desk.sign": Fact("requires_approval", always_ask=True),
    "desk.burn": Fact("blocked"),
}
GATEWAY = {
    "tasks.create": Fact(None),
    "files.read": Fact("requires_approval", risk=LOW),
    "files.edit": Fact("requires_approval", risk=MODERATE),
    "shell.run": Fact("requires_approval", risk=HIGH),
    "files.modify_secrets": Fact("blocked"),
}
WORLDS = {
    world.name: world
    for world in (
        World("gateway", GATEWAY, standing=True, exact=False, preset="gateway"),
        World("desk", DESK, safe="auto"),
        World("desk, grants for any arguments", DESK, exact=False),
        World("desk, standing grants at high risk", DESK, standing=True),
        World("desk, paranoid", DESK, paranoid=True),
    )
}


@dataclass(frozen=True)
class Tool:
    """A decorated function."""

    operation: str
    risk: int
    weight: int | None = None

    @property
    def name(self) -> str:
        weight = "none" if self.weight is None else WORDS[self.weight]
        return f"{self.operation.replace('.', '_')}_{WORDS[self.risk]}_{weight}"


@dataclass(frozen=True)
class Node:
    """One thing a program does; `body` is what is done inside it."""


Body = tuple[Node, ...]


@dataclass(frozen=True)
class Call(Node):
    """A gated call. If it has to be asked, it gets this answer, if any, and is made again."""

    tool: Tool
    slot: int = 0
    answer: str | None = None
    body: Body = ()


@dataclass(frozen=True)
class SafeCaller(Node):
    operation: str
    risk: int
    body: Body


@dataclass(frozen=True)
class Click(Node):
    body: Body


@dataclass(frozen=True)
class Elsewhere(Node):
    """The body is in the other session."""

    body: Body


@dataclass(frozen=True)
class Start(Node):
    """A run of one of the program's workflows."""

    workflow: int
    answer: str | None = None


@dataclass(frozen=True)
class Give(Node):
    """The operator grants an operation by hand."""

    operation: str
    risk: int | None = None
    uses: int | None = None


@dataclass(frozen=True)
class Revoke(Node):
    """The operator revokes every grant of this operation; without one, everything in the session."""

    operation: str | None = None


@dataclass(frozen=True)
class Cascade(Node):
    """The operator withdraws trust in a workflow."""

    workflow: int


@dataclass(frozen=True)
class Spawn(Node):
    """The body in a task. It outlives so many of the blocks around it, and the next one waits for it.

    A `bare` one is a thread that inherits nothing, waited for at once.
    """

    body: Body
    outlives: int = 0
    bare: bool = False


class Block(list[T]):
    """The tasks that a block waits for at its end; once that is over, nothing waits there any more."""

    over = False


Blocks = tuple[Block[T], ...]


def waiting(blocks: Blocks[T], outlives: int) -> Block[T]:
    """The block that waits for a task that outlives so many, outermost first; at the latest, the program."""
    there = [block for block in blocks[: max(1, len(blocks) - outlives)] if not block.over]
    return there[-1]


@dataclass(frozen=True)
class Pause(Node):
    """A task lets whoever started or resumed it go on."""


@dataclass(frozen=True)
class Stage:
    """A step of a workflow."""

    operations: tuple[str, ...]
    body: Body
    individual: bool = False


@dataclass(frozen=True)
class Program:
    """A later workflow may start the earlier ones."""

    world: str
    body: Body
    workflows: tuple[tuple[Stage, ...], ...] = ()

    def tools(self) -> list[Tool]:
        bodies = [self.body, *(stage.body for stages in self.workflows for stage in stages)]
        found = [node.tool for body in bodies for node in every(body) if isinstance(node, Call)]
        return list(dict.fromkeys(found))

    def declared(self, workflow: int) -> list[str]:
        """The operations a workflow declares, each once."""
        return list(dict.fromkeys(name for stage in self.workflows[workflow] for name in stage.operations))

    def __repr__(self) -> str:
        """The program for a person to read, in the indentation of its nesting."""
        lines = [f"under the policy {self.world!r}:"]
        for number, stages in enumerate(self.workflows):
            for stage in stages:
                own = ", individual consent" if stage.individual else ""
                lines.append(f"  step of workflow {number}, declares {', '.join(stage.operations)}{own}:")
                lines += _told(stage.body, "    ")
        return "\n".join([*lines, "  the program:", *_told(self.body, "    ")])


def every(body: Body) -> Iterator[Node]:
    for node in body:
        yield node
        yield from every(getattr(node, "body", ()))


def _told(body: Body, indent: str) -> list[str]:
    lines = []
    for node in body or (None,):
        lines.append(f"{indent}{'nothing' if node is None else _line(node)}")
        lines += _told(inner, f"{indent}  ") if (inner := getattr(node, "body", ())) else []
    return lines


def _line(node: Node) -> str:
    match node:
        case Call(tool, slot, answer):
            weight = "" if tool.weight is None else f", weight {WORDS[tool.weight]}"
            answered = "" if answer is None else f", answered {answer!r} if asked"
            return f"call {tool.operation}({slot}), risk {WORDS[tool.risk]}{weight}{answered}"
        case SafeCaller(operation, risk):
            return f"in a safe caller that lowers {operation} to {WORDS[risk]}:"
        case Click():
            return "user initiated:"
        case Elsewhere():
            return "in the other session:"
        case Start(workflow, answer):
            return f"run workflow {workflow}" + ("" if answer is None else f", answered {answer!r} if asked")
        case Give(operation, risk, uses):
            at = "" if risk is None else f" at {WORDS[risk]} risk"
            return f"the operator grants {operation}{at}" + ("" if uses is None else f", {uses} use")
        case Revoke(operation):
            return f"the operator revokes {operation or 'everything'}"
        case Cascade(workflow):
            return f"the operator withdraws trust in workflow {workflow}"
        case Spawn(_, outlives, bare):
            kind = "a thread of its own" if bare else "a task"
            kind += f" that outlives {outlives} of the blocks around it" if outlives else ""
            return f"in {kind}:"
        case _:
            return "pause"
