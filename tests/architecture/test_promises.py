"""What SECURITY.md promises: every test it names exists."""

from __future__ import annotations

import re

from tests.support.repository import ROOT
from tests.support.rows import each_row

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
FILES = sorted(set(re.findall(r"tests/[\w/]+\.py", PAGE)))
NAMED = sorted(set(re.findall(r"::(test_\w+)", PAGE)))


def test_the_page_names_tests() -> None:
    assert len(FILES) > 20
    assert len(NAMED) > 5


@each_row("file", FILES)
def test_a_file_that_holds_a_promise_has_tests(file: str) -> None:
    assert re.search(
        r"def test_|\.TestCase|^class Test|^Test", (ROOT / file).read_text("utf-8"), re.MULTILINE
    )


@each_row("name", NAMED)
def test_a_test_that_holds_a_promise_exists(name: str) -> None:
    found = [one for one in FILES if f"def {name}" in (ROOT / one).read_text(encoding="utf-8")]
    assert found, name
