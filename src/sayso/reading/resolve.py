"""A call to its operations, by the first entry of the policy's `tools` that fits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from sayso.core import words
from sayso.core.digest import canonical, sha256
from sayso.core.errors import NotCanonical
from sayso.core.model import Operation, Piece, Risk
from sayso.core.policy import Domain, Policy, Tool
from sayso.reading.arguments import filled, found_at, values_at
from sayso.reading.evidence import because, distinct, named_in, piece
from sayso.reading.verbs import DELETES, INTO, LISTS, READS, verb_of

if TYPE_CHECKING:
    from sayso.reading.paths.places import Place

UNKNOWN = ("send_unknown", "send_to_unknown", "send_to_unknown_channel")
GROUP = "send_group_without_context"


class Where(msgspec.Struct, frozen=True):
    """The folders a call is made in."""

    folder: str
    workspace: str
    home: str


def operations_for(
    tool: str, args: Mapping[str, Any], policy: Policy, *, folder: str, workspace: str, home: str
) -> tuple[Operation, ...]:
    """Everything this call does. A tool that no entry fits is an operation of its own that nothing lists."""
    entry, sure, asked = _chosen(tool, args, policy, folder)
    went_by = named_in(asked, args)
    if entry is None:
        return (because(_undeclared(tool, policy), went_by),)
    where = Where(folder, workspace, home)
    resolve = _RESOLVERS[entry.resolve] if entry.resolve else _named
    operations = [because(_declared(one, entry), went_by) for one in resolve(entry, args, policy, where)]
    if not sure:
        operations = [msgspec.structs.replace(one, reading=Risk.HIGH) for one in operations]
    return distinct(with_content(one, args, policy) for one in operations)


def knows(tool: str, policy: Policy) -> bool:
    """Whether any entry is about this tool, though it may fit other arguments only."""
    return bool(policy.entries_for(tool))


def entry_for(tool: str, args: Mapping[str, Any], policy: Policy, *, folder: str) -> tuple[Tool | None, bool]:
    """The first entry that fits, and whether that is sure: one whose `when` fails is used, as high."""
    entry, sure, _ = _chosen(tool, args, policy, folder)
    return entry, sure


def _chosen(
    tool: str, args: Mapping[str, Any], policy: Policy, folder: str
) -> tuple[Tool | None, bool, list[str]]:
    """The same, with every `when` that had a say in it."""
    asked: list[str] = []
    for entry in policy.entries_for(tool):
        if entry.when is not None:
            asked.append(entry.when)
        fits = _when(entry, args, tool, folder)
        if fits is not False:
            return entry, fits is True, asked
    return None, True, asked


def target_for(
    tool: str,
    args: Mapping[str, Any],
    policy: Policy,
    *,
    folder: str,
    workspace: str,
    home: str | None = None,
) -> str | None:
    """Everything the call is declared to work on, in one text for people; None if no argument names it."""
    where = Where(folder, workspace, str(Path.home()) if home is None else home)
    entry, _ = entry_for(tool, args, policy, folder=folder)
    return joined_targets(declared_targets(entry, args, where))


def joined_targets(targets: tuple[str, ...]) -> str | None:
    """Several targets as one text; None only if there is none."""
    return ", ".join(targets) if targets else None


def declared_targets(entry: Tool | None, args: Mapping[str, Any], where: Where) -> tuple[str, ...]:
    """What the call works on, for plans, which name targets: the argument `target` names, or its path.

    A path inside the workspace is told from there on, with links resolved.
    """
    if entry is None:
        return ()
    if entry.target:
        return tuple(dict.fromkeys(str(value) for value in values_at(args, entry.target)))
    if entry.resolve != "path":
        return ()
    return tuple(dict.fromkeys(_path_target(one, where) for one in values_at(args, entry.source or "")))


def real_places(entry: Tool, args: Mapping[str, Any], where: Where) -> tuple[str, ...]:
    """The real paths that the arguments of this call lead to now, links followed."""
    if entry.resolve not in ("path", "url"):
        return ()
    found = (_real_place(value, entry, where) for value in values_at(args, entry.source or ""))
    return tuple(sorted({place for place in found if place is not None}))


def _real_place(value: object, entry: Tool, where: Where) -> str | None:
    from sayso.reading.paths.places import locate

    if entry.resolve == "url":
        from sayso.reading.urls import reach

        found = reach(value)
        if found is None or found.scheme != "file":
            return None
        value = found.path
    return locate(value, folder=where.folder, workspace=where.workspace, home=where.home).real


def _path_target(path: object, where: Where) -> str:
    from sayso.reading.paths.places import locate
    from sayso.reading.paths.targets import written_in_plans

    place = locate(path, folder=where.folder, workspace=where.workspace, home=where.home)
    return written_in_plans(path, place, where.workspace)


def _when(entry: Tool, args: Mapping[str, Any], tool: str, folder: str) -> bool | None:
    """True or false as the entry's condition says; None if it fails."""
    if entry.when is None:
        return True
    from sayso.reading.cel import NotDecided, holds

    try:
        return holds(entry.when, args, tool, folder)
    except NotDecided:
        return None


