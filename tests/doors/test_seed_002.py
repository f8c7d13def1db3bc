"""Every paragraph of the gateway's document has tests that hold us to it, or says why it has none."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

HERE = Path(__file__).parent
SEEDS = HERE.parents[2] / "shared" / "seeds"
"""The source documents, where somebody keeps them next to the repository."""

PARAGRAPHS: list[tuple[str, Any]] = [
    (opening, covered) for opening, covered in YAML(typ="safe").load(HERE / "data" / "seed_002.yaml")
]


@cache
def written_in(file: str) -> frozenset[str]:
    tree = ast.parse((HERE.parent / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(("opening", "covered"), PARAGRAPHS, ids=[opening for opening, _ in PARAGRAPHS])
def test_a_paragraph_has_tests_that_exist_or_a_reason(opening: str, covered: Any) -> None:
    if isinstance(covered, dict):
        assert list(covered) == ["none"]
        assert covered["none"].strip()
        return
    assert covered
    for name in covered:
        file, _, test = name.partition("::")
        assert test.startswith("test_")
        assert test in written_in(file), name


def test_only_headings_and_the_deprecated_key_have_no_tests() -> None:
    untested = {reason["none"] for _, reason in PARAGRAPHS if isinstance(reason, dict)}
    assert untested == {
        "the title",
        "a heading",
        "deprecated there, not built",
        "the blanket key, deprecated there and not built",
    }


def test_the_paragraphs_are_those_of_the_document() -> None:
    """Compares with the real document where it is at hand; otherwise the list has to do."""
    for path in SEEDS.glob("002_*.txt"):
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        assert len(lines) == len(PARAGRAPHS)
        wrong = [
            (opening, line)
            for (opening, _), line in zip(PARAGRAPHS, lines, strict=True)
            if not line.startswith(opening)
        ]
        assert wrong == []
    assert len(PARAGRAPHS) == 74
