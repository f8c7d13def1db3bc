"""A signed-in browser whose page is closed: a notification by Web Push, which denies or opens the question.

- Each browser is a surface of its own, so one whose push service is down or slow delays no other.
- The message says operation, risk and agent, and carries the token of "deny" and of no other answer.
- An answer needs that token, which only this browser could read, and the cookie of the same sign-in.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie

import msgspec

from sayso.core.audit.notices import Notice
from sayso.core.durations import DAY
from sayso.core.signed_messages import BadMessage
from sayso.gate.decoding import decode_json
from sayso.gate.deliveries.cards import fit_text
from sayso.gate.deliveries.remote_surface import GivenAnswer, QuestionCard
from sayso.gate.gate import Gate
from sayso.gate.people.answerers import Answerer, on_page
from sayso.gate.people.browsers import browser_key
from sayso.gate.people.push import PushSubscription, find_subscriber, live_subscriptions, unsubscribe
from sayso.surfaces.remote.exchange import NotThere, post
from sayso.surfaces.remote.settings_file import BROWSERS
from sayso.surfaces.remote.web_push import (
    LARGEST_MESSAGE,
    encrypt_message,
    make_signing_key,
    sign_headers,
    spell_public_key,
)
from sayso.wire import BROWSER_COOKIE

NAME_LENGTH = 12
CONTACT = "mailto:operator@localhost"
TOPIC_LENGTH = 24


class PushMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message to the service worker of the page. `deny` is the token of that answer."""

    kind: str
    title: str
    body: str
    question: str = ""
    surface: str = ""
    deny: str = ""


class DenyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Its denial."""

    question: str
    token: str


class BrowserSurface:
    """Sends to one browser, for as long as it is signed in."""

    detail = "masked"
    longest = LARGEST_MESSAGE // 3
    allows = False
    cuts = True
    polls = False

    def __init__(self, gate: Gate, subscription: PushSubscription, contact: str = CONTACT) -> None:
        self.name = BROWSERS + subscription.browser[:NAME_LENGTH]
        self._gate, self._subscription, self._contact = gate, subscription, contact

    @property
    def approvers(self) -> frozenset[str]:
        """Return who signed in with it, and nobody once they signed out."""
        found = find_subscriber(self._gate, self._subscription)
        return frozenset() if found is None else frozenset({found.name})

    @property
    def answerer(self) -> Answerer | None:
        """Return the id of who signed in with it: the same as on the page."""
        found = find_subscriber(self._gate, self._subscription)
        return None if found is None else on_page(found.name, found.passkey, found.identity)

    def show(self, card: QuestionCard, key: str) -> str:
        deny = next(one.token for one in card.answers if one.answer == "deny")
        message = PushMessage("question", card.title, card.body, card.question, self.name, deny)
        self._send(message, topic=card.question, lasts=card.expires_at - time.time(), urgent=True)
        return key

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        """Replace the notification by how it ended; one that did not arrive yet is never shown."""
        message = PushMessage("closed", "Sayso", ending, question)
        self._send(message, topic=question, lasts=DAY, urgent=False)

    def tell(self, notice: Notice, key: str) -> None:
        message = PushMessage("notice", "Sayso", fit_text(notice.text, self.longest))
        self._send(message, topic=key, lasts=DAY, urgent=False)

    def fetch(self, seconds: float) -> Iterable[GivenAnswer]:
        return ()

    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer:
        """Return the denial in a message of this browser's worker; an error if it comes from elsewhere."""
        secret = _read_cookie(headers.get("cookie", ""))
        who = find_subscriber(self._gate, self._subscription)
        if who is None or browser_key(secret) != self._subscription.browser:
            raise BadMessage("sign_in", "this browser is not signed in", hint="sign in first")
        given = decode_json(body, DenyBody)
        return GivenAnswer(given.question, "deny", given.token, who.name)

    def _send(self, message: PushMessage, *, topic: str, lasts: float, urgent: bool) -> None:
        """Send it, unless this browser signed out. One that is gone is forgotten and not tried again."""
        to = self._subscription
        if find_subscriber(self._gate, to) is None:
            return
        key = make_signing_key(_seed(self._gate))
        headers = {
            **sign_headers(key, to.endpoint, contact=self._contact, now=time.time()),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(max(0, int(lasts))),
            "urgency": "high" if urgent else "normal",
            "topic": _spell_topic(topic),
        }
        try:
            post(to.endpoint, encrypt_message(msgspec.json.encode(message), to), headers, secret=to.endpoint)
        except NotThere:
            unsubscribe(self._gate, to.browser, to.endpoint)


def browser_surfaces(gate: Gate, contact: str = CONTACT) -> Sequence[BrowserSurface]:
    """Return a surface for each signed-in browser that wants to be told of questions."""
    return [BrowserSurface(gate, one, contact) for one in live_subscriptions(gate)]


def find_browser_surface(gate: Gate, name: str) -> BrowserSurface | None:
    if not name.startswith(BROWSERS):
        return None
    return next((one for one in browser_surfaces(gate) if one.name == name), None)


def public_push_key(gate: Gate) -> str:
    """Return the key by which push services know this gate. It is the same for as long as its epoch lasts."""
    return spell_public_key(make_signing_key(_seed(gate)))


def _seed(gate: Gate) -> bytes:
    return gate.sealer.text("web push", "signing key")


def _spell_topic(about: str) -> str:
    """The same for messages of which only the newest counts: a push service then carries that one alone."""
    return base64.urlsafe_b64encode(sha256(about.encode()).digest()).decode()[:TOPIC_LENGTH]


def _read_cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(BROWSER_COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value
