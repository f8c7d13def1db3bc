"""A plan as text: what it names, how concrete it is, and what becomes of it after a "yes, but".

Reading never grants. It says which operations and targets the shown text names, so that a yes to it can cover
those and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator

import msgspec

from sayso.core import plan_reading as reading
from sayso.core.look_alikes import APOSTROPHES
from sayso.core.own_words import mask_quotations, undisguised
from sayso.core.plan_text import PlanText
from sayso.core.words import visible

LONGEST_PLAN = 20_000
"""A longer text is shown but not read as a plan: nobody agrees to all its details."""


def read_plan(text: str, known: Collection[str]) -> PlanText:
    """Read the text of an assistant's message. `known` are the operations the policy declares."""
    if len(text) > LONGEST_PLAN:
        return PlanText(text)
    blocks = reading.statements(text)
    promises = list(reading.promises(blocks))
    return PlanText(
        text=text,
        targets=_each(reading.targets, promises),
        changes=_each(reading.changes, promises),
        scope=reading.scope(blocks),
        success=reading.success(blocks),
        operations=_each(lambda promise: reading.operations(promise, known), promises),
    )


def render_plan(
    targets: Iterable[str],
    changes: Iterable[str],
    scope: str | None,
    success: str | None,
    operations: Iterable[str],
) -> PlanText:
    """A plan given as structure, in our own rendering. What cannot be shown as it is does not count."""
    return _render(PlanText("", tuple(targets), tuple(changes), scope, success, tuple(operations)))


def adjust(plan: PlanText, change: str, known: Collection[str]) -> PlanText:
    """The plan after a "yes, but ...": less what the user leaves out, plus what their own words name.

    A restriction that names nothing we know leaves no operation, so that each is asked for: better than to
    run just the part that was not meant.
    """
    for mode, words in dict.fromkeys(_parts(change)):
        plan = _MODES[mode](plan, words, known)
    return _render(msgspec.structs.replace(plan, adjustments=(*plan.adjustments, change)))


def _each(find: Callable[[str], list[str]], promises: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found for promise in promises for found in find(promise)))


# --- rendering ---------------------------------------------------------------------------------------------


def _render(plan: PlanText) -> PlanText:
    operations = [name for name in plan.operations if name.strip()]
    plan = msgspec.structs.replace(
        plan,
        targets=tuple(name for name in plan.targets if name.strip()),
        changes=tuple(visible(change) for change in plan.changes if change.strip()),
        scope=visible(plan.scope) if plan.scope and plan.scope.strip() else None,
        success=visible(plan.success) if plan.success and plan.success.strip() else None,
    )
    blocks = (
        _block("Targets", plan.targets),
        _block("Changes", plan.changes),
        _block("Scope", [plan.scope or ""]),
        _block("Success", [plan.success or ""]),
        _block("Operations", operations or ["none: each is asked for"]),
        _block("Adjusted", plan.adjustments),
    )
    return msgspec.structs.replace(
        plan,
        text="\n".join(["Plan", *filter(None, blocks)]),
        targets=_shown_whole(plan.targets),
        operations=_shown_whole(operations),
    )


def _block(title: str, entries: Collection[str]) -> str:
    """One entry a line behind a dash, so that no entry can pass for another line of the rendering."""
    return "\n".join([f"{title}:", *(f"- {visible(entry)}" for entry in entries)]) if any(entries) else ""


def _shown_whole(entries: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry for entry in entries if visible(entry) == entry and undisguised(entry)))


# --- adjusting ---------------------------------------------------------------------------------------------


def _parts(change: str) -> Iterator[tuple[str, str]]:
    """The parts of a change, each with what it does: "edit b.py instead of a.py" adds and drops."""
    for sentence in re.split(r"(?<=[.!?;])\s+|\n", mask_quotations(change.translate(APOSTROPHES))):
        marks = list(_MARK.finditer(sentence))
        ends = [*(mark.start() for mark in marks[1:]), len(sentence)]
        yield "add", sentence[: marks[0].start()] if marks else sentence
        for at, (mark, end) in enumerate(zip(marks, ends, strict=False)):
            words = sentence[mark.end() : end].strip(" ,.!")
            only_if = not words and at + 1 < len(marks) and marks[at + 1].lastgroup == "condition"
            yield ("condition" if only_if else str(mark.lastgroup)), words


