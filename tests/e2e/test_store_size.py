"""`sayso store info` counts what is still in the write-ahead log."""

from __future__ import annotations

from pathlib import Path

from sayso.cli.store_places import find_store_place


def test_the_log_beside_the_file_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    file.write_bytes(b"x" * 10)
    place = find_store_place(str(file))
    assert place.bytes_used() == 10
    (tmp_path / "s.db-wal").write_bytes(b"y" * 7)
    assert place.bytes_used() == 17
