"""Suggestions never widen past what was approved, and agents' text in them is data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sayso.core.durations import DAY, HOUR
from sayso.core.model import Operation, Verdict
from sayso.core.proposals.diffs import apply_diff, parse_diff
from sayso.core.proposals.proposal import ProposalRefused
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request, request_in_session
from sayso.gate.gate import Gate, with_policy
from sayso.gate.hindsight.own_file import OwnPolicyFile, find_own_file
from sayso.gate.hindsight.propose import choose_suggestion, propose_suggestion
from sayso.gate.hindsight.suggest import Suggestion, suggest_changes
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.proposals.roots import POLICY_ROOT, ProposalRoots
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from sayso.reading.paths import own_places
from sayso.store.memory.store import MemoryStore
from tests.support.answers import answer_question
from tests.support.gates import KEY, Clock

FILE = """\
sayso: 1   # my own
domains:
  tests: {autonomous: [list], requires_approval: [run, drop], blocked: []}   # a comment that stays
  net: {autonomous: [], requires_approval: [fetch], blocked: []}
  self_modification: {autonomous: [], requires_approval: [propose_behavioral_change], blocked: []}
operations:
  tests.drop: {risk: high}
tools:
  - {tool: Bash, operation: tests.run, command: args.command, ignore: [description]}
  - {tool: drop, operation: tests.drop}
  - {tool: fetch, operation: net.fetch}
  - {tool: change, operation: self_modification.propose_behavioral_change}
