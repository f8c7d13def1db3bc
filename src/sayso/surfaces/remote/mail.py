"""E-mail: a message with a link to the question. Nobody can answer from it."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Iterable, Mapping
from email.message import EmailMessage
from typing import Literal

import msgspec

from sayso.core.audit.notices import Notice
from sayso.gate.deliveries.remote_surface import GivenAnswer, QuestionCard
from sayso.surfaces.remote.exchange import LONGEST_EXCHANGE, SendingFailed, ServiceDown, cut_off_after

READY = 220
"""What a mail server says first, if it takes mail."""
OF_ONE_MAIL = (smtplib.SMTPDataError, smtplib.SMTPRecipientsRefused, smtplib.SMTPSenderRefused)
"""What a server says of one mail, while it may take the next."""


class MailSettings(msgspec.Struct, frozen=True, tag="mail", tag_field="kind", forbid_unknown_fields=True):
    """The mail server, and from whom to whom."""

    name: str
    host: str
    sender: str
    to: str
    port: int = 587
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str = ""
    password: str = ""
    detail: str = "masked"


class Mail:
    """Sends to one address."""

    longest = 100_000
    allows = False
    cuts = False
    polls = False
    approvers: frozenset[str] = frozenset()

    def __init__(self, settings: MailSettings) -> None:
        self.name, self.detail = settings.name, settings.detail
        self._settings = settings

    def show(self, card: QuestionCard, key: str) -> str:
        link = f"\n\nAnswer it here: {card.link}" if card.link else "\n\nAnswer it with: sayso inbox"
        self._send(card.title, f"{card.body}{link}", key)
        return key

    def close(self, ref: str | None, question: str, key: str, ending: str) -> None:
        """A mail cannot be taken back; the page it links to says how the question ended."""

    def tell(self, notice: Notice, key: str) -> None:
        self._send("Sayso: a notice", notice.text, key)

    def fetch(self, seconds: float) -> Iterable[GivenAnswer]:
        return ()

    def receive(self, headers: Mapping[str, str], body: bytes) -> GivenAnswer:
        raise SendingFailed("nobody can answer by e-mail")

    def _send(self, subject: str, text: str, key: str) -> None:
        settings, mail = self._settings, EmailMessage()
        mail["From"], mail["To"] = settings.sender, settings.to
        mail["Subject"] = _spell_subject(subject)
        mail["Message-ID"] = f"<{key}@sayso>"
        mail.set_content(text)
        server = make_client(settings)
        try:
            with cut_off_after(LONGEST_EXCHANGE, lambda: server.sock), server:
                _greet(server, settings)
                if settings.security == "starttls":
                    server.starttls(context=ssl.create_default_context())
                if settings.user:
                    server.login(settings.user, settings.password)
                server.send_message(mail)
        except (OSError, smtplib.SMTPException) as error:
            kind = SendingFailed if isinstance(error, OF_ONE_MAIL) else ServiceDown
            raise kind(f"{type(error).__name__}: the mail server did not take it") from None


def _spell_subject(text: str) -> str:
    """One line in which nothing is decoded: an encoded word (RFC 2047) could hold the end of the header."""
    return " ".join(text.split()).replace("=?", "=\\x3f")[:200]


def make_client(settings: MailSettings) -> smtplib.SMTP:
    """Return a client that is not connected yet, and checks the server's certificate where there is TLS."""
    client = (
        smtplib.SMTP_SSL(timeout=LONGEST_EXCHANGE, context=ssl.create_default_context())
        if settings.security == "tls"
        else smtplib.SMTP(timeout=LONGEST_EXCHANGE)
    )
    client.sock = None
    client._host = settings.host  # type: ignore[attr-defined]  # noqa: SLF001  whose certificate it has to be
    return client


def _greet(server: smtplib.SMTP, settings: MailSettings) -> None:
    code, said = server.connect(settings.host, settings.port)
    if code != READY:
        raise smtplib.SMTPConnectError(code, said)
