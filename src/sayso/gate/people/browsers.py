"""Signing in to the page: a one-time link made at a terminal, and the browser that used it.

A browser that signed in with a provider is somebody of the policy's team: whoever loses their place there, or
the provider its place in the operator's settings, is signed out with that.
"""

from __future__ import annotations

import secrets

import msgspec
from msgspec import UNSET

from sayso.core.audit import events
from sayso.core.durations import HOUR
from sayso.core.errors import SaysoError
from sayso.core.team import ProvenIdentity
from sayso.gate.gate import Gate, act_under_current_policy, current_gate, writing
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
    `proven` is what a provider proved of its user: once that is not this person any more, likewise.
    """

    name: str
    until: float
    over: bool = False
    passkey: str | None = None
    proven: ProvenIdentity | None = None


class Browser(msgspec.Struct, frozen=True):
    """A browser that is signed in: as whom, and since when.

    `identity` is the id of its user that a provider proved; empty if a link or a passkey signed them in.
    """

    name: str
    since: float
    passkey: str | None = None
    identity: str = ""


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


def sign_in(
    gate: Gate,
    tx: Writer,
    name: str,
    by: str,
    *,
    passkey: events.Text = UNSET,
    proven: ProvenIdentity | None = None,
) -> str:
    """Sign a browser in; return the secret of its cookie."""
    browser = secrets.token_urlsafe(32)
    until = tx.now + BROWSER_LASTS
    kept = SignInRecord(name, until, passkey=None if passkey is UNSET else passkey, proven=proven)
    write_value(gate, tx, secret_value_name("browser", browser), kept, until=until)
    identity = UNSET if proven is None else proven.identity
    record(tx, events.SignedIn(name, by, passkey, identity), stream=gate.stream)
    return browser


def user_of_browser(gate: Gate, secret: str) -> str | None:
    """Return who is signed in with this cookie; None if nobody is."""
    found = find_browser(gate, secret)
    return None if found is None else found.name


def find_browser(gate: Gate, secret: str) -> Browser | None:
    """The same, with since when; under the policy in force now."""

    def find(now: Gate) -> Browser | None:
        with now.store.read() as tx:
            return find_browser_by_key(now, tx, browser_key(secret))

    return act_under_current_policy(current_gate(gate), find)


def browser_key(secret: str) -> str:
    """Return what names the sign-in of this cookie. Nobody can make the cookie from it."""
    return secret_value_name("browser", secret).partition("/")[2]


def find_browser_by_key(gate: Gate, tx: Reader, key: str) -> Browser | None:
    """Return the browser of this sign-in, and since when; None if it is over.

    PolicyMoved if that depends on a policy which is not in force any more.
    """
    kept = _find_valid_record(gate, tx, value_name("browser", key))
    if kept is None or (kept.passkey is not None and not has_passkey(gate, tx, kept.passkey)):
        return None
    since = kept.until - BROWSER_LASTS
    if kept.proven is None:
        return Browser(kept.name, since, kept.passkey)
    if find_proven_person(gate, tx, kept.proven) != kept.name:
        return None
    return Browser(kept.name, since, kept.passkey, kept.proven.identity)


def find_proven_person(gate: Gate, tx: Reader, proven: ProvenIdentity) -> str | None:
    """Return who of the team in force this is, by the word of a provider that counts; None if nobody."""
    policy = gate.base or gate.policy
    if gate.live is not None:
        gate.live.check(tx, policy)
    person, provider = policy.team.person_of(proven.identity), gate.providers.get(proven.provider)
    if person is None or provider is None:
        return None
    return person if provider.confirms(proven, policy.team.people[person]) else None


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
