"""Statements about what is being built, in words that elsewhere forbid: "duplicates are not allowed".

A prohibition is addressed to the agent ("don't push", "you may not edit"), or speaks of a file, a command or
an operation of the session ("b.py must not change", "pushing is off limits"). A denial with another subject
or object is work: "the cache should not be written twice", "we never push the item onto the stack".
"""

from __future__ import annotations

from sayso.core.text.acts import DONE_TO, names_target, speaks_of_strong_act
from sayso.core.text.patterns import lazy_pattern


def is_about_product(words: str, asked: bool) -> bool:
    """Whether a clean clause of folded own words denies something of the product, not of the agent."""
    if asked and _WHY.match(words):
        return True
    if names_target(words) or _AGENT.search(words):
        return False
    if _STYLE_RULE.match(words) and not speaks_of_strong_act(words):
        return True
    return _says_of_subject(words) or any(shape.search(words) for shape in _SHAPES)


def _says_of_subject(words: str) -> bool:
    """Whether something is denied of a subject that is not an operation, nor a word for whatever there is."""
    found = _DENIED_OF.fullmatch(words)
    return found is not None and _OF_SESSION.search(found["subject"]) is None


_WHY = lazy_pattern(r"(?:(?:and|but|so|hm+|ok|oh) )*(?:why|how come|what|when|where|who|which|how)\b")
_AGENT = lazy_pattern(r"\b(?:you|your|yourself|u|agents?|me|my|permission|approval|consent|quoted)\b")
# What people call the acts of an agent, and words that may stand for them.
_ACTING = (
    r"(?:(?:push|edit|commit|deploy|publish|releas|merg|rebas|delet|remov|renam|instal|upload|tagg|modify"
    r"|chang"
    r"|touch|send|writ|migrat|overwrit|force-push)(?:l|t)?ing"
    r"|edits?|changes?|commits?|push(?:es)?|merges?|deploy(?:s|ments?)?|releases?|publications?"
    r"|publish(?:es)?"
    r"|deletions?|removals?|modifications?|tags?|rebases?|uploads?|installations?|migrations?)"
)
_OF_SESSION = lazy_pattern(
    rf"\b(?:{_ACTING}|it|this|that|these|those|them|they|anything|everything|nothing|all|any|none|nobody"
    r"|no one|noone|anyone|everyone|else|rest|files?|folders?|repo|repository|branch(?:es)?|code|git"
    r"|commands?|there|i|we|who|which|what|tests|database|db|config|secrets?|prod(?:uction)?|servers?"
    r"|backups?|history|docs)\b"
    r"(?<!log file)(?<!log files)|\A\Z"
)
_DENIED = (
    r"(?:(?:must|may|should|shall|can|could|will)(?: not| never|n't|not) (?:ever )?(?:be|get) \w+"
    r"|(?:is|are|was|were|'s|'re|gets?) (?:\w+ly )?(?:not |no longer )?"
    r"(?:allowed|permitted|authori[sz]ed|acceptable|forbidden|prohibited|banned|disallowed|to be \w+)"
    r"|(?:isn't|aren't) (?:\w+ly )?(?:allowed|permitted|authori[sz]ed|acceptable)|forbidden|prohibited)"
)
_DENIED_OF = lazy_pattern(
    rf"(?P<subject>.*?)\s*\b{_DENIED}\b(?! git\b| to (?:push|edit|commit|merge|deploy)\b).*"
)
_MILD = "(?:use|call)"
_CARRIED = "(?:commit|push|send|post|release|submit|merge|tag|fetch|pull|call|drop|reset|update)"
_THINGS = (
    "(?:changes?|edits?|code|branch(?:es)?|commits?|prs?|work|files?|repo|tests?|release|tags?|fix|rest)"
)
_WE = r"(?:\b(?:we|they|it|let's|lets|let us|nobody|no one|noone)\b)"
_NOT = (
    r"(?:(?:must|should|may|shall|can|could|will)?(?: not| never|n't|not)|don't|do not|never|doesn't|won't)"
)
_STYLE = (
    r"(?:hard-?code|catch|return|throw(?! away| out| it| that| them)|raise|mock|repeat|duplicate|nest"
    r"|inline|shadow|mutate"
    r"|swallow|over-?\w+|abbreviate|indent|log (?!in\b|into\b|out\b|on\b|off\b)|make (?:it|this"
    r"|that) (?:too|so|more|that)\b"
    r"|use (?:an? |the |any )?(?:\w+ )?(?:tabs?|spaces|var|let|const|any|eval|regex\w*|globals?"
    r"|class(?:es)?|loops?|recursion"
    r"|lambdas?|comments?|emojis?|abbreviations?|semicolons?|quotes|styles?|numbers?|inheritance|defaults?"
    r"|decorators?"
    r"|exceptions?|generators?|async|threads?|libs?|librar(?:y|ies)|goto|null|none)\b(?!/|\.))"
)
# "don't hardcode the path", "don't use tabs": how code is written
_STYLE_RULE = lazy_pattern(
    rf"\A(?:(?:and|but|so|also|please|just) )*(?:don't|do not|never) {_STYLE}(?!.*\b(?:don't|do not|never"
    rf"|not|nor)\b)"
)
_SHAPES = (
    # "we should not use eval here", "let's not use a class", "nobody calls this"
    lazy_pattern(rf"{_WE} (?:{_NOT} )?(?:\w+ly |ever )?{_MILD}(?:e?s)? (?!.*\b{_ACTING}\b)\S"),
    # "we don't commit the transaction"
    lazy_pattern(
        rf"{_WE} {_NOT} (?:\w+ly |ever )?{_CARRIED}(?:e?s)? (?:the|an?|every|each|our|its) "
        rf"(?!(?:\w+ )?{_THINGS}\b)\w+"
    ),
    lazy_pattern(
        r"\A(?:let's|lets|let us) not (?:overthink|over\w+|worry|panic|argue|rush|get|waste|spend|forget)\b"
    ),
    # "avoid allocating in the loop"
    lazy_pattern(
        rf"\Aavoid (?!.*\bgit\b)(?!(?:\w+ )?(?:{_ACTING}|running|executing|creating|posting|opening)\b)\w+"
    ),
    lazy_pattern(r"\A(?:i(?:'ve| have)? )?never (?:seen|been|had|heard|noticed|tried|thought|known)\b"),
    # "leave the signature as it is"
    lazy_pattern(
        rf"\Aleave (?:the|this|that|its|our) (?!(?:\w+ )?(?:{_THINGS}|{_ACTING}|folder|config)\b)"
        r"(?:[\w-]+ )+"
        r"(?:as is|as it is|as they are|unchanged|alone|be)\Z"
    ),
    # "nothing is sent to the client", "nothing gets deleted when I press it"
    lazy_pattern(
        r"\bnothing (?:is|gets|was|got) (?!to\b|allowed\b)\w+ (?:to the|into|from|in|on|when|if|after|by|at) "
    ),
    # "show an error when editing is not allowed"
    lazy_pattern(
        r"\A(?:please )?(?:show|make|add|display|return|raise|hide|disable|log|handle|render|throw|print"
        r"|write) "
        r".*\b(?:when|if|where|while|unless|for \w+ (?:who|that)) "
    ),
    # "I don't want it to fail"
    lazy_pattern(
        r"\Ai (?:really |just )?(?:don't|do not|never) want (?:it|this|that|them"
        r"|the (?:[\w-]+ ){0,3}?[\w-]+) to "
        rf"(?!(?:be |get |ever )*(?:{DONE_TO}\w*|happen|touched|run)\b)\w+"
    ),
    # "the dialog should ask before deleting the row"
    lazy_pattern(
        r"\A(?:the|an?|our|its|every|each|this|that) (?:[\w-]+ ){1,4}?(?:(?:should|must|has to|needs to"
        r"|shall|could|can|does)"
        r"(?: not|n't)? )?(?:always |first )*(?:asks?|confirms?|checks?)\b"
    ),
    lazy_pattern(r"\Ai(?:'ll| will) (?:run|test|try|read|check) (?:[\w ]+ )?(?:myself|by hand|manually)\Z"),
)
