"""Finding the mark of a store by its name and place."""

from __future__ import annotations

import re
from pathlib import Path

from sayso.gate import words
from sayso.gate.rows.mark.watermark import Watermark
from sayso.gate.rows.moves import PLACE
from sayso.reading.paths.own_places import guard_keys
from sayso.store.contract import Reader, StoreError

_PLAIN = re.compile(r"[\w-]+")


def load_watermark(tx: Reader, folder: Path, name: str) -> Watermark:
    """The mark of the store of this name. A copy has another one than the store it was made of.

    Which one is said by a row that anybody can write who can write the store. A copy has its mark before it
    can be opened, and from then on the mark of its source says that the store has moved. So where there is
    none, beside others of the same name, or another one is in use as well, it is `lost`: it learns from the
    others what has to be known for ever, all else is void, and the others are retired for good.
    """
    mark = watermark_at(folder, name, tx.meta(PLACE))
    if mark.exists and mark.is_retired:
        return mark  # of a store that has moved: it can be read, and nothing is written to it
    others = [Watermark(path) for path in sorted(folder.glob(f"{name}*.mark")) if not mark.is_at(path)]
    mark.rivals = tuple(other for other in others if not other.is_retired)
    mark.lost = bool(mark.rivals) or (bool(others) and not mark.exists)
    if mark.lost:
        for other in others:
            mark.take_over(other)
    return mark


def watermark_at(folder: Path, name: str, place: str | None) -> Watermark:
    file = f"{name}-{place}" if place else name
    if not _PLAIN.fullmatch(file):
        raise StoreError(words.changed_outside("the name of the store"), hint="restore an intact backup")
    path = folder / f"{file}.mark"
    guard_keys(path)
    return Watermark(path)
