"""Revoke what a user names: a command, a category, an operation, a tool, as the listings print them.

- Grants that are for what the name means end, wholly or in part.
- A tool means every grant that could let it run: those asked for it or pinned to it, and those for what it
  does that are not pinned to another tool. Standing consent for a command is named by its command.
- Calls under way that are named do not go on, whatever they were started with; one that cannot be read counts
  as named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sayso.core import effects as fx
from sayso.core.conversation import words
from sayso.core.conversation.hearing import Hearing
from sayso.core.conversation.named_tools import NamedTool, find_named_tool, is_named, normalize_tool_name
from sayso.core.grants import Grant, HeldGrant, spent
from sayso.core.model import Request
from sayso.core.plans.names import stem, stems_of
from sayso.core.policy import Policy
from sayso.core.session import CallUnderWay, Session, find_ended_grants
from sayso.core.text.acts import contains_forbidden, find_names, speaks_of_act
from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import POLITE, pattern
from sayso.core.text.refusing.taking_back import find_entries_to_drop
from sayso.core.text.unmask import LONGEST, fold_text, mask, visible_readings


def revoke_entry(h: Hearing, entry: str) -> None:
    """Revoke one entry of a list, in every workspace. Names that match nothing revoke nothing and say so."""
    parts = [part for part in _JOINT.split(entry) if part.strip()]
    if means_everything(entry):
        h.clear("everything", "you revoked all consent", words.ALL_REVOKED)
        return
    missing = [part for part in parts if not _revoke_spelled(h, part)] if len(parts) > 1 else [entry]
    whole = _revoke_spelled(h, entry)  # one command, or found by its first words alone
    missing = [] if whole and len(missing) >= len(parts) else missing
    h.add_effects(fx.ConsentTakenBack(entry, tuple(missing)))
    for part in missing:
        h.did.append(words.revokes_nothing(part))
        h.announced.append(words.nothing_to_revoke(part))
    if missing and h.session.under_way:
        h.cleared.append(words.carried_name(entry))
        h.announced.append(words.not_carried(entry))


def means_everything(entry: str) -> bool:
    return any(_EVERYTHING.fullmatch(part.strip(" .!,")) for part in _JOINT.split(entry))


def is_known_name(name: str, policy: Policy, session: Session) -> bool:
    """Return whether the policy or this session knows an operation, category, domain or tool by this name."""
    known = {*policy.table, *_operations_in(session)}
    return any(
        find_named_tool(spelling, policy, session).operations
        or not known.isdisjoint(_operations(spelling, policy, session))
        for spelling in _spellings(name)
    )


def was_taken_back(request: Request, session: Session, since: int, policy: Policy) -> bool:
    """Return whether consent for this request was taken back by name after that many revocations.

    Names that are not kept any more may have meant it.
    """
    newer = session.revocations - since
    if newer <= 0:
        return False
    if newer > len(session.taken_back):
        return True
    call = request.call
    operations = tuple(operation.name for operation in request.operations)
    named = CallUnderWay("", call.tool, request.workflow, call.command, operations)
    return any(_means(entry, named, policy) for entry in session.taken_back[-newer:])


def _means(entry: str, call: CallUnderWay, policy: Policy) -> bool:
    """Return whether an entry of a list, or a part of it, names this call."""
    alone = Session(under_way={call.call: call})
    spelled = {one for part in (entry, *_JOINT.split(entry)) for one in _spellings(part)}
    return any(_names(name, call, _operations(name, policy, alone)) for name in spelled)


def find_dropped(h: Hearing) -> Iterator[str]:
    """The entries of the allowlist that a message orders to drop: "remove git push". Else that is work."""
    if h.message.slash is not None or len(h.message.text) > LONGEST:
        return
    live = (held.grant for held in h.session.all_grants if not spent(held, h.now))
    entries = {fold_text(" ".join(one.value.split())): one.value for one in live if one.kind == "command"}
    readings = (fold_text(mask(shown)) for shown in visible_readings(h.message.text) if entries)
    dropped = (name for own in readings for name in find_entries_to_drop(own, tuple(entries)))
    yield from dict.fromkeys(entries[name] for name in dropped)


def _revoke_spelled(h: Hearing, entry: str) -> bool:
    return any(_revoke(h, spelling) for spelling in _spellings(entry))


def _spellings(entry: str) -> Iterator[str]:
    """An entry as it is, and without what people and listings put around a name."""
    bare = _AROUND.sub("", entry.strip()).strip(" `\"'")
    plain = _SIGNS.sub("", bare)
    yield from dict.fromkeys(
        filter(None, (entry.strip(), bare, plain, _PREFIX.sub("", plain).strip(" `\"'")))
    )


def _revoke(h: Hearing, name: str) -> bool:
    if _PLAN.fullmatch(name) and h.session.plan is not None and h.session.plan.accepted:
        h.add_effects(fx.PlanEnded("revoked"))
        h.cleared.append("plan consent (you revoked it)")
        return True
    if _TASK.fullmatch(name) and h.session.task is not None:
        h.clear("task", "you revoked it", words.announce_clearing("you revoked the consent of this task"))
        return True
    operations = _operations(name, h.policy, h.session)
    calls = [one for one in h.session.under_way.values() if _names(name, one, operations)]
    tool = find_named_tool(name, h.policy, h.session)
    found = [
        held
        for held in h.session.all_grants
        if _covers(held, name, operations, h) or _lets_run(held, tool, h)
    ]
    revoked = tuple(fx.GrantRevoked(held.grant.key, held.grant.id) for held in found)
    ended = find_ended_grants(h.session, revoked, h.now)
    h.add_effects(*revoked)
    h.cleared += dict.fromkeys(words.consent_name(held.grant) for held in ended)
    for one in calls:
        _end_call(h, one)
    orders = _end_orders(h, name, operations | tool.operations, does_anything=tool.does_anything)
    return bool(found or calls or orders)


def _end_orders(h: Hearing, name: str, operations: set[str], *, does_anything: bool) -> bool:
    """End what this turn's message allows, if the name means it; whether it did."""
    said, slash, orders = _loosely(name), h.session.slash, h.session.imperatives
    spelled = {said, *(_loosely(operation.replace(".", " ")) for operation in operations)}
    left = tuple(one for one in orders if not any(f"{_loosely(one)} ".startswith(f"{s} ") for s in spelled))
    if slash is not None:
        command = h.policy.slash_commands.get(slash)
        does = set() if command is None else {*command.operations}
        if does_anything or said in (slash, slash[1:]) or not does.isdisjoint(operations):
            h.add_effects(fx.SessionChanged(slash=None))
            h.cleared.append(words.order_name(slash))
    if left != orders:
        h.add_effects(fx.SessionChanged(imperatives=left))
        h.cleared += (words.order_name(one) for one in orders if one not in left)
    return h.session.slash != slash or left != orders


