"""Lines that only their operation's own row makes risky: the readings that an operator may accept.

The row is looked up once more, apart from the judging, and only what is recognised counts:

- The line is one simple command of bare words, in a folder of the workspace, and comes to one finding.
- The program's row says that operation at that risk, whatever option or place is given.
- Its options are listed and say nothing more than a number, and its operands are plain names. So no word is
  an address, a path, a pattern or code.
- What is git's goes to configured remotes, and nothing that the repository configures runs with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sayso.core.command_arguments import may_be_accepted
from sayso.core.model import Risk
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.budget import follow_links
from sayso.reading.shell.commands.usage import names_chosen
from sayso.reading.shell.judge import Finding
from sayso.reading.shell.programs.known import KnownProgram, find_shipped
from sayso.reading.shell.programs.options import Argument, ParsedOptions, parse_options
from sayso.reading.shell.specials.git_config import READING_HOOKS, find_running_key, read_own_keys
from sayso.reading.verbs import is_git_operation

_HOOKS = (*READING_HOOKS, "pre-auto-gc", "reference-transaction")
"""The hooks that a fetch runs, and the tidying after it."""
_ADDRESS = lazy_pattern(r"(?:https?|ssh|git)://[\w.@~:/%+-]+|(?:[\w.-]+@)?[\w.-]+:(?!:)[\w.~/+-]+")
"""An address of another machine: no path, and nothing with `::`, which names a program."""
PLAIN_OPTIONS = frozenset(
    {"--all", "-a", "--atomic", "--depth", "--deepen", "-n", "-t", "-p", "-j", "-q", "-v", "--progress", "-4",
     "-6", "--no-progress", "--dry-run", "--unshallow", "--no-recurse-submodules", "-b", "-h", "--refs"}
)  # fmt: skip
"""Options of a fetch that neither change more than what is fetched nor go elsewhere."""
_RUNS = "gc.recentobjectshook"
_BY_REMOTE = frozenset({"fetch", "ls-remote", "remote"})
"""Subcommands whose first operand is a remote by its name, before it may be an address or a folder."""


def fetches_as_configured(folder: str, workspace: str, subcommand: str, operands: Sequence[str]) -> bool:
    """Return whether a fetch in this folder goes to configured remotes, and nothing configured runs with it.

    The repository is one of the workspace. The first operand is the remote; without one it is any that the
    configuration says.
    """
    found = read_own_keys(folder) if subcommand in _BY_REMOTE else None
    if found is None or find_running_key(folder, hooks=_HOOKS) is not None:
        return False
    tree, keys = found
    if not f"{tree}/".startswith(f"{workspace.rstrip('/')}/"):
        return False
    remotes = {
        key.removeprefix("remote.").removesuffix(".url")
        for key, _ in keys
        if key.startswith("remote.") and key.endswith(".url")
    }
    meant = {value for key, value in keys if key.startswith("branch.") and key.endswith(".remote")}
    asked = {operands[0]} if operands else {"origin", *meant}
    plain = all(_ADDRESS.fullmatch(value) for key, value in keys if key.endswith(".url"))
    return asked <= remotes and plain and all(key != _RUNS for key, _ in keys)


_PLAIN_NAME = lazy_pattern(r"[A-Za-z0-9_][A-Za-z0-9_-]*(?:/[A-Za-z0-9_-]+)*")
"""No dot and no colon: a name of a host or a path has one."""
_NUMBER = lazy_pattern(r"[0-9]{1,9}")


def is_own_row(finding: Finding, words: Sequence[Argument], where: CallFolders) -> bool:
    """Return whether only its operation's own row makes this command risky. `finding` is all it comes to."""
    name = finding.operation
    if finding.risk is Risk.LOW or finding.barred is not None or not may_be_accepted(name):
        return False
    folder, workspace = follow_links(where.folder or "/"), follow_links(where.workspace or "/")
    inside = workspace != "/" and f"{folder}/".startswith(f"{workspace}/")
    operands = _operands_of_row(finding, words) if inside else None
    return operands is not None and (
        not is_git_operation(name) or fetches_as_configured(folder, workspace, words[1].text or "", operands)
    )


def _operands_of_row(finding: Finding, words: Sequence[Argument]) -> tuple[str, ...] | None:
    """The operands of a command whose row says this operation; None if a word of it may say more."""
    program = find_shipped(words[0].text or "") if words else None
    given = tuple(words[1:])
    while program is not None:
        parsed = parse_options(program.table, given)
        if not program.subcommands:
            return _plain_operands(parsed) if _says(program, parsed, finding) else None
        if parsed.problem is not None or parsed.options or not parsed.operands:
            return None
        program, given = program.subcommand(parsed.operands[0].text or ""), parsed.operands[1:]
    return None


def _says(program: KnownProgram, parsed: ParsedOptions, finding: Finding) -> bool:
    """Return whether the row says this operation at this risk, and no option given adds to that."""
    chosen, effect = names_chosen(parsed), program.effect
    return (
        parsed.problem is None
        and all(one.any_of.isdisjoint(chosen) for one in program.additions)
        and (chosen <= PLAIN_OPTIONS or not is_git_operation(finding.operation))
        and effect is not None
        and (effect.operation, effect.risk) == (finding.operation, finding.risk)
    )


def _plain_operands(parsed: ParsedOptions) -> tuple[str, ...] | None:
    values = [value.text or "" for _, value in parsed.options if value is not None]
    operands = tuple(one.text or "" for one in parsed.operands)
    plain = all(map(_NUMBER.fullmatch, values)) and all(map(_PLAIN_NAME.fullmatch, operands))
    return operands if plain else None
