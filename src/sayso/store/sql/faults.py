"""What keeps a store on a database from being written, as its own transactions have found out."""

from __future__ import annotations

from sayso.store.contract import StoreError, StoreFault, StoreUnwritable


class FoundFaults:
    """What was found last. The errors are not kept: with their traces they hold what they were raised in."""

    def __init__(self) -> None:
        self.unreachable: StoreFault | None = None
        """Why no transaction could begin, until one reads or is kept: a batch may begin without a word."""
        self.unwritable: StoreFault | None = None
        """Why nothing could be written, until something is."""

    @property
    def newest(self) -> StoreFault | None:
        return self.unreachable or self.unwritable

    def note_failed_begin(self, error: StoreError) -> None:
        """No transaction could begin. Where only those that write cannot, others say nothing of them."""
        fault = StoreFault(error.message, error.hint)
        if isinstance(error, StoreUnwritable):
            self.unwritable = fault
        else:
            self.unreachable = fault
