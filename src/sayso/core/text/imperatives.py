"""Imperatives: a message that is nothing but an order to run or show commands."""

from __future__ import annotations

import re

from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import POLITE, pattern
from sayso.core.text.unmask import without_closing_emoji


def read_imperatives(text: str) -> tuple[str, ...]:
    """The commands of "Run `git status` and `git diff`" or "run git status", each as it is."""
    order = _ORDER.fullmatch(without_closing_emoji(text).strip())
    if order is None:
        return ()
    rest = order["rest"]
    if "`" in rest:
        listed = [command.strip() for command in re.findall("`([^`]+)`", rest)]
        return tuple(filter(None, listed)) if _TICKED_LIST.fullmatch(rest) else ()
    if _NO_COMMAND.match(rest) or rest.endswith("?"):
        return ()
    command = _FINAL_MARK.sub("", _POLITE_END.sub("", rest))
    # Without a comma the politeness may be the command's ("echo please"), so both ways to read it count.
    return tuple(dict.fromkeys((command, _POLITE_WORDS.sub("", command))))


_CASE_BLIND = re.IGNORECASE | re.ASCII
_ORDER = lazy_pattern(
    r"(?:(?:please|pls|plz|kindly|now|then|next|first|also|and|ok|okay|just)(?:\s*,\s*|\s+))*"
    r"(?:run|execute|show|list|print)(?:\s+(?:me|us)(?=\s+`))?:?\s+(?P<rest>\S[^\n\r]*)",
    _CASE_BLIND,
)
_PLEASE = f"(?:{pattern(POLITE)})(?: for me)?|for me|now"
_TICKED_LIST = lazy_pattern(
    rf"(?:both\s+)?`[^`]+`(?:(?:\s*,\s*(?:and\s+|then\s+|and\s+then\s+)?|\s+and\s+(?:then\s+)?|\s+then\s+)`[^`]+`)*"
    rf"(?:\s+again)?(?:[,.!]*\s+(?:{_PLEASE}))*[.!]*",
    _CASE_BLIND,
)
# After a comma or full stop politeness is the user's; else it may belong to the command ("echo please").
_POLITE_END = lazy_pattern(rf"[,.!]\s*(?:{pattern(POLITE)})[.!]*$", _CASE_BLIND)
_POLITE_WORDS = lazy_pattern(rf"(?:\s+(?:{pattern(POLITE)}))+[.!]*$", _CASE_BLIND)
# A mark that ends a sentence stands on a word: the dots of "git add ." and "cd .." belong to the command.
_FINAL_MARK = lazy_pattern(r"""(?<=[\w"')\]}])(?:\.|!+)$""")
_NO_COMMAND = lazy_pattern(
    r"(?:me|us|it|them|this|that|these|those|the|all|any|every|some|my|your|our|an?|what|how|why)\b",
    _CASE_BLIND,
)
