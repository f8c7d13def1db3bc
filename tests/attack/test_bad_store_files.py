"""A store file that is not one, cannot be written, is full, locked, damaged, replaced or somebody else's.

Each gives one clear error that says what to do, and leaves the file as it was. None gives a store.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sayso.store.contract import EntryRow, StoreBusy, StoreError
from sayso.store.sqlite import file
from sayso.store.sqlite.store import SqliteStore

ENTRY = EntryRow("main", 1, 1.0, "GRANTED", "s1", b"x" * 100_000, b"p", b"h")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def filled(path: Path) -> Path:
    """A store with something in it, closed."""
    with closing(SqliteStore(path)) as store, store.write() as w:
        w.set_meta("kept", "yes")
    return path


def refused(path: Path, **options: Any) -> StoreError:
    """The error that opening this file gives; it is one line, and says what to do."""
    with pytest.raises(StoreError) as raised:
        SqliteStore(path, **options)
    assert raised.value.hint
    assert "\n" not in str(raised.value)
    assert path.name in raised.value.message
    return raised.value


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be one" * 100, b"PK\x03\x04", b"\0" * 4096]
)
def test_a_file_that_is_not_sqlite_is_refused_and_kept(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert "is not a SQLite file" in str(refused(path))
    assert path.read_bytes() == content


def test_a_folder_is_refused(path: Path) -> None:
    path.mkdir()
    assert "cannot be opened" in str(refused(path))


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be opened" in str(refused(tmp_path / "file" / "store.db"))


def test_the_database_of_another_program_is_refused_and_kept(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE notes (text TEXT)")
    before = path.read_bytes()
    assert "belongs to another program" in str(refused(path))
    assert path.read_bytes() == before


def test_a_damaged_file_is_refused(filled: Path) -> None:
    whole = bytearray(filled.read_bytes())
    whole[4096:] = os.urandom(len(whole) - 4096)
    filled.write_bytes(whole)
    assert "is damaged" in str(refused(filled))


def test_a_file_that_was_cut_short_is_refused_or_fails_when_it_is_read(filled: Path) -> None:
    whole = filled.read_bytes()
    filled.write_bytes(whole[: len(whole) // 3])

    def use() -> None:
        with closing(SqliteStore(filled)) as store, store.read() as r:
            assert r.meta("kept") is not None

    with pytest.raises(StoreError, match="is damaged"):
        use()


AS_NOBODY = """
import os, sys
from sayso.store.sqlite.store import SqliteStore
if os.geteuid() == 0:
    os.setgroups([])
    os.setegid(65534)
    os.seteuid(65534)