def _undeclared(tool: str, policy: Policy) -> Operation:
    """The tool itself as an operation. With a changed name it must not borrow what another one may do."""
    plain = unicodedata.normalize("NFC", tool)
    action = re.sub(r"[^\w-]", "_", plain)
    action = action if re.match(r"\w", action) else f"_{action}"
    name = f"tools.{action}"
    borrowed = action != tool and name in policy.table
    return Operation(name, reading=Risk.HIGH if borrowed else None)


def _named(entry: Tool, args: Mapping[str, Any], policy: Policy, where: Where) -> Iterable[Operation]:
    if entry.operation is None:
        return [Operation("tools.unknown", reading=Risk.HIGH)]
    return [Operation(entry.operation)]


def _recipient(entry: Tool, args: Mapping[str, Any], policy: Policy, where: Where) -> Iterable[Operation]:
    """One operation for each recipient, by who that is; and one for a group that was given no context."""
    from sayso.reading.recipients import normalised, separated

    domain = entry.domain or "tools"
    values = found_at(args, entry.source or "")
    written = {normalised(one) or one: piece(name, one) for name, value in values for one in separated(value)}
    operations = [_sending(one, domain, policy, said) for one, said in written.items()] or [
        _barred(domain, policy, UNKNOWN, _NOBODY)
    ]
    if len(written) > 1 and not (entry.context and filled(args, entry.context)):
        crowd = _barred(domain, policy, (GROUP,), _CROWD)
        operations.append(because(crowd, (one for said in written.values() for one in said)))
    return operations


_NOBODY = "it cannot be told who this goes to"
_STRANGER = "the recipient is no known contact"
_CROWD = "it goes to several recipients without context"


def _sending(recipient: str, domain: str, policy: Policy, said: tuple[Piece, ...]) -> Operation:
    """What sending to this recipient is. Only one whom nobody knows is told as what made it so."""
    from sayso.reading.recipients import same

    if same(recipient, policy.vip_contacts.values()):
        return Operation(f"{domain}.{_first_listed(domain, policy, ('send_vip', 'send')) or 'send_vip'}")
    if same(recipient, policy.family_contacts.values()):
        return Operation(
            f"{domain}.{_first_listed(domain, policy, ('send_family', 'send')) or 'send_family'}"
        )
    return because(_barred(domain, policy, UNKNOWN, _STRANGER), said)


def _barred(domain: str, policy: Policy, actions: tuple[str, ...], why: str) -> Operation:
    """The first of these actions that the domain lists; if it lists none, the call is refused outright."""
    listed = _first_listed(domain, policy, actions)
    return Operation(f"{domain}.{listed or actions[0]}", barred=None if listed else why)


