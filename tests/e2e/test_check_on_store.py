"""`sayso check` where the operator has a store: decided with what is in it, and truly alerted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sayso.core.model import Operation
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.start import start_call
from sayso.gate.open import KEY_NAME, open_gate
from sayso.gate.rows.keys import load_or_make_key
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from sayso.store.sqlite.store import SqliteStore
from tests.e2e.operator_place import Place, everything, verified
from tests.support.gates import Clock

POLICY = """
sayso: 1
settings: {notices: null}
domains:
  email: {trust_level: high, autonomous: [read], requires_approval: [send], blocked: [delete_vip]}
  bank: {trust_level: low, autonomous: [], requires_approval: [pay], blocked: [wire]}
  files: {trust_level: high, autonomous: [read], requires_approval: [write], blocked: []}
operations: {bank.pay: {risk: high}}
tools:
  - {tool: transfer, operation: email.read, when: "args.amount <= 100"}
  - {tool: transfer, operation: bank.wire}
  - {tool: open, resolve: path, operation: files.read, from: args.path}
  - {tool: save, operation: files.write}
"""
BLOCKED = "BLOCKED -- do not proceed; operator alerted\n"
ALONE = "nobody was alerted"


@pytest.fixture
def policy(place: Place) -> Path:
    """The operator's own file, where every command finds it."""
    own = place.home / "config" / "sayso" / "policy.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(POLICY)
    return own


@pytest.fixture
def gate(place: Place, policy: Path) -> Any:
    opened = gate_at(place)
    yield opened
    opened.store.close()


def gate_at(place: Place, clock: Clock | None = None) -> Gate:
    folder = place.home / "share" / "sayso"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = load_or_make_key(KEY_NAME, folder / "gate.key")
    store = SqliteStore(place.store, clock=clock) if clock is not None else place.store
    return open_gate(load_text(POLICY), store, key=key, marks=folder)


def events(gate: Gate) -> list[str]:
    with gate.store.read() as tx:
        return [row.event for row in tx.entries("main", limit=1_000)]


def last(gate: Gate) -> dict[str, Any]:
    with gate.store.read() as tx:
        head = tx.head("main")
    assert head is not None
    told: dict[str, Any] = json.loads(head.body or b"")
    return told


def test_what_is_blocked_is_recorded_and_alerted_where_there_is_a_store(place: Place, gate: Gate) -> None:
    ran = place.sayso("check", "email", "delete_vip", "0.99")
    assert (ran.stdout, ran.returncode) == (BLOCKED, 4), ran.stderr
    assert ALONE not in ran.stderr
    assert [one["title"] for one in place.told("history")] == ["email.delete_vip (check)"]
    entry = last(gate)
    assert (entry["event"], entry["operations"]) == ("BLOCKED", ["email.delete_vip"])
    assert entry["details"]["notice"]
    verified(place)


@pytest.mark.parametrize("more", [("--preset", "graph"), ("--preset", "graph", "--json")])
def test_without_a_store_nobody_is_said_to_have_been_alerted_but_the_verdict(
    place: Place, gate: Gate, more: tuple[str, ...]
) -> None:
    before = everything(place)
    ran = place.sayso("check", "home_automation", "unlock_doors", *more)
    assert ran.returncode == 4
    assert ALONE in ran.stderr
    if "--json" in more:
        assert json.loads(ran.stdout)["alerted"] is False
    else:
        assert ran.stdout == BLOCKED
    assert everything(place) == before


def test_a_machine_without_a_store_gets_none_from_a_check(place: Place, policy: Path) -> None:
    ran = place.sayso("check", "email", "delete_vip")
    assert (ran.stdout, ran.returncode) == (BLOCKED, 4)
    assert ALONE in ran.stderr
    assert not place.store.exists()


def test_what_is_blocked_is_recorded_in_a_store_that_nobody_has_used_yet(place: Place, policy: Path) -> None:
    assert place.sayso("store", "init").returncode == 0
    ran = place.sayso("check", "email", "delete_vip")
    assert (ran.stdout, ran.returncode) == (BLOCKED, 4)
    assert ALONE not in ran.stderr
    assert "BLOCKED" in place.sayso("audit", "tail").stdout


