"""Names of the files that an archive brings, read from the archive itself. Everything is bounded."""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from sayso.reading.paths.file_content import read_whole

MAX_BYTES = 20_000_000
"""Of an archive, and of what a compressed one unpacks to."""
MAX_NAMES = 5_000
_WRONG = (
    *(OSError, ValueError, EOFError, NotImplementedError, RecursionError),
    *(tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error),
)
_UNPACKERS: tuple[tuple[bytes, Callable[[], Any]], ...] = (
    (b"\x1f\x8b", partial(zlib.decompressobj, 31)),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\x00", partial(lzma.LZMADecompressor, memlimit=256_000_000)),
)
"""How a compressed file begins, and what unpacks it."""


def list_archive(path: str) -> list[str] | None:
    """The names in a tar or zip archive; None if they cannot be told."""
    try:
        content = read_whole(path, MAX_BYTES)
        names = _names_in_zip(content) if content[:2] == b"PK" else _names_in_tar(content)
    except _WRONG:
        return None
    return names if len(names) <= MAX_NAMES else None


def _names_in_zip(content: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [name.replace("\\", "/") for name in archive.namelist()]


def _names_in_tar(content: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(_unpack(content)), mode="r:") as archive:
        return [member.name for member in islice(archive, MAX_NAMES + 1)]


def _unpack(content: bytes) -> bytes:
    """The content of a compressed file, if that is not too much."""
    unpacker = next((make() for mark, make in _UNPACKERS if content.startswith(mark)), None)
    if unpacker is None:
        return content
    made: bytes = unpacker.decompress(content, MAX_BYTES)
    if not unpacker.eof:
        raise ValueError("more than is unpacked")
    return made
