"""Programs with a gate, here or remote: declare what needs consent, and run it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar

from sayso.core.decision import Decision
from sayso.core.durations import USUAL_WAIT
from sayso.core.model import Risk
from sayso.doors.python import consent
from sayso.doors.python.calls.capability import operation_names
from sayso.doors.python.calls.door import Door
from sayso.doors.python.calls.results import Result
from sayso.doors.python.calls.steps import adrive, drive
from sayso.doors.python.session import AnySession
from sayso.doors.python.values.inputs import check_wait
from sayso.doors.python.workflow import Step, Workflow, check_any, declare_workflow, retry_owned
from sayso.gate.sessions.operator_grants import ListedGrant

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=AnySession)


class Program(ABC, Generic[S]):
    """One gate, and what Python code does with it."""

    door: Door

    # --- what needs consent ---

    def requires_consent(
        self,
        operation: str,
        *,
        risk: str | Risk | None = None,
        weight: str | Risk | None = None,
        reason: str | None = None,
        wait: float | None = None,
        live: Collection[str] = (),
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """The function runs only with consent for this operation, whoever calls it.

        Outside `run` a call that needs asking raises ConsentRequired, or waits up to `wait` seconds for an
        answer. `live` names parameters that are objects of this process and cannot be written down.
        """
        self.door.check_host()
        return consent.requires_consent(
            self.door, operation, risk=risk, weight=weight, reason=reason, wait=wait, live=live
        )

    def capability(
        self,
        name: str | None = None,
        *,
        operations: Iterable[str] | str = (),
        restartable: bool = False,
        health: Callable[[], object] | None = None,
        effect_key: Callable[..., str] | None = None,
        state: Callable[..., str] | None = None,
        reconcile: Callable[..., str | None] | None = None,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """The function can be run by name. `operations` are those it may come to; they are asked in one go.

        `restartable`: it may be run again from the top if a gate inside it was not answered in time. `health`
        is called before each attempt. `effect_key`, `state` and `reconcile` are called with the arguments of
        the call: what makes two calls the same effect, the state of the world it would meet, and, after a
        crash, "succeeded" or "failed".
        """
        self.door.check_host()
        declared = {
            "declared": operation_names(operations),
            "restartable": restartable,
            "health": health,
            "effect_key": effect_key,
            "state": state,
            "reconcile": reconcile,
        }

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            return consent.capability(self.door, function, name=name, **declared)

        return decorate

    @abstractmethod
    def reduces_risk_for(
        self, operation: str, risk: str | Risk
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """The function is a safe caller of this operation: inside it, the operation counts as lower."""

    def list_risk_reducers(self) -> dict[str, dict[str, str]]:
        """Every declared safe caller: by operation, the function and what it lowers the risk to."""
        return {name: dict(callers) for name, callers in sorted(self.door.reducers.items())}

    @abstractmethod
    def user_initiated(self, operation: str) -> AbstractContextManager[None]:
        """Mark what runs in this block as started by the user. Never for code that an agent can reach."""

    def workflow(
        self,
        name: str,
        steps: Sequence[Step],
        *,
        operations: Iterable[str] | str = (),
        restartable: bool = False,
    ) -> Workflow:
        """Declare a workflow: its steps, and the operations it may come to besides those of the steps."""
        return declare_workflow(self.door, name, steps, operation_names(operations), restartable=restartable)

    # --- running ---

    def run(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        session: S | str | None = None,
        wait: float = USUAL_WAIT,
        key: str | None = None,
    ) -> Result:
        """Run a capability or workflow: check what it declares, ask in one question, wait, run it once."""
        return self._session(session).run(name, params, wait=wait, key=key)

    async def arun(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        session: S | str | None = None,
        wait: float = USUAL_WAIT,
        key: str | None = None,
    ) -> Result:
        return await self._session(session).arun(name, params, wait=wait, key=key)

    def retry(self, operation_id: str, *, session: S | str | None = None, wait: float = USUAL_WAIT) -> Result:
        """Go on with a call that timed out, without its parameters.

        Its session is found by itself, where this program owns it, also after a restart.
        """
        check_wait(wait)
        if session is None:
            return drive(retry_owned(self.door, operation_id, {"wait": wait}))
        return self._session(session).retry(operation_id, wait=wait)

    async def aretry(
        self, operation_id: str, *, session: S | str | None = None, wait: float = USUAL_WAIT
    ) -> Result:
        check_wait(wait)
        if session is None:
            return await adrive(retry_owned(self.door, operation_id, {"wait": wait, "is_async": True}))
        return await self._session(session).aretry(operation_id, wait=wait)

    def replay(
        self, operation_id: str, *, session: S | str | None = None, wait: float = USUAL_WAIT
    ) -> Result:
        """Run an operation that was queued, later: never by the trust in a workflow of back then."""
        return self._session(session).replay(operation_id, wait=wait)

    def check(
        self, name: str, params: Mapping[str, Any] | None = None, *, session: S | str | None = None
    ) -> Decision:
        """Decide this run without running it: nothing is asked or used up."""
        return check_any(self.door, name, params, self._session(session).id)

    # --- sessions ---

    @abstractmethod
    def session_by_id(self, session: str) -> S:
        """The session of this id, as an object."""

    @abstractmethod
    def end_session(self, session: str) -> None: ...

    def list_consents(self, session: S | str) -> list[ListedGrant]:
        """Return the grants of this session, to see that one was given."""
        return self._session(session).consents()

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _session(self, session: S | str | None) -> S:
        if session is None:
            return self.session_by_id(self.door.session_here())
        return self.session_by_id(session) if isinstance(session, str) else session
