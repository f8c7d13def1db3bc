"""An approval ends when the policy is tightened, and does not come back when it is loosened again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sayso import Sayso
from sayso.core.policy import Policy
from sayso.doors.python.session import Session
from sayso.gate.gate import Gate, current_gate
from sayso.gate.open import open_gate
from sayso.gate.policy.acting_policy import PolicySource
from sayso.gate.policy_acts.apply import apply_policy, load_policy_status
from sayso.policy import load_text
from sayso.policy.compare.tightenings import find_tightenings
from sayso.store.memory.store import MemoryStore
from tests.attack.test_parked_calls import ALWAYS_ASK, BLOCKED, POLICY, RISKIER, TRUSTED, UNLISTED
from tests.support.gates import KEY, Clock, clock, no_settings
from tests.support.people import Person, answer_open

__all__ = ["clock", "no_settings"]

PARANOID = f"{POLICY}mode: paranoid\n"
SHORTER = f"{POLICY}settings: {{approval_lasts: 14m}}\n"
READ_OTHERWISE = f"{POLICY}tools: [{{tool: send, operation: mail.send, risk: high}}]\n"
SHARES_FREELY = POLICY.replace("notes.share: {risk: high}", "notes.share: {risk: low}")
LOOSER = POLICY.replace("mail.send: {risk: moderate}", "mail.send: {risk: low}")
STRICTER = {
    "always_ask": ALWAYS_ASK,
    "riskier": RISKIER,
    "unlisted": UNLISTED,
    "blocked": BLOCKED,
    "trusted channel": TRUSTED,
    "paranoid": PARANOID,
    "shorter": SHORTER,
    "read otherwise": READ_OTHERWISE,
}


class Program:
    """One gated function under a policy file."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.clock, self.file, self.store = clock, folder / "policy.yaml", MemoryStore(clock=clock)
        self.file.write_text(POLICY)
        self.sent: list[str] = []
        self.fails = False
        self.open()

    def open(self) -> None:
        policy = load_text(self.file.read_text(), name="policy.yaml")
        opened = open_gate(policy, self.store, key=KEY, source=PolicySource(self.file))
        self.gate = Sayso(opened, [Person()])

        @self.gate.requires_consent("notes.share", risk="high")
        def share() -> str:
            return "shared"

        @self.gate.capability(restartable=True)
        @self.gate.requires_consent("mail.send", risk="moderate")
        def send(inner: bool = False) -> str:
            self.sent.append("mail")
            if self.fails:
                raise RuntimeError("no network")
            return share() if inner else "sent"

    def set_policy(self, text: str) -> None:
        """Write the file, and let the operator put it in force where it does not count at once."""
        self.clock.now += 1
        self.file.write_text(text)
        seen = load_policy_status(self.policy_gate, self.file)
        if seen.state != "in_force":
            apply_policy(self.policy_gate, self.file, by="ana", content=seen.content)
        assert load_policy_status(self.policy_gate, self.file).state == "in_force"
        self.clock.now += 1

    @property
    def policy_gate(self) -> Gate:
        return current_gate(self.gate.gate)


@pytest.fixture
def program(tmp_path: Path, clock: Clock) -> Program:
    return Program(tmp_path, clock)


def approve(program: Program, session: Session, **args: bool) -> str:
    call = session.run("send", args, wait=0).operation_id or ""
    answer_open(program.gate, "once")
    return call


@pytest.mark.parametrize("stricter", STRICTER.values(), ids=STRICTER)
def test_no_approval_comes_back_when_a_tightened_policy_is_loosened(program: Program, stricter: str) -> None:
    session = program.gate.session()
    call = approve(program, session)
    program.set_policy(stricter)
    program.set_policy(POLICY)
    assert session.retry(call, wait=0).status == "timeout"
    assert program.sent == []


def test_no_approval_comes_back_after_a_restart(program: Program) -> None:
    session = program.gate.session(key="mine")
    call = approve(program, session)
    program.set_policy(ALWAYS_ASK)
    program.set_policy(POLICY)
    program.open()
    assert program.gate.session(key="mine").retry(call, wait=0).status == "timeout"
    assert program.sent == []


def test_no_approval_comes_back_in_a_program_without_a_file(program: Program) -> None:
    other = Sayso(open_gate(load_text(POLICY), program.store, key=KEY), [Person()])

    @other.requires_consent("mail.send", risk="moderate")
    def send() -> str:
        program.sent.append("mail")
        return "sent"

    session = other.session()
    call = session.run("send", wait=0).operation_id or ""
    answer_open(other, "once")
    program.set_policy(ALWAYS_ASK)
    program.set_policy(POLICY)
    assert session.retry(call, wait=0).status == "timeout"
    assert program.sent == []


def test_a_parked_run_does_not_go_on_after_a_policy_was_tightened_and_loosened(program: Program) -> None:
    session = program.gate.session()
    call = approve(program, session, inner=True)
    assert session.retry(call, wait=0).status == "timeout"
    assert program.sent == ["mail"]
    program.set_policy(ALWAYS_ASK)
    program.set_policy(POLICY)
    answer_open(program.gate, "once")
    assert session.retry(call, wait=0).status == "denied"
    assert program.sent == ["mail"]


