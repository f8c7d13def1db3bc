"""A change to a plan, cut into pieces: each takes out what it names, keeps it, or sets a condition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from sayso.core.plans.clause_senses import (
    TO,
    agrees,
    chooses,
    is_bare,
    is_bare_limit,
    names_something,
    takes_out,
)
from sayso.core.plans.names import words_of
from sayso.core.session.plan_text import PlanText
from sayso.core.text.look_alikes import APOSTROPHES
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.refusing.denials import with_apostrophes
from sayso.core.text.unmask import mask_quotations, spell_signs, with_apostrophes_typed

PieceMode = Literal["out", "keep", "condition", "up_to"]


class ChangePiece(msgspec.Struct, frozen=True):
    """A part of a change. "out" takes out what it names, unless `agrees` finds it understood.

    "up_to" keeps the steps up to the last one it names.
    """

    mode: PieceMode
    words: str
    marked: bool = False


def split_into_pieces(change: str, plan: PlanText) -> Iterator[list[ChangePiece]]:
    """The pieces of each sentence of a change."""
    change = _EXCEPT_SHORT.sub("except ", change)
    text = mask_quotations(with_strokes_spelled(spell_signs(change)).translate(APOSTROPHES)).replace("`", " ")
    for sentence in re.split(r"(?<=[.!?;])\s+|\n", text):
        if _NOTHING_ELSE.fullmatch(sentence.strip(" ,.!;")):
            continue  # the plan names nothing else
        yield list(_of_sentence(_with_not_ahead(_with_only_ahead(sentence.strip(" ,.!;"))), plan))


def with_strokes_spelled(text: str) -> str:
    """The text with marks that strike a name out as words: "-b.py", "!b.py" and "~~b.py~~" are "not b.py"."""
    text = _LEFT_UNDONE.sub(r"not \g<act>", with_apostrophes(with_apostrophes_typed(text)))
    return _STRUCK.sub(lambda found: f" not {found[1] or found[2]} ", _MINUS.sub("not ", text))


def _with_only_ahead(sentence: str) -> str:
    """Other ways to say "only": "a.py only", "nothing but a.py", "a.py and nothing else"."""
    sentence = _CHANGE_AND.sub("edit", _NAMELY.sub("only ", _ALL_BUT.sub("except", sentence)))
    bare = _REST.sub("", sentence)
    if bare != sentence and not _KEEP.search(bare):
        bare = f"only {bare.strip(' ,.!;')}"
    return _ONLY_BEHIND.sub(r"only \1", _LIMIT.sub("only ", bare)).strip(" ,.!;")


def _with_not_ahead(sentence: str) -> str:
    """A no behind what it is said of, put before it: "a.py yes, b.py no" is "a.py yes, not b.py"."""
    return _NOT_BEHIND.sub(lambda found: f"{found['lead']}not {found['named']}", sentence)


def _of_sentence(sentence: str, plan: PlanText) -> Iterator[ChangePiece]:
    """A condition reaches its whole sentence; otherwise each mark begins a piece of its own."""
    up_to = _UP_TO.fullmatch(sentence)
    if up_to is not None:
        yield ChangePiece("up_to", up_to["step"], marked=True)
        return
    rest = _SAFE_CONDITION.sub(" ", sentence).strip(" ,.!;")
    if rest != sentence:
        yield ChangePiece("condition", sentence)
        yield from (ChangePiece("out", rest, marked=True),) if rest else ()
    elif _CONDITION.search(sentence):
        yield ChangePiece("keep" if _KEEP.search(sentence) else "out", sentence, marked=True)
    else:
        yield from _at_marks(sentence, plan)


def _at_marks(sentence: str, plan: PlanText) -> Iterator[ChangePiece]:
    marks = list(_MARK.finditer(sentence))
    ends = [*(mark.start() for mark in marks[1:]), len(sentence)]
    first = sentence[: marks[0].start()] if marks else sentence
    yield from _by_clause(first, plan)
    for mark, end in zip(marks, ends, strict=False):
        words = sentence[mark.end() : end].strip(" ,.!")
        if mark["out"]:
            excluded, rest = _up_to_yes(words, plan)
            yield ChangePiece("out", f"{mark['out']} {excluded}", marked=True)
            yield from _by_clause(rest, plan)
        elif mark["keep"] and (words or end == len(sentence)):
            yield ChangePiece("keep", words)
        elif words and all(is_bare(word, plan) for word in words_of(words)):
            yield ChangePiece("keep", "")  # "yes, but b.py" may mean all of it but b.py
        else:
            yield from _by_clause(words, plan)


def _up_to_yes(words: str, plan: PlanText) -> tuple[str, str]:
    """What a mark excludes, and what follows from a clause that says yes: "not a.py | b.py yes"."""
    clauses = _split(words)
    for at, clause in enumerate(clauses[1:], 1):
        spoken = words_of(clause)
        if not _YES_WORDS.isdisjoint((*spoken[:1], *spoken[-1:])) and chooses(clause, plan):
            return ", ".join(clauses[:at]), ", ".join(clauses[at:])
    return words, ""


def _by_clause(words: str, plan: PlanText) -> Iterator[ChangePiece]:
    """Unmarked words, clause by clause. Bare names belong to a neighbour that takes something out: to the one
    before ("I'll do a.py, b.py") or the one behind ("a.py, b.py are off limits")."""
    clauses = _split(words)
    taking = [not (chooses(each, plan) or agrees(each, plan)) for each in clauses]
    bare = [all(is_bare(word, plan) for word in words_of(each)) for each in clauses]
    for at in range(1, len(clauses)):
        taking[at] |= bare[at] and taking[at - 1]
    for at in range(len(clauses) - 1, 0, -1):
        taking[at - 1] |= bare[at - 1] and taking[at]
    joined = ""
    for clause, takes in zip(clauses, taking, strict=True):
        if takes:
            joined = f"{joined}, {clause}" if joined else clause
            continue
        yield from (ChangePiece("out", joined),) if joined else ()
        joined = ""
        yield ChangePiece("out", clause)
    yield from (ChangePiece("out", joined),) if joined else ()


def _split(words: str) -> list[str]:
    return [clause.strip(" ,.!;:") for clause in _CLAUSE.split(words) if clause.strip(" ,.!;:")]


def is_unclear(piece: ChangePiece, plan: PlanText) -> bool:
    """Whether a piece limits in a way no plan can: "to the parser part", "locally"."""
    words, spoken = piece.words, words_of(piece.words)
    if piece.mode != "out" or not spoken or agrees(words, plan) or chooses(words, plan) or takes_out(words):
        return False
    return not names_something(words, plan) and (spoken[0] in TO or is_bare_limit(spoken))


_MINUS = lazy_pattern(r"(?<![^\s,(])[-!\u2212](?=[\w./]*\w\.\w|\w[\w./]+)")
_LEFT_UNDONE = lazy_pattern(
    r"\b(?:(?:leave|leaving|keep|let)\s+)?(?:(?:the|all|my|your|these|those|any)\s+)*"
    r"(?:(?:changes?|files?|work|everything|it|them|edits?|result)\s+)?"
    r"(?:(?:(?:should|must|shall|will|to)\s+)?(?:stays?|remains?|be|is|are)\s+)?"
    r"un(?P<act>committed|pushed|merged|published|deployed|released|staged|edited|tested|tagged)\b",
    re.IGNORECASE,
)
_STRUCK = lazy_pattern(r"~~([^~\n]{1,200})~~|(?<!~)~([^~\n]{1,200})~(?!~)")
_MARK = lazy_pattern(
    r"""(?:(?:\band|,)\s+)?\b(?:
        (?P<out>except(?:\s+for)?|excluding|exclude|without|skip(?:ping)?|leave|omit|drop|minus|avoid|ignore|keep
           |instead\s+of|rather\s+than|other\s+than|apart\s+from|aside\s+from|don't|do\s+not|never|not|no)
      | (?P<keep>only|just)
      | (?P<turn>but|however|though|although)
    )\b(?![./]\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_LIMIT = lazy_pattern(
    r"\b(?:(?:limit|restrict|confine)(?:\s+(?:it|this|that|yourself|the\s+plan))?\s+to|stick\s+to|solely|exclusively|merely|purely"
    r"|at\s+most|no\s+more\s+than|(?:stay|keep|remain)\s+(?:within|inside|in|to)"
    r"|nothing\s+(?:but|except|other\s+than|beyond|besides|outside(?:\s+of)?|more\s+than))\s+",
    re.IGNORECASE,
)
_YES_WORDS = frozenset({"yes", "yep", "yeah", "yup", "ok", "okay", "sure", "approved"})
_CLAUSE = lazy_pattern(r"[,;()—–]|:\s|\s-+\s|\s(?:and\s+)?then\s", re.IGNORECASE)
_ALL_BUT = lazy_pattern(
    r"\b(?:(?:to|with|for)\s+)?(?:all|everything|everywhere|anything|both|the\s+rest|every|each|the\s+plan"
    r"|the\s+(?:whole|entire)(?:\s+(?:thing|plan|lot))?)"
    r"(?:\s+of\s+(?:it|them|these|those|this|that|the\s+plan)|\s+(?:the\s+)?(?:steps?|files?|parts?|changes?|others?))?"
    r"[\s,]+(?:but|besides|bar|save)\b(?!\s+not\b)(?:\s+(?:in|on|for)\b)?|\bbesides\b(?!\s*,)",
    re.IGNORECASE,
)
_EXCEPT_SHORT = lazy_pattern(r"\bexc(?:l|ept)?\.\s+", re.IGNORECASE)
_NAMELY = lazy_pattern(
    r"\b(?:(?:one|two|three|four|\d{1,2})\s+of\s+(?:the|these|those)\s+\w+|the\s+following|namely|meaning"
    r"|specifically|that\s+is|i\.e\.)(?:\s*[:,]\s*|\s+)(?=\S)",
    re.IGNORECASE,
)
# "Rename and test" names two steps; "rename b.py" changes one.
_CHANGE_AND = lazy_pattern(r"\b(?:rename|change|replace|move)(?=\s+and\s)", re.IGNORECASE)
_UP_TO = lazy_pattern(
    r"(?:(?:but|only|just|go|do\s+it|all)\s+)*(?:up\s+to(?:\s+and\s+including)?|until(?:\s+after)?|till|through|as\s+far\s+as"
    r"|(?:end|finish)(?:ing)?\s+with)\s+(?P<step>\S.*)",
    re.IGNORECASE,
)
_NOT_BEHIND = lazy_pattern(
    r"(?P<lead>\A|[,;]\s*)(?P<named>[^,;]{1,200}?)[\s:]+(?:please\s+)?(?:no|not)(?=\s*(?:[,;.!]|\Z))",
    re.IGNORECASE,
)
_KEEP = lazy_pattern(
    r"\b(?:only|just)\b(?!\s+(?:if|unless|when|once|after|before|as\s+long\s+as|until)\b)", re.IGNORECASE
)
# What a plan does not name anyway, and what it may name.
_ELSE = (
    r"(?:don't|do\s+not|never|not|without)\s+\w+\s+any(?:thing|\s+file)\s+(?:else|more)"
    r"|(?:nothing|none|not\s+anything|no)\s+(?:else|more|further|other)(?:\s+(?:files?|changes?))?"
)
_REST = lazy_pattern(
    rf"""[\s,]*\b(?:and\s+|but\s+)?(?:{_ELSE}
      | (?:leave|skip|ignore|not|omit|drop|forget(?:\s+about)?|never\s+mind)
        \s+(?:all\s+)?(?:the\s+)?(?:rest|others?|remaining\s+\w+)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_NOTHING_ELSE = lazy_pattern(rf"(?:(?:and|but|please)\s+)?(?:{_ELSE})(?:\s+please)?", re.IGNORECASE)
_ONLY_BEHIND = lazy_pattern(
    r"\A(?!.*\bonly\b.*\bonly\b)(?!.*\b(?:leav\w*|let|left|keep|kept)\b.*\balone\b)(.*\S)\s+"
    r"(?:only|alone|exclusively|solely)\W*\Z",
    re.IGNORECASE,
)
_SAFE_CONDITION = lazy_pattern(
    r"""\b(?:only\s+)?(?:if|as\s+long\s+as|provided(?:\s+that)?|assuming|once|when|after)\s+
        (?:(?:all|the|of|unit|your)\s+)*(?:tests?|test\s+suite|build|lint(?:er)?|ci|checks?)\s+
        (?:(?:all|still|do)\s+)*(?:pass(?:es)?|succeeds?|works?|(?:is|are)\s+(?:all\s+)?(?:green|ok|okay|passing))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_CONDITION = lazy_pattern(
    r"\b(?:if|unless|as\s+long\s+as|provided|assuming|in\s+case|until|till|once|when|after|before)\b",
    re.IGNORECASE,
)
