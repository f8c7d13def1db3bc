"""`Sayso.open()`: the gate as one object, embedded, with policy and store."""

from __future__ import annotations

import logging
from pathlib import Path
from types import TracebackType
from typing import Self

from sayso.core.audit import AuditError
from sayso.core.hear import Heard
from sayso.core.model import Assurance, Request
from sayso.core.policy import Policy
from sayso.gate import answer, audit, authorize, conversation, grants, sessions, waiting
from sayso.gate.gate import Gate
from sayso.gate.moves import StoreMoved
from sayso.gate.open import open_gate
from sayso.gate.signing import Key
from sayso.store.base import QuestionRow, Store

log = logging.getLogger("sayso")


class Sayso:
    """One open gate. Every method is one use case of the gate, and one transaction.

    What an operator does here is followed by a signed checkpoint; so is closing.
    """

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    @classmethod
    def open(
        cls,
        policy: Policy | Path | str = "balanced",
        store: Store | Path | str | None = None,
        *,
        key: Key | None = None,
        marks: Path | None = None,
    ) -> Self:
        """Open the gate: a policy (a file, or a preset by its name) on a store (by default your own file)."""
        return cls(open_gate(_policy(policy), store, key=key, marks=marks))

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

    def authorize(self, request: Request) -> authorize.Authorized:
        return authorize.authorize(self.gate, request)

    def hear(self, session: str, text: str, assurance: Assurance = Assurance.ASSURED) -> Heard:
        return conversation.hear_message(self.gate, session, text, assurance)

    def answer(self, question: str, given: str, *, by: str, reason: str | None = None) -> answer.Stands:
        stands = answer.answer_question(self.gate, question, given, by=by, reason=reason)
        self._checkpoint()
        return stands

    def wait(self, question: str, timeout: float = 90.0) -> QuestionRow:
        return waiting.wait_for_answer(self.gate, question, timeout)

    def grants(self, session: str | None = None) -> list[grants.Listed]:
        return list(grants.list_grants(self.gate, session))

    def revoke(self, grant: str, *, by: str) -> None:
        grants.revoke_grant(self.gate, grant, by=by)
        self._checkpoint()

    def close(self) -> None:
        """Sign what was recorded, and let the store go."""
        self._checkpoint()
        self.gate.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _checkpoint(self) -> None:
        """The act before it has happened: a trail that cannot be signed is told, and fails nothing."""
        if self.gate.key is None:
            return
        try:
            audit.checkpoint(self.gate)
        except (AuditError, StoreMoved) as error:
            log.warning("no checkpoint was signed: %s", error)


def _policy(policy: Policy | Path | str) -> Policy:
    from sayso.policy import load_file, load_preset, preset_names

    if isinstance(policy, Policy):
        return policy
    return load_preset(policy) if isinstance(policy, str) and policy in preset_names() else load_file(policy)
