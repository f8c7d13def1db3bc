"""The files that a patch names: unified, context and git diffs, the patches of coding agents, edit blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEADS = re.compile(
    r"^[ \t>]*(?:\*\*\* (?:\w+ )*(?:File|to|from):|Index:|(?:\+\+\+|---|\*\*\*)(?=[ \t\"])"
    r"|(?:rename|copy) (?:to|from)|diff --git|diff --(?:cc|combined))[ \t]*([^\r\n]+)",
    re.MULTILINE | re.IGNORECASE,
)
_EDITED = re.compile(
    r"^[ \t#*`]*([^\r\n]+?)[ \t`*:]*\r?\n(?:[ \t]*```[^\r\n]*\r?\n)?[ \t]*<{5,9} ?SEARCH", re.MULTILINE
)
_BEGINS = re.compile(
    r"\s*(?:```\w*\s+)?(?:\*\*\* Begin Patch|\*\*\* (?:Add|Update|Delete) File:|diff --git |Index: "
    r"|(?:---|\*\*\*)[ \t]+\S[^\r\n]*\r?\n(?:\+\+\+|---)[ \t])",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"[abciow]/")
_QUOTED = re.compile(r'"((?:\\.|[^"\\])*)"')


def is_patch(text: str) -> bool:
    """Whether a text is a patch from its first line on."""
    return _BEGINS.match(text) is not None


def files_patched(text: str) -> Iterator[str]:
    """Every file that a line of this patch may name, under each spelling it may have."""
    for named in (*_HEADS.findall(text), *_EDITED.findall(text)):
        for part in _parts_of(named.strip()):
            yield part
            if _PREFIX.match(part):
                yield part[2:]


def _parts_of(named: str) -> Iterator[str]:
    """The whole, without its date, and each of several names in one line."""
    yield named.partition("\t")[0].strip().strip("\"'`")
    yield from (quoted.replace('\\"', '"') for quoted in _QUOTED.findall(named))
    if " " in named:
        yield from (word.strip("\"'`") for word in named.split())