def _path(entry: Tool, args: Mapping[str, Any], policy: Policy, where: Where) -> Iterable[Operation]:
    from sayso.reading.urls import is_address

    operation = entry.operation or "files.write"
    found = found_at(args, entry.source or "") or [("", _here(operation, where))]
    return [
        *(_at_path(operation, value, policy, where, piece(name, value)) for name, value in found),
        *(_at_address(operation, value, piece(name, value)) for name, value in found if is_address(value)),
        *_other_paths(operation, entry, args, policy, where),
    ]


def _here(operation: str, where: Where) -> str | None:
    """Listing and searching without a path go through the working folder; all else cannot be told."""
    return where.folder or None if verb_of(operation) in LISTS else None


def _other_paths(
    operation: str, entry: Tool, args: Mapping[str, Any], policy: Policy, where: Where
) -> Iterator[Operation]:
    """What the arguments beside the declared ones add: a tool may take a path under another name."""
    from sayso.reading.paths.arguments import paths_beside, texts_of
    from sayso.reading.paths.places import locate
    from sayso.reading.paths.targets import may_be_file

    read = {name for name, _ in found_at(args, entry.source or "")}
    given = paths_beside(
        texts_of(args), read, folder=where.folder, home=where.home, named=(entry.tool, operation)
    )
    reads, writing = verb_of(operation) in READS, f"{operation.partition('.')[0]}.write"
    for one in dict.fromkeys((each.argument, each.path, each.written) for each in given):
        name, value, written = one
        place = locate(value, folder=where.folder, workspace=where.workspace, home=where.home)
        leads_out = (place.real is not None and not place.inside) or place.system or place.versions
        if reads and written and may_be_file(name, value, where.folder):
            yield _at_path(writing, value, policy, where, piece(name, value))
        elif place.secret or (leads_out and not reads):
            yield _at_path(operation, value, policy, where, piece(name, value))


def _at_path(
    operation: str, path: object, policy: Policy, where: Where, said: tuple[Piece, ...]
) -> Operation:
    """What an operation on this path is, and that the path made it so, unless it is plainly inside."""
    from sayso.reading.paths.guard import touching_guard
    from sayso.reading.paths.places import locate

    place = locate(path, folder=where.folder, workspace=where.workspace, home=where.home)
    if path is None and verb_of(operation) in INTO:  # a search without a folder goes through this one
        here = locate(where.folder, folder=where.folder, workspace=where.workspace, home=where.home)
        place = msgspec.structs.replace(place, guarded=here.guarded)
    found = touching_guard(operation, place)
    if found is None and _nowhere(path, place, where):
        found = Operation(operation, reading=Risk.HIGH, found=words.UNKNOWN_FOLDER)
    found = found or _at_place(operation, place, policy)
    plain = found.reading is None and (place.inside or found.name == operation)
    return found if plain else because(found, said)


def _at_address(operation: str, url: object, said: tuple[Piece, ...]) -> Operation:
    """What a file tool does besides that is given an address: it goes to the network."""
    from sayso.reading.urls import reach

    found, reads = reach(url), verb_of(operation) in READS
    public = reads and found is not None and found.open
    name = "network.fetch" if reads else "network.api"
    return because(Operation(name, reading=None if public else Risk.HIGH), said)


def _nowhere(path: object, place: Place, where: Where) -> bool:
    """Whether it is a plain relative path of somebody without folder or workspace: outside of what?"""
    from sayso.reading.paths.spellings import is_plain

    if where.folder or where.workspace or not isinstance(path, str) or not path.strip():
        return False
    relative = is_plain(path) and not path.startswith(("/", "~"))
    return relative and not (place.secret or place.system or place.versions)


def _at_place(operation: str, place: Place, policy: Policy) -> Operation:
    """A path that cannot be told is outside, and reading it is not low."""

    domain, _, action = operation.partition(".")
    verb = action.partition("_")[0]
    if verb in READS:
        unsafe = Risk.HIGH if place.secret or place.telling else None
        return Operation(operation, reading=unsafe if place.real else Risk.HIGH)
    if place.secret:
        return _strict(domain, policy, "modify_secrets")
    if not place.inside:
        kind = "delete" if verb in DELETES else "write"
        outside = _strict(domain, policy, f"{kind}_outside_workspace")
        return msgspec.structs.replace(outside, reading=Risk.HIGH) if place.system else outside
    risky = Risk.HIGH if place.system or place.versions else None
    return Operation(f"{domain}.{_inside(domain, action, policy)}", reading=risky)


