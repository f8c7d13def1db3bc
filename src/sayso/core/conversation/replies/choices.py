"""Which of several open questions a message means, and what it says to each of them.

- A question is named by its number, its place, its command, target, tool or operation, or by words of these;
  several by a list, a range, "both" or "all".
- A yes or no may come before or after what it is for: "yes to 1, no to 2", "1 yes, 2 no".
- Every word has to be understood, and every name has to fit exactly one question; else it is not a choice.
- A minus, a dash or "!" before a name, and a yes or no between two names, can be read in two ways: unclear.
- What is quoted or fenced, and what trails off, is not a choice. In backticks a name counts as it is.
- A yes that names a call by its name, or with "only" or "just", is for that call alone.
- What is named by words of a command or target, which the agent wrote, is hesitant: it is asked back. So is
  "change it", which may mean the call as well as the file.
- Numbers, ordinals, "last", "both" and "all" mean places in the list as it was shown. A place whose question
  has closed stays empty, and names are hesitant then: they may fit only because another question has gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from sayso.core.decision import Question
from sayso.core.plans.names import stem
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import HIGH_PHRASES, MEDIUM_PHRASES, NO_WORDS, POLITE, pattern
from sayso.core.text.unmask import mask_fences, strip_decoration, with_signs_spelled


class Choice(msgspec.Struct, frozen=True):
    """The questions a message says yes to, those it says no to, and those it only names.

    `hesitant` means that a yes is to be asked back, `orders` that what is only named is told to run,
    `accounts_for_no` that every no in the message is part of the choice, `closed` that it speaks of a place
    in the list whose question is no longer open, and `once` that a yes is for these calls alone. One that is
    `unclear` answers nothing: it has to be asked again.
    """

    yes: tuple[Question, ...] = ()
    no: tuple[Question, ...] = ()
    named: tuple[Question, ...] = ()
    hesitant: bool = False
    orders: bool = False
    accounts_for_no: bool = False
    closed: bool = False
    once: bool = False
    unclear: bool = False


NumberedQuestions = Sequence[Question | None]
"""The questions in the order they were shown in; None where one is no longer open."""


class _NamedPlaces(msgspec.Struct, frozen=True):
    """The places in the list that words name."""

    places: tuple[int, ...]
    hesitant: bool = False
    orders: bool = False
    by_name: bool = False


class _Part(msgspec.Struct, frozen=True):
    """A part of a message: "yes", "hesitant", "no" or nothing, and the words it is said of."""

    says: str
    words: str


def read_choice(text: str, asked: NumberedQuestions) -> Choice | None:
    """Read a message that is nothing but a choice, with or without a yes or no in it; else None."""
    said = " ".join(strip_decoration(with_signs_spelled(text.replace("’", "'"))).split()).rstrip("! ")
    if said == "-1" or said.endswith("?") or _is_quoted(text) or _TRAILS_OFF.search(said):
        return None
    plain = _STROKE.sub(r"\g<ahead> ", said)
    if plain != said:
        return None if read_choice(plain, asked) is None else Choice(unclear=True)
    if _NONE.fullmatch(said.rstrip(".")):
        return Choice(no=tuple(filter(None, asked)))
    said = _EQUALS.sub(" ", said)
    numbered = _NUMBER_SIGN.sub("#", said)
    ahead = _answers_before_names(numbered)
    choice = _read_parts(_answers_after_names(numbered), asked) or _read_parts(ahead, asked)
    if choice is None:
        return None
    if choice.named and len(ahead) > 1 and not _ONLY_BEFORE.search(numbered):  # "2 no 1"
        return Choice(unclear=True)
    if _BEGINS_WITH_NO.match(numbered):  # a refusal, whatever follows
        return Choice(no=choice.no, closed=choice.closed)
    return msgspec.structs.replace(
        choice,
        hesitant=choice.hesitant or _NO_OR_NUMBER.match(said) is not None,
        accounts_for_no=bool(choice.no) or numbered != said,
        once=choice.once or _LIMIT.search(said) is not None,
    )


def _is_quoted(text: str) -> bool:
    """Whether a part of the text is quoted or fenced, or a number is in backticks."""
    return mask_fences(text) != text or _QUOTE.search(text) is not None


def _answers_before_names(said: str) -> list[_Part]:
    """Each yes or no with the words after it: "yes to 1, no to 2"."""
    answers = list(_ANSWER.finditer(said))
    first = [_Part("", said[: answers[0].start() if answers else len(said)])]
    ends = [*(each.start() for each in answers[1:]), len(said)]
    rest = [_Part(_sense(each), said[each.end() : end]) for each, end in zip(answers, ends, strict=False)]
    return (first if first[0].words.strip() else []) + _join_yeses(rest)


def _join_yeses(parts: list[_Part]) -> list[_Part]:
    """The parts with a yes that goes on in the next one joined to it: "yes, go ahead and push"."""
    joined: list[_Part] = []
    for part in parts:
        ahead = joined[-1] if joined else None
        goes_on = ahead is not None and _ONLY_POLITE.fullmatch(ahead.words) is not None
        if ahead is not None and goes_on and "no" not in (ahead.says, part.says):
            joined[-1] = _Part("yes" if "yes" in (ahead.says, part.says) else "hesitant", part.words)
        else:
            joined.append(part)
    return joined


def _answers_after_names(said: str) -> list[_Part]:
    """Each yes or no with the words before it: "1 yes, 2 no", but not "the first, not the second"."""
    answers = list(_ANSWER.finditer(said))
    starts = [0, *(each.end() for each in answers)]
    if said[starts[-1] :].strip(" .,;!") or any(_ONLY_BEFORE.fullmatch(each[0]) for each in answers):
        return []
    return [
        _Part(_sense(each), said[start : each.start()]) for start, each in zip(starts, answers, strict=False)
    ]


def _sense(answer: re.Match[str]) -> str:
    return next(name for name in ("yes", "hesitant", "no") if answer[name])


def _read_parts(parts: list[_Part], asked: NumberedQuestions) -> Choice | None:
    """The choice that parts make; None if one of them names nothing, or two say different things of one."""
    read = [(part.says, _name(part.words, asked)) for part in parts]
    named = [(says, name) for says, name in read if name is not None]
    if not read or len(named) < len(read):
        return None
    every = [place for _, name in named for place in name.places]
    if len(set(every)) < len(every):
        return None
    return Choice(
        yes=_questions_with(named, asked, "yes", "hesitant"),
        no=_questions_with(named, asked, "no"),
        named=_questions_with(named, asked, ""),
        hesitant=any(says == "hesitant" or (says != "no" and name.hesitant) for says, name in named),
        orders=any(name.orders for _, name in named),
        closed=any(asked[place] is None for place in every),
        once=any(name.by_name for says, name in named if says != "no"),
    )


def _questions_with(
    named: list[tuple[str, _NamedPlaces]], asked: NumberedQuestions, *senses: str
) -> tuple[Question, ...]:
    found = {place for says, name in named if says in senses for place in name.places}
    return tuple(question for at, question in enumerate(asked) if question is not None and at in found)


# --- names --------------------------------------------------------------------------------------------------


def _name(said: str, asked: NumberedQuestions) -> _NamedPlaces | None:
    """The questions that words name; None if any part of them names none, or more than one."""
    said = _BEHIND.sub("", said.strip(" ,;:"))
    bare = _BEFORE.sub("", said)
    whole = _all_but(bare, asked) or _name_one(bare, asked)
    found = [whole] if whole else _name_each(bare, asked)
    if not found:
        return None
    return _NamedPlaces(
        tuple(dict.fromkeys(place for name in found for place in name.places)),
        hesitant=any(name.hesitant for name in found),
        by_name=any(name.by_name for name in found),
        orders=_ORDERS.match(said) is not None,
    )


def _name_each(said: str, asked: NumberedQuestions) -> list[_NamedPlaces]:
    """What each part of a list names; nothing if one of them names none."""
    found = []
    for part in filter(str.strip, _SEPARATOR.split(said)):
        name = _name_one(part, asked)
        if name is None:
            return []
        found.append(name)
    return found


def _all_but(said: str, asked: NumberedQuestions) -> _NamedPlaces | None:
    """ "Both", "all", "the first two", "1 to 3", "all except 2"."""
    places = tuple(range(len(asked)))
    every = _ALL.fullmatch(said)
    if every is not None and (every["number"] or "").lower() in ("", str(len(asked)), _count(len(asked))):
        return None if every["both"] and len(asked) != 2 else _NamedPlaces(places)
    if (some := _RANGE.fullmatch(said)) is not None:
        first, last = int(some["first"]), int(some["last"])
        return _NamedPlaces(places[first - 1 : last]) if 0 < first < last <= len(asked) else None
    if (some := _FIRST_FEW.fullmatch(said)) is not None:
        count = _NUMBERS.index(some["count"].lower()) + 1
        end = some["end"].lower() == "last"
        return _NamedPlaces(places[-count:] if end else places[:count]) if count <= len(asked) else None
    apart = _EXCEPT.fullmatch(said)
    out = _name(apart["out"], asked) if apart is not None else None
    if out is None or len(out.places) >= len(asked):
        return None
    return msgspec.structs.replace(out, places=tuple(at for at in places if at not in out.places))


def _count(number: int) -> str:
    return _NUMBERS[number - 1] if 0 < number <= len(_NUMBERS) else ""


def _name_one(said: str, asked: NumberedQuestions) -> _NamedPlaces | None:
    """The one question that words name: by its place, by a name in full, or by words of its names."""
    said = said.strip(" ,;:")
    ticked = _TICKED.fullmatch(said)
    said = ticked["name"] if ticked is not None else said
    if not any(said in _names(question) for _, question in _list_open(asked)):
        said = said if ticked is not None else _BEHIND_NAME.sub("", said)
    ordinal = _ORDINAL.fullmatch(said)
    if ordinal is not None:
        at = _place(ordinal, len(asked))
        return _NamedPlaces((at,)) if 0 <= at < len(asked) else None
    fitting = [at for at, question in _list_open(asked) if said and said in _names(question)]
    if fitting:
        return (
            _NamedPlaces((fitting[0],), hesitant=None in asked, by_name=True) if len(fitting) == 1 else None
        )
    return None if ticked is not None else _by_words(said, asked)


def _list_open(asked: NumberedQuestions) -> Iterator[tuple[int, Question]]:
    """The questions that are still open, with their places."""
    return ((at, question) for at, question in enumerate(asked) if question is not None)


def _by_words(said: str, asked: NumberedQuestions) -> _NamedPlaces | None:
    if not _PLAIN.fullmatch(said) or _SIGN_WITHIN.search(said):
        return None
    stems = {stem(word) for word in re.findall(r"[^\W_]+", _NOUNS.sub("", said.lower()))}
    if stems and stems <= _EDITING:  # "change it": the file, or the call
        stems = {stem("edit")}
    fitting = [
        (at, question)
        for at, question in _list_open(asked)
        if stems and stems <= {*_operation_stems(question), *_stems(question)}
    ]
    if len(fitting) != 1:
        return None
    at, question = fitting[0]
    certain = stems <= set(_operation_stems(question)) and not _EDITS_SOMETHING.search(said)
    return _NamedPlaces((at,), hesitant=None in asked or not certain, by_name=True)


def _place(ordinal: re.Match[str], count: int) -> int:
    if ordinal["number"]:
        return int(ordinal["number"][:4]) - 1
    word = (ordinal["word"] or ordinal["count"]).lower()
    if word in ("last", "latter", "latest", "bottom", "final"):
        return count - 1
    known = _ORDINALS if word in _ORDINALS else _NUMBERS
    return known.index(word) if word in known else 0


def _names(question: Question) -> set[str]:
    """What a question may be called: its command, target, tool or operation, in full."""
    call = question.request.call
    named = {call.command, call.target, call.tool, *(item.operation for item in question.items)}
    if call.target:
        named.add(re.split(r"[/\\]", call.target)[-1])
    return {name for name in named if name}


def _operation_stems(question: Question) -> Iterator[str]:
    for item in question.items:
        yield from (stem(part) for part in re.split(r"[\W_]+", item.operation.lower()) if part)


def _stems(question: Question) -> Iterator[str]:
    call = question.request.call
    for text in (call.command, call.target, call.tool):
        yield from (stem(part) for part in re.split(r"[\W_]+", (text or "").lower()[:_LONGEST_NAME]) if part)


def _expression(text: str) -> re.Pattern[str]:
    return lazy_pattern(text, re.IGNORECASE | re.ASCII)


_LONGEST_NAME = 2_000
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNT = "|".join(_NUMBERS)
_NOS = rf"{NO_WORDS}|not|deny|reject|refuse|decline|denied|rejected|skip|but\s+not"
_YESES = rf"{pattern(HIGH_PHRASES)}|approve|allow|accept|go\s+with"
_ANSWER = _expression(
    rf"(?<![\w./'-])(?:(?P<yes>{_YESES})|(?P<hesitant>{pattern(MEDIUM_PHRASES)})|(?P<no>{_NOS}))(?![\w'/-]"
    rf"|\.\w)"
)
_ONLY_BEFORE = _expression(r"(?:but\s+)?not|deny|reject|refuse|decline|skip|allow|approve|accept|i\s+approve")
# "No. 2" and "no.2" are a number or a no, so they are asked back; "nr. 2" is a number.
_NUMBER_SIGN = _expression(r"(?<!\w)(?:(?:no|nr|num)\.\s*|nr\s+|\u2116\s*)(?=\d)")
_BEGINS_WITH_NO = _expression(rf"{NO_WORDS}(?![\w'-])")
_NO_OR_NUMBER = _expression(r"no\.\s*\d")
_EQUALS = _expression(r"\s*=\s*(?=(?:yes|no|ok|okay|y|n)\b)")
_TICKED = lazy_pattern(r"(`+)(?P<name>[^`]*[^`\d\s][^`]*)\1[.!]*")
# A full stop ends a sentence only behind a word: the dot of "git add ." belongs to the command.
_BEHIND_NAME = lazy_pattern(r"(?:\s*[,;:!–—-]|(?<=[\w)\]])\.)+\Z")
_QUOTE = lazy_pattern(r"""["“”„«»]|(?<![\w'])'(?=[^\s'])[^']*'(?!\w)|`\s*\d+\s*`""")
_TRAILS_OFF = lazy_pattern(r"(?<=\w)\s?\.\s?\.|…|[-–—]\s*\Z")
_SIGN_WITHIN = lazy_pattern(r"(?:\A|\s)[-–—−!~]")
# A sign before a name, at the start or right behind an answer. "1 - yes" is none.
_STROKE = _expression(
    rf"(?P<ahead>\A|[,;(:]|(?<![\w-])(?:{_YESES}|{pattern(MEDIUM_PHRASES)}|{_NOS})(?![\w-]))"
    rf"\s*[-–—−!~]+\s*(?=[\w./#`])(?!(?:{_YESES}|{pattern(MEDIUM_PHRASES)}|{_NOS})(?!\w))"
)
_BEFORE = _expression(
    r"\A(?:(?:you\s+(?:can|may)|you(?:'re|\s+are)\s+(?:free|welcome|allowed)\s+to|to|for|with|on|just|only"
    r"|please|and|but|then|i\s+mean(?:t)?|i(?:'d)?\s+(?:want|pick|choose|take|like)"
    r"|pick|choose|take|let's\s+do|lets\s+do|go\s+with|do|run|execute)(?:\s*,\s*|\s+))+(?=\S)"
)
_ORDERS = _expression(
    r"(?:(?:just|only|please|and|then)\s+)*(?:let's\s+do|lets\s+do|go\s+with|do|run|execute)\s"
)
_BEHIND = _expression(rf"(?:[\s,.]+(?:{pattern(POLITE)}|only|then|and|but))+\Z")
_ONLY_POLITE = _expression(rf"[\s,.!]*(?:(?:{pattern(POLITE)})[\s,.!]*)*")
_LIMIT = _expression(r"\b(?:only|just|solely|alone|exclusively|merely)\b")
_ALL = _expression(
    r"(?:(?P<both>both)|all|each|every)(?:\s+(?:one|(?:of\s+)?(?:the\s+)?(?:them|these|those|it|questions"
    r"|above)))?"
    rf"|all\s+(?:the\s+)?(?P<number>{_COUNT}|\d+)(?:\s+of\s+(?:them|these|those))?|everything"
)
_EXCEPT = _expression(
    r"(?:both|all|everything|each)(?:\s+of\s+(?:them|these|those))?"
    r"\s+(?:but|except(?:\s+for)?|apart\s+from|other\s+than|without|excluding|minus)\s+(?P<out>\S.*)"
)
_RANGE = _expression(r"#?(?P<first>\d{1,3})(?:[-–]|\s+(?:-|–|to|through|thru|till)\s+)#?(?P<last>\d{1,3})")
_FIRST_FEW = _expression(rf"(?:the\s+)?(?P<end>first|last)\s+(?P<count>{_COUNT})")
_NONE = _expression(
    r"(?:none|neither|nothing|not\s+any)(?:\s+of\s+(?:them|these|those|it|the\s+(?:above"
    r"|two)))?(?:,?\s+please)?"
)
_SEPARATOR = lazy_pattern(
    r"\s*(?:,\s*and\s|,|;|\+|\s&\s|&|\sand\s|(?<=\d)\s*/\s*(?=\d)|(?<=\d)\s+(?=\d))\s*", re.IGNORECASE
)
_KIND = r"(?:number|no\.|nr\.?|question|option|item|choice|q)"
_ORDINAL = _expression(
    rf"(?:the\s+)?(?:{_KIND}\s*)?[#(\[]?\s*(?P<number>\d+)(?:st|nd|rd|th)?\s*[)\].]?(?:\s+(?:one|question"
    rf"|command|call))?"
    rf"|(?:the\s+)?(?P<word>{'|'.join(_ORDINALS)}|last|latest|final|former|latter|top|bottom)"
    r"(?:\s+(?:one|question|command|call))?"
    rf"|(?:(?:the\s+)?{_KIND}\s+)?(?P<count>{_COUNT})"
)
_EDITING = frozenset(map(stem, ("change", "modify", "update")))
_EDITS_SOMETHING = _expression(r"\b(?:chang|modif|updat)\w+")
_PLAIN = lazy_pattern(r"[\w\s./'-]{1,200}")
_NOUNS = lazy_pattern(
    r"\b(?:the|that|this|one|command|call|question|operation|file|request|step|thing|of|to|in|on|for|a|an"
    r"|it|now)\b"
)
