"""What a "yes, but ..." makes of a plan. A change takes away or narrows; it never adds.

A change is read piece by piece. A name of the plan stays only in a piece that is understood as agreeing to it
("and then commit") or as keeping it ("only src/a.py"). A target named beside nothing but a yes is chosen, and
the others go ("yes, src/a.py", "start with a.py"). Beside anything else a name is taken out: words that
exclude, forbid, postpone or keep something for the user, and words this grammar does not know. A piece that
restricts without naming anything, or praises what it names, leaves no operation, so that each is asked for:
better than to run just the part that was not meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Literal

import msgspec

from sayso.core.plan_text import PlanText
from sayso.core.plans import reading
from sayso.core.plans.markup import find_exclusion
from sayso.core.plans.names import is_called, is_pattern, means, points_at, recalls, stem, stems_of, words_of
from sayso.core.plans.plan import add_rendering
from sayso.core.plans.vocabulary import (
    ADDING,
    CHANGE_VERBS,
    CHOOSING,
    EVERYDAY,
    FILLERS,
    FOR_THE_USER,
    POSTPONE,
    PRAISE,
)
from sayso.core.text.denials import with_apostrophes
from sayso.core.text.look_alikes import APOSTROPHES
from sayso.core.text.phrases import HIGH_PHRASES, MEDIUM_PHRASES, pattern
from sayso.core.text.unmask import (
    LONGEST,
    fold_text,
    mask_quotations,
    spell_signs,
    visible_readings,
    with_apostrophes_typed,
)

PieceMode = Literal["out", "keep", "condition"]


class ChangePiece(msgspec.Struct, frozen=True):
    """A part of a change. "out" takes out what it names, unless `agrees` finds it understood."""

    mode: PieceMode
    words: str
    marked: bool = False


def adjust_plan(plan: PlanText, change: str, known: Collection[str]) -> PlanText:
    """The plan after a change, rendered. What it names after it, it named before."""
    for pieces in (each for seen in visible_readings(change) for each in _sentences(seen, plan)):
        before = plan.places
        chosen = _find_chosen(pieces, plan)
        unclear = not any(piece.marked for piece in pieces) and any(
            _is_unclear(each, plan) for each in pieces
        )
        for piece in pieces:
            pointless = piece.marked and plan.places != before  # "b.py must | not change" points at b.py
            plan = _nothing(plan) if unclear else _apply(plan, piece, known, restrict=not pointless)
        plan = _keep_chosen(plan, chosen, known) if chosen else plan
    return add_rendering(msgspec.structs.replace(plan, adjustments=(*plan.adjustments, change)))


def find_spoken_change(text: str, plan: PlanText) -> str | None:
    """The change that a message makes to a plan without a word like "but": "yes, avoid b.py", "b.py later".

    It takes away only, so in doubt it is one: a yes followed by a restriction or by something the plan names,
    or a statement that excludes, postpones or keeps for the user something the plan names, or that chooses
    by number. A question changes nothing, but for "could you skip b.py?".
    """
    said = _with_strokes_spelled(spell_signs(text)).translate(APOSTROPHES).strip(" ,")
    if len(said) > LONGEST or ("?" in said and not _REQUEST.match(said)):
        return None
    yes = _YES.match(said)
    if yes is None:
        return said if _narrows(fold_text(said), plan) else None
    rest = said[yes.end() :].strip(" .,;:!")
    if not rest or _IDIOM.fullmatch(rest):
        return None
    return rest if _restricts(fold_text(rest)) or _names_something(rest, plan) else None


def begins_with_yes(text: str) -> bool:
    return _YES.match(text.translate(APOSTROPHES).strip()) is not None


def _narrows(folded: str, plan: PlanText) -> bool:
    if _NUMBERED.match(folded) and _NARROWS.search(folded):
        return True
    speaks = _excludes(folded) or _NARROWS.search(folded) is not None or _SAYS_YES.search(folded) is not None
    return speaks and _names_something(folded, plan)


def _excludes(folded: str) -> bool:
    return find_exclusion(folded) is not None or _TAKES_BACK.search(folded) is not None


def _names_something(text: str, plan: PlanText) -> bool:
    spoken = words_of(text)
    stems = frozenset(map(stem, spoken))
    return any(is_called(word, target) for word in spoken for target in plan.targets) or any(
        means(stems, name) for name in plan.operations
    )


def _apply(plan: PlanText, piece: ChangePiece, known: Collection[str], *, restrict: bool) -> PlanText:
    if not piece.marked and _does_otherwise(piece.words, plan):
        return _nothing(plan)
    if piece.mode == "keep":
        return _keep(plan, piece.words, known)
    if piece.mode == "condition" or (
        not piece.marked
        and (_chooses(piece.words, plan) or _picks_steps(piece.words, plan) or _agrees(piece.words, plan))
    ):
        return plan
    if not piece.marked and (_praises(piece.words, plan) or _ORDERS.search(fold_text(piece.words))):
        return _nothing(plan)
    return _take_out(
        plan, piece, known, restrict=restrict and (piece.marked or _restricts(fold_text(piece.words)))
    )


def _find_chosen(pieces: Collection[ChangePiece], plan: PlanText) -> list[str]:
    """The clauses of a sentence that choose from the plan, and those that agree beside them; none if none."""
    unmarked = [piece.words for piece in pieces if piece.mode == "out" and not piece.marked]
    goes_on = bool(unmarked) and words_of(unmarked[0])[:1] in _GOES_ON_FIRST  # "and then run the tests"
    picks = [words for words in unmarked if not goes_on and _picks_steps(words, plan)]
    if not picks and not any(_chooses(words, plan) for words in unmarked):
        return []
    return [words for words in unmarked if words in picks or _chooses(words, plan) or _agrees(words, plan)]


def _keep_chosen(plan: PlanText, clauses: list[str], known: Collection[str]) -> PlanText:
    """The plan with what these clauses name, alone. A target without an operation stands for all on it."""
    named = [_find_named(words, plan, known) for words in clauses]
    everything = any(targets and not operations for operations, targets in named)
    return _only(
        plan,
        plan.operations if everything else [name for operations, _ in named for name in operations],
        [name for _, targets in named for name in targets],
    )


# --- reading the change -------------------------------------------------------------------------------------


def _sentences(change: str, plan: PlanText) -> Iterator[list[ChangePiece]]:
    text = mask_quotations(_with_strokes_spelled(spell_signs(change)).translate(APOSTROPHES)).replace(
        "`", " "
    )
    for sentence in re.split(r"(?<=[.!?;])\s+|\n", text):
        if _NOTHING_ELSE.fullmatch(sentence.strip(" ,.!;")):
            continue  # the plan names nothing else
        yield list(_of_sentence(_with_not_ahead(_with_only_ahead(sentence.strip(" ,.!;"))), plan))


def _with_strokes_spelled(text: str) -> str:
    """The text with marks that strike a name out as words: "-b.py", "!b.py" and "~~b.py~~" are "not b.py"."""
    text = _LEFT_UNDONE.sub(r"not \g<act>", with_apostrophes(with_apostrophes_typed(text)))
    return _STRUCK.sub(lambda found: f" not {found[1] or found[2]} ", _MINUS.sub("not ", text))


def _with_only_ahead(sentence: str) -> str:
    """Other ways to say "only": "a.py only", "nothing but a.py", "a.py and nothing else"."""
    sentence = _ALL_BUT.sub("except", sentence)
    bare = _REST.sub("", sentence)
    if bare != sentence and not _KEEP.search(bare):
        bare = f"only {bare.strip(' ,.!;')}"
    return _ONLY_BEHIND.sub(r"only \1", _LIMIT.sub("only ", bare)).strip(" ,.!;")


def _with_not_ahead(sentence: str) -> str:
    """A no behind what it is said of, put before it: "a.py yes, b.py no" is "a.py yes, not b.py"."""
    return _NOT_BEHIND.sub(lambda found: f"{found['lead']}not {found['named']}", sentence)


def _of_sentence(sentence: str, plan: PlanText) -> Iterator[ChangePiece]:
    """A condition reaches its whole sentence; otherwise each mark begins a piece of its own."""
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
        elif words and all(_is_bare(word, plan) for word in words_of(words)):
            yield ChangePiece("keep", "")  # "yes, but b.py" may mean all of it but b.py
        else:
            yield from _by_clause(words, plan)


def _up_to_yes(words: str, plan: PlanText) -> tuple[str, str]:
    """What a mark excludes, and what follows from a clause that says yes: "not a.py | b.py yes"."""
    clauses = _split(words)
    for at, clause in enumerate(clauses[1:], 1):
        spoken = words_of(clause)
        if not _YES_WORDS.isdisjoint((*spoken[:1], *spoken[-1:])) and _chooses(clause, plan):
            return ", ".join(clauses[:at]), ", ".join(clauses[at:])
    return words, ""


def _by_clause(words: str, plan: PlanText) -> Iterator[ChangePiece]:
    """Unmarked words, clause by clause. Bare names belong to a neighbour that takes something out: to the one
    before ("I'll do a.py, b.py") or the one behind ("a.py, b.py are off limits")."""
    clauses = _split(words)
    taking = [not (_chooses(each, plan) or _agrees(each, plan)) for each in clauses]
    bare = [all(_is_bare(word, plan) for word in words_of(each)) for each in clauses]
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


def _is_bare(word: str, plan: PlanText) -> bool:
    return word in _BARE or any(is_called(word, target) for target in plan.targets)


def _agrees(words: str, plan: PlanText) -> bool:
    """Whether words only say, with a verb, to do what the plan names, or something it does not name."""
    spoken = words_of(words)
    stems = frozenset(map(stem, spoken))
    if not stems.isdisjoint(_UNDOING) and _names_something(words, plan):
        return False
    says_so = not stems.isdisjoint(_VERBS) or _adds(spoken)
    return says_so and all(word in ADDING or _is_known(word, plan) for word in spoken)


def _chooses(words: str, plan: PlanText) -> bool:
    """Whether a yes is given to a part of the plan only: "a.py", "to the tests", "a.py first"."""
    spoken = words_of(words)
    if not spoken or _adds(spoken) or _excludes_but_for_order(fold_text(words)):
        return False
    if not all(word in CHOOSING or word in _TO or _is_known(word, plan) for word in spoken):
        return False
    if not frozenset(map(stem, spoken)).isdisjoint(_UNDOING):
        return False
    picks = (
        spoken[0] in {*_TO, "the"} or _ORDERS.search(fold_text(words)) is not None or spoken[-1] in CHOOSING
    )
    return _names_target(words, plan) or (
        picks and not _agrees_first(spoken) and _names_something(words, plan)
    )


def _picks_steps(words: str, plan: PlanText) -> bool:
    """Whether words name some of the plan's steps by what is done, and nothing else: "edit and test"."""
    spoken = words_of(words)
    if not spoken or _adds(spoken) or spoken[0] in _GOES_ON or _FIRST.search(fold_text(words)):
        return False
    if any(reading.find_targets(word) for word in spoken) or _names_target(words, plan) or _takes_out(words):
        return False
    understood = (word in CHOOSING or word in _STEP_WORDS or _is_known(word, plan) for word in spoken)
    return all(understood) and any(means(frozenset(map(stem, spoken)), name) for name in plan.operations)


