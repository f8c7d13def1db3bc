"""Reading a user's message: what it is, and everything in it that takes effect.

Tightening (stop, revoke, clear, refusal, correction, done, another topic) is found anywhere in the user's own
words, through any disguise, and in doubt it is there. Loosening (grant, slash command, assent, imperative)
must be the whole message, undisguised. So pasted text can take consent away, but never give it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache, reduce

import msgspec

from sayso.core.conversation.assent import after_idiom, is_ironic, read_assent
from sayso.core.conversation.standing_consent import read_query, read_standing
from sayso.core.conversation.topics import acknowledges, announces_another, corrects, find_topic
from sayso.core.text.acts import names_target, speaks_of_act
from sayso.core.text.imperatives import read_imperatives
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import (
    ACTS,
    HIGH_PHRASES,
    MEDIUM_PHRASES,
    STOP_CLAUSES,
    STOP_OPENINGS,
    STOP_PHRASES,
    Phrases,
    pattern,
)
from sayso.core.text.refusing.denials import LEAD, clean_clause
from sayso.core.text.refusing.refusals import read_refusal, refuses_flatly
from sayso.core.text.refusing.taking_back import spell_out_order
from sayso.core.text.unmask import (
    LONGEST,
    clause_spans,
    clauses,
    fold_text,
    has_sign_of,
    is_sign_of,
    mask,
    opens_with_stop_sign,
    strip_decoration,
    undisguised,
    visible_readings,
    with_emoji,
)

__all__ = ["HIGH_PHRASES", "MEDIUM_PHRASES", "STOP_PHRASES", "Message", "read_message"]

ENGLISH = Phrases()


class Message(msgspec.Struct, frozen=True):
    """A user's message, read.

    `kind` is the first that fits in the order of the fields, which say all that takes effect. What tightens
    leaves nothing that loosens; a change or question leaves no assent. `bare_no` means that it is nothing but
    a refusal. `forbids` marks a prohibition, and
    `forbidden` are its words; beside a change it is not a refusal. `once` limits an assent to one call;
    `of_plan` means that it speaks of the plan. `chosen` are the questions that its yes or no names, if any,
    and `declined` those that it denies beside a yes to others; `outdated` is the yes or no of a choice that
    speaks of a question no longer open, and `unclear` means that a choice can be read in two ways.
    `problem` is a sentence for the user about a list that could not be taken as it is.
    """

    text: str
    kind: str = "other"
    slash: str | None = None
    stop: bool = False
    grants: tuple[str, ...] = ()
    revokes: tuple[str, ...] = ()
    revoke_all: bool = False
    clear_allowlist: bool = False
    clear_state: bool = False
    query: str | None = None
    refusal: bool = False
    bare_no: bool = False
    forbids: bool = False
    forbidden: tuple[str, ...] = ()
    assent: str | None = None
    once: bool = False
    of_plan: bool = False
    chosen: tuple[str, ...] = ()
    declined: tuple[str, ...] = ()
    outdated: str | None = None
    unclear: bool = False
    change: str | None = None
    question: bool = False
    correction: bool = False
    done: bool = False
    topic: str | None = None
    imperatives: tuple[str, ...] = ()
    problem: str | None = None


def read_message(text: str, slash_names: Collection[str], phrases: Phrases = ENGLISH) -> Message:
    """Read a message as heard, knowing the registered slash commands. Every text has a reading."""
    order = spell_out_order(text) if len(text) <= LONGEST else text
    if order != text and text.strip().casefold() not in map(str.casefold, slash_names):
        return msgspec.structs.replace(_read_spoken(order, slash_names, phrases), text=text)
    rest = after_idiom(text) if len(text) <= LONGEST else None
    assent = None if rest is None else _read_spoken(rest, slash_names, phrases)
    if assent is not None and assent.kind in ("assent", "medium"):  # "no problem, go ahead"
        return msgspec.structs.replace(assent, text=text)
    return _read_spoken(text, slash_names, phrases)


def _read_spoken(text: str, slash_names: Collection[str], phrases: Phrases) -> Message:
    free = undisguised(text) and not _DRY_RUN.match(text)
    slash = _slash(text, slash_names) if free else None
    message = reduce(
        _merge_readings, (_read_tightening(text, shown, slash, phrases) for shown in visible_readings(text))
    )
    if slash is not None:
        message = msgspec.structs.replace(message, slash=slash)
    elif free or _is_decorated_only(text):
        message = _add_loosening(message, phrases, commands=free)
    if _tightens(message) or (slash is not None and (message.done or message.topic)):
        message = msgspec.structs.replace(
            message, slash=None, grants=(), assent=None, once=False, change=None, imperatives=()
        )
    return msgspec.structs.replace(message, kind=_kind(message))


def _is_decorated_only(text: str) -> bool:
    """Whether nothing but emoji keeps a text from being undisguised: theirs are sometimes selectors."""
    return (
        len(text) <= LONGEST and not _DRY_RUN.match(text) and undisguised(strip_decoration(with_emoji(text)))
    )


def _tightens(message: Message) -> bool:
    """Whether something in the message takes consent back or refuses it: then nothing in it gives any."""
    cleared = message.clear_allowlist or message.clear_state
    revoked = message.revoke_all or message.revokes or message.kind == "revoke"
    return bool(message.stop or message.refusal or message.correction or cleared or revoked)


def _kind(message: Message) -> str:
    """What the message is, in the order of the specification; standing consent has its kind already."""
    for kind, fits in (
        ("slash", message.slash),
        ("stop", message.stop),
        (message.kind, message.kind != "other"),
        ("query", message.query),
        ("refusal", message.refusal),
        ("assent", message.assent == "high"),
        ("medium", message.assent),
        ("modify", message.change),
        ("question", message.question),
        ("correction", message.correction),
        ("done", message.done),
        ("switch", message.topic),
        ("imperative", message.imperatives),
    ):
        if fits:
            return kind
    return "other"


def _merge_readings(one: Message, other: Message) -> Message:
    """Two readings of one text: what either of them says takes effect."""
    joined = {name: getattr(one, name) or getattr(other, name) for name in Message.__struct_fields__}
    joined["kind"] = one.kind if one.kind != "other" else other.kind
    joined["revokes"] = tuple(dict.fromkeys(one.revokes + other.revokes))
    return Message(**joined)


# --- tightening ---------------------------------------------------------------------------------------------


def _read_tightening(text: str, shown: str, slash: str | None, phrases: Phrases) -> Message:
    signs = _signs_after(shown, slash) if slash is not None else _NO_SIGNS
    if slash is not None:
        shown = _with_own_clauses_only(shown, slash, phrases)
    standing = read_standing(text, shown)
    spoken, more = standing.spoken, _compile_phrases(phrases)
    gist = _gist(spoken)
    denied = f"\n{standing.denied}"
    refusal = read_refusal(more.refuse.sub("no", gist) + denied, fold_text(_gist(shown)) + denied)
    return Message(
        text=text,
        kind=standing.kind or "other",
        stop=standing.stop or _stops(spoken, phrases) or _is_bare_stop(shown, phrases) or "stop" in signs,
        grants=standing.grants,
        revokes=standing.revokes,
        revoke_all=standing.revoke_all,
        clear_allowlist=standing.clear_allowlist,
        clear_state=standing.clear_state,
        query=read_query(spoken if slash is None else text),
        refusal=refusal.refuses or _is_bare_no(shown) or "no" in signs,
        bare_no=refusal.bare or _is_bare_no(shown) or "no" in signs,
        forbids=refusal.forbids,
        forbidden=refusal.words,
        correction=corrects(spoken) or corrects(standing.denied),
        done=acknowledges(gist),
        topic=find_topic(spoken[:LONGEST], shown),
        problem=standing.problem,
    )


def _is_bare_no(shown: str) -> bool:
    """A message that is nothing but a no, in signs, as -1 or however quoted."""
    quoted = _QUOTED_WHOLE.fullmatch(shown.strip())
    if quoted is not None and refuses_flatly(fold_text(quoted["words"])):
        return True
    return is_sign_of("no", shown) or _MINUS_ONE.fullmatch(shown) is not None


def _signs_after(shown: str, slash: str) -> frozenset[str]:
    """What signs after a slash command say, "no" or "stop". Irony and a final "-1" are a no."""
    own = mask(shown)
    rest = own[fold_text(own).find(slash.casefold()) + len(slash) :]
    unmeant = any(
        is_ironic(words) or _UNMEANT.match(clean_clause(words)) for words, _ in clauses(fold_text(rest))
    )
    refuses = unmeant or has_sign_of("no", rest) or _FINAL_MINUS_ONE.search(rest) is not None
    said = {"no": refuses, "stop": has_sign_of("stop", rest)}
    return frozenset(name for name, holds in said.items() if holds)


def _gist(spoken: str) -> str:
    """The part of a message that tells its sense: of a very long one, the beginning and the end."""
    return spoken if len(spoken) <= LONGEST else f"{spoken[: LONGEST // 2]}\n{spoken[-LONGEST // 2 :]}"


def _stops(spoken: str, phrases: Phrases) -> bool:
    """Whether a stop phrase is anywhere, or a clause begins with one of those that stop only there."""
    if _STOP.search(spoken) or _AND_STOP.search(spoken) or _compile_phrases(phrases).stop.search(spoken):
        return True
    said = (clean_clause(_MENTION.sub("", spoken[start:end])) for start, end, _ in clause_spans(spoken))
    return any(_STOP_OPENING.match(words) or _WHOLE_STOP.fullmatch(words) for words in said)


def _is_bare_stop(shown: str, phrases: Phrases) -> bool:
    """A message that is nothing but a stop phrase, however quoted, or begins with a stop sign, is a stop."""
    bare = _QUOTES.sub("", fold_text(shown)).strip()
    if opens_with_stop_sign(shown) or _BARE_STOP.fullmatch(fold_text(shown)):
        return True
    return _compile_phrases(phrases).stop.fullmatch(bare) is not None


def _with_own_clauses_only(shown: str, slash: str, phrases: Phrases) -> str:
    """A slash command with its name and all words blanked out but the clauses that tighten on their own.

    "/commit fix the wait loop" says nothing but what to commit; "/pr wait" and "/pr, revoke all consent" do.
    """
    own = fold_text(mask(shown))
    rest = own.find(slash.casefold()) + len(slash)
    own = " " * rest + own[rest:]
    kept = [_BETWEEN if char not in "\r\n" else char for char in shown]
    for start, end in _own_clauses(own, phrases):
        kept[max(start, rest) : end] = shown[max(start, rest) : end]
    return "".join(kept)


def _own_clauses(own: str, phrases: Phrases) -> Iterator[tuple[int, int]]:
    for at, (start, end, _) in enumerate(clause_spans(own)):
        words = clean_clause(_compile_phrases(phrases).refuse.sub("no", own[start:end]))
        if _TAKES_BACK.match(words) or announces_another(words):  # with its list, to the end of the line
            yield start, len(own[start:].split("\n", 1)[0]) + start
        elif _tightens_by_itself(words, phrases) or _leaves_the_work(words, first=at == 0):
            yield start, end + 1


def _tightens_by_itself(words: str, phrases: Phrases) -> bool:
    refusal = read_refusal(words, words)
    # "No functional change" and "don't crash on empty input" are titles.
    acts = (speaks_of_act(words) and not _NO_CHANGE.match(words)) or names_target(words)
    speaks = refusal.bare or acts or not _TITLE_DENIAL.match(words)
    return (refusal.refuses and speaks) or corrects(words) or _stops_by_itself(words, phrases)


def _leaves_the_work(words: str, *, first: bool) -> bool:
    """Whether a clause ends the task. The first after a slash command may be a title: "switch to tabs"."""
    return acknowledges(words) or (not first and find_topic(words, words) is not None)


def _stops_by_itself(words: str, phrases: Phrases) -> bool:
    stop = _compile_phrases(phrases).stop.match(words)
    if _WHOLE_STOP.fullmatch(words):
        return True
    return _STOP_CLAUSE.match(words) is not None or (stop is not None and stop.end() == len(words))


class _PhrasePatterns(msgspec.Struct, frozen=True):
    """The operator's phrases as expressions; without any, expressions that never match."""

    stop: re.Pattern[str]
    refuse: re.Pattern[str]
    assent: re.Pattern[str]


