"""Refusals and prohibitions in a user's message.

- A message that begins with no is a refusal, whatever follows. So is a clause that is one, and a "don't".
- A prohibition forbids something by name: "do not edit b.py", "stay away from main". It is a refusal that
  also takes consent back, and its words say which entries of the allowlist go.
- Words that unsay a yes are a refusal: "I changed my mind", "scratch that", "I didn't mean yes".
- "Don't forget ...", "don't worry" are neither. In doubt it is a refusal.
"""

from __future__ import annotations

import msgspec

from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import NO_WORDS, POLITE, REFUSALS, pattern
from sayso.core.text.refusing.denials import (
    HARMLESS,
    LEAD,
    LEAD_WORDS,
    NOT_MODAL,
    clean_clause,
    in_one_clause,
    with_apostrophes,
)
from sayso.core.text.refusing.prohibitions import find_forbidden, forbids
from sayso.core.text.unmask import BLANK, clauses


class MessageRefusal(msgspec.Struct, frozen=True):
    """Whether a message refuses, whether it is nothing but a no, whether it forbids, and in which words."""

    refuses: bool = False
    bare: bool = False
    forbids: bool = False
    words: tuple[str, ...] = ()


def read_refusal(spoken: str, shown: str) -> MessageRefusal:
    """Read folded own words; `shown` is the same text with what is quoted, for the names in it."""
    spoken, shown = in_one_clause(with_apostrophes(spoken)), in_one_clause(with_apostrophes(shown))
    said = [(clean_clause(words), asked) for words, asked in clauses(spoken)]
    with_quoted = clauses(_QUOTED.sub(" quoted ", spoken))
    against = any(forbids(clean_clause(words), asked) for words, asked in with_quoted)
    refuses = against or _begins_with_no(said) or any(_refuses(words, asked) for words, asked in said)
    bare = refuses and (_is_bare(said) or any(_UNSAYS.match(words) for words, asked in said if not asked))
    return MessageRefusal(
        refuses, bare, against, tuple(dict.fromkeys(find_forbidden(shown))) if against else ()
    )


def refuses_flatly(own: str) -> bool:
    """Whether a clause of folded own words is a no and nothing else: the no of "yes, but no"."""
    return any(_FLAT.fullmatch(clean_clause(words)) for words, _ in clauses(own))


def _begins_with_no(said: list[tuple[str, bool]]) -> bool:
    """Whether the first clause with any sense begins with no."""
    sense = next((words for words, _ in said if not _ONLY_LEAD.fullmatch(words)), "")
    return _NO.match(sense) is not None


def _is_bare(said: list[tuple[str, bool]]) -> bool:
    """Whether every clause is a no, politeness or no more than that consent is not given."""
    return all(
        _FLAT.fullmatch(words) or _ONLY_LEAD.fullmatch(words) or _WITHHOLDS.fullmatch(words)
        for words, _ in said
    )


def _refuses(words: str, asked: bool) -> bool:
    if _FLAT.fullmatch(words):
        return True
    return not asked and (_REFUSES.search(words) is not None or _UNSAYS.match(words) is not None)


