"""Names of the files that an archive brings, read from the archive itself. Everything is bounded."""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib

from sayso.reading.paths.file_content import read_whole

MAX_BYTES = 20_000_000
"""Of an archive, and of what a compressed one unpacks to."""
MAX_NAMES = 5_000
_WRONG = (OSError, ValueError, EOFError, tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error)


def list_archive(path: str) -> list[str] | None:
    """The names in a tar or zip archive; None if they cannot be told."""
    try:
        content = read_whole(path, MAX_BYTES)
    except (OSError, ValueError):
        return None
    try:
        names = _names_in_zip(content) if content[:2] == b"PK" else _names_in_tar(content)
    except (*_WRONG, NotImplementedError, RecursionError):
        return None
    return names if len(names) <= MAX_NAMES else None


def _names_in_zip(content: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [name.replace("\\", "/") for name in archive.namelist()]


def _names_in_tar(content: bytes) -> list[str]:
    found: list[str] = []
    with tarfile.open(fileobj=io.BytesIO(_unpack(content)), mode="r:") as archive:
        for member in archive:
            found.append(member.name)
            if len(found) > MAX_NAMES:
                break
    return found


def _unpack(content: bytes) -> bytes:
    """The content of a compressed file, if that is not too much."""
    if content[:2] == b"\x1f\x8b":
        gzip = zlib.decompressobj(31)
        made, whole = gzip.decompress(content, MAX_BYTES), gzip.eof
    elif content[:3] == b"BZh":
        bzip = bz2.BZ2Decompressor()
        made, whole = bzip.decompress(content, MAX_BYTES), bzip.eof
    elif content[:6] == b"\xfd7zXZ\x00":
        xz = lzma.LZMADecompressor(memlimit=256_000_000)
        made, whole = xz.decompress(content, MAX_BYTES), xz.eof
    else:
        return content
    if not whole:
        raise ValueError("more than is unpacked")
    return made
