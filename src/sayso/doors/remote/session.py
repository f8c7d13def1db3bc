"""A session over a connection: for hosts that hold a conversation, and code that names whose consent it uses.

Who may do what is the service's to say, from the token: hearing, plans and tasks are a host's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import msgspec

from sayso.core.hear import Heard
from sayso.core.ledger import State
from sayso.core.lifecycle import Report
from sayso.core.plan_text import PlanText
from sayso.doors.python.results import Result
from sayso.doors.python.run import Wish
from sayso.doors.python.scope import Frame, inside
from sayso.doors.python.steps import adrive, drive
from sayso.doors.remote.calling import retry, run
from sayso.doors.remote.door import Remote, Runs, Told
from sayso.doors.remote.line import Sent
from sayso.gate.grants import Listed


class ConnectedCall:
    """One proposed call. Run it only if `allowed`, as `runs` says; then say `succeeded()` or `failed()`."""

    def __init__(self, door: Remote, told: Told) -> None:
        self._door = door
        self._told = told
        self.text = _shown(door, told)
        """The question, as it was put in the conversation; None if nobody has to be asked."""

    @property
    def allowed(self) -> bool:
        return self._told.runs

    @property
    def asked(self) -> bool:
        return self._told.status == "pending"

    @property
    def runs(self) -> Runs | None:
        """What to run, once it is allowed: a person may have edited it."""
        return self._told.call

    @property
    def rule(self) -> str:
        return self._told.rule

    @property
    def reason(self) -> str:
        return self._told.reason

    @property
    def announce(self) -> str | None:
        """The line to show the user, if there is one."""
        return self._told.announce

    @property
    def operation_id(self) -> str:
        return self._told.operation_id

    def retry(self) -> ConnectedCall:
        """The same call, after the user has spoken."""
        return ConnectedCall(self._door, self._door.retry(self.operation_id))

    def succeeded(self, result: bytes | None = None) -> None:
        self._end("succeeded", result)

    def failed(self) -> None:
        self._end("failed")

    def _end(self, state: State, result: bytes | None = None) -> None:
        self._door.end(self._told, state, result)


class ConnectedSession:
    """One session of one agent, kept by the service."""

    def __init__(self, door: Remote, name: str) -> None:
        self._door = door
        self.id = name

    def hear(self, text: str) -> Heard:
        """Take a user's message. Whether it counts as assured is the service's to say."""
        said = self._ask("POST", "messages", {"text": text})
        return Heard(
            said["kind"],
            said["turn"],
            tuple(said["did"]),
            tuple(said["announced"]),
            tuple(said["cleared"]),
            said["answered"],
            (),
        )

    def plan(self, plan: str | Mapping[str, Any]) -> PlanText:
        """A plan as the assistant's text, or as a structure; show the user the `text` that comes back."""
        said = self._ask("POST", "plans", {"plan": plan})
        evidence = said.get("evidence", {})
        return PlanText(
            said["shown"],
            targets=tuple(said["targets"]),
            changes=tuple(evidence.get("changes", ())),
            scope=evidence.get("scope"),
            success=evidence.get("success"),
            operations=tuple(said["operations"]),
        )

    def call(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        *,
        command: str | None = None,
        confidence: float = 0.0,
        call_id: str | None = None,
    ) -> ConnectedCall:
        """A call the agent wants to make. The host runs it itself, if it may, and says how it went."""
        body = {
            "tool": tool,
            "args": args or {},
            "command": command,
            "confidence": confidence,
            "call_id": call_id,
        }
        return ConnectedCall(self._door, self._door.propose(self.id, body))

    def begin_task(self, name: str) -> Report:
        return _report(self._ask("POST", "tasks", {"name": name}))

    def end_task(self) -> Report:
        return _report(self._ask("DELETE", "tasks"))

    def switch(self) -> Report:
        """The conversation turned to something else entirely."""
        return _report(self._ask("POST", "switch"))

    def run(self, name: str, params: Mapping[str, Any] | None = None, **how: Any) -> Result:
        """Run a capability in this session: asked, waited for, run once, here."""
        return drive(run(self._door, name, params or {}, Wish(self.id, **how)))

    async def arun(self, name: str, params: Mapping[str, Any] | None = None, **how: Any) -> Result:
        return await adrive(run(self._door, name, params or {}, Wish(self.id, is_async=True, **how)))

    def retry(self, operation_id: str, **how: Any) -> Result:
        return drive(retry(self._door, operation_id, Wish(self.id, **how)))

    async def aretry(self, operation_id: str, **how: Any) -> Result:
        return await adrive(retry(self._door, operation_id, Wish(self.id, is_async=True, **how)))

    def consents(self) -> list[Listed]:
        """What is granted in this session now."""
        query = {"session": self.id} if self.id else {}
        return listed(self._door.line.ask(Sent("GET", "/v1/grants", query=query)))

    @contextmanager
    def active(self) -> Iterator[Self]:
        """In this block, decorated functions belong to this session."""
        with inside(Frame(self._door, self.id)):
            yield self

    def end(self) -> None:
        self._door.end_session(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def _ask(self, method: str, what: str, body: Any = None) -> Any:
        return self._door.line.ask(Sent(method, f"/v1/sessions/{self.id}/{what}", body, again=False))


def listed(answer: object) -> list[Listed]:
    return msgspec.convert(answer, list[Listed])


def _report(said: Mapping[str, Any]) -> Report:
    return Report((), tuple(said["announced"]), tuple(said["cleared"]))


def _shown(door: Remote, told: Told) -> str | None:
    """A host puts a question in the conversation; an agent's is for the operator alone."""
    if told.status != "pending" or told.question is None or door.agent:
        return None
    shown = door.line.ask(Sent("POST", f"/v1/questions/{told.question}/show"))
    return str(shown["text"])
