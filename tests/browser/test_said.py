"""The word about what was done: on no page does it cover what is read."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from sayso.gate.sessions.operator_grants import give_grant
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk

SIZES = [{"width": 1280, "height": 800}, {"width": 360, "height": 740}]
TOPMOST = """() => {
  const over = [...document.querySelectorAll(".top, #said")];
  const edge = Math.max(...over.map((one) => one.getBoundingClientRect().bottom));
  const rows = [...document.querySelectorAll("tbody tr")];
  return rows.findIndex((row) => row.getBoundingClientRect().top >= edge);
}"""


@pytest.mark.parametrize("size", SIZES, ids=["desk", "phone"])
def test_a_word_about_what_was_done_covers_no_row_that_is_read(
    desk: Desk, signed_in: SignedIn, size: dict[str, int]
) -> None:
    session = desk.session()
    for number in range(30):
        give_grant(desk.gate, session, by="ana", command=f"make {number}", minutes=60)
    page = signed_in("/grants", viewport=size)
    expect(page.locator("tbody tr")).to_have_count(30)
    page.locator("tbody tr").nth(12).evaluate("row => scrollBy(0, row.getBoundingClientRect().top - 60)")
    before = page.evaluate(TOPMOST)
    assert before > 5
    page.evaluate("import('/web/lib/parts.js').then((parts) => parts.say('This was done. '.repeat(9)))")
    expect(page.locator("#said p")).to_be_visible()
    assert page.evaluate(TOPMOST) == before
    page.locator("#said p").click()
    expect(page.locator("#said p")).to_have_count(0)
    assert page.evaluate(TOPMOST) == before


def test_a_history_without_a_filter_never_says_that_nothing_fits(signed_in: SignedIn) -> None:
    page = signed_in("/history")
    expect(page.get_by_text("Nothing was decided yet.")).to_be_visible()
    page.get_by_label("agent").or_(page.get_by_placeholder("agent")).first.fill("nobody")
    expect(page.get_by_text("Nothing was decided that fits.")).to_be_visible()