def _inside(domain: str, action: str, policy: Policy) -> str:
    """A write inside the workspace, under the name the domain has for it."""
    if action.partition("_")[0] in DELETES:
        return action
    wanted = ("write_workspace", "write") if action == "write" else (action, "write_workspace")
    return _first_listed(domain, policy, wanted) or action


def _strict(domain: str, policy: Policy, action: str) -> Operation:
    """This action of the domain; as high risk where the domain does not list it."""
    listed = _first_listed(domain, policy, (action,))
    return Operation(f"{domain}.{action}", reading=None if listed else Risk.HIGH)


def _url(entry: Tool, args: Mapping[str, Any], policy: Policy, where: Where) -> Iterable[Operation]:
    found = found_at(args, entry.source or "")
    return [
        _at_url(entry, value, args, policy, where, piece(name, value))
        for name, value in found or [("", None)]
    ]


def _at_url(
    entry: Tool,
    url: object,
    args: Mapping[str, Any],
    policy: Policy,
    where: Where,
    said: tuple[Piece, ...],
) -> Operation:
    """Fetching a public address is what it says; anything nearer, stranger or unreadable is high risk."""
    from sayso.reading.paths.guard import guarded_path
    from sayso.reading.urls import reach

    found = reach(url)
    fetches = str(args.get("method") or "GET").upper() in ("GET", "HEAD")
    at_file = "files.read" if fetches else "files.write"
    if found is not None and found.scheme == "file":
        return _at_path(at_file, found.path, policy, where, said)
    if found is None or found.scheme not in ("http", "https"):
        guarded = guarded_path(at_file, url, folder=where.folder, workspace=where.workspace, home=where.home)
        if guarded is not None:
            return because(guarded, said)
    operation = entry.operation or f"{entry.domain}.{'fetch' if fetches else 'api'}"
    sends = () if fetches or entry.operation else piece("method", args.get("method"))
    public = found is not None and found.open
    return because(
        Operation(operation, reading=None if public else Risk.HIGH), sends if public else (*said, *sends)
    )


def _shell(entry: Tool, args: Mapping[str, Any], policy: Policy, where: Where) -> Iterable[Operation]:
    """A command line that nobody has read yet: it cannot be told what it does."""
    return [Operation(entry.operation or "shell.run", reading=Risk.HIGH)]


Resolver = Callable[[Tool, Mapping[str, Any], Policy, Where], Iterable[Operation]]
_RESOLVERS: dict[str, Resolver] = {"recipient": _recipient, "path": _path, "url": _url, "shell": _shell}


def _first_listed(domain: str, policy: Policy, actions: Iterable[str]) -> str | None:
    lists = policy.domains.get(domain, Domain())
    listed = {*lists.autonomous, *lists.requires_approval, *lists.blocked}
    return next((action for action in actions if action in listed), None)


def _declared(operation: Operation, entry: Tool) -> Operation:
    return msgspec.structs.replace(operation, risk=entry.risk, declared=True)


def watches_content(operation: Operation, policy: Policy) -> bool:
    """Whether the operation's domain watches for the same content going out twice."""
    return _content_from(operation, policy) is not None


def with_content(operation: Operation, args: Mapping[str, Any], policy: Policy) -> Operation:
    """What is sent, as a digest, where the domain watches for the same content going out twice."""
    path = _content_from(operation, policy)
    found = values_at(args, path) if path else []
    if not found:
        return operation
    try:
        return msgspec.structs.replace(
            operation, content=sha256(canonical(found[0] if len(found) == 1 else found))
        )
    except NotCanonical:
        return msgspec.structs.replace(operation, reading=Risk.HIGH)


def _content_from(operation: Operation, policy: Policy) -> str | None:
    return policy.domains.get(operation.name.partition(".")[0], Domain()).content_from
