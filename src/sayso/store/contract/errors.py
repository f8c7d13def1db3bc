"""What a store raises. Whatever it is, nothing was changed, and nothing may be allowed on its account."""

from __future__ import annotations

from sayso.core.errors import SaysoError


class StoreError(SaysoError):
    """The store cannot do its work: nothing was changed, and nothing may be allowed on its account."""

    code = "store"


class StoreBusy(StoreError):
    """Somebody else held the store for too long. Trying again may help."""

    code = "store_busy"


class BatchLost(StoreError):
    """The transactions of a batch were undone together: each may be tried again by itself."""

    code = "batch_lost"


class FateUnknown(StoreError):
    """The connection was lost in the middle of a commit, and nobody can say whether it was kept."""

    code = "fate_unknown"


class StoreNewer(StoreError):
    """The store was written by a newer Sayso; this one leaves it alone."""

    code = "store_newer"
