"""ntfy: a notification with buttons. Whoever reads the topic can press them, so a topic is a secret.

A button calls this service, so it needs an address at which the phone reaches it; without one there is no
button but a link. ntfy takes three buttons at most. (Its API: docs.ntfy.sh/publish.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from sayso.core.audit.notices import Notice
from sayso.gate.decoding import decode_json
from sayso.gate.deliveries.remote_surface import GivenAnswer, QuestionCard
from sayso.surfaces.remote.exchange import post_json

PRIORITY = {"low": 2, "moderate": 3, "high": 5}
WITH_BUTTONS = ("once", "deny")
READER = "reader"
"""Who answers there: somebody who reads the topic, and nobody can say who."""


class NtfySettings(msgspec.Struct, frozen=True, tag="ntfy", tag_field="kind", forbid_unknown_fields=True):
    """The server, the topic, and where this service is reached from a phone."""

    name: str
    topic: str
    server: str = "https://ntfy.sh"
    token: str = ""
    answers: str = ""
    detail: str = "masked"


class Ntfy:
    """Publishes to one topic."""

    longest = 3_000
    allows = True
    cuts = True
    """A phone shows some hundred characters of a notification, and the buttons below them."""
    polls = False
    approvers = frozenset({READER})

    def __init__(self, settings: NtfySettings) -> None:
        self.name, self.detail = settings.name, settings.detail
        self._settings = settings

    def show(self, card: QuestionCard, key: str) -> str:
        buttons = [
            {
                "action": "http",
                "label": one.label,
                "url": self._settings.answers,
                "method": "POST",
                "headers": {"content-type": "application/json"},
                "body": msgspec.json.encode(
                    {"question": card.question, "answer": one.answer, "token": one.token}
                ).decode(),
                "clear": True,
            }
            for one in card.buttons
            if self._settings.answers and one.answer in WITH_BUTTONS
        ]
        link = [{"action": "view", "label": "Open", "url": card.link}] if card.link else []
        told = self._publish(
            {
                "title": card.title,
                "message": card.body,
                "priority": PRIORITY[card.risk],
                "actions": [*buttons, *link],
            }
        )
        return str(told.get("id", key)) if isinstance(told, dict) else key

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        if ref is not None:
            self._publish({"title": f"Closed: {question}", "message": ending, "priority": 1})

    def tell(self, notice: Notice, key: str) -> None:
        self._publish({"title": "Sayso", "message": notice.text, "priority": 3})

    def fetch(self, seconds: float) -> Iterable[GivenAnswer]:
        return ()

    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer:
        """Return the answer of a button that was pressed."""
        pressed = decode_json(body, dict[str, str])
        return GivenAnswer(
            pressed.get("question", ""), pressed.get("answer", ""), pressed.get("token", ""), READER
        )

    def _publish(self, message: Mapping[str, object]) -> object:
        token = self._settings.token
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return post_json(
            self._settings.server, {"topic": self._settings.topic, **message}, headers, secret=token
        )
