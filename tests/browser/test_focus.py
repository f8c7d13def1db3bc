"""By keyboard alone: whatever goes away under the focus, it stays where the person was."""

from __future__ import annotations

from playwright.sync_api import expect

from sayso.gate.sessions.stop import stop_session
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk


def test_after_an_answer_by_keyboard_the_next_question_has_the_focus(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    desk.edit(session)
    desk.push(session)
    page = signed_in()
    deny = page.get_by_role("button", name="Deny")
    expect(deny).not_to_have_attribute("aria-disabled", "true")
    deny.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".card-body")).to_contain_text("git push")
    expect(page.locator(".card-body")).to_be_focused()


def test_escape_closes_a_row_of_the_history_and_the_focus_stays_on_it(
    desk: Desk, signed_in: SignedIn
) -> None:
    desk.push(desk.session())
    page = signed_in("/history")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("tr.opened")).to_be_visible()
    page.locator("tr.opened button").first.focus()
    page.keyboard.press("Escape")
    expect(page.locator("tr.opened")).to_be_hidden()
    expect(page.locator("tr.opens")).to_be_focused()


def test_after_all_go_on_the_focus_is_not_lost(desk: Desk, signed_in: SignedIn) -> None:
    stop_session(desk.gate, desk.session(), by="ana")
    page = signed_in("/sessions")
    page.get_by_role("button", name="Let all go on").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Sessions")).to_be_focused()
