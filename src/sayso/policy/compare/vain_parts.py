"""A project's own file over the operator's policy: parts without effect, because it can only tighten."""

from __future__ import annotations

from sayso.core.policy import Policy
from sayso.policy.compare.diff import compare_policies
from sayso.policy.compare.other_change import OtherChange
from sayso.policy.load import lay_over


def find_vain_parts(policy: Policy, text: str, *, name: str = ".sayso.yaml") -> list[str]:
    """Return the parts of a project's file that have no effect, because it can only tighten; a line each.

    How it reads calls does have an effect: the findings of both readings add up.
    """
    laid = lay_over(policy, text, name=name)
    found = compare_policies(policy, laid)
    titles = ["`title`: what people see is the operator's"] if _sets_titles(policy, laid) else []
    other = (str(one) for one in found.beyond if one.loosens and not _reads_calls(one))
    return [*titles, *map(str, found.loosened), *other]


def _sets_titles(policy: Policy, laid: Policy) -> bool:
    return bool({one.title for one in laid.tools} - {one.title for one in policy.tools})


def _reads_calls(change: OtherChange) -> bool:
    return change.what.startswith(("tool ", "program ")) or change.what.endswith(" lists")
