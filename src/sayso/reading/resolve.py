"""A call to its operations, by the first entry of the policy's `tools` that fits."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from sayso.core.digest import encode_canonical, sha256
from sayso.core.errors import NotCanonical
from sayso.core.model import Operation, Piece, Risk
from sayso.core.policy import Domain, Entry, Policy, Tool
from sayso.reading.arguments import arguments_at, has_value_at, values_at
from sayso.reading.beside import change_line, folders_of_line
from sayso.reading.evidence import add_evidence, merge_same_operations, pieces_from_value, pieces_named_in
from sayso.reading.path_operations import CallFolders, first_listed, operation_at_path
from sayso.reading.verbs import LIST_VERBS, READ_VERBS, verb_of

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from sayso.reading.shell.read import ShellReading

UNKNOWN = ("send_unknown", "send_to_unknown", "send_to_unknown_channel")
GROUP = "send_group_without_context"
UNLISTED_TOOLS = "tools"
"""The domain of tools that no entry fits."""


def operations_for(
    tool: str, args: Mapping[str, Any], policy: Policy, *, folder: str, workspace: str, home: str
) -> tuple[Operation, ...]:
    """Everything this call does. A tool that no entry fits is an operation of its own that nothing lists."""
    entry, sure, asked = _choose_entry(tool, args, policy, folder)
    went_by = pieces_named_in(asked, args)
    if entry is None:
        return (add_evidence(_operation_of_unlisted_tool(tool, policy), went_by),)
    where = CallFolders(folder, workspace, home)
    resolve = _RESOLVERS[entry.resolve] if entry.resolve else _resolve_plain
    read = _add_line(list(resolve(entry, args, policy, where)), entry, args, policy, where)
    operations = [add_evidence(_mark_declared(one, entry), went_by) for one in read]
    if not sure:
        operations = [msgspec.structs.replace(one, reading=Risk.HIGH) for one in operations]
    return merge_same_operations(add_content_digest(one, args, policy) for one in operations)


def find_tool_entry(
    tool: str, args: Mapping[str, Any], policy: Policy, *, folder: str
) -> tuple[Tool | None, bool]:
    """The first entry that fits, and whether that is sure: one whose `when` fails is used, as high."""
    entry, sure, _ = _choose_entry(tool, args, policy, folder)
    return entry, sure


def _choose_entry(
    tool: str, args: Mapping[str, Any], policy: Policy, folder: str
) -> tuple[Tool | None, bool, list[str]]:
    """The same, with every `when` that had a say in it."""
    asked: list[str] = []
    for entry in policy.entries_for(tool):
        if entry.when is not None:
            asked.append(entry.when)
        fits = _evaluate_when(entry, args, tool, folder)
        if fits is not False:
            return entry, fits is True, asked
    return None, True, asked


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
    if entry.resolve != "path":
        return ()
    return tuple(dict.fromkeys(_path_target(one, where) for one in values_at(args, entry.source or "")))


def real_places(entry: Tool, args: Mapping[str, Any], where: CallFolders, policy: Policy) -> tuple[str, ...]:
    """The real paths that the arguments of this call lead to now, and the files that it runs, as they are."""
    line = _command_line(entry, args)
    folders = () if line is None else folders_of_line(args, entry, where)
    found = {one for each in folders for one in _places_of_line(line or "", policy, each)}
    if entry.resolve in ("path", "url"):
        named = (_real_place(value, entry, where) for value in values_at(args, entry.source or ""))
        found.update(place for place in named if place is not None)
    return tuple(sorted(found))


def _places_of_line(line: str, policy: Policy, where: CallFolders) -> Iterator[str]:
    """The files that a command line runs, and where those lead that it names.

    Of a line that nobody can tell, every file that it names, as it is.
    """
    from sayso.reading.paths.named_files import digest_named_files, find_named_links

    reading = _read_shell(line, policy, where)
    yield from reading.pins
    yield from find_named_links(line, folder=where.folder, home=where.home)
    if reading.is_doubtful:
        yield from digest_named_files(line, folder=where.folder, home=where.home)


def _real_place(value: object, entry: Tool, where: CallFolders) -> str | None:
    from sayso.reading.paths.places import locate

    if entry.resolve == "url":
        from sayso.reading.urls import read_url

        found = read_url(value)
        if found is None or found.scheme != "file":
            return None
        value = found.path
    return locate(value, folder=where.folder, workspace=where.workspace, home=where.home).real


def _path_target(path: object, where: CallFolders) -> str:
    from sayso.reading.paths.finding.targets import as_written_in_plans
    from sayso.reading.paths.places import locate

    place = locate(path, folder=where.folder, workspace=where.workspace, home=where.home)
    return as_written_in_plans(path, place, where.workspace)


def _evaluate_when(entry: Tool, args: Mapping[str, Any], tool: str, folder: str) -> bool | None:
    """True or false as the entry's condition says; None if it fails."""
    if entry.when is None:
        return True
    from sayso.reading.cel import NotDecided, condition_holds

    try:
        return condition_holds(entry.when, args, tool, folder)
    except NotDecided:
        return None


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
    if entry.operation is None:
        return [Operation("tools.unknown", reading=Risk.HIGH)]
    return [Operation(entry.operation)]