_ONLY_LEAD = lazy_pattern(rf"(?:{LEAD_WORDS}(?: |$))*")
_NO = lazy_pattern(rf"{LEAD}{NO_WORDS}(?![\w'-])")
_FLAT = lazy_pattern(
    rf"{LEAD}(?:{pattern(REFUSALS)}|{NO_WORDS}(?: {NO_WORDS})*)(?: (?:{pattern(POLITE)}|sorry|then|again))*"
)
_REFUSES = lazy_pattern(
    rf"\A{LEAD}(?:you ?)?{NOT_MODAL}(?!\w){HARMLESS}"
    rf"|\A{LEAD}not (?:until|before|unless)\b"
    r"|\A(?:absolutely|definitely|certainly|of course|by all means) (?:not|no|never)\b"
    rf"|\bbut {NO_WORDS}(?: (?:{pattern(POLITE)}|sorry))*\Z"
    r"|\bi (?:really )?(?:don't|do not) think (?:that's|that is|this is|it's|it is) (?:a )?(?:good"
    r"|great|wise|safe)\b"
    r"|\bi (?:really |still )?(?:don't|do not|won't|will not|can't|cannot)"
    r" (?:want|agree|approve|consent|accept|allow|permit|like|authori[sz]e|give (?:you )?(?:my )?consent)\b"
    r"|\b(?:(?<!why )not|never|no longer|isn't|aren't|wasn't|doesn't|don't)(?: \w+){0,2}"
    r" (?:ok|okay|fine|good|happy|comfortable|approved|confirmed|agreed|proceed|go ahead|do it|ship it)\b"
)
_WITHHOLDS = lazy_pattern(
    rf"{LEAD}i (?:really |still )?(?:don't|do not) (?:want|like) (?:it|this|that)(?: any ?more| at all)?|"
    rf"(?:{pattern(POLITE)}|sorry)|{LEAD}{NO_WORDS}(?: {NO_WORDS}|(?: \w+)? (?:it|that|this|so))*"
    rf"|{LEAD}(?:you ?)?{NOT_MODAL}(?: (?:do|try))?(?: (?:it|that|this|so))?(?: any ?more| now| please)*"
    r"|.*\bi (?:really |still )?(?:don't|do not|won't|will not|can't|cannot)"
    r" (?:agree|approve|consent|accept|allow|permit|authori[sz]e)\b.*"
    r"|.*\b(?:not|never|no longer|isn't|aren't|wasn't)(?: \w+){0,2}"
    r" (?:ok|okay|fine|happy|comfortable|approved|confirmed|agreed|proceed|go ahead|do it|ship it)"
    r"(?: with \w+)?"
)
_YES = "(?:yes|yep|yeah|ok|okay|sure|approval|consent|permission|assent|agreement|go[ -]ahead|thumbs up)"
_SAID = f"(?:{_YES}|answer|reply|response|message|command|order|request|instruction|vote)"
_I_WILL = "(?:i(?:'ll| will|'d like to| would like to| want to| must| have to| hereby)? )?"
_UNSAYS = lazy_pattern(
    rf"{LEAD}(?:"
    r"(?:i|i've|i have|we|we've|we have)(?: just| since)? ?changed (?:my|our) minds?\b"
    r"|changed my mind\b|(?:a )?change of (?:mind|heart)\b|(?:i'm |i am )?having second thoughts\b"
    r"|i have second thoughts\b"
    r"|on (?:second|further|reflection|2nd)(?: thoughts?| reflection| consideration)?\Z"
    r"|wrong (?:button|window|chat|tab|terminal|session|agent|thread|channel)\Z"
    rf"|(?:that|this|it|my (?:last )?{_SAID}|that {_YES}) (?:wasn't|was not) (?:meant |intended )?for you\b"
    rf"|(?:that|this|it|my (?:last )?{_SAID}|that {_YES}) was (?:meant |intended )?for"
    r" (?:someone|somebody|another|a different|the other)\b"
    rf"|{_I_WILL}(?:scratch|scrap|strike|belay|disregard|ignore|forget|erase|unsay|nix|bin|scrub|take back)"
    rf"(?: (?:it|that|this|what i (?:just )?said|my (?:last |previous )?{_SAID}|the last (?:one|{_SAID})))\Z"
    rf"|{_I_WILL}(?:undo|cancel|void|annul|unsay|reverse|nullify|scratch|strike|ignore|disregard|forget|delete|drop"
    r"|remove"
    rf"|take back|retract|withdraw|overrule|rescind|revoke) (?:my|that|this|the) (?:last |previous |earlier "
    rf"|first )?{_SAID}\b(?! (?:for|to|of|on) \w)"
    rf"|{_I_WILL}take (?:my|that|this|the) (?:last |previous |earlier )?{_SAID} back\b"
    r"|i (?:meant|mean|should have said|wanted to say|intended|said|say) (?:to say )?(?:no|not|don't|nope"
    r"|never)\b"
    rf"|i (?:didn't|did not|never) (?:really |actually )?(?:mean|meant|say|said|intend|intended|agreed?"
    rf"|approved?|want|wanted)"
    rf"(?: (?:to|that|this|it|so|say|a|my|agree|approve|do|{_SAID}))*\Z"
    rf"|(?:my {_SAID}|(?:that|the) {_YES}) (?:was|is|came|happened) (?:\w+ )?(?:a mistake|an error"
    rf"|an accident"
    rf"|a slip|a typo|accidental"
    r"|premature|wrong|void|invalid|by (?:mistake|accident)|too (?:early|soon|fast|quick)|not (?:meant"
    r"|intended|for that))\b"
    r"|i (?:misspoke|misclicked|mistyped|misread|spoke too soon|made a mistake|regret (?:it|that|this))\b"
    r"|(?:that's|that is|this is|it's|that was|it was) (?:all )?(?:a mistake|an error|a misclick|a typo"
    r"|an accident)\b"
    r"|i(?:'m| am)? no longer (?:sure|ok|okay|fine|happy|convinced|want)\b|i'd rather you didn't\b"
    r"|i would rather you did not\b"
    r"|not any ?more\Z|no longer\Z"
    r")"
)
_QUOTED = lazy_pattern(f"{BLANK}+")
