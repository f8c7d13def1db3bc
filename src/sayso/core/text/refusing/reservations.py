"""What users reserve for themselves: being asked, doing it on their own, a yes that was for less.

- The agent is told to ask: as a duty, or for what comes ("from now on, ask", "push only with my ok").
- The user takes over: "I'll take it from here", "let me do it".
- An earlier yes is limited or taken back: "my yes was for one edit only".
"""

from __future__ import annotations

from sayso.core.text.acts import ACT, DONE_TO, speaks_of_act_or_target
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.refusing.denials import FROM_NOW_ON, LEAD


def reserves(words: str) -> bool:
    """Whether a clean clause of folded own words, no question, keeps something for the user."""
    if _KEEPS.search(words):
        return True
    rows = (
        (_ASK_FIRST, lambda rest: True),
        (_IS_TO_ASK, lambda rest: _SOME_TIME.search(words) is not None),
        (_MUST_BE_CONFIRMED, lambda rest: speaks_of_act_or_target(words)),
        (_TAKES_OVER, lambda rest: True),
        (_LIMITS_YES, lambda rest: True),
        (_LIMITS_APPROVAL, speaks_of_act_or_target),
    )
    for mark, needs in rows:
        found = mark.search(words)
        if found is not None and not A_TEST.search(words[: found.start()]) and needs(words[found.end() :]):
            return True
    return False


A_TEST = lazy_pattern(r"\b(?:tests?|checks?|asserts?|asserting|verif(?:y|ies)) (?:that|whether|which|if)?\b")
"""Begins what a test checks: "a test that nothing is deleted"."""

