"""The operator's own policy file, as suggestions change it."""

from __future__ import annotations

import msgspec

from sayso.core.errors import SaysoError
from sayso.gate.gate import Gate
from sayso.gate.hindsight.policy_text import PolicyChange, change_policy_text
from sayso.gate.proposals.files import read_file_text
from sayso.gate.proposals.roots import POLICY_ROOT, ProposalRoots
from sayso.gate.settings import POLICY_NAMES
from sayso.policy import load_text


class OwnPolicyFile(msgspec.Struct, frozen=True):
    """The file's name in its folder, and its text."""

    path: str
    text: str

    def change(self, change: PolicyChange) -> str:
        """Return the text after this change."""
        return change_policy_text(self.text, change, as_json=self.path.endswith(".json"))


def find_own_file(gate: Gate, roots: ProposalRoots) -> OwnPolicyFile | None:
    """Return the policy file that is in force; None if there is none, or another policy is in force."""
    if not roots.folder(POLICY_ROOT).is_dir():
        return None
    folder = roots.identify(POLICY_ROOT)
    for name in POLICY_NAMES:
        text = read_file_text(folder, name)
        if text is not None:
            return OwnPolicyFile(name, text) if _is_in_force(gate, name, text) else None
    return None


def _is_in_force(gate: Gate, name: str, text: str) -> bool:
    try:
        return load_text(text, name=name).digest == gate.policy.digest
    except SaysoError:
        return False
