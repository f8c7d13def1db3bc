"""Expected decisions, written down in a file, and whether a policy still gives them.

```yaml
- {check: [email, send, 0.9], expect: VISIBLE}
- {check: [email, delete_vip], expect: deny}
```
"""

from __future__ import annotations

import msgspec

from sayso.core.errors import MalformedRequest
from sayso.core.model import check_confidence, check_name
from sayso.core.policy import Policy
from sayso.policy.document import Node, parse
from sayso.policy.probe import probe
from sayso.policy.problems import PolicyProblems, Problem, meant

OUTCOMES = ("SILENT", "VISIBLE", "FORCED", "BLOCKED")
VERDICTS = ("allow", "ask", "deny")
EXAMPLE = "- {check: [email, send, 0.9], expect: ask}"


class Expectation(msgspec.Struct, frozen=True):
    """One line of the file."""

    operation: str
    confidence: float
    expected: str
    line: int


class Result(msgspec.Struct, frozen=True):
    """What was expected and what came out."""

    expectation: Expectation
    got: str
    reason: str

    @property
    def passed(self) -> bool:
        return self.got == self.expectation.expected


def read_expectations(text: str, *, name: str = "tests") -> tuple[Expectation, ...]:
    """The expectations in this text. PolicyProblems, with all of them, if there is any problem in it."""
    tree, problems = parse(
        text.encode(errors="surrogatepass"), name, empty=f"expected decisions are a list: {EXAMPLE}"
    )
    if problems:
        raise PolicyProblems(problems)
    if not isinstance(tree.value, list) or not tree.value:
        raise PolicyProblems([_problem(tree, "expected decisions are a list", name)])
    found = [_expectation(node, name) for node in tree.value]
    problems = [one for one in found if isinstance(one, Problem)]
    if problems:
        raise PolicyProblems(problems)
    return tuple(one for one in found if isinstance(one, Expectation))


def run(expectations: tuple[Expectation, ...], policy: Policy, *, now: float = 0.0) -> tuple[Result, ...]:
    """Each expectation with what the policy decides, taken as just reviewed."""
    return tuple(_result(one, policy, now) for one in expectations)


def _result(expectation: Expectation, policy: Policy, now: float) -> Result:
    try:
        decision = probe(policy, expectation.operation, confidence=expectation.confidence, now=now)
    except MalformedRequest as error:
        return Result(expectation, "refused", str(error))
    got = decision.outcome if expectation.expected in OUTCOMES else decision.verdict.value
    return Result(expectation, got, decision.reason)


def _expectation(node: Node, source: str) -> Expectation | Problem:
    entry = node.value
    if not isinstance(entry, dict) or set(entry) != {"check", "expect"}:
        return _problem(node, "an entry has check and expect, and nothing else", source)
    check, expected = entry["check"].value, entry["expect"].value
    if not isinstance(check, list) or not 2 <= len(check) <= 3:
        return _problem(entry["check"], "check is [domain, action] or [domain, action, confidence]", source)
    if expected not in (*OUTCOMES, *VERDICTS):
        words = (*OUTCOMES, *VERDICTS)
        hint = meant(str(expected), words, f"use {', '.join(words)}")
        return _problem(entry["expect"], f"unknown decision {expected!r}", source, hint)
    operation = f"{check[0].value}.{check[1].value}"
    confidence = check[2].value if len(check) > 2 else 0.0
    try:
        check_name(operation)
        check_confidence(confidence)  # type: ignore[arg-type]  # that is what it checks
    except MalformedRequest as error:
        return _problem(entry["check"], error.message, source, error.hint or "")
    return Expectation(operation, float(confidence), str(expected), node.line)  # type: ignore[arg-type]


def _problem(node: Node, message: str, source: str, hint: str = EXAMPLE) -> Problem:
    return Problem(node.line, node.column, message, hint, source)
