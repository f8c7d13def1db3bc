"""`sayso store copy` as a process: a SQLite file moves to a real PostgreSQL, also past a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

import psycopg
import pytest

from sayso.gate.audit.checkpoints import sign_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.rows.moves import StoreMoved
from sayso.gate.sessions.sessions import open_session
from sayso.store.postgres.store import PostgresStore
from tests.e2e.operator_place import PATIENCE, Place
from tests.support.asking import asked, edit, rule
from tests.support.repository import ROOT

SECRET = "s3cret-word"

DYING = """
import os, signal, sys
from pathlib import Path
from sayso.gate.upkeep.copy import copy_store
from sayso.gate.open import KEY_NAME, open_store
from sayso.gate.rows.keys import load_key
from sayso.store.postgres.server import url_without_password

home, to, stage = sys.argv[1:]
marks = Path(home) / "share" / "sayso"

def progress(doing, done):
    if doing == stage:
        os.kill(os.getpid(), signal.SIGKILL)

file = str(Path(home) / "sayso.db")
key = load_key(KEY_NAME, marks / "gate.key")
to_store, told = open_store(to), url_without_password(to)
copy_store(open_store(file), to_store, key, came_from=file, to=told, marks=marks, progress=progress)
"""


@pytest.fixture
def database(postgres_server: str, request: pytest.FixtureRequest) -> str:
    """The address of an empty schema, with a password that nobody needs."""
    name = f"copy_{abs(hash(request.node.name))}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{postgres_server}&options={quote(f'-csearch_path={name}')}&password={SECRET}"


@pytest.fixture
def gate(place: Place) -> Iterator[Gate]:
    opened = place.gate()
    yield opened
    opened.store.close()


def test_a_file_moves_to_a_server_where_the_operator_goes_on(place: Place, gate: Gate, database: str) -> None:
    session = open_session(gate, agent="tester", owner="host", user="ana")
    answer_question(gate, asked(gate, edit(session)), "always", by="ana")
    assert [rule(gate, edit(session)) for _ in range(2)] == ["approved_call", "operation_grant"]
    question = asked(gate, edit(open_session(gate, agent="tester", owner="host")))
    kept = place.home / "kept.checkpoint"
    kept.write_text(sign_audit(gate))

    ran = place.sayso("store", "copy", "--to", database, "--json")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["epoch"] > 1
    assert (told["findings"], told["rows"]["session"]) == ([], 2)
    assert SECRET not in ran.stdout + ran.stderr
    with pytest.raises(StoreMoved) as refused:
        authorize(gate, edit(session))
    assert (SECRET in str(refused.value), told["to"] in str(refused.value)) == (False, True)

    there = ("--store", database)
    verified = place.sayso("audit", "verify", "--checkpoint", str(kept), *there, "--json")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert json.loads(verified.stdout)["streams"][0]["entries"] > told["streams"]["main"]["entries"]
    assert place.told("grants", *there) == []
    assert [one["id"] for one in place.told("inbox", *there)] == [question]
    assert place.told("approve", question, *there)["yours"]
    assert {one["tampered"] for one in place.told("sessions", *there)} == {False}

    old = place.sayso("audit", "verify", "--json")
    assert (old.returncode, json.loads(old.stdout)["clean"]) == (0, True)
    info = json.loads(place.sayso("store", "info", "--json").stdout)
    assert (info["moved_to"], info["move_finished"]) == (told["to"], True)
    assert place.told("store", "info", "--store", told["to"])["epoch"] == told["epoch"], (
        "it can be named again"
    )
    for words in (["inbox"], ["store", "copy", "--to", database]):
        ran = place.sayso(*words)
        assert (ran.returncode, ran.stdout) == (1, "")
        assert f"this store was moved to {told['to']}" in ran.stderr


def test_people_are_told_in_sentences(place: Place, gate: Gate, database: str) -> None:
    open_session(gate, agent="tester", owner="host")
    ran = place.sayso("store", "copy", "--to", database)
    assert ran.returncode == 0, ran.stderr
    assert "The audit chain is intact" in ran.stdout
    assert "no grant moved along" in ran.stdout


def test_what_cannot_be_copied_is_told_and_the_file_stays_in_use(
    place: Place, gate: Gate, postgres_server: str, database: str
) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    for to, code, said in (
        (nowhere, 1, "no server answers"),
        ("other.db", 2, "PostgreSQL only"),
        ("postgresql://?nonsense=1", 1, "not the address"),
    ):
        ran = place.sayso("store", "copy", "--to", to)
        assert (ran.returncode, ran.stdout) == (code, ""), ran.stderr
        assert said in ran.stderr
    missing = place.sayso("store", "copy", "--to", database, "--store", str(place.home / "none.db"))
    assert (missing.returncode, "there is no store" in missing.stderr) == (1, True)
    with closing(PostgresStore(database)) as other, other.write() as tx:
        tx.set_meta("name", "another")
    full = place.sayso("store", "copy", "--to", database)
    assert (full.returncode, "not empty" in full.stderr) == (1, True)
    unsealed = place.sayso("store", "unseal", "--to", database)
    assert (unsealed.returncode, "not sealed" in unsealed.stderr) == (1, True)
    open_session(gate, agent="tester", owner="host")


@pytest.mark.parametrize("stage", ["Copying", "Verifying the copy"])
@pytest.mark.parametrize("then", ["copy", "unseal"])
def test_a_copy_that_was_killed_is_finished_or_given_up(
    place: Place, gate: Gate, database: str, stage: str, then: str
) -> None:
    session = open_session(gate, agent="tester", owner="host")
    answer_question(gate, asked(gate, edit(session)), "always", by="ana")
    died = subprocess.run(
        [sys.executable, "-c", DYING, str(place.home), database, stage],
        cwd=ROOT,
        timeout=PATIENCE,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL
    with pytest.raises(StoreMoved, match="being copied"):
        open_session(gate, agent="tester", owner="host")
    there = place.sayso("inbox", "--store", database)
    assert (there.returncode, "was not finished" in there.stderr) == (1, True)

    ran = place.sayso("store", then, "--to", database)
    assert ran.returncode == 0, ran.stderr
    inbox = place.sayso("inbox", "--store", database)
    if then == "copy":
        assert inbox.returncode == 0, inbox.stderr
        assert place.sayso("audit", "verify", "--store", database).returncode == 0
        with pytest.raises(StoreMoved, match="was moved"):
            open_session(gate, agent="tester", owner="host")
    else:
        assert rule(gate, edit(session)) == "approved_call"
        if stage == "Copying":  # nothing had arrived
            assert (inbox.returncode, inbox.stdout) == (0, "Nobody waits for an answer.\n"), inbox.stdout
        else:
            assert (inbox.returncode, "given up" in inbox.stderr) == (1, True)
        assert place.sayso("audit", "verify").returncode == 0
