"""A provider of OpenID Connect: where it is, its keys, and what it is asked. Bounded in time and size.

- What it publishes is fetched when it is first needed, kept for an hour, and fetched again for a key that is
  not known, but not for every token that names one.
- After a failure it is left alone for some seconds: whoever wants to sign in meanwhile is told so at once.
"""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote_plus, urlencode, urlsplit

import msgspec

from sayso.core.durations import HOUR
from sayso.core.extras import needs_extra
from sayso.gate.decoding import decode_json
from sayso.gate.people.passkey_sign_in import SignInRefused
from sayso.gate.people.provider_sign_in import Claims, SignInAttempt
from sayso.service.http.problems import RequestRefused
from sayso.service.providers.id_token import BadToken, Expected, Key, verify_id_token
from sayso.service.providers.settings_file import ProviderSettings, is_safe_address
from sayso.surfaces.remote.exchange import SendingFailed, ServiceDown, fetch, post

LASTS = HOUR
FETCH_AGAIN = 30.0
"""Seconds between two looks at the keys because of one that is not known."""
LEFT_ALONE = 5.0
LONGEST = 10.0
"""Seconds that one answer of the provider may take."""
LARGEST = 256 * 1024
MOST_KEYS = 100
WELL_KNOWN = "/.well-known/openid-configuration"
BASIC, POST = "client_secret_basic", "client_secret_post"
FORM = "application/x-www-form-urlencoded"
T = TypeVar("T")


class ProviderDown(RequestRefused):
    """The provider cannot be reached, or does not answer as providers do. Why that is, is for operators."""

    def __init__(self, settings: ProviderSettings, why: str) -> None:
        hint = "try again soon, or use a link: `sayso link`"
        super().__init__(503, "provider_down", f"{settings.shown} cannot sign anybody in now", hint, after=5)
        self.provider, self.why = settings.name, why


class Metadata(msgspec.Struct, frozen=True):
    """The metadata a provider publishes (OpenID Connect Discovery)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = (BASIC,)
    authorization_response_iss_parameter_supported: bool = False


class _KeySet(msgspec.Struct, frozen=True):
    keys: tuple[dict[str, Any], ...]


class _TokenReply(msgspec.Struct, frozen=True):
    id_token: str


class Provider:
    """One provider. Used by several threads at once."""

    def __init__(self, settings: ProviderSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._metadata: Metadata | None = None
        self._metadata_at = 0.0
        self._keys: tuple[Key, ...] = ()
        self._keys_at: float | None = None
        self._rests_until = 0.0

    def metadata(self) -> Metadata:
        """Return what it publishes of itself."""
        with self._lock:
            if self._metadata is None or self._clock() >= self._metadata_at + LASTS:
                self._metadata = self._attempt(self._fetch_metadata)
                self._metadata_at = self._clock()
            return self._metadata

    def authorization_url(self, attempt: SignInAttempt, redirect: str) -> str:
        """Return where the browser goes to sign in."""
        address = self.metadata().authorization_endpoint
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": redirect,
            "scope": " ".join(self.settings.scopes),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(asked)}"

    def check_issuer(self, told: str | None) -> None:
        """Refuse an answer of another provider, or of nobody knows whom where it has to say (RFC 9207)."""
        has_to = self.metadata().authorization_response_iss_parameter_supported
        if told != self.settings.issuer and (has_to or told is not None):
            raise SignInRefused("another provider answered", hint="begin again on the sign-in page")

    def redeem(self, code: str, attempt: SignInAttempt, redirect: str, *, now: float) -> Claims:
        """Return whom this code signs in."""
        token = self._exchange_code(code, attempt, redirect)
        settings = self.settings
        expected = Expected(settings.issuer, settings.client_id, attempt.nonce)
        groups = None if settings.groups is None else settings.groups.claim
        claims = verify_id_token(token, self._find_keys, expected, now=now, groups=groups)
        known = frozenset(settings.identity_provider.groups.values())
        return msgspec.structs.replace(claims, groups=tuple(sorted(known.intersection(claims.groups))))

    def _exchange_code(self, code: str, attempt: SignInAttempt, redirect: str) -> str:
        metadata, settings = self.metadata(), self.settings
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": attempt.verifier,
        }
        headers = {"content-type": FORM, "accept": "application/json"}
        methods = metadata.token_endpoint_auth_methods_supported
        if settings.public:
            form["client_id"] = settings.client_id
        elif BASIC in methods or POST not in methods:
            pair = f"{quote_plus(settings.client_id)}:{quote_plus(settings.client_secret)}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": settings.client_id, "client_secret": settings.client_secret}
        try:
            reply = post(metadata.token_endpoint, urlencode(form).encode(), headers, timeout=LONGEST)
        except ServiceDown as error:
            raise ProviderDown(settings, error.message) from error
        except SendingFailed as error:
            raise BadToken(f"the provider gave no token for the code: {error.message}") from error
        return self._read(reply, _TokenReply).id_token

    def _find_keys(self, wanted: str | None) -> Sequence[Key]:
        """Return its keys, fetched again if they are old, or if none is the one wanted."""
        address = self.metadata().jwks_uri
        with self._lock:
            age = None if self._keys_at is None else self._clock() - self._keys_at
            missing = wanted is not None and all(one.get("kid") != wanted for one in self._keys)
            if age is None or age >= LASTS or (missing and age >= FETCH_AGAIN):
                self._keys = self._attempt(lambda: self._read(fetch(address, timeout=LONGEST), _KeySet).keys)
                self._keys = self._keys[:MOST_KEYS]
                self._keys_at = self._clock()
            return self._keys

    def _fetch_metadata(self) -> Metadata:
        issuer = self.settings.issuer
        found = self._read(fetch(issuer.rstrip("/") + WELL_KNOWN, timeout=LONGEST), Metadata)
        if found.issuer != issuer:
            raise ProviderDown(self.settings, "it publishes another issuer than the one in the settings")
        for address in (found.authorization_endpoint, found.token_endpoint, found.jwks_uri):
            if not is_safe_address(address):
                raise ProviderDown(self.settings, "it publishes an address that is not safe")
            if issuer.startswith("https:") and not address.startswith("https:"):
                raise ProviderDown(self.settings, "it publishes an address that is not encrypted")
        return found

    def _attempt(self, fetching: Callable[[], T]) -> T:
        """Fetch something, unless that failed just now; under the lock."""
        if self._clock() < self._rests_until:
            raise ProviderDown(self.settings, "it could not be reached just now")
        try:
            return fetching()
        except SendingFailed as error:
            self._rests_until = self._clock() + LEFT_ALONE
            raise ProviderDown(self.settings, error.message) from error
        except ProviderDown:
            self._rests_until = self._clock() + LEFT_ALONE
            raise

    def _read(self, content: bytes, kind: type[T]) -> T:
        if len(content) > LARGEST:
            raise ProviderDown(self.settings, f"it sends more than {LARGEST:,} bytes")
        try:
            return decode_json(content, kind)
        except msgspec.MsgspecError as error:
            raise ProviderDown(self.settings, f"it does not answer as providers do: {error}") from error


def make_providers(settings: Sequence[ProviderSettings]) -> Mapping[str, Provider]:
    """Return the providers. What verifies their word has to be installed before anybody comes."""
    if settings:
        with needs_extra("oidc", "signing in with a provider"):
            import jwt  # noqa: F401
    return {one.name: Provider(one) for one in settings}
