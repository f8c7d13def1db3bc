"""What lies over a question: a word of the page covers neither the call nor its buttons, and a covered call
is not a call that was seen."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from sayso.gate.questions.wait import load_question_row
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import HELD, expect_open, hold, open_first, read_on, read_to_the_end

SIZES = ((360, 740), (1280, 800), (720, 500), (1000, 700))
LONG = "echo " + "all is well with the tests and the build " * 30

COVER = """() => {
  const cover = document.createElement("div");
  cover.id = "cover";
  const box = document.querySelector(".card .hero").getBoundingClientRect();
  const places = `left: ${box.left}px; top: ${box.top}px; width: ${box.width}px; height: ${box.height}px`;
  cover.style.cssText = `position: fixed; z-index: 99; background: black; ${places}`;
  document.body.append(cover);
}"""


def boxes_apart(page: Page, one: str, other: str) -> bool:
    first, second = page.locator(one).bounding_box(), page.locator(other).bounding_box()
    assert first is not None
    assert second is not None
    across = first["x"] + first["width"] <= second["x"] or second["x"] + second["width"] <= first["x"]
    above = first["y"] + first["height"] <= second["y"]
    return across or above or second["y"] + second["height"] <= first["y"]


@pytest.mark.parametrize("answer", ["Deny", "Hold to allow once"])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_word_about_the_last_answer_covers_nothing_of_the_next_question(
    desk: Desk, signed_in: SignedIn, width: int, height: int, answer: str
) -> None:
    session = desk.session()
    desk.ask(session, "git.push_force", command=LONG)
    desk.ask(session, "git.push_force", command="rm -rf /home/ana/sayso-demo/src")
    page = signed_in(viewport={"width": width, "height": height})
    open_first(page)
    expect(page.locator(".card")).to_contain_text("all is well")
    read_to_the_end(page)
    page.get_by_role("button", name=answer).click(delay=HELD)
    expect(page.locator(".card")).to_contain_text("rm -rf")
    expect(page.locator("#said p")).to_be_visible()
    for part in (".card", ".card-head", ".card .hero", ".bar", ".top"):
        assert boxes_apart(page, "#said p", part), part
    row = page.locator("#said p").bounding_box()
    assert row is not None
    assert row["height"] < 45
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.scrollHeight") <= height


def test_a_long_complaint_of_the_page_is_read_whole_and_covers_nothing(
    desk: Desk, signed_in: SignedIn
) -> None:
    desk.edit(desk.session())
    page = signed_in(viewport={"width": 360, "height": 740})
    refused = '{"detail": "this is not possible here, and the reason takes a good many words to tell"}'
    page.route("**/answer", lambda route: route.fulfill(status=409, body=refused))
    page.get_by_role("button", name="Allow once").click()
    said = page.locator("#said p")
    expect(said).to_contain_text("a good many words to tell")
    assert said.evaluate("said => said.scrollWidth <= said.clientWidth")
    for part in (".card", ".bar", ".top"):
        assert boxes_apart(page, "#said p", part), part


def test_a_call_that_something_covers_is_not_allowed_at_high_risk(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    first = desk.push(session)
    second = desk.ask(session, "git.push_force", command="rm -rf /home/ana/sayso-demo/src")
    page = signed_in(viewport={"width": 360, "height": 740})
    open_first(page)
    expect(page.locator(".card")).to_contain_text("git push --force")
    page.evaluate(COVER)
    page.get_by_role("button", name="Deny").click()
    expect(page.locator(".card")).to_contain_text("rm -rf")
    expect(read_on(page)).to_be_visible()
    page.keyboard.press("a")
    expect_open(desk, page, second)
    page.locator("#cover").evaluate("cover => cover.remove()")
    read_to_the_end(page)
    hold(page)
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert [load_question_row(desk.gate, one).answer for one in (first, second)] == ["deny", "once"]
