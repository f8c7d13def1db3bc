"""Where proposals may change files: folders that the operator declared, and the operator's own policy.

settings.json: {"proposal_roots": {"memory": "/home/ana/agent/memory"}}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.proposals.proposal import ProposalRefused
from sayso.gate.settings import POLICY_NAMES, gate_config_folder, read_settings
from sayso.reading.paths.own_places import home_folder
from sayso.reading.paths.places import locate

SETTING = "proposal_roots"
POLICY_ROOT = "policy"
Proposer = Literal["operator", "trusted_channel"]


class ProposalRoots(msgspec.Struct, frozen=True):
    """The declared folders by name; `policy` is the folder of the operator's own policy."""

    folders: Mapping[str, Path]

    def folder(self, root: str) -> Path:
        """Return the folder of this name; refused if nobody declared it."""
        found = self.folders.get(root)
        if found is None:
            known = ", ".join(sorted(self.folders))
            raise ProposalRefused(
                f"there is no folder {root!r} for proposals",
                hint=f"use one of: {known}, or add it to settings.json",
            )
        return found


def load_roots() -> ProposalRoots:
    """Read the folders that the operator declared."""
    declared = read_settings().get(SETTING, {})
    if not isinstance(declared, dict) or not all(isinstance(one, str) for one in declared.values()):
        raise SaysoError(f"{SETTING} in settings.json is not an object of folders", hint="mend the file")
    folders = {name: Path(text).expanduser() for name, text in declared.items()}
    relative = [name for name, folder in folders.items() if not folder.is_absolute()]
    if relative or POLICY_ROOT in folders:
        raise SaysoError(
            f"{SETTING}.{(relative or [POLICY_ROOT])[0]} in settings.json is not allowed",
            hint="write absolute folders; `policy` is always your own policy",
        )
    return ProposalRoots({**folders, POLICY_ROOT: gate_config_folder()})


def check_may_propose(roots: ProposalRoots, root: str, path: str, proposer: Proposer) -> None:
    """Refuse anybody but the operator who wants to change what a blocked operation protects."""
    folder = roots.folder(root)
    if root == POLICY_ROOT and path not in POLICY_NAMES:
        raise ProposalRefused(f"the policy is one of: {', '.join(POLICY_NAMES)}")
    if proposer == "operator":
        return
    place = locate(str(folder / path), folder=str(folder), workspace=str(folder), home=home_folder())
    if root == POLICY_ROOT or place.guarded.at is not None or place.secret:
        raise ProposalRefused(f"only the operator can propose to change {path}")