def _resolve_recipient(
    entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterable[Operation]:
    """One operation for each recipient, by who that is; and one for a group that was given no context."""
    from sayso.reading.recipients import normalise_recipient, split_recipients

    domain = entry.domain or "tools"
    values = arguments_at(args, entry.source or "")
    written = {
        normalise_recipient(one) or one: pieces_from_value(name, one)
        for name, value in values
        for one in split_recipients(value)
    }
    operations = [_operation_for_recipient(one, domain, policy, said) for one, said in written.items()] or [
        _first_listed_or_barred(domain, policy, UNKNOWN, _NOBODY)
    ]
    if len(written) > 1 and not (entry.context and has_value_at(args, entry.context)):
        crowd = _first_listed_or_barred(domain, policy, (GROUP,), _CROWD)
        operations.append(add_evidence(crowd, (one for said in written.values() for one in said)))
    return operations


_NOBODY = "goes to a recipient that cannot be determined"
_STRANGER = "goes to somebody who is not a known contact"
_CROWD = "goes to several recipients without context"


def _operation_for_recipient(
    recipient: str, domain: str, policy: Policy, said: tuple[Piece, ...]
) -> Operation:
    """Return the operation of sending to this recipient; an unknown one is named as the cause."""
    from sayso.reading.recipients import is_contact

    if is_contact(recipient, policy.vip_contacts.values()):
        return Operation(f"{domain}.{first_listed(domain, policy, ('send_vip', 'send')) or 'send_vip'}")
    if is_contact(recipient, policy.family_contacts.values()):
        return Operation(f"{domain}.{first_listed(domain, policy, ('send_family', 'send')) or 'send_family'}")
    return add_evidence(_first_listed_or_barred(domain, policy, UNKNOWN, _STRANGER), said)


def _first_listed_or_barred(domain: str, policy: Policy, actions: tuple[str, ...], why: str) -> Operation:
    """The first of these actions that the domain lists; if it lists none, the call is refused outright."""
    listed = first_listed(domain, policy, actions)
    return Operation(f"{domain}.{listed or actions[0]}", barred=None if listed else why)


def _resolve_path(
    entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterable[Operation]:
    from sayso.reading.urls import is_address

    operation = entry.operation or "files.write"
    found = arguments_at(args, entry.source or "") or [("", _default_folder(operation, where))]
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
        *_operations_at_other_paths(operation, entry, args, policy, where),
    ]


def _default_folder(operation: str, where: CallFolders) -> str | None:
    """Listing and searching without a path go through the working folder; all else cannot be told."""
    return where.folder or None if verb_of(operation) in LIST_VERBS else None


def _operations_at_other_paths(
    operation: str, entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterator[Operation]:
    """Yield operations at paths in undeclared arguments: a tool may take a path under another name."""
    from sayso.reading.paths.finding.path_arguments import collect_texts, find_other_paths
    from sayso.reading.paths.finding.targets import may_be_file
    from sayso.reading.paths.places import locate

    read = {name for name, _ in arguments_at(args, entry.source or "")}
    given = find_other_paths(
        collect_texts(args), read, folder=where.folder, home=where.home, named=(entry.tool, operation)
    )
    reads, writing = verb_of(operation) in READ_VERBS, f"{operation.partition('.')[0]}.write"
    for one in dict.fromkeys((each.argument, each.path, each.written) for each in given):
        name, value, written = one
        place = locate(value, folder=where.folder, workspace=where.workspace, home=where.home)
        leads_out = (place.real is not None and not place.inside) or place.system or place.versions
        leads_out = leads_out or place.shared
        if reads and written and may_be_file(name, value, where.folder):
            yield operation_at_path(writing, value, policy, where, pieces_from_value(name, value))
        elif place.secret or (leads_out and not reads):
            yield operation_at_path(operation, value, policy, where, pieces_from_value(name, value))


def _at_address(operation: str, url: object, said: tuple[Piece, ...]) -> Operation:
    """Return the network operation of a file tool that is given an address."""
    from sayso.reading.urls import read_url

    found, reads = read_url(url), verb_of(operation) in READ_VERBS
    public = reads and found is not None and found.open
    name = "network.fetch" if reads else "network.api"
    return add_evidence(Operation(name, reading=None if public else Risk.HIGH), said)


def _resolve_url(
    entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterable[Operation]:
    """Return what the call does at each address; what it does at any of them, too, if that is marked."""
    found = arguments_at(args, entry.source or "") or [("", None)]
    plain = _operation_at_any_url(entry, args)
    at_each = [
        _operation_at_url(entry, value, args, policy, where, pieces_from_value(name, value))
        for name, value in found
    ]
    stays = (marked := policy.table.get(plain)) is not None and marked.is_marked
    return [*at_each, Operation(plain)] if stays and all(one.name != plain for one in at_each) else at_each


def _fetches(args: Mapping[str, Any]) -> bool:
    return str(args.get("method") or "GET").upper() in ("GET", "HEAD")


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
    from sayso.reading.paths.guard import operation_on_guarded_path
    from sayso.reading.urls import read_url

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
    operation = _operation_at_any_url(entry, args)
    sends = () if fetches or entry.operation else pieces_from_value("method", args.get("method"))
    public = found is not None and found.open
    return add_evidence(
        Operation(operation, reading=None if public else Risk.HIGH), sends if public else (*said, *sends)
    )


def _resolve_shell(
    entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterable[Operation]:
    """Return what the command line does, command by command. The entry's own operation is added."""
    declared = [Operation(entry.operation)] if entry.operation else []
    line = _command_line(entry, args)
    if line is None:
        return [*declared, _NOT_READ]
    if change_line(args, entry):
        declared.append(Operation("shell.run", reading=Risk.HIGH, found=_CHANGED))
    folders = folders_of_line(args, entry, where)
    return [*declared, *(one for each in folders for one in operations_of_line(line, policy, each))]


def _add_line(
    named: list[Operation], entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> list[Operation]:
    """Return the operations that an entry names for a command line, and what reading that line adds.

    It raises their risk. What the policy blocks, asks about every time or takes through the trusted channel
    alone stays what it is under any name.
    """
    if entry.resolve == "shell" or not has_value_at(args, entry.command_from or ""):
        return named
    line, folders = _command_line(entry, args), folders_of_line(args, entry, where)
    read = (
        [one for each in folders for one in operations_of_line(line, policy, each)]
        if line is not None
        else [_NOT_READ]
    )
    worst = max(read, key=lambda one: one.reading or Risk.LOW)
    kept = [one for one in read if one.barred or _is_kept(one, policy.entry(one.name))]
    return [*(_raise_reading(one, worst) for one in named), *kept]


def _is_kept(one: Operation, entry: Entry) -> bool:
    """Return whether the policy says something of this operation that no consent and no name takes away."""
    risks = (one.reading, entry.floor if entry.floor is not None else Risk.MODERATE)
    risk = max(risk for risk in risks if risk is not None)
    return entry.is_marked or entry.asks_always(risk)


def _raise_reading(one: Operation, worst: Operation) -> Operation:
    """The operation at the risk of the worst that was read, and if that is another one, for that reason."""
    if (worst.reading or Risk.LOW) <= (one.reading or Risk.LOW):
        return one
    why = {} if one.name == worst.name else {"found": worst.found, "because": worst.because}
    return msgspec.structs.replace(one, reading=worst.reading, **why)


_CHANGED = "runs with an argument beside its command line that may change what it does"


def operations_of_line(line: str, policy: Policy, where: CallFolders) -> tuple[Operation, ...]:
    """The operations of a command line, strictest first."""
    from sayso.reading.shell.read import operations_of_reading

    return operations_of_reading(_read_shell(line, policy, where), line)


_NO_LINE = "runs a command that is not one text"
_NOT_READ = Operation("shell.run", reading=Risk.HIGH, found=_NO_LINE)


def _command_line(entry: Tool, args: Mapping[str, Any]) -> str | None:
    """The command line of this call; a row of words is one, too."""
    if entry.command_from is None:
        return None
    found: Any = args
    for step in entry.command_from.removeprefix("args.").split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    if isinstance(found, (list, tuple)) and found and all(isinstance(one, str) for one in found):
        return shlex.join(found)
    return found if isinstance(found, str) else None


def _read_shell(line: str, policy: Policy, where: CallFolders) -> ShellReading:
    """The reading of a line, made once for a call."""
    from sayso.reading.paths.budget import current_budget
    from sayso.reading.shell.read import read_line

    seen, key = current_budget().seen, ("shell", line, where)
    if key not in seen:
        seen[key] = read_line(line, where, policy, policy.programs)
    found: ShellReading = seen[key]
    return found


Resolver = Callable[[Tool, Mapping[str, Any], Policy, CallFolders], Iterable[Operation]]
_RESOLVERS: dict[str, Resolver] = {
    "recipient": _resolve_recipient,
    "path": _resolve_path,
    "url": _resolve_url,
    "shell": _resolve_shell,
}


def _mark_declared(operation: Operation, entry: Tool) -> Operation:
    return msgspec.structs.replace(operation, risk=entry.risk, declared=True)


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
        return msgspec.structs.replace(operation, reading=Risk.HIGH)


def _content_from(operation: Operation, policy: Policy) -> str | None:
    return policy.domains.get(operation.name.partition(".")[0], Domain()).content_from
