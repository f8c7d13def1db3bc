"""`Sayso.open()`: the gate as one object, embedded, with policy, store and surfaces."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from sayso.core.decision import Decision
from sayso.core.errors import SaysoError
from sayso.core.hear import Heard
from sayso.core.model import Assurance, Request, Risk
from sayso.core.policy import Policy
from sayso.doors.python import consent
from sayso.doors.python.door import Door
from sayso.doors.python.results import Result
from sayso.doors.python.run import PATIENCE
from sayso.doors.python.session import Session
from sayso.doors.python.workflow import Step, Workflow, check_any, declare
from sayso.gate import answer, authorize, conversation, grants, sessions, waiting, workflows
from sayso.gate.acts import sign_off
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.recovery import reconcile_calls, recover_calls
from sayso.gate.settings import in_chosen_mode, own_policy
from sayso.gate.signing import Key
from sayso.gate.surface import Surface
from sayso.store.base import QuestionRow, Store

if TYPE_CHECKING:
    from sayso.doors.remote.connected import Connected, Where

P = ParamSpec("P")
R = TypeVar("R")


class Sayso:
    """One open gate, and what Python code does with it.

    What an operator does here is followed by a signed checkpoint; so is closing.
    """

    def __init__(self, gate: Gate, surfaces: Sequence[Surface] = ()) -> None:
        self.gate = gate
        self.door = Door(gate, surfaces)

    @classmethod
    def open(
        cls,
        policy: Policy | Path | str | None = None,
        store: Store | Path | str | None = None,
        *,
        surfaces: Sequence[Surface] | None = None,
        approval: str | None = None,
        key: Key | None = None,
        marks: Path | None = None,
    ) -> Self:
        """Open the gate: a policy on a store, asking on these surfaces.

        The policy is a file, a preset by its name, or your own file (without one: preset balanced); the store
        a file, an address, or your own file; the surface is the terminal. The mode is `approval`, else the
        one the environment or the settings file names, else the policy's. Calls left by processes that died
        are found here.
        """
        gate = open_gate(in_chosen_mode(_policy(policy), approval), store, key=key, marks=marks)
        opened = cls(gate, _terminal() if surfaces is None else surfaces)
        recover_calls(gate)
        return opened

    @staticmethod
    def connect(where: Where = None, token: str | None = None, *, start: bool = True) -> Connected:
        """The same interface on a service, at a URL or a socket: it decides, and functions run here.

        Without an address it is your own service, which is started if it does not run (unless `start` is
        False, or another user was installed for it). A program that runs functions takes a host's token.
        """
        try:
            from sayso.doors.remote.connected import connect
        except ModuleNotFoundError as error:
            raise SaysoError(f"{error.name} is missing", hint="pip install 'sayso[service]'") from error
        return connect(where, token, start=start)

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
        declared = {
            "declared": consent.operations_of(operations),
            "restartable": restartable,
            "health": health,
            "effect_key": effect_key,
            "state": state,
            "reconcile": reconcile,
        }

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            return consent.capability(self.door, function, name=name, **declared)

        return decorate

    def reduces_risk_for(
        self, operation: str, risk: str | Risk
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """The function is a safe caller of this operation: inside it, the operation counts as lower."""
        return consent.reduces_risk_for(self.door, operation, risk)

    def list_risk_reducers(self) -> dict[str, dict[str, str]]:
        """Every declared safe caller: by operation, the function and what it lowers the risk to."""
        return {name: dict(callers) for name, callers in sorted(self.door.reducers.items())}

    def user_initiated(self, operation: str) -> AbstractContextManager[None]:
        """What runs in this block is what the user started. Never for code that an agent can reach."""
        return consent.user_initiated(self.door, operation)

    def workflow(
        self,
        name: str,
        steps: Sequence[Step],
        *,
        operations: Iterable[str] | str = (),
        restartable: bool = False,
    ) -> Workflow:
        """Declare a workflow: its steps, and the operations it may come to besides those of the steps."""
        return declare(self.door, name, steps, consent.operations_of(operations), restartable=restartable)

    # --- running ---

    def run(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        session: Session | str | None = None,
        wait: float = PATIENCE,
        key: str | None = None,
    ) -> Result:
        """Run a capability or workflow: check what it declares, ask in one question, wait, run it once."""
        return self._session(session).run(name, params, wait=wait, key=key)

    async def arun(
        self,
        name: str,
        params: Mapping[str, Any] | None = None,
        *,
        session: Session | str | None = None,
        wait: float = PATIENCE,
        key: str | None = None,
    ) -> Result:
        return await self._session(session).arun(name, params, wait=wait, key=key)

    def retry(
        self, operation_id: str, *, session: Session | str | None = None, wait: float = PATIENCE
    ) -> Result:
        """Go on with a call that timed out, without its parameters."""
        return self._session(session).retry(operation_id, wait=wait)

    async def aretry(
        self, operation_id: str, *, session: Session | str | None = None, wait: float = PATIENCE
    ) -> Result:
        return await self._session(session).aretry(operation_id, wait=wait)

    def replay(
        self, operation_id: str, *, session: Session | str | None = None, wait: float = PATIENCE
    ) -> Result:
        """Run an operation that was queued, later: never by the trust in a workflow of back then."""
        return self._session(session).replay(operation_id, wait=wait)

    def check(
        self, name: str, params: Mapping[str, Any] | None = None, *, session: Session | str | None = None
    ) -> Decision:
        """What would be decided if this were run now. Nothing is asked or used up."""
        return check_any(self.door, name, params or {}, self._session(session).id)

    # --- sessions ---

    def session(
        self,
        name: str | None = None,
        *,
        agent: str = "agent",
        owner: str = "python",
        user: str = "",
        workspace: str = "",
        parent: str | None = None,
    ) -> Session:
        """A session that is open, by its id; without one, a new session with a clean slate."""
        if name is None:
            name = self.open_session(agent, owner=owner, user=user, workspace=workspace, parent=parent)
        self.door.row(name)
        return Session(self.door, name)

    def open_session(
        self,
        agent: str,
        *,
        owner: str = "python",
        user: str = "",
        workspace: str = "",
        parent: str | None = None,
    ) -> str:
        return sessions.open_session(
            self.gate, agent=agent, owner=owner, user=user, workspace=workspace, parent=parent
        )

    def end_session(self, session: str) -> None:
        sessions.end_session(self.gate, session)

    def hear(self, session: str, text: str, assurance: Assurance = Assurance.ASSURED) -> Heard:
        return conversation.hear_message(self.gate, session, text, assurance)

    def list_consents(self, session: Session | str) -> list[grants.Listed]:
        """What is granted in this session now: the way to see that a grant landed."""
        return self._session(session).consents()

    # --- for the operator ---

    def authorize(self, request: Request) -> authorize.Authorized:
        return authorize.authorize(self.gate, request)

    def answer(
        self, question: str, given: str | Mapping[str, str], *, by: str, reason: str | None = None
    ) -> answer.Stands:
        """Answer a question: with one answer, or with one for each item by its number."""
        if isinstance(given, str):
            return answer.answer_question(self.gate, question, given, by=by, reason=reason)
        return answer.answer_items(self.gate, question, given, by=by, reason=reason)

    def wait(self, question: str, timeout: float = PATIENCE) -> QuestionRow:
        return waiting.wait_for_answer(self.gate, question, timeout)

    def grants(self, session: str | None = None) -> list[grants.Listed]:
        return list(grants.list_grants(self.gate, session))

    def revoke(self, grant: str, *, by: str) -> None:
        grants.revoke_grant(self.gate, grant, by=by)

    def runs(self, session: Session | str | None = None) -> list[workflows.Progress]:
        """Workflow runs under way, or that nobody ended, with how far each step has come."""
        return workflows.list_runs(self.gate, None if session is None else self._session(session).id)

    def cascade_revoke(self, workflow: str, *, session: Session | str, by: str) -> int:
        """Withdraw trust in a workflow: its class grant and every run grant in flight; how many ended."""
        return workflows.cascade_revoke(self.gate, self._session(session).id, workflow, by=by)

    def reconcile(self, session: Session | str | None = None) -> int:
        """Tidy up the grants of runs that are over; how many ended."""
        return workflows.reconcile(self.gate, None if session is None else self._session(session).id)

    def recover(self) -> dict[str, str]:
        """Find the calls of processes that died, and ask the tools that can tell what became of theirs."""
        recover_calls(self.gate)
        return reconcile_calls(self.gate, self.door.reconcilers())

    def close(self) -> None:
        """End what was only open for this process, sign what was recorded, and let the store go."""
        self.door.close()
        sign_off(self.gate)
        self.gate.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _session(self, session: Session | str | None) -> Session:
        if isinstance(session, Session):
            return session
        return Session(self.door, self.door.session_here() if session is None else session)


def _policy(policy: Policy | Path | str | None) -> Policy:
    from sayso.policy import load_file, load_preset, preset_names

    if isinstance(policy, Policy):
        return policy
    if policy is None:
        own = own_policy()
        return load_preset("balanced") if own is None else own.policy
    return load_preset(policy) if isinstance(policy, str) and policy in preset_names() else load_file(policy)


def _terminal() -> Sequence[Surface]:
    from sayso.surfaces.terminal import Terminal

    return (Terminal(),)
