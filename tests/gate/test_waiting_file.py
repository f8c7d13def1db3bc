"""What the operator reads about a file before applying it: all it loosens, and all that counts already."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import sayso.policy
from sayso.core.errors import MalformedRequest
from sayso.core.model import Verdict
from sayso.core.policy import Policy
from sayso.doors.sayso import Sayso
from sayso.gate.gate import current_gate
from sayso.gate.policy_acts.apply import PolicyStatus, apply_policy, load_policy_status
from sayso.policy import load_text
from sayso.policy.compare.strictest import tightens_only
from sayso.store.sqlite.store import SqliteStore
from tests.support.gates import KEY

MAIL = "domains:\n  mail: {autonomous: [], requires_approval: [read, send], blocked: [purge]}\n"
TEAM = f"""{MAIL}people:
  ana: {{groups: [leads], ids: ["page:ana"]}}
  bob: {{groups: [leads], ids: ["page:bob"]}}
  cy: {{groups: [leads], ids: ["page:cy", "token:t_1"]}}
approvals:
  - {{domain: mail, needed: 1, from: [leads]}}
"""
WITHOUT_CY = "".join(line for line in TEAM.splitlines(keepends=True) if "cy:" not in line)
TOOLS = "tools: [{tool: mail_to, resolve: recipient, domain: mail, from: args.to}]\n"


class Desk:
    """A program whose policy is a file, and the operator who changes that."""

    def __init__(self, folder: Path, text: str) -> None:
        self.file = folder / "policy.yaml"
        self.file.write_text(text)
        self.program = Sayso.open(self.file, SqliteStore(folder / "s.db"), surfaces=(), key=KEY, marks=folder)

    def write(self, text: str) -> None:
        fresh = self.file.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(self.file)

    def decide_under(self, text: str) -> Policy:
        """Change the file, and let the gate see it."""
        self.write(text)
        return current_gate(self.program.gate).policy

    def status(self) -> PolicyStatus:
        return load_policy_status(current_gate(self.program.gate), self.file)

    def apply(self) -> Policy:
        seen = self.status()
        apply_policy(current_gate(self.program.gate), self.file, by="ana", content=seen.content)
        return current_gate(self.program.gate).policy


def loosened(found: PolicyStatus) -> str:
    return "\n".join([*map(str, found.loosened), *(str(one) for one in found.beyond if one.loosens)])


def tightened(found: PolicyStatus) -> str:
    return "\n".join([*map(str, found.tightened), *(str(one) for one in found.beyond if not one.loosens)])


FETCH = "domains: {git: {autonomous: [fetch], requires_approval: [], blocked: []}}\n"
READ = f"{FETCH}operations: {{git.fetch: {{risk: low}}}}\n"
ACCEPTED = READ.replace("risk: low", "risk: low, reading: accepted")
LOOSENING: Mapping[str, tuple[str, str, str]] = {
    "a person less": (TEAM, WITHOUT_CY, "people.cy"),
    "an id less": (TEAM, TEAM.replace(', "token:t_1"', ""), "people.cy"),
    "an id more": (TEAM, TEAM.replace('"page:bob"', '"page:bob", "token:t_2"'), "people.bob"),
    "an approver more": (
        TEAM,
        TEAM.replace('groups: [leads], ids: ["page:ana"]', 'groups: [leads, more], ids: ["page:ana"]'),
        "people.ana",
    ),
    "one approval less": (TEAM.replace("needed: 1", "needed: 2"), TEAM, "approvals mail"),
    "a longer approval": (MAIL, f"{MAIL}settings: {{approval_lasts: 1h}}\n", "settings.approval_lasts"),
    "a program described": (MAIL, f"{MAIL}programs: {{deployit: {{is: mail.send}}}}\n", "program deployit"),
    "a program no more": (f"{MAIL}programs: {{deployit: {{is: mail.send}}}}\n", MAIL, "program deployit"),
    "a word to agree": (MAIL, f"{MAIL}phrases: {{assent: [ja]}}\n", "phrases.assent"),
    "a word to stop less": (f"{MAIL}phrases: {{stop: [halt]}}\n", MAIL, "phrases.stop"),
    "a workflow no more": (f"{MAIL}workflows: {{w: {{operations: [mail.read]}}}}\n", MAIL, "workflow w"),
    "a tool no more": (f"{MAIL}{TOOLS}", MAIL, "tool mail_to"),
    "a reading accepted": (READ, ACCEPTED, "operations.git.fetch.reading"),
    "a reading accepted, and what it allows": (READ, ACCEPTED, "git.fetch: ask -> allow"),
    "unblocked": (MAIL, MAIL.replace("send], blocked: [purge]", "send, purge], blocked: []"), "mail.purge"),
    "autonomous": (
        MAIL,
        MAIL.replace("[], requires_approval: [read, ", "[read], requires_approval: ["),
        "mail.read",
    ),
}


@pytest.mark.parametrize(("before", "after", "what"), LOOSENING.values(), ids=LOOSENING)
def test_all_that_applying_loosens_is_told_before(tmp_path: Path, before: str, after: str, what: str) -> None:
    desk = Desk(tmp_path, before)
    desk.write(after)
    unseen = load_policy_status(desk.program.gate, desk.file)  # no gate has looked at the file yet
    strict = desk.decide_under(after)
    assert strict.joined
    for found in (unseen, desk.status()):
        assert found.state == "waits"
        assert what in loosened(found)
    assert not desk.apply().joined


def test_a_reading_that_is_accepted_waits_and_one_that_is_no_more_counts_at_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, READ)
    waiting = desk.decide_under(ACCEPTED).entry("git.fetch")
    assert (waiting.accepted, waiting.always_ask) == (False, False)
    assert desk.apply().entry("git.fetch").accepted
    back = desk.decide_under(READ)
    assert not back.joined
    assert not back.entry("git.fetch").accepted


def test_what_a_waiting_file_tightens_is_told_as_well(tmp_path: Path) -> None:
    desk = Desk(tmp_path, MAIL)
    changed = MAIL.replace(
        "requires_approval: [read, send], blocked: [purge]",
        "requires_approval: [read, purge], blocked: [send]",
    )
    desk.write(changed + "phrases: {stop: [halt]}\n")
    unseen = load_policy_status(desk.program.gate, desk.file)
    assert desk.decide_under(changed + "phrases: {stop: [halt]}\n").entry("mail.send").tier
    for found in (unseen, desk.status()):
        assert "mail.purge: deny -> ask" in loosened(found)
        assert "mail.send: ask -> deny" in tightened(found)
        assert "phrases.stop" in tightened(found)
        assert "mail.send" not in loosened(found)


def test_a_version_in_between_that_is_taken_back_is_told_as_loosened(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TEAM)
    between = TEAM.replace("send], blocked: [purge]", "purge], blocked: [send]").replace(
        "people:\n", 'people:\n  dan: {groups: [], ids: ["page:dan"]}\n'
    )
    assert desk.decide_under(between + "programs: {deployit: {is: mail.send}}\n").joined
    desk.decide_under(TEAM)
    found = desk.status()
    assert found.state == "waits"
    for what in ("mail.send: deny -> ask", "people.dan", "program deployit"):
        assert what in loosened(found)
    assert not tightened(found)  # it says what the policy said before


def test_after_a_restart_all_of_it_is_still_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TEAM)
    after = WITHOUT_CY.replace(
        "requires_approval: [read, send], blocked: [purge]",
        "requires_approval: [read], blocked: [purge, send]",
    )
    desk.decide_under(after)
    desk.program.close()
    program = Sayso.open(desk.file, SqliteStore(tmp_path / "s.db"), surfaces=(), key=KEY, marks=tmp_path)
    found = load_policy_status(program.gate, desk.file)
    assert "people.cy" in loosened(found)
    assert "mail.send: ask -> deny" in tightened(found)


READ_OTHERWISE: Mapping[str, tuple[str, str, str, str]] = {
    "a stranger may be asked about": (
        "mail: {autonomous: [], requires_approval: [send], blocked: []}",
        "mail: {autonomous: [], requires_approval: [send, send_unknown], blocked: []}",
        "mail_to eve@example.com",
        "ask",
    ),
    "a vip is written to as anybody": (
        "mail: {autonomous: [send], requires_approval: [send_vip], blocked: []}",
        "mail: {autonomous: [send], requires_approval: [], blocked: []}",
        "mail_to ana@example.com",
        "block",
    ),
    "a write becomes one in the workspace": (
        "notes: {autonomous: [], requires_approval: [], blocked: [write]}",
        "notes: {autonomous: [], requires_approval: [write_workspace], blocked: [write]}",
        "note_write /w/a.txt",
        "ask",
    ),
}
SETTINGS = """settings: {unlisted: block}
vip_contacts: {ana: ana@example.com}
tools:
  - {tool: mail_to, resolve: recipient, domain: mail, from: args.to}
  - {tool: note_write, resolve: path, operation: notes.write, from: args.to}
