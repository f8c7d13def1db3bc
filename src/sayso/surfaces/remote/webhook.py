"""A webhook of the operator's own: questions and notices go out signed, answers come back signed.

Both ways as Standard Webhooks 1.0 has it. The first answer closes the question; where a team approves, each
message counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from sayso.core.audit.notices import Notice
from sayso.core.signed_messages import SignedMessage, check_message, decode_secret, sign_message
from sayso.gate.deliveries.remote_surface import GivenAnswer, QuestionCard, read_signed_answer
from sayso.surfaces.remote.exchange import post


class WebhookSettings(
    msgspec.Struct, frozen=True, tag="webhook", tag_field="kind", forbid_unknown_fields=True
):
    """Where to send, the shared secret, and who may answer."""

    name: str
    url: str
    secret: str
    approvers: tuple[str, ...] = ()
    detail: str = "full"


class Webhook:
    """Sends to one address."""

    longest = 100_000
    allows = True
    cuts = False
    polls = False

    def __init__(self, settings: WebhookSettings, now: Callable[[], float]) -> None:
        self.name, self.detail = settings.name, settings.detail
        self.approvers = frozenset(settings.approvers)
        self._url, self._secret, self._now = settings.url, decode_secret(settings.secret), now

    def show(self, card: QuestionCard, key: str) -> str:
        self._send("question.asked", card, key)
        return card.question

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        self._send("question.closed", {"question": question, "ending": ending}, f"{key}.closed")

    def tell(self, notice: Notice, key: str) -> None:
        self._send("notice", notice, key)

    def fetch(self, seconds: float) -> Iterable[GivenAnswer]:
        return ()

    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer:
        """Return the answer in a message to us; an error unless it was signed with the secret just now."""
        message = SignedMessage(
            headers.get("webhook-id", ""),
            headers.get("webhook-timestamp", ""),
            headers.get("webhook-signature", ""),
            body,
        )
        check_message(message, [self._secret], self._now())
        return read_signed_answer(message)

    def _send(self, kind: str, what: object, key: str) -> None:
        body = msgspec.json.encode({"type": kind, "data": what})
        sent, name = int(self._now()), key.replace(".", "_").replace("/", "_")
        headers = {
            "content-type": "application/json",
            "webhook-id": name,
            "webhook-timestamp": str(sent),
            "webhook-signature": sign_message(self._secret, name, sent, body),
        }
        post(self._url, body, headers)
