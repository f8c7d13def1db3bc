"""Every SQL statement of the stores, by name, in words that SQLite and PostgreSQL both understand.

Parameters are `?`. `EACH` stands for as many groups of parameters as there are keys. Nothing that comes from
outside is ever part of a statement: the texts are put together here, once, from the names of our own rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TypeVar

import msgspec

from sayso.core.ledger import NOT_OVER
from sayso.store import contract

EACH = ":each"
FEW = 4
"""So many keys or fewer are asked for as they are: those are the most frequent, and the shortest."""
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64)
"""How many rows one statement writes: most lists are one or two of these."""
T = TypeVar("T")


def _column_names(row: type[msgspec.Struct]) -> list[str]:
    return [f'"{name}"' for name in row.__struct_fields__]


def _select(table: str, row: type[msgspec.Struct], rest: str) -> str:
    return f"SELECT {', '.join(_column_names(row))} FROM {table} {rest}"  # noqa: S608  only names written in this file


def _select_pairs(table: str, row: type[msgspec.Struct], rest: str) -> str:
    """Look up pairs of values, `one` and `two`. SQLite uses no index for pairs in an IN, but does so here."""
    wanted = f"WITH wanted (one, two) AS (VALUES {EACH})"
    return f"{wanted} {_select(f'wanted CROSS JOIN {table}', row, rest)}"


def _select_each(table: str, row: type[msgspec.Struct], rest: str) -> str:
    """Look up single values, `one`, one after the other: each by the index that finds it."""
    return f"WITH wanted (one) AS (VALUES {EACH}) {_select(f'wanted CROSS JOIN {table}', row, rest)}"


def _insert(table: str, row: type[msgspec.Struct]) -> str:
    names = _column_names(row)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608  only names written in this file


def _upsert(table: str, row: type[msgspec.Struct], *key: str) -> str:
    """Insert a row, or give the one with this key the new values."""
    quoted = [f'"{name}"' for name in key]
    rest = ", ".join(f"{name} = excluded.{name}" for name in _column_names(row) if name not in quoted)
    return f"{_insert(table, row)} ON CONFLICT ({', '.join(quoted)}) DO UPDATE SET {rest}"


def _update(table: str, row: type[msgspec.Struct], rest: str) -> str:
    """All columns but the first, the id that the row is found by: said again, it would be indexed again."""
    values = ", ".join(f"{name} = ?" for name in _column_names(row)[1:])
    return f"UPDATE {table} SET {values} {rest}"  # noqa: S608  only names written in this file


@lru_cache(maxsize=512)
def repeat_groups(statement: str, groups: int, width: int) -> str:
    """The statement with room for this many keys of this many parts."""
    group = f"({', '.join('?' * width)})"
    return statement.replace(EACH, ", ".join([group] * groups))


def with_keys(statement: str, keys: Sequence[Sequence[object]]) -> tuple[str, list[object]]:
    """The statement that looks for these keys, and its parameters but the rest.

    Each length is a statement that its connection keeps, the longer the larger. So there are few of them,
    and what is left over of one is filled with NULL, which finds nothing.
    """
    width, size = len(keys[0]), _room_for(len(keys))
    values = [*chain.from_iterable(keys), *[None] * (width * (size - len(keys)))]
    return repeat_groups(statement, size, width), values


def _room_for(keys: int) -> int:
    return keys if keys <= FEW else 1 << (keys - 1).bit_length()


def split_rows(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """The same rows in pieces of few lengths, for statements that write as many at once."""
    start = 0
    while start < len(rows):
        size = LENGTHS[bisect_right(LENGTHS, len(rows) - start) - 1]
        yield rows[start : start + size]
        start += size


TABLES: dict[type[msgspec.Struct], tuple[str, tuple[str, ...]]] = {
    contract.MetaRow: ("meta", ("name",)),
    contract.SessionRow: ("sessions", ("place",)),
    contract.GrantRow: ("grants", ("place",)),
    contract.SpendRow: ("spends", ("grant", "number")),
    contract.ReviewRow: ("reviews", ("name",)),
    contract.QuestionRow: ("questions", ("place",)),
    contract.CallRow: ("calls", ("place",)),
    contract.EntryRow: ("entries", ("place",)),
    contract.NodeRow: ("nodes", ("stream", "level", "index")),
    contract.CheckpointRow: ("checkpoints", ("place",)),
    contract.SecretRow: ("secrets", ("stream", "seq", "name")),
    contract.SummaryRow: ("summaries", ("source", "kind", "name", "place")),
    contract.DeliveryRow: ("deliveries", ("surface", "subject")),
}
"""Where each kind of row is kept, and by what its table is ordered."""


_READ_FROM: dict[type[msgspec.Struct], str] = {
    contract.EntryRow: """(
        SELECT place, COALESCE(name, 'unknown ' || stream_number) AS stream,
        seq, at, event, session, body, prev, hash
        FROM entries LEFT JOIN streams ON streams.number = stream_number
    ) AS named_entries"""
}
"""Of those whose rows are not columns alone, what they are read from."""


def page_statement(row: type[msgspec.Struct], *, first: bool) -> str:
    """A page of a table: what it is ordered by, then the row. All but the first begin after a key."""
    table, key = _READ_FROM.get(row, TABLES[row][0]), TABLES[row][1]
    quoted = ", ".join(f'"{name}"' for name in key)
    after = "" if first else f"WHERE ({quoted}) > ({', '.join('?' * len(key))})"
    return f"SELECT {quoted}, {', '.join(_column_names(row))} FROM {table} {after} ORDER BY {quoted} LIMIT ?"  # noqa: S608


def put_rows_statement(row: type[msgspec.Struct]) -> str:
    """Insert many rows at once; entries each with its place first."""
    if row is contract.EntryRow:
        return f"{_ADD_ENTRIES} {EACH}"
    return f"INSERT INTO {TABLES[row][0]} ({', '.join(_column_names(row))}) VALUES {EACH}"  # noqa: S608  only names written in this file


def put_summaries_statement() -> str:
    """Insert many summaries at once, or give those that are there the new bodies."""
    key = ", ".join(TABLES[contract.SummaryRow][1])
    return f"{put_rows_statement(contract.SummaryRow)} ON CONFLICT ({key}) DO UPDATE SET body = excluded.body"


META = 'SELECT "value" FROM meta WHERE "name" = ?'
SET_META = (
    'INSERT INTO meta ("name", "value") VALUES (?, ?) '
    'ON CONFLICT ("name") DO UPDATE SET "value" = excluded."value"'
)

SESSION = _select("sessions", contract.SessionRow, "WHERE id = ?")
_PAGE = "place > ? ORDER BY place LIMIT ?"
SESSIONS = _select("sessions", contract.SessionRow, f"WHERE {_PAGE}")
SESSIONS_OPEN = _select("sessions", contract.SessionRow, f"WHERE ended_at IS NULL AND {_PAGE}")
SESSIONS_OWNER = _select("sessions", contract.SessionRow, f"WHERE owner = ? AND {_PAGE}")
SESSIONS_OWNER_OPEN = _select(
    "sessions", contract.SessionRow, f"WHERE owner = ? AND ended_at IS NULL AND {_PAGE}"
)
SESSION_PLACE = "SELECT place FROM sessions WHERE id = ?"
CHILDREN = _select("sessions", contract.SessionRow, "WHERE parent = ? ORDER BY place")
PUT_SESSION = _upsert("sessions", contract.SessionRow, "id")
# Only what a decision changes: to name the other columns would touch their indexes as well.
CHANGE_SESSION = "UPDATE sessions SET workspace = ?, head = ?, spends = ?, mac = ? WHERE id = ?"

GRANT = _select("grants", contract.GrantRow, "WHERE id = ?")
GRANTS = _select("grants", contract.GrantRow, "WHERE session = ? ORDER BY place")
GRANTS_NAMED = _select_each("grants", contract.GrantRow, "WHERE session = ? AND id = one")
FIRST_GRANTS = _select(
    "grants",
    contract.GrantRow,
    "WHERE place IN (SELECT place FROM grants WHERE session = ? LIMIT ?) ORDER BY place",
)
GRANTS_BY_KEY = _select_pairs(
    "grants", contract.GrantRow, "WHERE session = ? AND kind = one AND value = two ORDER BY place"
)
_OPEN = "EXISTS (SELECT 1 FROM sessions WHERE sessions.id = grants.session AND ended_at IS NULL)"
_OPEN_OWNER = _OPEN.replace("NULL)", "NULL AND owner = ?)")
_REVOKED = """EXISTS (SELECT 1 FROM spends WHERE spends."grant" = grants.id AND what = 'revoke')"""
_ENDS_AFTER, _FIRST_FIRST = "(expires_at, id) > (?, ?)", "ORDER BY expires_at, id"
GRANTS_ENDING = _select(
    "grants", contract.GrantRow, f"WHERE {_ENDS_AFTER} AND {_OPEN} {_FIRST_FIRST} LIMIT ?"
)
GRANTS_ENDING_OWNER = _select(
    "grants", contract.GrantRow, f"WHERE {_ENDS_AFTER} AND {_OPEN_OWNER} {_FIRST_FIRST} LIMIT ?"
)
GRANTS_ENDING_SESSION = _select(
    "grants", contract.GrantRow, f"WHERE {_ENDS_AFTER} AND session = ? AND {_OPEN} {_FIRST_FIRST} LIMIT ?"
)
ACTIVE_RUN_GRANTS = _select(
    "grants",
    contract.GrantRow,
    f"WHERE expires_at > ? AND kind = 'run' AND {_OPEN} AND NOT {_REVOKED} {_FIRST_FIRST}",
)
GRANT_END = "SELECT expires_at, id FROM grants WHERE id = ?"
ADD_GRANT = _insert("grants", contract.GrantRow)

SPENDS = _select("spends", contract.SpendRow, f'WHERE "grant" IN (VALUES {EACH}) ORDER BY "grant", number')
ADD_SPEND = _insert("spends", contract.SpendRow)
ADD_LAST_SPEND = """
INSERT INTO spends ("grant", "session", "what", "call", "at", "number")
SELECT ?, ?, ?, ?, ?, 1 + COALESCE(MAX(number), 0) FROM spends WHERE "grant" = ?
"""

REVIEWS = _select("reviews", contract.ReviewRow, "ORDER BY name")
REVIEWS_BY_NAME = _select("reviews", contract.ReviewRow, f"WHERE name IN (VALUES {EACH}) ORDER BY name")
PUT_REVIEW = _upsert("reviews", contract.ReviewRow, "name")

QUESTION = _select("questions", contract.QuestionRow, "WHERE id = ?")
ANY_OPEN_QUESTION = "SELECT 1 FROM questions WHERE session = ? AND state = 'open' LIMIT 1"
OPEN_QUESTION = _select(
    "questions",
    contract.QuestionRow,
    "WHERE session = ? AND digest = ? AND state = 'open' ORDER BY place DESC LIMIT 1",
)
OPEN_QUESTIONS_BY_KEY = _select_pairs(
    "questions",
    contract.QuestionRow,
    "WHERE state = 'open' AND session = one AND digest = two ORDER BY place",
)
QUESTIONS = _select("questions", contract.QuestionRow, f"WHERE {_PAGE}")
QUESTIONS_STATE = _select("questions", contract.QuestionRow, f"WHERE state = ? AND {_PAGE}")
QUESTIONS_SESSION = _select("questions", contract.QuestionRow, f"WHERE session = ? AND {_PAGE}")
QUESTIONS_SESSION_STATE = _select(
    "questions", contract.QuestionRow, f"WHERE session = ? AND state = ? AND {_PAGE}"
)
# The signs keep the database from going through all questions of the session in their order: few are open.
QUESTIONS_SESSION_OPEN = _select(
    "questions",
    contract.QuestionRow,
    "WHERE session = ? AND state = 'open' AND +place > ? ORDER BY +place LIMIT ?",
)
_ASKED_BY = "EXISTS (SELECT 1 FROM sessions WHERE sessions.id = questions.session AND owner = ?)"
QUESTIONS_OWNER = _select("questions", contract.QuestionRow, f"WHERE {_ASKED_BY} AND {_PAGE}")
QUESTIONS_OWNER_STATE = _select(
    "questions", contract.QuestionRow, f"WHERE {_ASKED_BY} AND state = ? AND {_PAGE}"
)
QUESTION_PLACE = "SELECT place FROM questions WHERE id = ?"
COUNT_OPEN = "SELECT COUNT(*) FROM questions WHERE session = ? AND state = 'open'"
COUNT_OPEN_ANYWHERE = "SELECT COUNT(*) FROM questions WHERE state = 'open'"
LATE_SESSIONS = "SELECT DISTINCT session FROM questions WHERE state = 'open' AND expires_at <= ?"
ADD_QUESTION = _insert("questions", contract.QuestionRow)
CLOSE_QUESTION = _update("questions", contract.QuestionRow, "WHERE id = ? AND state = 'open'")

CALL = _select("calls", contract.CallRow, "WHERE id = ?")
CALL_BY_HOST = _select(
    "calls", contract.CallRow, "WHERE session = ? AND host_id = ? ORDER BY place DESC LIMIT 1"
)
CALL_BY_KEY = _select(
    "calls", contract.CallRow, "WHERE session = ? AND tool = ? AND key = ? ORDER BY place DESC LIMIT 1"
)
CALLS_BY_EFFECT = _select("calls", contract.CallRow, "WHERE effect_key = ? ORDER BY place")
_UNFINISHED = "over_at = 1e18"  # its state is one of NOT_OVER
CALLS_UNFINISHED = _select(
    "calls", contract.CallRow, f"WHERE {_UNFINISHED} AND state IN (VALUES {EACH}) ORDER BY place LIMIT ?"
)
ALL_CALLS = _select("calls", contract.CallRow, f"WHERE state IN (VALUES {EACH}) ORDER BY place LIMIT ?")
"""For those that are over as well: all calls are read, as nearly all of them are."""
CALLS_OF_RUNS = _select(
    "calls",
    contract.CallRow,
    f"WHERE workflow IS NOT NULL AND state IN (VALUES {EACH}) ORDER BY place LIMIT ?",
)
PUT_CALL = _upsert("calls", contract.CallRow, "id")
BYTES_OF_CALLS = f"""
    SELECT COALESCE(SUM(LENGTH(body)), 0) FROM calls WHERE {_UNFINISHED} AND session = ?
    AND NOT EXISTS (
        SELECT 1 FROM questions WHERE questions.id = calls.question
        AND questions.state <> 'open' AND calls.state = 'pending'
    )
