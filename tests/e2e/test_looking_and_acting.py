"""Commands that only look leave everything as it is; those of the operator end with a signed checkpoint."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from sayso.gate.gate import Gate
from sayso.gate.sessions.operator_grants import give_grant
from sayso.policy import load_preset
from tests.e2e.operator_place import CHAT, Place, everything, verified
from tests.support.asking import asked, edit, rule

LOOKING = (
    "inbox",
    "grants",
    "allowlist",
    "sessions",
    "stats",
    "calls",
    "calls --all",
    "runs",
    "wait nowhere.q1 --timeout 0",
)
ACTING = (
    ("approve", "Q", "--for", "always", *CHAT),
    ("deny", "Q"),
    ("grant", "S", "--operation", "files.edit", *CHAT),
    ("revoke", "G"),
    ("revoke", "--all", "S"),
    ("allowlist", "add", "S", "git push", *CHAT),
    ("allowlist", "remove", "S", "git pull"),
    ("allowlist", "clear", "S"),
    ("sessions", "end", "S"),
    ("stop", "S"),
)
"""S stands for a session, Q for a question in it, G for a grant in it, which is for `git pull`."""


@pytest.mark.parametrize("command", LOOKING)
def test_looking_where_there_is_no_store_says_so_and_makes_nothing(place: Place, command: str) -> None:
    ran = place.sayso(*command.split())
    assert f"there is no store at {place.store}" in ran.stderr
    assert ran.returncode == (3 if command.startswith("wait") else 1)
    assert list(place.home.iterdir()) == []


@pytest.mark.parametrize("command", ACTING, ids=" ".join)
def test_an_operator_cannot_act_where_there_is_no_store_either(
    place: Place, command: tuple[str, ...]
) -> None:
    ran = place.sayso(*command)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "there is no store at" in ran.stderr
    assert "sayso serve" in ran.stderr
    assert list(place.home.iterdir()) == []


@pytest.mark.parametrize("command", ["link", "stop --all", "resume --all"])
def test_a_fresh_home_is_not_told_that_a_key_is_missing(place: Place, command: str) -> None:
    ran = place.sayso(*command.split())
    assert ran.returncode == 1
    assert "there is no store at" in ran.stderr
    assert "key" not in ran.stderr


@pytest.mark.parametrize(
    ("command", "listing"),
    [
        ("resume s_zz", "sayso sessions"),
        ("stop s_zz", "sayso sessions"),
        ("sessions end s_zz", "sayso sessions"),
        ("approve q2", "sayso inbox"),
        ("deny q2", "sayso inbox"),
        ("inbox q2", "sayso inbox"),
        ("revoke g2", "sayso grants"),
        ("calls show op_2", "sayso calls"),
        ("token revoke t2", "sayso token list"),
    ],
)
def test_an_id_of_nothing_is_not_refused_without_the_list_of_those_there_are(
    place: Place, gate: Gate, session: str, command: str, listing: str
) -> None:
    ran = place.sayso(*command.split())
    assert ran.returncode != 0
    assert listing in " ".join(ran.stderr.split())


def test_a_receipt_is_not_refused_for_want_of_a_key_without_naming_the_option(place: Place) -> None:
    (place.home / "receipt").write_text("c2sp.org/tlog-proof@v1\n")
    ran = place.sayso("audit", "check-proof", str(place.home / "receipt"))
    assert ran.returncode == 1
    assert "--key" in ran.stderr


def test_no_line_of_a_first_policy_is_wider_than_80_columns(place: Place) -> None:
    assert place.sayso("init", "--to", str(place.home / "policy.yaml")).returncode == 0
    assert max(map(len, (place.home / "policy.yaml").read_text().splitlines())) <= 80


def test_looking_changes_no_row_and_no_policy(place: Place, gate: Gate, session: str) -> None:
    asked(gate, edit(session))
    give_grant(gate, session, by="ana", command="git push")
    before, folder = everything(place), sorted(one.name for one in place.home.rglob("*"))
    for command in LOOKING:
        ran = place.sayso(*command.split())
        assert ran.returncode == (3 if command.startswith("wait") else 0), ran.stderr
        assert "policy" not in ran.stderr
    assert everything(place) == before
    assert sorted(one.name for one in place.home.rglob("*")) == folder


@pytest.mark.parametrize("command", ACTING, ids=" ".join)
def test_every_act_of_the_operator_is_signed_when_its_command_returns(
    place: Place, gate: Gate, session: str, command: tuple[str, ...]
) -> None:
    grant = give_grant(gate, session, by="ana", command="git pull")
    names = {"S": session, "Q": asked(gate, edit(session)), "G": grant.id}
    before, signed = verified(place)
    assert signed < before
    ran = place.sayso(*(names.get(word, word) for word in command))
    assert (ran.returncode, ran.stderr) == (0, "")
    entries, signed = verified(place)
    assert (entries > before, signed) == (True, entries)


def test_acting_under_another_policy_is_told_and_leaves_the_one_in_force(
    place: Place, gate: Gate, session: str
) -> None:
    question = asked(gate, edit(session))
    ran = place.sayso("approve", question, "--for", "always", "--preset", "gateway")
    assert ran.returncode == 0
    assert "another policy" in ran.stderr
    assert [rule(gate, edit(session)) for _ in range(2)] == ["approved_call", "operation_grant"]
    assert rule(gate, edit(session, "b.py")) == "ask"
    with gate.store.read() as tx:
        assert tx.meta("policy") == load_preset("chat").digest
        assert [row.event for row in tx.entries("main", limit=100)].count("POLICY") == 1
    same = place.sayso("grant", session, "--operation", "files.edit", *CHAT)
    assert (same.returncode, same.stderr) == (0, "")


def test_an_ended_session_is_gone_and_its_grants_with_it(place: Place, gate: Gate, session: str) -> None:
    give_grant(gate, session, by="ana", operation="files.edit")
    assert place.told("sessions", "end", session) == {"session": session, "ended": True}
    assert (place.told("sessions"), place.told("grants")) == ([], [])
    again = place.sayso("sessions", "end", session)
    assert (again.returncode, "ended" in again.stderr) == (1, True), again.stderr


def test_the_allowlist_is_changed_word_for_word(place: Place, session: str) -> None:
    listed = place.told("allowlist", "add", session, "git push", *CHAT)
    assert [one["value"] for one in listed] == ["git push"]
    wrong = place.sayso("allowlist", "remove", session, "git push --force")
    assert (wrong.returncode, "is not on the allowlist" in wrong.stderr) == (1, True)
    assert len(place.told("allowlist", "remove", session, "git push")) == 1
    assert place.told("allowlist") == []
    assert place.sayso("allowlist", "clear", session).stdout == "The allowlist was empty.\n"


def test_an_option_that_would_not_reach_the_command_is_refused(place: Place, session: str) -> None:
    elsewhere = str(place.home / "other.db")
    for words in (
        ("allowlist", "--store", elsewhere, "clear", session),
        ("sessions", "--json", "end", session),
    ):
        ran = place.sayso(*words)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert "stand after" in ran.stderr
    assert len(place.told("sessions")) == 1


def test_without_the_key_nothing_that_is_sealed_is_shown_and_it_says_why(
    place: Place, gate: Gate, session: str
) -> None:
    question = asked(gate, edit(session))
    (place.home / "share" / "sayso" / "gate.key").unlink()
    for words in (("inbox",), ("inbox", question), ("grants",), ("sessions",), ("deny", question)):
        ran = place.sayso(*words)
        assert (ran.returncode, "key is not at hand" in ran.stderr) == (1, True)
    assert not (place.home / "share" / "sayso" / "gate.key").exists()


def test_what_was_asked_is_shown_checked_and_forgotten(place: Place, gate: Gate, session: str) -> None:
    asked(gate, edit(session))
    with gate.store.read() as tx:
        (seq,) = [str(row.seq) for row in tx.entries("main", limit=100) if row.event == "ASKED"]
    told = json.loads(place.sayso("audit", "show", seq, "--json").stdout)
    call = {"tool": "edit", "command": None, "arguments": {"path": "a.py"}, "folder": ""}
    assert told["values"]["call"] == {"state": "kept", "value": call}
    assert '"path":"a.py"' in place.sayso("audit", "show", seq).stdout
    erased = place.sayso("audit", "erase", seq, "call", "--yes")
    assert erased.returncode == 0, erased.stderr
    assert "call: erased" in place.sayso("audit", "show", seq).stdout
    assert verified(place)[0] > int(seq)


def test_a_value_changed_in_the_file_is_found_by_verify(place: Place, gate: Gate, session: str) -> None:
    asked(gate, edit(session))
    with closing(sqlite3.connect(place.store)) as db, db:
        db.execute("UPDATE secrets SET value = CAST(replace(value, 'a.py', 'b.py') AS BLOB)")
    ran = place.sayso("audit", "verify")
    assert (ran.returncode, "is not the one it speaks of" in ran.stdout) == (1, True)
