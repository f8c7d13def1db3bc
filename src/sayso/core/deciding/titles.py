"""A call in one line, shown by the arguments that matter, so that calls that differ look different.

- A command is shown as it is; else the policy's title for the tool, if all it names is among the arguments;
  else the tool and its arguments, those first that people look for: path, recipient, amount, address. A title
  that could not be filled says so, with the argument it missed.
- A proposal is shown by the file it changes and by how many lines, never by its sender's words for that.
- Arguments are foreign text: what does not show is spelled out, and what could pass for a word of the title
  is in quotes. A title never breaks a line, and never grows longer than one.
- A title that leaves something out, or shows it as another value would be shown, ends in a mark made from all
  of the call, so that no two look alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from sayso.core import words
from sayso.core.digest import decode_canonical
from sayso.core.errors import SaysoError
from sayso.core.model import Call
from sayso.core.proposals.diffs import DiffRefused, parse_diff
from sayso.core.proposals.proposal import ARGUMENT
from sayso.core.text.foreign import cut_middle, visible
from sayso.core.text.patterns import lazy_pattern

LONGEST = 120
LONGEST_VALUE = 48
MARK = 8
"""How many digits the mark has: nobody finds two calls with the same one by trying a few thousand."""
TAIL = 36
"""How much of its end a line that is too long keeps: danger often stands there."""
SHORT_WORD = 16
"""How much longer that end may be, so that it begins with a whole word: `m -rf` is not `rm -rf`."""
PLACE = lazy_pattern(r"\{(?:args\.)?([^\s{}.]+(?:\.[^\s{}.]+)*)\}")
"""A placeholder: an argument by its name, with or without `args.` before it."""
MOST_PLACES = 4
PLAIN_NAME = lazy_pattern(r"[\w.-]+")
MATTERS = (
    ("path", "file_path", "filepath", "file", "filename", "target", "destination", "dest", "source", "folder",
     "directory", "dir", "paths", "files", "notebook_path"),
    ("to", "recipient", "recipients", "payee", "email", "phone", "number", "channel", "cc", "bcc", "user"),
    ("amount", "price", "total", "sum", "currency", "quantity"),
    ("url", "uri", "link", "address", "host", "domain", "endpoint"),
    ("subject", "title", "name", "branch", "repository", "repo", "query", "id"),
)  # fmt: skip
"""Names of arguments by what they tell, the most telling first."""
AMOUNTS = frozenset({"amount", "price", "total", "sum"})
_ORDER = {name: (rank, place) for rank, names in enumerate(MATTERS) for place, name in enumerate(names)}
_PATHS = frozenset({"path", "file_path", "filepath", "file", "filename", "notebook_path"})
_ADDRESSES = frozenset({"url", "uri"})
"""These stand first without their name, where the value shows which of the two it is."""
_OTHER = (len(MATTERS), 0)


def title_of(call: Call) -> str:
    """The call in one line."""
    return make_title(
        call.tool, call.arguments, command=call.command, template=call.title, target=call.target
    )


def make_title(
    tool: str,
    arguments: bytes,
    *,
    command: str | None = None,
    template: str | None = None,
    target: str | None = None,
) -> str:
    """The same from the parts of a call. `arguments` are its canonical bytes."""
    given = _decode_arguments(arguments)
    parts = (tool, command or "", target or "")
    known = (*(one.encode(errors="surrogatepass") for one in parts), arguments)
    whole = sha256(b"\0".join(known)).hexdigest()[:MARK]
    if command is not None:
        return _command(command, given, tool, whole)
    missing = () if template is None else find_unfilled(template, given)
    if template is not None and not missing:
        return _line(_fill_template(template, given), whole)
    change = _proposed_change(given) if template is None else ""
    if change:
        return _line((f"{visible(tool, LONGEST_VALUE)} {change}", True), whole)
    note = words.title_misses(missing[0]) if missing else ""
    return _line(_by_arguments(tool, given, target), whole, note)


def _proposed_change(given: Mapping[str, Any]) -> str:
    """The file that a proposal among the arguments changes, and by how many lines; "" without one."""
    proposal = given.get(ARGUMENT)
    if len(given) > 1 or not isinstance(proposal, Mapping):
        return ""
    root, diff = proposal.get("root"), proposal.get("diff")
    if not (isinstance(root, str) and isinstance(diff, str)):
        return ""
    try:
        change = parse_diff(diff)
    except DiffRefused:
        return ""
    signs = [line.sign for hunk in change.hunks for line in hunk.lines]
    file = re.sub("[“”]", "?", visible(f"{root}/{change.path}", LONGEST_VALUE))
    return f"“{file}” (+{signs.count('+'):,} −{signs.count('-'):,})"


def has_sentence(call: Call) -> bool:
    """Whether the policy's own title tells the call, and not its command or its arguments."""
    return (
        call.command is None
        and call.title is not None
        and not find_unfilled(call.title, _decode_arguments(call.arguments))
    )


