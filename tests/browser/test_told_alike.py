"""One call is told in one way: in its row, on its card, in its form, and by its values' kinds."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import open_first
from tests.browser.test_changes_kept import change, two_asked

PHONE = {"width": 360, "height": 740}
ONCE = re.compile(r"^(?:(?!ACME)[\s\S])*ACME(?:(?!ACME)[\s\S])*$")


def test_a_payment_says_on_its_card_how_much_goes_to_whom(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    for amount in (40, 40_000):
        args = {"amount": amount, "currency": "EUR", "payee": "ACME"}
        desk.ask(session, "money.pay", tool="pay", args=args, title="Pay {amount} to {payee}")
    page = signed_in(viewport=PHONE)
    open_first(page)
    expect(page.locator(".headline")).to_contain_text("Pay 40 EUR to ACME")
    first = page.locator(".card").get_attribute("aria-label")
    assert first
    page.get_by_role("button", name="next ›").click()
    expect(page.locator(".headline")).to_contain_text("Pay 40000 EUR to ACME")
    expect(page.locator(".card")).not_to_have_attribute("aria-label", first)


@pytest.mark.parametrize("title", [None, "Pay {amount} to {somebody}"], ids=["no title", "not filled"])
def test_no_headline_repeats_the_arguments_that_follow(
    desk: Desk, signed_in: SignedIn, title: str | None
) -> None:
    args = {"amount": 40, "currency": "EUR", "payee": "ACME"}
    desk.ask(desk.session(), "money.pay", tool="pay", args=args, title=title)
    page = signed_in(viewport=PHONE)
    expect(page.locator(".card-head")).to_contain_text("pay")
    expect(page.locator(".hero")).to_contain_text("ACME")
    expect(page.locator(".card-body")).to_have_text(ONCE, use_inner_text=True)


def test_a_call_without_arguments_has_a_headline(desk: Desk, signed_in: SignedIn) -> None:
    desk.ask(desk.session(), "tools.reboot", tool="reboot", args={})
    page = signed_in()
    expect(page.locator(".headline")).to_contain_text("reboot")


@pytest.mark.parametrize(
    ("before", "after"),
    [("old", "new"), ("search", "replace"), ("before", "after"), ("oldText", "newText"), ("find", "replace")],
)
def test_a_change_is_a_diff_whatever_its_tool_calls_the_two_texts(
    desk: Desk, signed_in: SignedIn, before: str, after: str
) -> None:
    args = {"path": "a.py", before: "one\ntwo\n", after: "one\nthree\n"}
    desk.ask(desk.session(), "files.edit", tool="Edit", args=args)
    page = signed_in()
    expect(page.locator(".diff .removed")).to_contain_text("two")
    expect(page.locator(".diff .added")).to_contain_text("three")


def test_a_text_never_looks_like_a_value_of_another_kind(desk: Desk, signed_in: SignedIn) -> None:
    args: dict[str, Any] = {
        "a": "true",
        "b": True,
        "c": "null",
        "d": None,
        "e": " x",
        "f": "5",
        "g": 5,
        "h": "",
    }
    desk.ask(desk.session(), "files.edit", tool="tune", args=args)
    page = signed_in()
    shown = ['"true"', "true", '"null"', "null", '" x"', '"5"', "5", '""']
    expect(page.locator(".arguments dd")).to_have_text(shown, use_inner_text=True)


def test_the_form_has_the_order_of_the_card(desk: Desk, signed_in: SignedIn) -> None:
    args = {"body": "Hello", "subject": "Friday", "to": "ana@example.org"}
    desk.ask(desk.session(), "email.send", tool="send_mail", args=args)
    page = signed_in()
    page.get_by_role("button", name="Edit…").click()
    expect(page.locator(".editor label")).to_have_text(["to", "subject", "body"])


def test_while_the_form_is_changed_the_call_on_top_is_said_not_to_run(
    desk: Desk, signed_in: SignedIn
) -> None:
    two_asked(desk)
    page = signed_in()
    expect(page.locator(".instead")).to_be_hidden()
    change(page)
    expect(page.locator(".instead")).to_contain_text("not what runs")
    page.get_by_role("button", name="Discard changes").click()
    expect(page.locator(".instead")).to_be_hidden()


def test_the_page_of_passkeys_does_not_say_that_a_click_allows_everything(signed_in: SignedIn) -> None:
    page = signed_in("/passkeys")
    expect(page.locator(".state")).to_contain_text("nothing proves that it was you")
    expect(page.locator("main")).not_to_contain_text("a click is enough")


def test_one_command_of_two_tools_is_told_apart_in_the_history(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    for tool in ("shell", "remote_shell"):
        desk.ask(session, "scripts.run", command="make all", tool=tool)
    desk.edit(session, "a.py")
    page = signed_in("/history")
    rows = page.locator("tbody td.wide")
    expect(rows).to_have_text(
        [re.compile("Edit a.py$"), re.compile("make all.*remote_shell"), re.compile("make all.*shell")]
    )
    expect(rows.nth(2)).not_to_contain_text("remote")
