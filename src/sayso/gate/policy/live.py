"""A policy file under a running gate: tightening counts at once, loosening waits for the operator.

- Each look is one `stat`. If the file is another by then, it is read; the bytes parsed are the bytes hashed.
- A file that only tightens is in force at once. Any other is joined with what is in force: from then on
  nothing is looser than under either of them, until the operator applies the file.
- A file that is refused, or gone, changes nothing. The operator is told, once for each content.
- A locked file that was changed changes nothing either, and everything in `self_modification` is denied.
- The store's row is the truth. Whoever finds that it moved goes on under the policy that it names now.
- A gate that was opened without a file (a preset, a policy made in a program) is held to the row as well,
  also if that comes later: nothing is looser than under it. Such a gate puts nothing in force.
- The first file on a store that decided under a preset is held against that preset.
- A gate of a user who has no file yet looks where one may come. The first one counts from then on as any
  other does; it is held against the gate's own policy, too.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import msgspec

from sayso.core.audit import events
from sayso.core.model import Mode
from sayso.core.policy import Policy, with_mode
from sayso.gate import words
from sayso.gate.forks import begin_in_each_process
from sayso.gate.gate import Gate, PolicyMoved, writing
from sayso.gate.policy.in_force import (
    MOST_TOLD,
    ROW,
    InForce,
    put_in_force,
    read_before_restore,
    read_policy,
    read_preset,
    read_row,
    save_row,
)
from sayso.gate.policy.projects import SETTLED
from sayso.gate.policy.resolve import FileContent, Resolution, hold_to_row, read_file_content, resolve
from sayso.gate.rows.journal import record
from sayso.gate.sealed_values import TamperedValue, lock_values
from sayso.gate.telemetry import log_policy_alert
from sayso.policy.compare.strictest import ask_always, block_all, join_strictest
from sayso.store.contract import Reader, Writer

ROW_LASTS = 1.0
"""Seconds after which somebody who only looks reads the row again; whoever decides reads it each time."""
ROW_LASTS_UNWATCHED = 30.0
"""The same for a gate without a file, which nothing may ever move."""

Stamp = tuple[int, int, int, int, int]


class LivePolicyFile:
    """The policy of a gate as of now: of its file, or of its own where it has none; and of its store.

    Used by many threads at once.
    """

    def __init__(
        self, gate: Gate, path: Path | None, wish: Mode | None = None, awaited: tuple[Path, ...] = ()
    ) -> None:
        self._gate = gate
        self.path = path
        self.rows_read = frozenset({ROW})
        self._own = gate.policy if path is None else None
        self._until_file: Policy | None = None
        """What this gate decided under before its first file came."""
        self._names = tuple(map(os.fspath, awaited if path is None else (path,)))
        self._wish = wish
        self._stale = True
        self._row_until = 0.0
        self._stamp: Stamp | None = None
        self._read_until = float("inf")
        self._file: FileContent | None = None
        self._text: str | None = None
        """The row as the store writes it."""
        self._row: InForce | None = None
        self._in_force: Policy | None = None
        self._policy: Policy | None = None
        begin_in_each_process(self)

    def begin_process(self) -> None:
        """Begin in a new process: another thread of the one that it was forked from may have been looking."""
        self._lock = threading.Lock()
        self._policy, self._stale = None, True

    def policy_now(self) -> Policy:
        """Return the policy to decide under, after one look at the file."""
        policy = self._policy
        if policy is not None and not self.has_moved(policy):
            return policy
        with self._lock:
            return self._refresh()

    def has_moved(self, policy: Policy) -> bool:
        if self._stale or policy is not self._policy or time.monotonic() > self._row_until:
            return True
        if time.time() <= self._read_until:
            return True
        return self._look() != self._stamp

    def is_own(self, policy: Policy) -> bool:
        return policy is self._own

    def follow(self, gate: Gate) -> None:
        self._gate = gate

    def look_again(self) -> None:
        self._stale = True

    def check(self, tx: Reader, policy: Policy) -> None:
        """Refuse to decide under a policy that is not the one of now, here or in the store."""
        if policy is self._policy and tx.meta(ROW) == self._text:
            return
        self._stale = True
        raise PolicyMoved("another policy came into force just now")

    def _look(self) -> Stamp | None:
        for name in self._names:
            try:
                found = os.stat(name)  # noqa: PTH116  in every decision, and Path.stat takes twice as long
            except OSError:
                continue
            return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)
        return None

    def _find_first_file(self) -> None:
        """Go by the first file of a user who had none, if it is there by now; under the lock."""
        found = next((name for name in self._names if os.path.exists(name)), None)  # noqa: PTH110
        if self.path is None and found is not None:
            self.path, self._names = Path(found), (found,)
            self._until_file, self._own, self._file = self._own, None, None

    def _refresh(self) -> Policy:
        """Look at the file and at the row, and write down what follows; under the lock."""
        stale = self._stale or time.monotonic() > self._row_until
        self._stale = False  # first: what moves from here on is seen next time
        self._find_first_file()
        stamp = self._look()
        known = not stale and stamp == self._stamp
        content = self._read()
        policy = self._policy if known and content is self._file else None
        while policy is None:
            policy = self._settle(content)
        self._file, self._stamp = content, stamp
        if stale:
            self._row_until = time.monotonic() + (ROW_LASTS_UNWATCHED if self.path is None else ROW_LASTS)
        self._read_until = SETTLED + (0.0 if stamp is None else max(stamp[0], stamp[1]) / 1e9)
        return policy

    def _read(self) -> FileContent:
        if self.path is not None:
            return read_file_content(self.path, self._file)
        return self._file or FileContent("" if self._own is None else self._own.digest, self._own)

    def _settle(self, content: FileContent) -> Policy | None:
        """Decide under what follows from file and row; None if the row moved before that was written."""
        with self._gate.store.read() as tx:
            text, now = tx.meta(ROW), tx.now
            if text == self._text and content is self._file and self._policy is not None:
                return self._policy
            row, before, lost = self._load(tx)
        if self._own is not None:
            found = hold_to_row(row, before, self._own, now)
        else:
            found = resolve(row, before, content, now)
        if lost and self._in_force is None:
            strict = block_all(found.effective) if before is None else ask_always(found.effective)
            row, before, found = None, None, Resolution(strict)
            log_policy_alert(words.POLICY_LOST)
        elif lost and found.in_force is None:
            found = msgspec.structs.replace(found, in_force=before, why=words.POLICY_RESTORED)
        policy = self._take(found.effective)
        if found.in_force is None and not self._is_new(row, content, found.alert):
            self._keep(text, row, before)
            return policy
        with writing(self._gate) as tx:
            lock_values(tx, "in-force")  # first: what others put in force meanwhile is not overwritten
            if tx.meta(ROW) != text:
                return None
            row, before = self._write(tx, row, before, content, found)
            text = tx.meta(ROW)
        self._keep(text, row, before)
        tightened = policy.tightened if before is None else before.tightened
        return self._take(msgspec.structs.replace(found.effective, tightened=tightened))

    def _keep(self, text: str | None, row: InForce | None, in_force: Policy | None) -> None:
        """Know from now on what is in force, and how the store writes it."""
        self._text = text
        if row is not None and in_force is not None:
            self._row, self._in_force = row, in_force

    def _take(self, policy: Policy) -> Policy:
        """From now on decide under this policy. The same policy stays the same object."""
        chosen, now = with_mode(policy, self._wish), self._policy
        if now is not None and _is_same(chosen, now):
            return now
        self._policy = chosen
        return chosen

    def _load(self, tx: Reader) -> tuple[InForce | None, Policy | None, bool]:
        """Return the row, the policy that it names, and whether it was tampered with or restored.

        A gate that knows what was in force before goes by that; another by what was last in force before the
        restore.
        """
        try:
            row = read_row(self._gate, tx)
            if row is not None:
                return row, read_policy(self._gate, tx, row), False
            return None, None if self.path is None else self._find_policy_before_file(tx), False
        except TamperedValue:
            if self._in_force is not None:
                return self._row, self._in_force, True
            return *(read_before_restore(self._gate, tx) or (None, None)), True

    def _find_policy_before_file(self, tx: Reader) -> Policy | None:
        """The strictest of what the store and this gate decided under without a file."""
        preset, own = read_preset(self._gate, tx), self._until_file
        return own if preset is None else preset if own is None else join_strictest(preset, own, tx.now)

    def _is_new(self, row: InForce | None, content: FileContent, alert: str) -> bool:
        """Return whether the operator was not told yet. Without a row, each gate tells it once."""
        if row is None:
            return bool(alert) and content is not self._file
        return bool(alert) and content.digest not in row.told

    def _write(
        self,
        tx: Writer,
        row: InForce | None,
        before: Policy | None,
        content: FileContent,
        found: Resolution,
    ) -> tuple[InForce | None, Policy | None]:
        """Write what follows, and return the row and the policy in force then."""
        told = self._is_new(row, content, found.alert)
        if found.in_force is not None:
            row, before = put_in_force(self._gate, tx, found.in_force, row)
            self._record(tx, events.PolicyChanged(found.in_force.digest, why=found.why))
            told = bool(found.alert) and content.digest not in row.told
        if told:
            if row is not None:
                row = msgspec.structs.replace(row, told=(*row.told, content.digest)[-MOST_TOLD:])
                save_row(self._gate, tx, row)
            self._record(tx, events.PolicyAlerted(content.digest, found.alert))
            log_policy_alert(found.alert)
        return row, before

    def _record(self, tx: Writer, event: events.AuditEvent) -> None:
        record(tx, event, stream=self._gate.stream)


def _is_same(a: Policy, b: Policy) -> bool:
    return (a.digest, a.mode, a.tightened) == (b.digest, b.mode, b.tightened)
