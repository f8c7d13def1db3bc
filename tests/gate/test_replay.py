"""Replay: the recorded past under a changed policy, with a wished grant, and with holes in it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from sayso.core.deciding.facts import spell_facts
from sayso.core.durations import DAY, HOUR
from sayso.core.model import Operation, Risk, Verdict
from sayso.core.policy import Policy
from sayso.core.session import Session, View
from sayso.gate.audit.prune import erase_value, prune_audit
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request, request_in_session
from sayso.gate.gate import Gate
from sayso.gate.hindsight.decide_again import OTHER_CATEGORIES, OTHER_FORM, PastDecider, WishedGrant
from sayso.gate.hindsight.recorded import PRUNED, count_entries_since
from sayso.gate.hindsight.replay import (
    CALL_GONE,
    NO_COMMAND,
    READS_OTHERWISE,
    ReplayReport,
    replay_decisions,
)
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate, open_to_look
from sayso.gate.policy.acting_policy import PolicySource
from sayso.gate.sessions.messages import record_message, record_task_start
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_file, load_text
from sayso.store.contract import EntryRow, GrantRow
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite.store import SqliteStore
from tests.support.answers import answer_question
from tests.support.gates import KEY, Clock

FILE = """
sayso: 1
domains:
  files: {autonomous: [read], requires_approval: [edit, delete], blocked: [wipe]}
  tests: {autonomous: [], requires_approval: [run], blocked: []}
operations:
  files.delete: {risk: high}
tools:
  - {tool: Bash, operation: tests.run, command: args.command, ignore: [description]}
