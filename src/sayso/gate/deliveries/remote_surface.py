"""Surfaces beyond this process: what each of them promises besides, and what it is given to show.

- "Sent" proves nothing. Only an answer that names its question, and carries the token that was shown for
  exactly that answer on exactly this surface, counts, and only from a person who may answer there.
- Nothing is given to a surface but what it is to show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from sayso.core.digest import sha256
from sayso.core.errors import SaysoError
from sayso.core.model import Risk
from sayso.core.signed_messages import SignedMessage
from sayso.gate.decoding import decode_json
from sayso.gate.questions.surface import Surface

SETTINGS_FILE = "surfaces.json"
"""In the data folder: the surfaces of the service, its owner's alone."""
LABELS = {
    "once": "Allow once",
    "task": "For this task",
    "temporary": "15 minutes",
    "always": "This session",
    "remember": "Allow and remember",
    "deny": "Deny",
}


class SurfaceDown(SaysoError):
    """Nothing can be sent there now. `wish` is for how many seconds it asks to be left alone."""

    code = "surface_down"
    wish = 0.0


class CardAnswer(msgspec.Struct, frozen=True):
    """One answer a person may give there, what it covers in words, and the token that stands for it."""

    answer: str
    covers: str
    token: str

    @property
    def label(self) -> str:
        """Return what stands on the button."""
        return LABELS.get(self.answer, self.answer)


class QuestionCard(msgspec.Struct, frozen=True):
    """A question as a surface shows it. All text in it is safe to show: what an agent wrote is made visible.

    `body` is the whole call, or without the arguments where the surface gets no details. `whole` says that
    nothing of the call is left out: only then can anything above moderate risk be allowed there.
    """

    question: str
    risk: str
    agent: str
    operations: tuple[str, ...]
    title: str
    body: str
    whole: bool
    digest: str
    expires_at: float
    answers: tuple[CardAnswer, ...]
    link: str | None = None

    @property
    def buttons(self) -> tuple[CardAnswer, ...]:
        """Return the answers that would count: above moderate risk, a yes only where all was shown."""
        can_allow = self.whole or self.risk != Risk.HIGH.word
        return tuple(one for one in self.answers if can_allow or one.answer == "deny")


class GivenAnswer(msgspec.Struct, frozen=True):
    """An answer as it came in from a surface. `by` is who the surface says it was, by its own names."""

    question: str
    answer: str
    token: str
    by: str
    reason: str | None = None


class ProvenAnswer(GivenAnswer, frozen=True):
    """The same with what the surface itself vouches for, and nobody who writes the answer can choose.

    `press` is different for each time somebody answers, and the same if that is passed on again. `ref` is the
    surface's name for the message that the answer was given on, where it says so.
    """

    press: str = ""
    ref: str | None = None


def read_signed_answer(message: SignedMessage) -> ProvenAnswer:
    """Return the answer in a message whose signature fits. What was signed tells it from the next one."""
    given = decode_json(message.body, GivenAnswer)
    signed = f"{message.id}.{message.timestamp}.".encode() + message.body
    return ProvenAnswer(**msgspec.structs.asdict(given), press=sha256(signed))


class RemoteSurface(Surface[QuestionCard, GivenAnswer], Protocol):
    """A surface beyond this process. Nobody between it and us is trusted."""

    @property
    def detail(self) -> str:
        """Return "full" if it may show arguments, else "masked"."""

    @property
    def longest(self) -> int:
        """Return how many bytes of text it shows at most, besides a title and the id of the question."""

    @property
    def approvers(self) -> frozenset[str]:
        """Return who may answer there, by the surface's own names."""

    @property
    def allows(self) -> bool:
        """Return whether a yes can be given there, and not only a no, or nothing."""

    @property
    def cuts(self) -> bool:
        """Return whether a part of what it is sent may be left out where it is shown, beside the buttons."""

    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer | None:
        """Return the answer in a message that was sent to us; an error unless it comes from the surface.

        None if it is the surface's, and answers nothing.
        """