"""
POLICY = load_text(FILE, name="policy.yaml")
OWN = OwnPolicyFile("policy.yaml", FILE)
TIMES = 6


@pytest.fixture
def gate(clock: Clock) -> Gate:
    return open_gate(POLICY, MemoryStore(clock=clock), key=KEY)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.fixture
def session(gate: Gate, folder: Path) -> str:
    return open_session(gate, agent="claude", owner="me", workspace=str(folder))


def call(gate: Gate, session: str, answer: str, tool: str = "Bash", **args: Any) -> None:
    request = request_in_session(gate, session, tool, args, None, 0.0)
    attempt = start_call(gate, request, holder="test")
    if attempt.question is not None:
        answer_question(gate, attempt.question, answer, by="ana")
        retry_call(gate, attempt.call, holder="test")


def suggest(gate: Gate, **how: Any) -> list[Suggestion]:
    return [one for one in suggest_changes(gate, OWN, days=30, **how) if one.kind != "never_used"]


def decide_under(gate: Gate, one: Suggestion, session: str, tool: str = "Bash", **args: Any) -> Verdict:
    """What the policy with this suggestion applied decides of a call."""
    after = apply_diff(parse_diff(one.diff or ""), FILE)
    policy = load_text(after or "", name="after")
    fresh = open_gate(policy, MemoryStore(clock=Clock()), key=KEY)
    with gate.store.read() as tx:
        row = tx.session(session)
    assert row is not None
    where = open_session(fresh, agent="claude", owner="me", workspace=row.workspace)
    return authorize(fresh, request_in_session(fresh, where, tool, args, None, 0.0)).decision.verdict


def test_the_same_call_always_approved_is_suggested_with_its_evidence(
    gate: Gate, session: str, folder: Path
) -> None:
    for number in range(TIMES):
        call(gate, session, "once", command="pytest -q", description=f"run {number}")
    (one,) = suggest(gate)
    assert one.words == f"approved 6 of 6 times in 30 days: tests.run (pytest -q) in {folder}"
    assert (one.kind, one.operations, one.risk) == ("always_approved", ("tests.run",), "moderate")
    assert (one.evidence.approved, one.evidence.denied, one.evidence.people) == (TIMES, 0, ("ana",))
    assert one.evidence.agents == ("claude",)
    assert one.effect is not None
    assert (one.effect.loosened, one.effect.tightened) == (TIMES, 0)
    assert "# a comment that stays" in (one.diff or "")
    assert decide_under(gate, one, session, command="pytest -q") is Verdict.ALLOW
    assert decide_under(gate, one, session, command="pytest -q", description="more") is Verdict.ALLOW


@pytest.mark.parametrize(
    "args",
    [
        {"command": "pytest"},
        {"command": "pytest -q; rm -rf ~"},
        {"command": "pytest -q", "env": "PYTHONPATH=/tmp/evil"},
        {"command": ["pytest -q"]},
        {"command": "Pytest -q"},
        {},
    ],
)
def test_other_arguments_are_not_covered(gate: Gate, session: str, args: dict[str, Any]) -> None:
    for _ in range(TIMES):
        call(gate, session, "once", command="pytest -q")
    (one,) = suggest(gate)
    assert decide_under(gate, one, session, **args) is not Verdict.ALLOW


def test_another_folder_is_not_covered(gate: Gate, session: str, tmp_path: Path) -> None:
    for _ in range(TIMES):
        call(gate, session, "once", command="pytest -q")
    (one,) = suggest(gate)
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    other = open_session(gate, agent="claude", owner="me", workspace=str(elsewhere))
    assert decide_under(gate, one, other, command="pytest -q") is Verdict.ASK


def test_approvals_in_several_folders_or_of_several_calls_do_not_add_up(
    gate: Gate, session: str, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    other = open_session(gate, agent="claude", owner="me", workspace=str(elsewhere))
    for number in range(4):
        call(gate, session, "once", command="pytest -q")
        call(gate, other, "once", command="pytest -q")
        call(gate, session, "once", command=f"pytest {number}")
    assert suggest(gate) == []


def test_one_denial_ends_it(gate: Gate, session: str, clock: Clock) -> None:
    for _ in range(TIMES):
        call(gate, session, "once", command="pytest -q")
    call(gate, session, "deny", command="pytest -q")
    assert suggest(gate) == []


def test_high_risk_only_if_the_operator_asks(gate: Gate, session: str) -> None:
    for _ in range(TIMES):
        call(gate, session, "once", "drop", table="a")
    assert suggest(gate) == []
    (one,) = suggest(gate, high=True)
    assert one.diff is None, "no autonomous permission covers high risk"


def test_self_modification_is_never_suggested(gate: Gate, session: str) -> None:
    for number in range(TIMES):
        call(gate, session, "once", "change", text="be nicer")
        call(gate, session, "deny", "change", text=f"be free {number}")
    assert suggest(gate, high=True) == []


@pytest.mark.parametrize("tool", ["*", "Ba?h", "[a-z]*", "B*"])
def test_a_tool_that_is_called_like_a_pattern_is_not_proposed(gate: Gate, session: str, tool: str) -> None:
    for _ in range(TIMES):
        call(gate, session, "once", tool, text="hello")
    for one in suggest(gate, high=True):
        assert one.diff is None


@pytest.mark.parametrize(
    "text",
    [
        '" || true || "',
        "' || true || '",
        'pytest" ]\ntools: []\n#',
        "\\",
        "pytest\\",
        "a\x1b[2Jb\u202ec",
        "line\nbreak",
        "{{x}} ${y} 😀",
    ],
)
def test_text_of_the_agent_cannot_leave_its_condition(gate: Gate, session: str, text: str) -> None:
    for _ in range(TIMES):
        call(gate, session, "once", "fetch", what=text)
    found = suggest(gate)
    assert len(found) == 1
    (one,) = found
    assert "\x1b" not in one.words
    assert "\u202e" not in one.words
    assert "\n" not in one.words
    if one.diff is not None:
        assert decide_under(gate, one, session, "fetch", what=text) is Verdict.ALLOW
        assert decide_under(gate, one, session, "fetch", what="anything else") is Verdict.ASK
        assert decide_under(gate, one, session, "fetch", what="") is Verdict.ASK


def test_a_declared_function_gets_evidence_and_no_proposal(gate: Gate, session: str) -> None:
    """No entry of a policy file takes back what code declares."""
    for number in range(TIMES):
        request = make_request(
            make_call("tool", {"n": 1}, folder="/work"), [Operation("tests.run")], session=session
        )
        done = authorize(gate, request)
        assert done.question is not None, number
        answer_question(gate, done.question.id, "once", by="ana")
        authorize(gate, request)
    (one,) = suggest(gate)
    assert one.diff is None
    assert one.why_not


def test_what_people_deny_is_suggested_to_be_blocked(gate: Gate, session: str) -> None:
    for number in range(3):
        call(gate, session, "deny", command=f"pytest {number}")
    (one,) = suggest(gate)
    assert one.words == "denied 3 of 3 times in 30 days: tests.run"
    assert decide_under(gate, one, session, command="pytest") is Verdict.DENY


def test_an_agent_that_asks_a_lot_crowds_out_no_refusal(gate: Gate, session: str) -> None:
    for number in range(11):
        for _ in range(5):
            call(gate, session, "once", command=f"pytest t{number}.py")
    for number in range(3):
        call(gate, session, "deny", tool="drop", what=str(number))
    kinds = [one.kind for one in suggest(gate)]
    assert "always_approved" in kinds
    assert "often_refused" in kinds


def test_questions_that_nobody_answers_dilute_no_refusal(gate: Gate, session: str, clock: Clock) -> None:
    for number in range(3):
        call(gate, session, "deny", command=f"pytest {number}")
    for number in range(8):
        start_call(
            gate,
            request_in_session(gate, session, "Bash", {"command": f"pytest -q {number}"}, None, 0.0),
            holder="test",
        )
    clock.now += 3 * HOUR
    (one,) = suggest(gate)
    assert (one.kind, one.words) == ("often_refused", "denied 3 of 3 times in 30 days: tests.run")


def test_what_nothing_uses_is_suggested_to_ask_once_the_time_is_in_the_trail(
    gate: Gate, session: str, clock: Clock
) -> None:
    assert [one.kind for one in suggest_changes(gate, OWN, days=30)] == []
    clock.now += 31 * DAY
    (one,) = suggest_changes(gate, OWN, days=30)
    assert (one.kind, one.words) == ("never_used", "not used in 30 days: tests.list")
    after = load_text(apply_diff(parse_diff(one.diff or ""), FILE) or "", name="after")
    assert "list" in after.domains["tests"].requires_approval


def test_what_would_let_a_confident_agent_run_it_is_no_suggestion_to_ask(clock: Clock) -> None:
    text = "sayso: 1\nextends: [graph]\n"
    gate = open_gate(load_text(text), MemoryStore(clock=clock), key=KEY)
    clock.now += 31 * DAY
    found = suggest_changes(gate, OwnPolicyFile("policy.yaml", text), days=30)
    assert {(one.kind, one.diff) for one in found} == {("never_used", None)}
    assert all("confident agent" in one.why_not for one in found)


def test_a_suggestion_becomes_a_proposal_and_changes_nothing_by_itself(
    gate: Gate, session: str, tmp_path: Path
) -> None:
    for _ in range(TIMES):
        call(gate, session, "once", command="pytest -q")
    own = tmp_path / "config"
    own.mkdir()
    (own / "policy.yaml").write_text(FILE)
    roots = ProposalRoots({POLICY_ROOT: own})
    found = suggest_changes(gate, find_own_file(gate, roots), days=30)
    made = propose_suggestion(gate, roots, choose_suggestion(found, "1"), by="ana")
    assert (made.state, made.root, made.path) == ("proposed", POLICY_ROOT, "policy.yaml")
    assert made.reason.startswith("approved 6 of 6 times")
    assert (own / "policy.yaml").read_text() == FILE
    with pytest.raises(ProposalRefused):
        choose_suggestion(found, "99")
    (own / "policy.yaml").write_text(FILE.replace("[list]", "[]"))
    assert find_own_file(gate, roots) is None, "another policy is in force than the file says"


def test_what_runs_unasked_by_now_is_not_suggested_again(gate: Gate, session: str, clock: Clock) -> None:
    """Also if the operator took the suggestion; and what changed since is no work of another suggestion."""
    for _ in range(TIMES):
        call(gate, session, "once", command="pytest -q")
    for number in range(3):
        call(gate, session, "deny", "fetch", what=str(number))
    taken, refused = suggest(gate)
    after = apply_diff(parse_diff(taken.diff or ""), FILE) or ""
    listed = FILE.replace("[list], requires_approval: [run, drop]", "[list, run], requires_approval: [drop]")
    for text in (after, listed):
        changed = with_policy(gate, load_text(text, name="policy.yaml"))
        (left,) = [
            one
            for one in suggest_changes(changed, OwnPolicyFile("policy.yaml", text), days=30)
            if one.kind != "never_used"
        ]
        assert (left.id, left.why_not) == (refused.id, "")
        assert left.effect is not None
        assert (left.effect.loosened, left.effect.tightened) == (0, 3)


def test_a_call_whose_recipient_is_judged_is_not_proposed(clock: Clock, folder: Path) -> None:
    text = """\
