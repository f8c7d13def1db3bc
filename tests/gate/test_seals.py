"""Seals are HMAC-SHA-256 over their parts, however they are computed; what was found right is remembered."""

from __future__ import annotations

import hmac

from sayso.gate.rows.row_seals import SealCache
from sayso.gate.rows.tampering import compute_seal, seal_matches

KEYS = (b"k" * 32, b"", b"k" * 64, b"k" * 65, b"k" * 300)


def spelled(tag: str, *parts: bytes) -> bytes:
    return f"sayso/1 {tag}".encode() + b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def test_a_seal_is_the_hmac_of_its_parts_with_their_lengths() -> None:
    for key in KEYS:
        for parts in ((), (b"",), (b"a", b"b" * 1000), (b"ab", b"")):
            wanted = hmac.digest(key, spelled("session", *parts), "sha256")
            assert compute_seal(key, "session", *parts) == wanted
            assert compute_seal(key, "session", *parts) == wanted, "a second time, too"


def test_no_seal_fits_another_tag_key_or_list_of_parts() -> None:
    seal = compute_seal(KEYS[0], "session", b"ab", b"c")
    assert seal_matches(KEYS[0], seal, "session", b"ab", b"c")
    assert not seal_matches(KEYS[0], seal, "grant", b"ab", b"c")
    assert not seal_matches(KEYS[1], seal, "session", b"ab", b"c")
    assert not seal_matches(KEYS[0], seal, "session", b"a", b"bc")


def test_of_too_many_rows_the_older_half_is_forgotten() -> None:
    """With hundreds of calls under way, those that are about to end are still known."""
    known: SealCache[int, str] = SealCache(3)
    for number in range(8):
        known.put(f"call {number}", number, f"record {number}")
        known.put(f"call {number}", number, f"record {number}")
        kept = [known.get(f"call {one}", one) for one in range(number + 1)]
        assert kept[-3:] == [f"record {one}" for one in range(number + 1)][-3:]
        assert sum(one is not None for one in kept) <= 6
    gone = (known.last("call 0"), known.last_row("call 0"), known.get("call 0", 0))
    assert gone == (None, None, None)


def test_the_last_row_of_a_name_counts_whenever_it_was_first_seen() -> None:
    known: SealCache[int, str] = SealCache(2)
    for number, name in enumerate(("a", "b", "c", "a")):
        known.put(name, number, f"{name} {number}")
    assert (known.last_row("a"), known.get("a", 3)) == (3, "a 3")
    assert known.get("a", 0) is None, "an older row of the same name"
