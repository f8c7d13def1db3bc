"""Read a yes in a message: plain, for once, with a change, or with a question in it.

- A yes is made of consent phrases and the small words people put around them, and of nothing else. One other
  word, and it is none: "yes, that file is broken".
- Approving emoji, emphasis, thanks and please do not spoil it. Irony does: "yeah right".
- An emoji that says yes by itself is a hesitant yes.
- A yes followed by "but", "only", "if" and the like is a yes to something else, which grants nothing until
  that was shown. "Just this once" is the one limit that can be kept.
"""

from __future__ import annotations

import re

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import (
    CHANGE_WORDS,
    HIGH_PHRASES,
    LIMIT_WORDS,
    MEDIUM_PHRASES,
    NO_IDIOMS,
    ONCE_PHRASES,
    PLAN_PHRASES,
    POLITE,
    pattern,
)
from sayso.core.text.unmask import is_sign_of, strip_decoration, with_emoji


class Assent(msgspec.Struct, frozen=True):
    """At most one of three: how strong a plain yes is, the change asked for with it, or that it asks back.

    `once` means that a plain yes is for one call only, `of_plan` that it speaks of the plan.
    """

    strength: str | None = None
    change: str | None = None
    question: bool = False
    once: bool = False
    of_plan: bool = False


NONE = Assent()


def read_assent(said: str, asks: bool) -> Assent:
    """Read an undisguised message; `asks` means that there is a question mark in its own words."""
    if is_sign_of("yes", said) or _PLUS_ONE.fullmatch(said):
        return Assent("medium")
    said = strip_decoration(with_emoji(said.replace("’", "'"))).strip()
    yes = _leading_yes(said)
    if asks:
        change = _find_requested_change(said)
        if change is not None:
            return Assent(change=change)
        return Assent(question=yes.strength is not None or _ASKED_PHRASE.search(said) is not None)
    if yes.strength is None:
        return Assent(change=said) if _BARE_CHANGE.match(said) else NONE
    if yes.rest:
        return _read_change(yes.rest)
    if _TRAILS_OFF.search(said) or _IRONY.search(said) or _LEFT_TO_OTHERS.search(said):
        return NONE
    of_plan = _OF_PLAN.search(said) is not None
    hesitant = _HALF_HEARTED.search(_ADDRESS.sub("", said)) is not None
    return Assent("medium" if hesitant else yes.strength, once=yes.once, of_plan=of_plan)


def is_ironic(clause: str) -> bool:
    """Whether a clause is nothing but an ironic yes: "yeah right"."""
    return _IRONY.fullmatch(clause.removeprefix("oh ")) is not None


def after_idiom(said: str) -> str | None:
    """What follows "no problem" and the like at the start of a message; None without one."""
    found = _IDIOM.match(said)
    return said[found.end() :] if found is not None else None


class _Yes(msgspec.Struct, frozen=True):
    strength: str | None
    once: bool
    rest: str


def _leading_yes(said: str) -> _Yes:
    """The yes at the start of a message, and what follows it. "Once the tests pass" is no "once"."""
    strength, at, once_at = None, 0, None
    while unit := _UNIT.match(said, at):
        if unit["once"]:
            once_at = at
        elif unit["high"]:
            strength = "high"
        elif unit["medium"]:
            strength = strength or "medium"
        at = unit.end()
    if once_at is None:
        return _Yes(strength, False, said[at:])
    if at < len(said):
        return _Yes(strength, False, said[once_at:])
    return _Yes("high", True, "")


def _find_requested_change(said: str) -> str | None:
    """The change of a yes that ends in a question only for politeness: "yes, but skip b.py, ok?"."""
    bare = said.rstrip("? ") if _REQUEST.search(said) else _TAG.sub("", said)
    yes = _leading_yes(bare)
    if bare == said or "?" in bare or yes.strength is None:
        return None
    return _read_change(yes.rest).change


