"""`Sayso.open()`: the gate as one object, embedded, with policy, store and surfaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from sayso.core.conversation.hearing import Heard
from sayso.core.durations import USUAL_WAIT
from sayso.core.errors import SaysoError
from sayso.core.extras import needs_extra
from sayso.core.model import Assurance, Mode, Request, Risk
from sayso.core.policy import Policy
from sayso.doors.python import consent
from sayso.doors.python.calls.door import workspace_here
from sayso.doors.python.calls.embedded import EmbeddedDoor
from sayso.doors.python.calls.holders import PROGRAM
from sayso.doors.python.notice_places import find_notice_places
from sayso.doors.python.program import Program
from sayso.doors.python.session import Session
from sayso.doors.python.values.inputs import check_workspace
from sayso.gate.audit.operator_transaction import sign_off, sum_up
from sayso.gate.deciding import authorize
from sayso.gate.deciding.authorize import Authorization
from sayso.gate.gate import Gate
from sayso.gate.ledger import workflows
from sayso.gate.ledger.recovery import reconcile_calls, recover_calls
from sayso.gate.open import open_gate
from sayso.gate.policy.acting_policy import PolicySource, own_policy_source
from sayso.gate.questions import answer, wait
from sayso.gate.questions.answer import QuestionStanding
from sayso.gate.questions.surface import LocalSurface
from sayso.gate.rows.keys import SigningKey
from sayso.gate.sessions import messages, operator_grants, reopen, revoke, sessions
from sayso.gate.sessions.operator_grants import ListedGrant
from sayso.gate.settings import chosen_mode, in_chosen_mode, load_own_policy
from sayso.store.contract import QuestionRow, Store

if TYPE_CHECKING:
    from sayso.doors.remote.connected import Connected, ServiceAddresses

AGENT_NAME = "agent"
P = ParamSpec("P")
R = TypeVar("R")


class Sayso(Program[Session]):
    """One open gate, and what Python code does with it.

    What an operator does here is followed by a signed checkpoint; so is closing.
    """

    def __init__(self, gate: Gate, surfaces: Sequence[LocalSurface] = ()) -> None:
        # Nobody may sign here for days: without this, whoever reads figures would add up all of that.
        gate.marked_store.after_many = partial(sum_up, gate)
        self.door: EmbeddedDoor = EmbeddedDoor(gate, surfaces)

    @property
    def gate(self) -> Gate:
        """The gate under the policy in force now."""
        return self.door.gate

    @classmethod
    def open(
        cls,
        policy: Policy | Path | str | None = None,
        store: Store | Path | str | None = None,
        *,
        surfaces: Sequence[LocalSurface] | None = None,
        approval: str | None = None,
        key: SigningKey | None = None,
        marks: Path | None = None,
    ) -> Self:
        """Open the gate: a policy on a store, asking on these surfaces.

        The policy is a file, a preset by its name, or your own file (without one: preset balanced); the store
        a file, an address, or your own file; the surface is the terminal. The mode is `approval`, else the
        one the environment or the settings file names, else the policy's. Calls left by processes that died
        are found here. Notices go where the policy says, else to the first surface.
        """
        chosen, watched = _load_policy(policy, chosen_mode(approval))
        gate = open_gate(in_chosen_mode(chosen, approval), store, key=key, marks=marks, source=watched)
        shown = _terminal_surface() if surfaces is None else surfaces
        try:
            gate, here = find_notice_places(gate, shown)
        except SaysoError:
            gate.store.close()
            raise
        opened = cls(gate, shown)
        opened.door.tell_notices(here)
        recover_calls(gate)
        return opened

    @staticmethod
    def connect(where: ServiceAddresses = None, token: str | None = None, *, start: bool = True) -> Connected:
        """The same interface on a service, at a URL or a socket: it decides, and functions run here.

        Without an address it is your own service, which is started if it does not run (unless `start` is
        False, or another user was installed for it). A program that runs functions takes a host's token.
        """
        with needs_extra("service", "a connection to a service"):
            from sayso.doors.remote.connected import connect
        return connect(where, token, start=start)

    def reduces_risk_for(
        self, operation: str, risk: str | Risk
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        return consent.reduces_risk_for(self.door, operation, risk)

    def user_initiated(self, operation: str) -> AbstractContextManager[None]:
        return consent.user_initiated_scope(self.door, operation)

    # --- sessions ---

    def session(
        self,
        name: str | None = None,
        *,
        key: str | None = None,
        agent: str | None = None,
        owner: str = PROGRAM,
        user: str | None = None,
        workspace: str | None = None,
        parent: str | None = None,
    ) -> Session:
        """A session that is open, by its id; without one, a new session with a clean slate.

        With a `key`, the session of this key and owner is opened again, also by another process after a
        restart. One that ended stays ended: then it is a new one, and `after` names the old one.
        """
        if name is None and key is not None:
            asked = reopen.SessionWish(agent, user, check_workspace(workspace) or None, parent)
            found = reopen.open_session_by_key(
                self.gate, key, owner=owner, asked=asked, agent=AGENT_NAME, workspace=workspace_here
            )
            return Session(self.door, found.session, reopened=found.reopened, after=found.after)
        if name is None:
            name = self.open_session(
                agent or AGENT_NAME, owner=owner, user=user or "", workspace=workspace or "", parent=parent
            )
        self.door.row(name)
        return self.session_by_id(name)

    def session_by_id(self, session: str) -> Session:
        return Session(self.door, session)

    def open_session(
        self,
        agent: str,
        *,
        owner: str = PROGRAM,
        user: str = "",
        workspace: str = "",
        parent: str | None = None,
    ) -> str:
        """Open a session. Without a workspace named, it is the project around the working folder."""
        where = workspace_here(workspace)
        return sessions.open_session(
            self.gate, agent=agent, owner=owner, user=user, workspace=where, parent=parent
        )

    def end_session(self, session: str) -> None:
        sessions.close_session(self.gate, session)

    def hear(self, session: str, text: str, assurance: Assurance = Assurance.ASSURED) -> Heard:
        return self.door.act(lambda gate: messages.record_message(gate, session, text, assurance))

    # --- for the operator ---

    def authorize(self, request: Request) -> Authorization:
        return self.door.act(lambda gate: authorize.authorize(gate, request))

    def answer(
        self,
        question: str,
        given: str | Mapping[str, str],
        *,
        by: str,
        reason: str | None = None,
        seen: str | None = None,
    ) -> QuestionStanding:
        """Answer a question: with one answer, or with one for each item by its number.

        `seen` is the digest of the call, if the person was shown all of it. Above moderate risk a yes needs
        it.
        """
        how: dict[str, Any] = {"by": by, "reason": reason, "seen": seen}
        if isinstance(given, str):
            return self.door.act(lambda gate: answer.answer_question(gate, question, given, **how))
        return self.door.act(lambda gate: answer.answer_items(gate, question, given, **how))

    def wait(self, question: str, timeout: float = USUAL_WAIT) -> QuestionRow:
        return wait.wait_for_answer(self.gate, question, timeout)

    def grants(self, session: str | None = None) -> list[ListedGrant]:
        return operator_grants.one_for_each_answer(self.gate, operator_grants.list_grants(self.gate, session))

    def revoke(self, grant: str, *, by: str, session: Session | str | None = None) -> None:
        """End a grant by its id; or, in a session, all consent for what is named and the calls under way."""
        if session is None:
            operator_grants.revoke_grant(self.gate, grant, by=by)
        else:
            revoke.revoke_by_name(self.gate, self._session(session).id, grant, by=by)

    def runs(self, session: Session | str | None = None) -> list[workflows.RunProgress]:
        """Workflow runs under way, or that nobody ended, with how far each step has come."""
        return workflows.list_workflow_runs(self.gate, None if session is None else self._session(session).id)

    def cascade_revoke(self, workflow: str, *, session: Session | str, by: str) -> int:
        """Withdraw trust in a workflow: its class grant and every run grant in flight; how many ended."""
        return workflows.cascade_revoke(self.gate, self._session(session).id, workflow, by=by)

    def reconcile(self, session: Session | str | None = None) -> int:
        """Tidy up the grants of runs that are over; how many ended."""
        return workflows.reconcile_runs(self.gate, None if session is None else self._session(session).id)

    def recover(self) -> dict[str, str]:
        """Find the calls of processes that died, and ask the tools that can tell what became of theirs."""
        recover_calls(self.gate)
        return reconcile_calls(self.gate, self.door.reconcilers())

    def close(self) -> None:
        """End what was only open for this process, sign what was recorded, and let the store go."""
        self.door.close()
        sign_off(self.gate)
        self.gate.store.close()


def _load_policy(policy: Policy | Path | str | None, mode: Mode | None) -> tuple[Policy, PolicySource | None]:
    """The policy, and the file to be watched if it comes from one, or from your own that is to come."""
    from sayso.policy import load_file, load_preset, preset_names

    if isinstance(policy, Policy):
        return policy, None
    if policy is None:
        own = load_own_policy()
        return load_preset("balanced") if own is None else own.policy, own_policy_source(mode)
    if isinstance(policy, str) and policy in preset_names():
        return load_preset(policy), None
    return load_file(policy), PolicySource(Path(policy), mode)


def _terminal_surface() -> Sequence[LocalSurface]:
    from sayso.surfaces.terminal.terminal import Terminal

    return (Terminal(),)
