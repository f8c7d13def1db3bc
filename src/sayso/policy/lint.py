"""Lint: gaps in a policy, and parts of it that have no effect. Nothing here changes a decision."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from sayso.core.model import Risk, Tier
from sayso.core.policy import GUARDED_DOMAIN, Domain, Policy, Tool
from sayso.core.team import can_be_met
from sayso.core.text.phrases import HIGH_PHRASES, MEDIUM_PHRASES, REFUSALS, STOP_OPENINGS, STOP_PHRASES
from sayso.core.text.unmask import fold_text
from sayso.policy.lint_titles import ArgumentsByTool, find_unknown_in_titles
from sayso.policy.load import LoadedPolicy, load_preset, preset_names
from sayso.reading.verbs import READ_VERBS, suggests_change, verb_of

Severity = Literal["error", "warning", "note"]

LONGEST_REVIEW = 90
LONGEST_IDLE = 50
READING_WORDS = {
    "background", "check", "count", "diff", "fetch", "find", "get", "history", "inspect", "list", "load",
    "log", "logs", "output", "read", "search", "show", "status", "view",
}  # fmt: skip


class LintFinding(msgspec.Struct, frozen=True):
    """Something to look at: how much it matters, where it stands, and what to do."""

    severity: Severity
    where: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.message}" + (f" ({self.hint})" if self.hint else "")


def lint_policy(policy: Policy | LoadedPolicy, seen: ArgumentsByTool | None = None) -> list[LintFinding]:
    """Every finding, the gravest first. `seen`: which arguments calls of a tool had, where that is known."""
    found: list[LintFinding] = []
    if isinstance(policy, LoadedPolicy):
        found += [_finding_from_warning(str(problem)) for problem in policy.warnings]
        policy = policy.policy
    for check in CHECKS:
        found += check(policy)
    found += _find_unknown_titles(policy, seen or {})
    return sorted(found, key=lambda one: ("error", "warning", "note").index(one.severity))


def _finding_from_warning(text: str) -> LintFinding:
    where, _, message = text.partition(": ")
    return LintFinding("warning", where, message)


def _find_gaps(policy: Policy) -> Iterator[LintFinding]:
    """Operations that something names and no list holds."""
    hint = "put it into one of the three lists of its domain"
    for name, entry in policy.table.items():
        if entry.tier is None:
            yield LintFinding("warning", name, "has an entry under operations, but is in no list", hint)
    for tool in policy.tools:
        if tool.operation and tool.resolve != "path" and _is_unlisted(policy, tool.operation):
            yield LintFinding("warning", f"tool {tool.tool}", f"{tool.operation} is in no list", hint)
        if tool.domain and tool.domain not in policy.domains:
            yield LintFinding(
                "warning", f"tool {tool.tool}", f"there is no domain {tool.domain}", "add the domain"
            )
    for kind in ("slash_commands", "workflows"):
        for name, declared in getattr(policy, kind).items():
            for operation in declared.operations:
                if _is_unlisted(policy, operation):
                    yield LintFinding("warning", name, f"{operation} is in no list", hint)


def _find_unknown_titles(policy: Policy, seen: ArgumentsByTool) -> Iterator[LintFinding]:
    """Titles that could not be filled."""
    for tool, name, known, by_calls in find_unknown_in_titles(policy, seen):
        said = f"its title names {{{name}}}, which calls may not have; the title is then left out"
        hint = f"calls of it had {', '.join(known)}" if by_calls else f"did you mean {{{known[0]}}}?"
        yield LintFinding("warning", f"tool {tool.tool}", said, hint)


def _find_phrase_conflicts(policy: Policy) -> Iterator[LintFinding]:
    """Phrases of the operator that say two things, or nothing new."""
    added = policy.phrases
    stops = {_fold_phrase(phrase) for phrase in (*STOP_PHRASES, *STOP_OPENINGS, *added.stop)}
    noes = {_fold_phrase(phrase) for phrase in (*REFUSALS, *added.refuse)}
    for phrase in added.assent:
        said = (
            "a stop"
            if _fold_phrase(phrase) in stops
            else "a refusal"
            if _fold_phrase(phrase) in noes
            else None
        )
        if said is not None:
            message = f"{phrase!r} is {said} as well, and counts as that"
            yield LintFinding("warning", "phrases.assent", message, "take it out of one of the two")
    for phrase in added.refuse:
        if _fold_phrase(phrase) in stops:
            message = f"{phrase!r} is a stop as well"
            yield LintFinding("note", "phrases.refuse", message, "take it out of one of the two")
    for kind in ("stop", "refuse"):
        for phrase in getattr(added, kind):
            if _fold_phrase(phrase) in map(_fold_phrase, (*HIGH_PHRASES, *MEDIUM_PHRASES)):
                message = f"{phrase!r} is an English yes, which then no longer counts as one"
                yield LintFinding("warning", f"phrases.{kind}", message, "take it out")


def _fold_phrase(phrase: str) -> str:
    return " ".join(fold_text(phrase).split())


def _is_unlisted(policy: Policy, operation: str) -> bool:
    entry = policy.table.get(operation)
    return entry is None or entry.tier is None


def _find_shadowed_tools(policy: Policy) -> Iterator[LintFinding]:
    """Tool entries that an earlier one always takes the call from."""
    for index, tool in enumerate(policy.tools):
        for earlier in policy.tools[:index]:
            if earlier.when is None and fnmatch.fnmatchcase(tool.tool, earlier.tool):
                if earlier != tool:
                    yield _describe_shadowed(tool, earlier)
                break


def _describe_shadowed(tool: Tool, earlier: Tool) -> LintFinding:
    """A preset's entry that the file replaces by its name is as it should be; others may be a slip."""
    if not _is_of_preset(tool) or _is_of_preset(earlier):
        said = f"is never reached: the entry for {earlier.tool} comes first"
        return LintFinding("warning", f"tool {tool.tool}", said, "put the narrower entry first")
    said = f"a preset's entry for it is never reached: yours for {earlier.tool} comes first"
    severity: Severity = "note" if earlier.tool == tool.tool else "warning"
    return LintFinding(severity, f"tool {tool.tool}", said, "nothing to do if yours is to replace it")