def find_unfilled(template: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments that a title names and these are without, in order."""
    return tuple(name for name in placeholders(template) if _value_at(given, name) is _MISSING)


def placeholders(template: str) -> tuple[str, ...]:
    """The arguments that a title names, each once, without `args.` before them."""
    return tuple(dict.fromkeys(PLACE.findall(template)))


def check_template(template: str) -> str | None:
    """Return the fault in a policy's title; None if there is none."""
    if len(template) > LONGEST:
        return f"a title has {LONGEST} characters at most"
    if visible(template, None) != template:
        return "a title is one line of plain text"
    if re.search(r"[{}]", PLACE.sub("", template)):
        return "a title names arguments as {amount}, and holds no other braces"
    return None


def _decode_arguments(arguments: bytes) -> Mapping[str, Any]:
    try:
        found = decode_canonical(arguments)
    except SaysoError:
        return {}
    return found if isinstance(found, Mapping) else {}


def _command(command: str, given: Mapping[str, Any], tool: str, whole: str) -> str:
    """The command; never alone where there is more."""
    names = [visible(name, LONGEST_VALUE) for name, value in given.items() if value != command]
    more = f" ({visible(tool, LONGEST_VALUE)}, with {', '.join(names)})" if names else ""
    lines = [line.strip() for line in command.strip().splitlines()]
    replaced = "\n".join(lines) != command or "⏎" in command or any(map(_is_spelled, lines))
    shown = " ⏎ ".join(visible(line, None) for line in lines)
    return _line((f"{shown}{more}", bool(names) or replaced), whole)


def _fill_template(template: str, given: Mapping[str, Any]) -> tuple[str, bool]:
    """The title with its arguments, and whether some are not in it."""
    named = placeholders(template)
    found = {name: _value_at(given, name) for name in named}
    own = set(PLACE.sub(" ", template).casefold().split())
    text = PLACE.sub(
        lambda place: _quote_value(found[place[1]], own) + _currency(place[1], named, given), template
    )
    cut = any(_is_cut(value) for value in found.values()) or not _reads_one_way(template, text)
    return text, cut or _leaves_out(given, set(named))


def _leaves_out(given: Mapping[str, Any], named: set[str], way: str = "") -> bool:
    """Return whether a value in here is not among the named ones."""
    for name, value in given.items():
        inside = isinstance(value, Mapping) and value and not _leaves_out(value, named, f"{way}{name}.")
        if "." in name or not (inside or f"{way}{name}" in named):
            return True
    return False


def _currency(name: str, named: tuple[str, ...], given: Mapping[str, Any]) -> str:
    """The currency that is beside an amount, where the title does not name it: 40 of what?"""
    around, dot, last = name.rpartition(".")
    path = f"{around}{dot}currency"
    currency = _value_at(given, path)
    told = last.casefold() not in AMOUNTS or path in named or not isinstance(currency, str)
    return "" if told else f" {_value(currency)}"


def _reads_one_way(template: str, text: str) -> bool:
    """Return whether the limits of each value are clear: the shortest and the longest reading agree."""
    literals = [re.escape(one) for one in PLACE.sub("\0", template).split("\0")]
    if len(literals) > MOST_PLACES + 1:
        return False
    shortest, longest = (re.fullmatch(way.join(literals), text) for way in ("(.*?)", "(.*)"))
    return shortest is not None and longest is not None and shortest.groups() == longest.groups()


def _by_arguments(tool: str, given: Mapping[str, Any], target: str | None) -> tuple[str, bool]:
    """The tool and its arguments, the most telling first, as many as fit."""
    parts = [visible(tool, LONGEST_VALUE)]
    left_out = len(tool) > LONGEST_VALUE or _is_spelled(tool)
    if target is not None and not any(_tells(value, target) for value in given.values()):
        parts.append(_value(target))
        left_out = True
    for part, cut in _describe_arguments(given):
        if len(", ".join((*parts, part))) > LONGEST - MARK:
            left_out = True
            break
        parts.append(part)
        left_out = left_out or cut
    return f"{parts[0]} {', '.join(parts[1:])}".strip(), left_out


def _tells(value: Any, target: str) -> bool:
    """Whether an argument says where the call leads: it is the target, or the whole path to it."""
    return value == target or (isinstance(value, str) and value.endswith(f"/{target}"))


def _describe_arguments(given: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    names = sorted(given, key=lambda name: _ORDER.get(name.casefold(), _OTHER))
    for index, name in enumerate(names):
        value = given[name]
        bare = index == 0 and _explains_itself(name.casefold(), value)
        shown = _value(value)
        plain = PLAIN_NAME.fullmatch(name) is not None and len(name) <= LONGEST_VALUE
        cut = not (bare or plain) or _is_cut(value)
        yield shown if bare else f"{visible(name, LONGEST_VALUE)} {shown}", cut


def _explains_itself(name: str, value: Any) -> bool:
    """Return whether this is a path that looks like none but a path, or an address that looks like one."""
    return name in (_ADDRESSES if isinstance(value, str) and "://" in value else _PATHS)


def _value_at(given: Any, path: str) -> Any:
    for step in path.split("."):
        given = given.get(step, _MISSING) if isinstance(given, Mapping) else _MISSING
    return given


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return msgspec.json.encode(value).decode()


def _is_cut(value: Any) -> bool:
    """Return whether the title shows less of it, or shows it as another value would be shown."""
    text = _text(value)
    if isinstance(value, str) and (_is_literal(text) or set(text) & set("“”…")):
        return True
    return len(visible(text, None)) > LONGEST_VALUE or isinstance(value, list) or _is_spelled(text)


def _is_literal(text: str) -> bool:
    """Return whether this text would be shown as a number, a list, or any value but a text, is."""
    try:
        return not isinstance(msgspec.json.decode(text), str)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False


def _is_spelled(text: str) -> bool:
    """Return whether something in it is shown spelled out."""
    return visible(text, None) != text


def _value(value: Any) -> str:
    """A value in a few words, its middle left out if it is long; its end often tells more."""
    text = visible(_text(value), None)
    if text == "":
        return "“”"
    if len(text) <= LONGEST_VALUE:
        return f"“{text}”" if set(text) & set(" ,“”") else text
    half = (LONGEST_VALUE - 1) // 2
    return f"“{cut_middle(text, half, half)}”"


def _quote_value(value: Any, own: set[str]) -> str:
    """A value inside a title. In quotes if it holds a word of the title, or a quote: it could imitate it."""
    text = visible(_text(value), None)
    if len(text) > LONGEST_VALUE or not text or set(text) & set("“”") or own & set(text.casefold().split()):
        bare = _value(value)
        return bare if bare.startswith("“") else f"“{bare}”"
    return text


def _line(said: tuple[str, bool], whole: str, note: str = "") -> str:
    text, left_out = said
    room = LONGEST - len(note)
    if len(text) > room:
        end = _end_in_whole_words(text)
        text, left_out = cut_middle(text, room - end - 1, end), True
    return f"{text}{note} ·{whole}" if left_out or _LIKE_A_MARK.search(text) else f"{text}{note}"


def _end_in_whole_words(text: str) -> int:
    """How many characters of its end are kept, so that its first word there is whole if it is a short one."""
    begin = len(text) - TAIL
    space = text.rfind(" ", begin - SHORT_WORD, begin)
    return TAIL if space < 0 else len(text) - space - 1


_LIKE_A_MARK = lazy_pattern(rf"·[0-9a-f]{{{MARK}}}\s*$")
_MISSING: Any = object()
