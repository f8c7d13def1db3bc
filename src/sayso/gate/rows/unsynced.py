"""Records of commits that are not synced: they count for as long as this machine runs.

Each names the start of the machine in which it was made. After another start the commit may be gone with a
power failure, and its record counts for nothing.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path

from sayso.gate.rows.watermark_file import Record

BOOT = Path("/proc/sys/kernel/random/boot_id")


@cache
def boot_number() -> int:
    """Which start of this machine this is, as far as the system tells; 0 if it does not."""
    try:
        told = BOOT.read_bytes()
    except OSError:
        return 0
    return int.from_bytes(blake2b(told, digest_size=8).digest(), "big") if told.strip() else 0


def unsynced_key(place: bytes) -> bytes:
    """The name under which a version stands that counts until this machine starts again."""
    return place[:1].upper() + place[1:]


def record_as_counts_now(record: Record) -> Record:
    """The record; one of an unsynced commit counts if the machine has not started again since."""
    place, version, until = record
    if not place[:1].isupper():
        return record
    return (place[:1].lower() + place[1:], version if until == boot_number() else 0, 0)
