"""A session as an object: for hosts that hold a conversation, and code that names whose consent it uses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self

from sayso.core.conversation.hearing import Heard
from sayso.core.conversation.lifecycle import Report
from sayso.core.model import Assurance
from sayso.core.session.plan_text import PlanText
from sayso.doors.python.calls.door import Door
from sayso.doors.python.calls.embedded import EmbeddedDoor
from sayso.doors.python.calls.results import Result
from sayso.doors.python.calls.run import RunOptions, replay_capability
from sayso.doors.python.calls.scope import Frame, Scoped
from sayso.doors.python.calls.steps import adrive, drive
from sayso.doors.python.host_call import Called, propose_call
from sayso.doors.python.values.inputs import check_params
from sayso.doors.python.workflow import retry_any, run_any
from sayso.gate.deciding.plan_from_host import read_host_plan
from sayso.gate.sessions import handoff, messages, operator_grants
from sayso.gate.sessions.operator_grants import ListedGrant


class AnySession(ABC):
    """One session of one agent. Everything asked, granted and run through it is in it alone."""

    def __init__(self, door: Door, name: str, *, reopened: bool = False, after: str | None = None) -> None:
        self._of = door
        self.id = name
        self.reopened = reopened
        """Whether its key stood for this session already, and it was open."""
        self.after = after
        """The session that its key stood for before, which has ended; this one began clean."""

    # --- the conversation ---

    @abstractmethod
    def plan(self, plan: str | Mapping[str, Any], *, shown: bool = True) -> PlanText:
        """A plan as the assistant's text, or as a structure. Show the user the `text` that comes back.

        It is Sayso's own rendering, and the only thing a yes covers. A host that cannot show it passes
        `shown=False`; then the first yes is answered with the rendering, and the next one counts.
        """

    @abstractmethod
    def call(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        *,
        command: str | None = None,
        confidence: float = 0.0,
        call_id: str | None = None,
    ) -> Called:
        """A call the agent wants to make. The host runs it itself, if it may, and says how it went."""

    @abstractmethod
    def begin_task(self, name: str) -> Report: ...

    @abstractmethod
    def end_task(self) -> Report: ...

    @abstractmethod
    def switch(self) -> Report:
        """The conversation turned to something else entirely."""

    @abstractmethod
    def offer_handoff(self) -> str | None:
        """Before the context is renewed: what to ask the user, None if there is nothing to keep.

        Only a yes heard right after keeps it.
        """

    @abstractmethod
    def handoff(self) -> None:
        """Make sure that the user's yes was heard and the allowlist kept; NotAgreed if not."""

    @abstractmethod
    def show_handoff(self) -> str | None:
        """Return the allowlist kept for this context, to show the user. Only a yes right after loads it."""

    @abstractmethod
    def take_handoff(self) -> tuple[str, ...]:
        """The commands that the user's yes has loaded; NotAgreed if they still wait for one."""

    @abstractmethod
    def consents(self) -> list[ListedGrant]:
        """Return the grants of this session."""

    # --- running ---

    def run(self, name: str, params: Mapping[str, Any] | None = None, **how: Any) -> Result:
        """Run a capability in this session: bundled, asked, waited for, run once."""
        return drive(run_any(self._of, name, params, RunOptions(self.id, **how)))

    async def arun(self, name: str, params: Mapping[str, Any] | None = None, **how: Any) -> Result:
        wish = RunOptions(self.id, is_async=True, **how)
        return await adrive(run_any(self._of, name, params, wish))

    def retry(self, operation_id: str, **how: Any) -> Result:
        return drive(retry_any(self._of, operation_id, RunOptions(self.id, **how)))

    async def aretry(self, operation_id: str, **how: Any) -> Result:
        wish = RunOptions(self.id, is_async=True, **how)
        return await adrive(retry_any(self._of, operation_id, wish))

    def replay(self, operation_id: str, **how: Any) -> Result:
        """Run a queued operation later, in this session."""
        return drive(replay_capability(self._of, operation_id, RunOptions(self.id, **how)))

    def active(self) -> AbstractContextManager[Self]:
        """In this block, decorated functions belong to this session."""
        return Scoped(lambda: Frame(self._of, self.id), self)

    def end(self) -> None:
        self._of.end_session(self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


class Session(AnySession):
    """A session of a gate in this process."""

    def __init__(self, door: EmbeddedDoor, name: str, **how: Any) -> None:
        super().__init__(door, name, **how)
        self._door = door

    def hear(self, text: str, *, assured: bool = True) -> Heard:
        """Take a user's message. Only what the user typed: never text of the model, a tool or a file."""
        assurance = Assurance.ASSURED if assured else Assurance.CLAIMED
        return messages.record_message(self._door.gate, self.id, text, assurance)

    def plan(self, plan: str | Mapping[str, Any], *, shown: bool = True) -> PlanText:
        text = read_host_plan(plan, self._door.gate.policy)
        messages.record_plan(self._door.gate, self.id, text, shown=shown is True)
        return text

    def call(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        *,
        command: str | None = None,
        confidence: float = 0.0,
        call_id: str | None = None,
    ) -> Called:
        return propose_call(self._door, self.id, tool, check_params(args), command, confidence, call_id)

    def begin_task(self, name: str) -> Report:
        return messages.record_task_start(self._door.gate, self.id, name)

    def end_task(self) -> Report:
        return messages.record_task_end(self._door.gate, self.id)

    def switch(self) -> Report:
        return messages.record_context_switch(self._door.gate, self.id)

    def offer_handoff(self) -> str | None:
        return handoff.ask_to_save_handoff(self._door.gate, self.id)

    def handoff(self) -> None:
        handoff.check_handoff_saved(self._door.gate, self.id)

    def show_handoff(self) -> str | None:
        return handoff.ask_to_load_handoff(self._door.gate, self.id)

    def take_handoff(self) -> tuple[str, ...]:
        return handoff.list_loaded_commands(self._door.gate, self.id)

    def consents(self) -> list[ListedGrant]:
        gate = self._door.gate
        return operator_grants.one_for_each_answer(gate, operator_grants.list_grants(gate, self.id))
