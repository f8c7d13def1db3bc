"""Reading a user's message: what it is, and everything in it that takes effect.

Tightening (stop, revoke, clear, refusal, correction, done, another topic) is found anywhere in the user's own
words, through any disguise, and in doubt it is there. Loosening (grant, slash command, assent, imperative)
must be the whole message, undisguised. So pasted text can take consent away, but never give it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import reduce

import msgspec

from sayso.core.assent import read_assent
from sayso.core.own_words import LONGEST, clauses, fold, mask, readings, undisguised
from sayso.core.phrases import (
    DONE_PHRASES,
    HARMLESS_DONTS,
    HIGH_PHRASES,
    MEDIUM_PHRASES,
    POLITE,
    REFUSALS,
    STOP_PHRASES,
    pattern,
)
from sayso.core.standing import read_query, read_standing

__all__ = ["HIGH_PHRASES", "MEDIUM_PHRASES", "STOP_PHRASES", "Message", "read"]


class Message(msgspec.Struct, frozen=True):
    """A user's message, read.

    `kind` is the first that fits in the order of the fields, which say all that takes effect. A stop leaves
    nothing that loosens; a refusal or correction leaves no assent, change or imperative; a change or question
    leaves no assent. `problem` is a sentence for the user about a list that could not be taken as it stands.
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
    assent: str | None = None
    change: str | None = None
    question: bool = False
    correction: bool = False
    done: bool = False
    topic: str | None = None
    imperatives: tuple[str, ...] = ()
    problem: str | None = None


def read(text: str, slash_names: Collection[str]) -> Message:
    """Read a message as heard, knowing the registered slash commands. Every text has a reading."""
    message = reduce(_both, (_tightened(text, shown) for shown in readings(text)))
    if message.stop:
        message = msgspec.structs.replace(message, grants=())
    elif undisguised(text) and not _DRY_RUN.match(text):
        message = _loosened(message, slash_names)
    return msgspec.structs.replace(message, kind=_kind(message))


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


def _both(one: Message, other: Message) -> Message:
    """Two readings of one text: what either of them says takes effect."""
    joined = {name: getattr(one, name) or getattr(other, name) for name in Message.__struct_fields__}
    joined["kind"] = one.kind if one.kind != "other" else other.kind
    joined["revokes"] = tuple(dict.fromkeys(one.revokes + other.revokes))
    return Message(**joined)


# --- tightening ---------------------------------------------------------------------------------------------


def _tightened(text: str, shown: str) -> Message:
    standing = read_standing(text, shown)
    said = list(clauses(_gist(standing.spoken)))
    return Message(
        text=text,
        kind=standing.kind or "other",
        stop=standing.stop or _STOP.search(standing.spoken) is not None or _is_bare_stop(shown),
        grants=standing.grants,
        revokes=standing.revokes,
        revoke_all=standing.revoke_all,
        clear_allowlist=standing.clear_allowlist,
        clear_state=standing.clear_state,
        query=read_query(standing.spoken),
        refusal=any(_refuses(words, asked) for words, asked in said),
        correction=_CORRECTION.search(standing.spoken) is not None,
        done=any(_DONE.fullmatch(words) for words, asked in said if not asked),
        topic=_topic(standing.spoken[:LONGEST], shown),
        problem=standing.problem,
    )


def _gist(spoken: str) -> str:
    """The part of a message that tells its sense: of a very long one, the beginning and the end."""
    return spoken if len(spoken) <= LONGEST else f"{spoken[: LONGEST // 2]}\n{spoken[-LONGEST // 2 :]}"


def _is_bare_stop(shown: str) -> bool:
    """A message that is nothing but a stop phrase is a stop, however it is quoted."""
    return _BARE_STOP.fullmatch(fold(shown)) is not None


def _refuses(words: str, asked: bool) -> bool:
    return _FLAT_REFUSAL.fullmatch(words) is not None or (not asked and _REFUSAL.search(words) is not None)


def _topic(spoken: str, shown: str) -> str | None:
    """The topic the user turns to, in their spelling: "Actually, let's work on feature Y instead"."""
    for found in _TOPIC.finditer(spoken):
        topic = shown[found.start("topic") : found.end("topic")].strip(" ,")
        bare = _INSTEAD.sub("", topic)
        if bare and (found["lead"] or found["switch"] or bare != topic):
            return bare
    return None


# --- loosening ----------------------------------------------------------------------------------------------


def _loosened(message: Message, slash_names: Collection[str]) -> Message:
    """The message with what an undisguised text without a stop may loosen."""
    text, own = message.text, mask(message.text)
    slash = _slash(text, slash_names)
    if slash is not None or message.kind != "other" or message.query:
        return msgspec.structs.replace(message, slash=slash)
    assent = read_assent(text, asks="?" in own)
    refusal = message.refusal
    if assent.change is not None:  # "yes, but don't touch the tests" refuses a part, "yes, but no" the whole
        refusal = any(_FLAT_REFUSAL.fullmatch(words) for words, _ in clauses(fold(own)))
    if refusal or message.correction:
        return msgspec.structs.replace(message, refusal=refusal, question=assent.question)
    return msgspec.structs.replace(
        message,
        refusal=refusal,
        assent=assent.strength,
        change=assent.change,
        question=assent.question,
        imperatives=_imperatives(text),
    )


def _slash(text: str, slash_names: Collection[str]) -> str | None:
    """The registered name that a message of one line starts with."""
    lines = text.strip().splitlines()
    name = text.split(maxsplit=1)[0] if len(lines) == 1 else ""
    return next((known for known in slash_names if known.casefold() == name.casefold()), None)


