"""Every section of the seeds has its vectors, or a reason why not; and every vector is well formed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.vectors.vector_files import Vector, load, vectors

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
"""The five source documents, where somebody keeps them next to the repository."""

VECTORS = vectors()
IDS = Counter(vector.id for vector in VECTORS)
SECTIONS: Mapping[str, Mapping[str, Any]] = load("sections")
EXCUSES = ("none", "later")

VERDICTS = {
    "blocked": "deny", "trusted_channel": "deny", "approved_call": "allow", "denied_call": "deny",
    "stopped": "ask", "always_ask": "ask", "slash_command": "allow", "paranoid": "ask", "allowlist": "allow",
    "operation_grant": "allow", "fan_out": "ask", "remembered": "allow", "autonomous": "allow",
    "safe": "allow", "risky": "ask", "task_grant": "allow", "plan": "allow", "confident": "allow",
    "ask": "ask",
}  # fmt: skip
"""The rules a script can reach, and what each of them says when it speaks."""

OFFERS = ("once", "task", "temporary", "always", "remember", "deny")
KINDS = {
    "slash", "stop", "grant", "revoke", "clear", "query", "refusal", "assent", "medium", "modify", "question",
    "correction", "done", "switch", "imperative", "other",
}  # fmt: skip


def entries() -> Iterator[tuple[str, str, Any]]:
    for seed, sections in SECTIONS.items():
        for heading, covered in sections.items():
            yield seed, heading, covered


def answered_for(covered: Any) -> bool:
    """Whether a section has at least one vector, or exactly one excuse."""
    if isinstance(covered, dict):
        return len(covered) == 1 and set(covered) <= set(EXCUSES)
    return isinstance(covered, list) and bool(covered)


def named() -> set[str]:
    """The ids that the sections name."""
    return {name for _, _, covered in entries() if isinstance(covered, list) for name in covered}


def expectations(key: str) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Every expectation of this key: the vector's id, the value, and all that is expected with it."""
    for vector in VECTORS:
        for step in vector.steps:
            if key in step.expect:
                yield vector.id, step.expect[key], step.expect


def headings(text: str) -> list[str]:
    """The headings of a seed: lines with a pilcrow at the end, or with hashes outside fenced blocks."""
    lines = text.splitlines()
    marked = [line for line in lines if line.endswith("¶")]
    if marked:
        return marked
    found, fenced = [], False
    for line in lines:
        fenced ^= line.startswith("```")
        if not fenced and re.match(r"#+ ", line):
            found.append(line)
    return found


def test_every_section_has_vectors_or_says_why_not() -> None:
    assert [(seed, heading) for seed, heading, covered in entries() if not answered_for(covered)] == []


def test_every_excuse_gives_a_reason() -> None:
    excuses = [covered for _, _, covered in entries() if isinstance(covered, dict)]
    assert excuses
    assert all(isinstance(reason, str) and reason.strip() for excuse in excuses for reason in excuse.values())


def test_every_vector_that_a_section_names_exists() -> None:
    assert named() - set(IDS) == set()


def test_no_id_is_given_twice() -> None:
    assert [name for name, count in IDS.items() if count > 1] == []


def test_every_vector_of_a_seed_is_named_by_one_of_its_sections() -> None:
    assert {name for name in IDS if re.match(r"s\d{3}-", name)} - named() == set()


def test_a_vector_of_a_seed_says_which_seed() -> None:
    wrong = [
        vector.id
        for vector in VECTORS
        if (seed := re.match(r"s(\d{3})-", vector.id)) and not vector.source.startswith(seed[1])
    ]
    assert wrong == []


def test_the_headings_are_those_of_the_seeds() -> None:
    """Compares with the real documents where they are at hand; otherwise the copied list has to do."""
    real = {path.name[:3]: headings(path.read_text(encoding="utf-8")) for path in sorted(SEEDS.glob("*.txt"))}
    copied = {seed: list(sections) for seed, sections in SECTIONS.items() if seed in real or not real}
    assert copied == (real or copied)
    assert list(SECTIONS) == ["000", "001", "002", "003", "004"]


def test_headings_are_found_outside_fenced_blocks_only() -> None:
    assert headings("# A\n```bash\n# a comment\n```\ntext\n## B\n#no heading") == ["# A", "## B"]
    assert headings("One¶\n# not one\nTwo¶") == ["One¶", "Two¶"]


@pytest.mark.parametrize("rule", VERDICTS)
def test_every_rule_within_reach_speaks_in_a_vector_of_its_own(rule: str) -> None:
    speaking = {name for name, said, _ in expectations("rule") if said == rule and name.startswith("rule-")}
    assert len(speaking) >= 2


def test_a_rule_is_expected_with_its_verdict() -> None:
    wrong = [
        (name, rule)
        for name, rule, expect in expectations("rule")
        if expect.get("verdict", VERDICTS[rule]) != VERDICTS[rule]
    ]
    assert wrong == []


def test_offers_are_known_and_in_their_order() -> None:
    wrong = [
        (name, offers)
        for name, offers, expect in expectations("offers")
        if offers != [offer for offer in OFFERS if offer in offers]
        or (expect.get("verdict") == "ask" and (offers[0], offers[-1]) != ("once", "deny"))
    ]
    assert wrong == []


def test_kinds_are_those_a_message_can_be() -> None:
    assert {kind for _, kind, _ in expectations("kind")} <= KINDS


def test_a_vector_has_one_policy_and_expects_something() -> None:
    wrong = [
        vector.id
        for vector in VECTORS
        if (vector.preset is None) is (vector.policy is None) or not any(step.expect for step in vector.steps)
    ]
    assert wrong == []


def test_nothing_is_played_after_a_refused_step() -> None:
    """The command line ends a script there, so what follows could not be compared."""

    def early(vector: Vector) -> bool:
        return vector.is_script and any("refused" in step.expect for step in vector.steps[:-1])

    assert [vector.id for vector in VECTORS if early(vector)] == []