sayso: 1
vip_contacts: {ana: ana@example.com}
domains:
  mail: {autonomous: [], requires_approval: [send_vip], blocked: [send_unknown]}
tools:
  - {tool: mail, resolve: recipient, domain: mail, from: args.to}
"""
    gate = open_gate(load_text(text), MemoryStore(clock=clock), key=KEY)
    session = open_session(gate, agent="claude", owner="me", workspace=str(folder))
    for _ in range(TIMES):
        call(gate, session, "once", "mail", to="ana@example.com")
    found = suggest_changes(gate, OwnPolicyFile("policy.yaml", text), days=30)
    (one,) = [each for each in found if each.kind == "always_approved"]
    assert (one.diff, one.why_not) == (None, "whom it goes to is judged by your contacts, which can change")


def test_a_search_through_a_folder_is_not_proposed(clock: Clock, folder: Path) -> None:
    """As an operation of its own it would go on when a secret comes to lie there."""
    text = """\
sayso: 1
domains:
  files: {autonomous: [], requires_approval: [search], blocked: []}
tools:
  - {tool: Grep, resolve: path, operation: files.search, from: args.path}
"""
    gate = open_gate(load_text(text), MemoryStore(clock=clock), key=KEY)
    session = open_session(gate, agent="claude", owner="me", workspace=str(folder))
    for _ in range(TIMES):
        call(gate, session, "once", "Grep", pattern="KEY")
    found = suggest_changes(gate, OwnPolicyFile("policy.yaml", text), days=30)
    (one,) = [each for each in found if each.kind == "always_approved"]
    assert one.diff is None
    assert one.why_not == "what the call runs or works on can change without the call changing"


def test_a_call_whose_content_is_watched_is_not_proposed(clock: Clock, folder: Path) -> None:
    """As an operation of another domain it would hide from this one what went out."""
    lists = (
        "autonomous: [], requires_approval: [slack, push], blocked: [], fan_out: single, content_from: text"
    )
    text = f"domains:\n  notes: {{{lists}}}\ntools:\n  - {{tool: slack, operation: notes.slack}}\n"
    gate = open_gate(load_text(text), MemoryStore(clock=clock), key=KEY)
    session = open_session(gate, agent="claude", owner="me", workspace=str(folder))
    for _ in range(TIMES):
        call(gate, session, "once", "slack", text="lunch?")
    (one,) = suggest_changes(gate, OwnPolicyFile("policy.yaml", text), days=30)
    assert (one.kind, one.diff) == ("always_approved", None)
    assert one.why_not.startswith("its domain watches")


SHELL = """\
sayso: 1
extends: [chat]
tools:
  - {tool: Bash, resolve: shell, command: args.command, ignore: [description]}
