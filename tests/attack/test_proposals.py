"""Proposals: nothing takes effect unapproved, early, twice, half, elsewhere, or over a later change."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayso.core.audit.entry import read_entry
from sayso.core.proposals.diffs import make_diff
from sayso.core.proposals.proposal import Proposal, ProposalRefused
from sayso.core.words import visible
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.proposals.carry_out import (
    apply_proposal,
    carry_on,
    undo_proposal,
    withdraw_proposal,
)
from sayso.gate.proposals.file_proposal import (
    ProposalBody,
    approve_proposal,
    change_state,
    file_proposal,
    list_proposals,
    reject_proposal,
)
from sayso.gate.proposals.files import replace_text
from sayso.gate.proposals.roots import ProposalRoots
from sayso.gate.proposals.running_time import MachineTime
from sayso.gate.proposals.settle import recover_proposals
from sayso.gate.sealed_values import TamperedValue
from sayso.policy import load_preset
from tests.support.gates import KEY, Clock, embedded

OLD, NEW = "be kind\nbe brief\n", "be kind\nbe thorough\n"
DIFF = make_diff("lessons.md", OLD, NEW)


class Desk:
    """An operator with a folder that proposals may change, a clock, and a machine that runs."""

    def __init__(self, gate: Gate, root: Path, clock: Clock) -> None:
        self.gate, self.root, self.clock = gate, root, clock
        self.roots = ProposalRoots({"memory": root, "policy": root.parent / "config"})
        self.lock = root.parent / "lock"
        self.ran, self.boot = 1_000.0, "boot-1"

    def machine(self) -> MachineTime:
        return MachineTime(self.boot, self.ran)

    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds
        self.ran += seconds

    def text(self) -> str:
        return (self.root / "lessons.md").read_text()

    def file(
        self, diff: str = DIFF, undo: str = "reverse", reason: str = "clarity", **more: object
    ) -> Proposal:
        body = ProposalBody(str(more.get("root", "memory")), diff, undo, reason)
        who = {"by": "ana", "proposer": more.get("proposer", "operator")}
        return file_proposal(self.gate, self.roots, body, machine=self.machine, **who)  # type: ignore[arg-type]

    def apply(self, one: Proposal) -> Proposal:
        return apply_proposal(self.gate, self.roots, one.id, by="ana", lock=self.lock, machine=self.machine)

    def undo(self, one: Proposal) -> Proposal:
        return undo_proposal(self.gate, self.roots, one.id, by="ana", lock=self.lock, machine=self.machine)

    def withdraw(self, one: Proposal) -> Proposal:
        return withdraw_proposal(
            self.gate, self.roots, one.id, by="ana", lock=self.lock, machine=self.machine
        )

    def reject(self, one: Proposal) -> Proposal:
        return reject_proposal(self.gate, one.id, by="ana")

    def recover(self) -> list[Proposal]:
        return recover_proposals(self.gate, self.roots, lock=self.lock, machine=self.machine)

    def carry_on(self) -> list[Proposal]:
        return carry_on(self.gate, self.roots, lock=self.lock, machine=self.machine)

    def approved(self, **more: object) -> Proposal:
        return approve_proposal(self.gate, self.file(**more).id, by="ana")  # type: ignore[arg-type]

    def cooled(self) -> Proposal:
        one = self.approved()
        self.pass_time(7_200)
        return one

    def state(self, one: Proposal) -> str:
        return next(found.state for found in list_proposals(self.gate) if found.id == one.id)


@pytest.fixture
def desk(clock: Clock, tmp_path: Path) -> Iterator[Desk]:
    root = tmp_path / "memory"
    root.mkdir()
    (root / "lessons.md").write_text(OLD)
    with embedded("sqlite", tmp_path, clock) as store:
        yield Desk(open_gate(load_preset("graph"), store, key=KEY), root, clock)


def test_a_proposal_is_approved_cools_applies_and_can_be_undone(desk: Desk) -> None:
    one = desk.cooled()
    assert desk.text() == OLD
    assert desk.apply(one).state == "applied"
    assert desk.text() == NEW
    assert desk.undo(one).state == "undone"
    assert desk.text() == OLD


ELSEWHERE = make_diff("../outside.md", None, "x\n")
STALE = make_diff("lessons.md", "another text\n", NEW)


@pytest.mark.parametrize(
    "wrong",
    [
        {"diff": STALE},
        {"diff": ELSEWHERE},
        {"diff": "prose"},
        {"reason": " "},
        {"undo": "no"},
        {"root": "none\udc80"},
    ],
)
def test_an_operators_proposal_that_is_refused_is_recorded_and_changes_nothing(
    desk: Desk, wrong: dict[str, str]
) -> None:
    with pytest.raises(ProposalRefused) as refusal:
        desk.file(**wrong)
    with desk.gate.store.read() as tx:
        last = list(tx.entries("main"))[-1]
    assert last.event == "PROPOSAL_REFUSED"
    assert last.body is not None
    details = read_entry(last.body).details
    assert (details["by"], details["why"]) == ("ana", visible(refusal.value.message))
    assert (desk.text(), list_proposals(desk.gate)) == (OLD, [])


def test_what_nobody_approved_is_not_applied(desk: Desk) -> None:
    one = desk.file()
    desk.pass_time(100_000)
    desk.carry_on()
    with pytest.raises(ProposalRefused):
        desk.apply(one)
    assert desk.text() == OLD


@pytest.mark.parametrize("ahead", [60.0, 7_199.0])
def test_nothing_applies_before_it_has_cooled(desk: Desk, ahead: float) -> None:
    one = desk.approved()
    desk.pass_time(ahead)
    with pytest.raises(ProposalRefused):
        desk.apply(one)
    assert desk.carry_on() == []
    assert desk.text() == OLD


def test_a_clock_set_forward_does_not_cool_it(desk: Desk) -> None:
    one = desk.approved()
    desk.clock.now += 100_000
    with pytest.raises(ProposalRefused):
        desk.apply(one)
    desk.ran += 600
    with pytest.raises(ProposalRefused):
        desk.apply(one)
    assert desk.text() == OLD


def test_a_clock_set_forward_in_small_steps_does_not_cool_it(desk: Desk) -> None:
    one = desk.approved()
    for _ in range(200):
        desk.clock.now += 60
        desk.carry_on()
    assert desk.text() == OLD
    assert desk.state(one) == "approved"


def test_a_clock_set_forward_and_back_does_not_cool_it(desk: Desk) -> None:
    one = desk.approved()
    for _ in range(20):
        desk.clock.now += 50_000
        desk.carry_on()
        desk.clock.now -= 50_000
        desk.carry_on()
    assert desk.state(one) == "approved"


def test_a_machine_that_says_it_ran_long_does_not_cool_it_without_the_clock(desk: Desk) -> None:
    one = desk.approved()
    desk.ran += 100_000
    with pytest.raises(ProposalRefused):
        desk.apply(one)


def test_starting_the_machine_again_does_not_cool_it(desk: Desk) -> None:
    one = desk.approved()
    desk.boot, desk.ran = "boot-2", 500_000.0
    desk.clock.now += 100_000
    with pytest.raises(ProposalRefused):
        desk.apply(one)


def test_another_machine_in_between_does_not_count_time_twice(desk: Desk) -> None:
    one = desk.approved()
    for number in range(100):
        desk.boot = f"boot-{number % 2}"
        desk.pass_time(60)
        desk.carry_on()
    assert desk.state(one) == "approved", "6,000 seconds have passed, however many machines looked"
    desk.clock.now += 2_000
    desk.carry_on()
    assert desk.state(one) == "approved", "and no clock makes it more"


@pytest.mark.parametrize("decide", [Desk.reject, Desk.withdraw])
def test_what_was_rejected_or_withdrawn_never_applies(
    desk: Desk, decide: Callable[[Desk, Proposal], Proposal]
) -> None:
    one = desk.file()
    decide(desk, one)
    desk.pass_time(100_000)
    with pytest.raises(ProposalRefused):
        approve_proposal(desk.gate, one.id, by="eve")
    with pytest.raises(ProposalRefused):
        desk.apply(one)
    assert desk.text() == OLD


def test_a_file_that_changed_meanwhile_is_not_overwritten(desk: Desk) -> None:
    one = desk.cooled()
    (desk.root / "lessons.md").write_text(OLD + "be careful\n")
    with pytest.raises(ProposalRefused):
        desk.apply(one)
    assert desk.text() == OLD + "be careful\n"
    assert desk.state(one) == "failed"


def test_a_change_after_it_was_applied_is_not_undone_with_it(desk: Desk) -> None:
    one = desk.cooled()
    desk.apply(one)
    (desk.root / "lessons.md").write_text(NEW + "be careful\n")
    with pytest.raises(ProposalRefused):
        desk.undo(one)
    assert desk.text() == NEW + "be careful\n"
    assert desk.state(one) == "applied"


def test_it_cannot_be_undone_after_its_days(desk: Desk) -> None:
    one = desk.cooled()
    desk.apply(one)
    desk.pass_time(7 * 86_400)
    with pytest.raises(ProposalRefused):
        desk.undo(one)
    desk.carry_on()
    assert desk.state(one) == "settled"


def test_nobody_applies_it_a_second_time(desk: Desk) -> None:
    one = desk.cooled()
    desk.apply(one)
    with pytest.raises(ProposalRefused):
        desk.apply(one)


def test_while_somebody_carries_one_out_nobody_else_does(desk: Desk) -> None:
    one = desk.cooled()
    held = "import fcntl,os,sys;f=os.open(sys.argv[1],os.O_RDWR|os.O_CREAT);fcntl.flock(f,2);"
    held += "print(1,flush=True);sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", held, str(desk.lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(ProposalRefused, match="somebody else"):
            desk.apply(one)
        other.kill()
    assert desk.apply(one).state == "applied"


@pytest.mark.parametrize(("text", "state"), [(OLD, "applied"), (NEW, "applied"), ("else\n", "failed")])
def test_a_crash_in_the_middle_is_found_and_settled(desk: Desk, text: str, state: str) -> None:
    """It was written down that it is about to happen, and then the process died: before or after it did."""
    one = desk.cooled()
    with desk.gate.store.write() as tx:
        change_state(desk.gate, tx, one.id, "applying", by="ana")
    (desk.root / "lessons.md").write_text(text)
    desk.carry_on()
    assert desk.state(one) == state
    assert desk.text() == (NEW if text != "else\n" else text)


def crash_while_applying(desk: Desk, one: Proposal, after: bool) -> None:
    """A process that dies without a word: just before the file is replaced, or just after."""

    def die(*args: Any, **more: Any) -> None:
        if after:
            replace_text(*args, **more)
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        pytest.MonkeyPatch().setattr("sayso.gate.proposals.carry_out.replace_text", die)
        desk.apply(one)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert desk.state(one) == "applying"


@pytest.mark.parametrize("boot", ["boot-1", "boot-2"])
def test_after_a_crash_before_the_file_was_changed_it_is_withdrawn_at_once(desk: Desk, boot: str) -> None:
    one = desk.cooled()
    crash_while_applying(desk, one, after=False)
    desk.boot = boot  # the machine may have been started again
    assert desk.withdraw(one).state == "withdrawn"
    desk.carry_on()
    assert desk.text() == OLD


@pytest.mark.parametrize("boot", ["boot-1", "boot-2"])
def test_after_a_crash_when_the_file_was_changed_it_is_applied_and_can_be_undone(
    desk: Desk, boot: str
) -> None:
    one = desk.cooled()
    crash_while_applying(desk, one, after=True)
    desk.boot = boot
    with pytest.raises(ProposalRefused, match="applied"):
        desk.withdraw(one)
    assert desk.state(one) == "applied"
    assert desk.undo(one).state == "undone"
    assert desk.text() == OLD


@pytest.mark.parametrize(("after", "state"), [(False, "approved"), (True, "applied")])
def test_whoever_looks_after_a_crash_sees_what_became_of_it(desk: Desk, after: bool, state: str) -> None:
    one = desk.cooled()
    crash_while_applying(desk, one, after)
    desk.recover()
    assert desk.state(one) == state


def test_while_somebody_carries_it_out_it_is_not_withdrawn_and_looking_changes_nothing(desk: Desk) -> None:
    one = desk.cooled()
    crash_while_applying(desk, one, after=False)
    held = os.open(desk.lock, os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(ProposalRefused, match="somebody else"):
        desk.withdraw(one)
    desk.recover()
    assert desk.state(one) == "applying"
    os.close(held)
    assert desk.withdraw(one).state == "withdrawn"


@pytest.mark.parametrize("after", [False, True])
def test_while_somebody_carries_it_out_it_is_not_approved_again(desk: Desk, after: bool) -> None:
    """Approved again, it could be withdrawn, although its change is in the file."""
    one = desk.cooled()
    crash_while_applying(desk, one, after)
    with pytest.raises(ProposalRefused, match="applying"):
        approve_proposal(desk.gate, one.id, by="ben")
    desk.recover()
    assert desk.state(one) == ("applied" if after else "approved")


def test_an_approval_in_the_middle_of_applying_does_not_take_the_proposal_over(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = desk.cooled()
    refused: list[str] = []

    def replace_between(*args: Any, **more: Any) -> None:
        replace_text(*args, **more)
        try:
            approve_proposal(desk.gate, one.id, by="ben")
        except ProposalRefused as error:
            refused.append(error.message)

    monkeypatch.setattr("sayso.gate.proposals.carry_out.replace_text", replace_between)
    assert desk.apply(one).state == "applied"
    assert refused
    with pytest.raises(ProposalRefused, match="applied"):
        desk.withdraw(one)
    assert desk.undo(one).state == "undone"
    assert desk.text() == OLD


def test_a_crash_leaves_no_copy_of_the_text_behind(desk: Desk) -> None:
    one = desk.cooled()
    with desk.gate.store.write() as tx:
        change_state(desk.gate, tx, one.id, "applying", by="ana")
    (desk.root / f".lessons.md.{one.id}").write_text(NEW[:5])
    desk.carry_on()
    assert (desk.state(one), desk.text()) == ("applied", NEW)
    assert [file.name for file in desk.root.iterdir()] == ["lessons.md"]


def test_a_crash_between_the_two_names_of_a_new_file_is_settled_as_what_happened(desk: Desk) -> None:
    one = desk.approved(diff=make_diff("new.md", None, "x\n"))
    desk.pass_time(7_200)
    with desk.gate.store.write() as tx:
        change_state(desk.gate, tx, one.id, "applying", by="ana")
    (desk.root / f".new.md.{one.id}").write_text("x\n")
    os.link(desk.root / f".new.md.{one.id}", desk.root / "new.md")
    desk.carry_on()
    assert desk.state(one) == "applied"
    assert sorted(file.name for file in desk.root.iterdir()) == ["lessons.md", "new.md"]


def test_a_process_killed_while_it_writes_leaves_only_what_is_found_again(desk: Desk) -> None:
    """The name beside the file is the proposal's: the two tests above plant what a real crash leaves."""
    one = desk.cooled()
    seen: list[str] = []
    real = os.fsync

    def look(descriptor: int) -> None:
        seen.extend(file.name for file in desk.root.iterdir() if file.name != "lessons.md")
        real(descriptor)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", look)
        desk.apply(one)
    assert set(seen) == {f".lessons.md.{one.id}"}


