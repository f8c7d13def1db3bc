"""Doors without a network: the core, scripts on the command line, and Python code with a gate of its own.

Each door makes a row's call and tells what was decided. Where it can, it does so twice: what a check tells,
and what becomes of the call when it is really made; both must agree, and a function runs only if allowed.
"""

from __future__ import annotations

import inspect
import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from sayso import ConsentDenied, ConsentRequired, Sayso
from sayso.cli.main import run_command
from sayso.core.deciding.decide import decide
from sayso.core.decision import Decision
from sayso.core.errors import SaysoError
from sayso.core.model import Risk
from sayso.core.policy import Policy
from sayso.doors.python.program import Program
from sayso.doors.python.session import Session
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.open import open_gate
from sayso.gate.rows.keys import make_key
from sayso.gate.sessions.play import Player
from sayso.reading.resolve import add_content_digest
from sayso.store.memory.store import MemoryStore
from sayso.surfaces.inbox import Inbox
from tests.support.door_rows import Expected, Found, Made, Row

KEY = make_key("doors")
REFUSED = Expected(refused=True)
STATUSES = {"allow": ("ok",), "ask": ("timeout",), "deny": ("blocked", "denied")}
"""What becomes of a run that was decided like this, if nobody answers."""


class Disagreement(AssertionError):
    """A door told one thing and did another."""


class World(msgspec.Struct, frozen=True):
    """Where calls are made: a workspace, and the home of whoever makes them."""

    workspace: Path
    home: Path


class DoorUnderTest(ABC):
    """One way in. `kind` is what rows call it where it is stricter."""

    kind: ClassVar[str]
    needs: ClassVar[str]
    """What a row must have so that this door can say it: `declared`, `bare`, `tool`, or `any`."""
    carries_confidence: ClassVar[bool] = False
    hears: ClassVar[bool] = True

    def cannot(self, row: Row) -> str | None:
        """Why this door cannot say this call; None if it can."""
        if row.confidence is not None and not self.carries_confidence:
            return "carries no confidence"
        if not self.hears and any(step.hear is not None for step in row.before):
            return "cannot hear"
        shapes = {_shape(one) for one in (*row.before, row) if one.hear is None}
        return None if self.needs == "any" or shapes <= set(self.needs.split()) else "has other calls"

    @abstractmethod
    def decide(self, row: Row) -> Expected:
        """Make the row's call, after what comes before it, and tell what was decided."""


def _shape(made: Made) -> str:
    if made.declared is None:
        return "tool"
    return "bare" if made.declared.operation is None else "declared"


def told(decision: Mapping[str, Any]) -> Expected:
    """What a door tells, in the words of a row."""
    return Expected(decision["verdict"], decision["rule"], decision["risk"])


def as_told(decision: Decision) -> Expected:
    return Expected(decision.verdict.value, decision.rule, decision.risk.word)


def worst_of(operations: Sequence[Mapping[str, Any]]) -> str:
    """The risk of a decision: that of its riskiest operation; empty if it tells none."""
    risks = [Risk.parse(one["risk"]) for one in operations]
    return max(risks).word if risks else ""


class Core(DoorUnderTest):
    """The decision itself, with the operations that the row says were found."""

    kind, needs, carries_confidence = "core", "any", True

    def __init__(self, world: World) -> None:
        self.world = world

    def decide(self, row: Row) -> Expected:
        policy = row.in_force()
        where = {"workspace": str(self.world.workspace), "home": str(self.world.home)}
        player = Player(policy, start=time.time(), **where)
        try:
            for step in row.before:
                _play(player, step)
            return self._decided(player, policy, row)
        except SaysoError:
            return REFUSED

    def _decided(self, player: Player, policy: Policy, row: Row) -> Expected:
        if not row.found:
            return told(player.step({"call": script_call(row)}))
        place = player.session.workspace
        call = make_call(row.tool, row.args, folder=place, workspace=place)
        operations = [add_content_digest(one.as_operation(), row.args, policy) for one in row.found]
        request = make_request(call, operations, session=player.session.id, confidence=row.confidence or 0.0)
        return as_told(decide(request, policy, player.view, player.now))


