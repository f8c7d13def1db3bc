"""Reading a whole call: what it does, which command it runs, what it works on.

Every door reads its calls here, and a call that waited is read here again before it starts:

- The operations of the tool entry that fits add up with what was declared, and the strictest decides.
- A command line is the argument that the entry names, and nothing else.
- Over a connection a declaration only raises; in this process it is believed.
- Operations of git are what their arguments make of them, whoever declared them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sayso.core import words
from sayso.core.digest import decode_canonical
from sayso.core.errors import MalformedRequest
from sayso.core.model import Call, Declaration, Operation, Risk
from sayso.core.policy import Policy
from sayso.reading.beside import arguments_beside
from sayso.reading.command_lines import command_of_call, operations_of_line
from sayso.reading.git_flags import read_flags
from sayso.reading.path_operations import CallFolders
from sayso.reading.resolve import (
    add_content_digest,
    find_declared_targets,
    find_fitting_entries,
    find_tool_entry,
    join_targets,
    operations_for,
    real_places,
)
from sayso.reading.verbs import is_git_operation

OTHERWISE = "read otherwise by another policy"
"""Stands among the arguments beside a command that policies read differently, so that nothing covers it."""


class CallReading(msgspec.Struct, frozen=True):
    """A call as the policy and the declarations read it, at one moment.

    `command_from` is the argument that the tool is declared to run as a command, if it is declared at all.
    """

    operations: tuple[Operation, ...]
    command: str | None = None
    command_from: str | None = None
    beside: tuple[str, ...] = ()
    target: str | None = None
    targets: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    title: str | None = None


def read_call(
    tool: str,
    args: Mapping[str, Any],
    policy: Policy,
    where: CallFolders,
    declared: Declaration,
    *,
    evaluated: bool = False,
) -> CallReading:
    """Read this call as it stands now. Where several policies read, what they find adds up.

    So it does where the policy lists a tool of an MCP server under several names that the call's may mean.

    `evaluated` says that its arguments are those of an AuthZEN evaluation.
    """
    if policy.readings:
        joined = {"table": policy.table, "barred_domains": policy.barred_domains, "settings": policy.settings}
        ways = (msgspec.structs.replace(one, **joined) for one in policy.readings)  # the strictest decides
        return _join_readings(
            [read_call(tool, args, one, where, declared, evaluated=evaluated) for one in ways]
        )
    found = _join_readings([_read_entry(one, args, policy, where, declared) for one in policy.names_of(tool)])
    operations = found.operations
    if any(is_git_operation(one.name) for one in operations):
        runs = None if found.command is None else operations_of_line(found.command, policy, where)
        read = read_flags(operations, args, runs, found.beside, evaluated=evaluated)
        stay = (one for one in operations if one not in read and policy.mark_of(one.name))
        operations = (*read, *stay)  # what an argument makes of it is added to what is marked
    return msgspec.structs.replace(found, operations=operations)


def _join_readings(found: Sequence[CallReading]) -> CallReading:
    """Everything that any of them found. A command that not all of them see covers nothing."""
    first = found[0]
    if len(found) == 1:
        return first
    agreed = all((one.command, one.command_from) == (first.command, first.command_from) for one in found)
    command = next((one.command for one in found if one.command is not None), None)
    targets = tuple(dict.fromkeys(target for one in found for target in one.targets))
    beside = tuple(dict.fromkeys(name for one in found for name in one.beside))
    return CallReading(
        operations=tuple(dict.fromkeys(one for each in found for one in each.operations)),
        command=command,
        command_from=first.command_from if agreed else None,
        beside=beside if agreed else (*beside, OTHERWISE),
        target=join_targets(targets),
        targets=targets,
        places=tuple(sorted({place for one in found for place in one.places})),
        title=first.title if all(one.title == first.title for one in found) else None,
    )


def _read_entry(
    tool: str, args: Mapping[str, Any], policy: Policy, where: CallFolders, declared: Declaration
) -> CallReading:
    """Read the matching entry and the declarations, before any flags.

    A call that no entry fits is an operation as well, which nothing lists, unless others than an agent
    declare some for it.
    """
    entries = find_fitting_entries(tool, args, policy, folder=where.folder).entries
    told = not entries and declared.by != "agent" and declared.operations
    read = () if told else operations_for(tool, args, policy, **msgspec.structs.asdict(where))
    if not entries:
        return CallReading(add_declared(read, declared, args, policy))
    entry = entries[0]
    command, targets = command_of_call(args, entry), find_declared_targets(entry, args, where)
    command = command if isinstance(command, str) else None
    return CallReading(
        operations=read if declared.by == "name" else add_declared(read, declared, args, policy),
        command=command,
        command_from=entry.command_from,
        beside=() if command is None else arguments_beside(args, entry, (entry.command_from or "",)),
        target=join_targets(targets),
        targets=targets,
        places=tuple(sorted({place for one in entries for place in real_places(one, args, where, policy)})),
        title=entry.title,
    )


def check_command(claimed: str | None, reading: CallReading, call: Call) -> None:
    """Refuse a command that is not, word for word, the one the tool's declaration says it runs."""
    if claimed is None or claimed == reading.command:
        return
    if reading.command_from is not None:
        argument = reading.command_from.removeprefix("args.")
        raise MalformedRequest(words.other_command(argument), hint=words.leave_command_out(argument))
    holding = (name for name, value in decode_canonical(call.arguments).items() if value == claimed)
    hint = words.declare_command(call.tool, next(holding, "ARGUMENT"))
    raise MalformedRequest(words.runs_no_command(call.tool), hint=hint)


