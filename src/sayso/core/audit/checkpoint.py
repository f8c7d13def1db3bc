"""Signed checkpoints: C2SP tlog-checkpoint, written as a C2SP signed-note.

    origin
    size of the tree
    base64 of its root
    (blank line)
    — name base64(4 bytes of key id || signature)

Keys stay outside: signing and verifying come in as functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from sayso.core.audit.entry import HASH_BYTES
from sayso.core.errors import SaysoError
from sayso.core.text.patterns import lazy_pattern

MOST_SIGNATURES = 32
MOST_BYTES = 1 << 20
SIZE = lazy_pattern(r"0|[1-9][0-9]{0,18}")
_CONTROL = lazy_pattern(r"[\x00-\x09\x0b-\x1f]")
_DASH = "\N{EM DASH} "


class BadCheckpoint(SaysoError):
    """A checkpoint or proof that is malformed, or that no trusted key has signed. It proves nothing."""

    code = "checkpoint"


class Signer(msgspec.Struct, frozen=True):
    """A key that signs, by its name and id on a note."""

    name: str
    key_id: bytes
    sign: Callable[[bytes], bytes]


class Verifier(msgspec.Struct, frozen=True):
    """A key that is trusted. `verify(text, signature)` says whether it made the signature."""

    name: str
    key_id: bytes
    verify: Callable[[bytes, bytes], bool]


class Checkpoint(msgspec.Struct, frozen=True):
    """What a log says of itself at one size. Extension lines are kept, and mean nothing here."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()


class Signature(msgspec.Struct, frozen=True):
    name: str
    key_id: bytes
    signature: bytes


class SignedNote(msgspec.Struct, frozen=True):
    """A text, its final newline included, and who signed it. Not trusted until a signature was verified."""

    text: str
    signatures: tuple[Signature, ...]


def sign_checkpoint(checkpoint: Checkpoint, signers: Iterable[Signer]) -> bytes:
    """The signed note, as it is stored and sent elsewhere."""
    text = checkpoint_text(checkpoint)
    lines = [_signature_line(signer, text.encode()) for signer in signers]
    if not lines:
        raise BadCheckpoint("a checkpoint needs a signature")
    return f"{text}\n{''.join(lines)}".encode()


def open_checkpoint(note: bytes, verifiers: Sequence[Verifier], origin: str | None = None) -> Checkpoint:
    """The checkpoint of a note that a trusted key signed; refused if none did, or one of theirs is false.

    Signatures of unknown keys are passed over. With `origin`, only a checkpoint of that log is accepted.
    """
    parsed = parse_note(note)
    text = parsed.text.encode()
    known = [(s, v) for s in parsed.signatures for v in verifiers if (s.name, s.key_id) == (v.name, v.key_id)]
    if not known:
        raise BadCheckpoint("no key that is trusted here has signed this checkpoint")
    if not all(verifier.verify(text, signed.signature) is True for signed, verifier in known):
        raise BadCheckpoint("the signature on this checkpoint is false")
    checkpoint = parse_checkpoint(parsed.text)
    if origin is not None and checkpoint.origin != origin:
        raise BadCheckpoint(f"this checkpoint is of {checkpoint.origin!r}, not of {origin!r}")
    return checkpoint


def checkpoint_text(checkpoint: Checkpoint) -> str:
    """The text that is signed."""
    lines = (checkpoint.origin, str(checkpoint.size), encode_base64(checkpoint.root), *checkpoint.extensions)
    text = "".join(f"{line}\n" for line in lines)
    if parse_checkpoint(text) != checkpoint:
        raise BadCheckpoint("an origin and each extension are one line of text")
    return text


def parse_checkpoint(text: str) -> Checkpoint:
    """Origin, size and root from a note's text; anything but the one right spelling is refused."""
    *lines, rest = text.split("\n")
    if rest or len(lines) < 3 or not all(lines) or _CONTROL.search(text):
        raise BadCheckpoint("a checkpoint is at least three full lines: origin, size, root")
    origin, size, root, *extensions = lines
    if not SIZE.fullmatch(size):
        raise BadCheckpoint(f"{size!r} is not the size of a tree")
    return Checkpoint(origin, int(size), root_hash(root), tuple(extensions))


def parse_note(note: bytes) -> SignedNote:
    """Text and signatures of a signed note, nothing verified."""
    if len(note) > MOST_BYTES:
        raise BadCheckpoint(f"a signed note of more than {MOST_BYTES} bytes is not read")
    try:
        whole = note.decode()
    except UnicodeDecodeError as error:
        raise BadCheckpoint("a signed note is UTF-8") from error
    text, blank, signed = whole.rpartition("\n\n")
    lines = signed.split("\n")
    if not blank or _CONTROL.search(whole) or lines.pop() != "" or not 1 <= len(lines) <= MOST_SIGNATURES:
        raise BadCheckpoint("a signed note is text, a blank line and lines of signatures")
    return SignedNote(f"{text}\n", tuple(map(_parse_signature, lines)))


def key_name_fits(name: str) -> bool:
    """Return whether this can name a key on a note: no spaces, plus signs or control characters."""
    return bool(name) and "+" not in name and not re.search(r"[\s\x00-\x1f]", name)


def encode_base64(content: bytes) -> str:
    return str(msgspec.to_builtins(content))


def decode_base64(text: str) -> bytes:
    """Bytes from standard base64; a spelling that encoding would not give is refused."""
    try:
        content: bytes = msgspec.convert(text, bytes)
    except msgspec.ValidationError as error:
        raise BadCheckpoint(f"{text[:80]!r} is not base64") from error
    if encode_base64(content) != text:
        raise BadCheckpoint(f"{text[:80]!r} is not base64 in its one spelling")
    return content


def root_hash(text: str) -> bytes:
    """One SHA-256 hash from base64."""
    content = decode_base64(text)
    if len(content) != HASH_BYTES:
        raise BadCheckpoint(f"{text[:80]!r} is not a hash")
    return content


def _signature_line(signer: Signer, text: bytes) -> str:
    if not key_name_fits(signer.name) or len(signer.key_id) != 4:
        raise BadCheckpoint(f"{signer.name!r} cannot name a key on a note")
    return f"{_DASH}{signer.name} {encode_base64(signer.key_id + signer.sign(text))}\n"


def _parse_signature(line: str) -> Signature:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not key_name_fits(name):
        raise BadCheckpoint("a signature is a dash, the key's name and base64")
    content = decode_base64(encoded)
    if len(content) <= 4:
        raise BadCheckpoint("a signature is longer than its key id")
    return Signature(name, content[:4], content[4:])
