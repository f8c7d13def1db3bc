"""Reading a page as a person does: once it is drawn, and on and on until a question can be allowed.

Playwright's `expect` waits for the page, and so does everything here. A bare `all_inner_texts()`, `count()`
or `all()` reads whatever is there at that moment, which on a slow machine is nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from weakref import WeakKeyDictionary

from playwright.sync_api import Error, Locator, Page, Request, expect

from sayso.gate.questions.wait import load_question_row
from tests.browser.desk import Desk

PATIENCE = 30_000
"""Milliseconds in which a page has to show what is expected, however busy the machine is."""
HELD = 1_200
ASLEEP = 401
TRIES = 50
STEP = 10
AHEAD = 3
"""Seconds by which a clock is put forward to stop it: the page has to get there first, and keep its line."""


def wait_until(page: Page, is_so: Callable[[], object], patience: int = PATIENCE) -> None:
    """Let the page work until this is so."""
    end = time.monotonic() + patience / 1_000
    while not is_so():
        assert time.monotonic() < end, "this never came to be so"
        page.wait_for_timeout(20)


def wait_for_value(page: Page, read: Callable[[], object], expected: object) -> None:
    """Read this until it is what is expected: where things are, the address, what a script finds."""
    end = time.monotonic() + PATIENCE / 1_000
    while (found := read()) != expected and time.monotonic() < end:
        page.wait_for_timeout(20)
    assert found == expected


def texts(found: Locator, count: int) -> list[str]:
    """What each of these says, once there are so many."""
    expect(found).to_have_count(count)
    return found.all_inner_texts()


def wait_drawn(page: Page) -> None:
    """The page hears the service, knows what waits, and has read what it shows."""
    expect(page.locator("#line")).to_have_text("live")
    expect(page.locator("#waiting")).to_have_text(re.compile(r"questions? waits?$"))
    expect(page.locator("main .state", has_text="Reading ")).to_have_count(0)


UNDER_WAY: WeakKeyDictionary[Page, set[Request]] = WeakKeyDictionary()


def follow_reads(page: Page) -> None:
    """Note what the page asks of the service and has no answer to yet."""
    under_way: set[Request] = set()
    UNDER_WAY[page] = under_way

    def begin(request: Request) -> None:
        if request.is_navigation_request():
            under_way.clear()
        elif request.resource_type == "fetch":
            under_way.add(request)

    def end(request: Request) -> None:
        under_way.discard(request)

    page.on("request", begin)
    page.on("requestfinished", end)
    page.on("requestfailed", end)


def wait_settled(page: Page) -> None:
    """The page reads nothing any more: at the service's first word it has read everything once more."""
    page.evaluate("0")  # so that Playwright has told of what the page did until now
    wait_until(page, lambda: not UNDER_WAY[page])


def open_first(page: Page) -> None:
    """Open the first question of the list, which on a phone comes first.

    Not while the list is drawn anew: a press on what is replaced before it is let go is none.
    """
    wait_settled(page)
    page.locator(".list [data-id]").first.click()
    expect(page.locator(".card")).to_be_visible()


def wait_awake(page: Page) -> None:
    """The question can be answered, also by the keyboard: none of its buttons sleeps."""
    expect(page.locator(".bar .deny:not([aria-disabled])")).to_be_visible()
    expect(page.locator(".bar [aria-disabled]")).to_have_count(0)


def expect_open(desk: Desk, page: Page, *questions: str) -> None:
    """These were not answered, and the page has sent no answer that is still under way."""
    assert page.evaluate(SENT, questions) == [None] * len(questions)
    assert {one: load_question_row(desk.gate, one).state for one in questions} == dict.fromkeys(
        questions, "open"
    )


SENT = "async (ids) => ids.map((await import('/web/question/questions.js')).sentAnswer)"


def click_twice(page: Page, at: tuple[float, float], first: Locator, count: int, pause: int = 0) -> None:
    """Click, and once so many of `first` show what that did, click again at the same place.

    By the page's own clock the second click comes at once, or after this pause, however slow the machine is.
    """
    stop_clock(page)
    page.mouse.click(*at)

    def has_shown() -> bool:
        page.clock.run_for(STEP)
        return first.count() == count

    wait_until(page, has_shown)
    page.clock.run_for(pause)
    page.mouse.click(*at)
    page.clock.resume()


def stop_clock(page: Page) -> None:
    """Stop the page's own clock: what a slow machine takes is then no part of how long a press lasts.

    A clock that has passed the time before it is told stands still as well, and only has to be told again.
    """
    page.clock.install()
    try:
        page.clock.pause_at(page.evaluate("Date.now()") / 1_000 + AHEAD)
    except Error as late:
        if "to the past" not in str(late):
            raise
        page.clock.pause_at(page.evaluate("Date.now()") / 1_000 + AHEAD)


def wake(page: Page, button: Locator) -> None:
    """Let the stopped clock run until this button is awake: what is drawn meanwhile sleeps again."""

    def is_awake() -> bool:
        if button.get_attribute("aria-disabled") != "true":
            return True
        page.clock.run_for(ASLEEP)
        return False

    wait_until(page, is_awake)


def read_on(page: Page) -> Locator:
    """The button that stands in for every yes until all of the call was on screen."""
    return page.locator(".yeses .read-on")


def read_to_the_end(page: Page) -> None:
    """Press "read on" until the page says that everything was seen. Its clock runs on between the presses."""
    expect(page.locator(".yeses button").last).to_be_visible()
    stop_clock(page)

    def has_pressed_all() -> bool:
        page.clock.run_for(ASLEEP)
        return bool(page.evaluate(PRESS_IF_THERE))

    wait_until(page, has_pressed_all, 4 * PATIENCE)
    page.clock.resume()


PRESS_IF_THERE = """() => {
  const button = document.querySelector(".yeses .read-on");
  if (button && button.getAttribute("aria-disabled") !== "true") button.click();
  return !button && document.querySelector(".yeses button") !== null;
}"""


def hold(page: Page, name: str = "Hold to allow once") -> None:
    """Hold the button that allows, once it is awake."""
    button = page.get_by_role("button", name=name)
    expect(button).not_to_have_attribute("aria-disabled", "true")
    button.click(delay=HELD)