"""  # noqa: S608  only names written in this file
DROP_RESULTS = "UPDATE calls SET result = NULL WHERE result IS NOT NULL AND over_at < ?"
DROP_DOUBTFUL_RESULTS = (
    f"UPDATE calls SET result = NULL WHERE result IS NOT NULL AND {_UNFINISHED} AND ended_at < ?"  # noqa: S608
)
"""Of those that ended, nobody knows how."""
MOVE_CALL = _update("calls", contract.CallRow, f"WHERE id = ? AND fence = ? AND state IN (VALUES {EACH})")


def calls_statement(states: Sequence[str]) -> str:
    """Find the calls in these states."""
    return CALLS_UNFINISHED if set(NOT_OVER).issuperset(states) else ALL_CALLS


@lru_cache(maxsize=64)
def change_call_statement(columns: tuple[str, ...]) -> str:
    """Change only these columns of a call: to name the others would touch their indexes as well."""
    values = ", ".join(f'"{name}" = ?' for name in columns)
    return f"UPDATE calls SET {values} WHERE id = ? AND fence = ? AND state = ?"  # noqa: S608  only names of our own rows


SEQ_BITS = 40
LAST_SEQ = (1 << SEQ_BITS) - 1
"""The highest number of an entry: so many fit between the places of one stream and the next."""
_OWN = "WITH own (first) AS (SELECT number << 40 FROM streams WHERE name = ?)"
_IN_STREAM = f"place > (SELECT first FROM own) + ? AND place <= (SELECT first FROM own) + {LAST_SEQ}"  # noqa: S608
_ENTRY = "seq, at, event, session, body, prev, hash"
HEAD = f"""
{_OWN} SELECT stream_number, {_ENTRY} FROM entries
WHERE place >= (SELECT first FROM own) AND place <= (SELECT first FROM own) + {LAST_SEQ}
ORDER BY place DESC LIMIT 1
"""  # noqa: S608  only names written in this file
ENTRIES = f"{_OWN} SELECT {_ENTRY} FROM entries WHERE {_IN_STREAM} ORDER BY place LIMIT ?"  # noqa: S608
ENTRY_TUPLES = f"""
{_OWN} SELECT seq, body, prev, hash, at, event, session FROM entries
WHERE {_IN_STREAM} ORDER BY place LIMIT ?
"""  # noqa: S608  only names written in this file
# From one stream to the next, without passing every entry. Entries of no stream are listed under a name that
# no stream has.
STREAMS = f"""
WITH RECURSIVE found (number) AS (
    SELECT MIN(place) >> 40 FROM entries
    UNION ALL
    SELECT (SELECT MIN(place) >> 40 FROM entries WHERE place > (found.number << 40) + {LAST_SEQ})
    FROM found WHERE number IS NOT NULL
)
SELECT COALESCE(name, 'unknown ' || found.number) AS listed
FROM found LEFT JOIN streams ON streams.number = found.number WHERE found.number IS NOT NULL ORDER BY listed
"""  # noqa: S608  only names written in this file
NEWEST_TIME = f"""
SELECT MAX((
    SELECT at FROM entries WHERE place >= number << 40 AND place <= (number << 40) + {LAST_SEQ}
    ORDER BY place DESC LIMIT 1
)) FROM streams
"""  # noqa: S608  only names written in this file
STREAM_NUMBER = "SELECT number FROM streams WHERE name = ?"
ADD_STREAM = "INSERT INTO streams (name) VALUES (?)"
# By itself SQLite would give the number of a row that was deleted, whose entries may still lie there.
ADD_STREAM_ALONE = """
INSERT INTO streams (number, name)
SELECT 1 + MAX(COALESCE(MAX(number), 0), COALESCE((SELECT MAX(place) >> 40 FROM entries), 0)), ? FROM streams
"""
_ADD_ENTRIES = "INSERT INTO entries (place, at, event, session, body, prev, hash) VALUES"
ADD_ENTRY = f"{_ADD_ENTRIES} (?, ?, ?, ?, ?, ?, ?)"
PRUNE_ENTRIES = """
UPDATE entries SET body = NULL WHERE place >= (SELECT number << 40 FROM streams WHERE name = ?)
AND place < (SELECT number << 40 FROM streams WHERE name = ?) + ? AND body IS NOT NULL
"""

NODES = _select_pairs(
    "nodes", contract.NodeRow, 'WHERE stream = ? AND level = one AND "index" = two ORDER BY level, "index"'
)
ADD_NODE = _insert("nodes", contract.NodeRow)

CHECKPOINTS = _select("checkpoints", contract.CheckpointRow, "ORDER BY place DESC LIMIT ? OFFSET ?")
ADD_CHECKPOINT = _insert("checkpoints", contract.CheckpointRow)

SECRETS = _select("secrets", contract.SecretRow, "WHERE stream = ? AND seq = ? ORDER BY name")
ADD_SECRET = _insert("secrets", contract.SecretRow)
ERASE_SECRET = "DELETE FROM secrets WHERE stream = ? AND seq = ? AND name = ?"  # noqa: S105  a statement

SUMMARIES = _select_pairs(
    "summaries", contract.SummaryRow, "WHERE source = ? AND kind = ? AND name = one AND place = two"
)
NEWEST_SUMMARIES = _select(
    "summaries",
    contract.SummaryRow,
    "WHERE source = ? AND kind = ? AND name = ? AND place >= ? AND place < ? ORDER BY place DESC LIMIT ?",
)
DROP_SUMMARIES = "DELETE FROM summaries WHERE source = ?"

DELIVERY = _select("deliveries", contract.DeliveryRow, "WHERE surface = ? AND subject = ?")
DELIVERIES_DUE = _select(
    "deliveries",
    contract.DeliveryRow,
    "WHERE surface = ? AND state = 'due' AND due_at <= ? ORDER BY due_at, subject LIMIT ?",
)
QUESTIONS_TO_SHOW = """
SELECT id FROM questions WHERE state = 'open' AND NOT EXISTS (
    SELECT 1 FROM deliveries WHERE deliveries.surface = ? AND deliveries.subject = questions.id
) ORDER BY place LIMIT ?
"""
DELIVERIES_TO_CLOSE = _select(
    "deliveries",
    contract.DeliveryRow,
    "WHERE surface = ? AND state = 'shown' AND kind = 'question' AND due_at <= ? AND EXISTS ("
    "SELECT 1 FROM questions WHERE questions.id = deliveries.subject AND questions.state <> 'open'"
    ") ORDER BY subject LIMIT ?",
)
ADD_DELIVERY = f"{_insert('deliveries', contract.DeliveryRow)} ON CONFLICT (surface, subject) DO NOTHING"
MOVE_DELIVERY = _update(
    "deliveries", contract.DeliveryRow, "WHERE surface = ? AND subject = ? AND version = ?"
)
DROP_DELIVERIES = "DELETE FROM deliveries WHERE state = 'over' AND due_at < ?"
