"""ID tokens: what has to be right with one before anything in it is believed (OpenID Connect Core, 3.1.3.7).

- Signed with a key that the provider publishes, by an algorithm of public keys. What the token itself says of
  its algorithm only chooses among those: `none` and shared secrets are none of them.
- By this issuer, for us, in answer to this attempt, and of now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from sayso.core.digest import parse_json
from sayso.core.durations import MINUTE
from sayso.core.errors import SaysoError
from sayso.core.extras import needs_extra
from sayso.gate.decoding import convert_to
from sayso.gate.people.provider_sign_in import Claims

ALGORITHMS: Mapping[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "RS384": ("RSA", None),
    "RS512": ("RSA", None),
    "PS256": ("RSA", None),
    "PS384": ("RSA", None),
    "PS512": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The algorithms that count, and the kind and curve of their keys."""
PUBLIC = ("kty", "crv", "n", "e", "x", "y")
"""The parts of a key that are looked at."""
SKEW = MINUTE
"""Seconds by which the provider's clock may differ from ours."""
OLDEST = 10 * MINUTE
LARGEST_TOKEN = 64 * 1024
LONGEST_SUBJECT = 255
Key = Mapping[str, Any]


class BadToken(SaysoError):
    """The ID token proves nothing."""

    code = "bad_id_token"


class Expected(msgspec.Struct, frozen=True):
    """The values a token must have: issuer, audience, nonce."""

    issuer: str
    client_id: str
    nonce: str


class _Header(msgspec.Struct, frozen=True):
    alg: str
    kid: str | None = None
    typ: str = "JWT"


class _Body(msgspec.Struct, frozen=True):
    iss: str
    sub: str
    aud: str | tuple[str, ...]
    exp: float
    iat: float
    nonce: str
    azp: str | None = None
    nbf: float = 0.0
    email: Any = None
    email_verified: Any = None


def verify_id_token(
    token: str,
    find_keys: Callable[[str | None], Sequence[Key]],
    expected: Expected,
    *,
    now: float,
    groups: str | None = None,
) -> Claims:
    """Return what the token says of somebody, if all is right with it. `groups` is the claim that names them.

    `find_keys` returns the provider's keys; it is told the name of the one that is wanted.
    """
    claims = _verify_signature(token, find_keys)
    try:
        body = convert_to(claims, _Body)
    except msgspec.ValidationError as error:
        raise BadToken(f"the token lacks a claim, or has a wrong one: {error}") from error
    _check_claims(body, expected, now)
    email = body.email if body.email_verified is True and isinstance(body.email, str) else ""
    named = claims.get(groups) if groups is not None else None
    texts = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    return Claims(body.iss, body.sub, email if email.isprintable() else "", tuple(texts))


def _verify_signature(token: str, find_keys: Callable[[str | None], Sequence[Key]]) -> dict[str, Any]:
    """Return the claims of a token whose signature holds."""
    with needs_extra("oidc", "signing in with a provider"):
        import jwt
    if len(token) > LARGEST_TOKEN:
        raise BadToken("the token is too large")
    try:
        header = convert_to(jwt.get_unverified_header(token), _Header)
        key = _choose_key(header, find_keys(header.kid))
        signer = jwt.PyJWS(algorithms=[header.alg], options={"enforce_minimum_key_length": True})
        held = signer.decode_complete(token, jwt.PyJWK(key, header.alg), algorithms=[header.alg])
    except (jwt.PyJWTError, msgspec.ValidationError, ValueError) as error:
        raise BadToken(f"its signature is not valid: {error}") from error
    return _read_claims(held["payload"])


def _read_claims(payload: bytes) -> dict[str, Any]:
    """Return the claims, each named once: of two, others might read the other."""
    try:
        claims = parse_json(payload)
    except SaysoError as error:
        raise BadToken(f"its claims cannot be read: {error.message}") from error
    if not isinstance(claims, dict):
        raise BadToken("the token holds no claims")
    return claims


def _choose_key(header: _Header, keys: Sequence[Key]) -> dict[str, Any]:
    """Return the one published key that this token can have been signed with."""
    kind = ALGORITHMS.get(header.alg)
    if kind is None or header.typ.lower() not in ("jwt", "application/jwt"):
        raise BadToken("it is not an ID token signed with a public-key algorithm")
    found = [
        one
        for one in keys
        if (one.get("kty"), one.get("crv")) == kind
        and one.get("use", "sig") == "sig"
        and one.get("alg", header.alg) == header.alg
        and header.kid in (None, one.get("kid"))
    ]
    if len(found) != 1:
        raise BadToken("none of the provider's keys fits it, or more than one does")
    return {name: found[0][name] for name in PUBLIC if name in found[0]}


def _check_claims(body: _Body, expected: Expected, now: float) -> None:
    audience = (body.aud,) if isinstance(body.aud, str) else body.aud
    if body.iss != expected.issuer:
        raise BadToken("another issuer signed it")
    if expected.client_id not in audience:
        raise BadToken("it is for somebody else")
    if body.azp != expected.client_id and (body.azp is not None or len(audience) > 1):
        raise BadToken("it was given to somebody else")
    if body.nonce != expected.nonce:
        raise BadToken("it answers another sign-in")
    if not body.iat - SKEW <= now <= body.iat + OLDEST + SKEW or now < body.nbf - SKEW:
        raise BadToken("it was not made just now, by our clock")
    if not now < body.exp + SKEW or body.exp <= body.iat:
        raise BadToken("it has expired")
    if not 0 < len(body.sub) <= LONGEST_SUBJECT or not body.sub.isprintable() or body.sub != body.sub.strip():
        raise BadToken("it names nobody")
