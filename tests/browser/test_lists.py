"""Lists longer than a page: the oldest first, more on demand, and nothing that waits is ever passed over."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

from sayso.gate.questions.answer import answer_question
from sayso.gate.sessions.operator_grants import give_grant
from sayso.service.api import sessions as listing
from sayso.service.api.asking.questions import PAGE
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import wait_for_value, wait_settled, wait_until
from tests.browser.test_pages import no_violations

MAKES_ROOM = 12_000
"""Milliseconds after which no question is shown any more that somebody else answered."""
A_SESSION = 20
"""As many questions as one may have open."""


def asked(desk: Desk, count: int) -> list[str]:
    """So many questions, none like another, in the order they were asked."""
    sessions = [desk.session() for _ in range(-(-count // A_SESSION))]
    return [
        desk.ask(sessions[number // A_SESSION], "files.edit", tool=f"edit_{number:03}", args={"path": "a.py"})
        for number in range(count)
    ]


def wait_shown(page: Page, questions: list[str]) -> None:
    """These are listed, in this order."""
    found = "[...document.querySelectorAll('.list [data-id]')].map((row) => row.dataset.id)"
    wait_for_value(page, lambda: page.evaluate(found), questions)


def deny(desk: Desk, questions: list[str]) -> None:
    """Somebody else answers these."""
    for question in questions:
        assert answer_question(desk.gate, question, "deny", by="bo").yours


def next_page_held(page: Page, act: Callable[[], None]) -> Route:
    """The request for the next page that this leads to. It waits until the test lets it go."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/v1/questions?*", hold, times=1)
    act()
    wait_until(page, lambda: held)
    return held[0]


def test_the_inbox_shows_the_oldest_first_and_more_on_demand(desk: Desk, signed_in: SignedIn) -> None:
    questions = asked(desk, PAGE + 12)
    page = signed_in()
    rows = page.locator(".list [data-id]")
    expect(rows).to_have_count(PAGE)
    wait_shown(page, questions[:PAGE])
    expect(page.locator(".count").first).to_have_text(f"{PAGE}+")
    with page.expect_response("**/v1/questions"):  # the list, because there is a new session
        late = desk.edit(desk.session(), "late.py")
    wait_settled(page)
    page.get_by_role("button", name="Show the next questions").click()
    expect(rows).to_have_count(PAGE + 13)
    wait_shown(page, [*questions, late])
    expect(page.get_by_role("button", name="Show the next questions")).to_have_count(0)


def test_the_keyboard_goes_on_into_the_next_page(desk: Desk, signed_in: SignedIn) -> None:
    questions = asked(desk, PAGE + 2)
    page = signed_in()
    expect(page.locator(".list [data-id]")).to_have_count(PAGE)
    page.locator(f'.list [data-id="{questions[PAGE - 1]}"]').click()
    page.keyboard.press("j")
    expect(page.locator(".list [aria-current]")).to_have_attribute("data-id", questions[PAGE])
    wait_shown(page, questions)


def test_the_next_page_counts_though_the_list_is_read_again_meanwhile(
    desk: Desk, signed_in: SignedIn
) -> None:
    questions = asked(desk, PAGE + 2)
    page = signed_in()
    expect(page.locator(".list [data-id]")).to_have_count(PAGE)
    page.locator(f'.list [data-id="{questions[PAGE - 1]}"]').click()
    held = next_page_held(page, lambda: page.keyboard.press("j"))
    with page.expect_response("**/v1/questions"):
        desk.session(agent="one more")
    held.continue_()
    expect(page.locator(".list [aria-current]")).to_have_attribute("data-id", questions[PAGE])
    wait_shown(page, questions)


def test_what_was_answered_while_its_page_was_on_the_way_does_not_wait(
    desk: Desk, signed_in: SignedIn
) -> None:
    questions = asked(desk, PAGE + 2)
    page = signed_in()
    expect(page.locator(".list [data-id]")).to_have_count(PAGE)
    held = next_page_held(page, page.get_by_role("button", name="Show the next questions").click)
    told = held.fetch()
    assert questions[-1] in told.text()
    rows = page.locator(".list")
    rows.evaluate("list => { list.firstChild.id = 'drawn-before'; }")
    with page.expect_response(f"**/v1/questions/{questions[-1]}"):
        deny(desk, questions[-1:])
    expect(rows.locator("#drawn-before")).to_have_count(0)
    held.fulfill(response=told)
    expect(page.locator(f'.list [data-id="{questions[PAGE]}"]')).to_have_count(1)
    wait_shown(page, questions[: PAGE + 1])


def test_while_questions_wait_the_inbox_never_says_that_nothing_does(desk: Desk, signed_in: SignedIn) -> None:
    questions = asked(desk, PAGE + 5)
    page = signed_in()
    expect(page.locator(".list [data-id]")).to_have_count(PAGE)
    page.evaluate(
        """() => {
          window.saidNothing = false;
          const look = () => { window.saidNothing ||= document.body.innerText.includes("Nothing waits"); };
          new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
        }"""
    )
    deny(desk, questions[:PAGE])
    for question in questions[PAGE:]:
        expect(page.locator(f'.list [data-id="{question}"]')).to_have_count(1)
    assert page.evaluate("window.saidNothing") is False
    page.clock.install()
    deny(desk, questions[PAGE:])
    expect(page.locator(".list [data-id]").filter(has_not_text="denied by")).to_have_count(0)
    page.clock.run_for(MAKES_ROOM)
    expect(page.locator("main")).to_contain_text("Nothing waits for you")


def test_sessions_are_shown_a_page_at_a_time_and_all_of_them_are_stopped(
    desk: Desk, signed_in: SignedIn
) -> None:
    count = listing.PAGE + 3
    for number in range(count):
        desk.session(agent=f"agent {number}")
    page = signed_in("/sessions")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(listing.PAGE)
    no_violations(page)
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(count)
    expect(rows.nth(listing.PAGE)).to_be_focused()
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    page.reload()
    expect(rows).to_have_count(listing.PAGE)
    page.get_by_role("button", name="Stop all agents").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop all").click()
    expect(page.locator("#said")).to_contain_text(f"{count} stopped")
    page.get_by_role("button", name="Show more").click()
    expect(page.locator("tbody .mark", has_text=re.compile("^stopped$"))).to_have_count(count)


def test_grants_are_shown_a_page_at_a_time_and_stay_so_after_one_is_revoked(
    desk: Desk, signed_in: SignedIn
) -> None:
    session = desk.session()
    for number in range(listing.PAGE + 3):
        give_grant(desk.gate, session, by="ana", command=f"make {number}", minutes=60 + number)
    page = signed_in("/grants")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(listing.PAGE)
    expect(rows.first).to_contain_text("make 0")
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(listing.PAGE + 3)
    rows.last.get_by_role("button", name="Revoke").click()
    expect(rows).to_have_count(listing.PAGE + 2)
    expect(rows.last).to_contain_text(f"make {listing.PAGE + 1}")