def _takes_out(words: str) -> bool:
    """Whether words exclude, postpone or keep what they name, or say to undo it."""
    folded = fold_text(words)
    undoes = not frozenset(map(stem, words_of(words))).isdisjoint(_UNDOING)
    return undoes or _excludes(folded) or _restricts(folded) or _TAKEN_OUT.search(folded) is not None


def _does_otherwise(words: str, plan: PlanText) -> bool:
    """Whether words say to do with a target what the plan does not: "only read b.py", "test b.py"."""
    others = [root for root in map(stem, words_of(words)) if root in _OTHER_VERBS]
    planned = [stems_of(operation) for operation in plan.operations]
    return _names_target(words, plan) and not frozenset(others) <= frozenset().union(*planned)


def _is_unclear(piece: ChangePiece, plan: PlanText) -> bool:
    """Whether a piece limits in a way no plan can: "to the parser part", "locally"."""
    words, spoken = piece.words, words_of(piece.words)
    if (
        piece.mode != "out"
        or not spoken
        or _agrees(words, plan)
        or _chooses(words, plan)
        or _takes_out(words)
    ):
        return False
    return not _names_something(words, plan) and (spoken[0] in _TO or _is_bare_limit(spoken))


def _is_bare_limit(spoken: list[str]) -> bool:
    """Whether words say how or how much, and nothing else: "locally", "1, 2", "in a branch"."""
    limits = [word for word in spoken if word.isdecimal() or word.endswith("ly")]
    return spoken[0] in _WHERE or (bool(limits) and all(word in limits or word in FILLERS for word in spoken))