"""
PYTEST_FIRST = "  - {tool: Bash, operation: files.read, when: \"args.command == 'pytest'\"}\n"


def policy(*changes: tuple[str, str]) -> Policy:
    text = FILE
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return load_text(text, name="test")


@pytest.fixture
def gate(clock: Clock) -> Gate:
    return open_gate(policy(), MemoryStore(clock=clock), key=KEY)


@pytest.fixture
def session(gate: Gate) -> str:
    return open_session(gate, agent="claude", owner="me", workspace="/w/place")


def ask(gate: Gate, session: str, name: str, **args: object) -> str | None:
    request = make_request(make_call("tool", args), [Operation(name)], session=session)
    done = authorize(gate, request)
    return None if done.question is None else done.question.id


def run(gate: Gate, session: str, line: str, **args: object) -> str | None:
    request = request_in_session(gate, session, "Bash", {"command": line, **args}, None, 0.0)
    return start_call(gate, request, holder="test").question


def told(report: ReplayReport) -> list[tuple[object, ...]]:
    return [
        (word, *one.operations, one.before, one.after, one.rule_after, one.times)
        for word, changes in (("loosened", report.loosened), ("tightened", report.tightened))
        for one in changes
    ]


def test_loosened_and_tightened_calls_are_told_apart_with_counts_and_examples(
    gate: Gate, session: str
) -> None:
    for number in range(5):
        ask(gate, session, "files.edit", number=number)
        ask(gate, session, "files.read", number=number)
    ask(gate, session, "files.wipe")
    free = (
        "requires_approval: [edit, delete], blocked: [wipe]",
        "requires_approval: [delete, wipe], blocked: [edit]",
    )
    report = replay_decisions(gate, policy(free, ("autonomous: [read]", "autonomous: [read]")))
    assert told(report) == [
        ("loosened", "files.wipe", "deny", "ask", "ask", 1),
        ("tightened", "files.edit", "ask", "deny", "blocked", 5),
    ]
    assert (report.decisions, report.before, report.after) == (
        11,
        {"allow": 5, "ask": 5, "deny": 1},
        {"allow": 5, "ask": 1, "deny": 5},
    )
    (change,) = report.tightened
    assert [one.title for one in change.examples] == ["tool number 0", "tool number 1", "tool number 2"]
    assert {(one.agent, one.session) for one in change.examples} == {("agent", session)}


def test_a_permission_that_the_draft_makes_autonomous_counts_as_just_reviewed(
    gate: Gate, session: str, clock: Clock
) -> None:
    clock.now += 29 * DAY
    ask(gate, session, "files.edit")
    draft = policy(
        (
            "autonomous: [read], requires_approval: [edit, delete]",
            "autonomous: [read, edit], requires_approval: [delete]",
        )
    )
    assert told(replay_decisions(gate, draft)) == [
        ("loosened", "files.edit", "ask", "allow", "autonomous", 1)
    ]


def test_a_shorter_interval_is_seen_in_the_past(gate: Gate, session: str, clock: Clock) -> None:
    for day in (1, 8, 12):
        clock.now = 1_800_000_000.0 + day * DAY
        ask(gate, session, "files.read", day=day)
    draft = policy(("operations:", "consent_decay: {review_interval_days: 10}\noperations:"))
    assert told(replay_decisions(gate, draft)) == [("tightened", "files.read", "allow", "ask", "ask", 1)]


def test_an_approval_that_served_serves_again_unless_the_draft_is_stricter(gate: Gate, session: str) -> None:
    question = ask(gate, session, "files.edit")
    answer_question(gate, str(question), "once", by="ana")
    ask(gate, session, "files.edit")
    assert told(replay_decisions(gate)) == []
    strict = policy(("operations:", "operations:\n  files.edit: {always_ask: true}"))
    assert told(replay_decisions(gate, strict)) == [
        ("tightened", "files.edit", "allow", "ask", "always_ask", 1)
    ]


def test_since_leaves_out_what_is_older(gate: Gate, session: str, clock: Clock) -> None:
    ask(gate, session, "files.read", n=1)
    clock.now += DAY
    ask(gate, session, "files.read", n=2)
    assert replay_decisions(gate, since=clock.now - HOUR).decisions == 1
    assert count_entries_since(gate, clock.now - HOUR) == 1
    assert replay_decisions(gate, since=clock.now + 1).decisions == 0


def test_a_wished_grant_covers_what_its_sort_covers(gate: Gate, session: str) -> None:
    for line in ("pytest", "pytest", "pytest -x"):
        run(gate, session, line, description="tests")
    ask(gate, session, "files.edit")
    ask(gate, session, "files.delete")
    operation = replay_decisions(gate, wish=WishedGrant("operation", "tests.run"))
    assert told(operation) == [("loosened", "tests.run", "ask", "allow", "operation_grant", 3)]
    high = replay_decisions(gate, wish=WishedGrant("operation", "files.delete", Risk.HIGH))
    assert told(high) == [], "high risk is granted for one use"
    none = replay_decisions(gate, wish=WishedGrant("category", "files.edit"))
    assert told(none) == [], "a category is granted for a task, and there was none"
    record_task_start(gate, session, "the work")
    ask(gate, session, "files.edit", n=2)
    one = replay_decisions(gate, wish=WishedGrant("category", "files.edit"))
    assert told(one) == [("loosened", "files.edit", "ask", "allow", "task_grant", 1)]


def test_a_wished_command_needs_the_command(gate: Gate, session: str) -> None:
    run(gate, session, "pytest")
    run(gate, session, "pytest -x")
    ask(gate, session, "files.read")
    report = replay_decisions(gate, wish=WishedGrant("command", "pytest"))
    assert told(report) == [("loosened", "tests.run", "ask", "allow", "allowlist", 1)]
    assert report.not_replayed == {NO_COMMAND: 1}


def test_a_call_is_read_again_where_the_draft_reads_its_tool_otherwise(gate: Gate, session: str) -> None:
    run(gate, session, "pytest")
    run(gate, session, "rm -rf /")
    ask(gate, session, "files.edit")
    other = policy(
        (
            "  - {tool: Bash, operation: tests.run,",
            PYTEST_FIRST + "  - {tool: Bash, operation: tests.run,",
        )
    )
    report = replay_decisions(gate, other)
    assert told(report) == [("loosened", "tests.run", "ask", "allow", "autonomous", 1)]
    assert report.not_replayed == {}


def test_a_call_that_reads_otherwise_today_cannot_be_told(gate: Gate, session: str, clock: Clock) -> None:
    """It was recorded as another operation than the policy in force reads in it."""
    run(gate, session, "pytest")
    now = policy(("{tool: Bash, operation: tests.run,", "{tool: Bash, operation: files.edit,"))
    report = replay_decisions(open_gate(now, gate.store, key=KEY), policy())
    assert report.not_replayed == {READS_OTHERWISE: 1}


READ_INTO = """
family_contacts: {sister: "+1 555 010 0002"}
domains:
  mail: {autonomous: [send_family], requires_approval: [], blocked: []}
  files: {autonomous: [read], requires_approval: [write], blocked: []}
  web: {autonomous: [], requires_approval: [], blocked: [fetch]}
  git: {autonomous: [], requires_approval: [], blocked: [commit]}
