"""A notification on the desktop of the machine the service runs on. It opens the page; nobody answers there.

- No shell is started, and nothing an agent wrote is in an argument: other users here can read those.
  It says which operations, of which risk, and on Windows even that goes through the environment.
- On Linux `notify-send` tells us that it was clicked, and we open the page; elsewhere the system does that.
- That a program took a message does not prove that anybody saw it.
"""

from __future__ import annotations

import base64
import os
import re
import selectors
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO

import msgspec

from sayso.core.audit.notices import Notice
from sayso.gate.deliveries.remote_surface import GivenAnswer, QuestionCard
from sayso.surfaces.remote.exchange import SendingFailed, ServiceDown

PROGRAMS = {"linux": "notify-send", "darwin": "terminal-notifier", "win32": "powershell.exe"}
STARTS_WITHIN = 5.0
MOST_WATCHED = 20
URGENCY = {"low": "low", "moderate": "normal", "high": "critical"}
_ODD = re.compile(r"[^A-Za-z0-9_. ,()-]")
TOAST = """
$null = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$xml = New-Object Windows.Data.Xml.Dom.XmlDocument
$xml.LoadXml('<toast activationType="protocol"><visual><binding template="ToastGeneric"><text/><text/></binding></visual></toast>')
$xml.DocumentElement.SetAttribute('launch', $env:SAYSO_LINK)
$texts = $xml.GetElementsByTagName('text')
$null = $texts.Item(0).AppendChild($xml.CreateTextNode($env:SAYSO_TITLE))
$null = $texts.Item(1).AppendChild($xml.CreateTextNode($env:SAYSO_TEXT))
$toast = New-Object Windows.UI.Notifications.ToastNotification $xml
$toast.Tag = $env:SAYSO_TAG
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier('Sayso').Show($toast)
"""  # noqa: E501  a script, which is not ours to break


class DesktopSettings(
    msgspec.Struct, frozen=True, tag="desktop", tag_field="kind", forbid_unknown_fields=True
):
    """Nothing has to be set."""

    name: str
    detail: str = "masked"


class DesktopMessage(msgspec.Struct, frozen=True):
    """The text of a notification: our own words, names of operations, the address of a question."""

    title: str
    text: str
    tag: str
    urgency: str = "normal"
    link: str = ""


