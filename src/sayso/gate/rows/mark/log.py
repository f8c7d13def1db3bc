"""The log of a mark, in step with the versions in memory.

- All processes that use the store add to one file, under its lock, after a look at what the others added.
- Where whoever writes is alone, they hold that lock from just before the commit until it is marked. So who
  writes next finds the mark when they hold it in their turn.
- A file that was deleted is made again, with all that is known. One that was replaced is opened again.
- Where no file can be opened any more, it goes on with the one that is open.
- A process that was forked opens the file again, and takes no guard over.
"""

from __future__ import annotations

import errno
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sayso.core.audit.entry import MAIN
from sayso.gate.forks import begin_in_each_process
from sayso.gate.rows.mark.file import NAME_BYTES, Added, MarkFile, MarkLocked, MarkReplaced, Record
from sayso.gate.rows.mark.stream_heads import (
    HASH_KEPT,
    StreamHeads,
    is_head_record,
    is_unsynced_head,
    learn_head_records,
    records_of_heads,
    records_to_follow,
    records_to_raise,
    stream_id,
    unsynced_head,
)
from sayso.gate.rows.mark.unsettled import (
    Promises,
    boot_number,
    is_promise_record,
    learn_passing,
    promise_record,
    record_as_counts_now,
    record_of_promise_taken_back,
    unsynced_records,
    with_unsynced,
)
from sayso.gate.rows.mark.versions import Raised, Versions
from sayso.store.contract import EntryRow, StoreError

OPENED_AGAIN = 64
"""After how many times of being raised it is opened again, so that one that was deleted is there again."""
LOOKED_AGAIN = 256
"""After how many looks it is seen to that the file looked at is the one that is there."""
_CANNOT_OPEN = (errno.EMFILE, errno.ENFILE, errno.EACCES)
"""Why a file may not be opened that is there: what is open of it can be used all the same."""

_MAIN = stream_id(MAIN)