"""


def mail_text(lists: str, unlisted: str = "block") -> str:
    return f"domains:\n  mail: {{{lists}}}\n{SETTINGS.replace('block', unlisted)}"


def outcome(desk: Desk, call: str) -> Verdict:
    from sayso.gate.deciding.authorize import authorize
    from sayso.gate.deciding.request import request_in_session
    from sayso.gate.sessions.sessions import open_session

    tool, to = call.split()
    gate = current_gate(desk.program.gate)
    session = open_session(gate, agent="agent", owner="test", workspace="/w")
    request = request_in_session(gate, session, tool, {"to": to}, None, 0.0)
    return authorize(gate, request).decision.verdict


LOOSER = ((Verdict.DENY, Verdict.ASK), (Verdict.DENY, Verdict.ALLOW), (Verdict.ASK, Verdict.ALLOW))


@pytest.mark.parametrize(("before", "after", "call", "unlisted"), READ_OTHERWISE.values(), ids=READ_OTHERWISE)
def test_a_list_that_makes_calls_something_else_waits(
    tmp_path: Path, before: str, after: str, call: str, unlisted: str
) -> None:
    settings = SETTINGS.replace("block", unlisted)
    desk = Desk(tmp_path, f"domains:\n  {before}\n{settings}")
    was = outcome(desk, call)
    desk.write(f"domains:\n  {after}\n{settings}")
    assert outcome(desk, call) in (was, Verdict.DENY)
    assert f"{after.partition(':')[0]} lists" in loosened(desk.status())
    desk.apply()
    assert (was, outcome(desk, call)) in LOOSER


def test_a_contact_less_waits_where_strangers_are_written_to_more_freely(tmp_path: Path) -> None:
    text = mail_text("autonomous: [send_unknown], requires_approval: [send_vip], blocked: []")
    desk = Desk(tmp_path, text)
    assert outcome(desk, "mail_to ana@example.com") is Verdict.ASK
    desk.write(text.replace("vip_contacts: {ana: ana@example.com}\n", ""))
    assert outcome(desk, "mail_to ana@example.com") is Verdict.ASK
    assert "vip_contacts.ana" in loosened(desk.status())


def test_a_contact_less_counts_at_once_where_strangers_are_blocked() -> None:
    text = mail_text("autonomous: [], requires_approval: [send_vip], blocked: [send_unknown]")
    fewer = text.replace("vip_contacts: {ana: ana@example.com}\n", "")
    assert tightens_only(load_text(text), load_text(fewer))
    both = text + "family_contacts: {ana: ana@example.com}\n"
    assert not tightens_only(load_text(both), load_text(fewer + "family_contacts: {ana: ana@example.com}\n"))


def test_blocking_what_was_unlisted_counts_at_once() -> None:
    text = mail_text("autonomous: [], requires_approval: [send], blocked: []", "ask")
    assert tightens_only(
        load_text(text), load_text(text.replace("blocked: []", "blocked: [purge, send_unknown]"))
    )


TWO_RULES = f"{TEAM}  - {{domain: mail, from: [cy]}}\n".replace("needed: 1", "needed: 2")


def test_of_two_rules_for_the_same_calls_both_are_shown_as_loosened(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TWO_RULES)
    desk.decide_under(TEAM.replace("needed: 1, from: [leads]", "needed: 1, from: [ana, bob, cy]"))
    shown = loosened(desk.status())
    assert "2 of leads" in shown
    assert "1 of cy" in shown


def test_a_tool_that_is_only_a_presets_any_more_waits(tmp_path: Path) -> None:
    """Of the operator's own tools other spellings are refused, of a preset's not all."""
    preset = Path(sayso.policy.__file__).parent / "presets" / "coding.yaml"
    desk = Desk(tmp_path, preset.read_text())
    strict = desk.decide_under("extends: [coding]\n")
    with pytest.raises(MalformedRequest):
        strict.check_tool_name("taskoutput")
    assert "TaskOutput" in loosened(desk.status())
    desk.apply().check_tool_name("taskoutput")
