"""The files that a patch names: unified, context and git diffs, the patches of coding agents, edit blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sayso.core.text.patterns import lazy_pattern

_GAP = r"[ \t\u00a0\u2000-\u200a\u202f\u3000]"
_GAPS = rf"{_GAP}{{0,16}}"
_HEADS = lazy_pattern(
    rf"^(?:\ufeff|{_GAP}|>){{0,32}}(?:\*\*\*{_GAPS}(?:\w{{1,16}}{_GAP}{{1,4}}){{0,3}}(?:File|to|from)"
    rf"(?:{_GAP}{{1,4}}to)?{_GAPS}:|Index:|Prereq:|(?:\+\+\+|---|\*\*\*)(?={_GAP}|\")"
    rf"|(?:rename|copy){_GAP}+(?:to|from)|diff{_GAP}{{1,4}}-[^\r\n]*?(?={_GAP}[^-\s])"
    rf"|(?:\d{{1,9}}(?:,[\d$]{{1,9}})?)?[werf]{_GAP}{{1,4}}(?=\S+$)){_GAPS}([^\r\n]+)",
    re.MULTILINE | re.IGNORECASE,
)
_MARK = lazy_pattern(
    r"^[ \t]*<{3,12} ?(?:SEARCH|ORIGINAL|HEAD|BEFORE|OLD|FIND)\b", re.MULTILINE | re.IGNORECASE
)
_LINES_BEFORE = 4
"""Lines before an edit block in which the name of its file stands."""
_BEGINS = lazy_pattern(
    rf"(?:\s|\ufeff)*(?:```\w*\s+)?(?:\*\*\*{_GAP}*Begin Patch|\*\*\*{_GAP}*(?:Add|Update|Delete) File:"
    rf"|diff{_GAP}+-|Index: |Prereq: |(?:---|\*\*\*){_GAP}+\S[^\r\n]*[\r\n]+(?:\+\+\+|---){_GAP})",
    re.IGNORECASE,
)
_LINE_ENDS = lazy_pattern("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_PREFIX = lazy_pattern(r"[abciow]/")
_QUOTED = lazy_pattern(r'"((?:\\.|[^"\\])*)"')
_ESCAPE = lazy_pattern(r"((?:\\[0-7]{1,3})+)|\\x([0-9a-fA-F]{2})|\\(.)")
_ATTRIBUTE = lazy_pattern(r"""(?:path|file|name)\s*=\s*["']?([^"'>\s]+)""", re.IGNORECASE)


def is_patch(text: str) -> bool:
    """Return whether a text is a patch from its first line on, or has edit blocks in it."""
    return _BEGINS.match(text) is not None or any(_find_edited_files(text))


def find_patched_files(text: str) -> Iterator[str]:
    """Every file that a line of this patch may name, under each spelling it may have."""
    lines = _LINE_ENDS.sub("\n", text)
    for named in (*_HEADS.findall(lines), *_find_edited_files(lines)):
        for part in _names_in_line(named.strip()):
            yield part
            if _PREFIX.match(part):
                yield part[2:]


def _find_edited_files(text: str) -> Iterator[str]:
    """The lines before each edit block, up to the first that says something beside a fence."""
    if _MARK.search(text) is None:
        return
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if _MARK.match(line) is None:
            continue
        for before in reversed(lines[max(0, at - _LINES_BEFORE) : at]):
            named = before.strip(" \t#*`:")
            if named:
                yield named
            if named and not before.lstrip().startswith("```"):
                break


def _names_in_line(named: str) -> Iterator[str]:
    """The whole, without its date, and each of several names in one line."""
    yield named.partition("\t")[0].strip().strip("\"'`")
    yield from (_unescape(quoted) for quoted in _QUOTED.findall(named))
    yield from _ATTRIBUTE.findall(named)
    if " " in named or "\t" in named:
        yield from (_unescape(word.strip("\"'`")) for word in named.split())


def _unescape(quoted: str) -> str:
    """A name as git and patch read it between quotes."""
    return _ESCAPE.sub(_unescape_match, quoted)


def _unescape_match(found: re.Match[str]) -> str:
    if found[1]:
        codes = (int(code, 8) & 0xFF for code in found[1].split("\\") if code)
        return bytes(codes).decode(errors="replace")
    return chr(int(found[2], 16)) if found[2] else {"t": "\t", "n": "\n", "r": "\r"}.get(found[3], found[3])
