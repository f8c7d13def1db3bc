"""What a policy tightened against the one before it: approvals that were given before end with that.

In doubt an operation counts as tightened: then it is asked about once more.
"""

from __future__ import annotations

from sayso.core.model import Tier
from sayso.core.policy import Entry, Policy
from sayso.core.team import answers_are_lost, rule_is_implied
from sayso.policy.compare.strictest import find_entry, reads_alike, settings_tighten_only

EVERYTHING = ""


def find_tightenings(before: Policy, after: Policy) -> frozenset[str]:
    """Return the operations that the policy is stricter with now; "" if that may be so for any."""
    if before.digest == after.digest:
        return frozenset()
    if _is_stricter_throughout(before, after):
        return frozenset({EVERYTHING})
    names = {**before.table, **after.table}
    stricter = [name for name in names if _is_stricter(find_entry(name, before), find_entry(name, after))]
    return frozenset((*stricter, *_find_taken_away(before, after)))


def _find_taken_away(before: Policy, after: Policy) -> list[str]:
    """Return the operations that a slash command or a workflow has no longer."""
    return [
        operation
        for was, now in ((before.slash_commands, after.slash_commands), (before.workflows, after.workflows))
        for name, one in was.items()
        for operation in one.operations
        if name not in now or operation not in now[name].operations
    ]


def _is_stricter_throughout(before: Policy, after: Policy) -> bool:
    """Return whether more than single operations became stricter: settings, people, workflows, readings."""
    if not settings_tighten_only(after, before) or after.barred_domains - before.barred_domains:
        return True
    if not all(rule_is_implied(rule, after.team, before.team) for rule in after.team.approvals):
        return True
    if answers_are_lost(before.team, after.team):
        return True
    if after.workflows.keys() - before.workflows.keys():  # before, these could have any operation
        return True
    known = before.readings or (before,)
    return not all(any(reads_alike(one, other) for other in known) for one in after.readings or (after,))


def _is_stricter(then: Entry | None, now: Entry | None) -> bool:
    """Return whether an approval of an operation that the policy said `then` of may not count under `now`."""
    if then == now:
        return False
    if then is None or now is None or (now.trusted_channel and not then.trusted_channel):
        return True
    if then.accepted and not now.accepted:
        return True
    if (now.always_ask and not then.always_ask) or now.tier not in (then.tier, Tier.AUTONOMOUS):
        return True
    return _may_weigh_more(then, now) or _may_be_riskier(then, now)


def _may_weigh_more(then: Entry, now: Entry) -> bool:
    if then.weight == now.weight:
        return False
    return then.weight is None or now.weight is None or now.weight > then.weight


def _may_be_riskier(then: Entry, now: Entry) -> bool:
    if (then.floor is None) != (now.floor is None):
        return True
    higher = then.floor is not None and now.floor is not None and now.floor > then.floor
    return higher or (_has_final_risk(then) and not _has_final_risk(now))


def _has_final_risk(entry: Entry) -> bool:
    """Return whether the operator's own file sets the risk, so that declarations do not raise it."""
    return entry.risk is not None and not entry.preset
