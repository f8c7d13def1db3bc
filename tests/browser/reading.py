"""Reading a question on the page as a person does: on and on, until it can be allowed."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

HELD = 1_200
ASLEEP = 401
TRIES = 50


def stop_clock(page: Page) -> None:
    """Stop the page's own clock: what a slow machine takes is then no part of how long a press lasts."""
    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now()") / 1_000 + 1)  # in seconds: a jump of years is a lost line


def wake(page: Page, button: Locator) -> None:
    """Let the stopped clock run until this button is awake: what is drawn meanwhile sleeps again."""
    for _ in range(TRIES):
        if button.get_attribute("aria-disabled") != "true":
            return
        page.clock.run_for(ASLEEP)
    expect(button).not_to_have_attribute("aria-disabled", "true")


def read_on(page: Page) -> Locator:
    """The button that stands in for every yes until all of the call was on screen."""
    return page.locator(".yeses .read-on")


def read_to_the_end(page: Page) -> None:
    """Press "read on" until the page says that everything was seen."""
    expect(page.locator(".yeses button").last).to_be_visible()
    page.wait_for_function(PRESS_WHILE_THERE, polling=50, timeout=60_000)


PRESS_WHILE_THERE = """() => {
  const button = document.querySelector(".yeses .read-on");
  if (button && button.getAttribute("aria-disabled") !== "true") button.click();
  return !button && document.querySelector(".yeses button") !== null;
}"""


def hold(page: Page, name: str = "Hold to allow once") -> None:
    """Hold the button that allows, once it is awake."""
    button = page.get_by_role("button", name=name)
    expect(button).not_to_have_attribute("aria-disabled", "true")
    button.click(delay=HELD)
