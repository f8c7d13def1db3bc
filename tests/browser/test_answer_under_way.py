"""An answer that is under way shows on its card, and no other is sent until it settles."""

from __future__ import annotations

import json
import threading

import httpx
from playwright.sync_api import Page, Route, expect

from sayso.gate.people.tokens import issue_token
from sayso.gate.questions.wait import load_question_row
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import wait_awake, wait_drawn, wait_until

ANSWERS = "**/v1/questions/*/answer"


def hold_answers(page: Page) -> list[Route]:
    """A service that takes answers and says nothing: the requests that wait, in order."""
    held: list[Route] = []
    page.route(ANSWERS, lambda route: held.append(route))  # noqa: PLW0108  Playwright marks it
    return held


def test_a_slow_service_takes_one_answer_and_the_card_says_which(desk: Desk, signed_in: SignedIn) -> None:
    asked = desk.edit(desk.session())
    page = signed_in()
    held = hold_answers(page)
    wait_awake(page)
    page.keyboard.press("d")
    expect(page.locator(".under-way")).to_have_text("denying …")
    allow = page.get_by_role("button", name="Allow once")
    expect(allow).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("a")
    allow.click(force=True)
    page.keyboard.press("d")
    page.wait_for_function("() => document.body.classList.contains('slow')")
    expect(page.locator(".under-way")).to_have_text("denying …")
    assert [json.loads(one.request.post_data or "")["answer"] for one in held] == ["deny"]
    held[0].continue_()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert load_question_row(desk.gate, asked).answer == "deny"


def test_an_answer_of_which_nothing_is_known_is_not_said_to_be_missing(
    desk: Desk, signed_in: SignedIn
) -> None:
    desk.edit(desk.session())
    page = signed_in()
    held = hold_answers(page)
    wait_awake(page)
    page.keyboard.press("d")
    expect(page.locator(".under-way")).to_have_text("denying …")
    held[0].abort()
    expect(page.locator("#said")).to_contain_text("It is not known whether the answer arrived")
    expect(page.locator(".under-way")).to_have_text("")
    wait_awake(page)


def test_that_an_agent_waits_is_shown_although_it_began_while_its_question_was_read(
    desk: Desk, signed_in: SignedIn
) -> None:
    secret, _ = issue_token(desk.gate, "agent", "helper", by="ana")
    page = signed_in()
    other = page.context.new_page()
    other.goto(desk.url)
    wait_drawn(other)
    held: list[Route] = []
    let_go = threading.Event()
    page.route(
        "**/v1/questions/*", lambda route: route.continue_() if let_go.is_set() else held.append(route)
    )
    with httpx.Client(base_url=desk.url, headers={"Authorization": f"Bearer {secret}"}) as agent:
        call = agent.post("/v1/calls", json={"tool": "Edit", "args": {"file_path": "/srv/a.py"}}).json()
        wait_until(page, lambda: held)
        early = held[0].fetch()  # the service told of the question before its agent began to wait
        assert early.json()["waiting"] is not True
        path = f"/v1/calls/{call['operation_id']}"
        waiting = threading.Thread(
            target=agent.get, args=(path,), kwargs={"params": {"wait": 20}, "timeout": 60}
        )
        waiting.start()
        expect(other.locator(".list")).to_contain_text("agent waits")  # so both tabs have heard of it
        let_go.set()
        held[0].fulfill(response=early)
        for later in held[1:]:
            later.continue_()
        expect(page.locator(".list")).to_contain_text("agent waits")
        wait_awake(page)
        page.keyboard.press("d")
        expect(page.get_by_text("Nothing waits for you")).to_be_visible()
        waiting.join()
