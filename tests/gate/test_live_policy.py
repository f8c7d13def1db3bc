"""A policy file that changes under a gate: what tightens counts at once, what loosens waits."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from sayso.core.audit import events
from sayso.core.digest import sha256
from sayso.core.errors import MalformedRequest
from sayso.core.model import Tier, Verdict
from sayso.doors.python.calls.results import ConsentDenied, ConsentRequired
from sayso.doors.sayso import Sayso
from sayso.gate.deciding.request import request_in_session
from sayso.gate.gate import Gate
from sayso.gate.open import open_to_act, open_to_look
from sayso.gate.people.signed_acts import Acknowledgement
from sayso.gate.policy.acting_policy import PolicySource, as_if_watching
from sayso.gate.policy.in_force import PRESET
from sayso.gate.policy_acts.apply import apply_policy, load_policy_status
from sayso.gate.policy_acts.file_flags import unprotect_file
from sayso.gate.policy_acts.lock import lock_policy
from sayso.policy import load_text
from sayso.store.sqlite.store import SqliteStore
from tests.support.gates import KEY

FREE = "autonomous: [read], requires_approval: [send], blocked: []"
ASKS = "autonomous: [], requires_approval: [read, send], blocked: []"
BLOCKS = "autonomous: [], requires_approval: [send], blocked: [read]"
BROKEN = "domains: [this is no policy"


def policy_text(lists: str, more: str = "") -> str:
    return lists if lists == BROKEN else f"domains:\n  mail: {{{lists}}}\n{more}"


class Mailbox:
    """A program whose policy is a file."""

    def __init__(self, folder: Path, file: str = "policy.yaml") -> None:
        self.file = folder / file
        self.folder = folder
        if not self.file.exists():
            self.write(FREE)
        self.open()

    def open(self) -> None:
        store = SqliteStore(self.folder / "s.db")
        self.gate = Sayso.open(self.file, store, surfaces=(), key=KEY, marks=self.folder)

        @self.gate.requires_consent("mail.read")
        def read(what: str = "inbox") -> str:
            return what

        self._read = read

    def write(self, lists: str, more: str = "") -> None:
        fresh = self.file.with_suffix(".new")
        fresh.write_text(policy_text(lists, more))
        fresh.replace(self.file)

    def outcome(self) -> str:
        try:
            self._read()
        except ConsentRequired:
            return "ask"
        except ConsentDenied:
            return "deny"
        return "allow"

    def events(self, kind: type[events.AuditEvent]) -> list[str]:
        with self.gate.gate.store.read() as tx:
            rows = tx.entries("main", limit=1_000)
        return [(row.body or b"").decode() for row in rows if row.event == kind.event]


@pytest.fixture
def mailbox(tmp_path: Path) -> Mailbox:
    return Mailbox(tmp_path)


@pytest.mark.parametrize(("stricter", "outcome"), [(ASKS, "ask"), (BLOCKS, "deny")])
def test_a_tightened_file_counts_at_once(mailbox: Mailbox, stricter: str, outcome: str) -> None:
    assert mailbox.outcome() == "allow"
    mailbox.write(stricter)
    assert mailbox.outcome() == outcome


def test_a_loosened_file_waits(mailbox: Mailbox) -> None:
    mailbox.write(BLOCKS)
    assert mailbox.outcome() == "deny"
    for looser in (ASKS, FREE):
        mailbox.write(looser)
        assert mailbox.outcome() == "deny"
    assert len(mailbox.events(events.PolicyAlerted)) == 2


def test_a_file_that_comes_back_after_the_operator_applied_another_is_told_again(mailbox: Mailbox) -> None:
    mailbox.write(BLOCKS)
    mailbox.outcome()
    looser = sha256(policy_text(FREE).encode())
    for times in (1, 2):
        mailbox.write(FREE)
        assert mailbox.outcome() == "deny"
        assert sum(looser in one for one in mailbox.events(events.PolicyAlerted)) == times
        mailbox.write(BLOCKS)
        apply_file(mailbox)


def test_what_was_tightened_beside_a_loosening_stays_when_the_file_is_put_back(mailbox: Mailbox) -> None:
    mailbox.write(ASKS, "settings: {approval_lasts: 1h}")
    assert mailbox.outcome() == "ask"
    mailbox.write(FREE)
    assert mailbox.outcome() == "ask"
    assert mailbox.gate.gate.policy.settings.approval_lasts == 900.0


@pytest.mark.parametrize("how", ["broken", "empty", "gone", "a folder"])
def test_a_refused_file_keeps_the_policy_and_is_told_once(mailbox: Mailbox, how: str) -> None:
    mailbox.write(ASKS)
    mailbox.outcome()
    mailbox.file.unlink()
    if how in ("broken", "empty"):
        mailbox.file.write_text(BROKEN if how == "broken" else "")
    elif how == "a folder":
        mailbox.file.mkdir()
    for _ in range(3):
        assert mailbox.outcome() == "ask"
    assert len(mailbox.events(events.PolicyAlerted)) == 1


def test_a_restart_does_not_loosen(mailbox: Mailbox) -> None:
    mailbox.write(BLOCKS)
    assert mailbox.outcome() == "deny"
    mailbox.gate.close()
    mailbox.write(FREE)
    mailbox.open()
    assert mailbox.outcome() == "deny"


def test_a_change_that_keeps_size_and_time_is_seen(mailbox: Mailbox) -> None:
    old = policy_text(FREE)
    new = policy_text(FREE.replace("[read]", "[]    ").replace("blocked: []", "blocked: [read]"))
    mailbox.file.write_text(old.ljust(len(new)))
    assert mailbox.outcome() == "allow"
    times = mailbox.file.stat()
    mailbox.file.write_text(new)
    os.utime(mailbox.file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert mailbox.file.stat().st_size == times.st_size
    assert mailbox.outcome() == "deny"


def test_another_process_on_the_store_follows(tmp_path: Path) -> None:
    """Two programs with files of their own: the one whose file stayed as it was follows the other."""
    first, second = Mailbox(tmp_path), Mailbox(tmp_path, "other.yaml")
    assert second.outcome() == "allow"
    first.write(BLOCKS)
    assert first.outcome() == "deny"
    assert second.outcome() == "deny"


# How calls are read while a file waits

BLOCKED_TOOL = policy_text(BLOCKS, "tools: [{tool: fetch, operation: mail.read}]")
FREED_TOOL = policy_text(
    "autonomous: [look], requires_approval: [send], blocked: [read]",
    "tools: [{tool: fetch, operation: mail.look}]",
)


def fetched(mailbox: Mailbox, command: str | None = None, **args: str) -> set[str]:
    session = mailbox.gate.open_session("agent", workspace=str(mailbox.folder))
    request = request_in_session(mailbox.gate.gate, session, "fetch", args, command, 0.0)
    return {one.name for one in request.operations}


def apply_file(mailbox: Mailbox) -> None:
    content = load_policy_status(mailbox.gate.gate, mailbox.file).content
    apply_policy(mailbox.gate.gate, mailbox.file, by="ana", content=content)


def test_a_tool_that_another_operation_is_made_of_is_read_both_ways(mailbox: Mailbox) -> None:
    mailbox.file.write_text(BLOCKED_TOOL)
    assert fetched(mailbox) == {"mail.read"}
    mailbox.file.write_text(FREED_TOOL)
    assert fetched(mailbox) == {"mail.read", "mail.look"}
    gate = mailbox.gate.gate
    session = mailbox.gate.open_session("agent", workspace=str(mailbox.folder))
    request = request_in_session(gate, session, "fetch", {}, None, 0.0)
    assert mailbox.gate.authorize(request).decision.verdict is Verdict.DENY


def test_a_command_that_only_one_of_them_sees_covers_nothing(mailbox: Mailbox) -> None:
    shell = "tools: [{tool: fetch, operation: mail.send, command: args.line}]"
    mailbox.write(FREE, shell)
    apply_file(mailbox)
    assert fetched(mailbox, "curl x", line="curl x") == {"mail.send"}
    mailbox.write(FREE, shell.replace(", command: args.line", ""))
    with pytest.raises(MalformedRequest):
        fetched(mailbox, "curl x", line="curl x")
    session = mailbox.gate.open_session("agent", workspace=str(mailbox.folder))
    request = request_in_session(mailbox.gate.gate, session, "fetch", {"line": "curl x"}, None, 0.0)
    assert request.call.command_line is None


def test_a_call_that_was_read_under_another_policy_is_read_again(mailbox: Mailbox) -> None:
    mailbox.file.write_text(BLOCKED_TOOL)
    session = mailbox.gate.open_session("agent", workspace=str(mailbox.folder))
    request = request_in_session(mailbox.gate.gate, session, "fetch", {}, None, 0.0)
    mailbox.file.write_text(FREED_TOOL)
    apply_file(mailbox)
    assert mailbox.gate.authorize(request).decision.verdict is Verdict.ALLOW


def test_too_many_readings_block_everything_until_one_is_applied(mailbox: Mailbox) -> None:
    for number in range(18):
        mailbox.write(FREE, f"tools: [{{tool: t{number}, operation: mail.send}}]")
        mailbox.outcome()
    assert mailbox.outcome() == "deny"
    apply_file(mailbox)
    assert mailbox.outcome() == "allow"


def ran_on(folder: Path, policy: str) -> None:
    """A store that a program decided on without a file."""
    Sayso.open(policy, SqliteStore(folder / "s.db"), surfaces=(), key=KEY, marks=folder).close()


def test_the_first_file_on_a_store_that_ran_on_a_stricter_preset_waits(tmp_path: Path) -> None:
    ran_on(tmp_path, "paranoid")
    mailbox = Mailbox(tmp_path)
    assert mailbox.outcome() == "ask"
    assert len(mailbox.events(events.PolicyAlerted)) == 1
    mailbox.gate.close()
    mailbox.open()
    assert mailbox.outcome() == "ask"
    assert load_policy_status(mailbox.gate.gate, mailbox.file).state == "waits"
    apply_file(mailbox)
    assert mailbox.outcome() == "allow"


def test_what_the_first_file_would_loosen_is_told_before_any_gate_has_opened_with_it(tmp_path: Path) -> None:
    ran_on(tmp_path, "paranoid")
    file = tmp_path / "policy.yaml"
    file.write_text(policy_text(FREE))
    acting = open_to_act(None, tmp_path / "s.db", key=KEY, marks=tmp_path)
    found = load_policy_status(acting, file)
    assert found.state == "waits"
    assert found.difference.loosens
    apply_policy(acting, file, by="ana", content=found.content, shown=Acknowledgement(found.shown))
    acting.store.close()
    assert Mailbox(tmp_path).outcome() == "allow"


@pytest.mark.parametrize(
    "spoil", ["DELETE FROM meta WHERE name = ?", "UPDATE meta SET value = '{}' WHERE name = ?"]
)
def test_nobody_takes_the_preset_away_that_the_first_file_is_held_against(tmp_path: Path, spoil: str) -> None:
    ran_on(tmp_path, "paranoid")
    with sqlite3.connect(tmp_path / "s.db") as db:
        assert db.execute(spoil, (PRESET,)).rowcount == 1
    db.close()
    assert Mailbox(tmp_path).outcome() == "deny"


def test_a_first_file_that_only_tightens_counts_at_once_and_ends_approvals(tmp_path: Path) -> None:
    ran_on(tmp_path, "balanced")
    file = tmp_path / "policy.yaml"
    file.write_text("extends: [balanced]\noperations: {git.push: {always_ask: true}}\n")
    mailbox = Mailbox(tmp_path)
    assert load_policy_status(mailbox.gate.gate, file).state == "in_force"
    assert set(mailbox.gate.gate.policy.tightened) == {"git.push"}
    assert not mailbox.events(events.PolicyAlerted)


def test_whoever_only_looks_decides_as_a_gate_that_watches_the_file(mailbox: Mailbox) -> None:
    """`sayso check` must not say that something is free which the running gate asks about or blocks."""
    mailbox.write(BLOCKS)
    mailbox.outcome()
    mailbox.write(FREE)
    assert tiers_seen(mailbox)["mail.read"] is Tier.BLOCKED
    apply_file(mailbox)
    assert tiers_seen(mailbox)["mail.read"] is Tier.AUTONOMOUS
    lock_policy(mailbox.gate.gate, mailbox.file, by="ana")
    unprotect_file(mailbox.file)
    mailbox.write(FREE, "# changed")
    barred = look(mailbox).policy.barred_domains
    assert barred == {"self_modification"}


def look(mailbox: Mailbox) -> Gate:
    gate = open_to_look(
        mailbox.folder / "s.db", policy=load_text(policy_text(FREE)), key=KEY, marks=mailbox.folder
    )
    try:
        return as_if_watching(gate, PolicySource(mailbox.file))
    finally:
        gate.store.close()


def tiers_seen(mailbox: Mailbox) -> dict[str, Tier | None]:
    return {name: entry.tier for name, entry in look(mailbox).policy.table.items()}
