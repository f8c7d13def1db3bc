"""Expected decisions, written down in a file, and whether a policy still gives them.

```yaml
- {check: [email, send, 0.9], expect: VISIBLE}
- {check: [email, delete_vip], expect: deny}
- {call: pay, args: {amount: 500}, expect: deny}
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sayso.core.deciding.decide import decide
from sayso.core.decision import Decision
from sayso.core.errors import MalformedRequest
from sayso.core.model import Request, check_confidence, check_name
from sayso.core.policy import Policy
from sayso.policy.parsing.document import Node, parse_document
from sayso.policy.probe import probe, view_with_reviews
from sayso.policy.problems import PolicyProblem, PolicyProblems, spelling_hint

OUTCOMES = ("SILENT", "VISIBLE", "FORCED", "BLOCKED")
VERDICTS = ("allow", "ask", "deny")
EXAMPLE = "- {check: [email, send, 0.9], expect: ask}"
CALL_EXAMPLE = "- {call: pay, args: {amount: 500}, expect: deny}"
NONE_EXPECTED = "it is empty: expected decisions are a list with at least one entry"
SHAPE = "an entry has check and expect, or call, args and expect, and nothing else"
ReadCall = Callable[[str, Mapping[str, Any], float, Policy], Request]
"""Makes the request of a call: tool, arguments, confidence and policy."""


class Expectation(msgspec.Struct, frozen=True):
    """One line of the file: an operation, or a call of a tool."""

    operation: str
    confidence: float
    expected: str
    line: int
    tool: str | None = None
    args: Mapping[str, Any] = {}

    def __str__(self) -> str:
        if self.tool is None:
            return f"{self.operation} at {self.confidence:g}"
        at = f" at {self.confidence:g}" if self.confidence else ""
        return f"{self.tool} {msgspec.json.encode(self.args).decode()}{at}"


class ExpectationResult(msgspec.Struct, frozen=True):
    """An expectation and its actual result."""

    expectation: Expectation
    got: str
    reason: str

    @property
    def passed(self) -> bool:
        return self.got == self.expectation.expected


def read_expectations(text: str, *, name: str = "tests") -> tuple[Expectation, ...]:
    """The expectations in this text. PolicyProblems, with all of them, if there is any problem in it."""
    tree, problems = parse_document(
        text.encode(errors="surrogatepass"), name, empty=f"expected decisions are a list: {EXAMPLE}"
    )
    if problems:
        raise PolicyProblems(problems)
    if tree.value == []:
        raise PolicyProblems([_problem(tree, NONE_EXPECTED, name)])
    if not isinstance(tree.value, list):
        raise PolicyProblems([_problem(tree, "expected decisions are a list", name)])
    found = [_parse_expectation(node, name) for node in tree.value]
    problems = [one for one in found if isinstance(one, PolicyProblem)]
    if problems:
        raise PolicyProblems(problems)
    return tuple(one for one in found if isinstance(one, Expectation))


def run_expectations(
    expectations: tuple[Expectation, ...], policy: Policy, read: ReadCall | None = None, *, now: float = 0.0
) -> tuple[ExpectationResult, ...]:
    """Each expectation with what the policy decides, taken as just reviewed.

    `read` makes the request of a call, as a door would; without it, calls are refused.
    """
    return tuple(_check_expectation(one, policy, read, now) for one in expectations)


def _check_expectation(
    expectation: Expectation, policy: Policy, read: ReadCall | None, now: float
) -> ExpectationResult:
    try:
        decision = _decide_expectation(expectation, policy, read, now)
    except MalformedRequest as error:
        return ExpectationResult(expectation, "refused", str(error))
    got = decision.outcome if expectation.expected in OUTCOMES else decision.verdict.value
    return ExpectationResult(expectation, got, decision.reason)


def _decide_expectation(one: Expectation, policy: Policy, read: ReadCall | None, now: float) -> Decision:
    if one.tool is None:
        return probe(policy, one.operation, confidence=one.confidence, now=now)
    if read is None:
        raise MalformedRequest("calls cannot be read here")
    request = read(one.tool, one.args, one.confidence, policy)
    return decide(request, policy, view_with_reviews(policy, now), now)


def _parse_expectation(node: Node, source: str) -> Expectation | PolicyProblem:
    entry = node.value
    if not isinstance(entry, dict) or not (set(entry) == {"check", "expect"} or _is_call(entry)):
        call = isinstance(entry, dict) and "call" in entry
        return _problem(node, SHAPE, source, CALL_EXAMPLE if call else EXAMPLE)
    expected = entry["expect"].value
    if expected not in (*OUTCOMES, *VERDICTS):
        words = (*OUTCOMES, *VERDICTS)
        hint = spelling_hint(str(expected), words, f"use {', '.join(words)}")
        return _problem(entry["expect"], f"unknown decision {expected!r}", source, hint)
    if "call" in entry:
        return _parse_call(entry, node, str(expected), source)
    check = entry["check"].value
    if not isinstance(check, list) or not 2 <= len(check) <= 3:
        return _problem(entry["check"], "check is [domain, action] or [domain, action, confidence]", source)
    operation = f"{check[0].value}.{check[1].value}"
    confidence = check[2].value if len(check) > 2 else 0.0
    try:
        check_name(operation)
        check_confidence(confidence)  # type: ignore[arg-type]  # that is what it checks
    except MalformedRequest as error:
        return _problem(entry["check"], error.message, source, error.hint or "")
    return Expectation(operation, float(confidence), str(expected), node.line)  # type: ignore[arg-type]


def _is_call(entry: Mapping[str, Node]) -> bool:
    return {"call", "expect"} <= set(entry) <= {"call", "args", "confidence", "expect"}


def _parse_call(
    entry: Mapping[str, Node], node: Node, expected: str, source: str
) -> Expectation | PolicyProblem:
    tool, args = entry["call"].value, _plain_value(entry["args"]) if "args" in entry else {}
    if not isinstance(tool, str) or not tool:
        return _problem(entry["call"], "call is the name of a tool", source, CALL_EXAMPLE)
    if not isinstance(args, dict):
        return _problem(entry["args"], "args are the tool's arguments by their names", source, CALL_EXAMPLE)
    confidence = entry["confidence"].value if "confidence" in entry else 0.0
    try:
        check_confidence(confidence)  # type: ignore[arg-type]  # that is what it checks
    except MalformedRequest as error:
        return _problem(entry["confidence"], error.message, source, error.hint or "")
    return Expectation("", float(confidence), expected, node.line, tool, args)  # type: ignore[arg-type]


def _plain_value(node: Node) -> Any:
    """The value alone, without its places."""
    if isinstance(node.value, dict):
        return {name: _plain_value(one) for name, one in node.value.items()}
    return [_plain_value(one) for one in node.value] if isinstance(node.value, list) else node.value


def _problem(node: Node, message: str, source: str, hint: str = EXAMPLE) -> PolicyProblem:
    return PolicyProblem(node.line, node.column, message, hint, source)
