"""A store that cannot be written says so when it is asked. Nothing is tried for that."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sayso.store.contract import Store, StoreBusy, StoreError
from sayso.store.postgres import store as postgres_store
from sayso.store.postgres.store import PostgresStore
from sayso.store.sqlite import log_sync
from sayso.store.sqlite.store import SqliteStore
from tests.support.failing_disks import fail_sync, no_room
from tests.support.places import Open
from tests.support.postgres_place import Server, new_schema


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def write(store: Store, value: str = "1") -> None:
    with store.write() as tx:
        tx.set_meta("a", value)


def write_in_batch(store: Store, value: str = "1") -> None:
    with store.batch() as batch, batch.write() as tx:
        tx.set_meta("a", value)


WRITES = pytest.mark.parametrize("write", [write, write_in_batch], ids=["alone", "batch"])
Write = Callable[..., None]


def test_a_store_that_works_has_no_fault(make_store: Open) -> None:
    store = make_store()
    assert store.fault is None
    write(store)
    write_in_batch(store)
    assert store.fault is None


def test_what_was_wrong_with_a_transaction_is_no_fault_of_the_store(make_store: Open) -> None:
    store = make_store()
    with pytest.raises(ZeroDivisionError), store.write() as tx:
        tx.set_meta("a", str(1 / 0))
    with store.read(), pytest.raises(StoreError), store.read():
        pass
    assert store.fault is None


def test_a_store_that_was_closed_has_one(path: Path) -> None:
    store = SqliteStore(path)
    store.close()
    assert store.fault is not None
    assert store.fault.closed


@WRITES
def test_a_failed_sync_is_known_until_the_store_is_opened_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    with closing(SqliteStore(path)) as store:
        with monkeypatch.context() as patch:
            patch.setattr(log_sync, "sync_file", fail_sync)
            with pytest.raises(StoreError, match="cannot be synced"):
                write(store)
        for _ in range(2):
            assert store.fault is not None
            assert store.fault.closed
            assert "Input/output error" in store.fault.message
            with pytest.raises(StoreError):
                write(store)
    with closing(SqliteStore(path)) as again:
        assert again.fault is None


@WRITES
def test_a_full_disk_is_known_until_something_is_written_again(path: Path, write: Write) -> None:
    with closing(SqliteStore(path)) as store:
        write(store)
        with no_room(path):
            with pytest.raises(StoreError, match="disk"):
                write(store, "x" * 10_000)
            with store.read() as tx:
                assert tx.meta("a") == "1"
            with store.write():
                """Nothing: that it can be committed shows nothing."""
            assert store.fault is not None
            assert "disk" in store.fault.message
            assert not store.fault.closed
        assert store.fault is not None  # nobody has tried since
        write(store, "2")
        assert store.fault is None


def test_a_file_that_was_moved_away_is_known_at_once(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        path.rename(path.with_suffix(".old"))
        assert store.fault is not None
        assert store.fault.closed
        with pytest.raises(StoreError):
            write(store)
        path.with_suffix(".old").rename(path)
        with store.read():
            assert store.fault is None


@pytest.mark.parametrize("refused", ["the file", "its folder"])
def test_a_place_that_may_not_be_written_is_known_at_once(
    path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """What the system says of it counts: whoever runs these tests may be allowed everything."""
    asked, place = os.access, path if refused == "the file" else path.parent
    with closing(SqliteStore(path)) as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "access", lambda one, mode, **how: one != place and asked(one, mode, **how))
            assert store.fault is not None
            assert "cannot be opened for writing" in store.fault.message
            assert not store.fault.closed
        assert store.fault is None


def test_a_file_that_is_only_busy_has_none(path: Path) -> None:
    with closing(SqliteStore(path)) as store, closing(SqliteStore(path, busy=0.05)) as other:
        with store.batch(), ThreadPoolExecutor(1) as pool:
            assert isinstance(pool.submit(write, other).exception(), StoreBusy)
        assert other.fault is None


@WRITES
def test_a_database_that_may_only_be_read_is_known(postgres_server: str, write: Write) -> None:
    address = new_schema(postgres_server)
    PostgresStore(address).close()
    options = f"{conninfo_to_dict(address)['options']} -cdefault_transaction_read_only=on"
    with closing(PostgresStore(make_conninfo(address, options=options))) as store:
        with pytest.raises(StoreError, match="can only be read"):
            write(store)
        with store.read() as tx:
            assert tx.meta("a") is None
        assert store.fault is not None
        assert "can only be read" in store.fault.message


def test_a_server_that_lets_no_transaction_begin_to_write_is_known(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that only follows another server refuses the name that whoever writes asks for."""
    with closing(PostgresStore(new_schema(postgres_server))) as store:
        with monkeypatch.context() as patch:
            patch.setattr(postgres_store, "_WRITE", "BEGIN READ ONLY; CREATE TABLE refused (a TEXT)")
            with pytest.raises(StoreError, match="can only be read"):
                write(store)
        with store.read():
            pass
        assert store.fault is not None
        assert "can only be read" in store.fault.message
        write(store)
        assert store.fault is None


def test_a_server_that_is_gone_is_known_until_it_is_back() -> None:
    with closing(Server()) as server, closing(PostgresStore(new_schema(server.address), busy=1.0)) as store:
        write(store)
        server.stop()
        with pytest.raises(StoreError), store.read():
            pass
        assert store.fault is not None
        assert not store.fault.closed
        server.start()
        with store.read():
            assert store.fault is None
