"""Limits said while consent is in force: "skip src/b.py", "only a.py from now on", "I'll commit".

Nothing was asked and no plan is there to narrow, so a limit is a prohibition. It has to name a file or an
act, or to say that nothing more may change. "Skip the intro in README" and "ignore the warnings" are work.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sayso.core.text.acts import find_names
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import POLITE, pattern
from sayso.core.text.programs import is_certainly_command
from sayso.core.text.refusing.denials import FROM_NOW_ON, clean_clause
from sayso.core.text.unmask import LONGEST, clauses, fold_text, has_sign_of, visible_readings


class Limit(msgspec.Struct, frozen=True):
    """A limit in a message: the words it excludes, and whether it says only what it keeps ("only a.py")."""

    excluded: tuple[str, ...] = ()
    keeps: bool = False


def find_limit(text: str) -> Limit | None:
    """The limit that a message holds, through any disguise; None without one."""
    if len(text) > LONGEST:
        return None
    found = [
        limit
        for shown in visible_readings(text)
        for limit in (
            *_crossed_out(fold_text(_MARKS.sub(" ", shown))),
            *_limits(fold_text(_MARKS.sub(" ", shown))),
        )
    ]
    if not found:
        return None
    excluded = dict.fromkeys(word for limit in found for word in limit.excluded)
    return Limit(tuple(excluded), all(limit.keeps for limit in found))


def _limits(folded: str) -> Iterator[Limit]:
    for clause, asked in clauses(_ANSWERED.sub(" ", folded)):
        for words in () if asked else (clause, *_JOINT.split(clause)):
            if len(words) > _LONGEST_LIMIT:
                continue
            said = _END.sub("", _LEAD.sub("", clean_clause(words)))
            if _KEEPS.fullmatch(said) and not _ADDS.fullmatch(words):
                yield Limit(keeps=True)
            elif _EXCLUDES.fullmatch(said) or _EXCEPT.search(said) or _denies_command(said):
                yield Limit(tuple(find_names(said)))


def _denies_command(said: str) -> bool:
    """Whether nothing but a command is denied: "no docker", "no rm -rf"."""
    found = _NO_COMMAND.fullmatch(said)
    return found is not None and is_certainly_command(_LOST_FLAG.sub(" -", found["command"]))


def _crossed_out(folded: str) -> Iterator[Limit]:
    """A sign against nothing but names: "-b.py", "!b.py", "❌ git push"; or nothing but "ask me"."""
    said = clean_clause(folded)
    if _ASK.fullmatch(said):
        yield Limit()
    crossed = has_sign_of("no", folded) or _STROKE.match(folded) is not None
    if crossed and len(said) <= _LONGEST_LIMIT and _NAMES.fullmatch(said):
        yield Limit(tuple(find_names(said)))


_LONGEST_LIMIT = 300
_ASK = lazy_pattern(
    rf"(?:(?:no|please|hey|just|so|then|but) )*(?:ask|check with|consult) (?:me|us)(?: (?:{pattern(POLITE)}"
    rf"|instead|then))*"
)
_STROKE = lazy_pattern(r"\s*[-!\u2212–—✗✘~]+\s*(?=[\w./~])")
_MARKS = lazy_pattern(r"""[`"“”«»*]|(?<!\w)'|'(?!\w)""")
# "b.py? no", "git push: no" and "git push - no longer" are one statement each.
_ANSWERED = lazy_pattern(
    r"\s*(?:\?|:|\s-+)\s+(?=(?:no|nope|nah|never|not|no longer)\b(?! (?:such|idea|one)\b))"
)
_LOST_FLAG = lazy_pattern(r" (?=\w{1,2}\b)")
_NO_COMMAND = lazy_pattern(r"no (?:more )?(?P<command>\S+(?: \S+){0,2})")
_JOINT = lazy_pattern(r"\s(?:and|but|then|so)\s")
_LEAD = lazy_pattern(
    rf"\A(?:(?:please|pls|plz|oh|hm+|well|ok|okay|so|and|but|then|also|actually|sorry|now|{FROM_NOW_ON}"
    r"|for now|hey"
    r"|just(?=\s+(?:not|don't)\b)|we|you can|you may|you should|can you|could you|let's|i want you to"
    r"|i'd like you to)\s+(?=\S+\s))+"
)
_END = lazy_pattern(
    rf"(?:\s+(?:{pattern(POLITE)}|from now on|from here on|for now|now|then|instead|again|any ?more|too"
    r"|as well|today|here|for the moment|until further notice|after all|though|right now|at the moment"
    r"|currently))+\Z"
)
_FILE = r"(?:the\s+)?(?:files?\s+)?[\w./\\~-]*(?:[\w~-]\.[a-z]\w*|\w/|/\w)[\w./\\~-]*(?:\s+files?)?"
_VERB = (
    "commit|push|merge|deploy|publish|release|rebase|tag|ship|upload|delete|rename|edit|install|send|migrate"
)
_DOING = (
    "(?:committing|pushing|merging|deploying|publishing|releasing|rebasing|tagging|deleting|renaming|editing)"
)
_ANY_ACT = (
    r"(?:(?:the|all|any|your|my|git|npm|gh|docker|file|further|more|other|these|those|every|each|future)\s+)*"
    rf"(?:git-)?(?:(?:{_VERB})(?:ing|es|e?d|s|ions?|ments?)?|{_DOING})"
)
_THING = rf"(?:(?:{_DOING}|{_VERB})\s+{_FILE}|{_FILE}|{_ANY_ACT}(?:\s+any(?:thing|\s+files?))?)"
_LIST = rf"{_THING}(?:\s+(?:and|or|nor)\s+{_THING})*"
_FILES = rf"{_FILE}(?:\s+(?:and|or)\s+{_FILE})*"
_NAMES = lazy_pattern(_LIST)
_OUT = (
    "exclud(?:e|ing)|skip(?:ping)?|ignor(?:e|ing)|leav(?:e|ing) out|omit(?:ting)?|except(?: for)?|without|not"
    "|spare|minus|sans|w/o|barring"
)
_STAYS = (
    "unchanged|untouched|unmodified|unedited|read[ -]?only|frozen|locked|as is|as it is|as they are|the same"
    "|intact|alone|excluded|left out|out of scope|out of bounds|mine|ours|my (?:job|business|part|turn|task)"
    "|on me|done by me|up to me|for me|out|protected|final"
    "|(?:just )?(?:the way|how|like) (?:it|they) (?:is|are"
    "|was|were)"
)
_I = r"i(?:'ll| will|'m going to| am going to|'d rather| want to|'d like to|'m| am|'d)?"
_ADDS = lazy_pattern(r"(?is)\W*just\b.*\b(?:too|as\s+well)\W*")  # "just edit b.py too" takes nothing away
_KEEPS = lazy_pattern(
    rf"just\s+(?:(?:edit|change|touch|modify)\s+)?{_FILES}(?:\s+only)?"
    r"|(?:only|solely|nothing but|nothing except|stick to|stick with|keep to|stay with|stay within"
    r"|(?:restrict|limit|confine) (?:yourself|this|it|(?:the|your|all) (?:work|changes|edits)) to)"
    rf"\s+(?:(?:edit|change|touch|modify|in|to|on|for|with)\s+)*{_FILES}(?:\s+only)?"
    rf"|(?:(?:edit|change|touch|modify|(?:focus|concentrate|work)\s+on)\s+)?(?:only\s+{_FILES}"
    rf"|{_FILES}\s+(?:only|alone))"
    rf"|(?:focus|concentrate|work)\s+(?:only|solely)\s+on\s+{_FILES}"
    rf"|{_FILES}\s+and\s+nothing\s+(?:else|more)"
    rf"|nothing\s+(?:outside|beyond|besides|other than|apart from|aside from|except for)(?:\s+of)?\s+{_FILES}"
    r"(?:\s+(?:should|must|may|can|shall|is to|gets?|will)(?:\s+be)?\s+\w+)?"
    r"|nothing\s+outside(?:\s+of)?\s+(?:the\s+)?[\w./-]+(?:\s+(?:folder|directory|dir|module|package|repo"
    r"|project))?"
    rf"|(?:stay|remain)\s+(?:only\s+|strictly\s+)?(?:in|inside|within)\s+{_FILES}"
    rf"|(?:work|edit|write|change things)\s+(?:only|strictly)\s+(?:in|inside|within)\s+{_FILES}"
)
_NO_MORE = r"no\s+(?:(?:more|further|other)\s+)?"
_KIND = (
    "(?:file|code|source|direct|manual|config|big|unrelated|remote|accidental|free|large|small|automatic"
    "|silent|extra"
    "|test|force|forced|major|minor|local|drive-by|cosmetic)"
)
_OTHERS = (
    r"(?:(?:someone|somebody)(?:\s+else)?|the\s+(?:ci|pipeline)|(?!(?:you|we|i|it|this|that|they|them|us|me"
    r"|what|which|who"
    r"|git|npm|agents?|please|users?|something|everything|everyone|nobody|all|nothing)\b)[a-z]+)"
)
_RELEASES = "(?:push|commit|merge|deploy|publish|release|tag)"
_LOOK = r"(?:see|review|look\s+at|look\s+over|check|inspect|read|go\s+over|approve)"
_EDITS_OF = r"(?:(?:the|any|all|every|each|your)\s+)*(?:(?:changes?|edits?|diffs?)\s+(?:to|in|of|for)\s+)"
_EXCLUDES = lazy_pattern(
    rf"(?:(?:forbid|block|disallow|deny|prohibit|ban|disable|bar|veto|avoid|prevent|reject|refuse"
    rf"|turn off|switch off"
    rf"|postpone|delay|defer|put off|freeze|lock|protect|suspend|discontinue|end)(?:\s+you\s+to)?"
    rf"|hold(?:\s+(?:off|back)(?:\s+(?:on|with))?)?|(?:(?:you|we|agents?)\s+)?(?:may|can|must|should|shall"
    rf"|will)?\s*no\s+longer"
    rf"|you\s+(?:no\s+longer\s+have|don't\s+have|do\s+not\s+have|have\s+no)\s+(?:my\s+)?(?:consent"
    rf"|permission|approval)\s+(?:to|for)(?:\s+(?:run|use|execute|call))?)"
    rf"\s+{_LIST}(?:\s+(?:until|till|to|for|by)\s.{{1,40}})?"
    rf"|(?:{_VERB}|change|touch|modify|write|run|do)\s+(?:nothing|none|no\s+(?:more|other"
    rf"|further)\s+\w+)(?:\s+(?:else|more|at\s+all|further))?"
    rf"|i\s+no\s+longer\s+want\s+(?:you\s+to\s+|any\s+)?{_LIST}"
    rf"|{_LIST}\s+(?:never|no\s+longer)\s+(?:runs?|happens?|starts?)"
    rf"|{_NO_MORE}(?:{_KIND}\s+){{1,2}}(?:{_ANY_ACT}|changes|files)|{_NO_MORE}(?:code|files|{_FILES})"
    rf"|{_NO_MORE}{_FILE}\s+(?:edits?|changes?)|{_NO_MORE}{_ANY_ACT}"
    rf"|{_LIST}\s+(?:(?:is|are|'s)\s+(?:not|no\s+longer)|isn't|aren't|not|no\s+longer)\s+(?:ok|okay|fine"
    rf"|good|alright|allowed|permitted|wanted|welcome"
    r"|acceptable|approved|authori[sz]ed|possible|safe)"
    rf"|(?:{_OUT}|(?:everything|all|anything|each)(?: (?:files?|of it|of them))? (?:but|except(?: for)?)"
    rf"|(?:keep )?(?:your )?(?:hands|fingers|paws) (?:away|off|out)(?: (?:from|of))?)\s+{_LIST}"
    rf"|(?:keep|preserve|leave)\s+{_FILES}(?:\s+(?:{_STAYS}))?|keep\s+{_LIST}\s+out of (?:this|it|that)"
    rf"|(?:keep|reserve|save)\s+{_LIST}\s+(?:for (?:me|us|myself)|to (?:me|myself|us))"
    rf"|(?:turn|switch|shut|put|take)\s+{_LIST}\s+(?:off|down|out|away)"
    rf"|(?:get|back|move|step)\s+(?:the (?:hell|heck|fuck)\s+)?(?:out of|away from|off)\s+{_LIST}"
    rf"|(?:(?:i|we)(?:'d| would)?\s+)?(?:want|need|like|prefer|expect)\s+{_LIST}\s+(?:to\s+(?:be|stay"
    rf"|remain)\s+)?"
    rf"(?:(?:left|kept)\s+)?(?:{_STAYS})"
    rf"|{_LIST}\s+(?:(?:is|are|'s)\s+not|isn't|aren't|ain't)\s+(?:yours|your\s+\w+|for you|up to you"
    rf"|in scope|part of (?:this|it|the \w+))"
    r"(?:\s+to\s+\w+)?"
    rf"|(?:everything|all|anything|each)(?: (?:files?|of it|of them))? (?:but|except(?: for)?) {_LIST}"
    r"\s+(?:is|are|can|may|works|looks)\b.{0,40}"
    rf"|{_LIST}\s+(?:is|are)\s+none\s+of\s+your\s+(?:business|concern)"
    rf"|i(?:'d|\s+would)\s+(?:rather|prefer(?:\s+if)?)\s+you\s+(?:left|kept|skipped)\s+{_LIST}(?:\s+(?:{_STAYS}))?"
    rf"|(?:i(?:'d|\s+would)?\s+(?:want|need|like|prefer)\s+to|i'll|i\s+must|let\s+me)\s+{_LOOK}\s+"
    rf"(?:(?:the\s+|any\s+|all\s+)?(?:changes?|edits?|diffs?)\s+(?:to|in|of|for)\s+)?{_LIST}\s+(?:first|before\b.{{0,60}})"
    rf"|(?:i(?:'d|\s+would)?\s+(?:want|need|like|prefer)\s+to|i\s+must)\s+(?:approve|review)\s+{_EDITS_OF}{_LIST}"
    rf"|(?:i(?:'d|\s+would)?\s+(?:want|need|like)\s+to|let\s+me)\s+{_LOOK}(?:\s+(?:it|this|that|them|things))?"
    rf"\s+before\s+you\s+{_LIST}|i(?:'d|\s+would)\s+prefer\s+to\s+{_LIST}\s+(?:it\s+)?myself"
    rf"|(?:treat|consider|regard|mark|see|make)\s+{_LIST}\s+(?:as\s+)?(?:{_STAYS}|final|done|untouchable"
    rf"|off[ -]limits)"
    rf"|{_ANY_ACT}\s+(?:any(?:thing|\s+files?)|everything|all(?:\s+files?)?)\s+(?:but|except(?: for)?"
    rf"|besides)\s+{_LIST}"
    rf"|{_LIST}(?:\s+it)?\s+(?:later|another time|some other time|tomorrow|not|no|nope|nah|never|no longer)"
    rf"|(?:leave|leaving)\s+{_LIST}\s+(?:out(?: of (?:it|this|that))?|to (?:me|us)|for (?:me|us)|{_STAYS})"
    rf"|{_LIST}\s+(?:(?:is|are|'s|stays?|remains?"
    r"|(?:should|must|shall|has to|have to|needs? to) (?:stay|remain|be))"
    rf"(?:\s+(?:now|still|strictly|completely|all))*\s+(?:{_STAYS})|stays?|remains?)"
    rf"|(?:{_I}|let me|leave me to)\s+(?:(?:do|handle|make|edit|change|write|fix|update|manage"
    rf"|take(?: care of| over)?|see to|deal with|look after|be|keep)\s+)*{_LIST}"
    r"(?:\s+(?:it|that|this|them|these|myself|ourselves|later|tomorrow|tonight|soon|afterwards))*"
    r"|(?:make|do|there (?:are|must be|should be))?\s*no (?:further|more|other|additional|new) "
    r"(?:changes?|edits?|files?|commits?|modifications?|work|steps?|operations?|calls?|actions?)(?: \w+){0,3}"
    r"|no more(?: of (?:this|that|it|these|those))?"
    r"|nothing (?:else|more|other)(?: (?:should|must|may|is to|can|gets?|will|shall|has to|needs to)"
    r"(?: be)? (?:chang|edit|modif|touch|alter|happen|run|done)\w*)?"
    r"|(?:that's|that is|this is|it's)?\s*enough(?: (?:edits|changes|commits|work|already|for(?: today| now)?"
    r"|now|of this))*"
    # Nothing is to be done for real.
    r"|(?:do\s+|make\s+)?(?:(?:just|only)\s+(?:an?\s+)?dry[ -]run|(?:an?\s+)?dry[ -]run\s+only)"
    r"|(?:(?:we're|we are|i'm|i am)\s+)?(?:just|only)\s+(?:look|read|analy[sz]e|review|think|plan|talk"
    r"|explain)(?:n?ing)?"
    rf"|(?:keep|leave)\s+(?:things|everything|all|it all|the (?:code|files|rest|repo))\s+(?:{_STAYS})"
    r"|leave\s+the\s+(?:rest|others?|other\s+files)"
    # Others do it, or work there.
    rf"|(?:(?:(?:i|we)\s+)?own\s+{_LIST}|(?:[\w-]+\s+){{1,3}}owns\s+{_LIST}|{_LIST}\s+belongs?\s+to\s+(?:me|us|him|her|them|(?:someone"
    rf"|somebody)\s+else|another\s+team))"
    rf"|(?!(?:it|this|that|which|you)\b)[\w-]+(?:\s+else)?\s+(?:is|are|'s)\s+(?:currently\s+|still\s+|just\s+)?"
    rf"(?:editing|changing|rewriting|refactoring|working\s+on|working\s+in)\s+{_FILES}"
    rf"|i(?:'m|\s+am)\s+(?:currently\s+|still\s+)?(?:working\s+(?:on|in)|in|rewriting|refactoring"
    rf"|changing)\s+{_FILES}"
    rf"|(?:{_OTHERS}\s+(?:will|'ll|is\s+going\s+to|has\s+to|shall|should|must)|(?:let"
    rf"|have)\s+{_OTHERS})\s+{_RELEASES}"
    r"(?:\s+(?:it|that|this|them))?"
)
_EXCEPT = lazy_pattern(
    r"\b(?:except(?: for)?|excluding|apart from|aside from|other than|everything but|all but|all files but)"
    rf"\s+{_LIST}\Z"
)