def _adds(spoken: list[str]) -> bool:
    """Whether something is agreed to as well: "a.py too"."""
    return not ADDING.isdisjoint((*spoken[:1], *spoken[-1:])) or spoken[-2:] == ["as", "well"]


def _agrees_first(spoken: list[str]) -> bool:
    """ "Run the tests first" says when to do what the plan names, with a verb."""
    return spoken[0] not in {*_TO, "the", "start", "begin"} and stem(spoken[0]) in _VERBS and len(spoken) > 2


def _excludes_but_for_order(folded: str) -> bool:
    return _excludes(_FIRST.sub("", folded))


def _praises(words: str, plan: PlanText) -> bool:
    """Whether words praise something the plan names, and say nothing else of it."""
    spoken = words_of(words)
    known = all(word in PRAISE or word in CHOOSING or _is_known(word, plan) for word in spoken)
    praised = known and not PRAISE.isdisjoint(spoken) and _names_something(words, plan)
    return praised and not _excludes_but_for_order(fold_text(words))


def _names_target(words: str, plan: PlanText) -> bool:
    return any(is_called(word, target) for word in words_of(words) for target in plan.targets)


def _is_known(word: str, plan: PlanText) -> bool:
    root = stem(word)
    return (
        word in FILLERS
        or root in _VERBS
        or bool(reading.find_targets(word))
        or any(is_called(word, target) for target in plan.targets)
        or any(root in stems_of(operation) for operation in plan.operations)
    )