class MarkLog:
    """The log of a mark that is in use."""

    def __init__(self, path: Path, versions: Versions) -> None:
        self._path = path
        self._versions = versions
        self.heads: StreamHeads = {}
        """The newest entries of the streams beside `main`."""
        self.promises = Promises()
        self.passing: dict[bytes, int] = {}
        """Versions that others have added until the machine starts again. They may have died since."""
        begin_in_each_process(self)

    def begin_process(self) -> None:
        """Begin in a new process: no file is open, nobody holds the guard."""
        self._versions.begin_process()
        self._file: MarkFile | None = None
        self._held: MarkFile | None = None
        self._holder: object = None
        self._name = secrets.token_bytes(NAME_BYTES)
        self.lacks = False
        """Whether this process noted that something is missing, and has not taken it back."""
        self._left = OPENED_AGAIN
        self._looks = LOOKED_AGAIN

    # --- writing ---

    def write(self, entries: Sequence[EntryRow], raised: Raised, *, follow: bool = False) -> None:
        """Raise the file to these entries, unless it is further, and add these versions to it.

        With `follow` it is set to exactly these entries, be they further back.
        """
        records = [(place, version, until) for place, (version, until) in raised.items()]
        self._write(entries, records, follow=follow)

    def write_unsynced(self, raised: Raised, newest: EntryRow | None = None) -> Added | None:
        """Add these versions for as long as this machine runs, if the system tells one start from another.

        Return what can be settled once it is synced, with this newest entry; None if it has to be written
        again.
        """
        boot = boot_number()
        if not (boot and raised):
            return None
        records = unsynced_records(raised, boot)
        with self._versions.guard:
            if self._held is not None and newest is not None and not any(end for _, end in raised.values()):
                return self._held.add_unsynced([*records, unsynced_head(newest)])
            self._add(records)
            return None

    def settle(self, added: Added, newest: EntryRow) -> bool:
        """Let this count for good, as it is synced; return False if it has to be written again.

        Who writes the log again says so and reads it again for that. If that was done before this, it goes on
        in another file.
        """
        with self._versions.guard:
            file = added.file
            if file is not self._file or file.long_for(len(self._versions.known)):
                return False
            try:
                file.settle(added)
                self.heads[_MAIN] = (newest.seq, newest.hash[:HASH_KEPT])
                return not (file.goes_on or file.has_news())
            except OSError:
                return False

    def write_at_once(self, raised: Raised) -> bool:
        """Do the same unless another process holds the file. Where there is none, none is made for this.

        Return False if it is to be tried again.
        """
        with self._versions.guard:
            if self._held is not None:
                self.write_unsynced(raised)
            elif self._file is not None and self._path.exists():
                if not self._file.lock_at_once():
                    return False
                self._file.unlock()
                self.write_unsynced(raised)
            return True

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

    @property
    def is_open(self) -> bool:
        return self._file is not None

    def hold(self, holder: object) -> None:
        """Keep other processes from writing until `let_go`, and read what they have written before."""
        with self._versions.guard:
            self._held = None  # it may be left of somebody who was interrupted while letting go
            while self._held is None:
                file = self._open_file()
                try:
                    file.lock()
                    self._take_news(file)
                    self._holder = holder
                    self._held = file
                except MarkReplaced:  # the log continues in another file
                    self._file = None
                    file.unlock()
                except BaseException:
                    self._held = None
                    file.unlock()
                    raise

    def let_go(self, holder: object) -> None:
        """Let others write. Unlock first and then forget: whoever is interrupted can do this again."""
        with self._versions.guard:
            if self._holder is holder:
                held, self._held = self._held or self._file, None
                if held is not None:
                    held.unlock()
                self._holder = None

    # --- what is missing ---

    def note_lack(self, *, wait: bool) -> None:
        """Note in the file that something is missing in it.

        Only under the lock can it be said who knows what is missing, so that they can take it back.
        """
        with self._versions.guard:
            try:
                with self._locked(wait=wait) as file:
                    file.note_lack(self._name)
            except MarkLocked:
                self._open_by_path().note_lasting_lack()
            self.lacks = True

    def take_lack_back(self) -> None:
        """What this process noted as missing has been written."""
        self._change_lack(lambda file: file.take_lack_back(self._name))

    def clear_lacks(self) -> None:
        """Whatever is missing counts for nothing."""
        self._change_lack(MarkFile.clear_lacks)

    def _change_lack(self, change: Callable[[MarkFile], None]) -> None:
        """If this cannot be done now, the lack stays, and it is tried again with what is written next."""
        with self._versions.guard, suppress(OSError), self._locked() as file:
            change(file)
            self.lacks = False

    @contextmanager
    def _locked(self, *, wait: bool = True) -> Iterator[MarkFile]:
        """The file that is there now, under the lock. Others may replace it until it is locked."""
        while self._held is None:
            file = self._open_by_path()
            if not wait and not file.lock_at_once():
                raise MarkLocked
            with file.hold_lock():
                if file is self._file or file.is_at(self._path):
                    yield file
                    return
        yield self._held

    def _open_by_path(self) -> MarkFile:
        try:
            return MarkFile(self._path, make=True)
        except OSError:
            if self._file is None:
                raise
            return self._file

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
        try:  # without a context manager, as this is done for every commit
            file.lock()
            self._take_news(file)
            self._add_to(file, entries, records, follow=follow)
            if entries and file.long_for(len(self._versions.known)):  # an entry says what time it is
                self._shorten(file, entries[-1].at)
            file.unlock()
        except BaseException:  # also if it was interrupted while it unlocked
            file.unlock()
            raise

    def _add_to(
        self, file: MarkFile, entries: Sequence[EntryRow], records: list[Record], *, follow: bool
    ) -> None:
        """Only under the lock, after a look."""
        newest = entries[0] if len(entries) == 1 and entries[0].stream == MAIN else None
        if not follow and (newest is not None or not entries):
            return file.write(newest, records)
        newest = next((entry for entry in entries if entry.stream == MAIN), None)
        others = [one for one in entries if one is not newest]
        heads = (records_to_follow if follow else records_to_raise)(self.heads, others)
        file.write(newest, records + heads, follow=follow)
        return learn_head_records(self.heads, heads)

    def _take_news(self, file: MarkFile) -> None:
        """Read what was added, under the lock. Raise MarkReplaced if the log continues in another file."""
        if file.has_news():
            self._take(file)
        if file.goes_on:
            self._refuse_replaced(file)

    def _refuse_replaced(self, file: MarkFile) -> None:
        """Whoever wrote it again may have died before saying that they have."""
        if file.goes_on and not file.is_at(self._path):
            raise MarkReplaced

    def _open_file(self) -> MarkFile:
        """Return the file, reopened now and then. A deleted file is made again, with all we know."""
        self._left -= 1
        if self._file is not None and self._left >= 0:
            return self._file
        while True:
            with suppress(MarkReplaced):  # after it was opened, and before it was locked
                return self._open_again()

    def _open_again(self) -> MarkFile:
        try:
            file = MarkFile(self._path, make=True)
        except OSError as error:
            if self._file is None or error.errno not in _CANNOT_OPEN:
                raise
            return self._file  # the next time it is tried again
        if self._file is not None and self._file.same_as(file):
            self._left = OPENED_AGAIN
            return self._file
        with file.hold_lock():
            known = dict(self.heads)
            found = [record_as_counts_now(one) for one in self._take(file)]
            self.heads = self.heads or known
            file.write(None, [*self._versions.records_beyond(found), *self._other_records()])
        self._file, self._left = file, OPENED_AGAIN
        return file

    def _shorten(self, file: MarkFile, now: float) -> None:
        """Write the log again with what is alive. Sessions that ended long ago are too old to come back.

        What is not synced yet, of this process or another, still counts only until this machine starts again.
        """
        of_others = {*self.passing}
        self.passing.clear()
        file.read_again()
        found = self._take(file)
        beside = self._other_records()
        self._versions.forget(now)
        file.replace([*with_unsynced(self._versions.records(), self.passing, found), *beside])
        for place in self.passing.keys() - of_others:
            del self.passing[place]
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
            file = self._file
            if self._looks >= 0 and file is not None and not (file.goes_on or file.has_news()):
                return
            if self._looks < 0:
                self._looks = LOOKED_AGAIN
                if file is not None and not file.is_at(self._path):
                    self._file = None
            try:
                self._read_news()
            except FileNotFoundError:
                return  # it was deleted just now, and is made again by whoever writes next
            except OSError as error:
                raise StoreError(f"the mark {self._path} cannot be read: {error.strerror}") from error

    def _read_news(self) -> None:
        while True:
            if self._file is None:
                self._file = MarkFile(self._path, make=False)
            try:
                self._take(self._file)
                self._refuse_replaced(self._file)
            except MarkReplaced:  # the log continues in another file
                self._file = None
            else:
                return

    def _take(self, file: MarkFile) -> list[Record]:
        """Learn what was added, and return the versions among it, as they stand there."""
        if file.is_unread:
            self.heads = {}
        found = file.news()
        if not found:
            return found
        found = [one for one in found if not is_unsynced_head(one)]
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
            learn_passing(self.passing, found)
        if promised:
            self._learn_promises(promised)
        return found

    def _learn_promises(self, records: Sequence[Record]) -> None:
        self.promises.learn_records(records)
        self.promises.drop_kept(self._versions.committed_version)
