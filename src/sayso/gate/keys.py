"""The gate's own key, and the seals made with it."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from sayso.core.errors import SaysoError

KEY_BYTES = 32


class KeyRefused(SaysoError):
    """A key that others could have read or written proves nothing."""

    code = "key_refused"


def gate_key(path: Path) -> bytes:
    """The key in this file: made on first use, for its owner's eyes only, refused if others can get at it."""
    try:
        return _read(path)
    except FileNotFoundError:
        _make(path)
        return _read(path)


def seal(key: bytes, tag: str, *parts: bytes) -> bytes:
    """A MAC over these parts, each with its length, so that no two different lists of parts look the same."""
    mac = hmac.new(key, f"sayso/1 {tag}".encode(), hashlib.sha256)
    for part in parts:
        mac.update(len(part).to_bytes(8, "big"))
        mac.update(part)
    return mac.digest()


def sealed(key: bytes, mac: bytes, tag: str, *parts: bytes) -> bool:
    """Whether this is the seal of these parts."""
    return hmac.compare_digest(mac, seal(key, tag, *parts))


def _make(path: Path) -> None:
    """Written aside and linked into place, so that no other process ever reads half a key."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        os.link(aside, path)
    except FileExistsError:
        pass  # another process made it first: that one counts
    finally:
        aside.unlink()


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        key = file.read(KEY_BYTES + 1)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        raise KeyRefused(f"{path} is not a file of yours", hint="remove it; a new key voids all grants")
    if found.st_mode & 0o077:
        raise KeyRefused(
            f"others can read {path}", hint=f"chmod 600 {path}, or better: remove it for a new key"
        )
    if len(key) != KEY_BYTES:
        raise KeyRefused(f"{path} does not hold a key", hint="remove it; a new key voids all grants")
    return key