class Desktop:
    """Notifies whoever sits at this machine."""

    longest = 1_000
    allows = False
    cuts = True
    polls = True
    """Nothing is answered there, but clicks are waited for in the same thread."""
    approvers: frozenset[str] = frozenset()

    def __init__(self, settings: DesktopSettings, platform: str = sys.platform) -> None:
        self.name, self.detail = settings.name, settings.detail
        self._platform = platform
        self._watched: dict[str, tuple[subprocess.Popen[bytes], str]] = {}
        self._ids: dict[str, str] = {}
        self._lock = threading.RLock()
        """One thread sends, another waits for clicks."""

    def show(self, card: QuestionCard, key: str) -> str:
        operations = mask_name(", ".join(card.operations))
        message = DesktopMessage(
            f"Sayso: {card.risk} risk",
            f"{operations}. Click to open it.",
            key,
            URGENCY[card.risk],
            card.link or "",
        )
        self._notify(message)
        return key

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        """Replace it, where that can be done; how it ended is told on the page."""
        if self._platform == "linux" and key in self._ids:
            self._run(
                [
                    "--replace-id",
                    self._ids.pop(key),
                    "--expire-time=4000",
                    "--",
                    "Sayso",
                    "Answered, or over.",
                ]
            )
        elif self._platform == "darwin":
            self._run(["-remove", key])

    def tell(self, notice: Notice, key: str) -> None:
        what = mask_name(notice.event.replace("_", " ").lower())
        self._notify(DesktopMessage("Sayso: a notice", f"{what}: see sayso audit tail", key))

    def fetch(self, seconds: float) -> Iterable[GivenAnswer]:
        """Open the page for every notification that was clicked meanwhile. That answers nothing."""
        until = time.monotonic() + seconds
        while True:
            self._look(min(0.2, max(0.0, until - time.monotonic())))
            if time.monotonic() >= until:
                return ()

    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer:
        raise SendingFailed("nobody can answer on the desktop")

    def _notify(self, message: DesktopMessage) -> None:
        if self._platform == "darwin":
            where = ["-open", message.link] if message.link else []
            self._run(["-title", message.title, "-message", message.text, "-group", message.tag, *where])
        elif self._platform == "win32":
            self._toast(message)
        else:
            self._notify_and_watch(message)

    def _notify_and_watch(self, message: DesktopMessage) -> None:
        shown = ["--app-name=Sayso", f"--urgency={message.urgency}", "--print-id"]
        if message.link and len(self._watched) < MOST_WATCHED:
            shown += ["--wait", "--action=open=Open"]
        self._drop(message.tag)  # of an earlier try
        started = self._start([*shown, "--", message.title, message.text], out=subprocess.PIPE)
        self._watched[message.tag] = started, message.link
        until = time.monotonic() + STARTS_WITHIN
        while message.tag not in self._ids:  # which is the first thing it tells
            if message.tag not in self._watched or time.monotonic() > until:
                self._drop(message.tag)
                raise ServiceDown("the desktop did not accept the notification")
            self._look(0.1, [message.tag])

    def _toast(self, message: DesktopMessage) -> None:
        script = base64.b64encode(TOAST.encode("utf-16-le")).decode()
        given = {"SAYSO_TITLE": message.title, "SAYSO_TEXT": message.text, "SAYSO_LINK": message.link}
        environ = {**os.environ, **given, "SAYSO_TAG": message.tag[-60:]}
        self._run(["-NoProfile", "-NonInteractive", "-EncodedCommand", script], environ)

    def _run(self, args: Sequence[str], environ: Mapping[str, str] | None = None) -> None:
        started = self._start(args, environ=environ)
        try:
            code = started.wait(STARTS_WITHIN)
        except subprocess.TimeoutExpired:
            started.kill()
            raise ServiceDown("the desktop does not answer") from None
        if code != 0:
            raise ServiceDown("the desktop did not accept the notification")

    def _start(
        self, args: Sequence[str], *, environ: Mapping[str, str] | None = None, out: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        named = PROGRAMS.get(self._platform, PROGRAMS["linux"])
        program = shutil.which(named)
        if program is None:
            raise ServiceDown(f"{named} is not installed")
        quiet = subprocess.DEVNULL
        try:
            return subprocess.Popen(  # noqa: S603  no shell, and nothing of an agent's
                [program, *args], stdin=quiet, stdout=out, stderr=quiet, env=environ
            )
        except OSError as error:
            raise ServiceDown(f"{named}: {error.strerror}") from None

    def _look(self, seconds: float, tags: Iterable[str] | None = None) -> None:
        """Read what the programs that wait for a click have told."""
        with self._lock, selectors.DefaultSelector() as ready:
            for tag in list(self._watched if tags is None else tags):
                process = self._watched[tag][0]
                if process.stdout is not None:
                    ready.register(process.stdout, selectors.EVENT_READ, tag)
            for key, _ in ready.select(0.05):
                self._hear(key.data, key.fileobj)  # type: ignore[arg-type]  # it was registered above
        time.sleep(max(0.0, seconds - 0.05))

    def _hear(self, tag: str, told: IO[bytes]) -> None:
        link = self._watched[tag][1]
        line = os.read(told.fileno(), 200).decode("ascii", "replace")
        for word in line.split():
            if word.isdigit():
                self._ids[tag] = word
            elif word == "open":
                open_page(link)
        if not line:  # it has ended
            self._drop(tag)

    def stop(self) -> None:
        """Wait for no more clicks."""
        for tag in list(self._watched):
            self._drop(tag)

    def _drop(self, tag: str) -> None:
        process, _ = self._watched.pop(tag, (None, ""))
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def mask_name(text: str) -> str:
    """Return the text with nothing in it but what names of operations are made of."""
    return _ODD.sub("?", text)[:200]


def open_page(link: str) -> None:
    """Open the page in the browser of whoever sits here."""
    opener = shutil.which("xdg-open")
    if opener is not None and link.startswith(("http://", "https://")):
        quiet = subprocess.DEVNULL
        with suppress(subprocess.TimeoutExpired, OSError):
            subprocess.run(  # noqa: S603  the address of our own page
                [opener, link], stdin=quiet, stdout=quiet, stderr=quiet, timeout=STARTS_WITHIN, check=False
            )
