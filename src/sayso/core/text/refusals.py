"""Refusals and prohibitions in a user's message.

- A message that begins with no is a refusal, whatever follows. So is a clause that is one, and a "don't".
- A prohibition forbids something by name: "do not edit b.py", "stay away from main". It is a refusal that
  also takes consent back, and its words say which entries of the allowlist go.
- Words that unsay a yes are a refusal: "I changed my mind", "scratch that", "I didn't mean yes".
- "Don't forget ...", "don't worry" are neither. In doubt it is a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from sayso.core.text.phrases import (
    ACTS,
    APOSTROPHES_LEFT_OUT,
    HARMLESS_DONTS,
    NO_WORDS,
    POLITE,
    REFUSALS,
    pattern,
)
from sayso.core.text.unmask import BLANK, clauses


class MessageRefusal(msgspec.Struct, frozen=True):
    """Whether a message refuses, whether it forbids something, and in which words."""

    refuses: bool = False
    forbids: bool = False
    words: tuple[str, ...] = ()


def read_refusal(spoken: str, shown: str) -> MessageRefusal:
    """Read folded own words; `shown` is the same text with what is quoted, for the names in it."""
    spoken, shown = with_apostrophes(_in_one_clause(spoken)), with_apostrophes(shown)
    said = [(clean_clause(words), asked) for words, asked in clauses(spoken)]
    with_quoted = clauses(_QUOTED.sub(" quoted ", spoken))
    forbids = any(_forbids(clean_clause(words), asked) for words, asked in with_quoted)
    refuses = forbids or _begins_with_no(said) or any(_refuses(words, asked) for words, asked in said)
    return MessageRefusal(refuses, forbids, tuple(dict.fromkeys(_forbidden(shown))) if forbids else ())


def refuses_flatly(own: str) -> bool:
    """Whether a clause of folded own words is a no and nothing else: the no of "yes, but no"."""
    return any(_FLAT.fullmatch(clean_clause(words)) for words, _ in clauses(own))


def clean_clause(words: str) -> str:
    """A clause without emphasis, emoji and marks around its words."""
    return " ".join(_NOT_A_WORD.sub(" ", words).split()).strip(" ._-/'")


def contains_forbidden(command: str, forbidden: Iterable[str]) -> bool:
    """Whether a command holds one of the words or names that a prohibition forbids, in any form."""
    spelled = set()
    for name in _NAME.findall(command.lower()):
        spelled |= {name, name.rpartition("/")[2], *map(_stem, re.split(r"[\W_]+", name))}
    return not spelled.isdisjoint(forbidden)


def with_apostrophes(text: str) -> str:
    """Words with the apostrophes of their denials: "dont" is "don't"."""
    return _APOSTROPHE_LEFT_OUT.sub(lambda found: f"{found[0][:-1]}'t", text)


def _in_one_clause(spoken: str) -> str:
    """Folded own words with what splits a prohibition taken out: "@agent, do not, ever,\\nedit b.py"."""
    spoken = _LINE_WITHIN.sub(r"\1 ", _MENTION.sub("please ", spoken))
    return _ASIDE.sub(r"\1 ", spoken)


def _begins_with_no(said: list[tuple[str, bool]]) -> bool:
    """Whether the first clause with any sense begins with no."""
    sense = next((words for words, _ in said if not _ONLY_LEAD.fullmatch(words)), "")
    return _NO.match(sense) is not None


def _refuses(words: str, asked: bool) -> bool:
    if _FLAT.fullmatch(words):
        return True
    return not asked and (_REFUSES.search(words) is not None or _UNSAYS.match(words) is not None)


def _forbids(words: str, asked: bool) -> bool:
    if _FORBIDS_ASKING.search(words):
        return True
    if asked and _DONT_WE.search(words):
        return False
    if _DONT.match(words) or _FORBIDS.search(words):
        return True
    return not asked and (_FORBIDS_PLAINLY.search(words) is not None or _KEEPS.search(words) is not None)


def _forbidden(shown: str) -> Iterator[str]:
    """The names and verbs of each sentence from where it begins to forbid."""
    for sentence in re.split(r"[.!?;]+(?:\s+|$)|\n", _QUOTE_MARKS.sub(" ", shown)):
        mark = _MARK_OF_FORBIDDING.search(sentence)
        if mark is not None:
            yield from find_names(sentence if mark["passive"] else sentence[mark.end() :])


def find_names(said: str) -> Iterator[str]:
    """The names and verbs in folded words, as `contains` compares them."""
    for name in _NAME.findall(said):
        if name not in _SMALL:
            yield name.rpartition("/")[2] if re.search(r"[./]", name) else _stem(name)


def _stem(word: str) -> str:
    bare = re.sub(r"(?:ing|ed|es|s|e)$", "", word) if len(word) > 3 else word
    return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] else bare


_APOSTROPHE_LEFT_OUT = re.compile(
    rf"(?<![\w./-])(?:{'|'.join(APOSTROPHES_LEFT_OUT)})(?![\w./-])", re.IGNORECASE
)
_NOT_A_WORD = re.compile(r"[^\w\s'./\\-]+|(?<![\w])[_-]+|[_-]+(?![\w])|\.{2,}")
_NAME = re.compile(r"[\w./\\~-]*\w")
_QUOTE_MARKS = re.compile(r"""[`"“”«»*]|(?<!\w)'|'(?!\w)""")

_LEAD_WORDS = (
    "(?:please|pls|plz|oh|ah|hm+|um+|uh+|er+|erm|eh+|meh|ugh|mm+|argh|well|ok|okay|yes|yeah|so|and|but|then|also|actually|sorry"
    "|i think|i said|hey|hell|heck|god|look|listen|now|just|thanks|thank you|i repeat"
    "|again|one more thing|btw|fyi)"
)
_LEAD = f"(?:{_LEAD_WORDS} )*"
_ONLY_LEAD = re.compile(rf"(?:{_LEAD_WORDS}(?: |$))*")
_NO = re.compile(rf"{_LEAD}{NO_WORDS}(?![\w'-])")
_FLAT = re.compile(
    rf"{_LEAD}(?:{pattern(REFUSALS)}|{NO_WORDS}(?: {NO_WORDS})*)(?: (?:{pattern(POLITE)}|sorry|then|again))*"
)
_HARMLESS = rf"(?! (?:{pattern(HARMLESS_DONTS)})\b)"
_NOT_MODAL = (
    "(?:don't|dont|do not|never ever|never|(?:must|should|may|can|will|shall|could) never"
    "|must not|mustn't|should not|shouldn't|may not|shall not|shan't"
    "|can't|can not|cannot|better not|'re not to|are not to|aren't to|'re not allowed to|are not allowed to"
    "|aren't allowed to|'re never to|are never to|needn't|need not)"
)
_REFUSES = re.compile(
    rf"\A{_LEAD}(?:you ?)?{_NOT_MODAL}(?!\w){_HARMLESS}"
    r"|\A(?:absolutely|definitely|certainly|of course|by all means) (?:not|no|never)\b"
    r"|\bi (?:really |still )?(?:don't|do not|won't|will not|can't|cannot)"
    r" (?:want|agree|approve|consent|accept|allow|permit|like|authori[sz]e)\b"
    r"|\b(?:not|never|no longer|isn't|aren't|wasn't|doesn't|don't)(?: \w+){0,2}"
    r" (?:ok|okay|fine|good|happy|comfortable|approved|confirmed|agreed|proceed|go ahead|do it|ship it)\b"
)
_SAID = (
    "(?:yes|yep|yeah|ok|okay|sure|approval|answer|reply|response|consent|permission|assent|agreement"
    "|go[ -]ahead"
    "|message|command|order|request|instruction|vote|thumbs up)"
)
_UNSAYS = re.compile(
    rf"{_LEAD}(?:"
    r"(?:i|i've|i have|we|we've|we have)(?: just| since)? ?changed (?:my|our) minds?\b"
    r"|changed my mind\b|(?:a )?change of (?:mind|heart)\b|(?:i'm |i am )?having second thoughts\b"
    r"|i have second thoughts\b"
    r"|on (?:second|further|reflection|2nd)(?: thoughts?| reflection| consideration)?\Z"
    r"|(?:scratch|strike|belay|disregard|ignore|forget|erase|unsay)"
    rf"(?: (?:it|that|this|what i (?:just )?said|my (?:last |previous )?{_SAID}|the last (?:one|{_SAID})))\Z"
    r"|(?:undo|cancel|void|annul|unsay|reverse|nullify|scratch|strike|ignore|disregard|forget|delete|drop|remove"
    rf"|take back|retract|withdraw|overrule|rescind) (?:my|that|this|the) (?:last |previous |earlier "
    rf"|first )?{_SAID}\b"
    rf"|take (?:my|that|this|the) (?:last |previous |earlier )?{_SAID} back\b"
    r"|i (?:meant|mean|should have said|wanted to say|intended|said|say) (?:to say )?(?:no|not|don't|nope"
    r"|never)\b"
    rf"|i (?:didn't|did not|never) (?:really |actually )?(?:mean|meant|say|said|intend|intended|agreed?"
    rf"|approved?|want|wanted)"
    rf"(?: (?:to|that|this|it|so|say|a|my|agree|approve|do|{_SAID}))*\Z"
    rf"|(?:my|that|the) {_SAID} (?:was|is|came|happened) (?:\w+ )?(?:a mistake|an error|an accident"
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
_ACT = f"(?:{'|'.join(ACTS)})"
_DONE_TO = f"(?:{'|'.join(re.sub('[ey]$', '', act) for act in ACTS)}|stopp|dropp|gett|shipp|run|writt)"
_JUST_NO = r"(?: (?:do|try)(?: (?:it|that|this|so))?)?(?: \w+ly)?\Z"
_DONT = re.compile(rf"{_LEAD}(?:you ?)?{_NOT_MODAL}(?!\w){_HARMLESS}(?!{_JUST_NO})(?= \S)")
_DONT_WE = re.compile(rf"\A{_LEAD}{_NOT_MODAL} (?:i|you|we|they|it|this|that)\b")
_FORBIDS = re.compile(
    rf"\b(?:and|but|or|so|also|just|then|please|to|sure|you|we|it) (?:please |you )?"
    rf"(?:don't|dont|do not|never|not|won't|can't|cannot|mustn't|must not) (?:to )?(?:ever )?{_ACT}\b"
    rf"|\bnot to {_ACT}\b"
    rf"|\b(?:must|may|should|shall|can|could)(?: not| never|n't|not) be {_DONE_TO}\w*"
    r"|\b(?:stay|keep|remain) (?:well )?(?:away from|out of|off|clear of)\b|\bsteer clear of\b"
    r"|\b(?:keep |get |take )?(?:your )?(?:hands|paws|fingers) off\b"
    r"|\bleave (?:\S+ ){1,6}(?:alone|as is|as it is|as they are|untouched|unchanged|be)\b"
    r"|\b(?:refrain|abstain|desist) from\b|\bkeep from \w+ing\b"
    rf"|\A{_LEAD}no (?:more |further |other |additional )?(?:git )?"
    rf"(?:\w+ing\b|(?:edits?|changes?|commits?|push(?:es)?|deletions?|deploy\w*|{_ACT})\b)"
    rf"|\b(?:avoid|quit|cease) (?:\w+ing\b|\S*[./]\w)"
    r"|\b(?:is|are|'s|'re|stays?|remains?) (?:strictly |absolutely |completely )?"
    r"(?:off[ -]limits|forbidden|prohibited|banned|taboo|not allowed|not permitted|not to be)\b"
    r"|\bi (?:hereby |strictly )?(?:forbid|prohibit|ban)\b"
    r"|\bi (?:really )?(?:don't|do not|never) want (?:you|it|anything|anyone|any|\S+ to be)\b"
    r"|\bi(?:'d| would) (?:prefer|rather)(?: (?:you|it|that|if))+ (?:not|didn't|did not|don't|do not)\b"
    r"|\bunder no circumstances?\b"
)
# Said of what is planned or allowed, and no question.
_FORBIDS_PLAINLY = re.compile(
    rf"\b(?:let's|lets|let us) not(?! (?:{pattern(HARMLESS_DONTS)})\b)(?= \S)"
    rf"|\b(?:we|you|they|agents?|nobody)(?:'d| had)? (?:{_NOT_MODAL}|won't|will not)(?: \w+){{0,2}}? {_ACT}\b"
    rf"|\b(?:nobody|no one|noone) (?:\w+ )?{_ACT}(?:e?s)?\b|\b(?:'d|had) better not\b|\Abetter not\b"
    r"|\b(?:isn't|aren't|is not|are not|'s not|'re not|is no longer|are no longer)"
    r" (?:\w+ly )?(?:allowed|permitted|authori[sz]ed|acceptable|approved)\b"
    r"|\bi (?:really |still |absolutely )?(?:don't|dont|do not|never) want (?!to\b|(?:it|this|that)\Z)\S"
    r"|\bi (?:don't|dont|do not|won't|will not|no longer|never|can't|cannot) (?:\w+ly )?"
    r"(?:consent|allow|permit|authori[sz]e|approve)(?: to| of)? (?!(?:it|this|that|to|of)\Z)\S"
)
# Kept for the user, or put to them first.
_KEEPS = re.compile(
    rf"\bi(?:'ll| will|'m going to| am going to|'d rather| want to|'d like to) (?:.{{1,200}} )?{_ACT}\b"
    r".*\b(?:myself|by hand|manually)\b"
    r"|\bi(?:'ll| will) do .*\b(?:myself|by hand|manually)\b"
    r"|\b(?:ask|check with|consult|confirm with|talk to|get approval from) (?:me|us)(?: first)? before \S"
    r"|\A(?:(?:please|always|from now on|in future|you must|you should|you have to|you need to"
    r"|i want you to|but|and|so"
    r"|just|instead|actually|again|better) )*(?:ask|check with|consult|confirm with) (?:me |us )?(?:first"
    r"|beforehand|every ?time|each time"
    r"|always|again|from now on|before (?:anything|everything)|for (?:everything|each (?:\w+)"
    r"|every (?:\w+)|all of it))"
    r"(?: (?:please|first|from now on|again|every time|each time))*\Z"
    r"|\A(?:(?:please|but|and|so) )*(?:always|from now on|in future) (?:please )?(?:ask|check with"
    r"|consult|confirm with)(?: me| us| first| again)*\Z"
    r"|\b(?:always )?(?:ask|confirm|check)(?: first)? before (?:you )?"
    rf"(?:{_DONE_TO}\w*|any\w*|every\w*|each)\b"
)
_QUOTED = re.compile(f"{BLANK}+")
_MENTION = re.compile(r"(?<![\w@])@[\w-]+[,:]?\s+")
_NEGATION = r"(?:do|must|should|may|shall|can|could|will|let's)"
_LINE_WITHIN = re.compile(
    rf"\b({_NEGATION}(?=\s+not\b)|(?:{_NEGATION} )?not|never|don't|dont)[ \t]*\n\s*(?=\w)"
)
_ASIDE = re.compile(r"\b(do not|don't|dont|never|must not|should not|not)\s*,[^,.;!?\n]{0,60},\s*")
_FORBIDS_ASKING = re.compile(r"\b(?:can|could|would|will) you (?:please |kindly )?(?:not|refrain)\b")
_MARK_OF_FORBIDDING = re.compile(
    r"(?P<passive>\b(?:is|are|stays?|remains?)\b[^,]*"
    r"\b(?:off[ -]limits|forbidden|prohibited|banned|taboo|not allowed|not permitted|not to be)\b"
    r"|\b(?:isn't|aren't|not|no longer) (?:\w+ly )?(?:allowed|permitted|authori[sz]ed|acceptable|approved)\b"
    r"|\b(?:must|may|should|shall|can|could)(?: not| never|n't|not) be\b)"
    r"|\b(?:don't|dont|do not|never|not|mustn't|shouldn't|can't|cannot|won't|didn't|away from|out of|clear of"
    r"|off|from|leave|avoid|quit|cease|forbid|prohibit|ban|no more|under no|no longer|nobody|no one|no"
    r"|before|i'll|i will|i'm going to|i am going to|i'd rather|i'd like to)\b"
)
_SMALL = {
    "a", "an", "the", "any", "anything", "everything", "else", "it", "this", "that", "these", "those", "them",
    "they", "me", "my", "you", "your", "to", "on", "in", "of", "for", "and", "or", "nor", "at", "by", "with",
    "from", "into", "please", "do", "be", "is", "are", "was", "ever", "again", "now", "then", "yet", "more",
    "so", "just", "ok", "i", "we", "us", "all", "no", "not", "want", "thing", "things", "must", "may",
    "off", "limits", "alone", "should", "can", "could", "allowed", "permitted", "consent", "allow", "permit",
    "under", "circumstances", "myself", "hand", "further", "better", "isn't", "aren't", "approve", "proceed",
    "continue", "go", "ahead", "before", "first",
}  # fmt: skip
