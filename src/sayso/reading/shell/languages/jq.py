"""jq and yq filters: those that read the environment or other files are not low risk."""

from __future__ import annotations

import re

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.judge import Judge
from sayso.reading.shell.programs.options import Argument

_STRINGS = lazy_pattern(r'"(?:\\[^(]|[^"\\])*"', re.DOTALL)
_RISKY = lazy_pattern(
    r"\b(?:env|\$ENV|import|include|modulemeta|get_search_list|load\w*|strload|envsubst|strenv|system|eval"
    r"|exec)\b|\$ENV|\$__prog"
)


def judge_jq(judge: Judge, text: str, at: Argument) -> None:
    """Judge a filter."""
    bare = text if "\\(" in text else _STRINGS.sub('""', text)
    if _RISKY.search(bare):
        judge.doubt("its filter reads the environment, or other files", at.start, at.end)
