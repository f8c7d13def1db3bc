"""A transaction on PostgreSQL: every word to the server and back takes long, so there are few of them.

- What is written waits until the next read, or the commit, and goes out together with that (`waiting`).
- What is going to be read can be asked for at once (`read_ahead`), with the locks that go before it.
- A batch begins with the first that it asks for, and learns the time and the name of the transaction with it.
- The time is read again after the first wait for a session: what happens in a session bears the times of its
  order, whichever streams it is recorded in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sayso.core.extras import install_command
from sayso.store.contract import Ahead, StoreError
from sayso.store.postgres.ahead import METAS, Said, array_of, statement_for
from sayso.store.postgres.joined import statements_for
from sayso.store.postgres.pipeline import StatementAnswer, TalkingConnection
from sayso.store.postgres.server import explain_postgres_error, number_parameters
from sayso.store.sql import statements as sql
from sayso.store.sql.ahead import new_effects, new_sessions_and_calls, reads_ahead
from sayso.store.sql.known import KnownRows
from sayso.store.sql.transactions import Transaction

try:
    import psycopg
except ImportError as error:
    raise StoreError("PostgreSQL needs the extra postgres", hint=install_command("postgres")) from error

NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"
NOW_AND_NAME = f"{NOW}, pg_current_xact_id()::text"
# In a batch every read finds rows by keys that are indexed. So a statement is planned once for all keys: to
# plan it again for these takes longer than to find them. Until the tables have grown, a plan must not rely on
# their being small.
_BATCH_BEGUN = (
    f"{NOW_AND_NAME}, set_config('plan_cache_mode', 'force_generic_plan', true),"
    " set_config('enable_seqscan', 'off', true)"
)
# The server's own record of what became of a transaction: no row, so that nobody can put it back. Under their
# full names no function of another schema hides these. Of a transaction that is too old the server has no
# record any more: it may have been committed. One that was not over when we began to read is none of ours.
_WAS_COMMITTED = """
SELECT CASE WHEN pg_catalog.pg_visible_in_snapshot(name, pg_catalog.pg_current_snapshot())
    THEN coalesce(pg_catalog.pg_xact_status(name), 'committed') = 'committed' END
