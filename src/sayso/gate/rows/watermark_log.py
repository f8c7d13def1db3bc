"""The log of a mark, in step with the versions in memory.

- All processes that use the store add to one file, under its lock, after a look at what the others added.
- Where whoever writes is alone, they hold that lock from just before the commit until it is marked. So who
  writes next finds the mark when they hold it in their turn.
- A file that was deleted is made again, with all that is known. One that was replaced is opened again.
- A process that was forked opens the file again, and takes no guard over.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from weakref import WeakSet

from sayso.core.audit.entry import MAIN
from sayso.gate.rows.stream_heads import (
    StreamHeads,
    is_head_record,
    learn_head_records,
    records_of_heads,
    records_to_follow,
    records_to_raise,
)
from sayso.gate.rows.unsettled import (
    Promises,
    boot_number,
    is_promise_record,
    promise_record,
    record_as_counts_now,
    record_of_promise_taken_back,
    unsynced_records,
)
from sayso.gate.rows.versions import Raised, Versions
from sayso.gate.rows.watermark_file import MarkFile, MarkReplaced, Record
from sayso.store.contract import EntryRow

OPENED_AGAIN = 64
"""After how many times of being raised it is opened again, so that one that was deleted is there again."""
LOOKED_AGAIN = 256
"""After how many looks it is seen to that the file looked at is the one that is there."""

_logs: WeakSet[MarkLog] = WeakSet()


def _begin_in_child() -> None:
    for log in _logs:
        log.begin_process()


os.register_at_fork(after_in_child=_begin_in_child)


class MarkLog:
    """The log of a mark that is in use."""

    def __init__(self, path: Path, versions: Versions) -> None:
        self._path = path
        self._versions = versions
        self.heads: StreamHeads = {}
        """The newest entries of the streams beside `main`."""
        self.promises = Promises()
        self.begin_process()
        _logs.add(self)

    def begin_process(self) -> None:
        """Begin in a new process: no file is open, nobody holds the guard."""
        self._versions.begin_process()
        self._file: MarkFile | None = None
        self._held: MarkFile | None = None
        self._left = OPENED_AGAIN
        self._looks = LOOKED_AGAIN

    # --- writing ---

    def write(self, entries: Sequence[EntryRow], raised: Raised, *, follow: bool = False) -> None:
        """Raise the file to these entries, unless it is further, and add these versions to it.

        With `follow` it is set to exactly these entries, be they further back.
        """
        records = [(place, version, until) for place, (version, until) in raised.items()]
        self._write(entries, records, follow=follow)

    def write_unsynced(self, raised: Raised) -> None:
        """Add these versions for as long as this machine runs, if the system tells one start from another."""
        boot = boot_number()
        if boot and raised:
            self._add(unsynced_records(raised, boot))

    def write_promises(self, raised: Raised, number: int) -> None:
        """Say that the transaction of this number is about to commit these versions."""
        records = [promise_record(place, version, number) for place, (version, _) in raised.items()]
        with self._versions.guard:
            self._add(records)
            self._learn_promises(records)

    def take_promise_back(self, place: bytes, version: int, number: int) -> None:
        """Say that this transaction was undone."""
        with self._versions.guard:
            self.promises.drop(place, number)
            self._add([record_of_promise_taken_back(place, version, number)])

    def hold(self) -> None:
        """Keep other processes from writing until `let_go`, and read what they have written before."""
        with self._versions.guard:
            while self._held is None:
                file = self._open_file()
                file.lock()
                try:
                    if file.has_news():
                        self._take(file)
                    self._held = file
                except MarkReplaced:  # the log continues in another file
                    self._file = None
                finally:
                    if self._held is None:
                        file.unlock()

    def let_go(self) -> None:
        with self._versions.guard:
            if self._held is not None:
                self._held.unlock()
                self._held = None

    def _add(self, records: list[Record]) -> None:
        with self._versions.guard:
            if self._held is not None:
                self._held.add(records)
            else:
                self._write((), records)

    def _write(self, entries: Sequence[EntryRow], records: list[Record], *, follow: bool = False) -> None:
        with self._versions.guard:
            if self._held is not None:
                return self._add_to(self._held, entries, records, follow=follow)
            while True:
                try:
                    return self._write_to(self._open_file(), entries, records, follow=follow)
                except MarkReplaced:  # the log continues in another file
                    self._file = None

    def _write_to(
        self, file: MarkFile, entries: Sequence[EntryRow], records: list[Record], *, follow: bool
    ) -> None:
        file.lock()  # without a context manager, as this is done for every commit
        try:
            if file.has_news():
                self._take(file)
            self._add_to(file, entries, records, follow=follow)
            if entries and file.long_for(len(self._versions.known)):  # an entry says what time it is
                self._shorten(file, entries[-1].at)
        finally:
            file.unlock()

    def _add_to(
        self, file: MarkFile, entries: Sequence[EntryRow], records: list[Record], *, follow: bool
    ) -> None:
        """Only under the lock, after a look."""
        newest = entries[0] if len(entries) == 1 and entries[0].stream == MAIN else None
        if follow or (entries and newest is None):
            newest = next((entry for entry in entries if entry.stream == MAIN), None)
            records = records + self._move_heads([one for one in entries if one is not newest], follow=follow)
        file.write(newest, records, follow=follow)

    def _move_heads(self, entries: Sequence[EntryRow], *, follow: bool) -> list[Record]:
        """Move the heads of the streams beside `main` to these entries; return the records that say so."""
        heads = (records_to_follow if follow else records_to_raise)(self.heads, entries)
        learn_head_records(self.heads, heads)
        return heads

    def _open_file(self) -> MarkFile:
        """Return the file, reopened now and then. A deleted file is made again, with all we know."""
        self._left -= 1
        if self._file is not None and self._left >= 0:
            return self._file
        file = MarkFile(self._path, make=True)
        self._left = OPENED_AGAIN
        if self._file is not None and self._file.same_as(file):
            return self._file
        self._file = file
        with file.hold_lock():
            known = dict(self.heads)
            found = self._take(file)
            self.heads = self.heads or known
            file.write(None, [*self._versions.records_beyond(found), *self._other_records()])
        return file

    def _shorten(self, file: MarkFile, now: float) -> None:
        """Write the log again with what is alive. Sessions that ended long ago are too old to come back."""
        beside = self._other_records()
        self._versions.forget(now)
        file.replace([*self._versions.records(), *beside])
        self._file = None

    def _other_records(self) -> list[Record]:
        """What a file has to hold beside the versions."""
        self.promises.drop_kept(self._versions.committed_version, all_of_them=True)
        return [*records_of_heads(self.heads), *self.promises.records()]

    # --- reading ---

    def catch_up(self) -> None:
        """Read what other processes have added."""
        with self._versions.guard:
            if self._file is None and not self._path.exists():
                return
            self._looks -= 1
            if self._looks >= 0 and self._file is not None and not self._file.has_news():
                return
            if self._looks < 0:
                self._looks = LOOKED_AGAIN
                if self._file is not None and not self._file.is_at(self._path):
                    self._file = None
            self._read_news()

    def _read_news(self) -> None:
        while True:
            if self._file is None:
                self._file = MarkFile(self._path, make=False)
            try:
                self._take(self._file)
            except MarkReplaced:  # the log continues in another file
                self._file = None
            else:
                return

    def _take(self, file: MarkFile) -> list[Record]:
        if file.is_unread:
            self.heads = {}
        found = file.news()
        if not found:
            return found
        heads = [one for one in found if is_head_record(one)]
        if heads:
            learn_head_records(self.heads, heads)
            found = [one for one in found if not is_head_record(one)]
        promised = [one for one in found if is_promise_record(one)]
        if promised:
            found = [one for one in found if not is_promise_record(one)]
        news = [one for one in map(record_as_counts_now, found) if one[1]]
        if news:
            self._versions.learn_records(news)
        if promised:
            self._learn_promises(promised)
        return news

    def _learn_promises(self, records: Sequence[Record]) -> None:
        self.promises.learn_records(records)
        self.promises.drop_kept(self._versions.committed_version)
