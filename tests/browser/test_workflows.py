"""A program's workflow, seen on the page: started there, watched step by step, and its trust withdrawn."""

from __future__ import annotations

import threading

from playwright.sync_api import expect

from sayso import Sayso, Step
from sayso.gate.sessions.operator_grants import list_grants
from sayso.surfaces.inbox import Inbox
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.test_pages import no_violations

LONG = 600.0
"""Seconds that the program waits for the page, however slow the machine is."""


def test_a_run_is_allowed_on_the_page_and_watched_there(desk: Desk, signed_in: SignedIn) -> None:
    sayso, go_on, session = Sayso(desk.gate, [Inbox()]), threading.Event(), desk.session("release-bot")
    sayso.workflow(
        "release",
        [
            Step("notes", lambda: "notes", operations=("files.edit",)),
            Step("publish", lambda: go_on.wait(LONG), operations=("git.commit",), after=("notes",)),
        ],
    )
    program = threading.Thread(
        target=lambda: sayso.run("release", session=session, wait=LONG), name="program", daemon=True
    )
    program.start()
    try:
        page = signed_in()
        expect(page.locator(".card")).to_contain_text("release")
        expect(page.locator(".clocks")).to_contain_text("left to answer")
        page.get_by_role("link", name="Workflows").click()
        expect(page.locator("main")).to_contain_text("waits for an answer")
        expect(page.locator("main")).not_to_contain_text("pending")
        page.get_by_role("link", name="Inbox").click()
        page.get_by_role("button", name="Allow once").click()
        page.get_by_role("link", name="Workflows").click()
        steps = page.locator(".steps li")
        expect(steps).to_have_count(2)
        expect(steps.nth(0)).to_contain_text("notes")
        expect(steps.nth(1)).to_contain_text("publish")
        no_violations(page)
        assert [grant.kind for grant in list_grants(desk.gate, session)] == ["run"]
        page.get_by_role("button", name="Revoke release").click()
        expect(page.locator("#said")).to_contain_text("1 grant ended")
        assert list_grants(desk.gate, session) == []
    finally:
        go_on.set()
    program.join(LONG)
    expect(page.locator("main")).to_contain_text("No workflow is running")