TOUCHES = POLICY.replace("requires_approval: [share]", "requires_approval: [share, touch]")
TOUCH_ASKS = f"{TOUCHES}  notes.touch: {{always_ask: true}}\n"


@pytest.mark.parametrize("stricter", [TOUCH_ASKS, TOUCHES], ids=["tightened", "left alone"])
def test_what_a_parked_run_carries_is_asked_about_after_it_was_tightened_and_loosened(
    program: Program, stricter: str
) -> None:
    program.set_policy(TOUCHES)
    gate = program.gate

    @gate.requires_consent("notes.touch", risk="moderate")
    def touch() -> str:
        return "touched"

    @gate.requires_consent("notes.share", risk="high")
    def share_first() -> str:
        return "shared"

    @gate.capability(restartable=True)
    @gate.requires_consent("mail.send", risk="moderate")
    def send_and_touch() -> str:
        share_first()
        return touch()

    session = gate.session()
    call = session.run("send_and_touch", wait=0).operation_id or ""
    answer_open(gate, "once")
    assert session.retry(call, wait=0).status == "timeout"
    program.set_policy(stricter)
    program.set_policy(TOUCHES)
    answer_open(gate, "once")
    expected = "ok" if stricter == TOUCHES else "timeout"
    assert session.retry(call, wait=0).status == expected


def test_a_run_that_was_approved_after_the_tightening_goes_on(program: Program) -> None:
    session = program.gate.session()
    call = session.run("send", {"inner": True}, wait=0).operation_id or ""
    program.set_policy(SHORTER)
    answer_open(program.gate, "once")
    assert session.retry(call, wait=0).status == "timeout"
    program.clock.now += 1
    answer_open(program.gate, "once")
    assert session.retry(call, wait=0).status == "ok"


def test_a_failed_call_of_before_the_tightening_gets_no_free_retry(program: Program) -> None:
    session, program.fails = program.gate.session(), True
    held = approve(program, session)
    assert session.retry(held, wait=0).status == "error"
    program.set_policy(ALWAYS_ASK)
    program.set_policy(POLICY)
    assert session.run("send", wait=0).status == "timeout"
    assert program.sent == ["mail"]


@pytest.mark.parametrize("text", [POLICY, LOOSER, SHARES_FREELY], ids=["same", "looser", "elsewhere"])
def test_an_approval_outlives_a_policy_that_only_loosens(program: Program, text: str) -> None:
    session = program.gate.session()
    call = approve(program, session)
    program.set_policy(text)
    assert session.retry(call, wait=0).status == "ok"


def test_only_what_was_tightened_is_asked_about_again(program: Program) -> None:
    session = program.gate.session()
    call = approve(program, session)
    program.set_policy(
        POLICY.replace("notes.share: {risk: high}", "notes.share: {risk: high, always_ask: true}")
    )
    program.set_policy(POLICY)
    assert set(program.policy_gate.policy.tightened) == {"notes.share"}
    assert session.retry(call, wait=0).status == "ok"


def test_a_tightening_is_forgotten_after_a_week(program: Program) -> None:
    program.set_policy(ALWAYS_ASK)
    program.set_policy(POLICY)
    assert set(program.policy_gate.policy.tightened) == {"mail.send"}
    program.clock.now += 7 * 86_400 + 100
    program.set_policy(LOOSER)
    assert not program.policy_gate.policy.tightened


def with_risk(risk: str, *, preset: bool) -> Policy:
    policy = load_text(POLICY.replace("mail.send: {risk: moderate}", f"mail.send: {{risk: {risk}}}"))
    entry = msgspec.structs.replace(policy.table["mail.send"], preset=preset)
    return msgspec.structs.replace(policy, table={**policy.table, "mail.send": entry})


def test_a_risk_that_declarations_raise_again_is_a_tightening() -> None:
    final, raised = with_risk("low", preset=False), with_risk("low", preset=True)
    raised = msgspec.structs.replace(raised, digest="another")
    assert find_tightenings(final, raised) == {"mail.send"}
    assert find_tightenings(raised, final) == set()


SLASH = "slash_commands: {/send: {operations: [mail.send]}}\n"
LIMIT = "workflows: {digest: {operations: [mail.send]}}\n"


@pytest.mark.parametrize(
    ("before", "after", "stricter"),
    [
        (POLICY, POLICY.replace("{risk: moderate}", "{risk: moderate, weight: high}"), "mail.send"),
        (POLICY + SLASH, POLICY, "mail.send"),
        (POLICY + LIMIT, POLICY + LIMIT.replace("[mail.send]", "[]"), "mail.send"),
        (POLICY, POLICY + LIMIT, ""),
    ],
    ids=["weight", "slash command", "workflow", "first limit of a workflow"],
)
def test_weights_slash_commands_and_workflows_tighten_as_well(before: str, after: str, stricter: str) -> None:
    assert stricter in find_tightenings(load_text(before), load_text(after))
