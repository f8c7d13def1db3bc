"""A project's own `.sayso.yaml`: it tightens in its workspace, and allows nothing, whatever it says."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sayso import ConsentDenied, ConsentRequired, Sayso
from sayso.core.audit import events
from sayso.core.model import Verdict
from sayso.gate.deciding.request import request_in_session
from sayso.gate.gate import PolicyMoved, load_open_session, select_live_rows
from sayso.gate.open import open_gate
from sayso.gate.policy.acting_policy import PolicySource
from sayso.gate.policy.projects import MOST_BYTES, MOST_KEPT, NAME, ProjectFiles
from sayso.gate.questions.explain import format_trace, trace_decision
from sayso.gate.questions.view import view_of
from sayso.policy import load_preset, load_text
from sayso.store.memory.store import MemoryStore
from tests.support.door_rows import Declared, Expected, Row
from tests.support.doors_in_process import EmbeddedCall, EmbeddedHost, EmbeddedRun, World
from tests.support.doors_over_lines import ConnectedCall, ConnectedHost, ConnectedRun, Http, Mcp, Served
from tests.support.gates import KEY, no_settings
from tests.support.people import Person, answer_open
from tests.vectors.test_doors_agree import served, world

__all__ = ["no_settings", "served", "world"]

POLICY = "domains:\n  mail: {autonomous: [read], requires_approval: [send], blocked: [forward]}\n"
ASKS = "operations: {mail.read: {always_ask: true}}"
MOVES = "domains: {mail: {autonomous: [], requires_approval: [read], blocked: []}}"
BLOCKS = "domains: {mail: {autonomous: [], requires_approval: [], blocked: [read]}}"
BALANCED = load_preset("balanced")


class Mail:
    """A program whose sessions work in folders."""

    def __init__(self, folder: Path, policy: Path | None = None) -> None:
        self.folder = folder
        source = None if policy is None else PolicySource(policy)
        gate = open_gate(load_text(POLICY, name="policy.yaml"), MemoryStore(), key=KEY, source=source)
        self.gate = Sayso(gate, [Person()])

        @self.gate.requires_consent("mail.read")
        def read() -> str:
            return "mail"

        @self.gate.requires_consent("mail.send")
        def send() -> str:
            return "sent"

        self.read, self.send = read, send
        self.session = self.gate.session(workspace=str(folder))

    def write(self, text: str) -> None:
        (self.folder / NAME).write_text(text)

    def outcome(self, workspace: Path | None = None) -> str:
        session = self.session if workspace is None else self.gate.session(workspace=str(workspace))
        with session.active():
            try:
                self.read()
            except ConsentRequired:
                return "ask"
            except ConsentDenied:
                return "deny"
        return "allow"

    def alerts(self) -> list[str]:
        with self.gate.gate.store.read() as tx:
            rows = tx.entries("main", limit=1_000)
        return [(row.body or b"").decode() for row in rows if row.event == events.PolicyAlerted.event]


@pytest.fixture
def mail(tmp_path: Path) -> Mail:
    folder = tmp_path / "project"
    folder.mkdir()
    return Mail(folder)


def test_the_file_counts_with_the_next_call_and_no_longer_than_it_is_there(mail: Mail) -> None:
    assert mail.outcome() == "allow"
    for text, outcome in (
        (ASKS, "ask"),
        (BLOCKS, "deny"),
        ("mode: balanced", "allow"),
        ("mode: paranoid", "ask"),
    ):
        mail.write(text)
        assert mail.outcome() == outcome
    (mail.folder / NAME).unlink()
    assert mail.outcome() == "allow"


def test_it_counts_for_its_own_workspace_alone(mail: Mail, tmp_path: Path) -> None:
    mail.write(BLOCKS)
    for name in ("other", "project/inner"):
        (tmp_path / name).mkdir()
        assert mail.outcome(tmp_path / name) == "allow"
    assert mail.outcome() == "deny"


def test_it_counts_beside_a_policy_file_that_is_watched(tmp_path: Path) -> None:
    policy, folder = tmp_path / "policy.yaml", tmp_path / "project"
    policy.write_text(POLICY)
    folder.mkdir()
    mail = Mail(folder, policy)
    mail.write(ASKS)
    assert mail.outcome() == "ask"
    policy.write_text(POLICY.replace("[read]", "[]").replace("[forward]", "[forward, read]"))
    assert mail.outcome() == "deny"
    (folder / NAME).unlink()
    assert mail.outcome() == "deny"


LOOSENING = {
    "a list": "domains: {mail: {autonomous: [read, send, forward], requires_approval: [], blocked: []}}",
    "a risk": "operations: {mail.send: {risk: low}, mail.forward: {risk: low}}",
    "a mode": "mode: trusting",
    "settings": "settings: {confidence_bypass: true, confidence_threshold: 0, risky_grants: standing}",
    "a preset": "extends: [trusting]",
    "a tool": "tools: [{tool: send, operation: mail.read}, {tool: forward, operation: mail.read}]",
    "a slash command": "slash_commands: {/go: {operations: [mail.send]}}",
    "decay": "consent_decay: {enabled: false}",
}


@pytest.mark.parametrize("text", LOOSENING.values(), ids=LOOSENING)
def test_nothing_in_it_allows_more(mail: Mail, text: str) -> None:
    mail.write(text)
    mail.session.hear("/go")
    with mail.session.active(), pytest.raises(ConsentRequired):
        mail.send()
    request = request_in_session(mail.gate.gate, mail.session.id, "mail.forward", {}, None, 1.0)
    assert mail.gate.authorize(request).decision.verdict is not Verdict.ALLOW


def test_its_words_are_not_shown_to_people(mail: Mail) -> None:
    mail.write(
        "operations: {mail.send: {reason: perfectly harmless}}\n"
        "tools: [{tool: send, operation: mail.send, title: 'Show the time'}]"
    )
    policy = mail.gate.gate.in_workspace(str(mail.folder)).policy
    assert "harmless" not in str(policy.table)
    assert "Show the time" not in str(policy)


def make_link(file: Path) -> None:
    target = file.parent.parent / "elsewhere.yaml"
    target.write_text("mode: balanced")
    file.symlink_to(target)


SPOILT: dict[str, Callable[[Path], object]] = {
    "broken": lambda file: file.write_text("domains: [this is no policy"),
    "unknown key": lambda file: file.write_text("mood: paranoid"),
    "empty": lambda file: file.write_text(""),
    "not text": lambda file: file.write_bytes(b"mode: \xff\xfe"),
    "too long": lambda file: file.write_text("mode: balanced" + " " * MOST_BYTES),
    "a folder": lambda file: file.mkdir(),
    "a pipe": os.mkfifo,
    "a link": make_link,
    "a link to nowhere": lambda file: file.symlink_to(file.parent / "nowhere"),
    "a loosened guard": lambda file: file.write_text(
        "domains: {self_modification: {autonomous: [modify_policy], requires_approval: [], blocked: []}}"
    ),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_file_that_is_refused_makes_every_call_ask_and_is_told_once(
    mail: Mail, spoil: Callable[[Path], object]
) -> None:
    spoil(mail.folder / NAME)
    guard = mail.folder / NAME
    for _ in range(3):
        assert mail.outcome() == "ask"
    assert len(mail.alerts()) == 1
    assert str(guard) in mail.alerts()[0]


@pytest.mark.parametrize(
    "text",
    ["mode: " + "x" * 60_000, 'tools: [{tool: t, operation: a.b, when: "((\\e[2J"}]'],
    ids=["long", "escape"],
)
def test_what_is_wrong_with_it_is_told_in_a_line_that_shows_itself(mail: Mail, text: str) -> None:
    mail.write(text)
    assert mail.outcome() == "ask"
    (alert,) = mail.alerts()
    assert len(alert) < 4_000
    assert "u001b" not in alert


def test_a_change_that_keeps_size_and_time_is_seen(mail: Mail) -> None:
    mail.write("mode: balanced")
    assert mail.outcome() == "allow"
    times = (mail.folder / NAME).stat()
    mail.write("mode: paranoid")
    os.utime(mail.folder / NAME, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert mail.outcome() == "ask"


def test_an_approval_ends_with_a_file_that_tightens(mail: Mail) -> None:
    call = mail.session.run("send", wait=0).operation_id or ""
    answer_open(mail.gate, "once")
    mail.write("operations: {mail.send: {always_ask: true}}")
    assert mail.session.retry(call, wait=0).status == "timeout"


def test_an_approval_given_under_the_file_serves(mail: Mail) -> None:
    mail.write(ASKS)
    call = mail.session.run("read", wait=0).operation_id or ""
    answer_open(mail.gate, "once")
    assert mail.session.retry(call, wait=0).status == "ok"


@pytest.mark.parametrize("text", [ASKS, MOVES])
def test_whoever_is_asked_learns_that_the_file_asks(mail: Mail, text: str) -> None:
    mail.write(text)
    gate = mail.gate.gate
    request = request_in_session(gate, mail.session.id, "mail.read", {}, None, 0.0)
    decision, _ = trace_decision(gate, request)
    assert ".sayso.yaml" not in decision.reason  # what the operator's policy asks about anyway
    with mail.session.active(), pytest.raises(ConsentRequired) as asked:
        mail.read()
    assert ".sayso.yaml" in asked.value.reason
    assert str(mail.folder / NAME) in format_trace(gate, request)


def test_a_decision_that_forgets_the_file_is_not_made(mail: Mail) -> None:
    """Whoever decides past the workspace's own policy gets an error instead of a looser decision."""
    mail.write(BLOCKS)
    assert mail.outcome() == "deny"
    gate = mail.gate.gate
    request = request_in_session(gate, mail.session.id, "read", {}, None, 0.0)
    with gate.store.read() as tx:
        found = load_open_session(gate, tx, mail.session.id, select_live_rows())
        with pytest.raises(PolicyMoved):
            view_of(gate, tx, found, request)


