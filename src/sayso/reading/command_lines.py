"""The command line of a call, as its tool entry names it: what it does, and what no name takes away."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from sayso.core.model import Operation, Risk
from sayso.core.policy import Policy, Tool
from sayso.reading.arguments import has_value_at
from sayso.reading.beside import folders_of_line, risk_beside
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.budget import current_budget, share_budget
from sayso.reading.paths.named_files import digest_named_files, find_named_links
from sayso.reading.paths.own_places import home_folder

if TYPE_CHECKING:
    from sayso.reading.shell.read import ShellReading

_NOT_READ = Operation("shell.run", reading=Risk.HIGH, found="runs a command that is not one text")
CHANGES = Operation(
    "shell.run",
    reading=Risk.HIGH,
    found="runs with an argument beside its command line that may change what it does",
)
_MOST_TEXTS = 16
"""How many texts are looked at in a command that is neither a line nor a row of words."""


def operations_of_command(
    entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> list[Operation]:
    """Return what the command line does in every folder that the call names.

    A command that some program may read in another way does what is marked in that as well.
    """
    value, folders = command_of_call(args, entry), folders_of_line(args, entry, where)
    line = _as_line(value)
    read = [_NOT_READ]
    if line is not None:
        read = [one for each in folders for one in operations_of_line(line, policy, each)]
    named = {one.name for one in read}
    others = [_read_shell(other, policy, each) for other in _other_lines(value) for each in folders]
    hidden = {one.operation for reading in others for one in reading.findings} - named
    return [*read, *(Operation(one, reading=Risk.HIGH) for one in sorted(hidden) if policy.mark_of(one))]


def add_command(
    named: list[Operation], entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> list[Operation]:
    """Return the operations that an entry names for a command line, and what reading that line adds.

    It raises their risk. What the policy blocks, asks about every time or takes through the trusted channel
    alone stays what it is under any name.
    """
    if entry.resolve == "shell" or entry.command_from is None or not has_value_at(args, entry.command_from):
        return named
    read = operations_of_command(entry, args, policy, where)
    changed = msgspec.structs.replace(CHANGES, reading=risk_beside(args, entry))
    worst = max((*read, changed), key=lambda one: one.reading or Risk.LOW)
    if changed == CHANGES:
        read.append(CHANGES)
    kept = [one for one in read if one.barred or _is_kept(one, policy)]
    return [*(_raise_reading(one, worst) for one in named), *kept]


def places_of_command(
    entry: Tool, args: Mapping[str, Any], policy: Policy, where: CallFolders
) -> Iterator[str]:
    """Yield the files that the command line runs, and where those lead that it names.

    Of a line that nobody can tell, every file that it names, as it is.
    """
    line = _as_line(command_of_call(args, entry))
    for each in () if line is None else folders_of_line(args, entry, where):
        reading = _read_shell(line or "", policy, each)
        yield from reading.pins
        yield from find_named_links(line or "", folder=each.folder, home=each.home)
        if reading.is_doubtful:
            yield from digest_named_files(line or "", folder=each.folder, home=each.home)


def operations_of_line(line: str, policy: Policy, where: CallFolders) -> tuple[Operation, ...]:
    """The operations of a command line, strictest first."""
    from sayso.reading.shell.read import operations_of_reading

    return operations_of_reading(_read_shell(line, policy, where), line, policy)


def read_risk(command: str, workspace: str, policy: Policy) -> Risk:
    """The risk of this command in this workspace; of a workspace that is not known, high."""
    from sayso.reading.shell.read import read_line

    where = CallFolders(workspace, workspace, home_folder())
    with share_budget():
        return max(read_line(command, where, one, one.programs).risk for one in policy.readings or (policy,))


def _is_kept(one: Operation, policy: Policy) -> bool:
    """Return whether the policy says something of this operation that no consent and no name takes away."""
    entry = policy.entry(one.name)
    risks = (one.reading, entry.floor if entry.floor is not None else Risk.MODERATE)
    risk = max(risk for risk in risks if risk is not None)
    return policy.mark_of(one.name) > 0 or entry.asks_always(risk)


def _raise_reading(one: Operation, worst: Operation) -> Operation:
    """The operation at the risk of the worst that was read, and if that is another one, for that reason."""
    if (worst.reading or Risk.LOW) <= (one.reading or Risk.LOW):
        return one
    why = {} if one.name == worst.name else {"found": worst.found, "because": worst.because}
    return msgspec.structs.replace(one.read_as(worst.reading), **why)


def command_of_call(args: Mapping[str, Any], entry: Tool) -> Any:
    """Return the argument that the entry says is the command line; None without any."""
    if entry.command_from is None:
        return None
    found: Any = args
    for step in entry.command_from.removeprefix("args.").split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _as_line(value: Any) -> str | None:
    """The command as one line; a row of words is one, too."""
    if _is_row(value):
        return shlex.join(value)
    return value if isinstance(value, str) else None


def _is_row(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, str) for one in value)


def _other_lines(value: Any) -> tuple[str, ...]:
    """Return what a program could run that does not read the command as it should be read.

    One may put a row of words together with spaces, or run the first of them as a line; and of any other
    shape it may run what stands in it.
    """
    if isinstance(value, str):
        return ()
    texts = list(islice(_texts_in(value), _MOST_TEXTS))
    together = " ".join(texts)
    if not _is_row(value):
        return tuple(dict.fromkeys((together, *texts))) if texts else ()
    return () if together == shlex.join(value) else (together, texts[0])


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_in(one)


def _read_shell(line: str, policy: Policy, where: CallFolders) -> ShellReading:
    """The reading of a line by this policy, made once for a call."""
    from sayso.reading.shell.read import read_line

    seen, key = current_budget().seen, ("shell", line, where, policy.digest)
    if key not in seen:
        seen[key] = read_line(line, where, policy, policy.programs)
    found: ShellReading = seen[key]
    return found