tools:
  - {tool: get, resolve: url, domain: web, from: args.url}
  - {tool: run, operation: files.read, command: args.command}
  - {tool: send, resolve: recipient, domain: mail, from: args.to}
  - {tool: Write, resolve: path, operation: files.write, from: args.file_path}
"""


@pytest.mark.parametrize(
    ("tool", "args", "before", "after", "told_of"),
    [
        ("send", {"to": "x@example.org"}, "[send_family]", "[send_family, send_unknown]", "deny"),
        ("Write", {"file_path": "notes.txt"}, "[read]", "[read, write_workspace]", "ask"),
        ("get", {"url": "file:notes.txt"}, "[fetch]", "[]", "deny"),
        ("run", {"command": "git commit -m done"}, "[commit]", "[]", "deny"),
    ],
)
def test_a_call_is_read_again_where_the_draft_lists_what_resolvers_choose_from(
    clock: Clock, tmp_path: Path, tool: str, args: dict[str, str], before: str, after: str, told_of: str
) -> None:
    (tmp_path / "work").mkdir()
    gate = open_gate(load_text(READ_INTO), MemoryStore(clock=clock), key=KEY)
    session = open_session(gate, agent="claude", owner="me", workspace=str(tmp_path / "work"))
    start_call(gate, request_in_session(gate, session, tool, args, None, 0.0), holder="test")
    report = replay_decisions(gate, load_text(READ_INTO.replace(before, after, 1)))
    assert [(one.before, one.after) for one in report.loosened] == [(told_of, "allow")]
    assert (report.tightened, report.not_replayed) == ((), {})


LATER_MARKED = """
domains:
  files: {autonomous: [read], requires_approval: [], blocked: []}
  git: {autonomous: [], requires_approval: [commit], blocked: []}
  web: {autonomous: [fetch], requires_approval: [], blocked: []}
tools:
  - {tool: get, resolve: url, domain: web, from: args.url}
  - {tool: run, resolve: shell, command: args.command}
