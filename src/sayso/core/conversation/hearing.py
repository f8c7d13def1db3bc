"""One message being heard, and what came of it."""

from __future__ import annotations

import msgspec

from sayso.core import effects as fx
from sayso.core.conversation.clearing import clear_consent
from sayso.core.conversation.message import Message
from sayso.core.model import Assurance, Risk
from sayso.core.policy import Policy
from sayso.core.session import Session, apply_effects


class Heard(msgspec.Struct, frozen=True):
    """What a message was, did, said and cleared; `effects` are still to be applied."""

    kind: str
    turn: int
    did: tuple[str, ...]
    announced: tuple[str, ...]
    cleared: tuple[str, ...]
    answered: str | None
    effects: tuple[fx.Effect, ...]
    question: str | None = None
    """The question whether it was said, if that was asked."""


class Hearing:
    """One message being heard: collects effects, and keeps the session as it is after them."""

    def __init__(
        self,
        session: Session,
        policy: Policy,
        message: Message,
        now: float,
        assurance: Assurance,
        unsigned: Risk | None = Risk.HIGH,
    ) -> None:
        self.before = session
        self.session = session
        self.policy = policy
        self.message = message
        self.now = now
        self.assurance = assurance
        self.unsigned = unsigned
        self.effects: list[fx.Effect] = []
        self.did: list[str] = []
        self.announced: list[str] = []
        self.cleared: list[str] = []
        self.answered: str | None = None

    def add_effects(self, *effects: fx.Effect) -> None:
        self.effects += effects
        self.session = apply_effects(self.session, effects)

    def clear(self, reach: fx.ClearReach, why: str, announce: str) -> None:
        effect, lost = clear_consent(self.session, reach, why, self.now)
        self.add_effects(effect)
        self.cleared += lost
        self.announced.append(announce)

    def result(self) -> Heard:
        return Heard(
            kind=self.message.kind,
            turn=self.session.turn,
            did=tuple(self.did),
            announced=tuple(self.announced),
            cleared=tuple(self.cleared),
            answered=self.answered,
            effects=tuple(self.effects),
        )