def _play(player: Player, step: Made) -> None:
    for line in script_steps(step):
        player.step(line)


def script_steps(step: Made) -> list[dict[str, Any]]:
    """What happens before, as lines of a script."""
    if step.hear is not None:
        return [{"hear": step.hear}]
    answer = [] if step.answer is None else [{"answer": step.answer}]
    return [{"call": script_call(step)}, *answer]


def script_call(made: Made) -> dict[str, Any]:
    """The call as a script has it: with the operations found by hand, if there are any."""
    call: dict[str, Any] = {"tool": made.tool, "args": made.args}
    if made.found:
        call["operations"] = [one.operation for one in made.found]
        (risk, reading) = _only({(one.risk, one.reading) for one in made.found})
        call |= {key: word for key, word in (("risk", risk), ("reading", reading)) if word is not None}
    return call | ({} if made.confidence is None else {"confidence": made.confidence})


def _only(found: set[tuple[str | None, str | None]]) -> tuple[str | None, str | None]:
    (one,) = found
    return one


def sayable(found: Sequence[Found]) -> bool:
    """Whether a script can say it: it has one risk and one reading for all operations of a call."""
    return len({(one.risk, one.reading) for one in found}) <= 1


class CommandLine(DoorUnderTest):
    """`sayso chat --script`, and what it prints."""

    kind, needs, carries_confidence = "cli", "any", True

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._folder, self._monkeypatch, self._capsys = folder, monkeypatch, capsys

    def cannot(self, row: Row) -> str | None:
        if not all(sayable(one.found) for one in (*row.before, row)):
            return "one risk for all operations"
        return super().cannot(row)

    def decide(self, row: Row) -> Expected:
        steps = [line for step in row.before for line in script_steps(step)]
        script = self._folder / "script.jsonl"
        lines = [*steps, {"call": script_call(row)}]
        script.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        printed = self._ran("chat", "--script", str(script), "--json", *self._chosen(row))
        return told(printed[-1]) if len(printed) == len(lines) else REFUSED

    def _chosen(self, row: Row) -> list[str]:
        approval = [] if row.approval is None else ["--approval", row.approval]
        if row.preset is not None:
            return ["--preset", row.preset, *approval]
        path = self._folder / "policy.json"
        path.write_text(json.dumps(row.policy), encoding="utf-8")
        return ["--policy", str(path), *approval]

    def _ran(self, *words: str) -> list[dict[str, Any]]:
        self._monkeypatch.setattr(sys, "argv", ["sayso", *words])
        self._capsys.readouterr()
        with pytest.raises(SystemExit):
            run_command()
        return [json.loads(line) for line in self._capsys.readouterr().out.splitlines()]


class Functions:
    """The functions of a row on a gate, decorated as it says, and which of them ran."""

    def __init__(self, program: Program[Any], made: Sequence[Made]) -> None:
        self.ran: list[str] = []
        self.by_tool: dict[str, Callable[..., Any]] = {}
        for one in made:
            if one.declared is not None and one.tool not in self.by_tool:
                self.by_tool[one.tool] = self._declared(program, one)

    def _declared(self, program: Program[Any], made: Made) -> Callable[..., Any]:
        function = self._function(made)
        said = made.declared
        if said is not None and said.operation is not None:
            function = program.requires_consent(said.operation, risk=said.risk)(function)
        return program.capability()(function)

    def _function(self, made: Made) -> Callable[..., Any]:
        def function(**given: Any) -> str:
            self.ran.append(made.tool)
            return "ran"

        kinds = {name: type(value) for name, value in made.args.items()}
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter(name, kind, annotation=one) for name, one in kinds.items()]
        function.__name__ = function.__qualname__ = made.tool
        function.__annotations__ = kinds
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return function


