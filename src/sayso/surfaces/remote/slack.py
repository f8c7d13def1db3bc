"""Slack: a message with buttons, through an app of the operator's own. (Its API: api.slack.com.)

Pressed buttons come to this service, signed by Slack with the app's signing secret over time and body.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

import msgspec

from sayso.core.audit.notices import Notice
from sayso.core.signed_messages import WINDOW, BadMessage
from sayso.gate.deliveries.remote_surface import GivenAnswer, ProvenAnswer, QuestionCard
from sayso.surfaces.remote.exchange import BadRequest, SendingFailed, post_json

OPENS = "sayso-open"
FINAL = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
"""What Slack says of a message that it never changes any more."""


class SlackSettings(msgspec.Struct, frozen=True, tag="slack", tag_field="kind", forbid_unknown_fields=True):
    """The app's token and signing secret, the channel, and the ids of the people who may answer there."""

    name: str
    token: str
    signing_secret: str
    channel: str
    approvers: tuple[str, ...] = ()
    detail: str = "masked"
    server: str = "https://slack.com"


class Slack:
    """Posts to one channel."""

    longest = 2_900
    allows = True
    cuts = False
    polls = False

    def __init__(self, settings: SlackSettings, now: Callable[[], float]) -> None:
        self.name, self.detail = settings.name, settings.detail
        self.approvers = frozenset(settings.approvers)
        self._settings, self._now = settings, now

    def show(self, card: QuestionCard, key: str) -> str:
        buttons: list[dict[str, Any]] = [
            {
                "type": "button",
                "action_id": f"sayso-{one.answer}",
                "text": _plain(one.label),
                "value": f"{card.question}|{one.answer}|{one.token}",
            }
            for one in card.buttons
        ]
        if card.link:
            link = {"type": "button", "action_id": OPENS, "text": _plain("Open"), "url": card.link}
            buttons.append(link)
        blocks: list[dict[str, Any]] = [
            _section(card.title),
            _section(card.body),
            {"type": "actions", "elements": buttons},
        ]
        told = self._post(card.title, blocks)
        return str(told["ts"])

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        blocks = [_section(ending)]
        if ref is not None:
            with suppress(BadRequest):  # somebody deleted it, or nobody may change it any more
                self._call("chat.update", {"ts": ref, "text": _escape(ending), "blocks": blocks})

    def tell(self, notice: Notice, key: str) -> None:
        blocks = [_section(notice.text)]
        self._post(notice.text, blocks)

    def fetch(self, seconds: float) -> Iterable[GivenAnswer]:
        return ()

    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer | None:
        """Return the answer of a button that was pressed; an error unless Slack signed it just now."""
        sent, given = headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
        if not (sent.isascii() and sent.isdigit() and len(sent) <= 12):
            raise BadMessage("timestamp", "x-slack-request-timestamp has to be whole seconds")
        mac = hmac.digest(self._settings.signing_secret.encode(), f"v0:{sent}:".encode() + body, "sha256")
        if not hmac.compare_digest(f"v0={mac.hex()}".encode(), given.encode()):
            raise BadMessage("signature", "the signature does not fit this message")
        if not abs(self._now() - int(sent)) <= WINDOW:
            raise BadMessage("window", "the message is too old")
        return _read_press(body)

    def _post(self, text: str, blocks: list[dict[str, Any]]) -> dict[str, Any]:
        """Post the blocks; the text is what notifications show, and nothing in it is fetched or pings."""
        quiet = {"mrkdwn": False, "unfurl_links": False, "unfurl_media": False}
        return self._call("chat.postMessage", {"text": _escape(text), "blocks": blocks, **quiet})

    def _call(self, method: str, what: dict[str, Any]) -> dict[str, Any]:
        token = self._settings.token
        told = post_json(
            f"{self._settings.server}/api/{method}",
            {"channel": self._settings.channel, **what},
            {"authorization": f"Bearer {token}"},
            secret=token,
        )
        if not isinstance(told, dict) or told.get("ok") is not True:
            final = isinstance(told, dict) and told.get("error") in FINAL
            raise (BadRequest if final else SendingFailed)(f"Slack did not take {method}")
        return told


def _section(text: str) -> dict[str, Any]:
    """A part of a message, shown whole: otherwise Slack folds what is long."""
    return {"type": "section", "text": _plain(text), "expand": True}


def _plain(text: str) -> dict[str, object]:
    """Plain text: nothing in it is markup."""
    return {"type": "plain_text", "text": text, "emoji": False}


def _escape(text: str) -> str:
    """Text outside blocks: without this, `<!channel>` in it calls everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _read_press(body: bytes) -> GivenAnswer | None:
    """Return the answer of a button; None if it only opens the question, which Slack tells us too."""
    try:
        payload = msgspec.json.decode(parse_qs(body.decode())["payload"][0])
        if payload["actions"][0]["action_id"] == OPENS:
            return None
        question, answer, token = str(payload["actions"][0]["value"]).split("|")
        ref = payload.get("container", {}).get("message_ts")
        press, who = str(payload["actions"][0]["action_ts"]), str(payload["user"]["id"])
        return ProvenAnswer(question, answer, token, who, press=press, ref=ref and str(ref))
    except (KeyError, IndexError, ValueError, TypeError, msgspec.DecodeError) as error:
        raise BadMessage("body", "this is not a button of ours") from error