# --- taking out ---------------------------------------------------------------------------------------------


def _take_out(plan: PlanText, piece: ChangePiece, known: Collection[str], *, restrict: bool) -> PlanText:
    spoken = words_of(piece.words)
    targets = [name for name in plan.targets if points_at(spoken, name)]
    stems = frozenset(map(stem, spoken)) - (_FILE_STEMS if targets else frozenset())
    of_files = _on_files(piece.words, known)
    operations = [name for name in plan.operations if recalls(stems, name) and name not in of_files]
    if operations or targets:
        return _less(plan, operations, targets)
    strange = any(reading.find_targets(word) for word in spoken) and not any(map(is_pattern, spoken))
    elsewhere = strange or any(means(stems, name) for name in known if name not in plan.operations)
    if elsewhere and not _COMES_BEFORE.search(fold_text(piece.words)):
        return plan
    return _nothing(plan) if restrict else plan


def _on_files(words: str, known: Collection[str]) -> set[str]:
    """The operations on files that words name together with a file: "edit b.py" speaks of b.py alone."""
    verbs = [found.start() for found in re.finditer(r"\w+", words) if stem(found[0].lower()) in _VERBS]
    promised = [reading.find_operations(words[start:], known) for start in verbs[:20]]
    return {
        name for each in promised for name, places in each.items() if places and name.startswith("files.")
    }