def _is_of_preset(tool: Tool) -> bool:
    return any(tool in load_preset(name).tools for name in preset_names())


def _find_low_trust_writes(policy: Policy) -> Iterator[LintFinding]:
    """Domains of low trust in which something other than reading is autonomous."""
    for name, domain in policy.domains.items():
        for action in domain.autonomous if domain.trust_level == "low" else ():
            if not READING_WORDS.intersection(action.replace("-", "_").split("_")):
                said = "is autonomous in a domain of low trust"
                yield LintFinding("warning", f"{name}.{action}", said, "move it to requires_approval")


def _find_bad_threshold(policy: Policy) -> Iterator[LintFinding]:
    threshold, where = policy.settings.confidence_threshold, "settings.confidence_threshold"
    used = any(entry.confidence_bypass for entry in policy.table.values())
    if used and threshold == 0:
        yield LintFinding("error", where, "every confidence reaches 0, even a missing one", "use 0.85")
    if used and threshold == 1:
        yield LintFinding(
            "warning", where, "hardly any call reaches 1", "use 0.85, or switch confidence_bypass off"
        )
    if used and 0 < threshold < 0.5:
        yield LintFinding("warning", where, "an agent that is more unsure than sure may proceed", "use 0.85")


def _find_team_faults(policy: Policy) -> Iterator[LintFinding]:
    """Rules of the team that nobody can meet, that need everybody, or that cover what is autonomous."""
    team = policy.team
    known = {*policy.domains, *(name.partition(".")[0] for name in policy.table)}
    for rule in team.approvals:
        where = f"approvals {rule.domain or 'everything'} from {rule.risk.word}"
        if not can_be_met(team, rule):
            said = "nobody can meet it: there are too few people with an id"
            yield LintFinding("error", where, said, "declare more people, or need fewer")
        elif rule.escalate is None and rule.needed >= len(team.members(rule.approvers)):
            said = "it needs everybody, so what one of them asks for is never approved"
            yield LintFinding("warning", where, said, "add a person, or need one fewer")
        if rule.domain is not None and rule.domain not in known:
            said = f"it covers nothing in this file: there is no domain {rule.domain}"
            yield LintFinding("warning", where, said, "name a domain, or declare it")
    for name, entry in policy.table.items():
        if entry.tier is Tier.AUTONOMOUS and entry.asks_always(entry.floor or Risk.LOW) and entry.approvals:
            said = "is autonomous, and asked about every time because a team rule covers it"
            yield LintFinding("warning", name, said, "give the rule a risk, or list it as requires_approval")


