"""What can happen between us and a PostgreSQL server: it is down, it refuses us, it goes away."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import psycopg_pool
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sayso.store.contract import Ahead, StoreBusy, StoreError
from sayso.store.postgres.store import MOMENT, PostgresStore
from tests.contract import rows
from tests.support.interrupts import Once
from tests.support.postgres_place import Server, new_schema

PATIENCE = 60.0


@pytest.fixture
def address(postgres_server: str) -> str:
    return new_schema(postgres_server)


@pytest.fixture
def store(address: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(address, busy=2.0)) as store:
        yield store


def cut_all(address: str) -> int:
    """End every other connection to this database, as a restart does; how many there were."""
    with psycopg.connect(address, autocommit=True) as connection:
        return connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).rowcount


def test_a_server_that_was_restarted_is_used_again() -> None:
    with closing(Server()) as server, closing(PostgresStore(new_schema(server.address), busy=2.0)) as store:
        with store.write() as w:
            w.set_meta("before", "1")
        seen = store.wait_for_change(0, PATIENCE)
        server.stop()
        with pytest.raises(StoreError, match=r"no server answers there|connection was lost"), store.write():
            pytest.fail("a transaction without a server")
        server.start()
        with store.write() as w:
            assert w.meta("before") == "1"
            w.set_meta("after", "1")
        assert store.wait_for_change(seen, PATIENCE) != seen


def test_while_the_server_is_away_only_the_first_waits_for_a_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[float | None] = []
    ask = psycopg_pool.ConnectionPool.getconn

    def getconn(pool: psycopg_pool.ConnectionPool[Any], timeout: float | None = None) -> object:
        asked.append(timeout)
        return ask(pool, timeout)

    with closing(Server()) as server, closing(PostgresStore(new_schema(server.address), busy=2.0)) as store:
        with store.write() as w:
            w.set_meta("before", "1")
        server.stop()
        with pytest.raises(StoreError), store.read():
            pytest.fail("a transaction without a server")
        monkeypatch.setattr(psycopg_pool.ConnectionPool, "getconn", getconn)
        for _ in range(3):
            with pytest.raises(StoreError, match="no server answers there"), store.read():
                pytest.fail("a transaction without a server")
        assert set(asked) == {MOMENT}
        server.start()
        with store.read() as r:
            assert r.meta("before") == "1"
        asked.clear()
        with store.read() as r:
            assert r.meta("before") == "1"
        assert asked == [None], "back to the usual patience"


@pytest.mark.parametrize("begins", ["read", "write", "batch"])
def test_a_transaction_interrupted_while_it_began_keeps_no_connection(
    address: str, monkeypatch: pytest.MonkeyPatch, begins: str
) -> None:
    with closing(PostgresStore(address, busy=2.0, connections=1)) as store:
        monkeypatch.setattr(store, "_watch_over", Once(store._watch_over))  # noqa: SLF001
        with pytest.raises(KeyboardInterrupt) as kept, getattr(store, begins)():
            pass
        with store.write() as w:
            w.set_meta("a", "1")
        assert kept.value.__traceback__ is not None


def test_connections_that_were_cut_are_replaced(store: PostgresStore, address: str) -> None:
    for _ in range(3):
        with store.write() as w:
            w.set_meta("a", "1")
        assert cut_all(address) >= 1
        with store.read() as r:
            assert r.meta("a") == "1"


def test_a_transaction_whose_connection_is_cut_is_lost_and_says_so(
    store: PostgresStore, address: str
) -> None:
    def write(*, wait_for_commit: bool) -> None:
        with store.write() as w:
            w.set_meta("a", "1")
            cut_all(address)
            if not wait_for_commit:
                w.set_meta("b", "1")

    for wait_for_commit in (True, False):
        with pytest.raises(StoreError, match="connection was lost"):
            write(wait_for_commit=wait_for_commit)
    with store.read() as r:
        assert (r.meta("a"), r.meta("b")) == (None, None)


def test_what_became_of_a_transaction_is_known_to_those_who_read_after_it(store: PostgresStore) -> None:
    with closing(PostgresStore(store.address)) as other:
        with store.write() as w:
            w.set_meta("a", "1")
            mine = w.number
            with other.read() as r:
                assert r.was_committed(mine) is None
        with suppress(ZeroDivisionError), store.write() as w:
            w.set_meta("a", "2")
            undone = w.number
            raise ZeroDivisionError
        assert mine != undone
        with other.read() as r, store.batch() as batch:
            assert [r.was_committed(number) for number in (mine, undone)] == [True, False]
            assert [batch.was_committed(number) for number in (mine, undone)] == [True, False]
            assert r.was_committed(batch.number) is None
            assert r.was_committed(batch.number + 1_000_000) is None, "there was none of this number yet"


def test_a_transaction_that_ended_after_the_moment_read_does_not_concern_it(store: PostgresStore) -> None:
    with closing(PostgresStore(store.address)) as other, other.read() as r:
        assert r.meta("a") is None
        with store.write() as w:
            w.set_meta("a", "1")
        assert r.was_committed(w.number) is None
        assert r.meta("a") is None


def test_a_transaction_that_the_server_has_forgotten_may_have_been_committed(store: PostgresStore) -> None:
    with store.read() as r:
        assert r.was_committed(3) is True  # from before there were any of ours


class Line:
    """A socket between us and the server. Once `cut` is set, what we send still arrives; no reply does."""

    def __init__(self, folder: Path, address: str) -> None:
        parts = conninfo_to_dict(address)
        port = parts.get("port") or "5432"
        self.address = make_conninfo(address, host=str(folder), port=port)
        self.cut = threading.Event()
        self._target = f"{parts['host']}/.s.PGSQL.{port}"
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(folder / f".s.PGSQL.{port}"))
        self._door.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._door.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._door.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._target)
                threading.Thread(target=self._carry, args=(near, far, False), daemon=True).start()
                threading.Thread(target=self._carry, args=(far, near, True), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, replies: bool) -> None:
        with suppress(OSError), source, target:
            while part := source.recv(65536):
                if replies and self.cut.is_set():
                    self.cut.clear()
                    target.shutdown(socket.SHUT_RDWR)
                    return
                target.sendall(part)


def test_a_commit_whose_acknowledgement_is_lost_is_known_to_be_kept(address: str) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="sayso-") as folder,
        closing(Line(Path(folder), address)) as line,
        closing(PostgresStore(line.address, busy=5.0)) as store,
    ):
        with store.write() as w:
            w.add_spend(rows.SPEND)
            line.cut.set()
        assert not line.cut.is_set()
        with store.read() as r:
            assert list(r.spends(["g1"])) == [rows.SPEND]


def test_a_session_held_for_too_long_is_busy_and_nothing_is_kept(address: str) -> None:
    with closing(PostgresStore(address)) as one, closing(PostgresStore(address, busy=0.2)) as two:
        with one.write() as w:
            assert w.session("s1") is None
            with pytest.raises(StoreBusy, match="try again"), two.write() as other:
                other.put_session(rows.SESSION)
        with one.read() as r:
            assert r.session("s1") is None


def test_two_that_wait_for_each_other_are_told_apart(address: str) -> None:
    """One of them goes on, the other is told that it is busy."""
    both = threading.Barrier(2)
    told: list[str] = []

    def work(store: PostgresStore, first: str, second: str) -> None:
        try:
            with store.write() as w:
                w.put_session(rows.session(first))
                both.wait(PATIENCE)
                w.put_session(rows.session(second))
            told.append("kept")
        except StoreBusy:
            told.append("busy")

    with closing(PostgresStore(address)) as store:
        threads = [threading.Thread(target=work, args=(store, *names)) for names in (("a", "b"), ("b", "a"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    assert sorted(told) == ["busy", "kept"]


def test_all_connections_in_use_is_busy(address: str) -> None:
    with closing(PostgresStore(address, busy=0.2, connections=1)) as store, store.read():
        told: list[str] = []

        def read() -> None:
            try:
                with store.read():
                    told.append("read")
            except StoreBusy as error:
                told.append(str(error))

        thread = threading.Thread(target=read)
        thread.start()
        thread.join(PATIENCE)
    assert len(told) == 1
    assert told[0].startswith("all 1 connections to the PostgreSQL database")


def test_a_transaction_in_one_session_does_not_wait_for_another(store: PostgresStore) -> None:
    done: list[bool] = []

    def other() -> None:
        with store.write() as w:
            w.put_session(rows.session("s2"))
            w.add_entry(rows.entry(1, "stream 2"))
        done.append(True)

    with store.write() as w:
        w.put_session(rows.session("s1"))
        w.add_entry(rows.entry(1, "stream 1"))
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(PATIENCE)
        assert done == [True]


def test_a_missing_database_is_told(postgres_server: str) -> None:
    with pytest.raises(StoreError, match=r"no such database.*createdb"):
        PostgresStore(make_conninfo(postgres_server, dbname="nowhere"))


def test_a_wrong_password_is_told_and_no_password_is_repeated(postgres_server: str) -> None:
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        found = connection.execute("SHOW hba_file").fetchone()
        assert found is not None
        rules = Path(found[0])
        rules.write_text(f"local all guarded scram-sha-256\n{rules.read_text()}")
        connection.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
        connection.execute("SELECT pg_reload_conf()")
    with pytest.raises(StoreError, match=r"refused the user or the password") as raised:
        PostgresStore(make_conninfo(postgres_server, user="guarded", password="hunter2"))
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "/nowhere", "no-such-host.invalid"])
def test_a_server_that_is_down_is_told(host: str) -> None:
    with pytest.raises(StoreError, match=r"no server answers there.*start it, or correct the address"):
        PostgresStore(make_conninfo("", host=host, port="9", dbname="sayso", user="sayso"), busy=1.0)


def test_an_address_that_is_none_is_told() -> None:
    with pytest.raises(StoreError, match=r"not the address of a PostgreSQL database.*postgresql://"):
        PostgresStore("sayso.db?")


@pytest.mark.cold
@pytest.mark.parametrize("missing", ["psycopg", "psycopg_pool"])
def test_a_missing_extra_is_named(missing: str) -> None:
    script = f"""
import sys
sys.modules[{missing!r}] = None
try:
    import sayso.store.postgres.store
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    hint = 'pip install "./sayso[postgres]" in the folder that holds the checkout'
    assert done.stdout == f"StoreError PostgreSQL needs the extra postgres ({hint})\n"


@pytest.mark.parametrize(
    "name", ['a"b', "a\\b", '\\"', "a,b", "{a}", "", "NULL", " a ", "a\nb", "ä😀", "$1", "%s"]
)
def test_names_of_any_spelling_are_found_among_others(store: PostgresStore, name: str) -> None:
    """Many are looked for at once, in a list that PostgreSQL reads."""
    row = msgspec.structs.replace(rows.SESSION, id=name, parent=None)
    with store.write() as w:
        w.put_session(row)
    with store.batch() as batch:
        batch.read_ahead(Ahead(sessions=frozenset({"before", name, "after"})))
        with batch.read() as r:
            assert r.session(name) == row
            assert (r.session("before"), r.session("after")) == (None, None)
