"""Every page: full and empty, dark and light, on a desk and on a phone, without a fault that axe can find."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from sayso.gate.answer import answer_question
from sayso.gate.authorize import Bundle
from sayso.gate.grants import list_grants
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk

SHOWS = {
    "/": "git push --force origin main",
    "/history": "tests.py",
    "/grants": "grant for files.edit",
    "/sessions": "claude-code",
    "/workflows": "No workflow is running",
    "/policy": "write_outside_workspace",
    "/audit": "ANSWERED",
    "/figures": "Questions, hour by hour",
    "/passkeys": "You have no passkey",
}
EMPTY = {
    "/": "Nothing waits for you",
    "/history": "Nothing was decided that fits.",
    "/grants": "Nothing is granted",
    "/sessions": "No agent is at work",
    "/figures": "Nothing was decided in this time",
}
PHONE = {"width": 360, "height": 740}


def busy(desk: Desk) -> str:
    """A desk with something on every page; the session of its grants."""
    session = desk.session()
    for name, answer in (("src/a.py", "temporary"), ("tests.py", "once")):
        assert answer_question(desk.gate, desk.edit(session, name), answer, by="ana").yours
    desk.push(session)
    desk.ask(session, "git.commit", "files.edit", command="./release.sh", bundle=Bundle("release"))
    desk.ask(session, "scripts.run", command="run\n" * 900)
    return session


def no_violations(page: Page) -> None:
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", list(SHOWS))
def test_axe_finds_nothing(desk: Desk, signed_in: SignedIn, path: str, scheme: str) -> None:
    busy(desk)
    page = signed_in(path, color_scheme=scheme)
    expect(page.locator("main")).to_contain_text(SHOWS[path])
    expect(page.locator(".bar [aria-disabled]")).to_have_count(0)
    no_violations(page)
    page.set_viewport_size({"width": 360, "height": 740})
    expect(page.locator(".bar [aria-disabled]")).to_have_count(0)
    no_violations(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("path", list(EMPTY))
def test_an_empty_page_says_what_would_be_there(signed_in: SignedIn, path: str) -> None:
    page = signed_in(path)
    expect(page.locator("main")).to_contain_text(EMPTY[path])
    no_violations(page)


def test_axe_finds_nothing_where_answers_are_widened_edited_and_confirmed(
    desk: Desk, signed_in: SignedIn
) -> None:
    session = busy(desk)
    desk.edit(session, "other.py")
    page = signed_in()
    for name in ("more", "Edit…", "Why"):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator(".bar [aria-disabled]")).to_have_count(0)
        no_violations(page)
    page.locator(".card-body").focus()
    page.keyboard.press("a")
    expect(page.get_by_role("dialog")).to_be_visible()
    no_violations(page)


def test_a_page_that_cannot_be_read_says_so_and_tries_again(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in()
    page.route(
        "**/v1/grants", lambda route: route.fulfill(status=503, body='{"detail": "the store is busy"}')
    )
    page.goto(desk.url + "/grants")
    expect(page.get_by_role("alert")).to_contain_text("the store is busy")
    no_violations(page)
    page.unroute("**/v1/grants")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("main")).to_contain_text("Nothing is granted")


def test_a_grant_is_revoked_by_one_key(desk: Desk, signed_in: SignedIn) -> None:
    session = busy(desk)
    before = len(list_grants(desk.gate, session))
    page = signed_in("/grants")
    expect(page.locator("tbody tr")).to_have_count(before)
    page.keyboard.press("j")
    page.keyboard.press("r")
    expect(page.locator("tbody tr")).to_have_count(before - 1)
    assert len(list_grants(desk.gate, session)) == before - 1


def test_a_grant_given_elsewhere_appears_and_is_revoked_by_a_click(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in("/grants")
    expect(page.locator("main")).to_contain_text("Nothing is granted")
    session = desk.session()
    answer_question(desk.gate, desk.edit(session), "once", by="ben")
    page.get_by_role("button", name="Revoke").click()
    expect(page.locator("main")).to_contain_text("Nothing is granted")
    assert list_grants(desk.gate, session) == []


def test_all_agents_are_stopped_by_one_button(desk: Desk, signed_in: SignedIn) -> None:
    desk.session("one")
    desk.session("two")
    page = signed_in("/sessions")
    page.get_by_role("button", name="Stop all agents").click()
    expect(page.locator(".mark", has_text="stopped")).to_have_count(2)


def test_history_is_filtered_and_a_row_opens(desk: Desk, signed_in: SignedIn) -> None:
    busy(desk)
    page = signed_in("/history")
    expect(page.locator("main")).to_contain_text("tests.py")
    page.keyboard.press("/")
    page.keyboard.type("push --force")
    expect(page.locator("tbody tr:not(.opened)")).to_have_count(1)
    page.locator("tbody button").click()
    expect(page.locator(".opened")).to_contain_text("high risk asks every time")


def test_the_trail_is_verified_and_a_proof_is_saved(desk: Desk, signed_in: SignedIn) -> None:
    busy(desk)
    page = signed_in("/audit")
    page.get_by_role("button", name="Verify all").click()
    expect(page.get_by_text("Verified to entry")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download the proof of entry 2", exact=True).click()
    assert saved.value.path().read_text(encoding="utf-8").startswith("c2sp.org/tlog-proof")


def test_a_draft_is_compared_in_words(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in("/policy")
    draft = "sayso: 1\nextends: [coding]\noperations:\n  git.commit: {risk: low}\n"
    page.get_by_label("Draft").fill(draft)
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".changes")).to_contain_text("git.commit")
    no_violations(page)


def test_every_page_has_an_address_of_its_own_and_the_way_back_works(signed_in: SignedIn) -> None:
    page = signed_in()
    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("heading", name="History")).to_be_focused()
    page.get_by_role("link", name="Grants").click()
    assert page.url.endswith("/grants")
    page.go_back()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