"""


@pytest.mark.parametrize(
    ("command", "leads_to", "verdict"),
    [
        ("touch notes.txt", "policy.yaml", Verdict.DENY),
        ("touch notes.txt", ".env", Verdict.DENY),
        ("cat notes.txt", ".env", Verdict.ASK),
        ("cp notes.txt copy.txt", ".env", Verdict.ASK),
        ("touch notes.txt", "/etc/hosts", Verdict.ASK),
    ],
)
def test_a_call_that_was_suggested_is_read_every_time(
    clock: Clock, folder: Path, command: str, leads_to: str, verdict: Verdict
) -> None:
    gate = open_gate(load_text(SHELL), MemoryStore(clock=clock), key=KEY)
    session = open_session(gate, agent="claude", owner="me", workspace=str(folder))
    (folder / "notes.txt").write_text("a")
    (folder / ".env").write_text("KEY=1")
    for _ in range(TIMES):
        call(gate, session, "once", command=command)
    found = suggest_changes(gate, OwnPolicyFile("policy.yaml", SHELL), days=30)
    (one,) = [each for each in found if each.kind == "always_approved"]
    after = load_text(apply_diff(parse_diff(one.diff or ""), SHELL) or "")
    fresh = open_gate(after, MemoryStore(clock=clock), key=KEY)
    where = open_session(fresh, agent="claude", owner="me", workspace=str(folder))
    assert _decide(fresh, where, command) is Verdict.ALLOW
    own_places.guard_policy(folder.parent / "policy.yaml")
    place = folder.parent / leads_to if leads_to == "policy.yaml" else folder / leads_to
    (folder / "notes.txt").unlink()
    (folder / "notes.txt").symlink_to(place)
    assert _decide(fresh, where, command) is verdict


def _decide(gate: Gate, session: str, command: str) -> Verdict:
    request = request_in_session(gate, session, "Bash", {"command": command}, None, 0.0)
    return authorize(gate, request).decision.verdict
