"""A service that does not answer: every tab says so soon, and a page that is opened is not blank."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, Route, expect

from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.test_many_tabs import served, tabs_of

CACHED = "async () => (await (await caches.open('sayso-shell')).keys()).length > 20"


def test_a_page_opened_on_a_frozen_service_says_so_and_so_do_the_other_tabs(
    tmp_path: Path, window: Callable[..., Page]
) -> None:
    first = window(service_workers="allow")
    with served(tmp_path) as (desk, process):
        tabs = tabs_of(desk, first, 2)
        first.evaluate("navigator.serviceWorker.ready")
        first.reload()
        first.wait_for_function(CACHED)
        process.send_signal(signal.SIGSTOP)
        late = first.context.new_page()
        late.goto(desk.url + "/history", wait_until="commit")
        expect(late.locator("h1")).to_have_text("History")
        expect(late.locator("#line")).to_have_text("no answer yet")
        for tab in tabs:
            expect(tab.locator("#line")).not_to_have_text("live")
        expect(late.locator("#waiting")).to_have_text("it is not known yet what waits")
        header = late.locator(".top").bounding_box()
        assert header is not None
        assert header["height"] <= 50
        process.send_signal(signal.SIGCONT)
        for tab in (*tabs, late):
            expect(tab.locator("#line")).to_have_text("live")


def test_a_page_that_was_visited_once_is_not_blank_on_a_frozen_service(
    tmp_path: Path, window: Callable[..., Page]
) -> None:
    first = window(service_workers="allow")
    with served(tmp_path) as (desk, process):
        tabs_of(desk, first, 1)
        first.evaluate("navigator.serviceWorker.ready.then(() => true)")
        link = desk.link("ben")
        process.send_signal(signal.SIGSTOP)
        late = first.context.new_page()
        late.goto(desk.url + "/grants", wait_until="commit")
        expect(late.locator("h1")).to_have_text("Grants")
        expect(late.locator("#line")).to_have_text("no answer yet")
        late.goto(link, wait_until="commit")
        expect(late.locator("main")).to_have_text("Signing in …")
        expect(late.locator("#line")).to_have_text("no answer yet")
        process.send_signal(signal.SIGCONT)


def test_where_nothing_was_kept_the_browser_says_so_instead_of_staying_blank(
    tmp_path: Path, window: Callable[..., Page]
) -> None:
    first = window(service_workers="allow")
    with served(tmp_path) as (desk, process):
        first.goto(desk.url)
        first.evaluate("navigator.serviceWorker.ready.then(() => true)")
        first.evaluate("caches.delete('sayso-shell')")
        process.send_signal(signal.SIGSTOP)
        late = first.context.new_page()
        with pytest.raises(Error, match="ERR_FAILED"):
            late.goto(desk.url)
        process.send_signal(signal.SIGCONT)


def test_what_waits_is_not_said_to_be_nothing_before_it_was_read(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in(service_workers="allow")
    expect(page.locator("#waiting")).to_have_text("no questions wait")
    held: list[Route] = []
    page.route("**/v1/questions", lambda route: held.append(route))  # noqa: PLW0108  Playwright marks it
    page.reload()
    expect(page.locator("#line")).to_have_text("live")
    expect(page.locator("#waiting")).to_have_text("it is not known yet what waits")
    for one in held:
        one.continue_()
    expect(page.locator("#waiting")).to_have_text("no questions wait")
