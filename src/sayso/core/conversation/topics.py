"""Where a user's message leaves the work at hand: corrections, acknowledgements, another topic."""

from __future__ import annotations

import re

from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import DONE_PHRASES, POLITE, pattern
from sayso.core.text.unmask import clause_spans, clauses


def corrects(spoken: str) -> bool:
    """Whether folded own words say that something is wrong, or to be done in another way."""
    return _CORRECTION.search(spoken) is not None


def acknowledges(spoken: str) -> bool:
    """Whether a clause of folded own words says that the task is over: "done", "next task"."""
    said = [(words, asked) for words, asked in clauses(_SIGNS.sub(" ", spoken)) if words]
    part = len(said) > 1 and _PART_DONE.match(said[0][0]) is not None
    if part or any(asked for _, asked in said):
        return not part and any(_DONE.fullmatch(words) for words, asked in said if not asked)
    wholly = all(_ALL.fullmatch(words) or _ASIDE.fullmatch(words) for words, _ in said)
    return any(_DONE.fullmatch(words) or (wholly and _ALL.fullmatch(words)) for words, _ in said)


def find_topic(spoken: str, shown: str) -> str | None:
    """The topic the user turns to, in their spelling: "Actually, let's work on feature Y instead"."""
    for found in _TOPIC.finditer(spoken):
        topic = shown[found.start("topic") : found.end("topic")].strip(" ,:-")
        bare = _INSTEAD.sub("", topic)
        turns = found["lead"] or found["turn"] or bare != topic
        if bare and turns and not _NO_TOPIC.fullmatch(bare):
            return bare
    return _find_announced_topic(_ARROW.sub(": ", spoken), shown) or _find_turn(spoken, shown)


def _find_turn(spoken: str, shown: str) -> str | None:
    """The work a clause turns to: "now for the docs", "can you do the docs instead?", "back to the docs"."""
    for start, end, _ in clause_spans(spoken):
        found = _TURNS.fullmatch(spoken[start:end].strip())
        if found is not None:
            ahead = start + len(spoken[start:end]) - len(spoken[start:end].lstrip())
            name = "topic" if found["topic"] else "instead"
            return shown[ahead + found.start(name) : ahead + found.end(name)].strip(" ,.:;!-")
    return None


def _find_announced_topic(spoken: str, shown: str) -> str | None:
    """What follows a clause that announces another task; without anything, the clause itself."""
    for start, end, asked in clause_spans(spoken):
        said = " ".join(_SIGNS.sub(" ", spoken[start:end]).split())
        if not asked and _ANNOUNCES.fullmatch(said) and not _DONE.fullmatch(said):
            return shown[end:].split("\n", 1)[0].strip(" ,.:;!-—–") or shown[start:end].strip()
    return None


def announces_another(clause: str) -> bool:
    """Whether a clause says no more than that there is another task: "new task", "next issue"."""
    return _ANNOUNCES.fullmatch(clause) is not None


