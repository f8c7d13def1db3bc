"""The part of a plan's text that every reader sees.

Plans arrive as Markdown or HTML, and what a renderer shows of it differs. Only plain text that no renderer
hides counts:

- text outside elements, and inside a few bare elements such as `<b>` and `<li>`; an element with an attribute
  or a name not known here is taken out whole, up to its end tag or the end of the text;
- the text of a link, but not its address or title; nothing of an image;
- no comment, front matter, definition of a link or footnote, formula, spoiler, struck-out or templated part.

What is taken out may still have been read, and may have been a "not". So a denial stands in its place: the
rest of that sentence promises nothing. What certainly is not shown (a comment, a definition) leaves a denial
only if it speaks against something. Taking out too much is safe.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from sayso.core.plans.vocabulary import AGAINST
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.unmask import BLANK, fold_text, mask_fences

DENIAL = f" {BLANK} not {BLANK} "
"""Stands for what was taken out: it names nothing, and nothing after it in its sentence is promised."""


def strip_markup(text: str) -> str:
    """The text as every renderer shows it, without markup."""
    text = _FRONT_MATTER.sub(_blank_unseen, text.replace("\r\n", "\n"))
    text = _without_spare_cells(_without_definitions(_without_fences(mask_fences(text))))
    text = _without_elements(text)
    text = _without_links(_without_bracket_tags(_UNSHOWN.sub(DENIAL, text)))
    paragraphs = _BLANK_LINE.split(_STARS.sub("", html.unescape(text)))
    return "\n\n".join(DENIAL if _ATTRIBUTES.search(each) else each for each in paragraphs)


def find_exclusion(text: str) -> re.Match[str] | None:
    """The first word of a folded text that takes something out of a plan."""
    return _AGAINST.search(text)


def blank_or_denial(text: str) -> str:
    """In place of what names nothing: a denial if it speaks against something."""
    return DENIAL if find_exclusion(fold_text(text)) else BLANK


def _without_fences(text: str) -> str:
    """The text without code whose fences are deep in a list, or that is never closed."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif found is not None:
            fence = found[1]
            kept.append(DENIAL)
        else:
            kept.append(line)
    return "\n".join(kept)


def _without_definitions(text: str) -> str:
    """The text without definitions of links and footnotes, and what belongs to them on the next lines."""
    kept: list[str] = []
    closing, below = "", False
    for line in text.split("\n"):
        found = _DEFINITION.match(line)
        below = _HIDES_BELOW.match(line) is not None or (below and line[:1] in (*" \t", ""))
        if found is not None:
            kept.append(_blank_unseen(line))
            closing = _still_open(line[found.end() :], footnote=found["note"] is not None)
        elif below and line.strip():
            kept.append(_blank_unseen(line))
        elif closing and line.strip():
            kept.append(_blank_unseen(line))
            closing = "" if closing in line and closing != _PARAGRAPH else closing
        else:
            closing = ""
            kept.append(line)
    return "\n".join(kept)


def _without_spare_cells(text: str) -> str:
    """The text without cells of tables beyond their columns: renderers leave them out."""
    kept: list[str] = []
    columns = 0
    for line in text.split("\n"):
        if not line.strip() or _IN_RULES.issuperset(line):
            columns = len(_RULE_OF_COLUMN.findall(line)) if "|" in line or ":" in line else 0
        cells = _CELL_END.split(line.strip().removeprefix("|").removesuffix("|"))
        spare = columns and len(cells) > columns
        kept.append("|".join([*cells[:columns], DENIAL]) if spare else line)
    return "\n".join(kept)


def _blank_unseen(what: str | re.Match[str]) -> str:
    text = what if isinstance(what, str) else what[0]
    return DENIAL if find_exclusion(fold_text(text)) else " "


def _still_open(rest: str, *, footnote: bool) -> str:
    """The character that ends a definition's title on a later line; empty if it ended."""
    if footnote or not rest.strip():
        return _PARAGRAPH
    title = re.search(r"(?:\A|\s)([\"'(])", rest)
    if title is None:
        return ""
    end = ")" if title[1] == "(" else title[1]
    return "" if end in rest[title.end() :] else end


def _without_bracket_tags(text: str) -> str:
    """The text without what is between tags in brackets, as in forums: `[hide]...[/hide]`."""
    for name in set(re.findall(r"\[/([A-Za-z]{1,20})\]", text)):
        text = re.sub(rf"\[{name}(?:=[^\]\n]*)?\].*?\[/{name}\]", DENIAL, text, flags=re.DOTALL)
    return text


# --- elements -----------------------------------------------------------------------------------------------


def _without_elements(text: str) -> str:
    return "".join(_outside_elements(text))


def _outside_elements(text: str) -> Iterator[str]:
    at = 0
    while found := _MARK.search(text, at):
        yield text[at : found.start()]
        at = found.end()
        if found["code"] or found["address"]:
            yield found[0]
        elif found["comment"]:
            yield _blank_unseen(found)
        elif (tag := _TAG.match(text, found.start())) is None:
            yield DENIAL
            return
        else:
            at = tag.end()
            name = tag["name"].lower()
            plain = not tag["rest"].strip(" \t\r\n/")
            if name in _BREAKS and plain:
                yield _BREAKS[name] if not tag["end"] else "\n"
            elif name in _EMPTY:
                yield BLANK
            elif not (name in _INLINE and plain) and not tag["end"]:
                yield DENIAL
                at = _end_of(name, text, at)
    yield text[at:]