def _restricts(folded: str) -> bool:
    return find_exclusion(folded) is not None or _RESTRICTS.search(folded) is not None


def _keep(plan: PlanText, words: str, known: Collection[str]) -> PlanText:
    spoken = words_of(words)
    operations, targets = _find_named(words, plan, known)
    strange = bool(reading.find_targets(words)) and not targets
    if strange or not (operations or targets) or not all(_is_known(word, plan) for word in spoken):
        return _nothing(plan)
    return _only(msgspec.structs.replace(plan, scope=plan.scope or f"only {words}"), operations, targets)


def _find_named(words: str, plan: PlanText, known: Collection[str]) -> tuple[list[str], list[str]]:
    """The plan's operations and targets that words name."""
    spoken = words_of(words)
    stems = frozenset(map(stem, spoken))
    promised = reading.find_operations(words, known)
    operations = [name for name in plan.operations if name in promised or means(stems, name)]
    return operations, [name for name in plan.targets if any(is_called(word, name) for word in spoken)]


def _only(plan: PlanText, operations: Collection[str], targets: Collection[str]) -> PlanText:
    return _less(
        plan,
        [name for name in plan.operations if operations and name not in operations],
        [name for name in plan.targets if name not in targets and _has_sort_of(name, targets)],
    )


def _has_sort_of(target: str, others: Collection[str]) -> bool:
    """Whether one of the others is of the same sort: naming a file says nothing about functions."""
    return any(other.endswith("()") == target.endswith("()") for other in others)


def _nothing(plan: PlanText) -> PlanText:
    return msgspec.structs.replace(plan, operations=(), places={})


def _less(plan: PlanText, operations: Collection[str], targets: Collection[str]) -> PlanText:
    """The plan without these, and without the changes that speak of them.

    An operation without its last target goes too: what was to be done there may not be done anywhere.
    """
    left = tuple(name for name in plan.targets if name not in targets)
    places = {
        name: tuple(target for target in plan.targets_of(name) if target not in targets)
        for name in plan.operations
        if name not in operations
    }
    kept = {name: found for name, found in places.items() if found or not plan.targets_of(name)}
    if plan.targets and not left:
        kept = {}
    return msgspec.structs.replace(
        plan,
        operations=tuple(kept),
        places=kept,
        targets=left,
        changes=tuple(change for change in plan.changes if not _speaks_of(change, operations, targets)),
    )


def _speaks_of(change: str, operations: Collection[str], targets: Collection[str]) -> bool:
    spoken = words_of(change)
    stems = frozenset(map(stem, spoken))
    return any(means(stems, name) for name in operations) or any(points_at(spoken, name) for name in targets)


