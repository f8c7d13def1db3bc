"""Operations on files by where their paths lead: what the path resolver and the shell reading share."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from sayso.core import words
from sayso.core.model import Operation, Piece, Risk
from sayso.core.policy import Domain, Policy
from sayso.reading.evidence import add_evidence
from sayso.reading.paths.guard import operation_on_guard
from sayso.reading.paths.places import PathPlace, locate
from sayso.reading.paths.spellings import is_plain
from sayso.reading.verbs import CONTENT_VERBS, DELETE_VERBS, READ_VERBS, verb_of


class CallFolders(msgspec.Struct, frozen=True):
    """The folders a call is made in."""

    folder: str
    workspace: str
    home: str


def operation_at_path(
    operation: str, path: object, policy: Policy, where: CallFolders, said: tuple[Piece, ...]
) -> Operation:
    """Return the operation at this path, with the path as its cause unless it is plainly inside."""
    place = locate(path, folder=where.folder, workspace=where.workspace, home=where.home)
    if (
        path is None and verb_of(operation) in CONTENT_VERBS
    ):  # a search without a folder goes through this one
        here = locate(where.folder, folder=where.folder, workspace=where.workspace, home=where.home)
        place = msgspec.structs.replace(place, guarded=here.guarded)
    found = operation_on_guard(operation, place)
    if found is None and _is_nowhere(path, place, where):
        found = Operation(operation, reading=Risk.HIGH, found=words.UNKNOWN_FOLDER)
    found = found or operation_at_place(operation, place, policy)
    plain = found.reading is None and ((place.inside and not place.shared) or found.name == operation)
    return found if plain else add_evidence(found, said)


def _is_nowhere(path: object, place: PathPlace, where: CallFolders) -> bool:
    """Return whether it is a plain relative path of somebody without folder or workspace: outside of what?"""
    known = where.folder or where.workspace or place.secret or place.system or place.versions
    return (
        not known
        and isinstance(path, str)
        and path.strip() != ""
        and not path.startswith(("/", "~"))
        and is_plain(path)
    )


def operation_at_place(operation: str, place: PathPlace, policy: Policy) -> Operation:
    """An unresolvable path counts as outside the workspace; reading it is at least moderate risk."""

    domain, _, action = operation.partition(".")
    verb = verb_of(operation)
    if place.secret and verb in CONTENT_VERBS and first_listed(domain, policy, ("read_secrets",)):
        return Operation(f"{domain}.read_secrets", reading=Risk.HIGH)
    if verb in READ_VERBS:
        doubtful = place.shared and not place.library
        unsafe = Risk.HIGH if place.secret or place.telling or doubtful else None
        return Operation(operation, reading=unsafe if place.real else Risk.HIGH)
    if place.secret:
        return _strict_operation(operation, policy, "modify_secrets")
    if not place.inside or place.shared:
        kind = "delete" if verb in DELETE_VERBS else "write"
        outside = _strict_operation(operation, policy, f"{kind}_outside_workspace")
        return msgspec.structs.replace(outside, reading=Risk.HIGH) if place.system else outside
    risky = Risk.HIGH if place.system or place.versions else None
    return Operation(f"{domain}.{_action_inside(domain, action, policy)}", reading=risky)


def _action_inside(domain: str, action: str, policy: Policy) -> str:
    """A write inside the workspace, under the name the domain has for it."""
    if action.partition("_")[0] in DELETE_VERBS:
        return action
    wanted = ("write_workspace", "write") if action == "write" else (action, "write_workspace")
    return first_listed(domain, policy, wanted) or action


def _strict_operation(operation: str, policy: Policy, action: str) -> Operation:
    """This action of the domain; as high risk where the domain does not list it.

    What is marked stays so in a worse place, under whichever name it is marked.
    """
    domain, _, plain = operation.partition(".")
    if first_listed(domain, policy, (action,)):
        return Operation(f"{domain}.{action}")
    names = (f"{domain}.{action}", operation, f"{domain}.{_action_inside(domain, plain, policy)}")
    return Operation(max(names, key=policy.mark_of), reading=Risk.HIGH)


def first_listed(domain: str, policy: Policy, actions: Iterable[str]) -> str | None:
    """Return the first of these actions that the domain lists."""
    domain_lists = policy.domains.get(domain, Domain())
    lists = (domain_lists.autonomous, domain_lists.requires_approval, domain_lists.blocked)
    return next((action for action in actions if any(action in one for one in lists)), None)