def _end_of(name: str, text: str, at: int) -> int:
    """Where the element that was just opened ends; one that never closes ends with the text.

    An end tag inside a comment, an attribute or `code` does not end it.
    """
    depth = 1
    while found := _MARK.search(text, at):
        at = found.end()
        tag = _TAG.match(text, found.start()) if found["tag"] else None
        if found["tag"] and tag is None:
            break
        if tag is not None:
            at = tag.end()
            depth += (-1 if tag["end"] else 1) if tag["name"].lower() == name else 0
        if not depth:
            return at
    return len(text)


# --- links --------------------------------------------------------------------------------------------------


def _without_links(text: str) -> str:
    """Links as their text, images as nothing, a link that is not closed as a denial."""
    out: list[str] = []
    opened: list[tuple[int, bool]] = []
    at = 0
    while found := _BRACKET.search(text, at):
        out.append(text[at : found.start()])
        at = found.end()
        if found["code"]:
            out.append(found[0])
        elif found["open"]:
            opened.append((len(out), found["open"].startswith("!")))
            out.append(found["open"])
        elif not opened:
            out.append("]")
        else:
            at = _close_link(text, at, out, *opened.pop())
    return "".join(out) + text[at:]


def _close_link(text: str, at: int, out: list[str], start: int, image: bool) -> int:
    """Close the bracket opened at `start` of `out`; return where the text goes on."""
    address = _ADDRESS.match(text, at)
    if image:
        out[start:] = [BLANK]
    elif address is not None or text[at : at + 1] in ("(", "["):
        out[start] = ""
    else:
        out.append("]")
    if address is not None:
        return address.end()
    if text[at : at + 1] == "(":
        out.append(DENIAL)
        end = _BLANK_LINE.search(text, at)
        return len(text) if end is None else end.start()
    return at


# --- expressions --------------------------------------------------------------------------------------------

_PARAGRAPH = "\0"
# An underscore may stand for emphasis, so it does not hide a "not".
_AGAINST = lazy_pattern(
    rf"(?<![^\W_])(?:(?P<after>{'|'.join(AGAINST.after)})|{'|'.join(AGAINST.before)})(?![^\W_])"
    r"|n't(?![^\W_])"
)
_FRONT_MATTER = lazy_pattern(r"\A\s*(---|\+\+\+|;;;)[ \t]*\n.*?\n(?:\1|\.\.\.)[ \t]*(?=\n|\Z)", re.DOTALL)
_FENCE = lazy_pattern(r"[ \t]*(`{3,}|~{3,})")
_DEFINITION = lazy_pattern(r"[ \t>]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?\*?\[(?P<note>\^)?[^\]\n]+\]:")
# Footnotes, folded notes and comments go on below, as far as lines are indented.
_HIDES_BELOW = lazy_pattern(r"[ \t>]*(?:\[\^[^\]\n]+\]:|\?\?\?|\.\.(?:[ \t]|$))")
_IN_RULES = frozenset("|:- \t>")
_RULE_OF_COLUMN = lazy_pattern(r"-+")
_CELL_END = lazy_pattern(r"(?<!\\)\|")
# On one line, and not behind a backslash: where renderers may disagree it is not code.
_CODE = r"(?P<code>(?<![`\\])(?P<ticks>`+)(?!`)(?:[^`\n]|(?!(?P=ticks)(?!`))`+)+?(?P=ticks)(?!`))"
_MARK = lazy_pattern(
    rf"{_CODE}|(?P<comment><!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?].*?(?:>|\Z))"
    r"|(?P<address><(?:https?://|mailto:)[^\s<>]*>)|(?P<tag></?[A-Za-z])",
    re.DOTALL,
)
_TAG = lazy_pattern(
    r"<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]*)(?P<rest>(?:\"[^\"]*\"|'[^']*'|[^'\"<>])*)>", re.DOTALL
)
_INLINE = frozenset({"b", "strong", "i", "em", "code", "span"})
_BREAKS = {
    **dict.fromkeys(("p", "div", "ul", "ol", "br", "hr"), "\n"),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "\n\n# "),
    "li": "\n- ",
}
_EMPTY = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
_BRACKET = lazy_pattern(rf"{_CODE}|(?P<open>!?\[)|\]", re.DOTALL)
_ADDRESS = lazy_pattern(
    r"""\((?:<[^<>\n]*>|\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'
           |\((?:\\.|[^()\\])*\)|[^()\\"'\n]|\n(?![ \t]*\n))*\)
      | \[[^\[\]\n]*\]""",
    re.VERBOSE,
)
_ATTRIBUTES = lazy_pattern(r"\{[:.#][^{}\n]*\}")
_BLANK_LINE = lazy_pattern(r"\n[ \t]*\n")
_UNSHOWN = lazy_pattern(
    r"""~~.+?(?:~~|\Z) | (?<![\w~/.])~(?=[^\s~/])[^~\n]+~(?![\w~/])   # struck out
      | \$\$.+?(?:\$\$|\Z) | \\\(.+?(?:\\\)|\Z) | \$[^$\n]*\\[A-Za-z][^$\n]*\$   # formulas
      | %%.+?(?:%%|\Z) | \{[%\#*/{].+?(?:[%\#*/}]\}|\Z) | ^[ \t]*\.\.[ \t][^\n]*   # comments and templates
      | >!.+?(?:!<|\Z) | \|\|[^|\n]+\|\| | ^[ \t]*:::.*?(?:^[ \t]*:::[ \t]*$|\Z)   # spoilers and containers
      | \[\[.+?(?:\]\]|\Z)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_STARS = lazy_pattern(r"\*\*|(?<=\w)\*(?=\w)")
