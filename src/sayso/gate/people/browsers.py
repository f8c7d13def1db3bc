"""Signing in to the page: a one-time link made at a terminal, and the browser that used it."""

from __future__ import annotations

import secrets

import msgspec
from msgspec import UNSET

from sayso.core.audit import events
from sayso.core.durations import HOUR
from sayso.core.errors import SaysoError
from sayso.gate.gate import Gate, writing
from sayso.gate.people.passkeys import has_passkey
from sayso.gate.rows.journal import record
from sayso.gate.sealed_values import find_value, lock_values, secret_value_name, value_name, write_value
from sayso.store.contract import Reader, Writer

LINK_LASTS = 120.0
BROWSER_LASTS = 12 * HOUR


class LinkRefused(SaysoError):
    """The link was used, is too old, or was never made: the three look the same."""

    code = "link_refused"


class SignInRecord(msgspec.Struct, frozen=True):
    """The record of a link or a browser: for whom, until when, and whether it is over.

    `passkey` is the one that a browser signed in with: once that is removed, the browser is signed out.
    """

    name: str
    until: float
    over: bool = False
    passkey: str | None = None


class Browser(msgspec.Struct, frozen=True):
    """A browser that is signed in: as whom, and since when."""

    name: str
    since: float
    passkey: str | None = None


def make_link(gate: Gate, name: str, *, by: str | None = None) -> str:
    """Make a code that signs one browser in, once, within two minutes. It is never written to a log.

    `by` is who made it, if it is for somebody else.
    """
    code = secrets.token_urlsafe(32)
    with writing(gate) as tx:
        kept = SignInRecord(name, tx.now + LINK_LASTS)
        write_value(gate, tx, secret_value_name("link", code), kept, until=kept.until)
        record(tx, events.LinkMade(name, UNSET if by is None else by), stream=gate.stream)
    return code


def use_link(gate: Gate, code: str) -> str:
    """Sign in the browser that followed the link; return the secret of its cookie."""
    with gate.store.read() as looked:  # who has no link does not hold up those who write
        _check_link(_find_valid_record(gate, looked, secret_value_name("link", code)))
    with writing(gate) as tx:
        lock_values(tx, "link")  # of several who follow one link, one signs in
        kept = _check_link(_find_valid_record(gate, tx, secret_value_name("link", code)))
        write_value(
            gate,
            tx,
            secret_value_name("link", code),
            msgspec.structs.replace(kept, over=True),
            until=kept.until,
        )
        return sign_in(gate, tx, kept.name, "link")


def _check_link(kept: SignInRecord | None) -> SignInRecord:
    if kept is None:
        raise LinkRefused("this link was used or is too old", hint="`sayso link` makes a new one")
    return kept


def sign_in(gate: Gate, tx: Writer, name: str, by: str, *, passkey: events.Text = UNSET) -> str:
    """Sign a browser in; return the secret of its cookie."""
    browser = secrets.token_urlsafe(32)
    kept = SignInRecord(name, tx.now + BROWSER_LASTS, passkey=None if passkey is UNSET else passkey)
    write_value(gate, tx, secret_value_name("browser", browser), kept, until=kept.until)
    record(tx, events.SignedIn(name, by, passkey), stream=gate.stream)
    return browser


def user_of_browser(gate: Gate, secret: str) -> str | None:
    """Return who is signed in with this cookie; None if nobody is."""
    found = find_browser(gate, secret)
    return None if found is None else found.name


def find_browser(gate: Gate, secret: str) -> Browser | None:
    """The same, with since when."""
    with gate.store.read() as tx:
        return find_browser_by_key(gate, tx, browser_key(secret))


def browser_key(secret: str) -> str:
    """Return what names the sign-in of this cookie. Nobody can make the cookie from it."""
    return secret_value_name("browser", secret).partition("/")[2]


def find_browser_by_key(gate: Gate, tx: Reader, key: str) -> Browser | None:
    """Return the browser of this sign-in, and since when; None if it is over."""
    kept = _find_valid_record(gate, tx, value_name("browser", key))
    if kept is None or (kept.passkey is not None and not has_passkey(gate, tx, kept.passkey)):
        return None
    return Browser(kept.name, kept.until - BROWSER_LASTS, kept.passkey)


def page_key(gate: Gate, secret: str) -> str:
    """Return the key with which the page itself proves that it makes a request.

    A browser sends its cookie to every port of this machine, so whoever gets the user to open a page of
    theirs here receives it too. This key is stored where only our own page can read it, and cannot be made
    from the cookie.
    """
    return gate.sealer.text("page", secret_value_name("browser", secret)).hex()


def sign_out(gate: Gate, secret: str) -> None:
    name = secret_value_name("browser", secret)
    with writing(gate) as tx:
        kept = _find_valid_record(gate, tx, name)
        if kept is not None:
            over = msgspec.structs.replace(kept, over=True)
            write_value(gate, tx, name, over, until=over.until)
            record(tx, events.SignedOut(kept.name), stream=gate.stream)


def _find_valid_record(gate: Gate, tx: Reader, name: str) -> SignInRecord | None:
    kept = find_value(gate, tx, name, SignInRecord)
    return kept if kept is not None and not kept.over and tx.now < kept.until else None