def test_more_workspaces_than_are_remembered_are_all_right(tmp_path: Path) -> None:
    files, policy = ProjectFiles(), load_text("mode: balanced")
    for number in range(MOST_KEPT + 3):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / NAME).write_text("mode: paranoid")
    for _ in range(2):
        for number in range(MOST_KEPT + 3):
            assert files.policy_for(policy, str(tmp_path / str(number))).mode.value == "paranoid"


DOORS = ("embedded run", "embedded call", "embedded host", "run", "call", "host", "http", "mcp")


@pytest.mark.parametrize("name", DOORS)
def test_it_counts_through_every_door(name: str, world: World, served: Served) -> None:
    made = (
        EmbeddedRun(world), EmbeddedCall(world), EmbeddedHost(world), ConnectedRun(world, served),
        ConnectedCall(world, served), ConnectedHost(world, served), Http(world, served), Mcp(world),
    )  # fmt: skip
    door = dict(zip(DOORS, made, strict=True))[name]
    declared = None if "tool" in door.needs else Declared("files.read", "low")
    row = Row(
        id="",
        source="",
        preset="balanced",
        tool="read_file",
        args={"path": "notes.txt"},
        declared=declared,
        expect=Expected(),
    )
    assert door.decide(row).verdict == "allow"
    (world.workspace / NAME).write_text(
        "domains: {files: {autonomous: [], requires_approval: [read], blocked: []}}"
    )
    assert door.decide(row).verdict == "ask"
    (world.workspace / NAME).write_text(
        "domains: {files: {autonomous: [], requires_approval: [], blocked: [read]}}"
    )
    assert door.decide(row).verdict == "deny"
