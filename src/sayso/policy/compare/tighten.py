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
    if {one.title for one in tightened.tools} - {one.title for one in policy.tools}:
        raise PolicyLoosens(f"{name} may not set `title`, which operators see: leave it out")
    found = compare_policies(policy, tightened)
    if found.loosens:
        loosened = "\n".join(line for line in difference_lines(found) if line.startswith("loosened"))
        raise PolicyLoosens(f"{name} may only tighten the policy, and would loosen it:\n{loosened}")
    return tightened
