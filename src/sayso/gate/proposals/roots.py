"""Where proposals may change files: folders that the operator declared, and the operator's own policy.

settings.json: {"proposal_roots": {"memory": "/home/ana/agent/memory"}}

`{"folder": "/home/ana/agent/memory", "without_cooling": true}` lets memory be pruned and consolidated
there as soon as that is approved. Anywhere else every change cools.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.proposals.proposal import FolderElsewhere, FolderIdentity, Proposal, ProposalRefused
from sayso.gate.decoding import convert_to
from sayso.gate.proposals.files import identify_folder, read_host
from sayso.gate.settings import POLICY_NAMES, gate_config_folder, read_settings
from sayso.reading.paths.own_places import data_folder_path, home_folder, runtime_folder_path
from sayso.reading.paths.places import locate

SETTING = "proposal_roots"
POLICY_ROOT = "policy"
Proposer = Literal["operator", "trusted_channel"]


class ProposalRoots(msgspec.Struct, frozen=True):
    """The declared folders by name; `policy` is the folder of the operator's own policy."""

    folders: Mapping[str, Path]
    without_cooling: frozenset[str] = frozenset()
    host: str = msgspec.field(default_factory=read_host)

    def folder(self, root: str) -> Path:
        """Return the folder of this name; refused if nobody declared it."""
        found = self.folders.get(root)
        if found is None:
            known = ", ".join(sorted(self.folders))
            raise ProposalRefused(
                f"there is no folder {root!r} for proposals",
                hint=f"use one of: {known}, or add it to settings.json",
                reason="folder",
            )
        return found

    def identify(self, root: str) -> FolderIdentity:
        """Return which folder is in this place now."""
        return identify_folder(self.folder(root), self.host)


class _DeclaredRoot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    folder: str
    without_cooling: bool = False


def load_roots() -> ProposalRoots:
    """Read the folders that the operator declared."""
    try:
        written = convert_to(read_settings().get(SETTING, {}), dict[str, str | _DeclaredRoot])
    except msgspec.ValidationError as error:
        raise SaysoError(
            f"{SETTING} in settings.json is not an object of folders", hint="fix the file"
        ) from error
    declared = {name: _DeclaredRoot(one) if isinstance(one, str) else one for name, one in written.items()}
    folders = {name: Path(one.folder).expanduser() for name, one in declared.items()}
    relative = [name for name, folder in folders.items() if not folder.is_absolute()]
    if relative or POLICY_ROOT in folders:
        raise SaysoError(
            f"{SETTING}.{(relative or [POLICY_ROOT])[0]} in settings.json is not allowed",
            hint="write absolute folders; `policy` is always your own policy",
        )
    fast = frozenset(name for name, one in declared.items() if one.without_cooling)
    return ProposalRoots({**folders, POLICY_ROOT: gate_config_folder()}, fast)


def check_may_propose(roots: ProposalRoots, root: str, path: str, proposer: Proposer) -> None:
    """Refuse anybody but the operator who wants to change what a blocked operation protects."""
    folder = Path(roots.identify(root).path)
    if root == POLICY_ROOT and path not in POLICY_NAMES:
        raise ProposalRefused(f"the policy is one of: {', '.join(POLICY_NAMES)}", reason="outside")
    if root != POLICY_ROOT:
        _check_apart(folder)
    if proposer == "operator":
        return
    place = locate(str(folder / path), folder=str(folder), workspace=str(folder), home=home_folder())
    if root == POLICY_ROOT or place.guarded.at is not None or place.secret:
        raise ProposalRefused(f"only the operator can propose to change {path}", reason="operators_only")


def _check_apart(folder: Path) -> None:
    """Refuse a folder around one of Sayso's own, or in it: what lies there is the operator's."""
    own = (gate_config_folder(), data_folder_path(), runtime_folder_path())
    for place in (one.resolve() for one in own):
        if place.is_relative_to(folder) or folder.is_relative_to(place):
            raise ProposalRefused(
                f"{folder} holds Sayso's own files, or lies in a folder of them",
                hint="declare a folder apart from them; --root policy changes your policy",
                reason="own_files",
            )


def find_folder(roots: ProposalRoots, one: Proposal) -> FolderIdentity:
    """Return the folder that a proposal was made for; refused if it is not here, or another one is."""
    if one.root not in roots.folders or one.folder is None or roots.identify(one.root) != one.folder:
        raise FolderElsewhere(
            f"{one.root} is another folder here than it was when this was proposed",
            hint="put it back, or propose the change again",
        )
    return one.folder


def is_folder_here(roots: ProposalRoots, one: Proposal) -> bool:
    """Return whether the folder that a proposal was made for is here."""
    try:
        find_folder(roots, one)
    except FolderElsewhere:
        return False
    return True
