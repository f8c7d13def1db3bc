"""Obsidian: our plugin there fetches the questions, shows each as a modal, and posts the answer back.

- Nothing is sent by us: a question is shown once the plugin has fetched it, and leaves when it waits no more.
- The plugin holds a secret of this surface and no token: whoever gets it can read and answer what is asked
  here, as its approver, and do nothing else.
- Requests and answers are signed with it, both ways, and an answer of ours names the request it belongs to:
  nobody in between can put other words on a question than those that the gate has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from sayso.core.audit.notices import Notice
from sayso.core.signed_messages import SignedMessage, check_message, decode_secret, sign_message
from sayso.gate.decoding import decode_json
from sayso.gate.deliveries.remote_surface import GivenAnswer, QuestionCard, read_signed_answer
from sayso.surfaces.remote.exchange import SendingFailed


class ObsidianSettings(
    msgspec.Struct, frozen=True, tag="obsidian", tag_field="kind", forbid_unknown_fields=True
):
    """The secret that the plugin knows as well, and who may answer."""

    name: str
    secret: str
    approvers: tuple[str, ...] = ()
    detail: str = "full"


class FetchBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The plugin asks what waits."""

    fetch: str


class Obsidian:
    """Waits to be asked."""

    longest = 100_000
    allows = True
    cuts = False
    polls = False
    takes_notices = False

    def __init__(self, settings: ObsidianSettings, now: Callable[[], float]) -> None:
        self.name, self.detail = settings.name, settings.detail
        self.approvers = frozenset(settings.approvers)
        self._secret, self._now = decode_secret(settings.secret), now

    def show(self, card: QuestionCard, key: str) -> str:
        return key

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        """The plugin sees that it waits no more."""

    def tell(self, notice: Notice, key: str) -> None:
        raise SendingFailed("Obsidian receives no notices", hint="name another surface for them")

    def fetch(self, seconds: float) -> Iterable[GivenAnswer]:
        return ()

    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer:
        """Return the answer in a message of the plugin; an error unless it was signed just now."""
        return read_signed_answer(self._check(headers, body))

    def check_fetch(self, headers: Mapping[str, str], body: bytes) -> str:
        """Return the id of a request for what waits; an error unless the plugin signed it just now."""
        message = self._check(headers, body).id
        if decode_json(body, FetchBody).fetch != "questions":
            raise msgspec.ValidationError("only questions can be fetched")
        return message

    def sign(self, message: str, body: bytes) -> Mapping[str, str]:
        """Return the headers of our answer to this request."""
        now = int(self._now())
        signature = sign_message(self._secret, message, now, body)
        return {"webhook-id": message, "webhook-timestamp": str(now), "webhook-signature": signature}

    def _check(self, headers: Mapping[str, str], body: bytes) -> SignedMessage:
        sent = SignedMessage(
            headers.get("webhook-id", ""),
            headers.get("webhook-timestamp", ""),
            headers.get("webhook-signature", ""),
            body,
        )
        check_message(sent, [self._secret], self._now())
        return sent
