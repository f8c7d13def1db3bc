"""Proposals: approved as shown, in limits, apart from Sayso's own folders, and by a trusted clock."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from sayso.cli.commands.changing.propose import _read_change
from sayso.core.durations import DAY
from sayso.core.errors import NotSeen
from sayso.core.proposals.diffs import apply_diff, make_diff, parse_diff
from sayso.core.proposals.proposal import ProposalRefused, digest_proposal
from sayso.gate.gate import Gate
from sayso.gate.people.passkeys import Signing
from sayso.gate.people.signed_acts import Acknowledgement
from sayso.gate.proposals.file_proposal import (
    MOST_OPEN,
    ProposalBody,
    approve_proposal,
    file_proposal,
)
from sayso.gate.proposals.roots import ProposalRoots
from sayso.gate.proposals.view import view_proposal, view_proposals
from sayso.gate.refusal_limit import MOST_RECORDED
from sayso.gate.trusted.receive import RefusalLog, record_missed
from tests.attack.test_proposals import DIFF, OLD, Desk, desk
from tests.support.gates import no_settings

__all__ = ["desk", "no_settings"]
PAGE = Signing(None, ())


@pytest.mark.parametrize("seen", [None, "", "0" * 64])
def test_whoever_was_not_shown_this_proposal_does_not_approve_it(desk: Desk, seen: str | None) -> None:
    one = desk.file()
    with pytest.raises(NotSeen):
        approve_proposal(desk.gate, one.id, by="ana", shown=Acknowledgement(seen, PAGE))
    assert desk.state(one) == "proposed"
    approve_proposal(desk.gate, one.id, by="ana", shown=Acknowledgement(digest_proposal(one), PAGE))
    assert desk.state(one) == "approved"


CHANGED = [
    ("diff", make_diff("lessons.md", OLD, "obey\n")),
    ("undo", DIFF),
    ("path", "other.md"),
    ("cooling", 0.0),
]


@pytest.mark.parametrize(("part", "value"), CHANGED)
def test_the_digest_covers_what_is_done_and_when(desk: Desk, part: str, value: object) -> None:
    one = desk.file()
    assert digest_proposal(msgspec.structs.replace(one, **{part: value})) != digest_proposal(one)
    assert digest_proposal(msgspec.structs.replace(one, state="approved")) == digest_proposal(one)


def test_a_flood_of_proposals_is_refused_and_leaves_room_for_the_operator(desk: Desk) -> None:
    filed = [desk.file(proposer="trusted_channel") for _ in range(MOST_OPEN)]
    with pytest.raises(ProposalRefused, match=f"{MOST_OPEN} proposals wait"):
        desk.file(proposer="trusted_channel")
    desk.file()
    desk.withdraw(filed[0])
    desk.file(proposer="trusted_channel")


@pytest.mark.parametrize("place", ["", "config/sayso", "config/sayso/memory", "data/sayso", "data"])
def test_a_folder_around_or_in_one_of_our_own_is_refused(desk: Desk, tmp_path: Path, place: str) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lessons.md").write_text(OLD)
    (tmp_path / "config" / "sayso").mkdir(parents=True, exist_ok=True)
    (tmp_path / "data" / "sayso").mkdir(parents=True, exist_ok=True)
    roots = ProposalRoots({"memory": folder})
    body = ProposalBody("memory", DIFF, "reverse", "clarity")
    with pytest.raises(ProposalRefused, match="Sayso's own files"):
        file_proposal(desk.gate, roots, body, by="ana", proposer="operator")


def test_while_the_clock_is_not_trusted_cooling_stands_still_and_says_so(desk: Desk) -> None:
    one = desk.approved()
    desk.clock.now -= 2 * DAY
    for _ in range(20):
        desk.pass_time(600)
        desk.carry_on()
    (view,) = view_proposals(desk.gate, desk.roots, machine=desk.machine)
    assert (desk.state(one), view.clock_trusted, round(view.cools_in)) == ("approved", False, 7_200)
    desk.clock.now += 2 * DAY
    desk.carry_on()
    assert desk.state(one) == "approved", "what passed meanwhile does not count afterwards either"


def test_a_single_view_has_the_change_as_it_was_understood_and_why_it_does_not_fit(desk: Desk) -> None:
    one = desk.file(diff=DIFF.replace("@@ -1,2 +1,2 @@", "@@ -1,2 +1,2 @@ never mind\r+obey"))
    view = view_proposal(desk.gate, desk.roots, one.id, machine=desk.machine)
    assert view.change == parse_diff(DIFF)
    assert (view.fits, view.hindrance, view.digest) == (True, "", digest_proposal(one))
    (desk.root / "lessons.md").write_text("else\n")
    view = view_proposal(desk.gate, desk.roots, one.id, machine=desk.machine)
    assert (view.fits, view.hindrance) == (False, "the file was changed meanwhile")


def test_what_undoing_a_change_of_the_policy_loosens_is_told(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    policy = tmp_path / "config" / "policy.yaml"
    policy.write_text("extends: [graph]\n")
    lists = "autonomous: [], requires_approval: [], blocked: [read]"
    after = f"extends: [graph]\ndomains:\n  email: {{{lists}}}\n"
    one = desk.approved(diff=make_diff("policy.yaml", "extends: [graph]\n", after), root="policy")
    effect = view_proposal(desk.gate, desk.roots, one.id, machine=desk.machine).effect
    assert effect is not None
    assert not effect.loosens
    desk.pass_time(7_200)
    desk.apply(one)
    effect = view_proposal(desk.gate, desk.roots, one.id, machine=desk.machine).effect
    assert effect is not None
    assert effect.loosens
    assert any(line.startswith("email.read") for line in effect.loosened)


@pytest.mark.parametrize("kind", ["new", "diff"])
def test_the_command_line_keeps_the_line_ends_that_a_file_has(tmp_path: Path, kind: str) -> None:
    config, memory = tmp_path / "config" / "sayso", tmp_path / "memory"
    config.mkdir(parents=True)
    memory.mkdir()
    (config / "settings.json").write_text(json.dumps({"proposal_roots": {"memory": str(memory)}}))
    before, after = "be kind\r\nbe brief\r\n", "be kind\r\nbe thorough\r\n"
    (memory / "lessons.md").write_bytes(before.encode())
    given = tmp_path / "given"
    given.write_bytes((after if kind == "new" else make_diff("lessons.md", before, after)).encode())
    files = {"new": None, "diff": None, kind: given}
    change = _read_change(**files, root="memory", path="lessons.md")
    assert apply_diff(parse_diff(change), before) == after


def test_how_many_refusals_went_unrecorded_is_known_after_the_service_ended(desk: Desk) -> None:
    log = RefusalLog()
    for signed in (True, False):
        for _ in range(MOST_RECORDED + 2):
            log.take(0.0, signed=signed)
    record_missed(desk.gate, log)
    record_missed(desk.gate, log)
    assert _unrecorded(desk.gate) == [4]


def _unrecorded(gate: Gate) -> list[int]:
    with gate.store.read() as tx:
        bodies = [row.body or b"{}" for row in tx.entries("main") if row.event == "TRUSTED_REFUSED"]
    return [json.loads(body)["details"]["unrecorded"] for body in bodies]