OUTSIDE = ["../secret.md", "/etc/passwd", "a/../../secret.md", ".", "lessons.md/", "sub//x", "a\tb"]


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_outside_its_folder_is_refused(desk: Desk, path: str) -> None:
    (desk.root.parent / "secret.md").write_text(OLD)
    with pytest.raises(ProposalRefused):
        desk.file(diff=f"--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n be kind\n-be brief\n+owned\n")
    assert (desk.root.parent / "secret.md").read_text() == OLD


@pytest.mark.parametrize("kind", ["file", "folder", "hard"])
def test_a_link_out_of_the_folder_is_not_followed(desk: Desk, kind: str) -> None:
    outside = desk.root.parent / "outside"
    outside.mkdir()
    (outside / "n.md").write_text(OLD)
    if kind == "folder":
        (desk.root / "sub").symlink_to(outside)
    elif kind == "file":
        (desk.root / "sub").mkdir()
        (desk.root / "sub" / "n.md").symlink_to(outside / "n.md")
    else:
        (desk.root / "sub").mkdir()
        os.link(outside / "n.md", desk.root / "sub" / "n.md")
    said = {"folder": "not inside its folder", "file": "it is a link", "hard": "not a plain file of its own"}
    with pytest.raises(ProposalRefused, match=said[kind]):
        desk.file(diff=make_diff("sub/n.md", OLD, NEW))
    assert (outside / "n.md").read_text() == OLD