try:
    SqliteStore(sys.argv[1])
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach, as those of pytest cannot."""
    folder = Path(tempfile.mkdtemp(prefix="sayso-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("exists", [True, False])
def test_what_may_only_be_read_is_refused(open_folder: Path, exists: bool) -> None:
    path = open_folder / "store.db"
    if exists:
        SqliteStore(path).close()
        path.chmod(0o444)
    open_folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"StoreError {path} cannot be opened for writing")
    assert "make the file and its folder writable" in done.stdout


def test_a_locked_file_is_busy(filled: Path) -> None:
    with closing(SqliteStore(filled, busy=0.05)) as store, closing(sqlite3.connect(filled)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="is locked by another process"), store.write():
            pytest.fail("two write at once")
        with store.read() as r:
            assert r.meta("kept") == "yes"
        other.execute("ROLLBACK")
        with store.write() as w:
            w.set_meta("kept", "still")


def test_a_file_that_others_are_setting_up_is_busy(path: Path) -> None:
    with file.hold_file_lock(path, wait=0.0) as held:
        assert held
        assert isinstance(refused(path, busy=0.05), StoreBusy)


def add_large_entry(store: SqliteStore) -> None:
    with store.write() as w:
        w.set_meta("kept", "lost")
        w.add_entry(ENTRY)


def test_on_a_full_disk_nothing_is_kept_and_the_store_stays_whole(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def small(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.execute("PRAGMA max_page_count = 1")  # which is never less than what there is
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", small)
        with closing(SqliteStore(filled)) as store:
            with pytest.raises(StoreError, match=r"the disk is full.*free some space"):
                add_large_entry(store)
            with store.read() as r:
                assert (r.meta("kept"), r.head("main")) == ("yes", None)
    with closing(SqliteStore(filled)) as store, store.write() as w:
        w.add_entry(ENTRY)


WITH_A_LIMIT = """
import resource, sys
from sayso.store.sqlite.store import SqliteStore
from tests.attack.test_bad_store_files import add_large_entry
store = SqliteStore(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    add_large_entry(store)
except Exception as error:
    print(type(error).__name__, error)
with store.read() as r:
    print(r.meta("kept"), r.head("main"))
"""


def test_a_write_that_the_system_refuses_is_told_and_nothing_is_kept(filled: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITH_A_LIMIT, str(filled)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    told, kept = done.stdout.splitlines()
    assert told.startswith(f"StoreUnwritable {filled} cannot")
    assert kept == "yes None"


def test_a_file_that_is_replaced_while_it_is_open_is_not_used_any_more(filled: Path, tmp_path: Path) -> None:
    """It would go on giving rights that nobody can revoke."""
    SqliteStore(tmp_path / "other.db").close()
    with closing(SqliteStore(filled)) as store:
        (tmp_path / "other.db").replace(filled)
        with pytest.raises(StoreError, match="was replaced while it was open"), store.read():
            pytest.fail("reads a file that is gone")
        with pytest.raises(StoreError, match="was replaced while it was open"), store.write():
            pytest.fail("writes a file that is gone")


def test_a_file_that_is_removed_while_it_is_open_is_not_used_any_more(filled: Path) -> None:
    with closing(SqliteStore(filled)) as store:
        filled.unlink()
        with pytest.raises(StoreError, match="is gone"), store.write():
            pytest.fail("writes a file that is gone")


@pytest.mark.parametrize(
    ("kind", "remote"),
    [
        ("nfs4", True), ("nfs", True), ("cifs", True), ("smb3", True), ("fuse.sshfs", True), ("9p", True),
        ("ext4", False), ("fuseblk", False), ("tmpfs", False), ("btrfs", False),
    ],
)  # fmt: skip
def test_a_network_drive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, remote: bool
) -> None:
    drive = tmp_path / "my drive"
    mounted = str(drive).replace(" ", "\\040")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/x {mounted} {kind} rw 0 0\nproc /proc proc rw 0 0\n")
    monkeypatch.setattr(file, "MOUNTS", mounts)
    if remote:
        assert "network drive" in str(refused(drive / "store.db"))
        assert not drive.exists()
    else:
        SqliteStore(drive / "store.db").close()
    SqliteStore(tmp_path / "my drive is local" / "store.db").close()


def test_what_is_made_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "store.db"
    mask = os.umask(0)
    try:
        with closing(SqliteStore(path)) as store:
            with store.write() as w:
                w.set_meta("a", "1")
            made = {found.name: stat.S_IMODE(found.stat().st_mode) for found in path.parent.iterdir()}
    finally:
        os.umask(mask)
    assert {"store.db", "store.db-wal"} <= set(made)
    assert set(made.values()) == {0o600}
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)] == [
        0o700,
        0o700,
    ]


def test_a_store_that_was_closed_is_refused_and_closing_again_does_nothing(path: Path) -> None:
    store = SqliteStore(path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="was closed"), store.read():
        pytest.fail("reads a store that is closed")
    with pytest.raises(StoreError, match="was closed"):
        store.wait_for_change(0, 0.0)


@pytest.mark.parametrize("value", ["\ud800", "a" * 10])
def test_text_that_cannot_be_stored_is_an_error_of_the_store(path: Path, value: str) -> None:
    with closing(SqliteStore(path)) as store:
        if value.isascii():
            with store.write() as w:
                w.set_meta("a", value)
            return
        with pytest.raises(StoreError), store.write() as w:
            w.set_meta("a", value)