_TAKEN_OUT = re.compile(r"\btake\b.*\b(?:out|off|away)\b|\b(?:out|excluded|wrong|broken|bad)\Z")
_GOES_ON = frozenset({"then", "next", "finally", "afterwards", "and", "also"})
_GOES_ON_FIRST = [[word] for word in sorted(_GOES_ON)]
_STEP_WORDS = frozenset({"apply", "them", "changes", "change", "make", "edits"})
_WHERE = frozenset({"in", "at", "from", "within", "under", "inside", "part", "half", "some"})
_MINUS = re.compile(r"(?<![^\s,(])[-!\u2212](?=[\w./]*\w\.\w|\w[\w./]+)")
_LEFT_UNDONE = re.compile(
    r"\b(?:(?:leave|leaving|keep|let)\s+)?(?:(?:the|all|my|your|these|those|any)\s+)*"
    r"(?:(?:changes?|files?|work|everything|it|them|edits?|result)\s+)?"
    r"(?:(?:(?:should|must|shall|will|to)\s+)?(?:stays?|remains?|be|is|are)\s+)?"
    r"un(?P<act>committed|pushed|merged|published|deployed|released|staged|edited|tested|tagged)\b",
    re.IGNORECASE,
)
_STRUCK = re.compile(r"~~([^~\n]{1,200})~~|(?<!~)~([^~\n]{1,200})~(?!~)")
_FILE_STEMS = frozenset({"fil", "file"})
_VERBS = frozenset(
    stem(verb)
    for verb in CHANGE_VERBS.union(
        *(row.verbs.split("|") for row in EVERYDAY), {"do", "touch", "go", "start", "begin"}
    )
)
_OTHER_VERBS = _VERBS - frozenset(
    stem(verb)
    for verb in (
        *CHANGE_VERBS,
        "do",
        "touch",
        "go",
        "start",
        "begin",
        "make",
        *EVERYDAY[0].verbs.split("|"),
        "rename",
    )
)
# Beside a name of the plan they may speak of the plan or of the thing itself: either way it goes out.
_UNDOES = (
    "remove",
    "delete",
    "drop",
    "replace",
    "change",
    "move",
    "rename",
    "revert",
    "undo",
    "cut",
    "erase",
)
_UNDOING = frozenset(map(stem, (*_UNDOES, "swap", "strike", "scrap")))
_ORDERS = re.compile(r"\b(?:start|begin)(?:ning|ing)?\b")
_REQUEST = re.compile(r"(?:please\s+)?(?:can|could|would|will)\s+(?:you|we)\b", re.IGNORECASE)
_NARROWS = re.compile(
    r"\b(?:only|just|except|but|skip|drop|remove|delete|cut|scrap|strike|take|leave|omit|no|not|yes|later|without"
    r"|exclude|keep|minus|replace|change|move|rename|revert|undo)\b|[\u274c\u2716\u26d4\U0001f44e\U0001f6ab]"
)
_NUMBERED = re.compile(
    r"(?:(?:please|only|just|all|everything|except|but|skip|drop|remove|not|no|for|and|the|number|step|part|item|do)"
    r"[\s,]+)*#?(?:\d{1,3}(?:st|nd|rd|th)?|first|second|third|fourth|fifth|last|one|two|three)(?![\w./-])"
)

