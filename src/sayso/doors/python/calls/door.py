"""The gate as Python code sees it, here or remote: its functions, the calls under way, who calls.

The procedures of this door (calls, run, workflow) are the same for a gate in this process and for a service;
what differs is how a call is decided, kept and waited for.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from sayso.core.decision import Decision, Offer
from sayso.core.errors import SaysoError
from sayso.core.ledger import State
from sayso.core.model import Call, Declaration, Operation, Request, Risk
from sayso.core.session import Scope
from sayso.doors.python.calls.capability import (
    Capabilities,
    Capability,
    ProgramMoved,
    check_still_here,
)
from sayso.doors.python.calls.lease_keeper import LeaseKeeper
from sayso.doors.python.calls.results import ConsentDenied
from sayso.doors.python.calls.scope import Job, session_around
from sayso.doors.python.calls.shared_results import HandingOn
from sayso.doors.python.values.inputs import check_workspace
from sayso.doors.python.values.parameter_schema import parameters_text
from sayso.gate.call_rows import Attempt
from sayso.gate.deciding.authorize import Bundle
from sayso.gate.deciding.request import make_call, with_state
from sayso.gate.forks import begin_in_each_process
from sayso.gate.ledger.recovery import Reconciler
from sayso.gate.ledger.workflows import RunNote, encode_note
from sayso.reading.paths.budget import share_budget
from sayso.reading.paths.ground import folder_here, folder_when_read
from sayso.reading.paths.places import find_workspace
from sayso.store.contract import StoreError

AGENT = "python"


class CannotSay(SaysoError):
    """The effect key or state of a call could not be found out, so it is neither asked for nor run."""

    code = "cannot_say"


class PendingAsk(msgspec.Struct, frozen=True):
    """The request of a pending call: its riskiest operation, and the answers there are."""

    question: str
    operation: str
    reason: str
    risk: Risk
    digest: str
    offers: tuple[Offer, ...]


class WaitResult(msgspec.Struct, frozen=True):
    """A question after waiting for it; `open` if nobody answered."""

    state: str
    answer: str | None = None


class CallKeys(msgspec.Struct, frozen=True):
    """Keys that make two calls the same one: the host's id, the caller's key, or the effect."""

    host_id: str | None = None
    key: str | None = None
    effect: str | None = None


NO_CALL_KEYS = CallKeys()


class Door(ABC):
    """One gate as seen from the code of this process."""

    nests = True
    """Whether what an outer call was granted is believed of the calls inside it."""
    unrecorded: tuple[type[SaysoError], ...] = (StoreError,)
    """The errors that keep what happened from being recorded."""

    def __init__(self) -> None:
        self.keeper = LeaseKeeper(self.beat)
        self.capabilities = Capabilities()
        self.workflows: dict[str, Any] = {}
        self.handing_on = HandingOn()
        self.reducers: dict[str, dict[str, str]] = {}
        self._own: str | None = None
        begin_in_each_process(self)

    def begin_process(self) -> None:
        """Begin in a new process: nobody opens its session yet."""
        self._opening = threading.Lock()

    @abstractmethod
    def check_host(self) -> None:
        """Refuse a program that may not run functions: what they do would not be its to declare."""

    # --- how calls are decided and kept ---

    @abstractmethod
    def request_for_call(
        self, call: Call, declared: Declaration, session: str, workflow: str | None = None
    ) -> Request:
        """The request for this call. Who makes it is known here and nowhere asked for."""

    @abstractmethod
    def check_workflow(self, name: str, operations: Sequence[str]) -> None:
        """Refuse a workflow that declares more than the policy lets it, where that is known here."""

    @abstractmethod
    def preview(self, request: Request, scope: Scope) -> Decision:
        """Decide as of now, without effects."""

    @abstractmethod
    def begin(
        self, request: Request, scope: Scope, keys: CallKeys = NO_CALL_KEYS, bundle: Bundle | None = None
    ) -> Attempt:
        """Have the call decided and, if it may run, started."""

    @abstractmethod
    def begin_ungated(self, request: Request, scope: Scope, keys: CallKeys) -> Attempt:
        """Start what is not asked about by itself. It runs once all the same."""

    @abstractmethod
    def find_call(self, call: str, session: str) -> Attempt:
        """Load a call of this session from the ledger."""

    @abstractmethod
    def look_now(self, call: str, session: str) -> Attempt:
        """The same, and of a call whose question is over, as it will end."""

    @abstractmethod
    def session_of(self, call: str, around: str | None) -> str:
        """The session of a call that this program owns; for calls of others, UnknownCall.

        `around` is the session at this point of the program, if there is one: then its owner's calls count.
        """

    @abstractmethod
    def request_to_retry(self, call: str) -> Request:
        """Return the request that a retry would run: as it was asked for, or as a person edited it."""

    @abstractmethod
    def begin_again(
        self,
        call: str,
        scope: Scope,
        *,
        state: str | None = None,
        effect: str | None = None,
        meant: bytes | None = None,
    ) -> Attempt:
        """Start the call if it may run now."""

    @abstractmethod
    def replay(self, call: str, session: str, *, state: str | None = None) -> Attempt:
        """Start a queued call as a new one, in this session."""

    @abstractmethod
    def end(
        self, call: str, fence: int, state: State, result: bytes | None = None, unkept: str | None = None
    ) -> None:
        """Write down how the call ended, with what it returned, or the reason why that is not kept."""

    @abstractmethod
    def beat(self, call: str, fence: int) -> None:
        """Report that the holder of the call is alive."""

    @abstractmethod
    def park_call(self, call: str, fence: int, question: str, note: bytes) -> None:
        """The call waits for an answer, without a lease."""

    @abstractmethod
    def resume(self, call: str, scope: Scope, *, fence: int | None = None) -> Attempt:
        """Go on with a parked call under a new number, if it may go on.

        With the number it was parked under, it is whoever waits in it that takes it back.
        """

    @abstractmethod
    def keep_note(self, call: str, fence: int, note: RunNote) -> None:
        """Write down how far a run has come."""

    # --- how people are asked ---

    @abstractmethod
    def asks(self, attempt: Attempt) -> PendingAsk:
        """Return what a pending call asks for."""

    @abstractmethod
    def show(self, capability: Capability, attempt: Attempt) -> threading.Event:
        """Put the question to people. Set the event once it is no longer of interest here."""

    @abstractmethod
    def wait(self, attempt: Attempt, seconds: float) -> WaitResult:
        """The question of this call once it is closed, or as it is when the time is over."""

    @abstractmethod
    def await_answer(self, attempt: Attempt, seconds: float) -> Awaitable[WaitResult]:
        """The same for a coroutine."""

    @abstractmethod
    def wait_end(self, call: str, seconds: float) -> None:
        """Until nobody runs this call any more, or the time is over."""

    @abstractmethod
    def await_end(self, call: str, seconds: float) -> Awaitable[None]:
        """The same for a coroutine."""

    @abstractmethod
    def put_in_conversation(self, question: str) -> str | None:
        """Put a question in the conversation; the text it is put in."""

    @abstractmethod
    def check_able(self, capability: Capability, attempt: Attempt, scope: Scope) -> None:
        """Refuse a call that nobody can be asked about."""

    @abstractmethod
    def tell_left(self, operation: str, question: str) -> None:
        """Tell people that the caller has stopped waiting, and until when a yes still helps."""

    # --- sessions ---

    @abstractmethod
    def open_own(self) -> str:
        """A session for what this process does under no other name."""

    @abstractmethod
    def end_session(self, session: str) -> None: ...

    def session_here(self) -> str:
        """The session of this point of the program; a process without one has its own, clean."""
        return session_around(self) or self.own_session()

    def close(self) -> None:
        """End the session nobody asked for by name."""
        own, self._own = self._own, None
        if own:
            self.end_session(own)

    # --- what is the same everywhere ---

    def request(
        self,
        capability: Capability,
        plain: Mapping[str, Any],
        session: str,
        operations: Sequence[Operation] | None = None,
        folder: str | None = None,
    ) -> Request:
        """The request for a call of this function with these arguments, in this folder or where we are.

        One without an operation of its own is called by its name, for the ledger, where the policy does not
        know better.
        """
        named = tuple(operations if operations is not None else self.operations(capability))
        declared = _declare(capability, named)
        with share_budget():
            where = folder_when_read() if folder is None else folder
            call = make_call(capability.name, plain, folder=where, schema=capability.shape.schema)
            return self.request_for_call(call, declared, session)

    def operations(self, capability: Capability) -> list[Operation]:
        """Everything the capability declares, its own operation first."""
        own = [] if capability.own is None else [capability.own]
        if not capability.declared:
            return own
        return own + [
            self.capabilities.operation(name)
            for name in capability.declared
            if capability.own is None or name != capability.own.name
        ]

    def start(
        self,
        capability: Capability,
        request: Request,
        scope: Scope,
        keys: CallKeys = NO_CALL_KEYS,
        bundle: Bundle | None = None,
    ) -> Attempt:
        """Decide and, if it may run, start; with what the function says of its effect and the world."""
        effect = None if capability.effect_key is None else self.effect_of(capability, request)
        state = None if capability.state is None else self.state_of(capability, request)
        named = keys if effect is None else msgspec.structs.replace(keys, effect=effect)
        return self.begin(with_state(request, state), scope, named, bundle)

    def start_ungated(
        self, capability: Capability, request: Request, scope: Scope, keys: CallKeys
    ) -> Attempt:
        effect = self.effect_of(capability, request)
        return self.begin_ungated(request, scope, msgspec.structs.replace(keys, effect=effect))

    def retry(self, capability: Capability, attempt: Attempt, scope: Scope) -> Attempt:
        """Try again what was asked for, or what a person made of it, if we are still where that would run."""
        said: dict[str, Any] = {}
        if capability.state is not None or capability.effect_key is not None:
            request = self.request_to_retry(attempt.call)
            effect, state = self.effect_of(capability, request), self.state_of(capability, request)
            said = {"state": state, "effect": effect, "meant": request.call.arguments}
        asked = attempt.record.request
        try:
            check_still_here(asked.call.folder)
        except ProgramMoved:
            now = self.look_now(attempt.call, asked.session)
            if now.state == "pending":
                raise
            return now  # it is over, and would not run anywhere
        return self.begin_again(attempt.call, scope, **said)

    def enter_again(self, attempt: Attempt, scope: Scope) -> Attempt:
        """Go on with a parked call from the top, if we are still where it was entered first."""
        check_still_here(attempt.record.request.call.folder)
        return self.resume(attempt.call, scope)

    def replay_here(self, call: str, request: Request, session: str, *, state: str | None) -> Attempt:
        """Start a queued call as a new one, in this session, if we are where it would run."""
        check_still_here(request.call.folder)
        return self.replay(call, session, state=state)

    def state_of(self, capability: Capability, request: Request) -> str | None:
        """Return the state function's value for this call. If it fails, nothing is asked or run."""
        return _ask_capability(capability, capability.state, request)

    def effect_of(self, capability: Capability, request: Request) -> str | None:
        """Return the effect key of this call."""
        said = _ask_capability(capability, capability.effect_key, request)
        return None if said is None else f"{capability.name}:{said}"

    def reconcilers(self) -> dict[str, Reconciler]:
        """By tool, what tells from a call's arguments what became of it."""
        return {one.name: _reconciler(one) for one in self.capabilities.all() if one.reconcile is not None}

    def park(self, job: Job, question: str) -> None:
        """The run waits for an answer, at several gates at once if need be; it holds nothing meanwhile."""
        with job.parking:
            if job.waiting == 0:
                self.keeper.drop(job.call)
                job.note = msgspec.structs.replace(job.note, ran=bool(job.started))
                self.park_call(job.call, job.fence, question, encode_note(job.note))
            job.waiting += 1

    def unpark(self, job: Job) -> None:
        """The run goes on under a new number once nothing in it waits any more.

        One whose consent has ended meanwhile passes no gate any more, and is held only to be ended.
        """
        with job.parking:
            job.waiting -= 1
            if job.waiting > 0:
                return
            again = self.resume(job.call, job.scope, fence=job.fence)
            job.fence = again.fence
            self.keeper.hold(job.call, job.fence)
            if not again.runs and job.stopped is None:
                record = again.record
                job.stopped = ConsentDenied(record.request.operations[0].name, record.reason, record.rule)

    def own_session(self) -> str:
        """The session of this process, for what it does under no other name."""
        with self._opening:
            if self._own is None:
                self._own = self.open_own()
            return self._own


