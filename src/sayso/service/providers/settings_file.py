"""The providers that people sign in with: oidc.json in the data folder, its owner's alone.

[{"name": "corp", "issuer": "https://login.example.com", "client_id": "sayso", "client_secret": "…"}]

A file that others can read, or that does not say everything, is refused: the service does not start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.team import IdentityProvider
from sayso.gate.decoding import decode_json
from sayso.gate.open import gate_data_folder
from sayso.gate.private_files import read_private_file
from sayso.reading.urls import LOOPBACK
from sayso.surfaces.remote.settings_file import PLAIN_NAME

FILE_NAME = "oidc.json"
OPENID = "openid"
LONGEST_LABEL = 40


class ProvidersRefused(SaysoError):
    """The file of the providers is open to others, broken, or does not say everything."""

    code = "providers_file"


class GroupsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Groups of the policy that the provider has to confirm, and what it calls them in this claim."""

    claim: str
    names: Mapping[str, str]


class ProviderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One provider. `name` is what ids in the policy call it, `label` what the sign-in page does.

    A `public` client has no secret, and is protected by PKCE alone.
    """

    name: str
    issuer: str
    client_id: str
    client_secret: str = ""
    public: bool = False
    label: str = ""
    scopes: tuple[str, ...] = (OPENID, "email")
    groups: GroupsSettings | None = None

    @property
    def shown(self) -> str:
        return self.label or self.name

    @property
    def identity_provider(self) -> IdentityProvider:
        """Return what the gate has to know of it."""
        return IdentityProvider(self.issuer, {} if self.groups is None else self.groups.names)


def providers_path() -> Path:
    return gate_data_folder() / FILE_NAME


def load_provider_settings(path: Path | None = None) -> tuple[ProviderSettings, ...]:
    """Return the providers in the file; none if there is no file."""
    path = path or providers_path()
    try:
        content = read_private_file(path, ProvidersRefused)
    except FileNotFoundError:
        return ()
    try:
        found = decode_json(content, tuple[ProviderSettings, ...])
    except msgspec.MsgspecError as error:
        raise ProvidersRefused(f"{path} cannot be used: {error}", hint="docs/team.md shows one") from error
    _check(found)
    return found


def _check(found: Sequence[ProviderSettings]) -> None:
    names = [one.name for one in found]
    for one in found:
        if not PLAIN_NAME.fullmatch(one.name):
            raise ProvidersRefused(
                f"{one.name!r} cannot be the name of a provider", hint="use small letters, digits and -"
            )
        if names.count(one.name) > 1:
            raise ProvidersRefused(f"there are two providers {one.name!r}", hint="choose another name")
        _check_provider(one)


def _check_provider(one: ProviderSettings) -> None:
    """Refuse what is missing or cannot be meant. Values are not shown: one may be the secret."""
    texts = {"client_id": one.client_id, "client_secret": one.client_secret, "label": one.label}
    for name, value in texts.items():
        if not (value.isprintable() and value == value.strip()):
            raise ProvidersRefused(f"{one.name}: {name} holds a line break, or white space at an end")
    if not one.client_id:
        raise ProvidersRefused(f"{one.name}: client_id is empty", hint="the provider gave you one")
    if bool(one.client_secret) == one.public:
        what = "has a client_secret and is public" if one.public else "has no client_secret"
        raise ProvidersRefused(
            f"{one.name} {what}", hint='write the secret, or "public": true for a client that has none'
        )
    if not is_safe_address(one.issuer) or urlsplit(one.issuer).query:
        raise ProvidersRefused(
            f"{one.name}: the issuer is not an address of the form https://name",
            hint="write it as the provider does, without /.well-known",
        )
    if OPENID not in one.scopes or not all(scope.isascii() and scope.isprintable() for scope in one.scopes):
        raise ProvidersRefused(f"{one.name}: the scopes have to be words, and {OPENID} one of them")
    if len(one.label) > LONGEST_LABEL:
        raise ProvidersRefused(f"{one.name}: the label has {LONGEST_LABEL} characters at most")
    if one.groups is not None and not (one.groups.claim and one.groups.names):
        raise ProvidersRefused(f"{one.name}: groups needs a claim, and names of groups")


def is_safe_address(url: str) -> bool:
    """Return whether this is an address that nobody on the way can answer for: https, or this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if host is None or "@" in parts.netloc or parts.fragment or not url.isprintable() or " " in url:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK)
