"""Many statements in one word to the server, with as little as possible between us and its own library.

- Each statement is prepared once it was used a few times; of those that are prepared, the oldest goes first.
- The first error of the server is raised, and nothing that was said after it was done.
- Whatever else interrupts a conversation ends the connection: nobody can tell what is still under way on it.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import ref

from sayso.core.extras import install_command
from sayso.store.contract import StoreError

try:
    import psycopg
    from psycopg import abc, pq
    from psycopg.adapt import PyFormat, Transformer
except ImportError as error:
    raise StoreError("PostgreSQL needs the extra postgres", hint=install_command("postgres")) from error

Statement = tuple[bytes, Sequence[Any]]
"""A statement with numbered parameters, and these."""
Result = pq.abc.PGresult
Key = tuple[bytes, tuple[int, ...]]
"""A statement, and the types of its parameters."""
PREPARED = 200
"""Statements that a connection keeps prepared: each for the lengths of lists it was needed with."""
WORTH_IT = 3
"""The use of a statement with which it is prepared."""
MOST_COUNTED = 2_000
"""Of how many statements the uses are counted."""
BINARY = pq.Format.BINARY


class Words(NamedTuple):
    """A statement as it is sent: its parameters spelled, and the format of each."""

    key: Key
    values: Sequence[Any] | None
    formats: list[pq.Format] | None


class StatementAnswer:
    """What the server said to one statement."""

    __slots__ = ("_result", "_transformer")

    def __init__(self, result: Result, transformer: abc.Transformer) -> None:
        self._result, self._transformer = result, transformer

    def rows(self) -> list[tuple[Any, ...]]:
        count = self._result.ntuples
        if not count:
            return []
        self._transformer.set_pgresult(self._result, format=BINARY)
        return self._transformer.load_rows(0, count, tuple)

    @property
    def count(self) -> int:
        """How many rows it added, changed or took away."""
        return self._result.command_tuples or 0

    @property
    def status(self) -> str:
        return (self._result.command_status or b"").decode()


class TalkingConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection to which many statements can be said at once."""

    under_way: ref[Any] | None = None
    """The transaction on it, as long as that has not ended."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prepare_threshold = None  # with what psycopg prepares, it would now and then drop ours
        self._transformer = Transformer(self)
        self._uses: dict[Key, int] = {}
        self._names: dict[Key, bytes] = {}
        self._last = 0

    def ask(self, said: Sequence[Statement]) -> list[StatementAnswer]:
        """Say all of these in one go, and return the answer to each."""
        server, wanted = self.pgconn, []
        new: dict[int, Key] = {}
        words = [self._spell(*one) for one in said]  # all, before anything is on its way
        try:
            server.enter_pipeline_mode()
            sent = 0
            for one in words:
                sent = self._send(one, sent, new)
                wanted.append(sent - 1)
            server.pipeline_sync()
            results = _exchange(server)
            server.exit_pipeline_mode()
        except BaseException:
            server.finish()
            raise
        if new:
            self._forget_unprepared(results, new)
        failed = next((one for one in results if one.status == pq.ExecStatus.FATAL_ERROR), None)
        if failed is not None:
            raise psycopg.errors.error_from_result(failed, encoding="utf-8")
        return [StatementAnswer(results[place], self._transformer) for place in wanted]

    def _spell(self, statement: bytes, values: Sequence[Any]) -> Words:
        if not values:
            return Words((statement, ()), None, None)
        transformer = self._transformer
        spelled = transformer.dump_sequence(values, [PyFormat.AUTO] * len(values))
        return Words((statement, transformer.types or ()), spelled, transformer.formats)

    def _send(self, words: Words, sent: int, new: dict[int, Key]) -> int:
        """Send it, prepared if that is worth it; return how much was sent by then."""
        server, (key, values, formats) = self.pgconn, words
        statement, types = key
        name = self._names.pop(key, None)
        if name is None:
            if not self._is_worth_preparing(key):
                server.send_query_params(statement, values, types or None, formats, BINARY)
                return sent + 1
            if len(self._names) >= PREPARED:
                oldest = self._names.pop(next(iter(self._names)))
                server.send_query_params(b"DEALLOCATE " + oldest, None)
                sent += 1
            self._last += 1
            name = b"sayso_%d" % self._last
            server.send_prepare(name, statement, types or None)
            new[sent] = key
            sent += 1
        self._names[key] = name
        server.send_query_prepared(name, values, formats, BINARY)
        return sent + 1

    def _is_worth_preparing(self, key: Key) -> bool:
        if len(self._uses) >= MOST_COUNTED:
            self._uses.clear()
        uses = self._uses[key] = self._uses.get(key, 0) + 1
        return uses >= WORTH_IT

    def _forget_unprepared(self, results: Sequence[Result], new: dict[int, Key]) -> None:
        """Forget what the server did not prepare, because something failed before."""
        for place, key in new.items():
            if results[place].status != pq.ExecStatus.COMMAND_OK:
                self._names.pop(key, None)


def _exchange(server: pq.abc.PGconn) -> list[Result]:
    """Send what was said, and gather the results until all of it was answered."""
    found: list[Result] = []
    ready = select.poll()
    more = server.flush()
    while True:
        ready.register(server.socket, select.POLLIN | (select.POLLOUT if more else 0))
        ready.poll()
        server.consume_input()
        if more:
            more = server.flush()
        while not server.is_busy():
            result = server.get_result()
            if result is None:  # the end of what one statement gave
                continue
            if result.status == pq.ExecStatus.PIPELINE_SYNC:
                return found
            found.append(result)
