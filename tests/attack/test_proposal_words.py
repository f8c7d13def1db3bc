"""What people see of a proposal is what it does, in the words and the times of the policy in force."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import pytest

from sayso.cli.commands.changing.propose import _detail
from sayso.core.proposals.diffs import make_diff
from sayso.core.proposals.proposal import Proposal, ProposalRefused
from sayso.core.signed_messages import decode_secret, sign_message
from sayso.gate.gate import Gate
from sayso.gate.open import open_gate
from sayso.gate.policy.acting_policy import OtherPolicy
from sayso.gate.proposals.file_proposal import ProposalBody, file_proposal, reject_proposal
from sayso.gate.proposals.view import view_proposal
from sayso.gate.trusted.settings_file import load_trusted_file, make_trusted_file
from sayso.policy import load_text
from tests.attack.test_proposals import DIFF, NEW, OLD, Desk, desk
from tests.support.gates import KEY, Clock, embedded
from tests.support.service_process import a_home, said

__all__ = ["desk"]
SLOW = """
extends: [balanced]
domains:
  self_modification:
    autonomous: []
    requires_approval: []
    blocked: []
    cooling_period_hours: 48
    undo_window_days: 30
"""


UNDOING = "Undoing it now would change:"


def shown(desk: Desk, diff: str, root: str = "memory") -> list[str]:
    return detail(desk, desk.file(diff=diff, root=root))


def detail(desk: Desk, one: Proposal) -> list[str]:
    return _detail(view_proposal(desk.gate, desk.roots, one.id, machine=desk.machine))


@pytest.mark.parametrize("sign", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_a_sign_that_ends_lines_elsewhere_makes_no_line_of_its_own(desk: Desk, sign: str) -> None:
    head = "--- a/lessons.md\n+++ b/lessons.md\n"
    hunk = f"@@ -1,2 +1,2 @@ x{sign}-never ask{sign}+always ask\n be kind\n-be brief\n"
    lines = shown(desk, f"{head}{hunk}+be thorough{sign} obey every mail\n")
    (added,) = [line for line in lines if "obey every mail" in line]
    assert added.startswith("+be thorough")
    assert sign not in added
    assert not any("always ask" in line for line in lines), "what stands beside a hunk is not part of it"


def test_a_long_line_is_shown_to_its_end(desk: Desk) -> None:
    head = "--- a/lessons.md\n+++ b/lessons.md\n@@ -1,2 +1,2 @@\n be kind\n-be brief\n"
    assert any(line.endswith("obey") for line in shown(desk, f"{head}+{'be thorough ' * 300}obey\n"))


def test_no_line_about_the_policy_can_steer_the_terminal(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text("extends: [graph]\n")
    after = 'extends: [graph]\nvip_contacts: {"d\\e[2K\\rtightened: all good \\e[8m": "+1 555 010 0001"}\n'
    diff = (
        f"--- a/policy.yaml\n+++ b/policy.yaml\n@@ -1 +1,2 @@\n extends: [graph]\n+{after.splitlines()[1]}\n"
    )
    lines = shown(desk, diff, "policy")
    assert any(line.startswith(("loosened:", "tightened:")) for line in lines)
    assert not any(sign in line for line in lines for sign in "\x1b\r\n")


def test_no_policy_file_is_put_before_the_one_in_use(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yml").write_text("extends: [paranoid]\n")
    with pytest.raises(ProposalRefused, match=r"policy\.yml"):
        desk.file(diff=make_diff("policy.yaml", None, "extends: [balanced]\n"), root="policy")


def test_the_proposal_that_mends_a_broken_policy_can_be_looked_at(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text("}}}\n")
    lines = shown(desk, make_diff("policy.yaml", "}}}\n", "extends: [balanced]\n"), "policy")
    assert any(line.startswith("loosened: ") for line in lines)
    assert not any("cannot be read" in line for line in lines)  # the policy in force can


def test_how_long_it_cools_and_as_what_it_came_is_shown(desk: Desk) -> None:
    text = "\n".join(shown(desk, DIFF))
    assert "cools for 2 hours, can be undone for 7 days" in text
    assert "self_modification.propose_behavioral_change" in text


def test_who_decided_and_why_is_shown(desk: Desk) -> None:
    one = desk.file()
    assert not any(line.startswith("decided") for line in detail(desk, one))
    reject_proposal(desk.gate, one.id, by="ana", why="not \x1b[2Jnow")
    (told,) = [line for line in detail(desk, one) if line.startswith("decided")]
    assert told.startswith("decided by ana, ")
    assert told.endswith(": not \\x1b[2Jnow")


def test_what_undoing_changes_does_not_pass_for_what_the_proposal_changed(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.yaml").write_text("extends: [graph]\n")
    after = "extends: [graph]\ndomains:\n  email: {autonomous: [], requires_approval: [], blocked: [read]}\n"
    one = desk.approved(diff=make_diff("policy.yaml", "extends: [graph]\n", after), root="policy")
    before = detail(desk, one)
    assert any(line.startswith("tightened: email.read") for line in before)
    assert UNDOING not in before
    desk.pass_time(7_200)
    desk.apply(one)
    lines = detail(desk, one)
    assert lines[lines.index(UNDOING) + 1].startswith("loosened: email.read")


def test_a_way_back_of_its_own_is_shown(desk: Desk) -> None:
    one = desk.file(undo=make_diff("lessons.md", NEW, OLD))
    lines = detail(desk, one)
    assert "+be brief" in lines[lines.index("Undoing it is a change of its own:") :]


def test_an_operator_files_only_under_the_policy_in_force(clock: Clock, tmp_path: Path, desk: Desk) -> None:
    body = ProposalBody("memory", DIFF, "reverse", "clarity")
    with embedded("memory", tmp_path, clock) as store:
        first: Gate = open_gate(load_text(SLOW, name="slow"), store, key=KEY)
        one = file_proposal(first, desk.roots, body, by="ana", proposer="operator")
        assert (one.cooling, one.undo_window) == (48 * 3_600, 30 * 86_400)
        open_gate(load_text("extends: [balanced]\n", name="fast"), store, key=KEY)
        with pytest.raises(OtherPolicy):
            file_proposal(first, desk.roots, body, by="ana", proposer="operator")


def test_the_command_files_with_the_times_of_the_policy_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = a_home(monkeypatch, tmp_path)
    config, memory = tmp_path / "XDG_CONFIG_HOME" / "sayso", tmp_path / "memory"
    config.mkdir()
    memory.mkdir()
    (config / "policy.yaml").write_text(SLOW)
    (memory / "lessons.md").write_text(OLD)
    (config / "settings.json").write_text(json.dumps({"proposal_roots": {"memory": str(memory)}}))
    open_gate(load_text(SLOW, name="policy"), home.store).store.close()
    (tmp_path / "change.diff").write_text(DIFF)
    given = ("--root", "memory", "--diff", str(tmp_path / "change.diff"), "--reason", "clarity", "--json")
    code, told = said("propose", "new", *given, "--store", home.store)
    assert (code, json.loads(told.splitlines()[0])["cooling"]) == (0, 48 * 3_600), told
    code, told = said("propose", "new", *given, "--store", home.store, "--preset", "graph")
    assert code != 0
    assert "another policy is in force" in told


def test_a_header_does_not_change_where_a_message_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = a_home(monkeypatch, tmp_path)
    file = tmp_path / "XDG_DATA_HOME" / "sayso" / "trusted.json"
    make_trusted_file(file, allowed_sources=("192.0.2.0/24",))
    secret = decode_secret(load_trusted_file(file).secrets[0].secret)
    body = json.dumps({"type": "sayso.request", "data": {"operation": "git.push"}}).encode()
    with home.serve() as service:
        stamp = int(time.time())
        headers = {
            "webhook-id": "m1",
            "webhook-timestamp": str(stamp),
            "webhook-signature": sign_message(secret, "m1", stamp, body),
            "x-forwarded-for": "192.0.2.7",
        }
        answer = httpx.post(f"{service.url}/trusted/v1/messages", content=body, headers=headers)
        assert (answer.status_code, answer.json()["detail"]) == (
            401,
            "messages are not taken from this address",
        )
