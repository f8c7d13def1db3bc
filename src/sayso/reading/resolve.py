"""A call to its operations, by the first entry of the policy's `tools` that fits."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from sayso.core.command_arguments import fold_argument
from sayso.core.digest import encode_canonical, sha256
from sayso.core.errors import NotCanonical
from sayso.core.model import Operation, Piece, Risk
from sayso.core.policy import UNLISTED_TOOLS, Domain, Policy, Tool
from sayso.reading.arguments import arguments_at, has_value_at, named_values, values_at
from sayso.reading.beside import change_line, folders_of_line
from sayso.reading.cel import condition_holds
from sayso.reading.command_lines import CHANGES, add_command, operations_of_command, places_of_command
from sayso.reading.evidence import add_evidence, merge_same_operations, pieces_from_value, pieces_named_in
from sayso.reading.path_operations import CallFolders, first_listed, operation_at_path
from sayso.reading.paths.finding.path_arguments import collect_texts, find_other_paths, read_patches_in
from sayso.reading.paths.finding.targets import as_written_in_plans, may_be_file
from sayso.reading.paths.guard import operation_on_guarded_path
from sayso.reading.paths.places import locate
from sayso.reading.recipients import find_other_recipients, is_contact, normalise_recipient, split_recipients
from sayso.reading.search_below import operations_below
from sayso.reading.urls import find_local_path, find_near_addresses, is_address, is_public_address, read_url
from sayso.reading.verbs import LIST_VERBS, READ_VERBS, verb_of

UNKNOWN = ("send_unknown", "send_to_unknown", "send_to_unknown_channel")
GROUP = "send_group_without_context"


def operations_for(
    tool: str, args: Mapping[str, Any], policy: Policy, *, folder: str, workspace: str, home: str
) -> tuple[Operation, ...]:
    """Everything this call does. A tool that no entry fits is an operation of its own that nothing lists."""
    fitting = find_fitting_entries(tool, args, policy, folder=folder)
    went_by = pieces_named_in(fitting.conditions, args)
    where = CallFolders(folder, workspace, home)
    found: list[Operation] = []
    for entry in fitting.entries:
        plain = list(_RESOLVERS[entry.resolve](entry, args, policy, where))
        read = add_command(plain, entry, args, policy, where)
        found += (msgspec.structs.replace(one, risk=entry.risk, declared=True) for one in read)
    unlisted = _operation_of_unlisted_tool(tool, policy)
    if not fitting.entries:
        return (add_evidence(unlisted, went_by),)
    if not fitting.ends and policy.mark_of(unlisted.name):
        found.append(unlisted)
    if not fitting.sure:
        found = [one.read_as(Risk.HIGH) for one in found]
    told = (add_evidence(one, went_by) for one in found)
    return merge_same_operations(add_content_digest(one, args, policy) for one in told)


class FittingEntries(msgspec.Struct, frozen=True):
    """The entries that a call may be read by: one, unless a `when` fails.

    Such an entry is used, at high risk; and since nobody can tell whether it fits, so are those after it, up
    to the first that does. `ends` says whether one does: if not, the call may be one that no entry fits.
    """

    entries: tuple[Tool, ...]
    conditions: tuple[str, ...]
    """Every `when` that had a say in it."""
    ends: bool

    @property
    def sure(self) -> bool:
        return len(self.entries) == 1 and self.ends


def find_tool_entry(
    tool: str, args: Mapping[str, Any], policy: Policy, *, folder: str
) -> tuple[Tool | None, bool]:
    """The first entry that may fit, and whether that is sure."""
    found = find_fitting_entries(tool, args, policy, folder=folder)
    return (found.entries[0], found.sure) if found.entries else (None, True)


def find_fitting_entries(
    tool: str, args: Mapping[str, Any], policy: Policy, *, folder: str
) -> FittingEntries:
    """The entries that this call is read by, the first that may fit at first."""
    found: list[Tool] = []
    asked: list[str] = []
    for entry in policy.entries_for(tool):
        asked += [entry.when] if entry.when is not None else []
        fits = entry.when is None or condition_holds(entry.when, args, tool, folder)
        if fits is not False:
            found.append(entry)
        if fits:
            return FittingEntries(tuple(found), tuple(asked), ends=True)
    return FittingEntries(tuple(found), tuple(asked), ends=False)


def join_targets(targets: tuple[str, ...]) -> str | None:
    """Several targets as one text; None only if there is none."""
    return ", ".join(targets) if targets else None


def find_declared_targets(entry: Tool | None, args: Mapping[str, Any], where: CallFolders) -> tuple[str, ...]:
    """Return the call's targets, which plans name: the argument named by `target`, or its path.

    A path inside the workspace is told from there on, with links resolved.
    """
    if entry is None:
        return ()
    if entry.target:
        return tuple(dict.fromkeys(str(value) for value in values_at(args, entry.target)))
    located = ((one, locate(one, **msgspec.structs.asdict(where))) for one in _paths_of(entry, args))
    return tuple(dict.fromkeys(as_written_in_plans(one, place, where.workspace) for one, place in located))


def _paths_of(entry: Tool, args: Mapping[str, Any]) -> list[Any]:
    """Return the paths that a call works on, as its entry says."""
    if entry.resolve == "patch":
        return [file.path for _, found in read_patches_in(args) for file in found.files]
    return values_at(args, entry.source or "") if entry.resolve == "path" else []


def real_places(entry: Tool, args: Mapping[str, Any], where: CallFolders, policy: Policy) -> tuple[str, ...]:
    """The real paths that the arguments of this call lead to now, and the files that it runs, as they are."""
    found = set() if entry.command_from is None else set(places_of_command(entry, args, policy, where))
    paths = _paths_of(entry, args)
    if entry.resolve == "url":
        local = map(find_local_path, values_at(args, entry.source or ""))
        paths = [path for path in local if path is not None]
    named = (locate(one, **msgspec.structs.asdict(where)).real for one in paths)
    return tuple(sorted(found.union(place for place in named if place is not None)))


def _operation_of_unlisted_tool(tool: str, policy: Policy) -> Operation:
    """The tool itself as an operation. With a changed name it must not borrow what another one may do."""
    plain = unicodedata.normalize("NFC", tool)
    action = re.sub(r"[^\w-]", "_", plain)
    action = action if re.match(r"\w", action) else f"_{action}"
    name = f"{UNLISTED_TOOLS}.{action}"
    borrowed = action != tool and name in policy.table
    return Operation(name, reading=Risk.HIGH if borrowed else None)


def _resolve_plain(
    entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterable[Operation]:
    known = entry.operation is not None
    return [Operation(entry.operation or "tools.unknown", reading=None if known else Risk.HIGH)]


def _resolve_recipient(
    entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterable[Operation]:
    """One operation for each recipient, by who that is; and one for a group that was given no context."""
    domain = entry.domain or "tools"
    source = entry.source or ""
    values = [*arguments_at(args, source), *find_other_recipients(args, source)]
    written = {
        normalise_recipient(one) or one: pieces_from_value(name, one)
        for name, value in values
        for one in split_recipients(value)
    }
    operations = [_operation_for_recipient(one, domain, policy, said) for one, said in written.items()] or [
        _first_listed_or_barred(domain, policy, UNKNOWN, "goes to a recipient that cannot be determined")
    ]
    if len(written) > 1 and not (entry.context and has_value_at(args, entry.context)):
        crowd = _first_listed_or_barred(
            domain, policy, (GROUP,), "goes to several recipients without context"
        )
        operations.append(add_evidence(crowd, (one for said in written.values() for one in said)))
    stays = entry.operation is not None and policy.mark_of(entry.operation) > 0
    return [*operations, Operation(entry.operation or "")] if stays else operations


def _operation_for_recipient(
    recipient: str, domain: str, policy: Policy, said: tuple[Piece, ...]
) -> Operation:
    """Return the operation of sending to this recipient; an unknown one is named as the cause."""
    for action, contacts in (("send_vip", policy.vip_contacts), ("send_family", policy.family_contacts)):
        if is_contact(recipient, contacts.values()):
            return Operation(f"{domain}.{first_listed(domain, policy, (action, 'send')) or action}")
    return add_evidence(
        _first_listed_or_barred(domain, policy, UNKNOWN, "goes to somebody who is not a known contact"), said
    )


def _first_listed_or_barred(domain: str, policy: Policy, actions: tuple[str, ...], why: str) -> Operation:
    """The first of these actions that the domain lists; if it lists none, the call is refused outright."""
    listed = first_listed(domain, policy, actions)
    return Operation(f"{domain}.{listed or actions[0]}", barred=None if listed else why)


def _resolve_path(
    entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterable[Operation]:
    operation = entry.operation or "files.write"
    # Listing and searching without a path go through the working folder; all else cannot be told.
    default = where.folder or None if verb_of(operation) in LIST_VERBS else None
    found = arguments_at(args, entry.source or "") or [("", default)]
    return [
        *(
            operation_at_path(operation, value, policy, where, pieces_from_value(name, value))
            for name, value in found
        ),
        *(
            _at_address(operation, value, pieces_from_value(name, value))
            for name, value in found
            if is_address(value)
        ),
        *_operations_at_other_paths(operation, entry, {name for name, _ in found}, args, policy, where),
        *operations_below(entry.tool, operation, found, args, where),
    ]


def _operations_at_other_paths(
    operation: str, entry: Tool, read: set[str], args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterator[Operation]:
    """Yield operations at paths in undeclared arguments: a tool may take a path under another name."""
    given = find_other_paths(
        collect_texts(args), read, folder=where.folder, home=where.home, named=(entry.tool, operation)
    )
    reads, writing = verb_of(operation) in READ_VERBS, f"{operation.partition('.')[0]}.write"
    for name, value, written in dict.fromkeys((one.argument, one.path, one.written) for one in given):
        place = locate(value, folder=where.folder, workspace=where.workspace, home=where.home)
        outside = place.real is not None and not place.inside
        leads_out = outside or place.system or place.versions or place.shared
        if reads and written and may_be_file(name, value, where.folder):
            yield operation_at_path(writing, value, policy, where, pieces_from_value(name, value))
        elif place.secret or (leads_out and not reads):
            yield operation_at_path(operation, value, policy, where, pieces_from_value(name, value))


def _resolve_patch(
    entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterable[Operation]:
    """Return what the patch does to each file, in every folder that the call names.

    One that is not wholly understood may do anything.
    """
    domain, patches = entry.domain or "files", read_patches_in(args)
    for one, found in patches:
        for file, folder in itertools.product(found.files, folders_of_line(args, entry, where)):
            operation, said = f"{domain}.{file.change}", pieces_from_value(one.argument, file.path)
            yield operation_at_path(operation, file.path, policy, folder, said)
    if not patches or not all(found.complete for _, found in patches):
        unread = (piece for one, _ in patches for piece in pieces_from_value(one.argument, one.text))
        yield add_evidence(Operation(f"{domain}.edit", reading=Risk.HIGH), unread)
    read = {one.argument for one, _ in patches}
    yield from _operations_at_other_paths(f"{domain}.edit", entry, read, args, policy, where)


def _at_address(operation: str, url: object, said: tuple[Piece, ...]) -> Operation:
    """Return the network operation of a file tool that is given an address."""
    reads = verb_of(operation) in READ_VERBS
    risk = None if reads and is_public_address(url) else Risk.HIGH
    return add_evidence(Operation("network.fetch" if reads else "network.api", reading=risk), said)


def _resolve_url(
    entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterable[Operation]:
    """Return what the call does at each address; what it does at any of them, too, if that is marked."""
    found = arguments_at(args, entry.source or "") or [("", None)]
    at_each = [
        _operation_at_url(entry, value, args, policy, where, pieces_from_value(name, value))
        for name, value in found
    ]
    if not _fetches(args):
        read = (
            operation_at_path("files.read", path, policy, where, pieces_from_value(name, value))
            for name, value in found
            if (path := find_local_path(value)) is not None
        )
        # Whatever else is done at files that are named as addresses, they may be read.
        at_each += (one for one in read if policy.mark_of(one.name))
    at_each += _operations_at_near_addresses(entry, args)
    named = {one.name for one in at_each}
    stay = (one for one in _operations_at_any_url(entry, args, policy) if one not in named)
    return [*at_each, *(Operation(one) for one in stay if policy.mark_of(one))]


def _operations_at_near_addresses(entry: Tool, args: Mapping[str, Any]) -> Iterator[Operation]:
    """Yield what the call does where undeclared arguments lead it: a tool may take more than one address."""
    operation = Operation(_operation_at_any_url(entry, args), reading=Risk.HIGH)
    for name, value in find_near_addresses(args, entry.source or ""):
        yield add_evidence(operation, pieces_from_value(name, value))


def _operations_at_any_url(entry: Tool, args: Mapping[str, Any], policy: Policy) -> tuple[str, ...]:
    """Return what the call does wherever it leads.

    It fetches as well unless its `method`, and each under another name, says that it sends, and the policy
    lists that.
    """
    plain = _operation_at_any_url(entry, args)
    others = (value for name, value in named_values(args) if fold_argument(name) in _METHODS)
    sends = all(
        str(one).upper() in ("POST", "PUT", "PATCH", "DELETE") for one in (args.get("method"), *others)
    )
    listed = sends and first_listed(entry.domain or "", policy, ("api",))
    return (plain,) if entry.operation or listed else (plain, f"{entry.domain}.fetch")


_METHODS = frozenset(
    {"method", "httpmethod", "requestmethod", "verb", "httpverb", "xhttpmethod", "xhttpmethodoverride",
     "xmethodoverride", "methodoverride"}
)  # fmt: skip
_BODIES = frozenset(
    {"body", "content", "data", "json", "form", "formdata", "formfields", "payload", "postdata", "raw",
     "upload", "postbody", "rawbody", "jsonbody", "bodytext", "bodyjson", "requestbody", "files", "multipart"}
)  # fmt: skip
"""Names of arguments that say how an address is called, and of what is sent there."""


def _fetches(args: Mapping[str, Any]) -> bool:
    """Return whether nothing is sent: nothing in the arguments names another method, or holds a body."""
    folded = [(fold_argument(name), value) for name, value in named_values(args) if value]
    return all(
        str(value).upper() in ("GET", "HEAD")
        if name in _METHODS
        else name not in _BODIES or isinstance(value, (bool, int, float))
        for name, value in folded
    )


def _operation_at_any_url(entry: Tool, args: Mapping[str, Any]) -> str:
    return entry.operation or f"{entry.domain}.{'fetch' if _fetches(args) else 'api'}"


def _operation_at_url(
    entry: Tool,
    url: object,
    args: Mapping[str, Any],
    policy: Policy,
    where: CallFolders,
    said: tuple[Piece, ...],
) -> Operation:
    """Fetching a public address is what it says; anything nearer, stranger or unreadable is high risk."""
    found = read_url(url)
    fetches = _fetches(args)
    at_file = "files.read" if fetches else "files.write"
    if found is not None and found.scheme == "file":
        return operation_at_path(at_file, found.path, policy, where, said)
    if found is None or found.scheme not in ("http", "https"):
        guarded = operation_on_guarded_path(
            at_file, url, folder=where.folder, workspace=where.workspace, home=where.home
        )
        if guarded is not None:
            return add_evidence(guarded, said)
    sends = () if fetches or entry.operation else pieces_from_value("method", args.get("method"))
    public = found is not None and found.open
    named = Operation(_operation_at_any_url(entry, args), reading=None if public else Risk.HIGH)
    return add_evidence(named, sends if public else (*said, *sends))


def _resolve_shell(
    entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterable[Operation]:
    """Return what the command line does, command by command. The entry's own operation is added."""
    declared = [Operation(entry.operation)] if entry.operation else []
    changes = [CHANGES] if change_line(args, entry) else []
    return [*declared, *changes, *operations_of_command(entry, args, policy, where)]


_RESOLVERS: dict[
    str | None, Callable[[Tool, Mapping[str, Any], Policy, CallFolders], Iterable[Operation]]
] = {
    None: _resolve_plain,
    "recipient": _resolve_recipient,
    "path": _resolve_path,
    "patch": _resolve_patch,
    "url": _resolve_url,
    "shell": _resolve_shell,
}


def watches_content(operation: Operation, policy: Policy) -> bool:
    """Return whether the operation's domain watches for the same content going out twice."""
    return _content_from(operation, policy) is not None


def add_content_digest(operation: Operation, args: Mapping[str, Any], policy: Policy) -> Operation:
    """Add the digest of the content where the domain watches for the same content sent twice."""
    path = _content_from(operation, policy)
    found = values_at(args, path) if path else []
    if not found:
        return operation
    try:
        return msgspec.structs.replace(
            operation, content=sha256(encode_canonical(found[0] if len(found) == 1 else found))
        )
    except NotCanonical:
        return operation.read_as(Risk.HIGH)


def _content_from(operation: Operation, policy: Policy) -> str | None:
    return policy.domains.get(operation.name.partition(".")[0], Domain()).content_from
