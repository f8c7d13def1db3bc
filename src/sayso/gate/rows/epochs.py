"""Which epoch a store is in, and how a gate that runs in it notices that another has begun.

- Who begins an epoch writes that to the store and to the mark. Either is enough: the row can be put back, and
  services on other machines have marks of their own.
- A gate of an earlier epoch commits nothing more. What it goes by is void.
"""

from __future__ import annotations

from sayso.gate import words
from sayso.gate.rows.versions import BURNED
from sayso.gate.rows.watermark import Watermark
from sayso.store.contract import Reader, StoreError

EPOCH_ROW = "epoch"


def parse_epoch(text: str | None) -> int:
    """Return the stored epoch; 0 if it is not a number, or one that no store reaches."""
    if text is None:
        return 1
    return int(text) if text.isascii() and text.isdecimal() and len(text) < len(str(BURNED)) else 0


class EnteredEpoch:
    """The epoch that a gate has entered, in a store with this mark."""

    def __init__(self, mark: Watermark, epoch: int) -> None:
        self._mark = mark
        self._epoch = epoch
        self._text: str | None = None
        """The row, as it was last found to be of no later epoch."""

    def check(self, tx: Reader) -> None:
        """Refuse to go on if another epoch has begun. Quick where the row is known."""
        text = tx.meta(EPOCH_ROW)
        if self._mark.epoch > self._epoch or (text != self._text and parse_epoch(text) > self._epoch):
            raise StoreError(words.EPOCH_OVER, hint=words.START_AGAIN)
        self._text = text