def _add(plan: PlanText, words: str, known: Collection[str]) -> PlanText:
    words = _ALSO.sub("", words)
    return msgspec.structs.replace(
        plan,
        targets=(*plan.targets, *(name for name in reading.targets(words) if name not in plan.targets)),
        operations=(
            *plan.operations,
            *(name for name in reading.operations(words, known) if name not in plan.operations),
        ),
    )


def _drop(plan: PlanText, words: str, known: Collection[str]) -> PlanText:
    stems = _stems(words)
    operations = [name for name in plan.operations if _recall(stems, name)]
    targets = [name for name in plan.targets if _point_at(words, name)]
    if operations or targets:
        return _less(plan, operations, targets)
    names_another = reading.targets(words) or any(_recall(stems, name) for name in known)
    return plan if names_another else msgspec.structs.replace(plan, operations=())


def _keep(plan: PlanText, words: str, known: Collection[str]) -> PlanText:
    stems = _stems(words)
    operations = reading.operations(words, known) or [name for name in plan.operations if _mean(stems, name)]
    targets = [name for name in plan.targets if _point_at(words, name)]
    if not operations and not targets:
        return msgspec.structs.replace(plan, operations=())
    return _less(
        msgspec.structs.replace(plan, scope=plan.scope or f"only {words}"),
        [name for name in plan.operations if operations and name not in operations],
        [name for name in plan.targets if name not in targets and any(map(_same_sort(name), targets))],
    )


def _same_sort(target: str) -> Callable[[str], bool]:
    """To name a file says nothing about functions, and the other way round."""
    return lambda other: other.endswith("()") == target.endswith("()")


def _condition(plan: PlanText, words: str, known: Collection[str]) -> PlanText:
    """A condition changes nothing that can be enforced here; it is shown with the adjusted plan."""
    return plan


def _less(plan: PlanText, operations: Collection[str], targets: Collection[str]) -> PlanText:
    """The plan without these, and without the changes that speak of them.

    Without its last target it has no operation either: what was to be done there may not be done anywhere.
    """

    def goes(change: str) -> bool:
        stems = _stems(change)
        return any(_mean(stems, name) for name in operations) or any(
            _point_at(change, name) for name in targets
        )

    left = tuple(name for name in plan.targets if name not in targets)
    nowhere = bool(plan.targets) and not left
    return msgspec.structs.replace(
        plan,
        operations=() if nowhere else tuple(name for name in plan.operations if name not in operations),
        targets=left,
        changes=tuple(change for change in plan.changes if not goes(change)),
    )


def _recall(stems: Collection[str], operation: str) -> bool:
    """Whether words recall the operation, loosely: "no git" and "don't commit" both recall git.commit."""
    return any(stem in stems for stem in _stems_of(operation))


def _mean(stems: Collection[str], operation: str) -> bool:
    """Whether words mean this operation: its action, or its domain if the action is too common to tell."""
    domain, action = _stems_of(operation)
    return (domain if action in _COMMON_ACTIONS else action) in stems


def _stems_of(operation: str) -> tuple[str, str]:
    domain, _, action = operation.partition(".")
    return _stem(domain), _stem(re.split(r"[_-]", action)[0])


def _stems(words: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in re.findall(r"\w+", words.lower()))


def _point_at(words: str, target: str) -> bool:
    """Whether words name the target: in full, by its last part, or by that without its ending."""
    base = re.split(r"[/\\]", target.lower().removesuffix("()"))[-1]
    spoken = {word.strip(".,:;`") for word in re.split(r"[\s()`]+", words.lower())}
    return bool({target.lower(), base, base.rpartition(".")[0] or base} & spoken)


def _stem(word: str) -> str:
    bare = re.sub(r"(?:ing|ed|es|s|e)$", "", word) if len(word) > 3 else word
    return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] else bare


_MODES = {"add": _add, "drop": _drop, "keep": _keep, "condition": _condition}
_MARK = re.compile(
    r"""\b(?:
        (?P<drop>except(?:\s+for)?|excluding|without|skip(?:ping)?|leave\s+out|omit|drop|minus
           |instead\s+of|rather\s+than|other\s+than|apart\s+from|don't|do\s+not|never|not|no)
      | (?P<keep>only|just)
      | (?P<condition>if|unless|as\s+long\s+as|provided|until|once|when|after|before)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_ALSO = re.compile(r"\A[\s,]*(?:(?:also|and|then|please|but)[\s,]+)*", re.IGNORECASE)
# Words too common to tell one operation from another.
_COMMON_ACTIONS = frozenset({"run", "creat", "writ", "add", "read", "send", "list", "make", "get", "set"})
