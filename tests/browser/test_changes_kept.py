"""An edit under way is not lost by looking elsewhere, and never makes room for the unedited call."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_row
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import expect_open, open_first, wait_awake

PHONE = {"width": 360, "height": 740}


def two_asked(desk: Desk) -> tuple[str, str]:
    session = desk.session()
    args = {"file_path": "danger.py", "text": "hello"}
    return desk.ask(session, "files.edit", tool="Edit", args=args, target="danger.py"), desk.edit(
        session, "b.py"
    )


def change(page: Page, to: str = "harmless.py") -> None:
    page.get_by_role("button", name="Edit…").click()
    page.get_by_label("file_path", exact=True).fill(to)
    expect(page.get_by_role("button", name="Allow the edited call")).not_to_have_attribute(
        "aria-disabled", "true"
    )
    page.locator(".editor h2").click()


def row(page: Page, question: str) -> None:
    page.locator(f'[data-id="{question}"]').click()


def by_keys(page: Page, one: str, other: str) -> None:
    page.keyboard.press("j")
    page.keyboard.press("k")


def by_rows(page: Page, one: str, other: str) -> None:
    row(page, other)
    row(page, one)


def by_filter(page: Page, one: str, other: str) -> None:
    page.get_by_label("Filter the questions").fill("b.py")
    expect(page.locator(".editor")).to_have_count(0)
    page.keyboard.press("Escape")


def by_a_filter_that_fits_nothing(page: Page, one: str, other: str) -> None:
    page.get_by_label("Filter the questions").fill("nothing at all")
    expect(page.locator(".editor")).to_have_count(0)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("a")
    page.get_by_label("Filter the questions").fill("")


@pytest.mark.parametrize("away", [by_keys, by_rows, by_filter, by_a_filter_that_fits_nothing])
def test_the_unedited_call_is_not_allowed_by_going_away_and_coming_back(
    desk: Desk, signed_in: SignedIn, away: Callable[[Page, str, str], None]
) -> None:
    question, other = two_asked(desk)
    page = signed_in()
    change(page)
    away(page, question, other)
    row(page, question)
    row(page, question)
    expect(page.get_by_label("file_path", exact=True)).to_have_value("harmless.py")
    expect(page.get_by_role("button", name="Allow once")).to_have_count(0)
    page.locator(".editor h2").click()
    wait_awake(page)
    page.keyboard.press("a")
    expect(page.locator(".hint")).to_contain_text("Allow the edited call or discard the changes first")
    expect_open(desk, page, question, other)


def test_a_call_that_was_changed_says_so_in_the_list_while_another_is_read(
    desk: Desk, signed_in: SignedIn
) -> None:
    question, other = two_asked(desk)
    page = signed_in()
    change(page)
    row(page, other)
    expect(page.locator(f'[data-id="{question}"]')).to_contain_text("changed, not sent")
    answer_question(desk.gate, question, "deny", by="bob")
    expect(page.locator(f'[data-id="{question}"]')).to_contain_text("denied by bob")


def test_the_pager_of_a_phone_keeps_the_changes(desk: Desk, signed_in: SignedIn) -> None:
    question, _ = two_asked(desk)
    page = signed_in(viewport=PHONE)
    open_first(page)
    change(page)
    page.get_by_role("button", name="next ›").click()
    expect(page.locator(".editor")).to_have_count(0)
    page.get_by_role("button", name="‹ previous").click()
    expect(page.get_by_label("file_path", exact=True)).to_have_value("harmless.py")
    expect_open(desk, page, question)


def test_leaving_the_page_asks_before_changes_are_discarded(desk: Desk, signed_in: SignedIn) -> None:
    two_asked(desk)
    page = signed_in("/history")
    page.locator("#brand").click()
    change(page)
    history = page.get_by_role("link", name="History")
    history.click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_label("file_path", exact=True)).to_have_value("harmless.py")
    page.evaluate("history.back()")
    expect(page.get_by_role("dialog")).to_contain_text("Discard the changes?")
    page.keyboard.press("Escape")
    expect(page.get_by_label("file_path", exact=True)).to_have_value("harmless.py")
    history.click()
    page.get_by_role("button", name="Discard the changes").click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()


def test_the_word_after_an_edit_names_the_call_that_runs(desk: Desk, signed_in: SignedIn) -> None:
    two_asked(desk)
    page = signed_in()
    change(page)
    page.get_by_role("button", name="Allow the edited call").click()
    expect(page.locator("#said")).to_contain_text("edited and allowed by you: ")
    expect(page.locator("#said .quoted")).to_contain_text("harmless.py")
    expect(page.locator("#said")).not_to_contain_text("danger.py")


def by_escape(page: Page) -> None:
    page.get_by_label("file_path", exact=True).focus()
    page.keyboard.press("Escape")


def by_closing(page: Page) -> None:
    page.get_by_role("button", name="Close the form").click()


def by_signing_out(page: Page) -> None:
    page.get_by_role("button", name="Sign out").click()


@pytest.mark.parametrize("lose", [by_escape, by_closing, by_signing_out])
def test_no_way_out_of_a_changed_form_loses_it_unasked(
    desk: Desk, signed_in: SignedIn, lose: Callable[[Page], None]
) -> None:
    two_asked(desk)
    page = signed_in()
    change(page)
    lose(page)
    expect(page.get_by_role("dialog")).to_contain_text("Discard the changes?")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_label("file_path", exact=True)).to_have_value("harmless.py")
    lose(page)
    page.get_by_role("button", name="Discard the changes").click()
    expect(page.locator(".editor")).to_have_count(0)


def test_changes_that_were_discarded_by_a_slip_can_be_brought_back(desk: Desk, signed_in: SignedIn) -> None:
    question, _ = two_asked(desk)
    page = signed_in()
    change(page)
    page.get_by_role("button", name="Discard changes").click()
    expect(page.locator(".editor")).to_have_count(0)
    page.get_by_role("button", name="Bring them back").click()
    expect(page.get_by_label("file_path", exact=True)).to_have_value("harmless.py")
    expect(page.locator(".hint")).to_be_empty()
    page.get_by_role("button", name="Allow the edited call").click()
    expect(page.locator("#said")).to_contain_text("edited and allowed by you: ")
    assert load_question_row(desk.gate, question).answer == "edit"


def test_that_changes_were_discarded_is_not_said_above_a_new_form(desk: Desk, signed_in: SignedIn) -> None:
    two_asked(desk)
    page = signed_in()
    change(page)
    page.get_by_role("button", name="Discard changes").click()
    expect(page.locator(".hint")).to_contain_text("were discarded")
    change(page, "again.py")
    expect(page.locator(".hint")).to_be_empty()


@pytest.mark.parametrize("looking", [True, False])
def test_an_edit_that_somebody_elses_answer_came_before_is_told_and_stays_to_be_copied(
    desk: Desk, signed_in: SignedIn, looking: bool
) -> None:
    question, other = two_asked(desk)
    page = signed_in()
    change(page)
    if not looking:
        row(page, other)
    answer_question(desk.gate, question, "deny", by="bob")
    expect(page.locator(f'[data-id="{question}"]')).to_contain_text("denied by bob")
    if not looking:
        row(page, question)
    expect(page.locator(".ended")).to_contain_text("denied by bob")
    expect(page.locator(".unsent")).to_contain_text("The changes were not sent")
    expect(page.locator(".unsent")).to_contain_text("harmless.py")