def _end_call(h: Hearing, ending: CallUnderWay) -> None:
    """Keep a call from going on. What it alone waits for is not asked any more.

    Given back, it leaves no use behind either: what was used up for it is revoked.
    """
    used = h.session.unentered.get(ending.call, ())
    for held in h.session.all_grants:
        if held.grant.id in used and held.grant.uses is not None and not held.revoked:
            h.add_effects(fx.GrantRevoked(held.grant.key, held.grant.id))
    h.add_effects(fx.CallEnded(ending.call))
    h.cleared.append(words.call_under_way_name(ending.tool))
    h.announced.append(words.does_not_go_on(ending.tool, waits=ending.question is not None))
    awaited = {one.question for one in h.session.under_way.values()}
    waits_for = ending.question
    if waits_for is not None and waits_for in h.session.questions and waits_for not in awaited:
        h.add_effects(fx.QuestionWithdrawn(waits_for))


def _names(name: str, call: CallUnderWay, operations: set[str]) -> bool:
    """Whether a call under way is what the name means: by its id, tool, command or an operation of it."""
    if call.tool is None or not operations.isdisjoint(call.operations):
        return True
    said, command = _loosely(name), _loosely(call.command or "")
    names = (call.call, call.tool, call.workflow or "")
    return said in map(_loosely, names) or is_named(call.tool, name) or f"{command} ".startswith(f"{said} ")


def _covers(held: HeldGrant, name: str, operations: set[str], h: Hearing) -> bool:
    """Whether a live grant is for what the name means, wholly or in part."""
    grant = held.grant
    if spent(held, h.now):
        return False
    if grant.kind == "retry" and _loosely(name) in map(_loosely, grant.stems):
        return True
    if grant.kind == "command" or grant.kind in ("tool", "workflow", "run"):
        if _is_one_act(name) and contains_forbidden(grant.value, find_names(name.casefold())):
            return True
        spelled = {_loosely(name), *(_loosely(operation.replace(".", " ")) for operation in operations)}
        return _loosely(grant.value) in spelled or bool(operations.intersection(grant.pins.operations or ()))
    if operations.intersection(_operations_of(grant, h)):
        return True
    return _loosely(grant.pins.command or "") == _loosely(name)


