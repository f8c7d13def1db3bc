"""What a policy leaves open or says in vain. Nothing here changes a decision; the gap is the danger."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from sayso.core.model import Risk, Tier
from sayso.core.policy import Domain, Policy
from sayso.core.text.phrases import HIGH_PHRASES, MEDIUM_PHRASES, REFUSALS, STOP_OPENINGS, STOP_PHRASES
from sayso.core.text.unmask import fold
from sayso.policy.lint_titles import Seen, unknown_in_titles
from sayso.policy.load import Loaded, load_preset
from sayso.policy.merge import GUARDED
from sayso.reading.verbs import READS, changes, verb_of

Severity = Literal["error", "warning", "note"]

LONGEST_REVIEW = 90
LONGEST_IDLE = 50
READING = {
    "background", "check", "count", "diff", "fetch", "find", "get", "history", "list", "load", "log", "logs",
    "output", "read", "search", "show", "status", "view",
}  # fmt: skip


class Finding(msgspec.Struct, frozen=True):
    """Something to look at: how much it matters, where it stands, and what to do."""

    severity: Severity
    where: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.message}" + (f" ({self.hint})" if self.hint else "")


def lint(policy: Policy | Loaded, seen: Seen | None = None) -> list[Finding]:
    """Every finding, the gravest first. `seen`: which arguments calls of a tool had, where that is known."""
    found: list[Finding] = []
    if isinstance(policy, Loaded):
        found += [_warned(str(problem)) for problem in policy.warnings]
        policy = policy.policy
    for check in CHECKS:
        found += check(policy)
    found += _titles(policy, seen or {})
    return sorted(found, key=lambda one: ("error", "warning", "note").index(one.severity))


def _warned(text: str) -> Finding:
    where, _, message = text.partition(": ")
    return Finding("warning", where, message)


def _gaps(policy: Policy) -> Iterator[Finding]:
    """Operations that something names and no list holds."""
    hint = "put it into one of the three lists of its domain"
    for name, entry in policy.table.items():
        if entry.tier is None:
            yield Finding("warning", name, "is described, but stands in no list", hint)
    for tool in policy.tools:
        if tool.operation and tool.resolve != "path" and _unlisted(policy, tool.operation):
            yield Finding("warning", f"tool {tool.tool}", f"{tool.operation} stands in no list", hint)
        if tool.domain and tool.domain not in policy.domains:
            yield Finding(
                "warning", f"tool {tool.tool}", f"there is no domain {tool.domain}", "add the domain"
            )
    for kind in ("slash_commands", "workflows"):
        for name, declared in getattr(policy, kind).items():
            for operation in declared.operations:
                if _unlisted(policy, operation):
                    yield Finding("warning", name, f"{operation} stands in no list", hint)


def _titles(policy: Policy, seen: Seen) -> Iterator[Finding]:
    """Titles that could not be filled."""
    for tool, name, known, by_calls in unknown_in_titles(policy, seen):
        said = f"its title names {{{name}}}, so that it is left out where a call has no such argument"
        hint = f"calls of it had {', '.join(known)}" if by_calls else f"did you mean {{{known[0]}}}?"
        yield Finding("warning", f"tool {tool.tool}", said, hint)


def _phrases(policy: Policy) -> Iterator[Finding]:
    """Phrases of the operator that say two things, or nothing new."""
    added = policy.phrases
    stops = {_folded(phrase) for phrase in (*STOP_PHRASES, *STOP_OPENINGS, *added.stop)}
    noes = {_folded(phrase) for phrase in (*REFUSALS, *added.refuse)}
    for phrase in added.assent:
        said = "a stop" if _folded(phrase) in stops else "a refusal" if _folded(phrase) in noes else None
        if said is not None:
            message = f"{phrase!r} is {said} as well, and counts as that"
            yield Finding("warning", "phrases.assent", message, "take it out of one of the two")
    for phrase in added.refuse:
        if _folded(phrase) in stops:
            message = f"{phrase!r} is a stop as well"
            yield Finding("note", "phrases.refuse", message, "take it out of one of the two")
    for kind in ("stop", "refuse"):
        for phrase in getattr(added, kind):
            if _folded(phrase) in map(_folded, (*HIGH_PHRASES, *MEDIUM_PHRASES)):
                message = f"{phrase!r} is an English yes, which never counts as one any more"
                yield Finding("warning", f"phrases.{kind}", message, "take it out")


def _folded(phrase: str) -> str:
    return " ".join(fold(phrase).split())


def _unlisted(policy: Policy, operation: str) -> bool:
    entry = policy.table.get(operation)
    return entry is None or entry.tier is None


def _shadowed(policy: Policy) -> Iterator[Finding]:
    """Tool entries that an earlier one always takes the call from."""
    for index, tool in enumerate(policy.tools):
        for earlier in policy.tools[:index]:
            if earlier.when is None and fnmatch.fnmatchcase(tool.tool, earlier.tool):
                if earlier != tool:
                    said = f"is never reached: the entry for {earlier.tool} comes first"
                    yield Finding("warning", f"tool {tool.tool}", said, "put the narrower entry first")
                break


def _low_trust(policy: Policy) -> Iterator[Finding]:
    """Domains of low trust in which something other than reading is autonomous."""
    for name, domain in policy.domains.items():
        for action in domain.autonomous if domain.trust_level == "low" else ():
            if not READING.intersection(action.replace("-", "_").split("_")):
                said = "is autonomous in a domain of low trust"
                yield Finding("warning", f"{name}.{action}", said, "move it to requires_approval")


def _threshold(policy: Policy) -> Iterator[Finding]:
    threshold, where = policy.settings.confidence_threshold, "settings.confidence_threshold"
    used = any(entry.confidence_bypass for entry in policy.table.values())
    if used and threshold == 0:
        yield Finding("error", where, "every confidence passes 0, and so does none at all", "use 0.85")
    if used and threshold == 1:
        yield Finding(
            "warning", where, "hardly anything can meet 1", "use 0.85, or switch confidence_bypass off"
        )
    if used and 0 < threshold < 0.5:
        yield Finding("warning", where, "an agent that is more unsure than sure passes", "use 0.85")


def _in_vain(policy: Policy) -> Iterator[Finding]:
    """Words that have no effect."""
    for name, entry in policy.table.items():
        if entry.tier is Tier.AUTONOMOUS and entry.risk is Risk.HIGH:
            yield Finding(
                "warning", name, "is autonomous, and asks all the same: its risk is high", "list it as asked"
            )
        if entry.tier is Tier.BLOCKED and entry.always_ask:
            yield Finding("note", name, "is blocked, so always_ask does nothing", "leave always_ask out")
    for name, domain in policy.domains.items():
        if domain.fan_out == "single" and domain.content_from is None:
            said = "fan_out: single does nothing without content_from"
            yield Finding("warning", name, said, "name the argument that holds the content")
    used = {detail.category for detail in policy.operations.values()}
    for category in policy.categories:
        if category not in used:
            yield Finding("note", category, "no operation is of this category", "leave it out")


def _overlong(policy: Policy) -> Iterator[Finding]:
    """Trust that lasts longer than anybody remembers giving it."""
    decay, settings = policy.decay, policy.settings
    if not decay.enabled:
        yield Finding("warning", "consent_decay", "autonomous permissions never decay", "set enabled: true")
    elif decay.review_interval_days > LONGEST_REVIEW:
        said = f"{decay.review_interval_days:g} days are a long time between reviews"
        yield Finding("warning", "consent_decay", said, "use 30")
    if settings.task_idle_turns > LONGEST_IDLE:
        said = f"consent outlives {settings.task_idle_turns} idle turns"
        yield Finding("warning", "settings.task_idle_turns", said, "use 10")
    if settings.risky_grants == "standing" and settings.grant_pins == "operation":
        said = "a standing grant of high risk covers every argument"
        yield Finding("note", "settings.risky_grants", said, "grant_pins: exact narrows it")


def _guarded(policy: Policy) -> Iterator[Finding]:
    """Whether the guard guards itself."""
    if not policy.domains:
        yield Finding(
            "warning", "domains", "no domain is listed, so everything asks", "start with extends: [balanced]"
        )
    wanted = load_preset("balanced").domains["self_modification"].blocked
    blocked = policy.domains.get("self_modification", Domain()).blocked
    missing = [action for action in wanted if action not in blocked]
    if missing:
        said = f"not blocked: {', '.join(missing)}"
        yield Finding(
            "warning", "self_modification", said, "extend a preset, or add them to its blocked list"
        )
    for name, command in policy.slash_commands.items():
        for operation in command.operations:
            if operation in ("git.push_force", "git.rewrite"):
                yield Finding("warning", name, f"a slash command for {operation} asks nobody", "take it out")


def _loosely_guarded(policy: Policy) -> Iterator[Finding]:
    """Words that treat changing the guard or the agent itself as ordinary work."""
    domain, known = policy.domains.get(GUARDED, Domain()), load_preset("graph").domains[GUARDED]
    listed = [(action, "runs unasked") for action in domain.autonomous if action not in known.autonomous]
    asked = (*known.autonomous, *known.requires_approval)
    listed += [(action, "can be approved") for action in domain.requires_approval if action not in asked]
    for action, how in listed:
        said = f"an agent that changes itself {how}"
        yield Finding("warning", f"{GUARDED}.{action}", said, "put it into the blocked list")
    for name, detail in policy.operations.items():
        if name.startswith(f"{GUARDED}.") and detail.risk is Risk.LOW:
            yield Finding("warning", name, "changing the agent itself is no low risk", "leave risk out")
    for kind in ("slash_commands", "workflows"):
        for name, declared in getattr(policy, kind).items():
            if any(operation.startswith(f"{GUARDED}.") for operation in declared.operations):
                yield Finding("warning", name, f"declares operations of {GUARDED}", "take them out")


def _mistaken_for_reading(policy: Policy) -> Iterator[Finding]:
    """Tools that write by their name and read by their entry: guarded files would be judged as read."""
    for tool in policy.tools:
        reads = tool.resolve == "path" and tool.operation and verb_of(tool.operation) in READS
        if reads and changes((tool.tool,)):
            said = f"sounds as if it changes files, and counts as {tool.operation}"
            yield Finding("warning", f"tool {tool.tool}", said, "name an operation that writes")


CHECKS: tuple[Callable[[Policy], Iterator[Finding]], ...] = (
    _gaps,
    _shadowed,
    _low_trust,
    _threshold,
    _in_vain,
    _overlong,
    _guarded,
    _loosely_guarded,
    _mistaken_for_reading,
    _phrases,
)
