"""A known program judged as its data says: options, modes, subcommands, and the kind of each operand."""

from __future__ import annotations

from sayso.reading.shell.commands.kinds import WRITTEN_KINDS, as_written, judge_kind
from sayso.reading.shell.files.deep import judge_deep_edit, judge_deep_reading, judge_tracked_reading
from sayso.reading.shell.files.guard import judge_guard_mentions
from sayso.reading.shell.files.paths import judge_path_into
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, ProgramEffect, UsageMode, default_effect
from sayso.reading.shell.programs.options import Argument, ParsedOptions, parse_options
from sayso.reading.shell.value import Value
from sayso.reading.verbs import READ_VERBS, verb_of

_FOLDERS = frozenset({"search", "read", "list"})
_PLAIN_TEXT = ("text*",)
_LANGUAGES = frozenset({"sed", "awk", "jq", "sql"})


def judge_program(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """Judge a known program with its arguments."""
    arguments = invocation.arguments
    if program.helps and len(arguments) == 1 and arguments[0].value.text in ("--help", "--version"):
        judge.effect(default_effect("shell.inspect"), invocation.start, invocation.end)
    elif program.special is not None:
        judge.specials[program.special](judge, program, invocation)
    else:
        judge_by_data(judge, program, invocation)


def judge_by_data(judge: Judge, program: KnownProgram, invocation: Invocation) -> ParsedOptions:
    """Judge a program as its data says, subcommands and all."""
    arguments = invocation.arguments
    if program.drops and arguments and arguments[0].text in program.drops:
        arguments = arguments[1:]
    parsed = parse_options(program.table, arguments)
    report_problem(judge, parsed, program, invocation)
    if program.subcommands:
        judge_subcommand(judge, program, parsed, invocation)
        return parsed
    chosen = names_chosen(parsed)
    effect = beside = program.effect
    kinds, operands = program.operands, parsed.operands
    if program.modes:
        effect, kinds, beside = _choose_mode(program, chosen, operands)
    added = judge_additions(judge, program, chosen, invocation)
    before = len(judge.findings)
    touched = judge_option_values(judge, parsed, program, invocation) if chosen else 0
    matched = _match_kinds(kinds, operands) if operands and kinds != _PLAIN_TEXT else []
    writing = [one for one in (effect, *added) if one is not None and one.writes]
    if writing:
        matched = _match_written(judge, writing, beside, matched, invocation)
    touched += _judge_operands(judge, matched, program, effect, invocation)
    if program.deep:
        _judge_depth(judge, program, parsed, kinds, chosen, invocation)
    if effect is None:
        judge.doubt(f"what {program.name} does here is not known", invocation.start, invocation.end)
    elif not touched or not _is_told(judge, effect, before):
        judge.effect(effect, invocation.start, invocation.end)
    return parsed


def _match_written(
    judge: Judge,
    writing: list[ProgramEffect],
    beside: ProgramEffect | None,
    matched: list[tuple[str, Argument]],
    invocation: Invocation,
) -> list[tuple[str, Argument]]:
    """Return the operands of a command that writes, as such. If it is given none, it writes where it runs."""
    deletes = any(one.deletes for one in writing)
    named = beside is not None and beside.writes
    written = "delete" if deletes else "sources"
    found = [(each, one) for kind, one in matched for each in as_written(kind, written, named=named)]
    if WRITTEN_KINDS.isdisjoint(kind for kind, _ in found):
        here = Argument(Value("."), invocation.start, invocation.end)
        judge_path_into(judge, "files.delete" if deletes else "files.edit", here, invocation.state)
        judge_deep_edit(judge, here, invocation)
    return found


def _judge_depth(
    judge: Judge,
    program: KnownProgram,
    parsed: ParsedOptions,
    kinds: tuple[str, ...],
    chosen: frozenset[str],
    invocation: Invocation,
) -> None:
    """A program that reads whole folders, or all that a repository holds."""
    hidden = not program.deep.isdisjoint(chosen)
    if "tracked" in program.deep:
        judge_tracked_reading(judge, parsed.operands[1:], invocation)  # behind a pattern, or a revision
    if hidden or ("always" in program.deep and "--files" not in chosen):
        paths = [one for kind, one in _match_kinds(kinds, parsed.operands) if kind in _FOLDERS]
        judge_deep_reading(judge, program, parsed, paths, invocation, hidden=hidden)


def _is_told(judge: Judge, effect: ProgramEffect, before: int) -> bool:
    """Return whether its paths tell what it does: `split notes.txt` writes files of other names."""
    stricter = effect.risk > default_effect(effect.operation).risk  # whatever paths it is given
    if not effect.operation.startswith("files.") or stricter:
        return False
    return verb_of(effect.operation) in READ_VERBS or any(
        verb_of(one.operation) not in READ_VERBS for one in judge.findings[before:]
    )


def names_chosen(parsed: ParsedOptions) -> frozenset[str]:
    """The names of the options that were given."""
    return frozenset([option.name for option, _ in parsed.options])


def report_problem(
    judge: Judge, parsed: ParsedOptions, program: KnownProgram, invocation: Invocation
) -> None:
    """An argument that is not understood; what the others name of the guard counts all the same."""
    if parsed.problem is not None:
        why, at = parsed.problem
        judge.doubt(f"{program.name}: {why}", at.start, at.end)
        judge_guard_mentions(judge, invocation.arguments, invocation.state)


def judge_subcommand(
    judge: Judge, program: KnownProgram, parsed: ParsedOptions, invocation: Invocation
) -> None:
    """Go on with the subcommand that the first operand names."""
    chosen = names_chosen(parsed)
    added = judge_additions(judge, program, chosen, invocation)
    judge_option_values(judge, parsed, program, invocation)
    rest = parsed.operands
    if not rest:
        _judge_alone(judge, program, parsed, chosen, invocation)
        return
    first, inner, name = rest[0], rest[1:], rest[0].text
    found = None if name is None or first.value.wild else program.subcommand(name)
    if found is None and name is not None and "*" in program.subcommands:
        found = program.subcommand("*")
        inner = rest if found is not None and found.skip < 0 else inner
    if found is None:
        judge.doubt(f"{program.name} {name or first.value.prefix} is not known"[:120], first.start, first.end)
        return
    made = Invocation(
        found.name, inner, invocation.state, invocation.start, invocation.end, invocation.body, added
    )
    judge_program(judge, found, made)


def _judge_alone(
    judge: Judge,
    program: KnownProgram,
    parsed: ParsedOptions,
    chosen: frozenset[str],
    invocation: Invocation,
) -> None:
    """A program with subcommands that is given none."""
    effect = next((one.effect for one in program.modes if _fits(one, chosen, 0)), None)
    effect = effect or (program.effect if program.alone else None)
    if effect is not None:
        judge.effect(effect, invocation.start, invocation.end)
    elif parsed.problem is None:
        judge.doubt(f"{program.name} is given nothing to do", invocation.start, invocation.end)


def judge_additions(
    judge: Judge, program: KnownProgram, chosen: frozenset[str], invocation: Invocation
) -> tuple[ProgramEffect, ...]:
    """Record what the options add to whatever the program does, and return it with what was added before."""
    added = invocation.added
    for one in program.additions:
        if not one.any_of.isdisjoint(chosen):
            judge.effect(one.effect, invocation.start, invocation.end)
            added = (*added, one.effect)
    return added


def judge_option_values(
    judge: Judge, parsed: ParsedOptions, program: KnownProgram, invocation: Invocation
) -> int:
    """Each option's value as its kind; the number that were looked at as paths."""
    values = [(option.kind, value) for option, value in parsed.options if value is not None]
    return _judge_operands(judge, values, program, None, invocation)


def _judge_operands(
    judge: Judge,
    matched: list[tuple[str, Argument]],
    program: KnownProgram,
    effect: ProgramEffect | None,
    invocation: Invocation,
) -> int:
    """Each operand as the kind that its place has; the number that were looked at as paths."""
    touched = 0
    for kind, one in matched:
        if kind == "extra":
            judge.doubt(f"{program.name} is given more than is understood", one.start, one.end)
        elif kind != "text":
            touched += judge_kind(judge, kind, one, program, invocation, effect)
    return touched


def _fits(mode: UsageMode, chosen: frozenset[str], count: int) -> bool:
    return (
        (not mode.any_of or not mode.any_of.isdisjoint(chosen))
        and mode.all_of <= chosen
        and mode.none_of.isdisjoint(chosen)
        and (mode.count is None or mode.count == count)
    )


def _choose_mode(
    program: KnownProgram, chosen: frozenset[str], operands: tuple[Argument, ...]
) -> tuple[ProgramEffect | None, tuple[str, ...], ProgramEffect | None]:
    """Return what it does, the kinds of its operands, and the effect that these kinds are named for."""
    count = -1 if any(map(may_be_several, operands)) else len(operands)
    for mode in program.modes:
        if _fits(mode, chosen, count):
            if mode.operands is None:
                return mode.effect, program.operands, program.effect
            return mode.effect, mode.operands, mode.effect
    return program.effect, program.operands, program.effect


def may_be_several(one: Argument) -> bool:
    """Return whether a word may become several: a pattern does, and what is not known may."""
    value = one.value
    if value.text is None and value.prefix[:1] == "-":
        return False
    return any(each.wild or each.text is None for each in value.choices or (value,))


def _match_kinds(kinds: tuple[str, ...], operands: tuple[Argument, ...]) -> list[tuple[str, Argument]]:
    """Pair operands with kinds: one with `*` takes all that those after it leave.

    A word that may become several is of the kinds after its own, too, and so are those behind it:
    `uniq *` writes to the second file.
    """
    found = _match_places(kinds, operands)
    if len(kinds) < 2:
        return found
    many = next((i for i, kind in enumerate(kinds) if kind.endswith("*")), len(kinds) - 1)
    several = next((i for i, one in enumerate(operands) if may_be_several(one)), many)
    if several < len(kinds) and kinds[several] in _LANGUAGES:
        return found
    for place in range(several, min(many, len(operands))):
        found += [(kind.rstrip("*"), operands[place]) for kind in kinds[place + 1 : many + 1]]
    return found


def _match_places(kinds: tuple[str, ...], operands: tuple[Argument, ...]) -> list[tuple[str, Argument]]:
    many = next((i for i, kind in enumerate(kinds) if kind.endswith("*")), len(kinds))
    kind = kinds[many][:-1] if many < len(kinds) else "extra"
    after = min(len(kinds[many + 1 :]), max(0, len(operands) - many))
    every = [*kinds[:many], *[kind] * (len(operands) - many - after), *kinds[len(kinds) - after :]]
    return list(zip(every, operands, strict=False))
