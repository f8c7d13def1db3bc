"""What the types of a policy file cannot say: names that contradict each other, or that nothing declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime

from sayso.core.errors import SaysoError
from sayso.core.policy import NEVER_REVIEWED, fold
from sayso.policy.document import Node
from sayso.policy.file import DomainFile, PolicyFile, ToolFile
from sayso.policy.merge import LISTS
from sayso.policy.problems import Problem

Say = Callable[[tuple[int, int], str, str], None]


def check_file(file: PolicyFile, tree: Node, say: Say) -> None:
    """Faults that one file shows by itself."""
    for name, domain in (file.domains or {}).items():
        _one_list_each(name, domain, tree, say)
    for index, tool in enumerate(file.tools or ()):
        _tool_is_whole(tool, ("tools", index), tree, say)
    for name, command in (file.slash_commands or {}).items():
        if bool(command.operations) == bool(command.query):
            say(tree.at("slash_commands", name), f"{name} needs operations or a query", "give one of the two")


def check_whole(file: PolicyFile, merged: PolicyFile, tree: Node, say: Say) -> None:
    """Faults that show only once the presets lie under the file."""
    known = _declared(merged)
    for kind in ("slash_commands", "workflows"):
        for name, entry in (getattr(file, kind) or {}).items():
            for operation in entry.operations or ():
                if operation not in known:
                    place = spot(tree, operation, kind, name, "operations")
                    say(
                        place,
                        f"{name} names {operation}, which nothing declares",
                        "list it in its domain first",
                    )
    _one_spelling_each(merged, tree, say)


def warnings(file: PolicyFile, tree: Node, source: str) -> Iterator[Problem]:
    """What can be used, but surely was not meant."""
    for kind in ("vip_contacts", "family_contacts"):
        for name, contact in (getattr(file, kind) or {}).items():
            if not _reachable(contact):
                hint = "write a number as +1 555 010 0001, or an e-mail address"
                place = tree.at(kind, name)
                yield Problem(
                    *place, f"{name} is no number or address, and matches nobody: {contact!r}", hint, source
                )
    for name, domain in (file.domains or {}).items():
        if domain.last_reviewed and reviewed_at(domain.last_reviewed) == NEVER_REVIEWED:
            said = f"last_reviewed of {name} is no date: its autonomous permissions have decayed"
            yield Problem(*tree.at("domains", name, "last_reviewed"), said, "write it as 2026-11-15", source)


def reviewed_at(text: str) -> float:
    """A written date as epoch seconds, UTC unless it says otherwise; NEVER_REVIEWED if it cannot be read."""
    try:
        if len(text) == len("2026-11-15"):
            day = date.fromisoformat(text)
            return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return NEVER_REVIEWED


def spot(tree: Node, text: str, *path: str | int) -> tuple[int, int]:
    """The place of the last entry with this text in the list down this path, or of the list."""
    node = tree
    for step in path:
        if not isinstance(node.value, dict) or step not in node.value:
            return tree.at(*path)
        node = node.value[str(step)]
    entries = node.value if isinstance(node.value, list) else []
    places = [(entry.line, entry.column) for entry in entries if entry.value == text]
    return places[-1] if places else tree.at(*path)


def _one_list_each(name: str, domain: DomainFile, tree: Node, say: Say) -> None:
    seen: dict[str, str] = {}
    for list_name in LISTS:
        for action in getattr(domain, list_name):
            first = seen.setdefault(action, list_name)
            if first != list_name:
                place = spot(tree, action, "domains", name, list_name)
                say(
                    place,
                    f"{name}.{action} stands in {first} and in {list_name}",
                    "leave it in one of the lists",
                )


def _tool_is_whole(tool: ToolFile, path: tuple[str | int, ...], tree: Node, say: Say) -> None:
    place = tree.at(*path)
    if not tool.operation and not tool.resolve:
        say(place, f"the entry for {tool.tool} names no operation", "give operation or resolve")
    if tool.resolve and not tool.source and tool.resolve != "shell":
        say(place, f"resolve: {tool.resolve} needs an argument to look at", "add for example from: args.path")
    if tool.resolve in ("recipient", "url") and not tool.domain:
        say(place, f"resolve: {tool.resolve} needs a domain", "add for example domain: email")
    if tool.resolve == "path" and not tool.operation:
        say(place, "resolve: path needs to know what the tool does", "add for example operation: files.write")
    if tool.operation and tool.domain and not tool.operation.startswith(f"{tool.domain}."):
        say(place, f"{tool.operation} is not of the domain {tool.domain}", "leave domain out")
    if tool.when:
        _when_compiles(tool.when, tree.at(*path, "when"), say)


def _when_compiles(expression: str, place: tuple[int, int], say: Say) -> None:
    from sayso.policy.cel import compiled

    try:
        compiled(expression)
    except SaysoError as error:
        say(place, error.message, error.hint or "")


def _declared(merged: PolicyFile) -> set[str]:
    """Every operation that a list, a detail or a tool entry names."""
    named = {tool.operation for tool in merged.tools or () if tool.operation}
    named |= set(merged.operations or {})
    for name, domain in (merged.domains or {}).items():
        actions = (action for list_name in LISTS for action in getattr(domain, list_name))
        named |= {f"{name}.{action}" for action in (*actions, *(domain.trusted_channel_required or ()))}
    return named


def _one_spelling_each(merged: PolicyFile, tree: Node, say: Say) -> None:
    seen: dict[str, str] = {}
    for operation in sorted(_declared(merged)):
        twin = seen.setdefault(fold(operation), operation)
        if twin != operation:
            domain = operation.partition(".")[0]
            say(tree.at("domains", domain), f"{twin} and {operation} look the same", "keep one spelling")


def _reachable(contact: str) -> bool:
    from sayso.policy.recipients import normalised

    return normalised(contact) is not None