@cache
def _compile_phrases(phrases: Phrases) -> _PhrasePatterns:
    return _PhrasePatterns(
        _any_of(map(fold_text, phrases.stop)),
        _any_of(map(fold_text, phrases.refuse)),
        _any_of(phrases.assent),
    )


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    listed = [" ".join(phrase.split()) for phrase in phrases]
    return lazy_pattern(rf"(?<!\w)(?:{pattern(listed)})(?!\w)" if listed else r"(?!)", re.IGNORECASE)


# --- loosening ----------------------------------------------------------------------------------------------


def _add_loosening(message: Message, phrases: Phrases, *, commands: bool) -> Message:
    """The message with what an undisguised text may loosen; `commands` if it may name some as well."""
    if message.stop or message.kind != "other" or message.query:
        return message
    text, own = message.text, mask(message.text)
    assent = read_assent(_compile_phrases(phrases).assent.sub("yes", text), asks="?" in own)
    refusal = message.refusal
    if assent.change is not None:  # "yes, but don't touch the tests" refuses a part, "yes, but no" the whole
        refusal = any(
            refuses_flatly(_compile_phrases(phrases).refuse.sub("no", fold_text(words)))
            for words in (own, assent.change)
        )
    return msgspec.structs.replace(
        message,
        refusal=refusal,
        assent=assent.strength,
        once=assent.once,
        of_plan=assent.of_plan,
        change=assent.change,
        question=assent.question,
        imperatives=read_imperatives(text) if commands else (),
    )


