"""Tests of the page wait for it: what they read at once is, on a slow machine, what was there before."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.repository import ROOT
from tests.support.rows import each_row

HELPERS = "reading.py"
"""The one file that may look at a page without waiting, because it looks again until it is drawn."""
FILES = [path for path in sorted((ROOT / "tests" / "browser").glob("*.py")) if path.name != HELPERS]
AT_ONCE = re.compile(
    r"\.(?:all_inner_texts|all_text_contents|all|is_visible|is_hidden|is_enabled|is_checked)\(\)"
    r"|\.count\(\) *[=!<>]|\.(?:inner_text|text_content)\(\)\.\w+\("
)
"""Instead: `expect(…)`, or `texts`, `wait_until` and `wait_for_value` of the helpers."""


@each_row("path", FILES, ids=lambda path: path.name)
def test_no_test_of_the_page_reads_it_without_waiting(path: Path) -> None:
    assert [found[0] for found in AT_ONCE.finditer(path.read_text("utf-8"))] == []


def test_a_read_that_does_not_wait_would_be_noticed() -> None:
    planted = (
        "shown = page.locator('dd').all_inner_texts()",
        "assert rows.all_text_contents() == []",
        "[one.inner_text() for one in rows.all()]",
        "assert page.locator('b').count() == 0",
        "assert body.inner_text().count('ACME') == 1",
        "assert not dialog.is_visible()",
    )
    assert [line for line in planted if not AT_ONCE.search(line)] == []
    assert len(FILES) > 20
