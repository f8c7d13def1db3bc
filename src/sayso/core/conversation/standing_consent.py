"""Standing consent in a message: granting, revoking, clearing it, and asking to see it.

Granting takes the whole message, exactly in its form. Revoking and clearing are found anywhere in the user's
own words, in looser forms, and whatever of them can be read takes effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from sayso.core.conversation import words
from sayso.core.conversation.topics import corrects
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import POLITE, REFUSALS, STOP_OPENINGS, STOP_PHRASES, pattern
from sayso.core.text.programs import holds_speech, is_certainly_command
from sayso.core.text.refusing.list_speech import find_denied
from sayso.core.text.refusing.taking_back import find_ended_names, says_all_ended
from sayso.core.text.unmask import (
    BLANK,
    LONGEST,
    fold_text,
    has_sign_of,
    mask,
    undisguised,
    without_closing_emoji,
)


class StandingConsent(msgspec.Struct, frozen=True):
    """What a message says about standing consent.

    `kind` is "grant", "revoke", "clear" or none, also where a list was refused. `stop` means that an entry of
    a list was a stop phrase; `denied` is what speech in the list of a grant denies.
    `spoken` is the message as folded own words with the lists blanked out, at the same length, for whoever
    looks for anything else in it.
    """

    spoken: str
    kind: str | None = None
    grants: tuple[str, ...] = ()
    revokes: tuple[str, ...] = ()
    revoke_all: bool = False
    clear_allowlist: bool = False
    clear_state: bool = False
    stop: bool = False
    denied: str = ""
    problem: str | None = None


def read_standing(heard: str, shown: str) -> StandingConsent:
    """Read a message as heard, and as one of its `readings` shows it."""
    own = fold_text(mask(shown))
    tightening = _read_tightening(shown, own)
    if tightening.kind is not None or not _GRANT_LOOK.match(own):
        return tightening
    grant = _GRANT.fullmatch(heard.rstrip())
    if grant is None or not undisguised(heard):
        return StandingConsent(spoken=own, kind="grant", problem=_why_no_grant(heard))
    return _read_grant(grant, own)


def read_query(own: str) -> str | None:
    """Which list the user, in folded own words, asks to see: "allowlist", "consents" or none."""
    if len(own) > 200:
        return None
    asked = " ".join(own.split()).rstrip(".!?")
    return next((name for name, form in _QUERIES.items() if form.fullmatch(asked)), None)


def speaks_of_revoking(shown: str, entries: Iterable[str]) -> bool:
    """Whether a clause orders to take consent, everything or one of these entries back, however it is put."""
    own = fold_text(mask(shown))
    named = [pattern([" ".join(fold_text(entry).split())]) for entry in entries]
    return any(
        re.search(rf"{_TAKING_ORDER}[^.;!?\n]{{0,80}}\b(?:{thing})(?!\w)", own)
        for thing in (_CONSENT, r"everything|all(?=\s*(?:\Z|[.,;!?\n]|\s(?:of|that|you|i|we)\b))", *named)
    )


class _List(msgspec.Struct, frozen=True):
    commands: tuple[str, ...]
    stop: bool
    problem: str | None


def _read_grant(grant: re.Match[str], own: str) -> StandingConsent:
    """A grant that is the whole message: all of its list is granted, or nothing is."""
    text, speech = _cut(grant["list"])
    text = _THANKS.sub("", without_closing_emoji(text))
    entries = _read_list(text)
    problem = entries.problem
    limit = _find_limit(text)
    start = grant.start("list")
    listed = own[start : start + len(text)]
    denied = ". ".join(find_denied(listed))
    if denied:
        problem = words.no_command(text.strip())
    elif speech and not _POLITE.fullmatch(fold_text(speech)):
        problem = "There is other text after the list"
    elif not problem and limit is not None:
        problem = words.no_command(limit)
    elif not problem and not entries.commands and not entries.stop:
        problem = "There is no command in the list"
    return StandingConsent(
        spoken=f"{own[:start]}{BLANK * len(text)}{own[start + len(text) :]}",
        kind="grant",
        grants=() if problem or entries.stop else entries.commands,
        stop=entries.stop,
        denied=denied or (listed if corrects(listed) else ""),
        problem=f"{problem}: nothing was granted." if problem else None,
    )


def _find_limit(text: str) -> str | None:
    """The first entry that speaks instead of naming a command: "but not to main", "git push if it works".

    Words of the language around commands give it away. From the second entry on only what certainly is a
    command counts. In backticks a command is taken as it is.
    """
    pieces = _split(text)[0]
    for at, piece in enumerate(pieces):
        if at and at == len(pieces) - 1 and _POLITE.fullmatch(fold_text(piece)):
            continue
        command = _AND.sub("", piece.strip())
        bare = " ".join(mask(command).split())
        if holds_speech(fold_text(bare)) or bare.endswith("?"):
            return piece.strip()
        if has_sign_of("no", piece) or has_sign_of("stop", piece) or _TICKED_LIMIT.match(fold_text(piece)):
            return piece.strip()
        if at and (_SPEECH_ENTRY.match(fold_text(bare)) or not is_certainly_command(command)):
            return piece.strip()
    return None


def _why_no_grant(heard: str) -> str:
    if len(heard) > LONGEST:
        return f"A message of more than {LONGEST:,} characters grants nothing."
    if not undisguised(heard):
        return "The message is indented or holds invisible or look-alike characters: nothing was granted."
    return 'Nothing was granted: "Grant standing consent for: <command>" must be the whole message.'


def _read_tightening(shown: str, own: str) -> StandingConsent:
    spoken, lists = _take_revoke_lists(shown, own)
    lists += [
        _read_list(shown[found.start("named") : found.end("named")])
        for form in (_OFF_LIST, _IS_REVOKED)
        for found in form.finditer(own)
    ]
    lists += [_read_list(shown[start:end]) for start, end in find_ended_names(own)]
    own = _EMPHASIS.sub(lambda marks: " " * len(marks[0]), own)
    named = [command for entries in lists for command in entries.commands]
    revokes = tuple(
        dict.fromkeys(command for command in named if not _EVERYTHING.fullmatch(fold_text(command)))
    )
    all_named = len(revokes) < len(set(named))
    revoke_all = (
        all_named
        or says_all_ended(own)
        or any(form.search(own) for form in (_REVOKE_ALL, _REVOKE_EVERYTHING, _REVOKE_IT, _REVOKED))
    )
    clear_allowlist = _CLEAR_ALLOWLIST.search(own) is not None
    clear_state = _CLEAR_STATE.search(own) is not None
    problems = [f"{entries.problem}: what could be read was revoked." for entries in lists if entries.problem]
    if lists and not named:
        problems = ["There is no command in the list: nothing was revoked."]
    return StandingConsent(
        spoken=spoken,
        kind="revoke" if lists or revoke_all else "clear" if clear_allowlist or clear_state else None,
        revokes=revokes,
        revoke_all=revoke_all,
        clear_allowlist=clear_allowlist,
        clear_state=clear_state,
        stop=any(entries.stop for entries in lists),
        problem=next(iter(problems), None),
    )


def _take_revoke_lists(shown: str, own: str) -> tuple[str, list[_List]]:
    """The own words without the lists of what to revoke, and those lists. A list ends with its line."""
    spoken: list[str] = []
    lists: list[_List] = []
    done = 0
    found = list(_REVOKE.finditer(own))
    for at, phrase in enumerate(found):
        start = phrase.end()
        following = found[at + 1].start() if at + 1 < len(found) else len(own)
        end = min(following, start + _LONGEST_LIST)
        text, _ = _cut(_on_one_line(shown[start:end]))
        lists.append(_read_list(_TICKED_AND.sub("`,`", _COUNTS.sub("", text).rstrip("? "))))
        # Without its colon the rest of the line may not be a list at all, so stop words in it count.
        taken = len(text) if phrase["colon"] or phrase["bare"] or phrase["after"] else 0
        spoken += [own[done:start], BLANK * taken]
        done = start + taken
    return "".join([*spoken, own[done:]]), lists


def _on_one_line(text: str) -> str:
    """The line a list is on; of one that begins on the next line, all its lines, at the same length."""
    first = text.split("\n", 1)[0]
    if first.strip() or "\n" not in text:
        return first
    block = text[: len(text) - len(text.lstrip())] + text.lstrip().split("\n\n", 1)[0]
    ahead = len(block) - len(block.lstrip())
    return " " * ahead + block[ahead:].replace("\n", ",")


def _cut(text: str) -> tuple[str, str]:
    """A list, and what the user goes on to say after it: "git push. Thanks!"."""
    end = _SENTENCE_END.search(mask(text))
    return (text, "") if end is None else (text[: end.start()], text[end.end() :])


def _read_list(text: str) -> _List:
    """The commands of a comma list. With a problem they are what could be read of it."""
    pieces, problem = _split(text)
    pieces = [piece.strip() for piece in pieces]
    if len(pieces) > 1 and _POLITE.fullmatch(fold_text(pieces[-1])):
        pieces.pop()
    pieces[-1] = _FINAL_MARK.sub("", pieces[-1])
    commands: list[str] = []
    stop = False
    for at, piece in enumerate(pieces):
        command, stops = _without_stop(_AND.sub("", piece) if at else piece)
        stop |= stops
        if command and not _TICKED.fullmatch(command) and "`" in command:
            problem = problem or "An entry stands only partly in backticks"
            commands += re.findall("`([^`]+)`", command) or [command.replace("`", "").strip()]
        elif command:
            commands.append(_TICKED.sub(r"\2", command).strip())
        elif not stops and len(pieces) > 1:
            problem = problem or "An entry is empty"
    return _List(tuple(filter(None, dict.fromkeys(commands))), stop, problem)


def _split(text: str) -> tuple[list[str], str | None]:
    """The entries of a list. If it cannot be split for certain: what is between commas, and the reason."""
    pieces = [""]
    for found in _TOKEN.finditer(text):
        if found["open"]:
            return text.split(","), "A quote is not closed"
        if found["curly"]:
            return text.split(","), "There are typographic quotes, which no shell reads"
        if found["comma"]:
            pieces.append("")
        else:
            pieces[-1] += found[0]
    return pieces, None


def _without_stop(entry: str) -> tuple[str, bool]:
    """The entry's command, and whether it is, or goes on to say, a stop: "wait", "git push and wait"."""
    folded = fold_text(entry)
    if _STOP_ENTRY.fullmatch(folded):
        return "", True
    tail = _AND_STOP.search(folded)
    return (entry, False) if tail is None else (entry[: tail.start()].strip(), True)