def test_a_link_put_there_after_the_approval_is_not_followed(desk: Desk) -> None:
    one = desk.cooled()
    outside = desk.root.parent / "outside.md"
    outside.write_text(OLD)
    (desk.root / "lessons.md").unlink()
    (desk.root / "lessons.md").symlink_to(outside)
    with pytest.raises(ProposalRefused):
        desk.apply(one)
    assert outside.read_text() == OLD


@pytest.mark.parametrize(
    "wrong",
    [
        {"diff": "Please be thorough instead of brief."}, {"reason": " "}, {"undo": ""}, {"undo": "trust me"},
        {"undo": make_diff("lessons.md", NEW, "owned\n")}, {"diff": make_diff("lessons.md", "else\n", NEW)},
        {"root": "elsewhere"}, {"diff": make_diff("other.md", OLD, NEW)},
        {"diff": f"{DIFF.replace('+1,2', '+1,3')}+\n\\ No newline at end of file\n"},
    ],
)  # fmt: skip
def test_without_a_diff_that_applies_a_way_back_and_a_reason_nothing_is_filed(
    desk: Desk, wrong: dict[str, str]
) -> None:
    with pytest.raises(ProposalRefused):
        desk.file(**wrong)
    assert list_proposals(desk.gate) == []


@pytest.mark.parametrize("name", ["SOUL.md", "AGENTS.md", "CLAUDE.md"])
def test_only_the_operator_proposes_to_change_what_is_protected(desk: Desk, name: str) -> None:
    (desk.root / name).write_text(OLD)
    with pytest.raises(ProposalRefused, match="only the operator"):
        desk.file(diff=make_diff(name, OLD, NEW), proposer="trusted_channel")
    assert desk.file(diff=make_diff(name, OLD, NEW)).state == "proposed"


