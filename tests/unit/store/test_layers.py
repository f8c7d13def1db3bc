"""A mapping that keeps its past, against a plain dict that is copied for every version."""

from __future__ import annotations

import random

from sayso.store.memory.layers import newest_first, next_version


def test_every_version_stays_as_it_was_and_the_newest_is_like_a_dict() -> None:
    rng = random.Random(7)
    now, plain = next_version(dict[int, int]()), dict[int, int]()
    past = []
    for _ in range(2_000):
        past.append((now, dict(plain)))
        now = next_version(now)
        for _ in range(rng.randrange(4)):
            key = rng.randrange(300)
            if rng.random() < 0.2 and key in plain:
                del now[key], plain[key]
            else:
                now[key] = plain[key] = rng.randrange(1_000)
    for version, copy in [*past[::50], (now, plain)]:
        assert dict(version) == copy
        assert len(version) == len(copy)
        assert all((key in version) is (key in copy) for key in range(300))
        assert sorted(newest_first(version)) == sorted(copy.values())


def test_keys_come_in_the_order_they_were_written_first() -> None:
    now = next_version(dict[int, int]())
    for number in range(500):
        now = next_version(now)
        now[number] = number
        now[number // 2] = -number
    assert list(now) == list(range(500))
    assert list(reversed(now)) == list(range(499, -1, -1))
    assert next(newest_first(now)) == 499


def test_a_new_version_copies_little_of_a_long_one() -> None:
    now = next_version({number: number for number in range(100_000)})
    for number in range(100_000, 100_200):
        before = now
        now = next_version(now)
        now[number] = number
        assert now._base is before._base  # noqa: SLF001  the many rows of before are not copied
    assert len(now) == 100_200