# Kept for the user, or put to them first.
_KEEPS = lazy_pattern(
    rf"\bi(?:'ll| will|'m going to| am going to|'d rather| want to|'d like to) (?:.{{1,200}} )?{ACT}\b"
    r".*\b(?:myself|by hand|manually)\b"
    r"|\bi(?:'ll| will) do .*\b(?:myself|by hand|manually)\b"
    r"|\b(?:ask|check with|consult|confirm with|talk to|get approval from) (?:me|us)(?: first)? before \S"
    r"|\b(?:always )?(?:ask|confirm|check)(?: first)? before (?:you )?"
    rf"(?:{DONE_TO}\w*|any\w*|every\w*|each)\b"
)
_OK = "(?:ok|okay|approval|consent|permission|go[ -]ahead|sign[ -]?off|yes|blessing|say[ -]?so|agreement)"
_ASK_FIRST = lazy_pattern(
    rf"\b(?:get|ask for|ask me for|need|needs|requires?|want|seek|obtain|without) my (?:explicit "
    rf"|prior )?{_OK}"
    r"(?: (?:before|for|first|again|each|every|to)\b|\Z)"
    r"|\b(?:check in|check back|check|confirm|clear it|talk) with me before\b|\b(?:run|clear) (?:it|this"
    r"|that|them) "
    r"(?:by|past|with) me (?:before|first)\b"
    r"|\bi(?:'d)? (?:want|like|need|have)(?: to)? (?:be asked|approve (?:each|every|all|any|it before)"
    r"|sign off on (?:each|every)|confirm (?:each|every))\b"
    rf"|\A{LEAD}(?:you (?:can|may|should) )?(?:{ACT}(?: \S+){{0,2}} (?:only|just)|(?:only"
    rf"|just) {ACT}(?: \S+){{0,2}}?)"
    r" (?:after|when|once|if|with|on) (?:i|my|we|me)\b"
    rf"|\A{LEAD}(?:always )?ask me (?:again|before|each time|every time|first)\b"
    r"|\blet me (?:approve|review|see|check|confirm) (?:each|every|all|any|it before|before)\b"
    r"|\bshow me (?:each|every|all) \w+ before (?:you|making|writing|doing)\b"
    r"|\bask (?:me )?(?:again )?before (?:git|npm|docker) "
)
# The agent is told to ask, and that it holds for what comes or is a duty.
_ASKING = (
    r"(?:ask(?:ed)?|check(?:ed)?(?: in)? with|consult(?:ed)?|confirm with|check back with"
    r"|clear (?:it|this|that|things) with|come to)"
)
_DUTY = (
    r"(?:you (?:must|have to|need to|should|ought to|are to|will|shall|'d better|had better)"
    r"|you(?:'re| are) (?:supposed|required|expected) to|i(?:'d| would)? (?:want|need|expect|like"
    r"|prefer)(?: for)? you to"
    r"|i(?:'d| would) rather you|make sure (?:you|to)|be sure to|remember to|see that you)"
)
_SOME_TIME = lazy_pattern(
    rf"\b(?:{FROM_NOW_ON}|always|each time|every ?time|again|first|beforehand|before|for|{_DUTY})\b"
)
_IS_TO_ASK = lazy_pattern(
    rf"\A{LEAD}(?:{_DUTY} )?(?:(?:please|always|rather|first|just|instead|better) )*{_ASKING}(?: (?:me|us))?"
    rf"(?: (?:{FROM_NOW_ON}|always|each time|every ?time|again|first|beforehand|please|too|about (?:it|that"
    rf"|this|everything)"
    r"|for (?:permission|approval|everything|all of it|each \w+|every \w+|my (?:ok|okay|approval|permission"
    r"|consent))))*(?: before\b.*)?\Z"
)
_MUST_BE_CONFIRMED = lazy_pattern(
    r"\b(?:must|has to|have to|needs? to|should) be (?:confirmed|approved|signed off)(?: by (?:me|us))?\Z"
    r"|\b(?:requires?|needs?) (?:my )?(?:approval|confirmation|consent)\Z"
)
# What is taken over, kept, or was never meant as a yes. Nothing has to stand beside it.
_TAKES_OVER = lazy_pattern(
    rf"\A{LEAD}(?:read[ -]only(?: please| from now on| now| mode)?|you(?:'re| are) read[ -]only(?: now)?"
    r"|do nothing (?:until|till|unless) (?:i|we|told|further)\b.*"
    r"|i(?:'m| am) taking (?:over|it from here)|i(?:'ve| have)? got (?:this|it from here)|my turn"
    r"|(?:i(?:'ll| will|'m going to| am going to|'d rather| would rather|'d like to| want to| can)|let me"
    r"|allow me to)"
    r" (?:just |now |better )?(?:take over|take it from (?:here|there)|continue (?:alone|on my own)"
    r"|(?:do|finish|handle|complete|take|manage|take care of)"
    r" (?:it|this|that|the rest|everything|all of (?:it|this|that)|(?:this|that) (?:one|part)|these|those"
    r"|them))"
    r"(?: (?:now|myself|from here|then|instead|please|on my own|by myself|alone|by hand))*"
    r"|leave (?:it|this|that|the rest|everything) (?:to|for) me)\Z"
    r"|\bthat (?:wasn't|was not) a yes\b|\bmy yes (?:doesn't|does not|didn't) count\b"
    r"|\bi (?:shouldn't|should not) have said yes\b|\b(?:forget|ignore) (?:that )?i said yes\b"
    rf"|\bonly i (?:may |can |will |get to )?{ACT}\b|\A{LEAD}only \w+ (?:may|can) {ACT}\b"
    rf"|\bwe(?:'re| are) done {DONE_TO}ing\b|\bdo anything but {ACT}\b"
)
# A yes that was for less than it is used for.
_YES = "(?:yes|ok|okay|approval|consent|permission|go[ -]ahead|agreement)"
_LIMITS_YES = lazy_pattern(
    rf"\bi (?:only|just|merely) (?:agreed|consented|said (?:yes|ok|okay)|gave (?:you )?(?:my |an? )?{_YES})\b"
    rf"|\bi (?:agreed|consented|said {_YES})(?: (?:to|for))? (?:only|just|exactly|a single|one)\b"
    rf"|\bi (?:agreed|consented|said {_YES})\b.* (?:only|just once|once|and nothing else|nothing more)\Z"
    rf"|\b(?:my|that|the) {_YES} (?:(?:was|is|covers?|covered|applie[sd]|holds|held|counts|counted|went"
    rf"|goes)\b"
    r"(?=.*\b(?:only|just|merely|one|once|single|not|nothing)\b)|(?:only|just|merely)\b)"
)
_LIMITS_APPROVAL = lazy_pattern(r"\bi (?:only|just) (?:approved|authori[sz]ed|okayed|signed off on)\b")
