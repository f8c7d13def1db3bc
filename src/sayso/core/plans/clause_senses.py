"""What a clause of a change says about a plan: that it agrees, chooses, praises, or takes something out."""

from __future__ import annotations

from sayso.core.plans.markup import find_exclusion
from sayso.core.plans.names import is_called, means, stem, stems_of, words_of
from sayso.core.plans.promised_names import find_targets
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
from sayso.core.session.plan_text import PlanText
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.unmask import (
    fold_text,
)


def excludes(folded: str) -> bool:
    """Whether folded words exclude, postpone or keep for the user what they speak of."""
    return find_exclusion(folded) is not None or _TAKES_BACK.search(folded) is not None


def names_something(text: str, plan: PlanText) -> bool:
    """Whether words name a target or an operation of the plan."""
    spoken = words_of(text)
    stems = frozenset(map(stem, spoken))
    return any(is_called(word, target) for word in spoken for target in plan.targets) or any(
        means(stems, name) for name in plan.operations
    )


def names_step_by_number(words: str) -> bool:
    """Whether words speak of a step by its number, which the rendering of a plan does not show: "step 3"."""
    return _NUMBERED_STEP.search(fold_text(words)) is not None


def is_bare(word: str, plan: PlanText) -> bool:
    return word in _BARE or any(is_called(word, target) for target in plan.targets)


def agrees(words: str, plan: PlanText) -> bool:
    """Whether words only say, with a verb, to do what the plan names, or something it does not name."""
    spoken = words_of(words)
    stems = frozenset(map(stem, spoken))
    if not stems.isdisjoint(_UNDOING) and names_something(words, plan):
        return False
    says_so = not stems.isdisjoint(VERBS) or _adds(spoken)
    return says_so and all(word in ADDING or is_known(word, plan) for word in spoken)


def echoes(words: str, plan: PlanText) -> bool:
    """Whether words name something and leave it to the clause before to say what of it: "the commit too"."""
    spoken = [word for word in words_of(words) if word not in _ECHOING]
    if not spoken or not all(is_known(word, plan) for word in spoken):
        return False
    return len(spoken) <= _LONGEST_ECHO and (len(spoken) == 1 or stem(spoken[0]) not in VERBS)


def chooses(words: str, plan: PlanText) -> bool:
    """Whether a yes is given to a part of the plan only: "a.py", "to the tests", "a.py first"."""
    spoken = words_of(words)
    if not spoken or _adds(spoken) or _excludes_but_for_order(fold_text(words)):
        return False
    if not all(word in CHOOSING or word in TO or is_known(word, plan) for word in spoken):
        return False
    if not frozenset(map(stem, spoken)).isdisjoint(_UNDOING):
        return False
    picks = spoken[0] in {*TO, "the"} or ORDERS.search(fold_text(words)) is not None or spoken[-1] in CHOOSING
    return _names_target(words, plan) or (
        picks and not _agrees_first(spoken) and names_something(words, plan)
    )


def picks_steps(words: str, plan: PlanText) -> bool:
    """Whether words name some of the plan's steps by what is done, and nothing else: "edit and test"."""
    spoken = words_of(words)
    if not spoken or _adds(spoken) or spoken[0] in GOES_ON or _FIRST.search(fold_text(words)):
        return False
    if any(find_targets(word) for word in spoken) or _names_target(words, plan) or takes_out(words):
        return False
    understood = (word in CHOOSING or word in _STEP_WORDS or is_known(word, plan) for word in spoken)
    return all(understood) and any(means(frozenset(map(stem, spoken)), name) for name in plan.operations)


def takes_out(words: str) -> bool:
    """Whether words exclude, postpone or keep what they name, or say to undo it."""
    folded = fold_text(words)
    undoes = not frozenset(map(stem, words_of(words))).isdisjoint(_UNDOING)
    return undoes or excludes(folded) or restricts(folded) or _TAKEN_OUT.search(folded) is not None


def does_otherwise(words: str, plan: PlanText) -> bool:
    """Whether words say to do with a target what the plan does not: "only read b.py", "test b.py"."""
    others = [root for root in map(stem, words_of(words)) if root in _OTHER_VERBS]
    planned = [stems_of(operation) for operation in plan.operations]
    return _names_target(words, plan) and not frozenset(others) <= frozenset().union(*planned)


