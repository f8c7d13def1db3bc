"""Many statements in one word to PostgreSQL: the answers, what an error leaves behind, what is prepared."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from sayso.store.postgres import pipeline
from sayso.store.postgres.pipeline import TalkingConnection

MB = 2**20


@pytest.fixture
def connection(postgres_server: str) -> Iterator[TalkingConnection]:
    with TalkingConnection.connect(postgres_server, autocommit=True) as connection:
        yield connection


def prepared_by(connection: TalkingConnection) -> set[str]:
    said = b"SELECT statement FROM pg_prepared_statements"
    return {row[0] for row in connection.execute(said).fetchall()}


def test_each_statement_gets_its_own_answer(connection: TalkingConnection) -> None:
    answers = connection.ask(
        [
            (b"CREATE TEMP TABLE t (a BIGINT, b BYTEA, c TEXT, d DOUBLE PRECISION)", ()),
            (b"INSERT INTO t VALUES ($1, $2, $3, $4), (2, NULL, NULL, NULL)", (1, b"\0\xff", "é", 0.1)),
            (b"SELECT a, b, c, d FROM t ORDER BY a", ()),
            (b"SELECT 1 WHERE false", ()),
            (b"UPDATE t SET a = 3 WHERE a = $1", (9,)),
        ]
    )
    assert answers[1].count == 2
    assert answers[2].rows() == [(1, b"\0\xff", "é", 0.1), (2, None, None, None)]
    assert answers[3].rows() == []
    assert (answers[4].count, answers[4].status) == (0, "UPDATE 0")


def test_an_error_is_raised_and_nothing_after_it_is_done(connection: TalkingConnection) -> None:
    connection.ask([(b"CREATE TEMP TABLE t (a BIGINT)", ())])
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.ask([(b"SELECT 1 / $1::int", (0,)), (b"INSERT INTO t VALUES (1)", ())])
    assert not connection.broken
    assert connection.ask([(b"SELECT COUNT(*) FROM t", ())])[0].rows() == [(0,)]


def test_what_could_not_be_prepared_is_prepared_the_next_time(connection: TalkingConnection) -> None:
    fine = (b"SELECT $1::int + 1", (1,))
    for _ in range(pipeline.WORTH_IT - 1):
        connection.ask([fine])
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.ask([(b"SELECT * FROM nothing", ()), fine])
    assert prepared_by(connection) == set()
    assert [connection.ask([fine])[0].rows() for _ in range(2)] == [[(2,)]] * 2
    assert prepared_by(connection) == {"SELECT $1::int + 1"}


def test_a_statement_said_twice_at_once_is_prepared_once(connection: TalkingConnection) -> None:
    same = [(b"SELECT $1::text", (text,)) for text in "abcde"]
    assert [answer.rows() for answer in connection.ask(same)] == [[(text,)] for text in "abcde"]
    count = connection.execute("SELECT COUNT(*) FROM pg_prepared_statements").fetchone()
    assert count == (1,)


def test_the_oldest_statement_makes_room(
    connection: TalkingConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "PREPARED", 2)
    said = [b"SELECT %d + $1::int" % number for number in range(4)]
    for _ in range(pipeline.WORTH_IT):
        for number, statement in enumerate(said):
            assert connection.ask([(statement, (1,))])[0].rows() == [(number + 1,)]
    assert prepared_by(connection) == {said[2].decode(), said[3].decode()}


def test_a_rollback_leaves_what_was_prepared(connection: TalkingConnection) -> None:
    for _ in range(10):
        connection.ask([(b"BEGIN", ()), (b"SELECT $1::int", (1,))])
        connection.execute("ROLLBACK")
    assert connection.ask([(b"SELECT $1::int", (1,))])[0].rows() == [(1,)]


def test_much_goes_out_while_much_comes_in(connection: TalkingConnection) -> None:
    """Neither side waits for the other to read first."""
    said = [(b"SELECT $1::text || repeat('x', $2)", ("a" * MB, MB)) for _ in range(16)]
    for answer in connection.ask(said):
        ((text,),) = answer.rows()
        assert (len(text), text[0], text[-1]) == (2 * MB, "a", "x")


def test_what_cannot_be_spelled_is_refused_before_anything_is_said(connection: TalkingConnection) -> None:
    connection.ask([(b"CREATE TEMP TABLE t (a TEXT)", ())])
    with pytest.raises(psycopg.DataError):
        connection.ask([(b"INSERT INTO t VALUES ('a')", ()), (b"INSERT INTO t VALUES ($1)", ("a\0b",))])
    assert connection.ask([(b"SELECT COUNT(*) FROM t", ())])[0].rows() == [(0,)]


def test_a_conversation_that_is_cut_ends_the_connection(connection: TalkingConnection) -> None:
    with pytest.raises(psycopg.OperationalError):
        connection.ask([(b"SELECT pg_terminate_backend(pg_backend_pid())", ()), (b"SELECT 1", ())])
    assert connection.broken
