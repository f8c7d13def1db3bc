"""`sayso audit` as an operator uses it: real processes on a real store."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sayso.gate.deciding.authorize import authorize
from sayso.gate.open import KEY_NAME, open_gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import format_verifier_key, load_or_make_key, make_key, public_key_of
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_preset
from tests.support.asking import edit
from tests.support.forging import forged_event

ENTRIES = 300


class Place:
    """A home with a store in it, and the program run there."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.data = home / "data" / "sayso"
        self.data.mkdir(parents=True)
        self.store = self.data / "sayso.db"
        key = load_or_make_key(KEY_NAME, self.data / "gate.key")
        self.public = format_verifier_key(KEY_NAME, public_key_of(key))
        gate = open_gate(load_preset("chat"), self.store, key=key, marks=self.data)
        with gate.store.write() as tx:
            for number in range(ENTRIES - 1):
                record(tx, forged_event("DECIDED", number=number), session="s_1", operations=("git.push",))
        gate.store.close()

    def run(self, *words: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("SAYSO", "XDG"))}
        places = {"HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data")}
        return subprocess.run(
            [sys.executable, "-m", "sayso", "audit", *words],
            capture_output=True,
            check=False,
            text=True,
            timeout=180,
            input=given,
            env=clean | places | {"XDG_CONFIG_HOME": str(self.home / "config")} | more,
        )

    def by_hand(self, statement: str) -> None:
        with closing(sqlite3.connect(self.store)) as db, db:
            db.execute(statement)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_no_line_of_the_trail_is_wider_than_the_terminal(place: Place) -> None:
    for words in (("tail",), ("show", "1")):
        shown = place.run(*words, COLUMNS="80").stdout.splitlines()
        assert shown
        assert max(map(len, shown)) <= 80
    one_a_line = place.run("tail", "--json", COLUMNS="80").stdout.splitlines()
    assert all(json.loads(line) for line in one_a_line)


def test_tail_shows_the_newest_entries_in_the_text_form(place: Place) -> None:
    ran = place.run("tail", "-n", "2")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == 2
    assert lines[1].endswith(f"Z | DECIDED | git.push | session=s_1 number={ENTRIES - 2}")
    assert json.loads(place.run("tail", "-n", "1", "--json").stdout)["seq"] == ENTRIES


def test_reading_and_verifying_write_nothing(place: Place) -> None:
    before = place.run("export").stdout
    for words in (("tail",), ("show", "3"), ("verify",), ("export", "--form", "jsonl")):
        assert place.run(*words).returncode == 0, words
    assert place.run("export").stdout == before
    assert len(before.splitlines()) == ENTRIES


def test_show_tells_one_entry_with_its_hashes(place: Place) -> None:
    told = json.loads(place.run("show", "7", "--json").stdout)
    assert (told["seq"], told["entry"]["event"], told["values"]) == (7, "DECIDED", {})
    assert told["hash"] in place.run("show", "7").stdout
    missing = place.run("show", "9999")
    assert (missing.returncode, "no entry 9999" in missing.stderr) == (1, True)


def test_verify_is_clean_on_an_intact_store_and_exits_1_on_an_edited_one(place: Place) -> None:
    place.run("checkpoint", "-o", str(place.home / "kept"))
    clean = place.run("verify", "--checkpoint", str(place.home / "kept"))
    assert (clean.returncode, clean.stdout) == (
        0,
        f"main: {ENTRIES} entries, signed through {ENTRIES}\nVerified: nothing in it was changed.\n",
    )
    place.by_hand("UPDATE entries SET body = CAST('{}' AS BLOB) WHERE seq = 42")
    found = place.run("verify", "--json")
    told = json.loads(found.stdout)
    assert (found.returncode, told["clean"]) == (1, False)
    assert {one["seq"] for one in told["streams"][0]["findings"]} == {42}
    assert "entry 42" in place.run("verify").stdout


def test_the_mark_beside_the_key_shows_entries_that_were_cut_off(place: Place) -> None:
    assert place.run("prune", "--before", "5", "--yes").returncode == 0
    place.by_hand("DELETE FROM entries WHERE seq > 250")
    for table in ("checkpoints", "nodes"):
        place.by_hand(f"DELETE FROM {table}")  # noqa: S608
    place.by_hand("DELETE FROM meta WHERE name LIKE 'tree/%'")
    ran = place.run("verify")
    assert (ran.returncode, "mark" in ran.stdout) == (1, True)