# Emphasis, emoji and other signs around words; what masks a quotation stays.
_SIGNS = lazy_pattern(r"[^\w\s.,:;!?()'\"/`\ufffd—–-]+|(?<!\w)_+|_+(?!\w)")
_ENDS = (
    "completed|next one|(?:end|close|finish|wrap up) (?:(?:the|this) )?(?:task|job|ticket|work)"
    "|end of (?:the )?task"
    "|(?:job|work|mission) (?:done|complete|completed|accomplished|finished)"
    "|(?:that's|that is) (?:all|it) for (?:this task|today|now|the (?:edits|changes|day))"
    "|(?:we can |let's |lets )?call it (?:a day|a night|done|finished)|done and dusted"
    "|feature complete|(?:let's |lets )?wrap (?:it |this )?up"
)
_DONE = lazy_pattern(
    r"(?:(?:ok|okay|alright|all right|yes|great|good|perfect|and|so|now|all|task|i think|i guess"
    r"|i believe|i'd say"
    r"|(?:it )?looks like"
    r"|(?:(?:this|that|the|our|my|your) )?(?:task|work|job|issue|ticket|feature|story"
    r"|project)(?: \w+)?(?:'s| is"
    r"| was)|the \w+ is|(?:we|you|they)(?:'re| are)|i(?:'m| am)"
    r"|(?:it|this|that|everything|the task)(?:'s| is)|(?:move |moving )?on to the) )*"
    rf"(?:{pattern(DONE_PHRASES)}|{_ENDS})"
    rf"(?: (?:{pattern(POLITE)}|now|then|here|with (?:it|this|that|(?:the|this|that) [\w./-]+)))*"
)
# Said in passing of a finding ("that's it, line 10"), so the message may say nothing else.
_ALL = lazy_pattern(
    rf"(?:(?:ok|okay|alright|great|good|perfect|so|and|well|cool) )*(?:(?:that's|thats|that is|that was"
    rf"|that'll be"
    rf"|that will be)"
    rf" (?:all|it|everything)|nothing (?:else|more) (?:to do|from me))(?: (?:folks|then|{pattern(POLITE)}"
    rf"|from me|i need(?:ed)?|i wanted"
    r"|for me|here))*"
)
_ASIDE = lazy_pattern(
    rf"(?:(?:ok|okay|alright|great|good|perfect|cool|nice|awesome|{pattern(POLITE)}|you can go"
    rf"|good (?:work|job)"
    rf"|nice work|well done)(?: |$))+"
)
# "The parser is done, now write the tests" goes on with the task.
_PART_DONE = lazy_pattern(
    r"(?:(?:ok|okay|so|now|and|great|good) )*(?:the (?!task|work|job|issue|ticket|feature|story"
    r"|project)\w+ is\b"
    r"|(?:we're|we are|you're|you are|i'm|i am) (?:done|finished) with (?!it\b|this\b|that\b|(?:the"
    r"|this) task\b))"
)
_WHAT_YOU_DID = (
    r"(?:that|this|it|everything|all|all\s+of\s+(?:it|that|this)|what\s+you\s+(?:just\s+)?did"
    r"|(?:(?:your|these|those|all|all\s+your|all\s+the|the)\s+)(?:last\s+|latest\s+)?(?:changes?|edits?"
    r"|work))"
)
_CORRECTION = lazy_pattern(
    r"\A\W*(?:(?:no|nope|hmm?|ok|sorry)[\s,.!]+)*(?:wrong|incorrect)(?:\s+(?:file|approach|one|place|way"
    r"|function"
    r"|branch|folder|direction))?(?:[\s,.!]+try\s+again)?[\s.!]*\Z"
    r"|\A\W*(?:(?:no|nope|please|sorry|hmm?|ok)[\s,.!]+)*(?:that(?:'?s|\s+is)\s+not\s+it|that\s+isn't\s+it"
    rf"|(?:undo|revert|roll\s+back)(?:\s+{_WHAT_YOU_DID})?(?:\s+(?:please|now|again))*"
    rf"|roll\s+{_WHAT_YOU_DID}\s+back"
    r"|(?:let's\s+)?start\s+(?:over|again|from\s+scratch)|redo\s+(?:it|this|that|everything|all(?:\s+of\s+it)?)"
    r"|(?:put|change|turn|set)\s+(?:it|this|that|everything)\s+back(?:\s+(?:the\s+way|how|as|like)\s+it\s+was)?"
    r"|(?:undo|revert)\s+(?:that|this|the\s+last|your\s+last)\s+(?:change|edit)"
    r"|you(?:'re|\s+are)\s+wrong|not\s+(?:right|correct)|(?:that's|that\s+is|this\s+is)\s+(?:bad|no\s+good)"
    r"|find\s+(?:another|a\s+different|some\s+other)\s+(?:way|approach|solution)"
    r"|i\s+(?:want|wanted|would\s+like|meant|need|needed)\s+(?:it|this|that|something)(?:\s+to\s+be)?(?:\s+done)?"
    r"\s+(?:differently|different|else)|i'd\s+like\s+(?:it|this|that)(?:\s+to\s+be)?(?:\s+done)?\s+differently"
    r"|i\s+meant\s+the\s+other\s+\w+)[\s.!]*\Z"
    r"|\b(?:you(?:'re|\s+are)|(?:this|that|it)(?:'s|\s+is))\s+(?:going|heading|moving|on|headed)\s+(?:in\s+|down\s+)?"
    r"the\s+wrong\s+(?:direction|track|path|way|road)\b"
    r"|\b(?:try|use|take)\s+(?:a\s+different|another|some\s+other)\s+(?:approach|way|route)\b"
    r"|\byou\s+should(?:'ve|\s+have)\s+asked\b"
    r"|\bi\s+(?:never|didn't|did\s+not)\s+ask(?:ed)?\s+(?:you\s+)?(?:for|to\s+do)\s+(?:that|this|it"
    r"|any\s+of\s+(?:that|this|it))\b"
    r"|\b(?:nobody|no\s+one|noone)\s+(?:approved|allowed|authori[sz]ed|wanted"
    r"|asked\s+(?:you\s+)?for)\s+(?:that|this|it)[\s.!]*\Z"
    r"|\b(?:nobody|no\s+one|noone|who)\s+(?:(?:told|asked|allowed)\s+you\s+to|said\s+you\s+(?:could|can|may"
    r"|should))\b"
    r"|\byou(?:'ve|\s+have)?\s+(?:just\s+)?(?:\w+ed|wrote|written|ran|run|did|took|put|broke|chose|sent"
    r"|built)\s+(?:it\s+(?:in|into|to|on)\s+)?"
    r"(?:in\s+|to\s+|on\s+|into\s+)?the\s+wrong\s+\w+"
    r"|\byou(?:'ve|\s+have)?\s+(?:just\s+|now\s+|completely\s+)?(?:broke|broken|ruined|wrecked|messed\s+up"
    r"|screwed\s+up|destroyed|botched"
    r"|trashed|clobbered)\b"
    r"|\bthat(?:'?s|\s+is|\s+was)\s+not\s+(?:the\s+plan|(?:what\s+)?we\s+agreed|what\s+(?:was"
    r"|you)\s+(?:agreed|said|planned|promised))\b"
    r"|\b(?:that|this)\s+(?:isn't|wasn't)\s+(?:the\s+plan|what\s+(?:we|was|you)\s+(?:agreed|said|planned"
    r"|promised))\b"
    r"|\byou\s+(?:weren't|were\s+not)\s+(?:allowed|supposed|authori[sz]ed)\s+to\b"
    r"|\b(?:that|this|it)\s+(?:was\s+not|wasn't)\s+(?:authori[sz]ed|allowed|approved)\b"
    r"|\b(?:that|this|it)(?:'?s|\s+is|\s+was|\s+looks)\s+"
    r"(?:(?:all|also|completely|just|plain|quite|simply|still|totally)\s+)?(?:wrong|incorrect)\b"
    r"(?!\s+in\s+(?:the|this|that|our)\b)"
    r"|\b(?:that|this|it)(?:'?s|\s+is|\s+was|\s+looks)\s+the\s+(?:wrong|incorrect)\s+(?:file|approach|one"
    r"|place|way"
    r"|function|branch|folder|direction|thing|module|command|repo|version|test|path|plan|order|name"
    r"|project)\b(?!\s+(?:a?round|up)\b)"
    r"|\b(?:that|this|it)(?:'s\s+not|\s+is\s+not|\s+isn't|\s+was\s+not|\s+wasn't)\s+(?:right|correct)\b"
    r"|(?:\bnot|\bisn'?t|\bwasn'?t)\s+what\s+i\s+(?:asked|meant|said|wanted)\b"
    r"|\byou(?:'ve|\s+have)?\s+(?:did|got|have|read|do|done|understood)\s+(?:it|this|that"
    r"|me)\s+(?:all\s+)?wrong\b"
    r"|\byou(?:'re|\s+are|\s+were)\s+doing\s+(?:it|this|that)\s+(?:all\s+)?wrong\b"
    r"|\byou(?:'ve|\s+have)?\s+(?:misunderstood|misread|misheard)\b"
    r"|\byou(?:'ve|\s+have)?\s+made\s+(?:a\s+mistake|an\s+error)\b|\b(?:that|this|it)\s+was\s+a\s+mistake\b"
    r"|\bdo\s+(?:it|this|that)\s+(?:again[\s,]+(?:but\s+)?)?(?:differently|(?:in\s+)?another\s+way|(?:in\s+)?a\s+different\s+way"
    r"|some\s+other\s+way)\b"
)
_WORK_ITEM = "(?:task|topic|subject|job|project|assignment|issue|ticket|item|feature|story|thing)"
_OTHER_WORK = (
    "(?:(?:a|an|the|my|our) )?(?:(?:completely|totally|brand) )?"
    f"(?:new|different|another|next|other|separate) {_WORK_ITEM}"
)
_LEAVES = (
    "(?:let's |lets |let us |we should |please )?(?:switch|change|swap) (?:the )?(?:tasks?|topics?"
    "|subjects?|gears|projects?)"
    "|change of (?:subject|topic|plans?)|(?:park|shelve|abandon|drop|leave) (?:this|that|the task"
    "|this task|it for now)|(?:put|set) (?:this|that|it) aside"
    "|(?:let's |lets |let us )?(?:start|do|try|work on|talk about) something (?:new|else|different|other)"
    "|something else|time for something (?:new|else|different)|(?:let's|lets|let us) switch"
    f"|(?:proceed|continue|go on|carry on) (?:to|with) {_OTHER_WORK}"
    f"|(?:your|my|our|the) (?:new|next|other) {_WORK_ITEM}(?: is .*)?"
)
_ANNOUNCES = lazy_pattern(
    "(?:(?:ok|okay|so|and|but|then|now|alright|all right|right|great|good|perfect|cool|thanks|thank you"
    "|please|yes|well"
    "|hey|actually) )*"
    "(?:(?:(?:i have|i've got|i got|here's|here is|there's|there is|this is|that's|time for|on to|onto"
    "|now for|next is"
    "|(?:let's|lets|let us|we should|can we|i want to|i'd like to|we can|please)(?: now)? (?:start|do"
    "|begin|take|have|open"
    "|go to|go on to|move to|move on to|switch to|turn to|get to|jump to)(?: with| on)?"
    "|start|begin|take|go to|move to|move on to|switch to|jump to) )?"
    f"{_OTHER_WORK}|{_LEAVES}|(?:(?:let's|lets|let us|we should|we can|time to|can we) )?(?:move on"
    f"|moving on)"
    f"|next up|up next)"
    "(?: (?:please|now|then|for you|for us|to do|here|today|from here))*"
)
_CLAUSE_START = r"(?:\A|(?<=[.:,;!?()\n—–])|(?<=\s-))[ \t>*_#-]{0,8}"
_OPENING = (
    r"(?:(?:ok|okay|so|and|but|then|alright|all\s+right|right|great|good|perfect|cool|thanks|thank\s+you"
    r"|please"
    r"|yes|well|hey)[\s,]{1,3}){0,4}"
)
_LETS = (
    r"(?:let's|lets|let\s+us|we\s+should|we\s+could|we\s+must|we\s+(?:need|have|ought)\s+to|can\s+we|could\s+we|i\s+want\s+to|i'd\s+like\s+to"
    r"|i\s+would\s+like\s+to|(?:can|could|would|will)\s+you(?:\s+please)?|you\s+(?:can|should|may)|we(?:'re"
    r"|\s+are)"
    r"|i(?:'m|\s+am)|i\s+want\s+you\s+to|i'd\s+like\s+you\s+to|time\s+to|please)"
)
_WORK = r"(?:work\s+on|focus\s+on|turn\s+to|start\s+on|tackle)"
_TURN = (
    r"(?:switch(?:ing)?(?:\s+over|\s+back)?\s+to|mov(?:e|ing)\s+on\s+to|mov(?:e|ing)\s+(?:over\s+)?to"
    r"|turn(?:ing)?\s+to"
    r"|chang(?:e|ing)\s+(?:the\s+)?(?:topic|subject|task)(?!\s+(?!to\b)\w)(?:\s+to)?)"
    r"(?!\s+(?:(?:an?|using)\s+(?!different|new|separate|completely)|(?:f-strings|tabs|spaces|async\w*"
    r"|pathlib"
    r"|dataclass\w*|snake_case)\b))"
)
_NEW = (
    r"(?:(?:a\s+|the\s+|here's\s+a\s+|here\s+is\s+a\s+|start\s+a\s+|begin\s+a\s+)?"
    r"(?:new|different|another|next|other|separate)\s+(?:task|topic|subject|job|project|assignment|issue"
    r"|ticket|item|feature|story|goal)\s*[:—–-]"
    r"|(?:new|next)\s+task\s+(?=(?:to\s+)?(?:write|fix|add|build|implement|refactor|create|update|document)\b)"
    r"|next\s+up\s*[:—–-]|moving\s+on\s*[:—–-]"
    r"|change\s+of\s+(?:plans?|topic|subject)\s*[:,—–-]|on\s+to)"
)
_TOPIC = lazy_pattern(
    rf"{_CLAUSE_START}{_OPENING}"
    r"(?P<lead>(?:actually|instead|now|next|for\s+now|from\s+now\s+on"
    r"|(?P<leaves>(?:forget|drop|leave|skip|park)\s+(?:it|that|this"
    r"|(?:about\s+)?the\s+[\w./-]+)(?:\s+for\s+now)?(?:\s+and)?))"
    r"[\s,]+(?:please\s+)?)?"
    rf"(?:(?P<turn>{_LETS}\s+(?:now\s+|next\s+|please\s+)?{_TURN}\s+|{_TURN}\s+|{_NEW}\s*"
    rf"|{_LETS}\s+(?:do\s+|try\s+|work\s+on\s+|move\s+on\s+to\s+)(?=something\s+(?:else|different|new|other))"
    rf"|{_LETS}\s+(?:now|next|instead)\s+{_WORK}\s+"
    rf"|(?:{_LETS}\s+)?{_WORK}\s+(?=[^\n.!?]*\b(?:now|next)\s*(?:please\s*)?(?:\Z|[.!?,;\n]))"
    r"|(?:let's|lets|let\s+us|we\s+should|please)\s+(?:do|tackle)\s+(?!(?:it|this|that|so|these|those|both"
    r"|all|everything|an?|the\s+(?:same|rest|other))\b)"
    r"(?=[^\n.!?,]*\b(?:now|next)\s*(?:please\s*)?(?:\Z|[.!?,;\n])))"
    rf"|{_LETS}\s+(?:{_WORK}|(?:do|try|look\s+at|fix)(?=[^\n.!?]*\binstead\b))\s+"
    r"|(?(leaves)(?:do|fix|write|build|start(?:\s+on|\s+with)?|work\s+on|handle|tackle)\s+(?!(?:it|this"
    r"|that|so|these|those)\b)|(?!))"
    rf"|(?(lead){_LETS}\s+(?:do|try|look\s+at|start(?:\s+on|\s+with)?|begin(?:\s+with)?|go\s+to|handle)\s+"
    r"(?!(?:it|this|that|so|these|those|the\s+(?:same|rest|other))\b)|(?!))"
    r"|(?:do|fix|write|try|build)\s+(?!(?:it|this|that|so|these|those)\b)(?=[^\n.!?]*\binstead\b)"
    r"|(?<=now\s)work\s+on\s+|(?<=stead,\s)work\s+on\s+|(?<=ually,\s)work\s+on\s+|(?<=now,\s)work\s+on\s+|work\s+on\s+(?=[^\n.!?]*\binstead\b))"
    r"(?P<topic>(?:[^\n.!?]|\.(?=\w)){1,200})"
)
# "Switch to the builder pattern here" is work at hand.
_NO_TOPIC = lazy_pattern(r"it|this|that|so|now|next|.*\s(?:here|there)", re.IGNORECASE | re.DOTALL)
_ARROW = lazy_pattern(r"\s(?:→|->|=>)(?=\s)")
_SAME = r"(?!(?:it|this|that|so|these|those|the\s+(?:same|rest|other))\b)"
_ASKING = (
    r"(?:(?:can|could|would|will)\s+you|i(?:'d|\s+would)\s+(?:rather(?:\s+you)?|prefer\s+to|like\s+to)"
    r"|i\s+want(?:\s+you\s+to)?"
    r"|let's|lets|please)"
)
_DOING = r"(?:work(?:ing)?\s+on|do(?:ing)?|fix(?:ing)?|write|build|try|tackle|handle|look\s+at)"
_TURNS = lazy_pattern(
    r"(?:(?:ok|okay|so|and|but|then|well|please|actually|instead)\s+)*"
    rf"(?:(?:now\s+(?:let's|lets|we)\s+(?:{_DOING})|(?:let's|lets)\s+now\s+(?:{_DOING})|now\s+for|now\s+on\s?to"
    r"|(?:(?:let's|lets|let\s+us|we\s+should|can\s+we|please)\s+)?(?:(?:go|get|come|jump|circle)\s+)?back\s+to"
    r"(?!\s+(?:the|an|our|its)\s+(?:previous|old|older|original|earlier|first|last|other)\b)"
    r"|(?:let's|lets)\s+(?:go\s+)?on\s+to|(?:let's|lets|now)\s+start\s+on|on\s?to|time\s+(?:for|to\s+work\s+on)(?=(?:\s+\S+){1,4}\Z)"
    r"|i(?:'d|\s+would)\s+rather(?:\s+you)?\s+work(?:ed)?\s+on|your\s+next\s+task\s+is|next\s+task\s+is"
    rf"|(?:(?:let's|lets)\s+)?(?:put|set|leave|park)\s+(?:that|this|it)(?:\s+aside|\s+for\s+now)?\s+and\s+{_DOING}"
    rf"|(?:actually|instead|rather)\s+work\s+on)\s+{_SAME}(?P<topic>\S.{{0,200}})"
    rf"|(?:(?:{_ASKING}\s+)?{_DOING}|i\s+want|i(?:'d|\s+would)\s+(?:rather\s+have|prefer|like))\s+{_SAME}"
    r"(?!an?\s+(?!different|new|separate)|early\b)(?P<instead>\S.{0,200}?)\s+instead)"
)
_INSTEAD = lazy_pattern(r"[\s,]+(?:instead|now|next)\Z", re.IGNORECASE | re.ASCII)