def _read_change(rest: str) -> Assent:
    rest = _REQUEST.sub("", rest, count=1)
    if not _CHANGE.match(rest) and not _TAKES_OUT.match(rest):
        return NONE
    change = (
        (rest if _BUT_A_NAME.fullmatch(rest) else _CONJUNCTION.sub("", rest)).strip().rstrip(".!").rstrip()
    )
    if _ASKS_WITHOUT_MARK.match(_ALSO.sub("", change)):
        return Assent(question=True)
    return Assent(change=change) if change else NONE


def _expression(text: str) -> re.Pattern[str]:
    # ASCII, because a case-blind match otherwise takes the Kelvin sign for a k and the long s for an s.
    return lazy_pattern(text, re.IGNORECASE | re.ASCII | re.VERBOSE)


def _with_any_space(text: str) -> str:
    return text.strip().replace(" ", r"\s+")


_DENIED = r"(?!\s+(?:not|no|never)\b)"  # "please do not", "absolutely not" are not a yes
_HIGH = re.sub(
    r"(?<=\|)(absolutely|definitely|certainly|of\S*course|please\S*do|by\S*means)(?=\|)",
    lambda phrase: f"{phrase[0]}{_DENIED}",
    f"|{pattern((*HIGH_PHRASES, *PLAN_PHRASES))}|".replace("let's", "let'?s"),
).strip("|")
_MEDIUM = pattern(MEDIUM_PHRASES)
_ONCE = pattern(ONCE_PHRASES)
_END_OF_WORD = r"(?![\w'/]|[-.]\w)"
_PLAN = "(?:(?:the|this|that|your) (?:plan|change|changes|proposal|approach)|(?:these|those) changes)"
_ALLOWED = "(?:approved|confirmed|agreed|accepted|granted|allowed|fine|okay|ok|alright|all right)"
_SEEMS = "(?:(?:looks|sounds|seems) (?:good|great|fine|okay|ok|alright)|works for me|that works|makes sense)"
_AGREEING = "(?:okay|ok|fine|agreed|alright|all right|sure|happy with (?:it|this|that))"
_GOING_ON = (
    "(?:proceed|go right ahead|go ahead|go for it|go on|go|do (?:it|so|this|that)|ship it|make it so"
    "|continue|carry on"
    "|keep going|approve|allow|accept)"
)
# Each beginning of a sentence only before a phrase that makes one with it: "it is certainly" is none.
_LEAD = _with_any_space(
    "(?:(?:and|so|then|please|just) )*"
    f"(?:(?:(?:it|this|that)(?: all)?(?:'?s| is)|(?:all|everything|{_PLAN})(?: is"
    f"| are)?) (?={_ALLOWED}(?!\\w))"
    f"|(?:it|this|that|all|everything|{_PLAN}) (?:all )?(?={_SEEMS}(?!\\w))"
    f"|(?:i'm|i am|we're|we are) (?:all )?(?={_AGREEING}(?!\\w))"
    "|(?:you can|you may|feel free to|we can|i want you to|(?:i'd|i would) like you to"
    f"|(?:i'm |i am )?happy for you to) (?:just |now |then )?(?={_GOING_ON}(?!\\w)))?"
)
# "Everything but the commit" is not everything.
_WHOLE = r"(?![\s,]+(?:but|except\w*|besides|bar|save|minus|without|apart|aside|other|excluding|not)\b)"
_NAMES = "(?:sir|boss|mate|man|bro|buddy|dude|chief|team)"
_TAIL = _with_any_space(
    f"(?: (?:(?:with|on|for|by) (?:it|this|that|me|us|{_PLAN})|to me|to us"
    f"|to (?:(?:all|both|everything|all of (?:it|them|these|this)|each){_WHOLE}|this|that|it)"
    f"|as (?:planned|proposed|described|discussed|suggested|shown)|then|now|thing))*"
)
_FILLER = _with_any_space(
    f"(?:(?:and )?(?:{pattern(POLITE)})|oh|well|um+|uh+|er+|hell|heck|ofc|let'?s|(?:that |it "
    f"|this )?makes sense"
    f"|right now|right away|already|feel free"
    f"|(?:(?:that|this|it)(?:'?s| is) )?(?:exactly |just |precisely )?what i "
    "(?:want|wanted|need|needed|meant|asked for|was asking for|had in mind)"
    "|(?:(?:that|this|it)(?:'?s| is) )?(?:very )?(?:great|good|nice|excellent|perfect|awesome|cool)(?: plan"
    "| work| idea| call)?|(?:that|this|it)(?:'d| would) be (?:great|good|nice|lovely|perfect|fine|awesome)"
    "|i(?:'d| would) (?:like|love) (?:it|that|this)|i (?:like|love|want) (?:it|that|this)|love it|copy that"
    "|gladly|with pleasure|from (?:me|us|my side|our side)|(?:a )?big"
    "|(?:the |my )?(?:consent )?(?:is )?still (?:valid|working on (?:it|this|that))"
    "|(?:(?:that|this|it)(?:'?s| is) )?(?:right|correct|exactly(?: right)?)"
    r"|(?:it|this|that|i|we) (?:is|are|am|do|does)(?=\s*(?:[.,!;]|\Z))"
    r"|comma|period|full stop|dot|exclamation (?:mark|point)"
    f"|(?:and )?(?:run|execute|do) (?:it|that|this)|(?:both(?: files| of them)?|all of it|all of them"
    f"|everything){_WHOLE}|(?:it'?s )?all (?:good|fine)"
    f"|now|immediately|(?:you can|you may)(?=\\s*(?:[.,!;]|\\Z))|{_NAMES})"
)
_UNIT = _expression(
    rf"(?:(?P<once>(?:but\s+|and\s+|for\s+)?(?:{_ONCE}))"
    rf"|{_LEAD}(?:(?P<high>{_HIGH})|(?P<medium>{_MEDIUM})){_TAIL}|{_FILLER}){_END_OF_WORD}[\s,.!;:–—-]*"
)
_IDIOM = _expression(
    rf"\s*(?:(?:{_FILLER}[\s,]+)?(?:{pattern(NO_IDIOMS)})"
    r"(?:\s+(?:at\s+all|here|whatsoever|from\s+(?:me|us|my\s+side)|on\s+my\s+(?:side|end)|with\s+(?:that|it"
    r"|this)|for\s+(?:me|us)|by\s+(?:me|us)))*"
    rf"{_END_OF_WORD}[\s,.!;:–—-]+){{1,3}}"
)
_PLUS_ONE = lazy_pattern(r"\s*\+1[\s.!]*")
_TRAILS_OFF = lazy_pattern(r"\.\s*\.|[,;:–—-]$")
_IRONY = _expression(
    r"\bdo\s+(?:it|this|that|so)\s+right\b(?!\s+(?:now|away))|"
    r"\b(?:yeah|yea|yes|yep|yup|sure|okay|ok|fine|oh)[\s,.!–—-]+right\b(?!\s+(?:now|away))"
    r"|(?<!all\s)(?<!'s\s)(?<!is\s)\bright[\s,.!–—-]+(?:yeah|yea|sure)\b"
    r"|\A\s*oh\b.*\b(?:great|good|nice|brilliant|excellent)\s+(?:idea|plan|work)\b"
)
# "You may approve it" is said to somebody who approves, and is not an approval.
_LEFT_TO_OTHERS = _expression(
    r"\b(?:you\s+can|you\s+may|feel\s+free\s+to|we\s+can|you\s+to)\s+(?:approve|allow|accept|confirm|agree|i)\b"
)
_ADDRESS = _expression(rf"[\s,]+{_NAMES}(?=[\s,.!]|\Z)")
# Said in good faith as often as not, so it is asked back.
_HALF_HEARTED = _expression(
    r"\bi\s+(?:guess|suppose)\b|\A(?:well|um+|uh+|er+)\b"
    r"|\Aoh[\s,]+(?:of\s+course|certainly|definitely|absolutely|indeed|for\s+sure"
    r"|ofc)(?:[\s,.!]+\w+)?[\s.!]*\Z"
    r"|\A(?:oh[\s,]+)?(?:yeah|yea)(?:[\s,.!]+(?:yeah|yea|sure|fine|okay|ok)(?:\s+thing)?)+[\s.!]*\Z"
    r"|\Asure[\s,]+(?:yeah|yea)[\s.!]*\Z"
    # The short answer to a question that may have been another.
    r"|\b(?:(?:it|this|that|i|we)\s+(?:is|are|am|do|does)|still\s+(?:valid|working\s+on\s+\w+))[\s.!]*\Z"
)
_OF_PLAN = _expression(
    r"\b(?:(?<!like\sa\s)plan|changes?|proposal|approach)\b|\bas\s+(?:planned|proposed|described|discussed"
    r"|suggested)\b"
)
# "Could you skip b.py" asks nothing: it is a change put politely.
_TAKES_OUT = _expression(
    r"\b(?:skip|leave|exclude|avoid|ignore|omit|drop|spare|keep|not|only|just|limit|restrict|stick|strike|cut"
    r"|remove|hold|postpone|without|except|don't)\b"
)
_REQUEST = _expression(
    r"\b(?:please\s+)?(?:can|could|would|will)\s+(?:you|we)\s+(?:(?:please|pls|maybe|also|then|at\s+least)\s+)*"
    rf"(?={_TAKES_OUT.pattern})"
)
_TAG = _expression(
    r"[\s,.;–—-]+(?:(?:is\s+that\s+)?(?:ok|okay|alright|all\s+right|right|fine|please|pls|deal|yes|yeah|thanks)"
    r"(?:\s+with\s+you)?)\s*\?+[\s.!]*\Z"
)
_ALL_BUT = (
    r"(?:(?:to\s+)?(?:all|both|everything|anything|each)(?:\s+(?:of\s+)?(?:it|them|these|this"
    r"|the))?(?:\s+\w+)?"
    r"[\s,]+(?:but|except\w*|besides|bar|save|minus|without|apart|aside|other|excluding|not)\b|besides\b)"
)
_CHANGE = _expression(rf"(?:{pattern((*CHANGE_WORDS, *LIMIT_WORDS))}){_END_OF_WORD}|{_ALL_BUT}")
_CONJUNCTION = _expression(
    r"\A(?:(?:but|however|though)\b[\s,]*)+(?:(?:and|also|plus)\b[\s,]*)*"
    r"|\A(?:and|also|plus)[\s,]+(?=[^\s./]*[./]\S*[.!\s]*\Z)"
)
_ALSO = _expression(r"\A(?:(?:and|also|plus)\b[\s,]*)+")
# A name alone after "but" may be excluded by it, so the "but" is kept.
_BUT_A_NAME = _expression(r"but\s+(?:the\s+)?[\w./\\`-]+[.!\s]*")
_BARE_CHANGE = _expression(
    r"(?:only|skip|except|without|just(?=\s+(?:(?:do|the|this|that|these|those|part|step|first)\b|\S+\.\w)))\s+\w"
    r"|\S+\.\w+\s+only[\s.!]*\Z"
)
_ASKED_PHRASE = _expression(rf"\b(?:{_HIGH}|{_MEDIUM}){_TAIL}\s?\?")
_ASKS_WITHOUT_MARK = _expression(
    r"""(?:will|would|does|did|is|are|was|were|can|could|should|what|why|how|who|which
         |(?:won|wouldn|doesn|didn|isn|aren|can|couldn|shouldn)'t
         |(?:do|have|has|may|might)\s+(?:i|you|we|they|it|this|that|the))\b"""
)