def _ask_capability(capability: Capability, tells: Callable[..., str] | None, request: Request) -> str | None:
    """Return the value of a side function for these arguments; an error if it fails."""
    if tells is None:
        return None
    args, kwargs = capability.shape.read(request.call.arguments, {})
    try:
        return str(tells(*args, **kwargs))
    except Exception as error:  # a foreign function: whatever went wrong, it could not say
        raise CannotSay(f"{capability.name}: {tells.__name__} failed: {error}") from error


def _reconciler(capability: Capability) -> Reconciler:
    def became(request: Request) -> object:
        args, kwargs = capability.shape.read(request.call.arguments, {})
        return None if capability.reconcile is None else capability.reconcile(*args, **kwargs)

    return became


def _declare(capability: Capability, named: tuple[Operation, ...]) -> Declaration:
    """What the code declares of a call: the same object as for the last call, if it declares the same.

    What a declaration comes to is kept for the object.
    """
    shape = capability.shape
    operations = named or (_operation_from_name(capability.name),)
    by: Literal["code", "name"] = "code" if named else "name"
    takes = parameters_text(shape) if shape.parameters is None else shape.parameters
    last = shape.declared
    if last is None or (last.operations, last.by, last.parameters) != (operations, by, takes):
        last = shape.declared = Declaration(operations, by, takes)
    return last


def _operation_from_name(name: str) -> Operation:
    return Operation(f"capability.{name}", risk=Risk.LOW)


def workspace_here(named: object = None) -> str:
    """The workspace of a session of this process: the one named, else the project around its folder."""
    return check_workspace(named) or find_workspace(folder_here())