FROM (SELECT ?::xid8 AS name) AS asked
"""
_HOLD = "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))"
_HOLD_EACH = "SELECT pg_advisory_xact_lock(hashtextextended(name, 0))::text FROM unnest(?::text[]) AS name"
# The sessions named, those of the calls named, and all they descend from: the oldest first, then by name, so
# that no two transactions wait for each other.
_HOLD_SESSIONS = """
WITH RECURSIVE line (id, parent, age) AS (
    SELECT wanted.id, (SELECT parent FROM sessions WHERE sessions.id = wanted.id), 0 FROM (
        SELECT unnest(?::text[]) COLLATE "C" AS id UNION SELECT session FROM calls WHERE id = ANY (?)
    ) AS wanted
    UNION
    SELECT sessions.id, sessions.parent, age + 1 FROM line JOIN sessions ON sessions.id = line.parent
    WHERE age < 100
), depth (id, parent, depth) AS (
    SELECT id, parent, 0 FROM line WHERE parent IS NULL OR parent NOT IN (SELECT id FROM line)
    UNION
    SELECT line.id, line.parent, depth + 1 FROM depth JOIN line ON line.parent = depth.id WHERE depth < 100
), oldest_first AS MATERIALIZED (SELECT id FROM depth GROUP BY id ORDER BY MAX(depth), id)
SELECT id, pg_advisory_xact_lock(hashtextextended('session/' || id, 0))::text FROM oldest_first
"""


class PostgresTransaction(Transaction):
    """`xid` names it on the server; a transaction that only reads has none.

    One that is made without a time has not begun.
    """

    local = False

    def __init__(
        self, connection: TalkingConnection, place: str, now: float | None = None, xid: str = ""
    ) -> None:
        super().__init__(now or 0.0)
        self.connection = connection
        self.xid = xid
        self._begun = now is not None
        self._writes = not self._begun or bool(xid)
        self._place = place
        self._let_in = False
        """Whether the time was read after the first wait for a session."""
        self._held: set[str] = set()
        self._held_before: set[str] = set()

    @property
    def number(self) -> int:
        return int(self.xid or 0)

    def was_committed(self, number: int) -> bool | None:
        found: bool | None = self.rows(_WAS_COMMITTED, (str(number),))[0][0]
        return found

    def rows(self, statement: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._send([(statement, parameters)])[0].rows()

    def change(self, statement: str, parameters: Sequence[object]) -> int:
        count = self._send([(statement, parameters)])[0].count
        if count > 0:
            self.changed = True
        return count

    def commit(self, *statements: str) -> str:
        """Send what waits with these statements; what the server says of the last one."""
        return self._send([(statement, ()) for statement in statements])[-1].status

    def begin_now(self) -> None:
        self.check()
        if not self._begun:
            self._send([])

    def _send(self, said: Sequence[Said]) -> list[StatementAnswer]:
        """Send what waits and then these, in one go; the answers to these."""
        self.check()
        begin: list[Said] = [] if self._begun else [("BEGIN", ()), (_BATCH_BEGUN, ())]
        waiting = [*begin, *(one for write in self._take_waiting() for one in statements_for(write))]
        try:
            numbered = [(number_parameters(text), values) for text, values in (*waiting, *said)]
            answers = self.connection.ask(numbered)
        except (psycopg.Error, UnicodeEncodeError) as error:
            raise self.fail_with(explain_postgres_error(error, self._place)) from error
        if begin:
            self._note_begun(answers[1].rows())
        return answers[len(waiting) :]

    def _note_begun(self, told: Sequence[tuple[Any, ...]]) -> None:
        if not told:
            raise self.failure(f"{self._place} does not tell the time")
        self.now, self.xid, *_ = told[0]
        self._begun = True

    # --- parts of a batch ---

    def begin_part(self) -> None:
        super().begin_part()
        self._held_before = set(self._held)

    def undo_part(self) -> None:
        if self._part is None and not self.failed:
            self._held = self._held_before
        super().undo_part()

    # --- locks, and reading ahead ---

    def hold(self, what: str) -> bool:
        if not self._writes or what in self._held:
            return False
        kind, _, name = what.partition("/")
        if kind == "session":
            self._hold_sessions([name], [])
        else:
            self.rows(_HOLD, (what,))
            self._held.add(what)
        return True

    def _hold_sessions(self, sessions: list[str], calls: list[str]) -> None:
        self._note_held([answer.rows() for answer in self._send(self._locks_ahead(sessions, calls, []))])

    def _time_again(self) -> list[Said]:
        """What asks for the time, once a session is held."""
        return [] if self._let_in or not self._writes else [(NOW, ())]

    def _note_held(self, found: Sequence[Sequence[tuple[Any, ...]]]) -> None:
        """These sessions are held, and if that was the first wait for one, this is the time."""
        if not found:
            return
        held, *told = found
        self._held |= {f"session/{row[0]}" for row in held}
        if not self._let_in:
            self._let_in = True
            self.now = max(self.now, told[0][0][0])

    def read_ahead(self, wanted: Ahead, known: KnownRows) -> None:
        """All that is wanted and not known, in one go: first the locks, then what they guard.

        Sessions are locked first, then effects, then streams: the order that the gate keeps to as well.
        """
        if known.has_all(wanted):
            return
        sessions, calls = new_sessions_and_calls(wanted, known)
        effects = [f"effect/{key}" for key in new_effects(wanted, known)]
        streams = sorted(wanted.streams - known.heads.keys())
        again = sorted(known.metas) if streams and self._writes else []
        reads = reads_ahead(wanted, known)
        locks = self._locks_ahead(sessions, calls, effects)
        said = [*locks, *(statement_for(one, calls) for one in reads), *self._of_streams(streams, again)]
        if not said:
            return
        found = [answer.rows() for answer in self._send(said)]
        if self._writes:
            self._held |= {*effects, *(f"stream/{stream}" for stream in streams)}
        if sessions or calls:
            self._note_held(found[: len(locks)])
        for read, rows in zip(reads, found[len(locks) :], strict=False):
            read.learn(rows)
        _learn_streams(known, streams, again, found)

    def _locks_ahead(self, sessions: list[str], calls: list[str], effects: list[str]) -> list[Said]:
        if not self._writes:
            return []
        locks: list[Said] = []
        if sessions or calls:
            locks += [(_HOLD_SESSIONS, (array_of(sessions), array_of(calls))), *self._time_again()]
        return [*locks, (_HOLD_EACH, (array_of(effects),))] if effects else locks

    def _of_streams(self, streams: list[str], again: list[str]) -> list[Said]:
        """What reads the heads of streams, and these values again: what is in the stream by now counts."""
        if not streams:
            return []
        locks: list[Said] = [(_HOLD, (f"stream/{stream}",)) for stream in streams if self._writes]
        values: list[Said] = [(METAS, (array_of(again),))] if again else []
        return [*locks, *values, (sql.NEWEST_TIME, ()), *((sql.HEAD, (stream,)) for stream in streams)]


def _learn_streams(
    known: KnownRows, streams: list[str], again: list[str], found: list[list[tuple[Any, ...]]]
) -> None:
    """What was read of streams is what was read last: values, the newest time, and the heads."""
    if not streams:
        return
    first = len(found) - len(streams)
    for stream, rows in zip(streams, found[first:], strict=True):
        known.note_head(stream, rows)
    known.newest_times[:] = [found[first - 1][0][0]]
    if again:
        known.metas.update({**dict.fromkeys(again), **dict(found[first - 2])})
