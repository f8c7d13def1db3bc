"""A project's own file over the operator's policy: it may make things stricter, and nothing else."""

from __future__ import annotations

from sayso.core.errors import PolicyError
from sayso.core.policy import Policy
from sayso.policy.compare.diff import compare_policies, difference_lines
from sayso.policy.load import lay_over


class PolicyLoosens(PolicyError):
    """A file that may only tighten, and does not. The policy in force stays as it is."""

    code = "policy_loosens"


def tighten(policy: Policy, text: str, *, name: str = ".sayso.yaml") -> Policy:
    """The policy with this project's file over it. Loosens if anything at all becomes looser by it."""
    tightened = lay_over(policy, text, name=name)
    if _sets_titles(policy, tightened):
        raise PolicyLoosens(f"{name} may not set `title`, which operators see: leave it out")
    loosened = "\n".join(_loosened_lines(policy, tightened))
    if loosened:
        raise PolicyLoosens(f"{name} may only tighten the policy, and would loosen it:\n{loosened}")
    return tightened


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