def command_argument(tool: str, args: Mapping[str, Any], policy: Policy, folder: str) -> str | None:
    """The name of the argument that this tool runs as a command, if it is an argument by itself."""
    entry, _ = find_tool_entry(tool, args, policy, folder=folder)
    path = None if entry is None else entry.command_from
    name = path.removeprefix("args.") if path is not None else None
    return name if name in args else None


def add_declared(
    read: Sequence[Operation], declared: Declaration, args: Mapping[str, Any], policy: Policy
) -> tuple[Operation, ...]:
    """Join the operations read in a call with those declared. A declaration adds and raises.

    Of several readings under one name (two paths, one of them a secret) each is kept, so that the strictest
    decides.
    """
    found = list(read)
    for one in declared.operations:
        said = add_content_digest(_accept_declaration(one, declared), args, policy)
        new = [] if any(known.name == said.name for known in found) else [said]
        raised = (_raise_to_declared(known, said) if known.name == said.name else known for known in found)
        found = [*raised, *new]
    return tuple(found)


def arguments_beside_command(
    tool: str, args: Mapping[str, Any], command: str, policy: Policy, folder: str
) -> tuple[str, ...]:
    """The arguments that count beside a command that whoever plays the call says it runs."""
    entry, _ = find_tool_entry(tool, args, policy, folder=folder)
    return arguments_beside(args, entry, [name for name, value in args.items() if value == command])


def _accept_declaration(operation: Operation, declared: Declaration) -> Operation:
    """Return the part of a declaration that counts. Over a connection only the policy declares low risk."""
    if declared.by == "code":
        return msgspec.structs.replace(operation, declared=True)
    if declared.by == "name":
        return operation
    return Operation(
        operation.name,
        risk=None if operation.risk is Risk.LOW else operation.risk,
        weight=operation.weight if operation.weight is Risk.HIGH else None,
        reason=operation.reason,
    )


def _raise_to_declared(read: Operation, said: Operation) -> Operation:
    """The same operation, read and declared: the higher risk of the two."""
    risks = [risk for risk in (read.risk, said.risk) if risk is not None]
    return msgspec.structs.replace(
        read,
        risk=max(risks, default=None),
        weight=said.weight if said.weight is not None else read.weight,
        reason=said.reason or read.reason,
    )