_MARK = re.compile(
    r"""(?:(?:\band|,)\s+)?\b(?:
        (?P<out>except(?:\s+for)?|excluding|exclude|without|skip(?:ping)?|leave|omit|drop|minus|avoid|ignore|keep
           |instead\s+of|rather\s+than|other\s+than|apart\s+from|aside\s+from|don't|do\s+not|never|not|no)
      | (?P<keep>only|just)
      | (?P<turn>but|however|though|although)
    )\b(?![./]\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_LIMIT = re.compile(
    r"\b(?:(?:limit|restrict|confine)(?:\s+(?:it|this|that|yourself|the\s+plan))?\s+to|stick\s+to|solely|exclusively|merely|purely"
    r"|at\s+most|no\s+more\s+than|(?:stay|keep|remain)\s+(?:within|inside|in|to)"
    r"|nothing\s+(?:but|except|other\s+than|beyond|besides|outside(?:\s+of)?|more\s+than))\s+",
    re.IGNORECASE,
)
_TO = frozenset({"with", "to", "for", "on"})
_YES_WORDS = frozenset({"yes", "yep", "yeah", "yup", "ok", "okay", "sure", "approved"})
# "Show me the diff first" puts the whole plan off, though it names something the plan does not.
_COMES_BEFORE = re.compile(r"\b(?:first|before|until|till|beforehand)\b")
_FIRST = re.compile(r"\bfirst\b")
_BARE = frozenset(
    {"a", "an", "and", "both", "file", "files", "module", "modules", "of", "or", "the", "these"}
)
_CLAUSE = re.compile(r"[,;()—–]|:\s|\s-+\s|\s(?:and\s+)?then\s", re.IGNORECASE)
_ALL_BUT = re.compile(
    r"\b(?:(?:to|with|for)\s+)?(?:all|everything|anything|both|the\s+rest)"
    r"(?:\s+of\s+(?:it|them|these|those|this)|\s+(?:the\s+)?(?:steps?|files?|parts?|changes?|others?))?"
    r"[\s,]+(?:but|besides|bar|save)\b(?!\s+not\b)|\bbesides\b(?!\s*,)",
    re.IGNORECASE,
)
_NOT_BEHIND = re.compile(
    r"(?P<lead>\A|[,;]\s*)(?P<named>[^,;]{1,200}?)[\s:]+(?:please\s+)?(?:no|not)(?=\s*(?:[,;.!]|\Z))",
    re.IGNORECASE,
)
_KEEP = re.compile(
    r"\b(?:only|just)\b(?!\s+(?:if|unless|when|once|after|before|as\s+long\s+as|until)\b)", re.IGNORECASE
)
# What a plan does not name anyway, and what it may name.
_ELSE = (
    r"(?:don't|do\s+not|never|not|without)\s+\w+\s+any(?:thing|\s+file)\s+(?:else|more)"
    r"|(?:nothing|none|not\s+anything|no)\s+(?:else|more|further|other)(?:\s+(?:files?|changes?))?"
)
_REST = re.compile(
    rf"""[\s,]*\b(?:and\s+|but\s+)?(?:{_ELSE}
      | (?:leave|skip|ignore|not|omit|drop|forget(?:\s+about)?|never\s+mind)
        \s+(?:all\s+)?(?:the\s+)?(?:rest|others?|remaining\s+\w+)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_NOTHING_ELSE = re.compile(rf"(?:(?:and|but|please)\s+)?(?:{_ELSE})(?:\s+please)?", re.IGNORECASE)
_ONLY_BEHIND = re.compile(
    r"\A(?!.*\bonly\b.*\bonly\b)(?!.*\b(?:leav\w*|let|left|keep|kept)\b.*\balone\b)(.*\S)\s+"
    r"(?:only|alone|exclusively|solely)\W*\Z",
    re.IGNORECASE,
)
_SAFE_CONDITION = re.compile(
    r"""\b(?:only\s+)?(?:if|as\s+long\s+as|provided(?:\s+that)?|assuming|once|when|after)\s+
        (?:(?:all|the|of|unit|your)\s+)*(?:tests?|test\s+suite|build|lint(?:er)?|ci|checks?)\s+
        (?:(?:all|still|do)\s+)*(?:pass(?:es)?|succeeds?|works?|(?:is|are)\s+(?:all\s+)?(?:green|ok|okay|passing))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|as\s+long\s+as|provided|assuming|in\s+case|until|till|once|when|after|before)\b",
    re.IGNORECASE,
)
_YES = re.compile(
    rf"(?:{pattern((*HIGH_PHRASES, *MEDIUM_PHRASES))})(?![\w'/]|[-.]\w)[\s,.;:!–—-]+", re.IGNORECASE
)
_SAYS_YES = re.compile(rf"(?<!\w)(?:{pattern((*HIGH_PHRASES, *MEDIUM_PHRASES))})[\s.!,]*\Z")
_IDIOM = re.compile(
    r"(?:why\s+not|no\s+(?:problem|worries|doubt|objections?|issues?)|not\s+(?:bad|a\s+problem))\W*",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(
    rf"\b(?:{'|'.join(POSTPONE)}|i'll|i will|i'd|let me|ask me|to me|myself|mine|by hand|manually)\b"
)
_RESTRICTS = re.compile(rf"\b(?:{'|'.join((*POSTPONE, *FOR_THE_USER))}|only|just)\b")
