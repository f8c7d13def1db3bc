"""Signing in by a link: once, and without a trace of the code."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.test_pages import no_violations

Window = Callable[..., Page]


def test_a_stranger_sees_only_how_to_sign_in(desk: Desk, window: Window) -> None:
    desk.push(desk.session())
    page = window()
    for path in ("/", "/history", "/audit"):
        page.goto(desk.url + path)
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        expect(page.get_by_role("link", name="History")).to_have_count(0)
        assert "git push" not in page.content()
        no_violations(page)


def test_a_link_signs_in_and_its_code_leaves_the_address(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in()
    expect(page).to_have_url(f"{desk.url}/")
    page.go_back()
    assert "#" not in page.url


def test_a_link_used_twice_says_so_and_the_next_one_signs_in(desk: Desk, window: Window) -> None:
    link = desk.link()
    first, second = window(), window()
    first.goto(link)
    expect(first.locator("#line")).to_have_text("live")
    second.goto(link)
    expect(second.get_by_role("alert")).to_contain_text("used or is too old")
    expect(second.locator("main")).to_contain_text("sayso link")
    no_violations(second)
    second.goto(desk.link())  # in the same tab: only what follows the # is another
    expect(second.locator("#line")).to_have_text("live")
    expect(second).to_have_url(f"{desk.url}/")


def test_the_cookie_is_out_of_reach_of_scripts(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in()
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    assert page.evaluate("document.cookie") == ""


def test_who_signs_out_is_out(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
