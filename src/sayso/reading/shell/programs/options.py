"""Options of a program, read by its data: clusters of letters, values, abbreviations, `--`.

Nothing is guessed: an option that the data does not name is a problem, and so is a word that may be one.
"""

from __future__ import annotations

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


def parse_options(table: OptionTable, arguments: tuple[Argument, ...]) -> ParsedOptions:
    """Read the arguments of a command, its program's name not among them."""
    found: list[tuple[Option, Argument | None]] = []
    operands: list[Argument] = []
    count, index = len(arguments), 0
    while index < count:
        one = arguments[index]
        index += 1
        value = one.value
        text = value.text
        if (text is None or value.wild) and _may_be_any_option(table, value):
            return ParsedOptions((*found,), (*operands,), ("an argument of it may be any option", one))
        if text == "--":
            rest = arguments[index:]
            return ParsedOptions((*found,), (*operands, *rest), None, True, rest if not operands else ())
        if text is None or text[:1] != "-" or text == "-":
            if table.plus and text is not None and text[:1] == "+":
                made = table.named.get(text)
                if made is None:
                    return ParsedOptions((*found,), (*operands,), (f"{text} is not a known option", one))
                found.append((made, None))
                continue
            if table.stops:
                return ParsedOptions((*found,), arguments[index - 1 :], None, False, arguments[index - 1 :])
            operands.append(one)
            continue
        read = _read_option(table, text, one, arguments, index)
        if isinstance(read, str):
            return ParsedOptions((*found,), (*operands,), (read, one))
        found += read[0]
        index = read[1]
        if read[0] and read[0][-1][0].kind == "module":
            return ParsedOptions((*found,), arguments[index:])
    return ParsedOptions((*found,), (*operands,))


def _may_be_any_option(table: OptionTable, value: Value) -> bool:
    if table.tame:
        return value.splits and value.prefix[:1] == "-"
    return value.splits or value.may_be_option


_Read = tuple[list[tuple[Option, Argument | None]], int]


def _read_option(
    table: OptionTable, text: str, one: Argument, arguments: tuple[Argument, ...], index: int
) -> _Read | str:
    """One option word, with its value, and where the next word is; or what is wrong with it."""
    read = (
        _read_long(table, text, one, arguments, index)
        if text[:2] == "--" or table.style == "single"
        else _read_cluster(table, text, one, arguments, index)
    )
    if not isinstance(read, str) and read[1] > index:
        value = arguments[index].value
        if value.may_bring_options or (table.wary and (value.text or "")[:1] == "-"):
            return "what follows it may be any option"
    return read


def _read_long(
    table: OptionTable, text: str, one: Argument, arguments: tuple[Argument, ...], index: int
) -> _Read | str:
    named = table.named
    option = named.get(text)
    value: Argument | None = None
    if option is None:
        name, equals, joined = text.partition("=")
        option = named.get(name) or _find_abbreviated(table, name)
        if option is None and (before := text.find(":") + 1):
            name, equals, joined = text[:before], ":", text[before:]
            option = named.get(name)
        if option is None:
            if table.style == "single" and table.number and text[1:].isdigit():
                return [], index
            return f"{name} is not a known option"
        if equals:
            if not option.takes:
                return f"{name} takes no value"
            value = Argument(Value(joined), one.start, one.end)
    if value is None and option.takes == ":":
        if index >= len(arguments):
            return f"{text} lacks its value"
        return [(option, arguments[index])], index + 1
    return [(option, value)], index


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


def _read_cluster(  # noqa: C901 - the rules of getopt, in their order
    table: OptionTable, text: str, one: Argument, arguments: tuple[Argument, ...], index: int
) -> _Read | str:
    """`-abc`, `-n5`, `-n 5`; as well as whole names with one dash that the data lists."""
    whole = table.named.get(text)
    if whole is not None and len(text) > 2:
        if whole.takes == ":":
            if index >= len(arguments):
                return f"{text} lacks its value"
            return [(whole, arguments[index])], index + 1
        return [(whole, None)], index
    if table.number and text[1:].isdigit():
        return [], index
    name, equals, given = text.partition("=")
    named = table.named.get(name) if equals and len(name) > 2 else None
    if named is not None and named.takes:
        return [(named, Argument(Value(given), one.start, one.end))], index
    found: list[tuple[Option, Argument | None]] = []
    for place, letter in enumerate(text[1:], 1):
        option = table.named.get(f"-{letter}")
        if option is None:
            if table.number and letter.isdigit():
                continue
            return f"-{letter} is not a known option"
        joined = text[place + 1 :]
        if not option.takes or (option.takes == "?" and not joined):
            found.append((option, None))
            continue
        if joined:
            found.append((option, Argument(Value(joined), one.start, one.end)))
            return found, index
        if index >= len(arguments):
            return f"-{letter} lacks its value"
        found.append((option, arguments[index]))
        return found, index + 1
    return found, index