def _lets_run(held: HeldGrant, tool: NamedTool, h: Hearing) -> bool:
    """Whether a live grant was asked for the named tool, or could let it run."""
    grant = held.grant
    if spent(held, h.now) or grant.kind == "command":
        return False
    pinned = grant.value if grant.kind == "tool" else grant.pins.tool
    if tool.is_called(pinned) or tool.is_called(grant.asked_for):
        return True
    if pinned is not None or grant.kind in ("workflow", "run"):
        return False
    return tool.does_anything or not tool.operations.isdisjoint(_operations_of(grant, h))


def _operations_of(grant: Grant, h: Hearing) -> set[str]:
    if grant.kind == "operation":
        return {grant.value}
    if grant.kind == "category":
        return {grant.value, *_operations(grant.value, h.policy, h.session)}
    return set(grant.pins.operations or ())


def _operations(name: str, policy: Policy, session: Session) -> set[str]:
    """The operations that a name means: itself, or those of a category or domain, however it is spelled.

    Those that the policy lists, and those that this session has to do with.
    """
    wanted = {
        normalize_tool_name(name),
        normalize_tool_name(" ".join(name.split()[:2])),
    }  # of "git commit -m x", git commit
    known = dict.fromkeys((*policy.table, *_operations_in(session)))
    acts = frozenset(stem(word) for word in re.findall(r"\w+", name.casefold())) - _NOUN_STEMS
    return {
        name,
        *(
            one
            for one in known
            if not wanted.isdisjoint(map(normalize_tool_name, _names_of_operation(one, policy)))
            or (speaks_of_act(name.casefold()) and acts and acts <= {*stems_of(one)} - _NOUN_STEMS)
        ),
    }


def _is_one_act(name: str) -> bool:
    """Whether a name is nothing but a verb or noun of an act: "pushing", "pushes"."""
    return re.fullmatch(r"\w+", name) is not None and speaks_of_act(name.casefold())


def _names_of_operation(operation: str, policy: Policy) -> set[str]:
    """What people may call an operation: its name, its category in both forms, its domain."""
    entry = policy.table.get(operation)
    by_name = {operation, operation.replace(".", " "), operation.partition(".")[0]}
    return by_name if entry is None else by_name | {entry.category, entry.category_words, entry.domain}


def _operations_in(session: Session) -> set[str]:
    """The operations that something is granted for, or a call under way does."""
    names = {held.grant.value for held in session.all_grants if held.grant.kind == "operation"}
    names.update(*(held.grant.pins.operations or () for held in session.all_grants))
    return names.union(*(call.operations for call in session.under_way.values()))


def _loosely(name: str) -> str:
    return " ".join(name.casefold().split())


_NOUN_STEMS = frozenset({"fil", "file", "command", "operation", "call"})
_AROUND = lazy_pattern(
    rf"\A(?:-\s+|the\s+|my\s+|all\s+|both\s+|any\s+|to\s+(?:run\s+|use\s+|execute\s+|call\s+)?|only\s+|just\s+|run\s+|running\s+)+|\s*\((?:[^()]*\bused\b|granted\b)[^()]*\)\s*\Z"
    rf"|[\s,]+(?:{pattern(POLITE)}|right now|right away|at once|now|again|immediately)[.!]*\Z|[.!]+\Z"
    r"|\s+(?:consents?|permissions?|approvals?|access|rights)[.!]*\Z",
    re.IGNORECASE,
)
_JOINT = lazy_pattern(
    r"\s+(?:and also|and|&|plus|\+|as well as|along with|together with|also|or|/|\||then)\s+|\s*;\s*",
    re.IGNORECASE,
)
_EVERYTHING = lazy_pattern(
    r"(?:everything|anything|all)(?: else| of (?:it|them))?|all (?:the )?(?:others?|rest|commands)"
    r"|the (?:others|rest)|everything (?:you have|i (?:gave|granted|allowed)(?: you)?)",
    re.IGNORECASE,
)
_PREFIX = lazy_pattern(
    r"\A(?:standing consent for|(?:remembered )?approvals? (?:of|for)|grants? for|workflow(?: run)?"
    r"|(?:free )?retr(?:y|ies) (?:of|for)(?: failed)?|task consent for|tool)\s+",
    re.IGNORECASE,
)
_SIGNS = lazy_pattern(r"\A[^\w./~$-]+|[^\w./)\"'*-]+\Z")
_TASK = lazy_pattern(r"(?:this|the|current)? ?(?:task|workflow)", re.IGNORECASE)
_PLAN = lazy_pattern(r"(?:the )?plan(?:'s)?(?: consent)?", re.IGNORECASE)
