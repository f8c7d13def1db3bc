"""What a store raises. Whatever it is, nothing was changed, and nothing may be allowed on its account."""

from __future__ import annotations

import msgspec

from sayso.core.errors import SaysoError


class StoreError(SaysoError):
    """The store cannot do its work: nothing was changed, and nothing may be allowed on its account."""

    code = "store"


class StoreUnwritable(StoreError):
    """The place itself refuses to be written: it is full, failing, damaged, or may only be read."""


class StoreBusy(StoreError):
    """Somebody else held the store for too long. Trying again may help."""

    code = "store_busy"


class StoreHeld(StoreBusy):
    """Others hold what this is about, for longer than one waits. What is about anything else may be done."""


class BatchLost(StoreError):
    """The transactions of a batch were undone together: each may be tried again by itself."""

    code = "batch_lost"


class FateUnknown(StoreError):
    """The connection was lost in the middle of a commit, and nobody can say whether it was kept."""

    code = "fate_unknown"


class StoreNewer(StoreError):
    """The store was written by a newer Sayso; this one leaves it alone."""

    code = "store_newer"


class StoreFault(msgspec.Struct, frozen=True):
    """Why a store cannot be written. `closed`: until it is opened again, and it cannot be read either."""

    message: str
    hint: str | None = None
    closed: bool = False