@contextmanager
def own_gate(policy: Policy) -> Iterator[Sayso]:
    """A gate of this process, on a store of its own, that can ask and tell."""
    gate = open_gate(policy, MemoryStore(), key=KEY)
    opened = Sayso(msgspec.structs.replace(gate, surfaces=("phone",)), [Inbox()])
    with closing(opened):
        yield opened


class Embedded(DoorUnderTest):
    """Python code with `Sayso.open()`: the shared part of running by name and calling directly."""

    def __init__(self, world: World) -> None:
        self.world = world

    def decide(self, row: Row) -> Expected:
        with own_gate(row.in_force()) as gate:
            try:
                functions = Functions(gate, [*row.before, row])
                session = gate.session(workspace=str(self.world.workspace))
                for step in row.before:
                    self._before(gate, session, functions, step)
                functions.ran.clear()
                return self._decided(gate, session, functions, row)
            except SaysoError:
                return REFUSED

    def _before(self, gate: Sayso, session: Session, functions: Functions, step: Made) -> None:
        if step.hear is not None:
            session.hear(step.hear)
            return
        self._made(gate, session, functions, step)
        if step.answer is not None:
            with gate.gate.store.read() as tx:
                (question,) = tx.questions(session.id)
            gate.answer(question.id, step.answer, by="test")

    @abstractmethod
    def _made(self, gate: Sayso, session: Session, functions: Functions, made: Made) -> Expected:
        """Make the call for real; what was decided, as the ledger has it."""

    def _decided(self, gate: Sayso, session: Session, functions: Functions, row: Row) -> Expected:
        checked = None
        if row.declared is not None:
            checked = as_told(gate.check(row.tool, row.args, session=session))
        made = self._made(gate, session, functions, row)
        compare(checked, made, functions.ran)
        return made


def compare(checked: Expected | None, made: Expected, ran: Sequence[str]) -> None:
    """A check and the call itself agree, and what was not allowed did not run."""
    if checked is not None and checked != made:
        raise Disagreement(f"checked as {checked}, made as {made}")
    if made.verdict != "allow" and ran:
        raise Disagreement(f"{made} and yet it ran")


def in_ledger(gate: Sayso, session: Session, call: str) -> Expected:
    """What the ledger says was decided of a call."""
    record = gate.door.find_call(call, session.id).record
    risk = max((item.risk for item in record.items), default=Risk.LOW)
    return Expected(record.verdict.value, record.rule, risk.word)


class EmbeddedRun(Embedded):
    """`gate.run`, by name."""

    kind, needs = "embedded", "declared bare"

    def _made(self, gate: Sayso, session: Session, functions: Functions, made: Made) -> Expected:
        result = session.run(made.tool, made.args, wait=0)
        if result.operation_id is None:
            return REFUSED
        decided = in_ledger(gate, session, result.operation_id)
        if result.status not in STATUSES[decided.verdict]:
            raise Disagreement(f"{decided}, and the run is {result.status}")
        return decided


class EmbeddedCall(Embedded):
    """A decorated function, called as any function is."""

    kind, needs = "embedded", "declared"

    def _made(self, gate: Sayso, session: Session, functions: Functions, made: Made) -> Expected:
        checked = as_told(gate.check(made.tool, made.args, session=session))
        with session.active():
            try:
                functions.by_tool[made.tool](**made.args)
            except ConsentRequired as error:
                return in_ledger(gate, session, error.operation_id)
            except ConsentDenied as error:
                return msgspec.structs.replace(checked, verdict="deny", rule=error.rule)
        return msgspec.structs.replace(checked, verdict="allow")


class EmbeddedHost(Embedded):
    """A host that runs its agent's calls itself: `session.call`."""

    kind, needs, carries_confidence = "embedded", "tool", True

    def _made(self, gate: Sayso, session: Session, functions: Functions, made: Made) -> Expected:
        called = session.call(made.tool, made.args, confidence=made.confidence or 0.0)
        return as_told(called.decision)
