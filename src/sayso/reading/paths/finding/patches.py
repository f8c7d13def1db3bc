"""The patches among the texts of a call: some tools take one under any name, all under some."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.patches.lines import PatchReading
from sayso.reading.patches.read import is_patch, read_patch, speaks_patch
from sayso.reading.paths.finding.argument_texts import ArgumentText

_PATCHES = lazy_pattern(r"patch|diff|^(?:input|changes|edits)$", re.IGNORECASE)
_PATCHING = {"patch", "apply", "diff"}
"""Words for tools that take a patch, under any name."""
_ONLY_PATCHES = lazy_pattern(r"patch|diff", re.IGNORECASE)
"""Names of arguments that hold nothing else, if they hold lines."""
WRITTEN = lazy_pattern(r"content|body|message|comment|descri", re.IGNORECASE)
"""Names of arguments whose text is written somewhere as it is, a patch too."""


def takes_patch(words: Collection[str], name: str = "") -> bool:
    """Return whether a tool of these words, or an argument of this name, is given patches."""
    return not _PATCHING.isdisjoint(words) or _PATCHES.search(name) is not None


def read_patches(
    texts: Sequence[ArgumentText], words: Collection[str]
) -> Iterator[tuple[ArgumentText, PatchReading]]:
    """Yield each text that a tool of these words may take for a patch, and what it is as one."""
    for one in texts:
        if takes_patch(words, one.name):
            lines = "\n" in one.text and _ONLY_PATCHES.search(one.name)
            wanted = lines or speaks_patch(one.text)
        else:
            wanted = not WRITTEN.search(one.name) and is_patch(one.text)
        if wanted:
            yield one, read_patch(one.text)
