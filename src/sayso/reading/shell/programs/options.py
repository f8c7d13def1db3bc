"""Options of a program, read by its data: clusters of letters, values, abbreviations, `--`.

Nothing is guessed: an option that the data does not name is a problem, and so is a word that may be one.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sayso.reading.shell.value import Value


class Option(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One option of a program. `takes`: "" nothing, ":" a value, "?" a value joined to it, or none."""

    name: str
    takes: str = ""
    kind: str = "text"
    """What the value is: see the data files."""


class Argument(msgspec.Struct, frozen=True, gc=False):
    """One word handed to a program: its value, and where in the line it stands."""

    value: Value
    start: int
    end: int

    @property
    def text(self) -> str | None:
        return self.value.text


class ParsedOptions(msgspec.Struct, frozen=True, gc=False):
    """The options and operands of one command, and the first thing that was not understood."""

    options: tuple[tuple[Option, Argument | None], ...]
    operands: tuple[Argument, ...]
    problem: tuple[str, Argument] | None = None
    ended: bool = False
    """`--` ended the options."""
    rest: tuple[Argument, ...] = ()
    """Everything from the first operand on, where options stop there."""


class OptionTable(msgspec.Struct, frozen=True):
    """The options of a program by their names.

    `style`: `gnu` takes abbreviations of long options; `exact` does not; `single` has long options with one
    dash. `stops`: the first operand ends the options. `number`: `-5` is one. `tame`: none of them does
    harm, so a word that may be any of them does not either. `wary`: no value begins with a dash, because
    programs differ in what they take that for.
    """

    named: dict[str, Option]
    style: str = "gnu"
    stops: bool = False
    number: bool = False
    plus: bool = False
    tame: bool = False
    wary: bool = False


class _NotUnderstood(Exception):
    """A sentence about an argument, and the argument."""


def parse_options(table: OptionTable, arguments: tuple[Argument, ...]) -> ParsedOptions:
    """Read the arguments of a command, its program's name not among them."""
    found: list[tuple[Option, Argument | None]] = []
    operands: list[Argument] = []
    waiting = iter(arguments)
    try:
        for one in waiting:
            text = one.text
            if text is None or one.value.wild:
                _refuse_any_option(table, one)
            if text == "--":
                rest = (*waiting,)
                return ParsedOptions((*found,), (*operands, *rest), None, True, rest if not operands else ())
            if text is not None and (text[:1] == "-" != text or (table.plus and text[:1] == "+")):
                read = _split_word(table, text, one)
                if read and read[-1][1] is None and read[-1][0].takes == ":" and text[0] == "-":
                    read[-1] = read[-1][0], _take_value(table, text, one, waiting)
                found += read
                if read and read[-1][0].kind == "module":
                    return ParsedOptions((*found,), (*waiting,))
            elif table.stops:
                rest = (one, *waiting)
                return ParsedOptions((*found,), rest, None, False, rest)
            else:
                operands.append(one)
    except _NotUnderstood as problem:
        return ParsedOptions((*found,), (*operands,), problem.args)
    return ParsedOptions((*found,), (*operands,))


def _refuse_any_option(table: OptionTable, one: Argument) -> None:
    harmless = table.tame and one.value.prefix[:1] != "-"
    if (one.value.splits and not harmless) or (one.value.may_be_option and not table.tame):
        raise _NotUnderstood("an argument of it may be any option", one)


def _take_value(table: OptionTable, text: str, one: Argument, waiting: Iterator[Argument]) -> Argument:
    """The argument behind an option that takes a value."""
    following = next(waiting, None)
    if following is None:
        spelled = text if text[:2] == "--" or text in table.named else f"-{text[-1]}"
        raise _NotUnderstood(f"{spelled} lacks its value", one)
    if following.value.may_bring_options or (table.wary and (following.text or "")[:1] == "-"):
        raise _NotUnderstood("what follows it may be any option", one)
    return following


def _split_word(table: OptionTable, text: str, one: Argument) -> list[tuple[Option, Argument | None]]:
    """The options in one word, each with the value that is joined to it: `-abc`, `-n5`, `--lines=5`, `+x`."""
    named = table.named
    if text in named:
        return [(named[text], None)]
    if table.number and text[1:].isdigit():
        return []
    name, equals, joined = text.partition("=")
    if text[:2] == "--" or table.style == "single" or text[0] == "+":
        option = named.get(name) or _find_abbreviated(table, name)
        if option is None and ":" in text:
            name, equals, joined = text.partition(":")
            name += equals
            option = named.get(name)
        if option is None:
            raise _NotUnderstood(f"{name} is not a known option", one)
        if equals and not option.takes:
            raise _NotUnderstood(f"{name} takes no value", one)
        return [(option, Argument(Value(joined), one.start, one.end) if equals else None)]
    if len(name) > 2 and equals and name in named and named[name].takes:
        return [(named[name], Argument(Value(joined), one.start, one.end))]
    return _split_cluster(table, text, one)


def _split_cluster(table: OptionTable, text: str, one: Argument) -> list[tuple[Option, Argument | None]]:
    found: list[tuple[Option, Argument | None]] = []
    for place, letter in enumerate(text[1:], 2):
        option = table.named.get(f"-{letter}")
        if option is None and table.number and letter.isdigit():
            continue
        if option is None:
            raise _NotUnderstood(f"-{letter} is not a known option", one)
        if option.takes and text[place:]:
            return [*found, (option, Argument(Value(text[place:]), one.start, one.end))]
        found.append((option, None))
    return found


def _find_abbreviated(table: OptionTable, name: str) -> Option | None:
    """The one option that this is the beginning of; None if there is none, or several.

    Whole words of a name may name another option, which is not listed: `--strategy`, `--strategy-option`.
    """
    if table.style != "gnu" or len(name) < 3:
        return None
    fitting = {
        option
        for key, option in table.named.items()
        if key.startswith(name) and key[:2] == "--" and key[len(name)] != "-"
    }
    return fitting.pop() if len(fitting) == 1 else None
