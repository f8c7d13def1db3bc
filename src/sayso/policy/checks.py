"""Checks beyond the types of a policy file: contradictory names, and names that nothing declares."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from datetime import UTC, date, datetime

from msgspec import UNSET

from sayso.core.command_arguments import NEVER_HARMLESS, fold_argument, may_be_accepted
from sayso.core.deciding.titles import check_template
from sayso.core.durations import parse_duration
from sayso.core.errors import SaysoError
from sayso.core.model import Risk
from sayso.core.policy import NEVER_REVIEWED, fold_spelling
from sayso.policy.check_team import check_team
from sayso.policy.file import DomainFile, PolicyFile, ToolFile
from sayso.policy.merge import TIER_LISTS
from sayso.policy.parsing.document import Node
from sayso.policy.problems import PolicyProblem

ReportProblem = Callable[[tuple[int, int], str, str], None]


MAX_DURATIONS = {"question_lasts": "7d", "approval_lasts": "24h"}


def check_file(file: PolicyFile, tree: Node, say: ReportProblem) -> None:
    """Faults that one file shows by itself."""
    _check_times(file, tree, say)
    for name, domain in (file.domains or {}).items():
        _check_lists(name, domain, tree, say)
    for tool, index in zip(file.tools or (), _map_indexes(tree, "tools"), strict=True):
        _check_tool(tool, ("tools", index), tree, say)
    for name in file.slash_commands or {}:
        if len(_keys_with_values(tree, "slash_commands", name) & {"operations", "query"}) != 1:
            say(tree.at("slash_commands", name), f"{name} needs operations or a query", "give one of the two")


def _check_times(file: PolicyFile, tree: Node, say: ReportProblem) -> None:
    for name, most in MAX_DURATIONS.items():
        written, node = getattr(file.settings, name, UNSET), tree.find("settings", name)
        if isinstance(written, str) and node is not None and parse_duration(written) > parse_duration(most):
            say((node.line, node.column), f"{name} cannot be {written}", f"{most} at most")


def check_accepted_readings(file: PolicyFile, tree: Node, say: ReportProblem, *, own: bool) -> None:
    """Refuse those that nobody may accept. `own`: the file is the operator's, no preset and no project's."""
    for name, detail in (file.operations or {}).items():
        if detail.reading is UNSET:
            continue
        place = tree.at("operations", name, "reading")
        if not own:
            say(place, "a reading is accepted in the operator's own policy file only", "leave reading out")
        elif detail.risk is UNSET:
            say(place, f"{name} accepts a reading and sets no risk", "write the risk that stands beside it")
        elif not may_be_accepted(name) or not _is_raised_by_row(name):
            hint = "only reads of a remote may be accepted, such as git.fetch"
            say(place, f"a reading of {name} can never be accepted", hint)


def check_merged_file(
    file: PolicyFile,
    merged: PolicyFile,
    tree: Node,
    say: ReportProblem,
    perhaps: Sequence[Container[str]] = (),
) -> None:
    """Faults that show only once the presets lie under the file.

    `perhaps` holds what may be declared in parts that could not be read: of that nothing is said.
    """
    known = (collect_operations(merged), *perhaps)
    for kind in ("slash_commands", "workflows"):
        for name, entry in (getattr(file, kind) or {}).items():
            for operation in entry.operations or ():
                if not any(operation in names for names in known):
                    place = locate_entry(tree, operation, kind, name, "operations")
                    say(
                        place,
                        f"{name} names {operation}, which nothing declares",
                        "list it in its domain first",
                    )
    _check_programs(file, tree, say)
    _check_spellings(merged, tree, say)
    if not perhaps:
        check_team(file, merged, tree, say)


def _check_programs(file: PolicyFile, tree: Node, say: ReportProblem) -> None:
    """Entries of `programs` must be ones that the shell reading understands."""
    from sayso.reading.shell.programs.compile import WrongEntry, compile_programs

    for names, entry in (file.programs or {}).items():
        try:
            compile_programs({names: entry}, dict(file.programs or {}))
        except (WrongEntry, TypeError, ValueError, AttributeError) as fault:
            say(tree.at("programs", names), str(fault), "docs/shell.md shows the format")


def _is_raised_by_row(name: str) -> bool:
    """Return whether the shipped data knows the operation, and has it above low risk."""
    from sayso.reading.shell.programs.known import find_own_risk

    risk = find_own_risk(name)
    return risk is not None and risk > Risk.LOW


def find_warnings(file: PolicyFile, tree: Node, source: str) -> Iterator[PolicyProblem]:
    """Yield entries that work, but were surely not meant."""
    for kind in ("vip_contacts", "family_contacts"):
        for name, contact in (getattr(file, kind) or {}).items():
            if not _reachable(contact):
                hint = "write a number as +1 555 010 0001, or an e-mail address"
                place = tree.at(kind, name)
                yield PolicyProblem(
                    *place,
                    f"{name} is not a number or address, and matches nobody: {contact!r}",
                    hint,
                    source,
                )
    for name, domain in (file.domains or {}).items():
        written = domain.last_reviewed
        if isinstance(written, str) and parse_review_date(written) == NEVER_REVIEWED:
            said = f"last_reviewed of {name} is not a date: its autonomous permissions have decayed"
            yield PolicyProblem(
                *tree.at("domains", name, "last_reviewed"), said, "write it as 2026-11-15", source
            )


def collect_operations(file: PolicyFile) -> set[str]:
    """Every operation that a list, a detail or a tool entry names."""
    named = {tool.operation for tool in file.tools or () if tool.operation}
    named |= set(file.operations or {})
    for name, domain in (file.domains or {}).items():
        actions = (action for list_name in TIER_LISTS for action in getattr(domain, list_name))
        named |= {f"{name}.{action}" for action in (*actions, *(domain.trusted_channel_required or ()))}
    return named


def parse_review_date(text: str) -> float:
    """A written date as epoch seconds, UTC unless it says otherwise; NEVER_REVIEWED if it cannot be read."""
    try:
        if len(text) == len("2026-11-15"):
            day = date.fromisoformat(text)
            return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return NEVER_REVIEWED


def locate_entry(tree: Node, text: str, *path: str | int) -> tuple[int, int]:
    """The place of the last entry with this text in the list down this path, or of the list."""
    places = [(entry.line, entry.column) for entry in tree.entries(*path) if entry.value == text]
    return places[-1] if places else tree.at(*path)


def _map_indexes(tree: Node, key: str) -> list[int]:
    """Which entries of a list are maps: those were read, if only in part."""
    return [index for index, entry in enumerate(tree.entries(key)) if isinstance(entry.value, dict)]


def _keys_with_values(tree: Node, *path: str | int) -> set[str]:
    """The keys of a map that something is written under, be it readable or not."""
    node = tree.find(*path)
    members = node.value if node is not None and isinstance(node.value, dict) else {}
    return {key for key, member in members.items() if member.value != []}


def _check_lists(name: str, domain: DomainFile, tree: Node, say: ReportProblem) -> None:
    seen: dict[str, str] = {}
    for list_name in TIER_LISTS:
        for action in getattr(domain, list_name):
            first = seen.setdefault(action, list_name)
            if first != list_name:
                place = locate_entry(tree, action, "domains", name, list_name)
                say(
                    place,
                    f"{name}.{action} is listed in {first} and in {list_name}",
                    "leave it in one of the lists",
                )


def _check_tool(tool: ToolFile, path: tuple[str | int, ...], tree: Node, say: ReportProblem) -> None:
    place, given = tree.at(*path), _keys_with_values(tree, *path)
    if given.isdisjoint(("operation", "resolve")):
        say(place, f"the entry for {tool.tool or 'a tool'} names no operation", "give operation or resolve")
    if tool.resolve and "from" not in given and tool.resolve not in ("patch", "shell"):
        say(place, f"resolve: {tool.resolve} needs an argument to look at", "add for example from: args.path")
    if tool.resolve in ("recipient", "url") and "domain" not in given:
        say(place, f"resolve: {tool.resolve} needs a domain", "add for example domain: email")
    if tool.resolve == "path" and "operation" not in given:
        say(place, "resolve: path needs to know what the tool does", "add for example operation: files.write")
    if tool.operation and tool.domain and not tool.operation.startswith(f"{tool.domain}."):
        say(place, f"{tool.operation} is not of the domain {tool.domain}", "leave domain out")
    if tool.when:
        _check_when(tool.when, tree.at(*path, "when"), say)
    wrong = check_template(tool.title) if tool.title else None
    if wrong is not None:
        say(tree.at(*path, "title"), wrong, 'write it as "Pay {amount} to {payee}"')
    _check_tool_command(tool, path, tree, say)


def _check_tool_command(tool: ToolFile, path: tuple[str | int, ...], tree: Node, say: ReportProblem) -> None:
    """A command stands in one argument, and what can change what it does is never harmless beside it."""
    command = tool.command or (tool.source if tool.resolve == "shell" else UNSET)
    if tool.resolve == "shell" and tool.command and tool.source and tool.command != tool.source:
        say(tree.at(*path, "from"), "from and command name different arguments", "leave one of them out")
    if command and "," in command:
        say(tree.at(*path), "a command is one argument", "name that one, as args.command")
    if tool.ignore and not command:
        say(tree.at(*path, "ignore"), "ignore belongs to a tool with a command", "add command: args.command")
    for name in tool.ignore or ():
        if fold_argument(fold_spelling(name.removeprefix("args."))) in NEVER_HARMLESS:
            say(
                locate_entry(tree, name, *path, "ignore"),
                f"{name} can change what a command does",
                "leave it out of ignore: calls that set it are asked about",
            )


def _check_when(expression: str, place: tuple[int, int], say: ReportProblem) -> None:
    from sayso.reading.cel import compile_expression

    try:
        compile_expression(expression)
    except SaysoError as error:
        say(place, error.message, error.hint or "")


def _check_spellings(merged: PolicyFile, tree: Node, say: ReportProblem) -> None:
    seen: dict[str, str] = {}
    for operation in sorted(collect_operations(merged)):
        twin = seen.setdefault(fold_spelling(operation), operation)
        if twin != operation:
            domain = operation.partition(".")[0]
            say(tree.at("domains", domain), f"{twin} and {operation} look the same", "keep one spelling")


def _reachable(contact: str) -> bool:
    from sayso.reading.recipients import normalise_recipient

    return normalise_recipient(contact) is not None