@pytest.mark.parametrize("words", [("email", "read"), ("email", "send", "0.9"), ("bank", "pay")])
def test_a_check_that_is_not_blocked_writes_nothing_and_uses_nothing_up(
    place: Place, gate: Gate, words: tuple[str, ...]
) -> None:
    before = everything(place)
    ran = place.sayso("check", *words)
    assert ran.returncode in (0, 3), ran.stderr
    assert everything(place) == before


def test_a_permission_that_nobody_reviewed_in_time_is_not_checked_as_autonomous(
    place: Place, policy: Path
) -> None:
    import time

    clock = Clock()
    clock.now = time.time() - 31 * 86_400
    old = gate_at(place, clock)
    old.store.close()
    ran = place.sayso("check", "email", "read")
    assert (ran.stdout, ran.returncode) == ("FORCED -- ask the operator first\n", 3), ran.stderr
    assert place.sayso("check", "email", "read", "--preset", "graph").returncode == 0


def test_a_permission_that_the_store_has_not_seen_yet_is_checked_as_its_first_call(
    place: Place, gate: Gate, policy: Path
) -> None:
    policy.write_text(POLICY.replace("[read], requires_approval: [s", "[read, list], requires_approval: [s"))
    ran = place.sayso("check", "email", "list", "--policy", str(policy))
    assert (ran.stdout, ran.returncode) == ("SILENT -- proceed\n", 0), ran.stderr
    assert "another policy" in ran.stderr
    ran = place.sayso("check", "email", "list")
    assert (ran.stdout, ran.returncode) == ("FORCED -- ask the operator first\n", 3), ran.stderr
    assert "your policy file is not in force as it is" in ran.stderr


def test_confidence_does_not_speak_where_notices_have_nowhere_to_go(
    place: Place, gate: Gate, policy: Path
) -> None:
    policy.write_text(POLICY.replace("settings: {notices: null}", "settings: {confidence_bypass: true}"))
    assert place.sayso("check", "email", "send", "0.99").stdout == "FORCED -- ask the operator first\n"
    policy.write_text(
        POLICY.replace("settings: {notices: null}", "settings: {confidence_bypass: true, notices: page}")
    )
    draft = place.sayso("check", "email", "send", "0.99", "--policy", str(policy))
    assert draft.stdout == "VISIBLE -- proceed and notify\n"


def test_the_grants_and_the_stop_of_a_session_count_only_where_it_is_named(place: Place, gate: Gate) -> None:
    session = open_session(gate, agent="tester", owner="host")
    give_grant(gate, session, by="ana", operation="email.send")
    assert place.sayso("check", "email", "send").returncode == 3
    told = json.loads(place.sayso("check", "email", "send", "--session", session, "--json").stdout)
    assert (told["verdict"], told["rule"]) == ("allow", "operation_grant")
    record_message(gate, session, "stop")
    told = json.loads(place.sayso("check", "email", "read", "--session", session[:8], "--json").stdout)
    assert (told["verdict"], told["rule"]) == ("ask", "stopped")


def test_a_blocked_check_in_a_session_is_recorded_as_that_sessions(place: Place, gate: Gate) -> None:
    session = open_session(gate, agent="tester", owner="host")
    assert place.sayso("check", "bank", "wire", "--session", session).returncode == 4
    assert (last(gate)["session"], last(gate)["agent"]) == (session, "tester")


@pytest.mark.parametrize("words", [("--session", "s_none"), ("--session", "s_none", "--preset", "graph")])
def test_a_session_that_is_not_there_decides_nothing(
    place: Place, gate: Gate, words: tuple[str, ...]
) -> None:
    ran = place.sayso("check", "email", "read", *words)
    assert (ran.stdout, ran.returncode in (1, 2)) == ("", True)