def is_bare_limit(spoken: list[str]) -> bool:
    """Whether words say how or how much, and nothing else: "locally", "1, 2", "in a branch"."""
    limits = [word for word in spoken if word.isdecimal() or word.endswith("ly")]
    return spoken[0] in _WHERE or (bool(limits) and all(word in limits or word in FILLERS for word in spoken))


def _adds(spoken: list[str]) -> bool:
    """Whether something is agreed to as well: "a.py too"."""
    return not ADDING.isdisjoint((*spoken[:1], *spoken[-1:])) or spoken[-2:] == ["as", "well"]


def _agrees_first(spoken: list[str]) -> bool:
    """ "Run the tests first" says when to do what the plan names, with a verb."""
    return spoken[0] not in {*TO, "the", "start", "begin"} and stem(spoken[0]) in VERBS and len(spoken) > 2


def _excludes_but_for_order(folded: str) -> bool:
    return excludes(_FIRST.sub("", folded))


def praises(words: str, plan: PlanText) -> bool:
    """Whether words praise something the plan names, and say nothing else of it."""
    spoken = words_of(words)
    known = all(word in PRAISE or word in CHOOSING or is_known(word, plan) for word in spoken)
    praised = known and not PRAISE.isdisjoint(spoken) and names_something(words, plan)
    return praised and not _excludes_but_for_order(fold_text(words))


def _names_target(words: str, plan: PlanText) -> bool:
    return any(is_called(word, target) for word in words_of(words) for target in plan.targets)


def is_known(word: str, plan: PlanText) -> bool:
    root = stem(word)
    return (
        word in FILLERS
        or root in VERBS
        or bool(find_targets(word))
        or any(is_called(word, target) for target in plan.targets)
        or any(root in stems_of(operation) for operation in plan.operations)
    )


def restricts(folded: str) -> bool:
    """Whether folded words exclude or limit something, named or not."""
    return find_exclusion(folded) is not None or _RESTRICTS.search(folded) is not None


_ORDINAL = "(?:second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|final|\\d{1,2}(?:st|nd|rd|th))"
_NUMBERED_STEP = lazy_pattern(
    r"\b(?:steps?|parts?|items?|points?|numbers?|nr|phases?|stages?)\s*#?"
    r"(?:\d{1,2}|one|two|three|four|five|six)(?![\w.])"
    rf"|\b(?:first|{_ORDINAL})\s+(?:step|part|item|point|phase|stage)\b"
    rf"|\b(?:the|and|or)\s+{_ORDINAL}(?:\s+(?:one|thing))?(?:\s+too)?(?=\s*(?:[,;]|and\b|or\b|is\b|are\b|\Z))"
    r"|(?<!\w)#\d{1,2}(?![\w.])|(?:\band|\bplus|\bor|&|,)\s+\d{1,2}(?=\s*(?:[,;&]|and\b|or\b|\Z))"
)
_ECHOING = frozenset({*ADDING, "the", "a", "as", "well", "likewise", "ditto", "either", "or", "so"})
_LONGEST_ECHO = 3
_TAKEN_OUT = lazy_pattern(r"\btake\b.*\b(?:out|off|away)\b|\b(?:out|excluded|wrong|broken|bad)\Z")
GOES_ON = frozenset({"then", "next", "finally", "afterwards", "and", "also"})
_STEP_WORDS = frozenset({"apply", "them", "changes", "change", "make", "edits"})
_WHERE = frozenset({"in", "at", "from", "within", "under", "inside", "part", "half", "some"})
VERBS = frozenset(
    stem(verb)
    for verb in CHANGE_VERBS.union(
        *(row.verbs.split("|") for row in EVERYDAY), {"do", "touch", "go", "start", "begin"}
    )
)
_OTHER_VERBS = VERBS - frozenset(
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
ORDERS = lazy_pattern(r"\b(?:start|begin)(?:ning|ing)?\b")
TO = frozenset({"with", "to", "for", "on"})
_FIRST = lazy_pattern(r"\bfirst\b")
_BARE = frozenset(
    {"a", "an", "and", "both", "file", "files", "module", "modules", "of", "or", "the", "these"}
)
_TAKES_BACK = lazy_pattern(
    rf"\b(?:{'|'.join(POSTPONE)}|i'll|i will|i'd|let me|ask me|to me|myself|mine|by hand|manually)\b"
)
_RESTRICTS = lazy_pattern(rf"\b(?:{'|'.join((*POSTPONE, *FOR_THE_USER))}|only|just)\b")