_LONGEST_LIST = 5 * LONGEST
_STOP = pattern((*STOP_PHRASES, *STOP_OPENINGS))
# After a comma: a refusal, or words that say where, when or how.
_SPEECH_ENTRY = lazy_pattern(
    rf"(?:(?:and|but) )?(?:(?:{pattern(REFUSALS)})(?: (?:{pattern(POLITE)}))*[\s.!]*\Z"
    r"|(?:on|in|to|for|at|by|with|from|into|under|per|no|yes|ok|okay|or|so|then|also|plus|\w+ly)\b(?!-))"
)
# In backticks a command may hold any word, but none begins with these.
_TICKED_LIMIT = lazy_pattern(
    r"\s*`+\s*(?:but|except|unless|only|however|not|never|without|excluding|although|though|provided|just)\s"
)
_STOP_ENTRY = lazy_pattern(
    rf"\W*(?:(?:and|but|just|now|please|so|then)\W+)*(?:{_STOP})(?:\W+(?:here|it|now|please|thanks|there))*\W*"
)
_AND_STOP = lazy_pattern(rf"\s(?:and|but|then)\s+(?:please\s+|then\s+)?(?:{_STOP})[\s.!]*$")
_POLITE = lazy_pattern(rf"\s*(?:{pattern(POLITE)})[\s.!]*")
_THANKS = lazy_pattern(rf"(?<=\S)(?:[\s,]+(?:{pattern(POLITE)}))+[\s.!]*\Z", re.IGNORECASE | re.ASCII)
_AND = lazy_pattern(r"\Aand\s+", re.IGNORECASE | re.ASCII)
# A mark that ends a sentence stands on a word: the dots of "git add ." and "cd .." belong to the command.
_FINAL_MARK = lazy_pattern(r"""(?<=[\w`"')\]}])(?:\.|!+)$""")
_SENTENCE_END = lazy_pattern(r"""(?<=[\w`"')\]}�])[.!?]+\s+(?=\S)""")
_TICKED_AND = lazy_pattern(r"`\s+(?:and|&|\+|plus|as well as)\s+`", re.IGNORECASE)
_TICKED = lazy_pattern(r"(`+)([^`]+)\1")
_TOKEN = lazy_pattern(
    r"""`[^`]*` | "(?:[^"\\]|\\.)*" | '[^']*' | \\. | [^,"'`\\“”‘’„«»]+
      | (?P<comma>,) | (?P<curly>[“”‘’„«»]) | (?P<open>.)""",
    re.VERBOSE | re.DOTALL,
)