def _imperatives(text: str) -> tuple[str, ...]:
    """The commands of "Run `git status` and `git diff`" or "run git status", each as it stands."""
    order = _ORDER.fullmatch(text.strip())
    if order is None:
        return ()
    rest = order["rest"]
    if "`" in rest:
        listed = [command.strip() for command in re.findall("`([^`]+)`", rest)]
        return tuple(filter(None, listed)) if _TICKED_LIST.fullmatch(rest) else ()
    if _NO_COMMAND.match(rest) or rest.endswith("?"):
        return ()
    return (_FINAL_MARK.sub("", _POLITE_END.sub("", rest)),)


# --- expressions: those for tightening read folded own words, those for loosening the text itself -----------

_CASE_BLIND = re.IGNORECASE | re.ASCII
_DRY_RUN = re.compile(r"\s*dry\s+run\s*:", _CASE_BLIND)

# An underscore joins words ("stop_words") but also stands for emphasis ("_stop_").
_STOP = re.compile(rf"(?<![^\W_])(?<![^\W_]_)(?:{pattern(STOP_PHRASES)})(?![^\W_])(?!_[^\W_])")
_BARE_STOP = re.compile(rf"[\W_]*(?:{pattern(STOP_PHRASES)})[\W_]*")

_LEAD = "(?:(?:please|oh|ah|hm+|um+|uh+|well|ok|okay|yes|yeah|so|and|but|actually|sorry|i think|i said) )*"
_FLAT_REFUSAL = re.compile(
    rf"{_LEAD}(?:{pattern(REFUSALS)}|no(?: no)+)(?: (?:{pattern(POLITE)}|sorry|then|again))*"
)
_REFUSAL = re.compile(
    rf"\A{_LEAD}(?:you )?(?:don't|dont|do not|never|must not|mustn't|should not|shouldn't|may not)\b"
    rf"(?! (?:{pattern(HARMLESS_DONTS)})\b)"
    rf"|\A{_LEAD}you (?:can't|cannot)\b"
    r"|\bi (?:really |still )?(?:don't|do not|won't|will not|can't|cannot)"
    r" (?:want|agree|approve|consent|accept|allow|permit|like|authori[sz]e)\b"
    r"|\b(?:not|never|no longer|isn't|aren't|wasn't|doesn't|don't)(?: \w+){0,2}"
    r" (?:ok|okay|fine|good|happy|comfortable|approved|confirmed|agreed|proceed|go ahead|do it|ship it)\b"
)
_DONE = re.compile(
    r"(?:(?:ok|okay|yes|great|good|perfect|and|so|now|all|task|(?:we|you|they)(?:'re| are)|i(?:'m| am)"
    r"|(?:it|this|that|everything|the task)(?:'s| is)|(?:move |moving )?on to the) )*"
    rf"(?:{pattern(DONE_PHRASES)})(?: (?:{pattern(POLITE)}|now|then|here|with (?:it|this|that)))*"
)
_CORRECTION = re.compile(
    r"\b(?:that|this|it)(?:'s|\s+is|\s+was|\s+looks)\s+"
    r"(?:(?:all|also|completely|just|plain|quite|simply|still|the|totally)\s+)?(?:wrong|incorrect)\b"
    r"|\b(?:that|this|it)(?:'s\s+not|\s+is\s+not|\s+isn't|\s+was\s+not|\s+wasn't)\s+(?:right|correct)\b"
    r"|\bnot\s+what\s+i\s+(?:asked|meant|said|wanted)\b"
    r"|\byou\s+(?:did|got|have|read)\s+(?:it|this|that)\s+(?:all\s+)?wrong\b"
    r"|\bdo\s+(?:it|this|that)\s+(?:differently|another\s+way|(?:in\s+)?a\s+different\s+way|some\s+other\s+way)\b"
)
_TOPIC = re.compile(
    r"(?P<lead>\b(?:actually|instead)[\s,]+)?"
    r"\b(?:let's|lets|let\s+us|we\s+should|can\s+we|i\s+want\s+to|i'd\s+like\s+to)\s+"
    r"(?:(?P<switch>switch(?:\s+over)?\s+to|move\s+on\s+to)|work\s+on|focus\s+on|turn\s+to|start\s+on)\s+"
    r"(?P<topic>(?:[^\n.!?]|\.(?=\w)){1,200})"
)
_INSTEAD = re.compile(r"[\s,]+(?:instead|now)\Z", _CASE_BLIND)

_ORDER = re.compile(r"(?:please\s+)?(?:run|execute|show|list|print):?\s+(?P<rest>\S[^\n\r]*)", _CASE_BLIND)
_TICKED_LIST = re.compile(
    rf"`[^`]+`(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)`[^`]+`)*(?:,?\s+(?:{pattern(POLITE)}))?[.!]*", _CASE_BLIND
)
# After a comma or full stop politeness is the user's; else it may belong to the command ("echo please").
_POLITE_END = re.compile(rf"[,.!]\s*(?:{pattern(POLITE)})[.!]*$", _CASE_BLIND)
# A mark that ends a sentence stands on a word: the dots of "git add ." and "cd .." belong to the command.
_FINAL_MARK = re.compile(r"""(?<=[\w"')\]}])(?:\.|!+)$""")
_NO_COMMAND = re.compile(
    r"(?:me|us|it|them|this|that|these|those|the|all|any|every|some|my|your|our|an?|what|how|why)\b",
    _CASE_BLIND,
)
