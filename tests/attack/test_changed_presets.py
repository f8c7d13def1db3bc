"""A preset that another version of Sayso changes: what it tightens counts, what it loosens waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from sayso.core.errors import NotSeen
from sayso.core.model import Tier
from sayso.core.proposals.diffs import make_diff
from sayso.gate.gate import current_gate
from sayso.gate.open import open_gate
from sayso.gate.people.signed_acts import Acknowledgement
from sayso.gate.policy.acting_policy import PolicySource
from sayso.gate.policy_acts.apply import apply_policy, load_policy_status
from sayso.gate.proposals.file_proposal import approve_proposal
from sayso.policy import load, load_file, load_text
from sayso.policy.load import preset_texts, read_text
from tests.attack.test_proposals import Desk
from tests.support.gates import KEY, Clock, embedded

FILE = "extends: [balanced]\n"
LIST = b"autonomous: [read, list, search]"
LOOSER, STRICTER = b"autonomous: [read, list, search, purge]", b"autonomous: [read, search]"
Upgrade = Callable[[bytes], None]


class Desktop(Desk):
    """An operator whose policy extends a preset, and a program that can be started again."""

    @property
    def file_path(self) -> Path:
        return self.root.parent / "config" / "policy.yaml"

    def start_again(self) -> None:
        source = PolicySource(self.file_path)
        self.gate = open_gate(load_file(self.file_path), self.gate.store, key=KEY, source=source)

    def tier(self, operation: str) -> Tier | None:
        return current_gate(self.gate).policy.entry(operation).tier


@pytest.fixture
def desk(clock: Clock, tmp_path: Path) -> Iterator[Desktop]:
    (tmp_path / "memory").mkdir()
    file = tmp_path / "config" / "policy.yaml"
    file.parent.mkdir()
    file.write_text(FILE)
    with embedded("sqlite", tmp_path, clock) as store:
        gate = open_gate(load_file(file), store, key=KEY, source=PolicySource(file))
        yield Desktop(gate, tmp_path / "memory", clock)


@pytest.fixture
def upgrade(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upgrade]:
    """From then on the preset `balanced` says this instead of the list of what may be done with files."""

    def change(instead: bytes) -> None:
        newer = {**preset_texts(), "balanced": preset_texts()["balanced"].replace(LIST, instead)}
        assert newer != preset_texts()
        monkeypatch.setattr(load, "preset_texts", lambda: newer)
        _forget()

    yield change
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    for kept in (load.load_preset, load._load_builtin_preset, load._load_compiled):  # noqa: SLF001
        kept.cache_clear()


def test_the_digest_of_a_policy_is_another_one_where_its_presets_say_something_else() -> None:
    texts = dict(preset_texts())
    newer = {**texts, "balanced": texts["balanced"].replace(LIST, LOOSER)}
    alone = "domains: {a: {autonomous: [b], requires_approval: [], blocked: []}}"
    same = [read_text(text, presets=each) for text in (FILE, alone) for each in (texts, newer)]
    assert same[0].digest == same[1].digest
    assert same[0].policy.digest != same[1].policy.digest
    assert same[2].policy.digest == same[3].policy.digest == same[2].digest


def test_what_a_preset_loosens_waits_and_is_told(desk: Desktop, upgrade: Upgrade) -> None:
    upgrade(LOOSER)
    desk.start_again()
    assert desk.tier("files.purge") is not Tier.AUTONOMOUS
    status = load_policy_status(desk.gate, desk.file_path)
    assert (status.state, "files.purge" in {one.operation for one in status.loosened}) == ("waits", True)
    apply_policy(desk.gate, desk.file_path, by="ana", content=status.content)
    assert desk.tier("files.purge") is Tier.AUTONOMOUS


def test_what_a_preset_tightens_counts_at_once(desk: Desktop, upgrade: Upgrade) -> None:
    assert desk.tier("files.list") is Tier.AUTONOMOUS
    upgrade(STRICTER)
    desk.start_again()
    assert desk.tier("files.list") is not Tier.AUTONOMOUS


def test_a_program_with_a_policy_of_its_own_is_held_to_what_is_in_force(
    desk: Desktop, upgrade: Upgrade
) -> None:
    upgrade(LOOSER)
    gate = open_gate(load_text(FILE), desk.gate.store, key=KEY)
    assert current_gate(gate).policy.entry("files.purge").tier is not Tier.AUTONOMOUS


@pytest.mark.parametrize("watching", [True, False], ids=["by a service", "by a command"])
@pytest.mark.parametrize("approved_before", [True, False])
def test_what_a_preset_loosens_does_not_come_with_a_proposal(
    desk: Desktop, upgrade: Upgrade, approved_before: bool, watching: bool
) -> None:
    if not approved_before:
        upgrade(LOOSER)
        desk.start_again()
    diff = make_diff("policy.yaml", FILE, f"{FILE}categories: {{post: letters}}\n")
    one = approve_proposal(desk.gate, desk.file(diff=diff, root="policy").id, by="ana")
    desk.pass_time(7_200)
    if approved_before:
        upgrade(LOOSER)
    if watching:
        desk.start_again()
    else:
        desk.gate = msgspec.structs.replace(desk.gate, live=None)
    assert desk.apply(one).state == "applied"
    desk.start_again()
    assert desk.tier("files.purge") is not Tier.AUTONOMOUS
    assert load_policy_status(desk.gate, desk.file_path).state == "waits"


def test_another_version_applies_only_what_it_showed_itself(desk: Desktop, upgrade: Upgrade) -> None:
    """Two services of different versions: one shows the file, and the other is told to apply it."""
    desk.file_path.write_text(f"{FILE}settings: {{question_lasts: 3h}}\n")
    seen = load_policy_status(desk.gate, desk.file_path)
    assert "files.purge" not in {one.operation for one in seen.loosened}
    upgrade(LOOSER)
    with pytest.raises(NotSeen):
        apply_policy(
            desk.gate,
            desk.file_path,
            by="ana",
            content=seen.content,
            shown=Acknowledgement(seen.shown),
        )
    assert desk.tier("files.purge") is not Tier.AUTONOMOUS


def test_what_a_proposal_means_by_another_version_waits(desk: Desktop, upgrade: Upgrade) -> None:
    """What guarded against the preset goes, after another version changed that: nobody was shown this."""
    guarded = f"{FILE}domains: {{files: {{autonomous: [], requires_approval: [], blocked: [purge]}}}}\n"
    desk.file_path.write_text(guarded)
    status = load_policy_status(desk.gate, desk.file_path)
    apply_policy(desk.gate, desk.file_path, by="ana", content=status.content)
    desk.start_again()
    diff = make_diff("policy.yaml", guarded, FILE)
    one = approve_proposal(desk.gate, desk.file(diff=diff, root="policy").id, by="ana")
    desk.pass_time(7_200)
    upgrade(LOOSER)
    desk.start_again()
    status = load_policy_status(desk.gate, desk.file_path)
    apply_policy(desk.gate, desk.file_path, by="ana", content=status.content)
    assert desk.tier("files.purge") is Tier.BLOCKED
    assert desk.apply(one).state == "applied"
    desk.start_again()
    assert desk.tier("files.purge") is Tier.BLOCKED
    assert load_policy_status(desk.gate, desk.file_path).state == "waits"
