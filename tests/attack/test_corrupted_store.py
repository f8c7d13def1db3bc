"""A real SQLite store changed behind Sayso's back, in 200 random ways: every one is found, and nothing else.

What only a checkpoint kept elsewhere can show (an older copy put back whole) is shown with one, and stated
to go unseen without.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from sayso.core.audit.anchors import FindingKind
from sayso.core.audit.entry import MAIN, chain_hash, genesis
from sayso.gate.audit.checkpoints import sign_audit
from sayso.gate.audit.verifying.verify import AuditReport, verify_audit
from sayso.gate.open import open_gate
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import make_key
from sayso.policy import load_preset
from sayso.store.contract import StoreError
from sayso.store.sqlite.store import SqliteStore
from tests.support.forging import forged_event

KEY = make_key("test")
POLICY = load_preset("chat")
ENTRIES = 900
OLD = 500
CASES = 200
NUMBERS = {MAIN: 1, "worker-1": 2}
"""What the store calls its streams, in the order they began."""

Corruption = Callable[[sqlite3.Connection, Random], None]


def written(path: Path, entries: int, stream: str = MAIN) -> bytes:
    """Add entries to a store as a gate does, and sign; the checkpoint, as somebody may keep it elsewhere."""
    store = SqliteStore(path, clock=lambda: 1_800_000_000.0)
    gate = open_gate(POLICY, store, key=KEY)
    with store.write() as tx:
        for number in range(entries):
            event = forged_event("DECIDED", number=number, rule="ask")
            record(tx, event, session=f"s_{number % 3}", stream=stream)
    note = sign_audit(gate).encode()
    store.close()
    return note


def judged(path: Path, *outside: bytes) -> AuditReport:
    return judged_both(path, *outside)[1]


def judged_both(path: Path, *outside: bytes) -> tuple[AuditReport, AuditReport]:
    """What verifying says without and with what was kept outside."""
    store = SqliteStore(path)
    try:
        gate = open_gate(POLICY, store, key=KEY)
        return verify_audit(gate), verify_audit(gate, outside)
    finally:
        store.close()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, bytes]:
    """A store of some age, a copy from its youth, and the checkpoint that was kept elsewhere last."""
    folder = tmp_path_factory.mktemp("kept")
    young, grown = folder / "young.db", folder / "grown.db"
    written(young, OLD)
    shutil.copy(young, grown)
    written(grown, 40, "worker-1")
    return grown, young, written(grown, ENTRIES - OLD)


# --- what somebody with the file can do ---


def a_seq(db: sqlite3.Connection, rng: Random) -> int:
    (last,) = db.execute("SELECT MAX(seq) FROM entries WHERE stream_number = 1").fetchone()
    return rng.randint(1, last)


def edit_a_body(db: sqlite3.Connection, rng: Random) -> None:
    seq = a_seq(db, rng)
    (body,) = db.execute("SELECT body FROM entries WHERE stream_number = 1 AND seq = ?", (seq,)).fetchone()
    at = rng.randrange(len(body))
    changed = body[:at] + bytes([body[at] ^ 1 << rng.randrange(8)]) + body[at + 1 :]
    db.execute("UPDATE entries SET body = ? WHERE stream_number = 1 AND seq = ?", (changed, seq))


def edit_a_column(db: sqlite3.Connection, rng: Random) -> None:
    column, value = rng.choice(
        [
            ("at", 1_799_999_999.5),
            ("event", "GRANTED"),
            ("session", "s_other"),
            ("prev", rng.randbytes(32)),
            ("hash", rng.randbytes(32)),
            ("hash", b""),
        ]
    )
    where = "WHERE stream_number = 1 AND seq = ?"
    db.execute(f"UPDATE entries SET {column} = ? {where}", (value, a_seq(db, rng)))  # noqa: S608


def edit_and_rehash(db: sqlite3.Connection, rng: Random) -> None:
    """A body changed with its own hash made to fit; the next entry, or the signed tree, tells."""
    seq = a_seq(db, rng)
    body, prev = db.execute(
        "SELECT body, prev FROM entries WHERE stream_number = 1 AND seq = ?", (seq,)
    ).fetchone()
    changed = body.replace(b'"agent":""', b'"agent":"other"')
    hashed = chain_hash(prev, changed)
    db.execute(
        "UPDATE entries SET body = ?, hash = ? WHERE stream_number = 1 AND seq = ?",
        (changed, hashed, seq),
    )


def drop_a_body(db: sqlite3.Connection, rng: Random) -> None:
    db.execute("UPDATE entries SET body = NULL WHERE stream_number = 1 AND seq = ?", (a_seq(db, rng),))


def delete_entries(db: sqlite3.Connection, rng: Random) -> None:
    first = a_seq(db, rng)
    db.execute(
        "DELETE FROM entries WHERE stream_number = 1 AND seq BETWEEN ? AND ?",
        (first, first + rng.randint(0, 5)),
    )


def delete_and_close_the_gap(db: sqlite3.Connection, rng: Random) -> None:
    seq = a_seq(db, rng)
    db.execute("DELETE FROM entries WHERE stream_number = 1 AND seq = ?", (seq,))
    move(db, seq + 1, -1)
    if rng.random() < 0.5:
        rechain(db, MAIN, seq)


def insert_an_entry(db: sqlite3.Connection, rng: Random) -> None:
    seq = a_seq(db, rng)
    move(db, seq, 1)
    db.execute(
        "INSERT INTO entries SELECT place - 1, at, event, session, prev, hash, body"
        " FROM entries WHERE stream_number = 1 AND seq = ?",
        (seq + 1,),
    )
    if rng.random() < 0.5:
        rechain(db, MAIN, seq)


def insert_before_the_first(db: sqlite3.Connection, rng: Random) -> None:
    db.execute(
        "INSERT INTO entries SELECT place - seq - ?, at, event, session, prev, hash, body"
        " FROM entries WHERE stream_number = 1 AND seq = ?",
        (rng.randint(0, 9), a_seq(db, rng)),
    )


def swap_two(db: sqlite3.Connection, rng: Random) -> None:
    one, other = rng.sample(range(1, ENTRIES), 2)
    for before, after in ((one, 10**9), (other, one), (10**9, other)):
        db.execute(
            "UPDATE entries SET place = place - seq + ? WHERE stream_number = 1 AND seq = ?", (after, before)
        )


def swap_two_bodies(db: sqlite3.Connection, rng: Random) -> None:
    one = rng.randrange(2, ENTRIES - 10)
    other = one + rng.randint(1, 9)
    rows = dict(
        db.execute("SELECT seq, body FROM entries WHERE stream_number = 1 AND seq IN (?, ?)", (one, other))
    )
    for seq, body in ((one, rows[other]), (other, rows[one])):
        db.execute("UPDATE entries SET body = ? WHERE stream_number = 1 AND seq = ?", (body, seq))
    rechain(db, MAIN, one)


def cut_off_the_newest(db: sqlite3.Connection, rng: Random) -> None:
    db.execute("DELETE FROM entries WHERE stream_number = 1 AND seq >= ?", (a_seq(db, rng),))


def cut_off_with_what_speaks_of_it(db: sqlite3.Connection, rng: Random) -> None:
    seq = a_seq(db, rng)
    db.execute("DELETE FROM entries WHERE stream_number = 1 AND seq >= ?", (seq,))
    db.execute("DELETE FROM checkpoints WHERE size >= ?", (seq,))
    db.execute('DELETE FROM nodes WHERE ("index" + 1) * 256 >= ?', (seq,))
    db.execute("DELETE FROM meta WHERE name LIKE 'tree/%'")


def rewrite_the_tail(db: sqlite3.Connection, rng: Random) -> None:
    """Every entry from here on changed and chained anew, as if it had always been so."""
    seq = a_seq(db, rng)
    replace_in_bodies(db, MAIN, seq, '"agent":""', '"agent":"me"')
    rechain(db, MAIN, seq)
    if rng.random() < 0.5:
        db.execute("DELETE FROM checkpoints WHERE size >= ?", (seq,))


def rewrite_another_stream(db: sqlite3.Connection, rng: Random) -> None:
    seq = rng.randint(1, 40)
    replace_in_bodies(db, "worker-1", seq, '"ask"', '"safe"')
    rechain(db, "worker-1", seq)
    db.execute("DELETE FROM meta WHERE name = 'tree/worker-1'")


def cut_off_another_stream(db: sqlite3.Connection, rng: Random) -> None:
    db.execute("DELETE FROM entries WHERE stream_number = 2 AND seq >= ?", (rng.randint(1, 40),))
    db.execute("DELETE FROM meta WHERE name = 'tree/worker-1'")


def pass_an_entry_to_another_stream(db: sqlite3.Connection, rng: Random) -> None:
    other = rng.choice(["worker-1", "worker-2", "worker 3", "Main", "one without a name"])
    if other not in NUMBERS and other != "one without a name":
        db.execute("INSERT INTO streams (number, name) VALUES (3, ?)", (other,))
    db.execute(
        "UPDATE entries SET place = (? << 40) + 100 + seq WHERE stream_number = 1 AND seq = ?",
        (NUMBERS.get(other, 3), a_seq(db, rng)),
    )


def exchange_the_names_of_two_streams(db: sqlite3.Connection, rng: Random) -> None:
    del rng
    for number, name in ((1, "between"), (2, MAIN), (1, "worker-1")):
        db.execute("UPDATE streams SET name = ? WHERE number = ?", (name, number))


def forget_the_name_of_a_stream(db: sqlite3.Connection, rng: Random) -> None:
    db.execute("DELETE FROM streams WHERE number = ?", (rng.choice([1, 2]),))


def give_a_stream_another_name(db: sqlite3.Connection, rng: Random) -> None:
    db.execute("UPDATE streams SET name = 'worker-7' WHERE number = ?", (rng.choice([1, 2]),))


def add_an_entry_at_the_end_of_all_places(db: sqlite3.Connection, rng: Random) -> None:
    place = rng.choice([(1 << 63) - 1, -(1 << 63), -1, 0, 1 << 40, (2 << 40) - 1])
    db.execute(
        "INSERT INTO entries SELECT ?, at, event, session, prev, hash, body"
        " FROM entries WHERE stream_number = 1 AND seq = ?",
        (place, a_seq(db, rng)),
    )


def change_the_tree(db: sqlite3.Connection, rng: Random) -> None:
    if rng.random() < 0.5:
        db.execute("DELETE FROM nodes WHERE stream = 'main' AND \"index\" = ?", (rng.randrange(3),))
    else:
        db.execute(
            "UPDATE nodes SET hash = ? WHERE stream = 'main' AND \"index\" = ?",
            (rng.randbytes(32), rng.randrange(3)),
        )


def change_the_end_of_the_tree(db: sqlite3.Connection, rng: Random) -> None:
    db.execute(
        "UPDATE meta SET value = replace(value, '\"size\":', '\"size\":1') WHERE name = ?",
        (rng.choice(["tree/main", "tree/worker-1"]),),
    )


def change_a_checkpoint(db: sqlite3.Connection, rng: Random) -> None:
    place = rng.choice([row[0] for row in db.execute("SELECT place FROM checkpoints").fetchall()])
    changes = [
        "note = replace(note, 'sayso/', 'other/')",
        "size = size + 1",
        "note = ''",
        "note = note || 'x'",
    ]
    db.execute(f"UPDATE checkpoints SET {rng.choice(changes)} WHERE place = ?", (place,))  # noqa: S608


CORRUPTIONS: list[Corruption] = [
    edit_a_body,
    edit_a_column,
    edit_and_rehash,
    drop_a_body,
    delete_entries,
    delete_and_close_the_gap,
    insert_an_entry,
    insert_before_the_first,
    swap_two,
    swap_two_bodies,
    cut_off_the_newest,
    cut_off_with_what_speaks_of_it,
    rewrite_the_tail,
    rewrite_another_stream,
    cut_off_another_stream,
    pass_an_entry_to_another_stream,
    exchange_the_names_of_two_streams,
    forget_the_name_of_a_stream,
    give_a_stream_another_name,
    add_an_entry_at_the_end_of_all_places,
    change_the_tree,
    change_the_end_of_the_tree,
    change_a_checkpoint,
]
UNSEEN_WITHOUT_OUTSIDE = {cut_off_with_what_speaks_of_it}


def replace_in_bodies(db: sqlite3.Connection, stream: str, first: int, old: str, new: str) -> None:
    db.execute(
        "UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), ?, ?) AS BLOB)"
        " WHERE stream_number = ? AND seq >= ?",
        (old, new, NUMBERS[stream], first),
    )


def move(db: sqlite3.Connection, first: int, by: int) -> None:
    """Renumber the entries from here on; by way of far-off numbers, so that none meet."""
    far = 10**12
    db.execute("UPDATE entries SET place = place + ? WHERE stream_number = 1 AND seq >= ?", (far, first))
    db.execute("UPDATE entries SET place = place + ? WHERE stream_number = 1 AND seq >= ?", (by - far, far))


def rechain(db: sqlite3.Connection, stream: str, first: int) -> None:
    """Make every hash from here on fit what is stored now, and every body say its number."""
    before = db.execute(
        "SELECT hash FROM entries WHERE stream_number = ? AND seq = ?", (NUMBERS[stream], first - 1)
    ).fetchone()
    head: bytes = before[0] if before else genesis(stream).hash
    rows = db.execute(
        "SELECT seq, body FROM entries WHERE stream_number = ? AND seq >= ? ORDER BY seq",
        (NUMBERS[stream], first),
    ).fetchall()
    for seq, body in rows:
        start, middle, rest = body.rpartition(b',"seq":')
        renumbered = start + middle + str(seq).encode() + rest[rest.index(b",") :]
        hashed = chain_hash(head, renumbered)
        db.execute(
            "UPDATE entries SET body = ?, prev = ?, hash = ? WHERE stream_number = ? AND seq = ?",
            (renumbered, head, hashed, NUMBERS[stream], seq),
        )
        head = hashed


# --- what verifying says to it ---


def test_the_intact_store_has_nothing_to_report(kept: tuple[Path, Path, bytes]) -> None:
    path, _, outside = kept
    for notes in ((), (outside,)):
        verified = judged(path, *notes)
        assert verified.clean, verified.reports
        assert [one.held_through for one in verified.reports] == [one.entries for one in verified.reports]


@pytest.mark.parametrize("part", range(4))
def test_every_one_of_200_corruptions_is_found(
    kept: tuple[Path, Path, bytes], tmp_path: Path, part: int
) -> None:
    path, _, outside = kept
    for case in range(part * CASES // 4, (part + 1) * CASES // 4):
        corruption = CORRUPTIONS[case % len(CORRUPTIONS)]
        copy = tmp_path / f"{case}.db"
        shutil.copy(path, copy)
        with closing(sqlite3.connect(copy)) as db, db:
            corruption(db, Random(case))
            assert db.total_changes, f"{corruption.__name__} changed nothing in case {case}"
        alone, helped = judged_both(copy, outside)
        assert not helped.clean, f"{corruption.__name__} went unseen in case {case}"
        if corruption not in UNSEEN_WITHOUT_OUTSIDE:
            assert not alone.clean, f"{corruption.__name__} was only seen from outside in case {case}"
        copy.unlink()


def test_bytes_changed_in_the_file_itself_are_found(kept: tuple[Path, Path, bytes], tmp_path: Path) -> None:
    path, _, outside = kept
    whole = path.read_bytes()
    for number in (3, 77, 399, 450):
        place = whole.index(f'"details":{{"number":{number},'.encode())
        digit = place + len('"details":{"number":')
        copy = tmp_path / "flipped.db"
        copy.write_bytes(whole[:digit] + bytes([whole[digit] ^ 1]) + whole[digit + 1 :])
        assert not judged(copy, outside).clean


def test_an_older_copy_put_back_shows_only_against_a_checkpoint_kept_elsewhere(
    kept: tuple[Path, Path, bytes], tmp_path: Path
) -> None:
    _, young, outside = kept
    copy = tmp_path / "back.db"
    shutil.copy(young, copy)
    assert judged(copy).clean
    found = judged(copy, outside).reports[0].findings
    assert found[0].kind is FindingKind.TRUNCATED


def test_a_file_that_is_cut_short_is_never_clean(kept: tuple[Path, Path, bytes], tmp_path: Path) -> None:
    path, _, outside = kept
    whole = path.read_bytes()
    copy = tmp_path / "short.db"
    for share in (0.3, 0.6, 0.95):
        copy.write_bytes(whole[: int(len(whole) * share)])
        try:
            verdict = judged(copy, outside).clean
        except StoreError:
            verdict = False
        assert not verdict