_GRANT_LOOK = lazy_pattern(r"\s*(?:please\s+)?grant\s+standing\s+consent\b")
_GRANT = lazy_pattern(
    r"\s*(?:please\s+)?grant\s+standing\s+consent\s+for\s*:(?P<list>[^\n\r]*)", re.IGNORECASE | re.ASCII
)
_KINDS = (
    r"(?:(?:the|my|any|your|this|that|these|those|every|each|whole|single|last|standing|session|task|workflow|existing|previous|prior|earlier|current|active"
    r"|remaining|outstanding|given|granted)\s+){0,3}"
)
_EMPHASIS = lazy_pattern(r"(?<![^\W_])_+|_+(?![^\W_])|\*+|~+")
_COUNTS = lazy_pattern(r"\s*\((?:\w+,\s*)?used\s+\d+\s+times?\)", re.IGNORECASE)
_CONSENT = r"(?:consents?|permissions?|approvals?|grants?|authori[sz]ations?)"
_TAKE = r"(?:revok(?:e|ing)|withdraw(?:ing)?|rescind(?:ing)?|retract(?:ing)?|take\s+back|taking\s+back)"
_END = (
    r"(?:undo|terminate|reset|forget|end|void|annul|clear|remove|delete|drop|cancel|invalidate|nullify|erase|wipe"
    r"|discard|discontinue|suspend|pull|kill|lift)"
)
"""Verbs that take consent back beside a word for it; elsewhere they are work."""
_THAT_I_GAVE = (
    r"(?:\s+(?:(?:that|which)\s+)?(?:(?:i|we|you)(?:'ve|\s+have|'d|\s+had)?|(?:was|were|has\s+been|have\s+been))"
    r"(?:\s+(?:ever|just|already|so\s+far|previously|earlier|once))?"
    r"\s+(?:g[ai]ven?|grant(?:ed)?|allow(?:ed)?|approved?|agreed(?:\s+to|\s+on)?|consent(?:ed)?(?:\s+to)?|have|got|hold|said)"
    r"(?:\s+(?:you|to\s+you|it|so\s+far|before|earlier|today|until\s+now|up\s+to\s+now|yes\s+to))*)?"
)
_CLAUSE_START = r"(?:\A|(?<=[.:,;!?()\n—–])|(?<=\s-)|(?<=\b(?:and|but)\s)|(?<=\bthen\s))[ \t]{0,8}"
_LEAD = (
    r"(?:(?:please|now|ok|okay|so|and|but|also|then|just|actually|no|yes|hereby|i|i'm|i\s+am|i\s+want\s+to"
    r"|i'd\s+like\s+to|i\s+would\s+like\s+to|you\s+should|can\s+you|could\s+you|would\s+you|i\s+need\s+to|let's"
    r"|i\s+want\s+you\s+to)[\s,]{1,3}){0,6}"
)
_FOR = r"(?:\s+(?:for|to|of|on)\b\s*(?P<colon>:?)|\s*(?P<bare>:))"
_REVOKE = lazy_pattern(
    rf"(?:\brevoke\s+{_KINDS}consents?"
    rf"|{_CLAUSE_START}{_LEAD}(?:{_TAKE}|{_END})\s+{_KINDS}(?:all\s+(?:of\s+)?)?{_KINDS}{_CONSENT}){_FOR}"
    rf"|{_CLAUSE_START}{_LEAD}(?:revoke|unapprove|ungrant|delist|de-?authori[sz]e|unauthori[sz]e|withdraw|retract)"
    r"(?:\s*(?P<after>:)"
    r"|\s+(?!(?:all|any|every|each|everything|anything|it|this|that|them|now|please|again|these|those|both|absolutely|access"
    r"|rights|(?:the |my |session |whole )*allowlist)\b)"
    rf"(?!{_KINDS}(?:all\s+)?(?:{_CONSENT}|yes)\b)(?=\S))"
)
_REVOKE_ALL = lazy_pattern(rf"\brevoke\s+all\s+(?:of\s+)?{_KINDS}consents?\b(?!\s+(?:for|to|of|on)\b)")
_ALL_OF_IT = (
    r"(?:all|everything|anything|(?:it|them|that|this|those|these)\s+all"
    r"|all\s+of\s+(?:it|them|that|this|these|those))"
)
_REVOKE_EVERYTHING = lazy_pattern(
    rf"{_CLAUSE_START}{_LEAD}(?:{_TAKE}\s+(?:{_ALL_OF_IT}|(?:all\s+(?:of\s+)?)?{_KINDS}{_CONSENT}){_THAT_I_GAVE}"
    rf"|{_END}\s+(?:consents?|(?:(?:all|every|each|any|the|my|your|this|that|of)\s+){{1,3}}{_KINDS}{_CONSENT})(?!\s+state\b){_THAT_I_GAVE}"
    rf"|(?:take|taking|pull|pulling)\s+(?:it|that|this|them|{_ALL_OF_IT}|(?:all\s+(?:of\s+)?)?{_KINDS}{_CONSENT}){_THAT_I_GAVE}\s+back"
    rf"|(?:you|the\s+agent)\s+(?:no\s+longer\s+have|don't\s+have|do\s+not\s+have|have\s+no(?:\s+more|\s+longer)?|have\s+lost|lost)"
    rf"\s+{_KINDS}{_CONSENT}(?:\s+any\s?more)?|i\s+no\s+longer\s+give\s+(?:you\s+)?{_KINDS}{_CONSENT}"
    rf"|no\s+more\s+{_CONSENT}|{_KINDS}{_CONSENT}\s+(?:(?:is|are|has|have|been|now|hereby|no\s+longer)\s+){{1,3}}"
    r"(?:over|ended|expired|void|gone|cancelled|canceled|off|valid|null|terminated|lifted|removed|cleared))"
    r"(?:\s+(?:now|please|again|immediately|at\s+once|i\s+gave(?:\s+you)?|that\s+i\s+gave(?:\s+you)?|you\s+have|given))*"
    r"\s*(?=\Z|[.,;!?()\n—–]|\s-|\s(?:and|but|then)\b)"
)
_END_OF_CLAUSE = (
    r"(?:\s+(?:now|please|again|immediately|at\s+once|pls))*\s*(?=\Z|[.,;!?()\n—–]|\s-|\s(?:and|but|then)\b)"
)
# In doubt "it" is everything.
_REVOKE_IT = lazy_pattern(
    rf"{_CLAUSE_START}{_LEAD}(?:{_TAKE}(?:\s+(?:it|this|that|them|these|those|all\s+of\s+(?:it|them|these)))?"
    rf"|(?:{_TAKE}|clear|remove|delete|drop|cancel|reset|forget|end|void)\s+"
    rf"(?:(?:any|all|every|each|and|of)\s+){{1,4}}{_KINDS}{_CONSENT}(?!\s+state\b)){_END_OF_CLAUSE}"
)
_REVOKED = lazy_pattern(
    rf"{_CLAUSE_START}{_LEAD}(?:all\s+(?:of\s+)?)?{_KINDS}{_CONSENT}\s+(?:(?:is|are|has|have|been|now|hereby)\s+){{0,3}}"
    rf"(?:revoked|withdrawn|rescinded|retracted){_END_OF_CLAUSE}"
    rf"|\bi\s+no\s+longer\s+(?:consent|approve|agree){_END_OF_CLAUSE}"
)
_OFF_LIST = lazy_pattern(
    rf"{_CLAUSE_START}{_LEAD}(?:remove|delete|drop|take|strike|cut|clear|erase|wipe|purge|pull|kick|scratch|revoke|exclude)"
    r"\s+(?P<named>[^\n]{1,400}?)\s+"
    r"(?:from|off|out\s+of)\s+(?:of\s+)?(?:(?:the|my|your|session|standing|consent)\s+)*"
    r"(?:allow[\s-]?list|allowed\s+(?:list|commands)|whitelist|consents?(?!\s+state))\b"
)
_IS_REVOKED = lazy_pattern(
    rf"{_CLAUSE_START}{_LEAD}(?!(?:all\s+(?:of\s+)?)?{_KINDS}{_CONSENT}\b)(?!(?:the|a|an|it|this|that|which|who)\b)"
    r"(?P<named>[^\s,;:!?\n][^,;:!?\n]{0,200}?)\s+(?:is|are|gets?|be)\s+(?:(?:hereby|now|also|all)\s+){0,2}"
    rf"(?:revoked|withdrawn|rescinded|off\s+the\s+(?:allow|white)list){_END_OF_CLAUSE}"
)
_TAKING_ORDER = (
    rf"{_CLAUSE_START}{_LEAD}(?:{_TAKE}|take|undo|terminate|reset|forget|end|void|annul|cancel|invalidate|nullify"
    r"|discontinue|suspend|rescind|unapprove|disallow|ungrant|de-?authori[sz]e|unauthori[sz]e)\b"
)
_EVERYTHING = lazy_pattern(
    r"(?:both|the (?:whole |entire )?(?:list|allowlist|lot)|all"
    r"|all (?:the )?(?:of them|commands|of it|entries)|every entry|everything|anything)(?: please| now)?"
)
_EMPTY = (
    rf"{_CLAUSE_START}{_LEAD}(?:clear|empty|reset|wipe|delete|erase|purge|flush|remove|drop|discard|revoke"
    r"|forget)"
    r"\s+"
)
_CLEAR_ALLOWLIST = lazy_pattern(
    rf"\bclear\s+{_KINDS}allow[\s-]?list\b"
    rf"|{_EMPTY}(?:all\s+(?:of\s+)?)?{_KINDS}allow[\s-]?list{_END_OF_CLAUSE}"
    rf"|{_EMPTY}(?:all|every)\s+(?:the\s+)?entr(?:y|ies)\s+(?:from|of|on|in)\s+{_KINDS}allowlist"
)
_CLEAR_STATE = lazy_pattern(
    rf"\bclear\s+(?:all\s+)?{_KINDS}consent\s+state\b"
    rf"|{_EMPTY}(?:all\s+(?:of\s+)?)?{_KINDS}consent\s+state{_END_OF_CLAUSE}"
)
_ASKS_TO_SEE = r"(?:(?:so|ok|okay|and|please|can you|could you|now) )*"
_QUERIES = {
    "allowlist": lazy_pattern(
        rf"/allowlist|{_ASKS_TO_SEE}(?:show|list|print|display)(?: me)?(?: the| my)?(?: active| current)?"
        r"(?: session)?"
        r"(?: allowlist| consents?)(?: please)?|what has standing consent"
        rf"|{_ASKS_TO_SEE}what(?:'s| is) (?:on|in) (?:the|my)(?: active| current)?(?: session)? allowlist"
    ),
    "consents": lazy_pattern(
        rf"{_ASKS_TO_SEE}(?:(?:show|tell)(?: me)? )?what (?:have i|did i|i have|i've|i) "
        r"(?:(?:consent(?:ed)?|agreed?) to|approved?|allowed?)(?: so far| already| until now)?(?: please)?"
    ),
}
