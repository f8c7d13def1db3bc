"""Signing in with a provider (OpenID Connect): the attempt, and whom of the team its outcome signs in.

- An attempt belongs to one browser, one provider and one of our pages, lasts ten minutes and signs in once.
- Nothing is stored until it does: the secret of the attempt, which the browser keeps in a cookie, is sealed,
  and what the provider is sent (state, nonce, the challenge of PKCE) is made from it with the gate's key.
- The page itself keeps a second proof: cookies of one host are sent to, and can be set by, all of its ports.
- Only people of the policy get in, by the id that the provider proved. A name is never taken from a claim.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from sayso.core.durations import MINUTE
from sayso.core.errors import SaysoError
from sayso.core.team import EMAIL, SUBJECT, ProvenIdentity
from sayso.gate.gate import Gate, act_under_current_policy, current_gate, writing
from sayso.gate.people.browsers import find_proven_person, sign_in
from sayso.gate.people.passkey_sign_in import SignInRefused
from sayso.gate.rows.webauthn import BadProof, decode_base64url, encode_base64url
from sayso.gate.sealed_values import TamperedValue, lock_values, read_value, value_name, write_value

LASTS = 10 * MINUTE
NONCE, TIME, MAC = 16, 8, 32
NOT_YOURS = "this sign-in was not begun in this browser, took too long, or was used already"
BEGIN_AGAIN = "begin again on the sign-in page"


class NotOnTeam(SaysoError):
    """The provider knows whoever signed in; the policy does not."""

    code = "not_on_team"


class SignInAttempt(msgspec.Struct, frozen=True):
    """One try to sign in: what the browser keeps in its cookie, and what the provider is sent."""

    secret: str
    name: str
    until: float
    state: str
    nonce: str
    verifier: str
    page: str
    """What the page keeps, beside the cookie."""

    @property
    def challenge(self) -> str:
        """Return the challenge of PKCE (RFC 7636, S256)."""
        return encode_base64url(sha256(self.verifier.encode()).digest())


class Claims(msgspec.Struct, frozen=True):
    """The claims of a verified ID token. `email` is empty unless the provider verified it."""

    issuer: str
    subject: str
    email: str = ""
    groups: tuple[str, ...] = ()


class _UsedAttempt(msgspec.Struct, frozen=True):
    name: str


def begin_attempt(gate: Gate, provider: str, origin: str) -> SignInAttempt:
    """Begin to sign in with this provider, on this page of ours."""
    with gate.store.read() as tx:
        until = int(tx.now + LASTS)
    head = secrets.token_bytes(NONCE) + until.to_bytes(TIME, "big")
    return _attempt(gate, head, _seal(gate, "attempt", head, provider, origin))


def find_attempt(
    gate: Gate, provider: str, origin: str, *, secret: str, state: str, page: str
) -> SignInAttempt:
    """Return the attempt that this browser began here, with this provider; else it is refused."""
    try:
        raw = decode_base64url(secret)
    except BadProof as error:
        raise SignInRefused(NOT_YOURS, hint=BEGIN_AGAIN) from error
    head, mac = raw[: NONCE + TIME], raw[NONCE + TIME :]
    ours = secrets.compare_digest(mac, _seal(gate, "attempt", head, provider, origin))
    if len(raw) != NONCE + TIME + MAC or not ours:
        raise SignInRefused(NOT_YOURS, hint=BEGIN_AGAIN)
    found = _attempt(gate, head, mac)
    with gate.store.read() as tx:
        late = not tx.now < found.until <= tx.now + LASTS
    same = secrets.compare_digest(found.state.encode(), state.encode())
    if late or not same or not secrets.compare_digest(found.page.encode(), page.encode()):
        raise SignInRefused(NOT_YOURS, hint=BEGIN_AGAIN)
    return found


def finish_attempt(gate: Gate, attempt: SignInAttempt, provider: str, claims: Claims) -> tuple[str, str]:
    """Sign in whom the provider proved; return their name in the policy, and the secret of the cookie."""
    return act_under_current_policy(current_gate(gate), lambda now: _finish(now, attempt, provider, claims))


def _finish(gate: Gate, attempt: SignInAttempt, provider: str, claims: Claims) -> tuple[str, str]:
    with writing(gate) as tx:
        lock_values(tx, "sign-in")  # of several who come back with one attempt, one signs in
        place = value_name("sign-in", attempt.name)
        try:
            used = read_value(gate, tx, place, _UsedAttempt) is not None
        except TamperedValue:
            used = True
        if used or not tx.now < attempt.until:
            raise SignInRefused(NOT_YOURS, hint=BEGIN_AGAIN)
        for proven in _identities(provider, claims):
            person = find_proven_person(gate, tx, proven)
            if person is not None:
                write_value(gate, tx, place, _UsedAttempt(attempt.name), until=attempt.until)
                return person, sign_in(gate, tx, person, "provider", proven=proven)
    raise _explain_refusal(gate, _identities(provider, claims))


def _explain_refusal(gate: Gate, proven: Sequence[ProvenIdentity]) -> NotOnTeam:
    """Say what is missing, to somebody whom the provider knows: an id in the policy, or a group."""
    team = (gate.base or gate.policy).team
    known = next((one.identity for one in proven if team.person_of(one.identity) is not None), None)
    if known is not None:
        told = f"the policy knows you as {known}, but the provider does not confirm your groups"
        return NotOnTeam(told, hint="ask the provider's administrator to add you to the group")
    told = f"the policy names nobody as {' or '.join(one.identity for one in proven)}"
    return NotOnTeam(told, hint="ask whoever maintains the policy to add that id to `people`")


def _identities(provider: str, claims: Claims) -> list[ProvenIdentity]:
    """Return the ids that these claims prove, the subject first."""
    found = [f"{SUBJECT}:{provider}/{claims.subject}"]
    if claims.email:
        found.append(f"{EMAIL}:{provider}/{claims.email}")
    return [ProvenIdentity(one, claims.issuer, claims.groups) for one in found]


def _attempt(gate: Gate, head: bytes, mac: bytes) -> SignInAttempt:
    until = float(int.from_bytes(head[NONCE:], "big"))
    state, nonce, verifier, page = (
        encode_base64url(_seal(gate, part, head)) for part in ("state", "nonce", "verifier", "page")
    )
    return SignInAttempt(encode_base64url(head + mac), head.hex(), until, state, nonce, verifier, page)


def _seal(gate: Gate, part: str, head: bytes, *about: str) -> bytes:
    return gate.sealer.text(f"provider-{part}", "\n".join((head.hex(), *about)))
