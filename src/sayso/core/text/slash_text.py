"""What follows a slash command in the same message: its text, or words that limit it or take it back."""

from __future__ import annotations

from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import ACTS, CHANGE_WORDS, LIMIT_WORDS, pattern
from sayso.core.text.unmask import fold_text, mask


def limits_slash(text: str) -> bool:
    """Whether what follows a slash command, outside quotes, may limit it, ask about it or take it back.

    A further slash command does: nobody can tell which of them is meant.
    """
    own = fold_text(mask(text)).split(maxsplit=1)
    return len(own) > 1 and _LIMITS_SLASH.search(own[1]) is not None


# In the middle of a title these limit nothing: "Add a retry to the client". At its beginning they may.
_JOINING = {"and", "also", "plus", "with", "to", "on", "in", "for the", "leave", "given that", "given"}
_LIMITS_SLASH = lazy_pattern(
    rf"\?|\bw/o\b|--dry-?run\b|(?<!\S)-n\b|n't\b|\A(?:to|on|in|for|with|and|at|by|from)\b"
    rf"|\b(?:{pattern({*CHANGE_WORDS, *LIMIT_WORDS} - _JOINING)}|no|nope|kidding|joking|ask|what|why|how|who"
    r"|which|minus|sans|barring|leaving out|does|should|would|could|can|maybe|perhaps|later|tomorrow"
    r"|first|draft|dry[ -]?run|pretend"
    r"|simulate|test run|locally|skipping|hold|review|confirm|check with|let me|show me|i'll|i want"
    r"|explain|help|nothing|none)\b|\b(?:a mistake|a joke|bad idea|hypothetical\w*)\b"
    r"|(?<!\S)/[a-z][a-z-]*(?![\w/.])|\A(?:sorry|rather|or|was|is|already|this is|my mistake|let)\b"
    r"|(?:\A|[.!,;:(—–-]\s*)(?:scrap|undo|disregard|joke|preview|defer|delay|postpone)"
    r"(?:\s+(?:it|this|that|everything|please|all))*\W*\Z"
    r"|(?:\A|[.!,;:(—–-]\s*)(?:(?:is|are|was|does|did|will)\s+(?:this|that|it|there)\b|hm+\b)"
    rf"|\A\w+\s+(?:{'|'.join(ACTS)})e?s\W*\Z"
)
