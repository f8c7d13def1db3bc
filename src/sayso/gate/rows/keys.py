"""The gate's Ed25519 key: made once, kept in a file only its owner can read, used to sign checkpoints.

What signs is imported where it is used: most commands never do, and would wait for it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from sayso.core.audit.checkpoint import (
    BadCheckpoint,
    Signer,
    Verifier,
    decode_base64,
    encode_base64,
    key_name_fits,
)
from sayso.core.errors import SaysoError
from sayso.reading.paths.own_places import guard_keys

KEY_BYTES = 32
_ED25519 = b"\x01"
OTHERS = 0o077
# No link is followed, and a pipe put in the place of the file does not hold us up.
PLAIN_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class KeyRefused(SaysoError):
    """A key that cannot be used, or must not be, because others can read it."""

    code = "key"


class SigningKey(msgspec.Struct, frozen=True):
    """A signing key under its name. The secret is not shown when the key is printed."""

    name: str
    secret: bytes

    def __repr__(self) -> str:
        return f"Key({self.name!r})"


def make_key(name: str) -> SigningKey:
    """A new random key. The name should be that of the log it signs."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return SigningKey(_check_key_name(name), Ed25519PrivateKey.generate().private_bytes_raw())


def save_key(key: SigningKey, path: Path) -> None:
    """Write a key to a new file that only its owner can read. A file that is there is never replaced."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise KeyRefused(f"{path} exists already", hint="a key is never overwritten") from error
    except OSError as error:
        raise KeyRefused(f"{path} cannot be written: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{encode_base64(key.secret)}\n")
        file.flush()
        os.fsync(descriptor)


def load_key(name: str, path: Path) -> SigningKey:
    """The key in this file. A file that is not ours alone is refused."""
    guard_keys(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | PLAIN_FILE)
    except OSError as error:
        raise KeyRefused(f"the key file {path} cannot be read: {error.strerror}") from error
    try:
        _check_owner(path, os.fstat(descriptor))
        content = os.read(descriptor, 1024)
    finally:
        os.close(descriptor)
    try:
        secret = decode_base64(content.decode("ascii").removesuffix("\n"))
    except (BadCheckpoint, UnicodeDecodeError) as error:
        raise KeyRefused(f"{path} does not hold a key") from error
    if len(secret) != KEY_BYTES:
        raise KeyRefused(f"{path} does not hold a key")
    return SigningKey(_check_key_name(name), secret)


def load_or_make_key(name: str, path: Path) -> SigningKey:
    """The key in this file, made on first use; of several processes that start at once one makes it."""
    if not path.exists():
        with suppress(FileExistsError):
            _link_into_place(make_key(name), path)
    return load_key(name, path)


def make_signer(key: SigningKey) -> Signer:
    """The key as checkpoints want it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    secret = Ed25519PrivateKey.from_private_bytes(key.secret)
    return Signer(key.name, note_key_id(key.name, public_key_of(key)), secret.sign)


def public_key_of(key: SigningKey) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(key.secret).public_key().public_bytes_raw()


def make_verifier(name: str, public: bytes) -> Verifier:
    """Trust in a public key under this name."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        trusted = Ed25519PublicKey.from_public_bytes(public)
    except ValueError as error:
        raise KeyRefused("these bytes are not an Ed25519 public key") from error

    def verify(text: bytes, signature: bytes) -> bool:
        try:
            trusted.verify(signature, text)
        except InvalidSignature:
            return False
        return True

    return Verifier(_check_key_name(name), note_key_id(name, public), verify)


def note_key_id(name: str, public: bytes) -> bytes:
    """The four bytes that name a key on a signed note."""
    return sha256(name.encode() + b"\n" + _ED25519 + public).digest()[:4]


def format_verifier_key(name: str, public: bytes) -> str:
    """The public key as text to hand on: name, key id and key, joined by plus signs."""
    return f"{_check_key_name(name)}+{note_key_id(name, public).hex()}+{encode_base64(_ED25519 + public)}"


def parse_verifier_key(text: str) -> Verifier:
    """Trust in a public key that was handed on as text."""
    name, _, rest = text.strip().partition("+")
    said, _, encoded = rest.partition("+")
    try:
        content = decode_base64(encoded)
    except BadCheckpoint as error:
        raise KeyRefused("this is not a verifier key", hint="it looks like name+1234abcd+base64") from error
    if content[:1] != _ED25519 or note_key_id(name, content[1:]).hex() != said:
        raise KeyRefused("this verifier key is of another kind, or was copied with a fault")
    return make_verifier(name, content[1:])


def _check_key_name(name: str) -> str:
    if not key_name_fits(name):
        raise KeyRefused(f"{name!r} cannot name a key", hint="no spaces and no plus signs")
    return name


def _check_owner(path: Path, status: os.stat_result) -> None:
    if os.name != "posix":
        return
    if not stat.S_ISREG(status.st_mode):
        raise KeyRefused(f"{path} is not a file")
    if status.st_uid != os.geteuid():
        raise KeyRefused(f"{path} belongs to somebody else", hint="use a key file of your own")
    if status.st_mode & OTHERS:
        raise KeyRefused(f"others can read {path}", hint=f"chmod 600 {path}, or better: make a new key")


def _link_into_place(key: SigningKey, path: Path) -> None:
    """Write the key aside and link it into place whole, so that nobody loads half a key."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    save_key(key, aside)
    try:
        path.hardlink_to(aside)
    finally:
        aside.unlink()
