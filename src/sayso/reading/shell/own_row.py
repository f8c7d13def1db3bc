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
from sayso.reading.shell.findings import Finding
from sayso.reading.shell.programs.known import KnownProgram, find_shipped
from sayso.reading.shell.programs.options import Argument, ParsedOptions, parse_options
from sayso.reading.shell.specials.git_remotes import PLAIN_OPTIONS, fetches_as_configured
from sayso.reading.verbs import is_git_operation

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
    if operands is None:
        return False
    if not is_git_operation(name):
        return True
    return fetches_as_configured(folder, workspace, words[1].text or "", operands)


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
    chosen = {option.name for option, _ in parsed.options}
    if parsed.problem is not None or any(not one.any_of.isdisjoint(chosen) for one in program.additions):
        return False
    if is_git_operation(finding.operation) and not chosen <= PLAIN_OPTIONS:
        return False
    effect = program.effect
    return effect is not None and (effect.operation, effect.risk) == (finding.operation, finding.risk)


def _plain_operands(parsed: ParsedOptions) -> tuple[str, ...] | None:
    values = (value for _, value in parsed.options if value is not None)
    if any(_NUMBER.fullmatch(one.text or "") is None for one in values):
        return None
    operands = tuple(one.text or "" for one in parsed.operands)
    return operands if all(_PLAIN_NAME.fullmatch(one) for one in operands) else None
