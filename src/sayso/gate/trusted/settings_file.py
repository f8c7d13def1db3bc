"""The file of the trusted channel: its secrets, and from where messages may come.

- A file that others can read, or that is not ours, is refused: then nothing is received at all.
- While a secret is replaced there are two. The older one counts until the time beside it.
- The file is written whole and put in its place at once.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path

import msgspec

from sayso.core.durations import DAY
from sayso.core.errors import SaysoError
from sayso.core.signed_messages import decode_secret, encode_secret
from sayso.gate.decoding import decode_json
from sayso.gate.private_files import hold_file, read_private_file, write_private_file

FILE_NAME = "trusted.json"
ROTATION_LASTS = DAY


class TrustedRefused(SaysoError):
    """The file of the trusted channel is missing, broken, or open to others."""

    code = "trusted_file"


class TrustedSecret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One secret. `until` is when it no longer counts; None for the one in use."""

    secret: str
    until: float | None = None

    def __repr__(self) -> str:
        return "TrustedSecret(...)"


class TrustedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Secrets, the newest first, and the networks that messages may come from; without any, from anywhere."""

    secrets: tuple[TrustedSecret, ...]
    allowed_sources: tuple[str, ...] = ()

    def live_secrets(self, now: float) -> list[bytes]:
        """Return the secrets that count at this time."""
        return [decode_secret(one.secret) for one in self.secrets if one.until is None or now < one.until]

    def every_secret(self) -> list[bytes]:
        """Return all secrets, also those that count no more: whoever has one is not a stranger."""
        return [decode_secret(one.secret) for one in self.secrets]

    def allows_source(self, address: str) -> bool:
        """Return whether messages may come from this address. One that cannot be read may not."""
        if not self.allowed_sources:
            return True
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in ip_network(one) for one in self.allowed_sources)


def load_trusted_file(path: Path) -> TrustedFile:
    """Read the file. One that others can read, or that is not ours, is refused."""
    try:
        content = read_private_file(path, TrustedRefused)
    except FileNotFoundError:
        raise TrustedRefused(
            "there is no trusted channel here", hint="sayso trusted keygen makes its secret"
        ) from None
    return _parse(path, content)


def _parse(path: Path, content: bytes) -> TrustedFile:
    try:
        file = decode_json(content, TrustedFile)
        for one in file.secrets:
            decode_secret(one.secret)
        for source in file.allowed_sources:
            ip_network(source)
    except (msgspec.MsgspecError, SaysoError, ValueError) as error:
        raise TrustedRefused(
            f"{path} cannot be used: {error}", hint="sayso trusted keygen makes a new one"
        ) from error
    if not file.secrets:
        raise TrustedRefused(f"{path} holds no secret", hint="sayso trusted keygen makes one")
    return file


def make_trusted_file(path: Path, *, allowed_sources: Sequence[str] = ()) -> TrustedFile:
    """Make the file with a new secret. One that is there is never replaced."""
    file = TrustedFile((_new_secret(),), _check_sources(allowed_sources))
    try:
        _write(path, file, os.link)
    except FileExistsError:
        raise TrustedRefused(
            f"{path} exists already", hint="sayso trusted rotate replaces its secret"
        ) from None
    return file


def rotate_secret(path: Path, now: float, *, at_once: bool = False) -> TrustedFile:
    """Put a new secret first. The one before counts for another day, or `at_once` no more."""
    with hold_file(path):
        old = load_trusted_file(path)
        kept = () if at_once else tuple(_ending(one, now) for one in old.secrets if one.until is None)
        file = msgspec.structs.replace(old, secrets=(_new_secret(), *kept))
        _write(path, file, os.replace)
    return file


def _ending(one: TrustedSecret, now: float) -> TrustedSecret:
    return msgspec.structs.replace(one, until=now + ROTATION_LASTS)


def _new_secret() -> TrustedSecret:
    return TrustedSecret(encode_secret(secrets.token_bytes(32)))


def _check_sources(sources: Sequence[str]) -> tuple[str, ...]:
    for one in sources:
        try:
            ip_network(one)
        except ValueError as error:
            raise TrustedRefused(
                f"{one!r} is not an address or network", hint="write 192.0.2.7 or 192.0.2.0/24"
            ) from error
    return tuple(sources)


def _write(path: Path, file: TrustedFile, put: Callable[[Path, Path], object]) -> None:
    write_private_file(path, msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n", put)
