"""Prohibitions in a user's message: statements that forbid, limit or keep something for the user.

A wide net: words of forbidding together with an act, a file or a program, in any order. A question forbids
nothing, but for "could you not push?". Statements about the work ("the parser can't handle tabs") have other
subjects or no act in them. In doubt it is a prohibition: then the user is asked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sayso.core.text.acts import (
    ACT,
    DONE_TO,
    find_names,
    names_file,
    names_target,
    speaks_of_act,
    speaks_of_act_or_target,
    speaks_of_strong_act,
)
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import HARMLESS_DONTS, pattern
from sayso.core.text.refusing.denials import FORBIDDEN, HARMLESS, LEAD, NOT_MODAL, clean_clause
from sayso.core.text.refusing.product_talk import is_about_product
from sayso.core.text.refusing.reservations import A_TEST, reserves
from sayso.core.text.unmask import clauses


def forbids(words: str, asked: bool) -> bool:
    """Whether a clean clause of folded own words forbids something; `asked` if a question mark ends it."""
    if _FORBIDS_ASKING.search(words):
        return True
    if (asked and _DONT_WE.search(words)) or is_about_product(words, asked):
        return False
    if _DONT.match(words) or _FORBIDS.search(words):
        return True
    return not asked and (
        _FORBIDS_PLAINLY.search(words) is not None
        or reserves(words)
        or _denies_subject(words)
        or _speaks_against(words)
    )


def find_forbidden(shown: str) -> Iterator[str]:
    """The names and verbs of each sentence from where it begins to forbid."""
    for sentence in re.split(r"[.!?;]+(?:\s+|$)|\n", _MARKS.sub(" ", shown)):
        mark = _MARK_OF_FORBIDDING.search(sentence)
        if mark is None:
            against = any(forbids(clean_clause(words), asked) for words, asked in clauses(sentence))
            yield from find_names(sentence) if against else ()
        elif mark["passive"] or _names_nothing(sentence[mark.end() :]):
            yield from find_names(sentence)
        else:
            yield from find_names(sentence[mark.end() :])


def _names_nothing(rest: str) -> bool:
    """Whether what is forbidden comes before a mark, not after it: "git push must not run"."""
    return _RUNS.fullmatch(rest) is not None or not speaks_of_act_or_target(rest)


def _denies_subject(words: str) -> bool:
    """Whether a file or act is said not to change or happen: "b.py can't be edited"."""
    for denied in _DENIED_MODAL.finditer(words):
        subject, rest = words[: denied.start()], words[denied.end() :]
        if names_target(subject) and (_CHANGES.match(rest) or speaks_of_act(_first_verb(rest))):
            return True
        if (speaks_of_strong_act(subject) or "quoted" in subject.split()) and _HAPPENS.match(rest):
            return True
    return False


def _first_verb(rest: str) -> str:
    found = _BE.match(rest)
    return found["verb"] if found is not None else ""


def _speaks_against(words: str) -> bool:
    """Whether a mark of forbidding is beside what it needs to forbid."""
    rows = (
        (_NEVER, speaks_of_act),
        (_NOTHING_MAY, speaks_of_strong_act),
        (_MAKE_SURE, _changes_something),
        (_NO_RIGHT, lambda rest: True),
        (_AGAINST, speaks_of_act_or_target),
        (_PREDICATE, lambda rest: speaks_of_act_or_target(words)),
        (_DENIES, lambda rest: speaks_of_act_or_target(words)),
    )
    for mark, needs in rows:
        found = mark.search(words)
        if found is not None and not A_TEST.search(words[: found.start()]) and needs(words[found.end() :]):
            return True
    return False


def _changes_something(rest: str) -> bool:
    return speaks_of_strong_act(rest) or (names_file(rest) and _STAYS.search(rest) is not None)


_MARKS = lazy_pattern(r"""[`"“”«»*]|(?<!\w)'|'(?!\w)|(?<!\w)_+|_+(?!\w)|\bmake sure\b""")
_JUST_NO = r"(?: (?:do|try)(?: (?:it|that|this|so))?)?(?: (?!(?:ap|re|sup|im|multi|com)p?ly)\w+ly)?\Z"
_DONT = lazy_pattern(rf"{LEAD}(?:you ?)?{NOT_MODAL}(?!\w){HARMLESS}(?!{_JUST_NO})(?= \S)")
_DONT_WE = lazy_pattern(rf"\A{LEAD}{NOT_MODAL} (?:i|you|we|they|it|this|that)\b")
_BARE_ACT = (
    r"(?:edits?|changes?|commits?|push(?:es)?|deletions?|deploy\w*|publish(?:es)?|publications?|tests?\Z)"
)
_FORBIDS = lazy_pattern(
    rf"\b(?:and|but|or|so|also|just|then|please|to|sure|you|we|it) (?:please |you )?"
    rf"(?:don't|dont|do not|never|not|won't|can't|cannot|mustn't|must not) (?:to )?(?:ever )?{ACT}\b"
    rf"|\bnot to {ACT}\b"
    rf"|\b(?:must|may|should|shall|could)(?: not| never|n't) be {DONE_TO}\w*"
    r"|\b(?:stay|keep|remain) (?:well )?(?:away from|out of|off|clear of)\b|\bsteer clear of\b"
    r"|\b(?:keep |get |take )?(?:your )?(?:hands|paws|fingers) off\b"
    r"|\bleave (?:\S+ ){1,6}(?:alone|as is|as it is|as they are|untouched|unchanged|be)\b"
    r"|\b(?:refrain|abstain|desist) from\b|\bkeep from \w+ing\b"
    rf"|\A{LEAD}no (?:more |further |other |additional )?(?:git )?"
    rf"(?:\w+ing\b|(?:{_BARE_ACT}|(?:{ACT})(?:e?s)?)\b)"
    rf"|\b(?:avoid|quit|cease|stop|discontinue|enough)(?: (?:all|the|any|further|more|these|those|your))*"
    rf"(?: using)? (?:\w+ing\b|\S*[./]\w|{_BARE_ACT}\b)"
    r"|\b(?:is|are|'s|'re|stays?|remains?) (?:strictly |absolutely |completely )?"
    rf"{FORBIDDEN}(?!\w)"
    r"|\bi (?:hereby |strictly )?(?:forbid|prohibit|ban)\b"
    r"|\bi (?:really )?(?:don't|do not|never|didn't|did not) want(?:ed)? (?:you|it|anything|anyone|any"
    r"|\S+ to be)\b"
    r"|\bi(?:'d| would) (?:prefer|rather)(?: (?:you|it|that|if))+ (?:not|didn't|did not|don't|do not)\b"
    r"|\bunder no circumstances?\b"
)
# Said of what is planned or allowed, and no question.
_FORBIDS_PLAINLY = lazy_pattern(
    rf"\b(?:let's|lets|let us) not(?! (?:{pattern(HARMLESS_DONTS)})\b)(?= \S)"
    rf"|\A{LEAD}(?:not|nothing|no more) without"
    r" (?:asking|checking|telling|my|me|permission|consent|approval)\b"
    rf"|\A{LEAD}(?:this is a |we have a |we're in a |it's a )?(?:code|change|feature|release) freeze"
    r"(?: (?:now|starts now|is on|today|please))*\Z"
    rf"|\A{LEAD}freeze (?:(?:all|any|the|every|further|everything|these|those|your) ?)*"
    r"(?:changes|edits|commits|code|files|repo|branch|work)?\Z"
    rf"|\A{LEAD}(?:(?:stay|be|remain|go|switch to|use|you're|you are|we're|we are|this is)(?: in)? )?"
    r"read[ -]?only"
    r"(?: (?:mode|access|please|now|from now on|from here on))*\Z"
    r"|\b(?:editing|edits|committing|commits|pushing|changes) (?:is |are )?(?:over|closed|finished|done)\Z"
    rf"|\b(?:we|you|they|agents?|nobody)(?:'d| had)? (?:{NOT_MODAL}|won't|will not)(?: \w+){{0,2}}? {ACT}\b"
    rf"|\b(?:nobody|no one|noone) (?:\w+ )?{ACT}(?:e?s)?\b|\b(?:'d|had) better not\b|\Abetter not\b"
    r"|\b(?:isn't|aren't|is not|are not|'s not|'re not|is no longer|are no longer)"
    r" (?:\w+ly )?(?:allowed|permitted|authori[sz]ed|acceptable|approved)\b"
    r"|\bi (?:really |still |absolutely )?(?:don't|dont|do not|never) want (?!to\b|(?:it|this|that)\Z)\S"
    r"|\bi (?:don't|dont|do not|won't|will not|no longer|never|can't|cannot) (?:\w+ly )?"
    r"(?:consent|allow|permit|authori[sz]e|approve)(?: to| of)? (?!(?:it|this|that|to|of)\Z)\S"
)
_FORBIDS_ASKING = lazy_pattern(
    r"\b(?:can|could|would|will) you (?:please |kindly )?(?:mind )?(?:not|refrain)\b"
    r"|\bdid(?:n't| not) i (?:just |already |clearly )?(?:say|tell you|ask you)\b"
    r"(?=.*\b(?:no|not|never|don't)\b)"
)
_MARK_OF_FORBIDDING = lazy_pattern(
    rf"(?P<passive>\b{FORBIDDEN}(?!\w)"
    r"|\b(?:isn't|aren't|not|no longer) (?:\w+ly )?(?:allowed|permitted|authori[sz]ed|acceptable|approved)\b"
    r"|\b(?:must|may|should|shall|can|could)(?: not| never|n't|not) be\b|\bcan't be\b|\bnothing\b)"
    r"|\b(?:don't|dont|do not|never|not|mustn't|shouldn't|can't|cannot|won't|didn't|away from|out of|clear of"
    r"|off|from|leave|avoid|quit|cease|forbid|prohibit|ban|no more|under no|no longer|nobody|no one|no"
    r"|before|i'll|i will|i'm going to|i am going to|i'd rather|i'd like to)\b"
)

# --- the wide net: a mark, and what has to stand beside it --------------------------------------------------

_MODAL_DENIED = (
    "(?:can't|cannot|can not|(?:must|may|should|shall|could|ought|need|will|would)(?: not|n't"
    "| never)(?: to)?|won't"
    "|(?:is|are) not to|isn't to|aren't to|(?:is|are) never to)"
)
_DENIED_MODAL = lazy_pattern(rf"\b{_MODAL_DENIED}(?!\w)")
_BE = lazy_pattern(r" (?:ever |even )?(?:be |get )?(?P<verb>\w+)")
_CHANGES = lazy_pattern(r" (?:ever |even )?(?:change|move|be (?:part|in|on|allowed|permitted|yours))\b")
_RUNS = lazy_pattern(
    r"(?: (?:be|to|ever|even))* (?:run|start|execute|launch)(?: (?:again|any ?more|ever|here|now))*\W*"
)
_HAPPENS = lazy_pattern(
    r" (?:ever )?(?:run|start|execute|happen|occur|take place|proceed|go (?:ahead|on)"
    r"|be (?:allowed|permitted|made|done|on|part|possible|an option|approved|consented))\b"
)
_NEVER = lazy_pattern(
    r"\b(?:on no account|by no means|in no case|at no time|under no circumstances?|in no way"
    r"|no way(?: you)?|neither|no need to|shalt not|there (?:must|will|should|shall|can|may|is to"
    r"|are to) be no"
    r"|i(?:'d| would) (?:really )?appreciate it if you (?:didn't|did not|don't|do not)|mind not"
    r"|(?:may|can|must|should|shall|are|is) no longer|no longer yours)\b"
)
_NOTHING_MAY = lazy_pattern(
    r"\b(?:nothing|nobody|no one|noone|none(?: of \w+)?|no agent|no agents|no \w+)(?: else)?"
    r" (?:may|must|should|shall|can|will|is to|are to|is|are|has to|gets?|goes)\b"
)
_MAKE_SURE = lazy_pattern(
    r"\b(?:make sure|ensure|see to it|take care|be sure|see that)\b(?=.*(?:\bnot\b|n't\b|\bnever\b|\bno\b"
    r"|\bnothing\b|\bstays?\b|\bremains?\b))"
)
_STAYS = lazy_pattern(r"\b(?:stays?|remains?)\b")
_NO_RIGHT = lazy_pattern(
    r"\bi (?:haven't|have not|have never|never) (?:allowed|permitted|authori[sz]ed|approved) (?:you|any)\b"
    r"|\byou(?:'re| are|r| were)? (?:(?:not|never|no longer) (?:supposed|meant|entitled|authori[sz]ed|allowed"
    r"|free|permitted)"
    r"|barred|banned|forbidden|prohibited|disallowed)\b"
    r"|\byou (?:have|had|'ve got|got) no (?:permission|right|rights|business|authority|authori[sz]ation"
    r"|mandate|licen[cs]e) \S"
    r"|\bno longer yours\b"
)
_AGAINST = lazy_pattern(
    r"\bi(?:'m| am)? (?:strongly |really |still )?(?:object to|oppose|against|opposed to|won't have"
    r"|will not have"
    r"|not letting|not allowing|not having|didn't say you|did not say you|never said you"
    r"|didn't ask(?: you)?(?: to| for)"
    r"|did not ask(?: you)?(?: to| for)|never asked(?: you)?(?: to| for)|never told you to"
    r"|didn't tell you to)\b"
    r"|\bwe(?:'re| are) not(?= \w+ing\b)|\bwe aren't(?= \w+ing\b)"
)
_DENIES = lazy_pattern(
    r"\bi(?:'d| would) (?:rather|prefer) not\b|\bi(?:'d| would) prefer no\b|\bthere(?:'ll| will) be no\b"
    r"|\b(?:is |are )?(?:denied|rejected|not going to happen|not happening)\Z"
)
_PREDICATE = lazy_pattern(rf"(?<!\w){FORBIDDEN}(?!\w)|\b(?:stays?|remains?) off\Z")
