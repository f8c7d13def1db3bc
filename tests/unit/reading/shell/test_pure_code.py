"""Programs that only compute: the table is `pure_code.yaml`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sayso.reading.shell.languages.pure_code import (
    node_only_computes,
    python_modules_of,
    python_only_computes,
)
from sayso.reading.shell.languages.pure_names import PYTHON_MODULES

TABLE: dict[str, dict[str, list[str]]] = YAML(typ="safe").load(
    Path(__file__).with_suffix("").with_name("pure_code.yaml").read_text()
)
READERS: dict[str, Callable[[str], bool]] = {"python": python_only_computes, "node": node_only_computes}
ROWS = [
    pytest.param(language, text, kind == "pure", id=f"{language}-{kind}-{number}")
    for language, kinds in TABLE.items()
    for kind, texts in kinds.items()
    for number, text in enumerate(texts)
]
LARGE = (
    "(", "[", "{", "-", "!", "`${", "x=>", "[1,", "1+", "not ", "a.b", "lambda:", "f'{", "x if y else ",
    "//a\n", "/*",
    "/a", "'", "/[", "`$", "1_", "if 1:\n ", "a[", "(a:=(b:=", "print(1)\n", "console.log(1);", "\\",
    "{a:", "**", "9**",
)  # fmt: skip
OPERATORS = "!== != === == ** * ?? ? ?. && || >= > <= < => ... . + - , ; : !"


@pytest.mark.parametrize(("language", "text", "expected"), ROWS)
def test_a_program_is_called_pure_only_if_it_computes_and_prints(
    language: str, text: str, expected: bool
) -> None:
    assert READERS[language](text) is expected


@pytest.mark.parametrize("language", READERS)
@pytest.mark.parametrize("piece", LARGE)
def test_a_large_or_deep_text_is_refused_and_never_raises(language: str, piece: str) -> None:
    reads = READERS[language]
    assert not reads(piece * 20_000)
    for times in (9_999 // len(piece), 1_499 // len(piece), 199, 41):
        assert reads(piece * times + "1") in (True, False)


@pytest.mark.parametrize("language", READERS)
def test_a_text_that_cannot_be_encoded_is_refused(language: str) -> None:
    assert not READERS[language]("'\udc80'")


def test_the_modules_of_a_text_are_those_it_names_and_those_python_imports_unasked() -> None:
    unasked = python_modules_of("print(1)")
    assert {"traceback", "_colorize", "_pylong", "org"} <= unasked
    named = python_modules_of(
        "import os.path as p, json\ndef f(): from urllib.parse import quote\nfrom . import x"
    )
    assert named - unasked == {"os", "json", "urllib", ""}


def test_each_listed_module_is_of_the_standard_library() -> None:
    assert all(name.partition(".")[0] in sys.stdlib_module_names for name in PYTHON_MODULES)


@pytest.mark.parametrize("operator", OPERATORS.split())
def test_a_long_row_of_operators_is_read_once_and_no_more(operator: str) -> None:
    for row in (operator, f"a{operator}", f"1 {operator} "):
        assert not node_only_computes(f"{row * 300}#")