def _find_words_without_effect(policy: Policy) -> Iterator[LintFinding]:
    """Words that have no effect."""
    for name, entry in policy.table.items():
        if entry.tier is Tier.AUTONOMOUS and entry.risk is Risk.HIGH:
            yield LintFinding(
                "warning",
                name,
                "is autonomous but still asks, because its risk is high",
                "list it as requires_approval",
            )
        if entry.tier is Tier.BLOCKED and entry.always_ask:
            yield LintFinding("note", name, "is blocked, so always_ask does nothing", "leave always_ask out")
    for name, domain in policy.domains.items():
        if domain.fan_out == "single" and domain.content_from is None:
            said = "fan_out: single does nothing without content_from"
            yield LintFinding("warning", name, said, "name the argument that holds the content")
    used = {detail.category for detail in policy.operations.values()}
    for category in policy.categories:
        if category not in used:
            yield LintFinding("note", category, "no operation has this category", "leave it out")


def _find_overlong_trust(policy: Policy) -> Iterator[LintFinding]:
    """Trust that lasts longer than anybody remembers giving it."""
    decay, settings = policy.decay, policy.settings
    if not decay.enabled:
        yield LintFinding(
            "warning", "consent_decay", "autonomous permissions never decay", "set enabled: true"
        )
    elif decay.review_interval_days > LONGEST_REVIEW:
        said = f"{decay.review_interval_days:g} days is a long time between reviews"
        yield LintFinding("warning", "consent_decay", said, "use 30")
    if settings.task_idle_turns > LONGEST_IDLE:
        said = f"consent outlives {settings.task_idle_turns} idle turns"
        yield LintFinding("warning", "settings.task_idle_turns", said, "use 10")
    if settings.risky_grants == "standing" and settings.grant_pins == "operation":
        said = "a standing grant of high risk covers every argument"
        yield LintFinding("note", "settings.risky_grants", said, "grant_pins: exact narrows it")


def _find_guard_gaps(policy: Policy) -> Iterator[LintFinding]:
    """Find gaps in what the policy blocks to protect the guard itself."""
    if not policy.domains:
        yield LintFinding(
            "warning", "domains", "no domain is listed, so everything asks", "start with extends: [balanced]"
        )
    wanted = load_preset("balanced").domains["self_modification"].blocked
    blocked = policy.domains.get("self_modification", Domain()).blocked
    missing = [action for action in wanted if action not in blocked]
    if missing:
        said = f"not blocked: {', '.join(missing)}"
        yield LintFinding(
            "warning", "self_modification", said, "extend a preset, or add them to its blocked list"
        )
    for name, command in policy.slash_commands.items():
        for operation in command.operations:
            if operation in ("git.push_force", "git.rewrite"):
                yield LintFinding(
                    "warning", name, f"this slash command runs {operation} without asking", "take it out"
                )


def _find_loose_guards(policy: Policy) -> Iterator[LintFinding]:
    """Words that treat changing the guard or the agent itself as ordinary work."""
    domain, known = policy.domains.get(GUARDED_DOMAIN, Domain()), load_preset("graph").domains[GUARDED_DOMAIN]
    listed = [(action, "runs unasked") for action in domain.autonomous if action not in known.autonomous]
    asked = (*known.autonomous, *known.requires_approval)
    listed += [(action, "can be approved") for action in domain.requires_approval if action not in asked]
    for action, how in listed:
        said = f"an agent that changes itself {how}"
        yield LintFinding("warning", f"{GUARDED_DOMAIN}.{action}", said, "put it into the blocked list")
    for name, detail in policy.operations.items():
        if name.startswith(f"{GUARDED_DOMAIN}.") and detail.risk is Risk.LOW:
            yield LintFinding("warning", name, "changing the agent itself is not low risk", "leave risk out")
    for kind in ("slash_commands", "workflows"):
        for name, declared in getattr(policy, kind).items():
            if any(operation.startswith(f"{GUARDED_DOMAIN}.") for operation in declared.operations):
                yield LintFinding(
                    "warning", name, f"declares operations of {GUARDED_DOMAIN}", "take them out"
                )


def _find_writers_taken_for_readers(policy: Policy) -> Iterator[LintFinding]:
    """Tools that write by their name and read by their entry: guarded files would be judged as read."""
    for tool in policy.tools:
        reads = tool.resolve == "path" and tool.operation and verb_of(tool.operation) in READ_VERBS
        if reads and suggests_change((tool.tool,)):
            said = f"seems to change files by its name, but counts as {tool.operation}"
            yield LintFinding("warning", f"tool {tool.tool}", said, "name an operation that writes")


CHECKS: tuple[Callable[[Policy], Iterator[LintFinding]], ...] = (
    _find_gaps,
    _find_shadowed_tools,
    _find_low_trust_writes,
    _find_bad_threshold,
    _find_words_without_effect,
    _find_team_faults,
    _find_overlong_trust,
    _find_guard_gaps,
    _find_loose_guards,
    _find_writers_taken_for_readers,
    _find_phrase_conflicts,
)