@pytest.mark.parametrize(
    ("tool", "args", "verdict", "operations"),
    [
        ("transfer", '{"amount": 100}', "allow", ["email.read"]),
        ("transfer", '{"amount": 101}', "deny", ["bank.wire"]),
        ("transfer", '{"amount": "many"}', "deny", ["email.read", "bank.wire"]),
        ("open", '{"path": "~/.ssh/id_ed25519"}', "ask", None),
        ("open", '{"path": "notes.txt"}', "allow", ["files.read"]),
        ("save", '{"path": "~/.claude/settings.json"}', "deny", None),
        ("unheard_of", "{}", "ask", None),
    ],
)
def test_a_tools_call_is_checked_as_a_door_would_make_it(
    place: Place, gate: Gate, tool: str, args: str, verdict: str, operations: list[str] | None
) -> None:
    told = json.loads(place.sayso("check", "--tool", tool, "--args", args, "--json").stdout)
    assert told["verdict"] == verdict, told
    if operations is not None:
        assert [one["operation"] for one in told["operations"]] == operations


def test_a_tools_call_in_a_session_sees_a_grant_for_exactly_that_call(place: Place, gate: Gate) -> None:
    from sayso.core.grants import Pins

    session = open_session(gate, agent="tester", owner="host", workspace=str(place.home))
    give_grant(gate, session, by="ana", operation="files.write", pins=Pins(tool="save"))
    words = ("check", "--session", session, "--json")
    assert json.loads(place.sayso(*words, "--tool", "save").stdout)["rule"] == "operation_grant"
    assert json.loads(place.sayso(*words, "files", "write").stdout)["rule"] == "ask"


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("email",),
        ("--args", "{}"),
        ("--args", "{}", "email", "read"),
        ("--tool", "save", "email", "read"),
        ("--tool", "save", "--args", "[]"),
        ("--tool", "save", "--args", "{"),
        ("--tool", "save", "--args", '{"a": 1, "a": 2}'),
        ("--tool", "save", "--args", '{"a": NaN}'),
        ("--tool", "save", "2"),
    ],
)
def test_what_is_neither_an_operation_nor_a_call_is_a_usage_error(
    place: Place, gate: Gate, words: tuple[str, ...]
) -> None:
    for command in ("check", "explain"):
        ran = place.sayso(command, *words)
        assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
        assert "Traceback" not in ran.stderr


def test_explain_decides_with_the_store_and_records_nothing(place: Place, gate: Gate) -> None:
    session = open_session(gate, agent="tester", owner="host")
    give_grant(gate, session, by="ana", operation="email.send")
    before = everything(place)
    told = json.loads(place.sayso("explain", "email", "send", "--session", session, "--json").stdout)
    assert told["rule"] == "operation_grant"
    ran = place.sayso("explain", "--tool", "transfer", "--args", '{"amount": 500}')
    assert ran.returncode == 4
    assert "bank.wire" in ran.stdout
    assert everything(place) == before


def test_a_store_whose_key_is_gone_is_said_so_instead_of_an_alert_that_never_was(
    place: Place, gate: Gate
) -> None:
    gate.store.close()
    (place.home / "share" / "sayso" / "gate.key").unlink()
    ran = place.sayso("check", "email", "delete_vip")
    assert (ran.stdout, ran.returncode) == ("", 1)
    assert "key" in ran.stderr


def test_lint_does_not_pass_over_a_title_that_no_call_in_the_store_could_fill(
    place: Place, gate: Gate, tmp_path: Path
) -> None:
    session = open_session(gate, agent="a", owner="host")
    request = make_request(make_call("save", {"path": "a.txt"}), [Operation("files.write")], session=session)
    start_call(gate, request, holder="worker")
    titled = tmp_path / "titled.yaml"
    titled.write_text(POLICY.replace("files.write}", 'files.write, title: "Save {pth}"}'))
    found = place.sayso("policy", "lint", str(titled)).stdout
    assert "its title names {pth}" in found
    assert "calls of it had path" in found
    titled.write_text(POLICY.replace("files.write}", 'files.write, title: "Save {path}"}'))
    assert "its title" not in place.sayso("policy", "lint", str(titled)).stdout