def test_a_receipt_is_checked_offline_by_somebody_who_has_only_the_public_key(
    place: Place, tmp_path: Path
) -> None:
    receipt = tmp_path / "receipt"
    made = place.run("prove", "42", "-o", str(receipt))
    assert (made.returncode, place.public in made.stderr) == (0, True)
    place.store.unlink()
    assert place.run("check-proof", str(receipt)).returncode == 0
    (place.data / "gate.key").unlink()
    ran = place.run("check-proof", str(receipt), "--key", place.public, "--json")
    told = json.loads(ran.stdout)
    assert (ran.returncode, told["proven"], told["seq"], told["entry"]["details"]) == (
        0,
        True,
        42,
        {"number": 40},
    )


def test_a_false_receipt_or_a_foreign_key_proves_nothing(place: Place, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt"
    place.run("prove", "42", "-o", str(receipt))
    stranger = make_key(KEY_NAME)
    foreign = place.run(
        "check-proof", str(receipt), "--key", format_verifier_key(KEY_NAME, public_key_of(stranger))
    )
    assert (foreign.returncode, foreign.stdout) == (1, "")
    forged = tmp_path / "forged"
    forged.write_bytes(receipt.read_bytes().replace(b"index 41", b"index 40"))
    ran = place.run("check-proof", str(forged))
    assert (ran.returncode, ran.stdout) == (1, "")
    (tmp_path / "empty").write_bytes(b"")
    assert place.run("check-proof", str(tmp_path / "empty")).returncode == 1


def test_an_existing_file_is_never_written_over(place: Place, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    for words in (("prove", "3"), ("checkpoint",)):
        assert place.run(*words, "-o", str(tmp_path / "kept")).returncode == 1
    assert (tmp_path / "kept").read_text() == "mine"


def test_pruning_asks_first_and_then_keeps_only_hashes(place: Place) -> None:
    refused = place.run("prune", "--before", "100", given="n\n")
    assert refused.returncode == 1
    assert "pruned" not in place.run("export").stdout
    done = place.run("prune", "--before", "100", "--yes", "--json")
    assert json.loads(done.stdout) == {"through": {"main": 99}, "bodies": 99}
    assert place.run("export").stdout.count("was pruned") == 99
    assert place.run("verify").returncode == 0


@pytest.mark.parametrize("before", ["soon", "2026-13-01", "-5", ""])
def test_a_bound_that_is_neither_date_nor_number_is_a_usage_error(place: Place, before: str) -> None:
    ran = place.run("prune", f"--before={before}", "--yes")
    assert (ran.returncode, "neither a date nor" in ran.stderr) == (2, True)


def test_without_a_store_or_a_key_the_error_says_what_to_do(place: Place) -> None:
    (place.data / "gate.key").unlink()
    assert place.run("tail").returncode == 0
    blind = place.run("verify")
    assert (blind.returncode, "key is not at hand" in blind.stderr) == (1, True)
    missing = place.run("tail", "--store", str(place.home / "nowhere.db"))
    assert (missing.returncode, "there is no store" in missing.stderr) == (1, True)
    assert not (place.home / "nowhere.db").exists()


def test_an_opened_receipt_is_checked_and_shown_without_the_store(place: Place, tmp_path: Path) -> None:
    key = load_or_make_key(KEY_NAME, place.data / "gate.key")
    gate = open_gate(load_preset("chat"), place.store, key=key, marks=place.data)
    session = open_session(gate, agent="tester", owner="host")
    question = authorize(gate, edit(session, "seen-by-the-auditor.py")).question
    assert question is not None
    answer_question(gate, question.id, "once", by="ana")
    with gate.store.read() as tx:
        (seq,) = [row.seq for row in tx.entries("main", after=ENTRIES, limit=100) if row.event == "ANSWERED"]
    gate.store.close()
    proof, plain = tmp_path / "opened.json", tmp_path / "plain.txt"
    ran = place.run("prove", str(seq), "--open", "-o", str(proof))
    assert ran.returncode == 0, ran.stderr
    assert "discloses" in ran.stderr
    place.run("prove", str(seq), "-o", str(plain))
    place.store.unlink()
    checked = place.run("check-proof", str(proof), "--key", place.public)
    assert checked.returncode == 0, checked.stderr
    assert "seen-by-the-auditor.py" in checked.stdout
    told = json.loads(place.run("check-proof", str(proof), "--key", place.public, "--json").stdout)
    assert told["parts"][1]["values"]["call"]["value"]["arguments"] == {"path": "seen-by-the-auditor.py"}
    assert "seen-by-the-auditor.py" not in place.run("check-proof", str(plain), "--key", place.public).stdout
    proof.write_text(proof.read_text().replace('"salt":"', '"salt":"AAAA', 1))
    assert place.run("check-proof", str(proof), "--key", place.public).returncode == 1
