"""Surfaces beyond this process, each with a server that keeps to its API and a person who answers there."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from email import message_from_string, policy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from sayso.core.audit import events
from sayso.core.signed_messages import encode_secret, sign_message
from sayso.gate.deliveries.answers import take_answer
from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.deliveries.fetching import open_cards
from sayso.gate.deliveries.remote_surface import GivenAnswer, RemoteSurface
from sayso.gate.gate import Gate
from sayso.gate.people.browsers import make_link, use_link
from sayso.gate.people.push import subscribe
from sayso.gate.refusal_limit import RefusalLimit
from sayso.gate.rows.journal import record
from sayso.surfaces.remote.browser import BrowserSurface, browser_surfaces
from sayso.surfaces.remote.desktop import Desktop, DesktopSettings
from sayso.surfaces.remote.mail import MailSettings
from sayso.surfaces.remote.ntfy import NtfySettings
from sayso.surfaces.remote.obsidian import ObsidianSettings
from sayso.surfaces.remote.settings_file import make_surfaces
from sayso.surfaces.remote.slack import SlackSettings
from sayso.surfaces.remote.telegram import TelegramSettings
from sayso.surfaces.remote.webhook import WebhookSettings
from tests.support.chat_services import (
    SECRET,
    SIGNING,
    TOKEN,
    FakeMailServer,
    FakeNtfy,
    FakeReceiver,
    FakeSlack,
    FakeTelegram,
    strings_in,
)
from tests.support.push_service import BrowserKeys, FakePushService, encode

LABELS = {"once": "Allow once", "deny": "Deny"}
LINK = "http://localhost:7333/#/question/"


class RemoteSeat:
    """A surface, its server, and people there: ana, who may answer, and mallory, who may not."""

    answers: tuple[str, ...] = ("once", "deny")
    """What a person can say there."""
    knows_people = True
    takes_notices = True
    surface: RemoteSurface
    server: Any

    def begin(self, gate: Gate) -> None:
        """The service starts. It sends nothing yet."""
        self.gate = gate
        self.dispatcher = Dispatcher(
            gate, (self.surface,), notices_to=lambda: self.surface.name, link=lambda name: LINK + name
        )
        self.dispatcher.send_notices()  # those of the past

    def put(self, question: str = "") -> None:
        """Send all there is to send."""
        while self.dispatcher.send(self.surface):
            pass

    settle = put

    def answer(self, word: str, who: str = "ana") -> None:
        raise NotImplementedError

    def forge(self) -> None:
        raise NotImplementedError

    def shown(self) -> str:
        """Every text that arrived, as its bytes are."""
        return "\n".join(text for body in self.server.accepted for text in strings_in(json.loads(body)))

    def ends(self) -> str:
        return self.shown()

    def tell(self, text: str) -> None:
        with self.gate.store.write() as tx:
            record(tx, events.PolicyAlerted("d", text), stream=self.gate.stream)
        while self.dispatcher.send_notices():
            pass

    def set_down(self, down: bool) -> None:
        self.server.down = down

    def stop(self) -> None:
        self.server.stop()

    def take(self, sent: tuple[str, dict[str, str], bytes]) -> None:
        """A message that is sent to us."""
        _, headers, body = sent
        given = self.surface.receive(headers, body)
        assert given is not None
        self.count(given)

    def count(self, given: GivenAnswer) -> None:
        take_answer(self.gate, self.surface, given, RefusalLimit())


class TelegramSeat(RemoteSeat):
    def __init__(self, detail: str) -> None:
        self.server = FakeTelegram()
        settings = TelegramSettings("chat", TOKEN, "7", ("41",), detail, self.server.url)
        (self.surface,) = make_surfaces([settings])

    def answer(self, word: str, who: str = "ana", on: int | None = None) -> None:
        self.server.press(LABELS[word], 41 if who == "ana" else 666, on=on)
        self._fetch()

    def forge(self) -> None:
        self.server.press("Deny", 41, data="once:AAAAAAAAAAAAAAAAAAAAAA")
        self._fetch()

    def _fetch(self) -> None:
        for one in self.surface.fetch(0):
            self.count(one)


class SlackSeat(RemoteSeat):
    def __init__(self, detail: str) -> None:
        self.server = FakeSlack()
        settings = SlackSettings("slack", TOKEN, SIGNING, "C1", ("U41",), detail, self.server.url)
        (self.surface,) = make_surfaces([settings])

    def answer(self, word: str, who: str = "ana", on: str | None = None) -> None:
        self.take(self.server.press(LABELS[word], "U41" if who == "ana" else "U666", on=on))

    def forge(self) -> None:
        self.take(self.server.press("Allow once", "U41", secret="other"))


class NtfySeat(RemoteSeat):
    knows_people = False
    """Nobody can say who reads a topic."""

    def __init__(self, detail: str) -> None:
        self.server = FakeNtfy()
        answers = "http://localhost:7333/surfaces/v1/phone"
        (self.surface,) = make_surfaces(
            [NtfySettings("phone", "a-secret-topic", self.server.url, "", answers, detail)]
        )

    def answer(self, word: str, who: str = "ana") -> None:
        self.take(self.server.press(LABELS[word]))

    def forge(self) -> None:
        where, headers, body = self.server.press("Deny")
        self.take((where, headers, body.replace(b'"deny"', b'"once"')))


class WebhookSeat(RemoteSeat):
    def __init__(self, detail: str) -> None:
        self.server = FakeReceiver()
        settings = WebhookSettings("hook", self.server.url, encode_secret(SECRET), ("ana",), detail)
        (self.surface,) = make_surfaces([settings])

    def answer(self, word: str, who: str = "ana") -> None:
        self.take(self.server.reply(word, who))

    def forge(self) -> None:
        self.take(self.server.reply("once", "ana", secret=b"x" * 32))


class ObsidianSeat(RemoteSeat):
    """The plugin fetches what waits, and posts what somebody says. While it is down, it does not."""

    takes_notices = False

    def __init__(self, detail: str) -> None:
        settings = ObsidianSettings("vault", encode_secret(SECRET), ("ana",), detail)
        (self.surface,) = make_surfaces([settings])
        self._down = False
        self._cards: list[Any] = []
        self._gone: list[str] = []

    def put(self, question: str = "") -> None:
        super().put()
        if not self._down:
            here = open_cards(self.gate, self.surface, lambda name: LINK + name)
            names = {one.question for one in here}
            self._gone += [one.question for one in self._cards if one.question not in names]
            self._cards += [one for one in here if one not in self._cards]

    settle = put

    def answer(self, word: str, who: str = "ana") -> None:
        self._post(word, who, SECRET)

    def forge(self) -> None:
        self._post("once", "ana", b"x" * 32)

    def _post(self, word: str, by: str, secret: bytes) -> None:
        card = self._cards[-1]
        token = next(one.token for one in card.buttons if one.answer == word)
        body = msgspec.json.encode({"question": card.question, "answer": word, "token": token, "by": by})
        at = int(time.time())
        signature = sign_message(secret, "m1", at, body)
        headers = {"webhook-id": "m1", "webhook-timestamp": str(at), "webhook-signature": signature}
        self.take(("vault", headers, body))

    def shown(self) -> str:
        return "\n".join(text for one in self._cards for text in strings_in(msgspec.to_builtins(one)))

    def ends(self) -> str:
        return f"gone: {self._gone}"

    def set_down(self, down: bool) -> None:
        self._down = down

    def stop(self) -> None:
        """Nothing runs."""


class BrowserSeat(RemoteSeat):
    """A browser that is signed in and subscribed, whose notification can deny."""

    answers = ("deny",)
    takes_notices = False
    surface: BrowserSurface

    def __init__(self, detail: str) -> None:
        self.server = FakePushService()
        self.keys = BrowserKeys()

    def begin(self, gate: Gate) -> None:
        self.cookie = use_link(gate, make_link(gate, "ana"))
        keys = encode(self.keys.point), encode(self.keys.auth)
        subscribe(gate, self.cookie, self.server.endpoint("1"), *keys)
        (self.surface,) = browser_surfaces(gate)
        super().begin(gate)

    def answer(self, word: str, who: str = "ana") -> None:
        cookie = self.cookie if who == "ana" else use_link(self.gate, make_link(self.gate, who))
        self._deny(self._told()["deny"], cookie)

    def forge(self) -> None:
        self._deny("AAAA", self.cookie)

    def _told(self) -> dict[str, str]:
        told: list[dict[str, str]] = self.server.opened(self.keys)
        return [one for one in told if one["kind"] == "question"][-1]

    def _deny(self, token: str, cookie: str) -> None:
        body = json.dumps({"question": self._told()["question"], "token": token}).encode()
        self.take(("", {"cookie": f"sayso_browser={cookie}"}, body))

    def shown(self) -> str:
        return "\n".join(text for one in self.server.opened(self.keys) for text in strings_in(one))


class MailSeat(RemoteSeat):
    """A mailbox. A mail holds a link; nobody answers by mail."""

    answers = ()

    def __init__(self, detail: str) -> None:
        self.server = FakeMailServer()
        settings = MailSettings(
            "post",
            "127.0.0.1",
            "sayso@example.org",
            "ana@example.org",
            self.server.port,
            "none",
            detail=detail,
        )
        (self.surface,) = make_surfaces([settings])

    def forge(self) -> None:
        self.surface.receive({"from": "ana@example.org"}, b"once")

    def ends(self) -> str:
        """Nobody takes back a mail: nothing more is sent, and the page behind its link tells the end."""
        with self.gate.store.read() as tx:
            rows = [tx.delivery(self.surface.name, one.id) for one in tx.questions(None, limit=100)]
        return f"{[one.state for one in rows if one is not None]} {len(self.server.mails)} mails"

    def shown(self) -> str:
        """Subject and text of every mail, as a mail program shows them."""
        mails = [message_from_string(one, policy=policy.default) for one in self.server.mails]
        return "\n".join(f"{one['subject']}\n{one.get_content()}" for one in mails)


PROGRAM = """#!{python}
import json, os, sys
with open({log!r}, "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
if os.path.exists({down!r}):
    sys.exit(1)
print(7, flush=True)
"""


class DesktopSeat(RemoteSeat):
    """A program in the place of `notify-send`, which notes what it is given."""

    answers = ()
    surface: Desktop

    def __init__(self, detail: str) -> None:
        self._folder = TemporaryDirectory()
        here = Path(self._folder.name)
        self._log, self._down, program = here / "log", here / "down", here / "notify-send"
        program.write_text(PROGRAM.format(python=sys.executable, log=str(self._log), down=str(self._down)))
        program.chmod(0o755)
        self._path, os.environ["PATH"] = os.environ["PATH"], self._folder.name
        self.surface = Desktop(DesktopSettings("desk", detail), "linux")

    def forge(self) -> None:
        self.surface.receive({}, b"once")

    def shown(self) -> str:
        lines = self._log.read_text().splitlines() if self._log.exists() and not self._down.exists() else []
        return "\n".join(text for one in lines for text in json.loads(one))

    def set_down(self, down: bool) -> None:
        if down:
            self._down.touch()
        else:
            self._down.unlink()
            self._log.unlink()

    def stop(self) -> None:
        self.surface.stop()
        os.environ["PATH"] = self._path
        self._folder.cleanup()


ANSWERING: dict[str, Callable[[str], Any]] = {
    "telegram": TelegramSeat,
    "slack": SlackSeat,
    "ntfy": NtfySeat,
    "webhook": WebhookSeat,
}
"""Services that are sent JSON, and whose people can allow."""
REMOTE: dict[str, Callable[[str], Any]] = {
    **ANSWERING,
    "obsidian": ObsidianSeat,
    "push": BrowserSeat,
    "mail": MailSeat,
    "desktop": DesktopSeat,
}
