"""What a mutant has to get past: the cheapest check first, and it stops at the first failure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pytest

from tests.vectors import vector_files

WORLDS = 4_000
EACH = 800
"""Worlds for each property of the slow files."""
QUIET: tuple[str, ...] = (
    "-x",
    "-q",
    "--no-header",
    "--assert=plain",
    "--hypothesis-profile=ci",
    "-p",
    "no:cacheprovider",
)
QUIET += ("-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning")
UNIT, PROPERTY, ATTACK = "tests/unit", "tests/property", "tests/attack"
DECIDING = (
    f"{UNIT}/core/deciding/test_rules.py",
    f"{UNIT}/core/deciding/test_decide.py",
    f"{UNIT}/core/deciding/test_found_cases.py",
    f"{ATTACK}/test_forged_requests.py",
)
CONVERSATION = (
    f"{UNIT}/core/conversation/test_message_effects.py",
    f"{UNIT}/core/deciding/test_questions.py",
    f"{UNIT}/core/conversation/test_lifecycle.py",
    f"{UNIT}/core/deciding/test_offers.py",
    f"{UNIT}/core/conversation/test_assent.py",
    f"{UNIT}/core/conversation/test_hear.py",
    f"{UNIT}/core/conversation/test_plan_consent.py",
)
READING = (
    f"{UNIT}/core/conversation/test_message.py",
    f"{UNIT}/core/conversation/test_message_lists.py",
    f"{UNIT}/core/text/test_unmask.py",
    f"{UNIT}/core/text/test_phrases.py",
    f"{UNIT}/core/plans/test_plan.py",
    f"{UNIT}/core/plans/test_reading.py",
    f"{UNIT}/core/plans/test_edit.py",
    f"{PROPERTY}/test_language_properties.py",
    f"{PROPERTY}/test_plan_properties.py",
    f"{ATTACK}/test_hidden_plan_text.py",
    f"{ATTACK}/test_injected_message_text.py",
)
SLOW = (
    f"{PROPERTY}/test_conversation_machine.py",
    f"{PROPERTY}/test_decision_properties.py",
    f"{PROPERTY}/test_offers.py",
)
"""For every module, but only when asked to be thorough: each survivor costs them all."""
AUDIT = (
    f"{UNIT}/core/audit/test_entry.py",
    f"{UNIT}/core/audit/test_commitments.py",
    f"{UNIT}/core/audit/test_merkle.py",
    f"{UNIT}/core/audit/test_checkpoint.py",
    f"{PROPERTY}/test_audit_corruptions.py",
    f"{ATTACK}/test_forged_audit.py",
)
TRAIL = (
    "audit.entry",
    "audit.bulk",
    "audit.chain",
    "audit.merkle",
    "audit.checkpoint",
    "audit.commitments",
    "audit.receipt",
    "audit.verify",
)
NOT_DECIDING = frozenset({"ledger", *TRAIL})
"""Modules that no decision looks at: worlds and vectors have nothing to say about them."""
FILES: dict[str, Sequence[str]] = {
    "digest": (
        f"{UNIT}/core/test_digest.py",
        f"{ATTACK}/test_forged_requests.py",
    ),
    "ledger": (f"{UNIT}/core/test_ledger.py",),
    **dict.fromkeys(
        ("session.state", "session.applying"), (f"{UNIT}/core/test_session.py", *DECIDING, *CONVERSATION)
    ),
    "model": (f"{UNIT}/core/test_model.py", *DECIDING, f"{UNIT}/policy/test_load.py"),
    "policy": (f"{UNIT}/core/test_policy.py", *DECIDING, f"{UNIT}/policy/test_load.py"),
    "decision": (f"{UNIT}/core/test_model.py", *DECIDING),
    **dict.fromkeys(("deciding.rules", "deciding.subject", "deciding.decide", "grants"), DECIDING),
    **dict.fromkeys(
        ("deciding.offers", "deciding.questions", "conversation.clearing"), (*DECIDING, *CONVERSATION)
    ),
    **dict.fromkeys(
        (
            *(f"conversation.replies.{name}" for name in ("answers", "asked", "naming", "plans")),
            "conversation.hear",
            "conversation.hearing",
            "conversation.consents",
            "conversation.lifecycle",
        ),
        CONVERSATION,
    ),
    **dict.fromkeys(TRAIL, AUDIT),
}
"""The tests that speak of a module; for the modules that read messages and plans, READING."""


class Cases(NamedTuple):
    """Cases that are made once and judged for every mutant: worlds with answers, vectors with policies."""

    worlds: Iterable[tuple[str, Any, Any]]
    vectors: Iterable[tuple[Any, Any]]


def ready() -> Cases:
    cases = _made()
    return Cases(list(cases.worlds), list(cases.vectors))


def _made() -> Cases:
    """The random worlds with the second evaluator's answers, the vectors with their policies; as needed."""
    from tests.property.oracle import verdict_of
    from tests.property.worlds import bulk
    from tests.vectors.test_vectors import VECTORS, in_mode

    worlds = ((name, world, verdict_of(*world.parts)) for name, world in bulk(0, WORLDS))
    return Cases(worlds, ((vector, in_mode(vector)) for vector in VECTORS))


def keep_vectors() -> None:
    """Reading the vectors' files takes seconds, and no mutant alters it: they are read once."""
    vector_files.vectors()


def caught_by(module: str, cases: Cases | None, thorough: bool = False) -> str | None:
    """The check that notices; None if the mutant survives them all."""
    files = (*FILES.get(module, READING), *(SLOW if thorough else ()))
    if module in NOT_DECIDING:
        return _tests(files)
    if cases is None:  # making them takes longer than the tests
        cases = _made()
        return _tests(files) or _worlds(cases) or _vectors(cases)
    return _worlds(cases) or _vectors(cases) or _tests(files)


def _worlds(cases: Cases) -> str | None:
    from tests.property.test_second_evaluator import core_answer

    return next((f"world {name}" for name, world, want in cases.worlds if core_answer(world) != want), None)


def _vectors(cases: Cases) -> str | None:
    from sayso.gate.sessions.play import Player
    from tests.vectors.test_vectors import hold, played

    for vector, policy in cases.vectors:
        player = Player(policy)
        try:
            for number, step in enumerate(vector.steps, 1):
                hold(vector, number, step, played(policy, player, step))
        except AssertionError:
            return f"vector {vector.id}"
    return None


def _tests(files: Sequence[str]) -> str | None:
    from tests.property.shrinking import hold

    assert hold.__kwdefaults__ is not None
    hold.__kwdefaults__["count"] = EACH
    caught = _Caught()
    code = pytest.main([*QUIET, *files], plugins=[caught])
    return None if code == pytest.ExitCode.OK else caught.name


class _Caught:
    """Remembers which test failed."""

    name = "collecting the tests"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.name = report.nodeid
