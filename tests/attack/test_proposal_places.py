"""Proposals change the very folder that they were made for, on one machine, and tell truly what is there."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from pathlib import Path

import pytest

from sayso.core.proposals.diffs import make_diff
from sayso.core.proposals.proposal import FolderElsewhere, Proposal, ProposalRefused
from sayso.gate.proposals.carry_out import carry_on
from sayso.gate.proposals.file_proposal import (
    PRUNE,
    ProposalBody,
    approve_proposal,
    change_state,
    file_proposal,
    list_proposals,
)
from sayso.gate.proposals.files import LARGEST_FILE
from sayso.gate.proposals.roots import ProposalRoots
from sayso.gate.proposals.settle import LEASE
from tests.attack.test_proposals import DIFF, NEW, OLD, Desk, desk
from tests.support.gates import Clock

__all__ = ["desk"]


def leave_between(desk: Desk, one: Proposal, carrier: str = "", lease: float = 0.0) -> None:
    """Record that it is about to happen, as a process does that dies then."""
    with desk.gate.store.write() as tx:
        change_state(desk.gate, tx, one.id, "applying", by="ana", carrier=carrier, lease_until=tx.now + lease)


def a_folder(path: Path, text: str = OLD) -> Path:
    path.mkdir()
    (path / "lessons.md").write_text(text)
    return path


@pytest.mark.parametrize("how", ["link", "folder", "link above"])
def test_a_folder_put_in_the_place_of_the_declared_one_is_not_written(
    desk: Desk, tmp_path: Path, how: str
) -> None:
    one = desk.cooled()
    outside = a_folder(tmp_path / "outside")
    desk.root.rename(tmp_path / "aside")
    if how == "link":
        desk.root.symlink_to(outside)
    elif how == "folder":
        a_folder(desk.root)
    else:
        a_folder(outside / "memory")
        (tmp_path / "above").symlink_to(outside)
        desk.roots = ProposalRoots({"memory": tmp_path / "above" / "memory"})
    desk.carry_on()
    with pytest.raises(FolderElsewhere):
        desk.apply(one)
    changed = [path for path in tmp_path.rglob("lessons.md") if path.read_text() != OLD]
    assert (changed, desk.state(one)) == ([], "approved")


def test_nothing_is_undone_in_another_folder(desk: Desk, tmp_path: Path) -> None:
    one = desk.cooled()
    desk.apply(one)
    outside = a_folder(tmp_path / "outside", NEW)
    desk.root.rename(tmp_path / "aside")
    desk.root.symlink_to(outside)
    with pytest.raises(FolderElsewhere):
        desk.undo(one)
    assert ((outside / "lessons.md").read_text(), desk.state(one)) == (NEW, "applied")


def test_the_policy_is_not_changed_through_a_swapped_memory_folder(desk: Desk, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.mkdir()
    for folder in (config, desk.root):
        (folder / "policy.yaml").write_text("extends: [graph]\n")
    change = make_diff("policy.yaml", "extends: [graph]\n", "extends: [trusting]\n")
    desk.approved(diff=change, proposer="trusted_channel")
    desk.pass_time(7_200)
    desk.root.rename(tmp_path / "aside")
    desk.root.symlink_to(config)
    desk.carry_on()
    assert (config / "policy.yaml").read_text() == "extends: [graph]\n"


def test_what_became_protected_after_the_approval_is_not_changed(desk: Desk, tmp_path: Path) -> None:
    """The folder is the same; what lies in it is the operator's by now."""
    (desk.root / "policy.yaml").write_text("extends: [graph]\n")
    change = make_diff("policy.yaml", "extends: [graph]\n", "extends: [trusting]\n")
    one = desk.approved(diff=change, proposer="trusted_channel")
    desk.pass_time(7_200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        (tmp_path / "sayso").symlink_to(desk.root)
        with pytest.raises(ProposalRefused):
            desk.apply(one)
    assert (desk.root / "policy.yaml").read_text() == "extends: [graph]\n"


@pytest.mark.parametrize("has", ["nothing", "another folder", "the same path on another machine"])
def test_a_service_without_the_folder_leaves_the_proposal_alone(desk: Desk, tmp_path: Path, has: str) -> None:
    one = desk.cooled()
    roots = {
        "nothing": ProposalRoots({}),
        "another folder": ProposalRoots({"memory": a_folder(tmp_path / "other")}),
        "the same path on another machine": ProposalRoots({"memory": desk.root}, host="other"),
    }[has]
    assert carry_on(desk.gate, roots, lock=tmp_path / "other-lock", machine=desk.machine) == []
    assert (desk.state(one), desk.text()) == ("approved", OLD)
    assert desk.apply(one).state == "applied"


def test_what_another_service_carries_out_is_left_alone_until_its_lease_is_over(
    desk: Desk, clock: Clock
) -> None:
    one = desk.cooled()
    leave_between(desk, one, carrier="another", lease=LEASE)
    assert desk.carry_on() == []
    assert (desk.state(one), desk.text()) == ("applying", OLD)
    desk.pass_time(LEASE)
    desk.carry_on()
    assert (desk.state(one), desk.text()) == ("applied", NEW)


def test_whoever_comes_back_after_somebody_else_went_on_writes_nothing_down(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sleeps with the new file on the disk and not in its place, and another service goes on meanwhile."""
    one = desk.cooled()
    real = os.fsync
    slept: list[int] = []

    def sleep_long(descriptor: int) -> None:
        real(descriptor)
        if not slept:
            slept.append(1)
            desk.pass_time(LEASE)
            carry_on(desk.gate, desk.roots, lock=desk.root.parent / "other-lock", machine=desk.machine)

    monkeypatch.setattr(os, "fsync", sleep_long)
    with pytest.raises(ProposalRefused):
        desk.apply(one)
    with desk.gate.store.read() as tx:
        steps = [row.event for row in tx.entries("main", limit=1_000)].count("PROPOSAL")
    assert (desk.state(one), desk.text(), steps) == ("applied", NEW, 6)


PRUNED = make_diff("lessons.md", OLD, "be kind\n")


@pytest.mark.parametrize(
    ("declared", "diff", "cooling"),
    [(False, PRUNED, 7_200), (True, PRUNED, 0), (True, DIFF, 7_200)],
)
def test_only_pruning_where_the_operator_declared_it_does_not_cool(
    desk: Desk, declared: bool, diff: str, cooling: float
) -> None:
    fast = frozenset({"memory"}) if declared else frozenset()
    roots = ProposalRoots(desk.roots.folders, fast)
    body = ProposalBody("memory", diff, "reverse", "stale")
    one = file_proposal(
        desk.gate, roots, body, by="x", proposer="trusted_channel", operation=PRUNE, machine=desk.machine
    )
    assert (one.cooling, one.operation) == (cooling, PRUNE)


def test_a_machine_that_slept_cannot_spend_the_time_before_the_proposal(desk: Desk) -> None:
    desk.file(reason="a look")
    desk.pass_time(86_400)
    slept = desk.ran
    desk.boot, desk.ran = "boot-2", 5.0
    one = desk.approved()
    desk.clock.now += 7_200
    desk.boot, desk.ran = "boot-1", slept + 1
    with pytest.raises(ProposalRefused):
        desk.apply(one)
    assert desk.text() == OLD


@pytest.mark.parametrize("act", ["apply", "undo"])
def test_an_error_after_the_file_was_replaced_is_told_as_what_happened(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    one = desk.cooled()
    if act == "undo":
        desk.apply(one)
    real = os.fsync

    def fail_for_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "EIO")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail_for_folders)
    done = desk.apply(one) if act == "apply" else desk.undo(one)
    expected = ("applied", NEW) if act == "apply" else ("undone", OLD)
    assert (done.state, desk.text()) == expected


def test_a_full_disk_does_not_end_a_proposal_or_the_others(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = desk.approved(), desk.approved(diff=make_diff("new.md", None, "x\n"))
    desk.pass_time(7_200)
    real = os.fsync
    failed: list[int] = []

    def fail_once(descriptor: int) -> None:
        if not failed:
            failed.append(1)
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fail_once)
    desk.carry_on()
    assert sorted([desk.state(first), desk.state(second)]) == ["applied", "approved"]
    (waits,) = [one for one in list_proposals(desk.gate) if one.state == "approved"]
    assert "No space" in waits.note
    assert desk.apply(waits).state == "applied"


@pytest.mark.parametrize("creates", [True, False])
def test_text_written_while_the_new_file_goes_to_the_disk_is_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, creates: bool
) -> None:
    name = "new.md" if creates else "lessons.md"
    one = desk.approved(diff=make_diff("new.md", None, "x\n") if creates else DIFF)
    desk.pass_time(7_200)
    real = os.fsync

    def write_meanwhile(descriptor: int) -> None:
        real(descriptor)
        (desk.root / name).write_text("mine\n")

    monkeypatch.setattr(os, "fsync", write_meanwhile)
    with pytest.raises(ProposalRefused):
        desk.apply(one)
    assert ((desk.root / name).read_text(), desk.state(one)) == ("mine\n", "failed")


def test_one_row_that_was_changed_by_hand_is_void_and_blocks_no_other(desk: Desk, tmp_path: Path) -> None:
    good, bad = desk.approved(), desk.approved(diff=make_diff("new.md", None, "x\n"))
    desk.pass_time(7_200)
    with sqlite3.connect(tmp_path / "s.db") as database:
        change = "UPDATE meta SET value = replace(value, 'clarity', 'CLARITY') WHERE name = ?"
        assert database.execute(change, (f"proposal/{bad.id}",)).rowcount == 1
    desk.carry_on()
    assert (desk.state(good), desk.state(bad), desk.text()) == ("applied", "void", NEW)
    assert not (desk.root / "new.md").exists()


def test_running_time_that_was_changed_by_hand_begins_again_and_cools_nothing(
    desk: Desk, tmp_path: Path
) -> None:
    desk.file(reason="a look")
    desk.pass_time(100_000)
    one = desk.approved()
    with sqlite3.connect(tmp_path / "s.db") as database:
        assert database.execute("DELETE FROM meta WHERE name = 'running-time/total'").rowcount == 1
    desk.pass_time(7_199)
    desk.carry_on()
    assert desk.state(one) == "approved"
    desk.pass_time(7_200)
    desk.carry_on()
    assert desk.state(one) == "applied"


def test_one_left_between_whose_folder_is_gone_blocks_no_other(desk: Desk, tmp_path: Path) -> None:
    one = desk.cooled()
    leave_between(desk, one)
    desk.roots = ProposalRoots({"other": a_folder(tmp_path / "other")})
    two = desk.approved(root="other")
    desk.pass_time(7_200)
    desk.carry_on()
    assert (desk.state(one), desk.state(two)) == ("applying", "applied")


def test_what_was_left_between_is_settled_without_the_service(desk: Desk) -> None:
    one = desk.cooled()
    leave_between(desk, one)
    assert desk.apply(one).state == "applied"


def test_a_file_that_could_not_be_read_again_is_not_made(desk: Desk) -> None:
    text = "x" * (LARGEST_FILE - 10) + "\n"
    (desk.root / "lessons.md").write_text(f"{text}y\n")
    change = f"--- a/lessons.md\n+++ b/lessons.md\n@@ -2 +2 @@\n-y\n+{'y' * 2_000}\n"
    with pytest.raises(ProposalRefused, match="too large"):
        desk.file(diff=change)


def test_an_approval_before_the_folder_was_swapped_can_still_be_carried_out_in_it(
    desk: Desk, tmp_path: Path
) -> None:
    one = approve_proposal(desk.gate, desk.file().id, by="ana")
    desk.root.rename(tmp_path / "aside")
    desk.pass_time(7_200)
    desk.carry_on()
    (tmp_path / "aside").rename(desk.root)
    desk.carry_on()
    assert (desk.state(one), desk.text()) == ("applied", NEW)
