"""Surfaces: the promise of every place that shows questions to a person and takes answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from sayso.core.decision import Question
from sayso.core.model import Risk
from sayso.gate.questions.editable import EditableArguments


class EditDecided(msgspec.Struct, frozen=True):
    """The policy's decision on an edited call, before anybody allows it."""

    digest: str
    risk: Risk
    denied: bool
    reason: str


class AskedQuestion(msgspec.Struct, frozen=True):
    """A question as a surface gets it.

    Everything in it that an agent wrote is data: the surface makes it visible (`core.words.visible`) before
    it shows it. `why` gives the whole trace of the decision, one check a line. `editable` names the
    arguments that the person may edit; None if there are none. `decide_edit` decides the call
    with other arguments, without any effect, or refuses them. `ended` says how somebody else answered; None
    if nobody did.
    """

    question: Question
    expires_at: float
    why: Callable[[], str]
    decide_edit: Callable[[Mapping[str, Any]], EditDecided] | None = None
    ended: Callable[[], str | None] | None = None
    editable: EditableArguments | None = None
    approvals: str | None = None
    """Whose approvals it waits for, where a team has to approve, and why a yes from here does not count."""


class Reply(msgspec.Struct, frozen=True):
    """A person's reply: one of the answers offered, or "edit" with the arguments the call shall have.

    `seen` is the digest of the call, from a surface that showed all of it before the answer. Without it
    nothing above moderate risk is allowed. `seen_edited` is that of the edited call: without it an edit
    raises no risk above moderate.
    """

    answer: str
    by: str
    reason: str | None = None
    edited: Mapping[str, Any] | None = None
    seen: str | None = None
    seen_edited: str | None = None


class Surface(Protocol):
    """A place where questions are shown. It cannot grant: the gate takes its reply as anybody's."""

    @property
    def name(self) -> str: ...

    def able(self) -> bool:
        """Return whether a person can be asked here at this moment."""

    def ask(self, asked: AskedQuestion, over: threading.Event) -> Reply | None:
        """Show the question and wait for the person. Called in a thread of its own for each question.

        Once `over` is set, somebody else has answered or the question is gone: take it down and return
        None. None as well if nobody can be asked here.
        """

    def tell(self, notice: str) -> None:
        """Show a line that needs no answer."""
