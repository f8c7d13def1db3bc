"""The gate in this process: its use cases, its surfaces, and the calls this process holds."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from sayso.core.decision import Decision, Question
from sayso.core.ledger import State
from sayso.core.model import Call, Declaration, Request
from sayso.core.session import Scope
from sayso.core.words import agent_left
from sayso.doors.python import words
from sayso.doors.python.calls.capability import Capability
from sayso.doors.python.calls.door import (
    AGENT,
    NO_CALL_KEYS,
    CallKeys,
    Door,
    PendingAsk,
    WaitResult,
    workspace_here,
)
from sayso.doors.python.calls.holders import PROGRAM, has_left, name_holder
from sayso.doors.python.calls.results import ConsentDenied
from sayso.gate.call_rows import Attempt, UnknownCall
from sayso.gate.deciding.authorize import Bundle
from sayso.gate.deciding.request import as_read_now, request_for_function, with_state
from sayso.gate.deliveries.telling import LocalTelling
from sayso.gate.gate import Gate, act_under_current_policy, current_gate, find_session_row
from sayso.gate.ledger import attempts, lease, outcome, retry, start, workflows
from sayso.gate.ledger.call_endings import CallEndings
from sayso.gate.ledger.replay import replay_call
from sayso.gate.ledger.workflows import check_workflow
from sayso.gate.questions.answer import cancel_question
from sayso.gate.questions.asker import Asker
from sayso.gate.questions.explain import preview_decision
from sayso.gate.questions.read import find_question
from sayso.gate.questions.surface import LocalSurface
from sayso.gate.questions.wait import seconds_left
from sayso.gate.sessions import sessions
from sayso.gate.sessions.messages import ask_in_conversation
from sayso.store.contract import QuestionRow, SessionRow

T = TypeVar("T")
NOBODY = "nobody can be asked: there is no surface that could show the question"


class EmbeddedDoor(Door):
    """A gate of this process."""

    def __init__(self, gate: Gate, surfaces: Sequence[LocalSurface]) -> None:
        super().__init__()
        self._gate = gate
        self.asker = Asker(gate, surfaces)
        self.telling: LocalTelling | None = None
        self.endings = CallEndings(gate)
        self.holder = name_holder()

    @property
    def gate(self) -> Gate:
        """The gate under the policy in force now, which costs a look at its file."""
        now = current_gate(self._gate)
        if now is not self._gate:
            self._gate = now
        return now

    @gate.setter
    def gate(self, gate: Gate) -> None:
        self._gate = gate

    def act(self, act: Callable[[Gate], T]) -> T:
        """Do this under the policy in force now, should that move meanwhile."""
        return act_under_current_policy(self.gate, act)

    def check_host(self) -> None:
        """Accept: code with the gate in its own process is its host."""

    def row(self, session: str) -> SessionRow:
        return find_session_row(self.gate, session)

    def question(self, name: str) -> Question:
        return find_question(self.gate, name).question

    # --- how calls are decided and kept ---

    def request_for_call(
        self, call: Call, declared: Declaration, session: str, workflow: str | None = None
    ) -> Request:
        return request_for_function(self.gate, session, call, declared, workflow)

    def check_workflow(self, name: str, operations: Sequence[str]) -> None:
        check_workflow(self.gate.policy, name, operations)

    def preview(self, request: Request, scope: Scope) -> Decision:
        return self.act(lambda gate: preview_decision(gate, as_read_now(gate, request), scope))

    def begin(
        self, request: Request, scope: Scope, keys: CallKeys = NO_CALL_KEYS, bundle: Bundle | None = None
    ) -> Attempt:
        return act_under_current_policy(
            self._gate,
            lambda gate: start.start_call(
                gate,
                request,
                scope,
                holder=self.holder,
                host_id=keys.host_id,
                key=keys.key,
                effect_key=keys.effect,
                bundle=bundle,
            ),
        )

    def begin_ungated(self, request: Request, scope: Scope, keys: CallKeys) -> Attempt:
        return act_under_current_policy(
            self._gate,
            lambda gate: start.start_ungated(
                gate,
                request,
                scope,
                holder=self.holder,
                host_id=keys.host_id,
                key=keys.key,
                effect_key=keys.effect,
            ),
        )

    def find_call(self, call: str, session: str) -> Attempt:
        return attempts.load_attempt(self.gate, call, session)

    def look_now(self, call: str, session: str) -> Attempt:
        return attempts.load_attempt_now(self.gate, call, session)

    def session_of(self, call: str, around: str | None) -> str:
        with self.gate.store.read() as tx:
            row = tx.call(call)
            session = None if row is None else tx.session(row.session)
            here = None if around is None else tx.session(around)
        if session is None or not self._is_ours(session, here):
            raise UnknownCall.of(call, hint=words.NAME_ITS_SESSION)
        return session.id

    def _is_ours(self, session: SessionRow, here: SessionRow | None) -> bool:
        """Return whether the session belongs to the owner at this point of the program, or to the program."""
        if here is not None:
            return session.owner == here.owner
        return session.owner in (PROGRAM, self.holder) or has_left(session.owner)

    def request_to_retry(self, call: str) -> Request:
        return retry.load_request_to_retry(self.gate, call)

    def begin_again(
        self,
        call: str,
        scope: Scope,
        *,
        state: str | None = None,
        effect: str | None = None,
        meant: bytes | None = None,
    ) -> Attempt:
        how: dict[str, Any] = {"holder": self.holder, "state": state, "effect_key": effect, "meant": meant}
        return self.act(lambda gate: retry.retry_call(gate, call, scope, **how))

    def replay(self, call: str, session: str, *, state: str | None = None) -> Attempt:
        return self.act(lambda gate: replay_call(gate, call, session, holder=self.holder, state=state))

    def end(
        self, call: str, fence: int, state: State, result: bytes | None = None, unkept: str | None = None
    ) -> None:
        outcome.end_call(self._gate, call, fence, state, result, unkept)

    def beat(self, call: str, fence: int) -> None:
        lease.keep_alive(self._gate, call, fence)

    def park_call(self, call: str, fence: int, question: str, note: bytes) -> None:
        lease.park_call(self._gate, call, fence, question, note)

    def resume(self, call: str, scope: Scope, *, fence: int | None = None) -> Attempt:
        return self.act(lambda gate: lease.unpark_call(gate, call, scope, holder=self.holder, fence=fence))

    def keep_note(self, call: str, fence: int, note: workflows.RunNote) -> None:
        workflows.save_note(self._gate, call, fence, note)

    # --- how people are asked ---

    def asks(self, attempt: Attempt) -> PendingAsk:
        question = self.question(attempt.question or "")
        asked = max(question.items, key=lambda item: item.risk)
        return PendingAsk(
            question.id,
            asked.operation,
            asked.ruling.reason,
            asked.risk,
            question.request.digest,
            question.offers,
        )

    def show(self, capability: Capability, attempt: Attempt) -> threading.Event:
        question = self.question(attempt.question or "")
        return self.asker.show(
            question, lambda edited: self.edit_request(question.request, capability, edited)
        )

    def edit_request(self, request: Request, capability: Capability, arguments: Mapping[str, Any]) -> Request:
        """The same call with other arguments, which must fit the function as well."""
        plain = capability.shape.write_edit(arguments, request.call.arguments)
        said = request.operations if request.declared is None else request.declared.operations
        edited = self.request(capability, plain, request.session, said, request.call.folder)
        return with_state(edited, self.state_of(capability, edited))

    def wait(self, attempt: Attempt, seconds: float) -> WaitResult:
        return _wait_result_of(self.asker.wait(attempt.question or "", seconds))

    def await_answer(self, attempt: Attempt, seconds: float) -> Awaitable[WaitResult]:
        async def wait_for_answer() -> WaitResult:
            return _wait_result_of(await self.asker.await_answer(attempt.question or "", seconds))

        return wait_for_answer()

    def wait_end(self, call: str, seconds: float) -> None:
        self.endings.wait(call, seconds)

    def await_end(self, call: str, seconds: float) -> Awaitable[None]:
        return self.endings.await_end(call, seconds)

    def put_in_conversation(self, question: str) -> str | None:
        return ask_in_conversation(self.gate, question)

    def check_able(self, capability: Capability, attempt: Attempt, scope: Scope) -> None:
        """If nobody can be asked, the question is taken back, and the call with it."""
        if self.asker.able:
            return
        operation = self.question(attempt.question or "").items[0].operation
        cancel_question(self.gate, attempt.question or "", NOBODY)
        self.begin_again(attempt.call, scope)
        raise ConsentDenied(operation, NOBODY, "no_surface")

    def tell_left(self, operation: str, question: str) -> None:
        left = seconds_left(self.gate, question)
        if left > 0:
            self.asker.tell(agent_left(operation, left))

    # --- sessions ---

    def open_own(self) -> str:
        return sessions.open_session(self.gate, agent=AGENT, owner=self.holder, workspace=workspace_here())

    def end_session(self, session: str) -> None:
        sessions.close_session(self.gate, session)

    def tell_notices(self, surfaces: Sequence[LocalSurface]) -> None:
        """Tell notices on these surfaces, where they are the place for them, until this is closed."""
        self.telling = LocalTelling(self._gate, surfaces)
        self.telling.start()

    def close(self) -> None:
        """End the session nobody asked for by name, and tell what is still to be told."""
        super().close()
        telling, self.telling = self.telling, None
        if telling is not None:
            telling.stop()


def _wait_result_of(row: QuestionRow) -> WaitResult:
    return WaitResult(row.state, row.answer)