"""


@pytest.mark.parametrize(
    ("tool", "args", "before", "after", "told_of"),
    [
        ("run", {"command": "git commit\n("}, "[commit], blocked: []", "[], blocked: [commit]", "ask"),
        ("get", {"url": "file:notes.txt"}, "[fetch]", "[]", "allow"),
    ],
)  # fmt: skip
def test_what_the_draft_marks_is_found_in_lines_that_nobody_can_tell_and_at_any_address(
    clock: Clock, tmp_path: Path, tool: str, args: dict[str, str], before: str, after: str, told_of: str
) -> None:
    (tmp_path / "work").mkdir()
    gate = open_gate(load_text(LATER_MARKED), MemoryStore(clock=clock), key=KEY)
    session = open_session(gate, agent="claude", owner="me", workspace=str(tmp_path / "work"))
    start_call(gate, request_in_session(gate, session, tool, args, None, 0.0), holder="test")
    unlisted = "ask" if tool == "run" else "block"
    stricter = f"settings: {{unlisted: {unlisted}}}\n{LATER_MARKED.replace(before, after, 1)}"
    report = replay_decisions(gate, load_text(stricter))
    assert [(one.before, one.after) for one in report.tightened] == [(told_of, "deny")]
    assert (report.loosened, report.not_replayed) == ((), {})


def test_an_edited_file_is_held_against_the_past_before_anybody_looked_at_it(
    clock: Clock, tmp_path: Path
) -> None:
    """Whoever edits the file in use and replays it compares it with what decided, and not with itself."""
    file = tmp_path / "policy.yaml"
    file.write_text(FILE)
    with closing(SqliteStore(tmp_path / "s.db", clock=clock)) as store:
        gate = open_gate(load_file(file), store, key=KEY, source=PolicySource(file))
        run(gate, open_session(gate, agent="claude", owner="me", workspace="/w/place"), "pytest")
    file.write_text(FILE.replace("tools:\n", f"tools:\n{PYTEST_FIRST}"))
    looking = open_to_look(tmp_path / "s.db", policy=load_file(file), key=KEY)
    with closing(looking.store):
        report = replay_decisions(looking, load_file(file))
    assert told(report) == [("loosened", "tests.run", "ask", "allow", "autonomous", 1)]


def test_a_call_that_is_gone_cannot_be_read_again(gate: Gate, session: str) -> None:
    request = request_in_session(gate, session, "Bash", {"command": "pytest"}, None, 0.0)
    give_grant(gate, session, by="ana", operation="tests.run")
    authorize(gate, request)
    other = policy(("tool: Bash, operation: tests.run", "tool: Bash, operation: files.read"))
    assert replay_decisions(gate, other).not_replayed == {CALL_GONE: 1}


def test_other_categories_than_those_consented_in_are_not_guessed(gate: Gate, session: str) -> None:
    record_task_start(gate, session, "the work")
    question = ask(gate, session, "files.edit")
    answer_question(gate, str(question), "task", by="ana")
    ask(gate, session, "files.edit", n=2)
    other = policy(("operations:", "operations:\n  files.edit: {category: changes}"))
    report = replay_decisions(gate, other)
    assert report.not_replayed == {OTHER_CATEGORIES: 1}
    assert told(report) == []


def test_what_was_pruned_is_counted_and_said(gate: Gate, session: str) -> None:
    for number in range(4):
        ask(gate, session, "files.read", n=number)
    with gate.store.read() as tx:
        rows = [row.seq for row in tx.entries("main", limit=100) if row.event == "DECIDED"]
    prune_audit(gate, rows[2])
    report = replay_decisions(gate)
    assert (report.decisions, report.not_replayed) == (2, {PRUNED: 2})


def test_an_erased_value_takes_nothing_from_the_facts(gate: Gate, session: str) -> None:
    ask(gate, session, "files.edit", secret="tomorrow")
    with gate.store.read() as tx:
        (row,) = [row for row in tx.entries("main", limit=100) if row.event == "ASKED"]
    erase_value(gate, row.seq, "call")
    report = replay_decisions(gate)
    assert (report.decisions, report.not_replayed, told(report)) == (1, {}, [])


@pytest.mark.parametrize(
    "text", ["", '{"ops":["---"],"of a later version":1}', '{"ops":["---","---"]}', "nonsense"]
)
def test_entries_of_other_versions_are_counted_and_not_guessed(
    gate: Gate, session: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sayso.gate.deciding.authorize.spell_facts", lambda *given: text)
    ask(gate, session, "files.read")
    report = replay_decisions(gate)
    assert (report.decisions, report.not_replayed) == (0, {OTHER_FORM: 1})


def test_what_a_limit_denied_is_not_the_policys(gate: Gate, session: str) -> None:
    for number in range(25):
        ask(gate, session, "files.edit", n=number)
    report = replay_decisions(gate)
    assert (report.decisions, report.by_limits, told(report)) == (20, 5, [])


def test_a_draft_that_refuses_a_look_alike_denies_it(gate: Gate, session: str) -> None:
    ask(gate, session, "files.Edit2")
    draft = policy(("requires_approval: [edit, delete]", "requires_approval: [edit, delete, edit2]"))
    assert told(replay_decisions(gate, draft)) == [
        ("tightened", "files.Edit2", "ask", "deny", "malformed", 1)
    ]


def test_nothing_is_written_by_a_replay(gate: Gate, session: str) -> None:
    ask(gate, session, "files.edit")
    record_message(gate, session, "yes")
    with gate.store.read() as tx:
        before = (list(tx.every(EntryRow)), list(tx.every(GrantRow)))
    replay_decisions(gate, policy(("autonomous: [read]", "autonomous: []")))
    with gate.store.read() as tx:
        assert (list(tx.every(EntryRow)), list(tx.every(GrantRow))) == before


def test_a_permission_that_nobody_knows_a_review_of_does_not_count_as_just_reviewed(clock: Clock) -> None:
    request = make_request(make_call("tool", {}), [Operation("files.read")])
    facts = spell_facts(request, policy(), View(Session()), clock.now)
    decider = PastDecider(policy(), policy())
    got = decider.decide(("files.read",), facts, "agent", clock.now, wished=False, load=lambda name: None)
    assert got == (Verdict.ASK, "ask")
