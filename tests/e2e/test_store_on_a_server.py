"""`sayso store init | info | migrate` on a database: the same as on a file, and no password is shown."""

from __future__ import annotations

import json
import shlex

import psycopg
import pytest

from sayso.store.postgres.store import PostgresStore
from sayso.store.sql.migrate import LATEST
from tests.e2e.operator_place import Place
from tests.support.old_schema import make_old
from tests.support.postgres_place import new_url

SECRET = "s3cret-word"


@pytest.fixture
def database(postgres_server: str) -> str:
    return f"{new_url(postgres_server)}&password={SECRET}"


def test_a_database_without_a_store_is_not_described_and_made_only_by_init(
    place: Place, database: str
) -> None:
    there = ("--store", database)
    for command in ("info", "migrate"):
        missing = place.sayso("store", command, *there)
        assert (missing.returncode, missing.stdout) == (1, "")
        assert "sayso store init" in missing.stderr
        assert SECRET not in missing.stderr
    made = [place.told("store", "init", *there)["made"] for _ in range(2)]
    assert made == [True, False]
    told = place.told("store", "info", *there)
    assert (told["schema"], told["epoch"], told["open_sessions"], told["audit_entries"]) == (LATEST, 1, 0, 0)
    assert told["bytes"] > 0
    shown = told["store"]
    assert place.told("store", "info", "--store", shown)["store"] == shown, "what is shown can be named again"
    assert SECRET not in json.dumps(told)
    assert place.told("store", "migrate", *there)["changed"] is False
    assert not place.store.exists(), "the store of the data folder is not made beside it"


def test_an_older_schema_is_named_and_brought_up_to_date_once(
    place: Place, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = ("--store", database)
    make_old(lambda: PostgresStore(database), monkeypatch, 1)
    old = place.sayso("store", "info", *there)
    assert SECRET not in old.stderr
    assert not place.store.exists()
    named = shlex.split(" ".join(old.stderr.split()).partition("`sayso ")[2].partition("`")[0])
    assert named[:3] == ["store", "migrate", "--store"], "the hint names this store"
    changed = [place.sayso(*named, "--json") for _ in range(2)]
    assert [one.stderr for one in changed] == ["", ""]
    assert [json.loads(one.stdout)["changed"] for one in changed] == [True, False]


def test_a_newer_schema_is_refused_and_left_alone(place: Place, database: str) -> None:
    there = ("--store", database)
    place.told("store", "init", *there)
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO migrations (number, name) VALUES (%s, 'later')", (LATEST + 1,))
    for command in ("init", "info", "migrate"):
        assert "newer Sayso" in place.sayso("store", command, *there).stderr


@pytest.mark.parametrize("command", ["init", "info", "migrate"])
def test_a_server_that_does_not_answer_is_named_and_another_kind_of_address_refused(
    place: Place, command: str
) -> None:
    nowhere = place.sayso("store", command, "--store", "postgresql://ana:pw1@127.0.0.1:1/none")
    assert nowhere.returncode == 1
    assert "no server answers there" in nowhere.stderr
    assert "pw1" not in nowhere.stderr
    other = place.sayso("store", command, "--store", "mysql://ana@host/db")
    assert other.returncode != 0
    assert "postgresql://user@host/database" in other.stderr


def test_only_a_file_can_be_moved(place: Place, database: str) -> None:
    refused = place.sayso("store", "copy", "--to", database, "--store", database)
    assert refused.returncode != 0
    assert "from a file" in refused.stderr
