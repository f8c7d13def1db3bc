"""The word about what was done: on no page does it cover what is read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from sayso.gate.sessions.operator_grants import give_grant
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import stop_clock, wait_drawn, wait_settled

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
    page.evaluate("scrollBy(0, document.querySelectorAll('tbody tr')[12].getBoundingClientRect().top - 60)")
    before = page.evaluate(TOPMOST)
    assert before > 5
    page.evaluate("import('/web/lib/parts.js').then((parts) => parts.say('This was done. '.repeat(9)))")
    expect(page.locator("#said p")).to_be_visible()
    assert page.evaluate(TOPMOST) == before
    page.locator("#said p").click()
    expect(page.locator("#said p")).to_have_count(0)
    assert page.evaluate(TOPMOST) == before


def edges(page: Page, selector: str) -> tuple[float, float, float]:
    """The upper, lower and right edge of this."""
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["y"], box["y"] + box["height"], box["x"] + box["width"]


def tell_that_it_waits(route: Route) -> None:
    told = route.fetch()
    known = told.json()
    for one in known if isinstance(known, list) else [known]:
        one["waiting"] = True
    route.fulfill(response=told, json=known)


@pytest.mark.parametrize("size", SIZES, ids=["desk", "phone"])
def test_a_lost_connection_covers_nothing_moves_nothing_aside_and_knows_of_nobody_who_waits(
    desk: Desk, window: Callable[..., Page], size: dict[str, int]
) -> None:
    desk.edit(desk.session())
    page = window(viewport=size)
    page.route("**/v1/questions**", tell_that_it_waits)
    page.goto(desk.link())
    wait_drawn(page)
    wait_settled(page)
    expect(page.locator(".clocks")).to_contain_text("the agent waits")
    expect(page.locator(".list .clock")).to_contain_text("agent waits")
    stop_clock(page)
    page.evaluate("import('/web/lib/parts.js').then((parts) => parts.say('This was done.'))")
    page.evaluate("dispatchEvent(new Event('offline'))")
    expect(page.locator("#line")).to_contain_text("connection lost")
    expect(page.locator("#said p")).to_be_in_viewport(ratio=1)
    (_, header, _), (said, until, _) = edges(page, ".top"), edges(page, "#said")
    assert abs(said - header) <= 1
    assert until <= edges(page, ".card" if size["width"] < 720 else ".inbox")[0] + 1
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    if size["width"] < 720:
        assert edges(page, "#menu")[2] >= size["width"] - 16
    expect(page.locator(".list .clock")).to_contain_text("asked")
    expect(page.locator(".clocks")).not_to_contain_text("the agent waits")


def test_a_history_without_a_filter_never_says_that_nothing_fits(signed_in: SignedIn) -> None:
    page = signed_in("/history")
    expect(page.get_by_text("Nothing was decided yet")).to_be_visible()
    page.get_by_label("agent").or_(page.get_by_placeholder("agent")).first.fill("nobody")
    expect(page.get_by_text("No decision matches.")).to_be_visible()
