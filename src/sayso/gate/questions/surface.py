"""Surfaces: the promise of every place that shows questions to a person and takes answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from sayso.core.audit.notices import Notice
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
    with other arguments, without any effect, or refuses them.
    """

    question: Question
    expires_at: float
    why: Callable[[], str]
    decide_edit: Callable[[Mapping[str, Any]], EditDecided] | None = None
    editable: EditableArguments | None = None
    approvals: str | None = None
    """Whose approvals it waits for, where a team has to approve, and why a yes from here does not count."""


class Reply(msgspec.Struct, frozen=True):
    """A person's reply: one of the answers offered, or "edit" with the arguments the call shall have.

    `seen` is the digest of the call, from a surface that showed all of it before the answer. Without it
    nothing above moderate risk is allowed. `seen_edited` is that of the edited call: without it an edit
    raises no risk above moderate. `question` is the one that is answered.
    """

    answer: str
    by: str
    reason: str | None = None
    edited: Mapping[str, Any] | None = None
    seen: str | None = None
    seen_edited: str | None = None
    question: str = ""


Shown_contra = TypeVar("Shown_contra", contravariant=True)
"""What a surface is given to show: an `AskedQuestion` in this process, a `QuestionCard` beyond it."""
Given_co = TypeVar("Given_co", covariant=True)
"""What comes back: a `Reply` in this process, a `GivenAnswer`, which has to prove itself, from beyond it."""


class Surface(Protocol[Shown_contra, Given_co]):
    """A place where questions and notices are shown. It cannot grant: the gate takes its word as anybody's.

    - `show`, `close` and `tell` never wait for a person. An update is a `close` and a `show` under a new key.
    - Answers come back by `fetch`, in one thread for each surface that is asked for them, or are sent to us.
    """

    @property
    def name(self) -> str: ...

    @property
    def polls(self) -> bool:
        """Return whether answers have to be fetched; else they are sent to us, or there are none."""

    def show(self, shown: Shown_contra, key: str) -> str:
        """Show the question, and return the surface's own name for it. `key` is the same at every try."""

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        """Take the question down, or say there how it ended.

        Without a `ref` nobody knows whether it was shown, under this `key`: close it if that can be told.
        """

    def tell(self, notice: Notice, key: str) -> None:
        """Tell this, which needs no answer. `key` is the same at every try."""

    def fetch(self, seconds: float) -> Iterable[Given_co]:
        """Return the answers that came in, after waiting so long for one; none where they are sent to us."""


class LocalSurface(Surface[AskedQuestion, Reply], Protocol):
    """A surface in this process: what it returns is believed to come from a person in front of it."""

    def able(self) -> bool:
        """Return whether a person can be asked here at this moment."""