def _slash(text: str, slash_names: Collection[str]) -> str | None:
    """The registered name that a message of one line starts with."""
    lines = text.strip().splitlines()
    name = text.split(maxsplit=1)[0] if len(lines) == 1 else ""
    return next((known for known in slash_names if known.casefold() == name.casefold()), None)


# --- expressions: those for tightening read folded own words, those for loosening the text itself -----------

_CASE_BLIND = re.IGNORECASE | re.ASCII
_BETWEEN = ";"
"""Stands for the words of a slash command that tighten nothing: it ends a clause, so the next begins anew."""
_DRY_RUN = lazy_pattern(r"\s*dry\s+run\s*:", _CASE_BLIND)

# An underscore joins words ("stop_words") but also stands for emphasis ("_stop_").
_STOP = lazy_pattern(rf"(?<![^\W_])(?<![^\W_]_)(?:{pattern(STOP_PHRASES)})(?![^\W_])(?!_[^\W_])")
_ANY_STOP = pattern((*STOP_PHRASES, *STOP_OPENINGS))
# Drawn out or spelled by letters: "stooop", "s-t-o-p".
_BARE_STOP = lazy_pattern(
    rf"[\W_]*(?:{_ANY_STOP}|s+to+p+|wa+i+t+|s[ .-]t[ .-]o[ .-]p|w[ .-]a[ .-]i[ .-]t)[\W_]*|\s*\^c\s*"
)
_NO_SIGNS: frozenset[str] = frozenset()
_FINAL_MINUS_ONE = lazy_pattern(r"(?:\A|[,.;:!(—–])\s*-1[\s.!)]*\Z")
_QUOTED_WHOLE = lazy_pattern(r"""["'“«](?P<words>[^"'“”«»\n]{1,40})["'”»]""")
_MINUS_ONE = lazy_pattern(r"\s*-1[\s.!]*")
_QUOTES = lazy_pattern(r"""[`"'“”«».!,]+""")
_STOP_LEAD = (
    "(?:(?:please|pls|plz|hm+|um+|uh+|lets|ok|okay|oh|hey|whoa|woah|no|yes|yeah|well|so|and|but|then|now|just"
    "|actually|sorry|you should|let's|can you|could you|i said) )*"
)
_WISH = (
    "(?:(?:i'm asking|i beg|i told|i asked) you to"
    "|(?:i|we)(?:'d| would)? (?:want|need|like|have|had)(?: you)? to"
    "|(?:(?:i think|i say|maybe|perhaps) )*(?:we|you)(?: (?:should|must|need to|have to|ought to)|'d better)"
    "|maybe|perhaps|(?:can|could|shall|may) we|let us|let me|time to|i'm going to|i am going to|i'll|will you"
    "|would you|(?:an? )?(?:emergency|immediate|full|complete|total|quick|short))"
)
_CALLED = (
    "(?:everybody|everyone|all|(?:all )?(?:agents?|bots?)|assistant|robot|sayso|claude|codex|gemini|guys"
    "|folks|team)"
)
_STOP_OPENING = lazy_pattern(rf"{_STOP_LEAD}(?:{pattern(STOP_OPENINGS)})(?![\w'-])")
# "I want to abort" and "everybody halt" stop, "I want to abort the transaction" is work.
_WHOLE_STOP = lazy_pattern(
    rf"{_STOP_LEAD}(?:(?:(?:{_WISH}|{_CALLED}) {_STOP_LEAD})+(?:{pattern((*STOP_OPENINGS, *STOP_CLAUSES))})"
    rf"|{pattern(STOP_CLAUSES)})"
    r"(?: (?:please|pls|now|for now|right now|right there|there|here|everything|all|it|this|that|all work"
    r"|the work|work"
    r"|immediately|at once|you|for a (?:sec|second|moment|minute|bit|while)|a (?:sec|second|moment|minute"
    r"|bit)|thanks|agent"
    r"|again|until further notice|until i'm back|all (?:calls|operations|actions)))*"
)
_MENTION = lazy_pattern(r"\A\s*@[\w-]+[,:]?\s+")
_AND_STOP = lazy_pattern(
    rf"\b(?:and|then|but|or)\s+(?:please\s+|just\s+|then\s+)?(?:{pattern(STOP_OPENINGS)})"
    r"(?=\s*(?:$|[.,;!?\n])|\s+(?:here|now|there|please|everything|it|this|that|until|for|before|after)\b)"
)
_STOP_CLAUSE = lazy_pattern(
    rf"{_STOP_LEAD}(?:{_ANY_STOP})(?![\w'-])"
    r"(?: (?:it|that|this|them|all|everything|now|here|there|please|right|immediately|i|we|you|for|until|till"
    r"|before|a|an|one|with|on|don't"
    r"|the (?:push|commit|pr|pull|merge|deploy|release|upload|task|work|job|agent))\b|$)"
)
_TAKES_BACK = lazy_pattern(
    r"(?:(?:please|and|but|then|now|also|i|hereby|no|just) )*"
    r"(?:revok\w+|withdraw\w*|rescind\w*|retract\w*|take back|clear (?:the |my |session )*allowlist"
    r"|clear (?:all |the |my )*consent state|take (?:it|that|this|them|everything|all)(?: all| of it)? back"
    r"|(?:undo|terminate|reset|forget|end|void|annul|clear|remove|delete|drop) (?:(?:all|any|my|the|your"
    r"|standing|every) )*consents?"
    r"|you (?:no longer have|don't have|do not have|have no))\b"
)

_TITLE_DENIAL = lazy_pattern(
    r"(?:no|don't|do not|never) (?!more\b|longer\b|need\b|one\b|go\b|way\b)\w+ \w+|no \w+\Z"
)
_NO_CHANGE = lazy_pattern(r"no (?:functional|behaviou?r\w*|visible|api|logic|breaking|semantic) changes?\Z")
# After a slash command: it was not meant, or the user does it.
_UNMEANT = lazy_pattern(
    rf"{LEAD}(?:(?:oops|whoops|jk|lol|haha|my bad|just kidding|kidding|joking|nvm)\Z"
    r"|wrong (?:window|chat|command|one|session|tab|agent|terminal|repo|branch)\b|i mean(?:t)?\b"
    rf"|leave (?:\S+ ){{1,4}}to me\b|i(?:'ll)? (?:{'|'.join(ACTS)})\b(?!.*\b(?:so|when|if)\b))"
)
