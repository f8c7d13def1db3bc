"""A row of the history opens wherever it is pressed, and a call that failed says why."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Route, expect

from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.start import start_call
from sayso.gate.questions.answer import answer_question
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.test_pages import edit_call

SIZES = [{"width": 1280, "height": 800}, {"width": 360, "height": 740}]


def failed_call(desk: Desk) -> None:
    session = desk.session()
    answer_question(desk.gate, desk.edit(session), "once", by="ana")
    attempt = start_call(desk.gate, edit_call(session), holder="desk")
    assert attempt.runs
    end_call(desk.gate, attempt.call, attempt.fence, "failed", unkept="OSError: <b>disk full</b>")


@pytest.mark.parametrize("viewport", SIZES, ids=["desk", "phone"])
def test_a_row_opens_wherever_it_is_pressed_and_tells_why_the_call_failed(
    desk: Desk, signed_in: SignedIn, viewport: dict[str, int]
) -> None:
    failed_call(desk)
    page = signed_in("/history", viewport=viewport)
    row = page.locator("tbody tr.opens")
    expect(row.locator(".chevron")).to_be_visible()
    row.locator("td", has_text="ana").click()
    expect(page.locator(".story")).to_contain_text("Failed: OSError: <b>disk full</b>")
    expect(row.locator("button.call")).to_have_attribute("aria-expanded", "true")
    row.locator(".risk").click()
    expect(page.locator(".story")).to_be_hidden()
    row.locator("button.call").click()
    expect(page.locator(".story")).to_be_visible()
    page.locator(".story").click()
    expect(page.locator(".story")).to_be_visible()


def test_rules_are_told_in_plain_words(desk: Desk, signed_in: SignedIn) -> None:
    desk.push(desk.session())
    page = signed_in("/history")
    expect(page.locator("tbody tr.opens")).to_contain_text("high risk asks")
    expect(page.get_by_role("searchbox")).to_have_attribute("placeholder", "search what ran")
    page.goto(desk.url + "/audit")
    expect(page.locator("tbody")).to_contain_text("ASKED")
    expect(page.locator("td.wide").first).to_be_visible()
    expect(page.locator("td.wide", has_text=re.compile(r"^- \|"))).to_have_count(0)
    page.goto(desk.url + "/figures")
    expect(page.locator("main")).to_contain_text("1 question asked, 0 avoided by earlier answers.")
    expect(page.locator("main")).to_contain_text("denied without asking")


def test_a_search_that_finds_nothing_yet_says_so_and_gives_way_to_the_next(
    desk: Desk, signed_in: SignedIn
) -> None:
    desk.push(desk.session())
    page = signed_in("/history")
    held: list[Route] = []

    def search(route: Route) -> None:
        """The first page of the search is empty and leads to another, which is held back."""
        if "before=" in route.request.url:
            held.append(route)
        else:
            more = '</v1/history?limit=50&text=nothing&before=main%3A4>; rel="next"'
            route.fulfill(json=[], headers={"Link": more})

    expect(page.locator("tbody tr.opens")).to_have_count(1)
    page.route(re.compile(r"/v1/history\?.*text=nothing"), search)
    page.get_by_role("searchbox").fill("nothing")
    expect(page.get_by_role("status").filter(has_text="none matches yet")).to_be_visible()
    expect(page.locator("tbody tr.opens")).to_have_count(0)
    page.get_by_role("searchbox").fill("")
    expect(page.locator("tbody tr.opens")).to_have_count(1)
    (last,) = held
    with page.expect_response(last.request.url):
        last.fulfill(json=[], headers={"Link": '</v1/history?text=nothing&before=main%3A3>; rel="next"'})
    page.get_by_role("searchbox").fill("git push")
    expect(page.locator("tbody tr.opens")).to_have_count(1)
    assert held == [last], "nobody looks for it any more"