@pytest.mark.parametrize("name", ["held", "p_", "", "total", "p_0/../held"])
def test_what_is_no_proposal_is_no_sign_of_tampering(desk: Desk, name: str) -> None:
    desk.file()
    with pytest.raises(ProposalRefused, match="there is no proposal"):
        approve_proposal(desk.gate, name, by="ana")
    assert verify_audit(desk.gate).clean
    with desk.gate.store.read() as tx:
        assert "TAMPERED" not in [row.event for row in tx.entries("main", limit=1000)]


def test_a_proposal_whose_row_was_changed_by_hand_does_not_count(desk: Desk, tmp_path: Path) -> None:
    import sqlite3

    one = desk.file()
    with sqlite3.connect(tmp_path / "s.db") as database:
        ((value,),) = database.execute("SELECT value FROM meta WHERE name = ?", (f"proposal/{one.id}",))
        forged = value.replace('"state":"proposed"', '"state":"approved"')
        assert forged != value
        database.execute("UPDATE meta SET value = ? WHERE name = ?", (forged, f"proposal/{one.id}"))
    desk.pass_time(100_000)
    with pytest.raises(TamperedValue):
        desk.apply(one)
    assert desk.text() == OLD


def test_every_step_is_in_the_trail(desk: Desk) -> None:
    one = desk.cooled()
    desk.apply(one)
    with desk.gate.store.read() as tx:
        rows = [msgspec.json.decode(row.body or b"{}") for row in tx.entries("main", limit=1_000)]
    steps = [row["details"]["state"] for row in rows if row["event"] == "PROPOSAL"]
    assert steps == ["proposed", "approved", "applying", "applied"]
