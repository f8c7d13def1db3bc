"""Telegram: a message with buttons, through a bot of the operator's. (Its API: core.telegram.org/bots/api.)

Answers are fetched, so no address of ours has to be reachable. A button carries 64 bytes at most: the number
of the answer and its token; which question it is for, the message it hangs on says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from sayso.core.audit.notices import Notice
from sayso.gate.deliveries.remote_surface import GivenAnswer, ProvenAnswer, QuestionCard
from sayso.surfaces.remote.exchange import LONGEST_EXCHANGE, BadRequest, SendingFailed, post_json


class TelegramSettings(
    msgspec.Struct, frozen=True, tag="telegram", tag_field="kind", forbid_unknown_fields=True
):
    """The bot's token, the chat, and the ids of the people who may answer there."""

    name: str
    token: str
    chat: str
    approvers: tuple[str, ...] = ()
    detail: str = "masked"
    server: str = "https://api.telegram.org"


class Telegram:
    """Speaks through one bot to one chat."""

    longest = 3_500
    allows = True
    cuts = False
    polls = True

    def __init__(self, settings: TelegramSettings) -> None:
        self.name, self.detail = settings.name, settings.detail
        self.approvers = frozenset(settings.approvers)
        self._settings = settings
        self._seen = 0

    def show(self, card: QuestionCard, key: str) -> str:
        buttons = [{"text": one.label, "callback_data": f"{one.answer}:{one.token}"} for one in card.buttons]
        rows: list[list[dict[str, str]]] = [buttons[at : at + 2] for at in range(0, len(buttons), 2)]
        if card.link:
            rows.append([{"text": "Open", "url": card.link}])
        text = f"{card.title}\n\n{card.body}\n\n"
        told = self._call(
            "sendMessage",
            {**_plain(text, f"Question {card.question}"), "reply_markup": {"inline_keyboard": rows}},
        )
        return str(told["message_id"])

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        if ref is not None:
            text = _plain(f"{ending}\n\n", f"Question {question}")
            with suppress(BadRequest):  # somebody deleted it, or it says so already
                self._call("editMessageText", {"message_id": int(ref), **text})

    def tell(self, notice: Notice, key: str) -> None:
        self._call("sendMessage", _plain(notice.text))

    def fetch(self, seconds: float) -> Iterator[GivenAnswer]:
        """Wait for buttons that were pressed. What was returned once is not returned again."""
        wanted = {"offset": self._seen + 1, "timeout": int(seconds), "allowed_updates": ["callback_query"]}
        for update in self._ask("getUpdates", wanted, timeout=seconds + 10):
            pressed = update.get("callback_query")
            given = _read_press(pressed, self._settings.chat)
            if given is not None:
                yield given
            self._seen = max(self._seen, int(update["update_id"]))  # not before it was taken
            self._stop_spinning(pressed)

    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer:
        raise SendingFailed("answers from Telegram are fetched, not sent to us")

    def _stop_spinning(self, pressed: Any) -> None:
        """Tell the person's phone that the button was received: until then it shows that it is not."""
        with suppress(SendingFailed, KeyError, TypeError):
            self._ask("answerCallbackQuery", {"callback_query_id": pressed["id"]})

    def _call(self, method: str, what: dict[str, Any]) -> dict[str, Any]:
        told = self._ask(method, {"chat_id": self._settings.chat, **what})
        return told if isinstance(told, dict) else {}

    def _ask(self, method: str, what: dict[str, Any], timeout: float = LONGEST_EXCHANGE) -> Any:
        token = self._settings.token
        url = f"{self._settings.server}/bot{token}/{method}"
        told = post_json(url, what, timeout=timeout, secret=token)
        if not isinstance(told, dict) or told.get("ok") is not True:
            raise SendingFailed(f"Telegram did not take {method}")
        return told.get("result")


def _plain(text: str, after: str = "") -> dict[str, Any]:
    """Text as data: in it nothing becomes a link, a mention or a command, and no page is fetched for it."""
    whole = {"type": "pre", "offset": 0, "length": len(text.encode("utf-16-le")) // 2}
    return {"text": text + after, "entities": [whole], "link_preview_options": {"is_disabled": True}}


def _read_press(pressed: Any, chat: str) -> GivenAnswer | None:
    """Return the answer of a pressed button; None if it is not one of ours, or from another chat."""
    try:
        message, who = pressed["message"], str(pressed["from"]["id"])
        answer, _, token = str(pressed["data"]).partition(":")
        question = str(message["text"]).rpartition("Question ")[2].strip()
        here = str(message["chat"]["id"]) == chat
        press, ref = str(pressed["id"]), str(message["message_id"])
    except (KeyError, TypeError):
        return None
    return ProvenAnswer(question, answer, token, who, press=press, ref=ref) if here and question else None
