"""A project's own file over the operator's policy: what it says in vain, because it only tightens."""

from __future__ import annotations

from sayso.core.policy import Policy
from sayso.policy.compare.diff import compare_policies, difference_lines
from sayso.policy.load import lay_over


def find_vain_parts(policy: Policy, text: str, *, name: str = ".sayso.yaml") -> list[str]:
    """Return what a project's file says in vain, because it only tightens; one line for each part.

    How it reads calls is not in vain: what both readings find adds up.
    """
    laid = lay_over(policy, text, name=name)
    titles = ["`title`: what people see is the operator's"] if _sets_titles(policy, laid) else []
    lines = (line.removeprefix("loosened: ") for line in _loosened_lines(policy, laid))
    return [*titles, *(line for line in lines if not line.startswith(("tool ", "program ")))]


def _sets_titles(policy: Policy, laid: Policy) -> bool:
    return bool({one.title for one in laid.tools} - {one.title for one in policy.tools})


def _loosened_lines(policy: Policy, laid: Policy) -> list[str]:
    found = difference_lines(compare_policies(policy, laid))
    return [line for line in found if line.startswith("loosened")]
