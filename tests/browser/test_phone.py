"""On a phone: what is said about an answer, complaints of the form, and the sentence of a payment."""

from __future__ import annotations

import datetime
import enum
import threading
from typing import Any

from playwright.sync_api import Page, Route, expect

from sayso import Inbox, Sayso
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import open_first, stop_clock, wait_awake, wait_for_value, wait_settled, wait_until

PHONE = {"width": 360, "height": 740}


class Speed(enum.Enum):
    SLOW = "slow"
    FAST = "fast"


def top_of(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["y"]


def asks_to_book(desk: Desk) -> None:
    program = Sayso(desk.gate, [Inbox()])

    @program.capability()
    @program.requires_consent("travel.book", risk="moderate")
    def book(city: str, hotel: str, speed: Speed, when: datetime.date, nights: int) -> None: ...

    values: dict[str, Any] = {"city": "Bern\n" * 9, "hotel": "Adler", "speed": "slow"}
    values |= {"when": "2026-05-06", "nights": 2}
    asking = threading.Thread(target=lambda: program.run("book", values, wait=0))
    asking.start()
    asking.join()


HALF_LINES = "e => e.clientHeight % parseFloat(getComputedStyle(e).lineHeight)"


def test_the_word_about_an_answer_is_read_whole_and_moves_nothing(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    long = "src/a/long/way/down/to/the/file/that/is/meant/" * 3
    for name in ("one.py", "two.py"):
        desk.edit(session, long + name)
    page = signed_in(viewport=PHONE)
    open_first(page)
    wait_awake(page)
    before = top_of(page, ".card")
    page.get_by_role("button", name="Allow once").click()
    said = page.locator("#said p")
    expect(said).to_contain_text("allowed once by you")
    shown = said.evaluate(f"e => [e.scrollWidth <= e.clientWidth, e.offsetHeight <= 44, ({HALF_LINES})(e)]")
    assert shown == [True, True, 0], "or a sliver of the next line shows below the last"
    expect(page.locator(".card")).to_contain_text("two.py")
    wait_for_value(page, lambda: top_of(page, ".card"), before)
    said.click()
    expect(said).to_have_count(0)


def test_a_form_offers_what_the_function_takes_and_complains_beside_the_field(
    desk: Desk, signed_in: SignedIn
) -> None:
    asks_to_book(desk)
    page = signed_in(viewport=PHONE)
    page.get_by_role("button", name="Edit…").click()
    form = page.locator(".editor")
    expect(form.get_by_label("speed")).to_have_js_property("tagName", "SELECT")
    expect(form.get_by_label("speed").locator("option")).to_have_text(["fast", "slow"])
    expect(form.get_by_label("when")).to_have_attribute("type", "date")
    nights = form.get_by_label("nights")
    nights.focus()
    at = nights.bounding_box()
    nights.press_sequentially("0")
    moved = nights.bounding_box()
    assert at is not None
    assert moved is not None
    assert abs(at["y"] - moved["y"]) <= 1
    nights.fill("2")
    nights.fill("two")
    fault = form.locator(".field", has=page.get_by_label("nights")).locator(".fault")
    expect(fault).to_have_text("nights takes a whole number.")
    expect(fault).to_be_in_viewport(ratio=0.95)
    nights.fill("3")
    expect(fault).to_have_count(0)
    form.get_by_label("speed").select_option("fast")
    form.get_by_label("when").fill("2026-06-01")
    expect(page.locator(".preview")).to_contain_text("2026-06-01")
    page.get_by_role("button", name="Allow the edited call").click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()


def test_the_sentence_of_a_payment_is_larger_than_its_arguments(desk: Desk, signed_in: SignedIn) -> None:
    args = {"amount": 40, "currency": "EUR", "payee": "ACME"}
    desk.ask(desk.session(), "money.pay", tool="pay", args=args, title="Pay {amount} to {payee}")
    page = signed_in(viewport=PHONE)
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    headline = page.locator(".headline .quoted").evaluate(size)
    assert headline > page.locator(".hero dd code, .hero dd pre, .hero .foreign").first.evaluate(size) + 3


def test_stopping_all_counts_what_waits_now(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    desk.edit(session)
    page = signed_in("/sessions")
    expect(page.locator("tbody")).to_contain_text("claude-code")
    page.route("**/v1/events", lambda route: route.abort())
    desk.edit(session, "other.py")
    page.get_by_role("button", name="Stop all agents").click()
    expect(page.get_by_role("dialog")).to_contain_text("withdraws 2 open questions")


def test_stopping_all_does_not_tell_an_earlier_count_while_the_list_is_read_once_more(
    desk: Desk, signed_in: SignedIn
) -> None:
    session = desk.session()
    desk.edit(session)
    page = signed_in("/sessions")
    expect(page.locator("tbody")).to_contain_text("claude-code")
    stop_clock(page)
    wait_settled(page)
    page.evaluate(
        "AbortSignal.timeout = () => new AbortController().signal"
    )  # no stopped clock holds this one
    held: list[Route] = []
    page.route("**/v1/sessions", lambda route: held.append(route))  # noqa: PLW0108  Playwright marks it
    page.get_by_role("button", name="Stop all agents").click()
    wait_until(page, lambda: held)
    desk.edit(session, "other.py")  # news, after which the list is read again

    def has_read_again() -> bool:
        page.clock.run_for(100)
        return len(held) > 1

    wait_until(page, has_read_again)
    page.clock.resume()
    expect(page.get_by_role("dialog")).to_have_count(0)
    for one in held:  # the button waits for one of them, and the list for the other
        told = one.fetch()
        assert told.json()[0]["questions"] == 2
        one.fulfill(response=told)
    expect(page.get_by_role("dialog")).to_contain_text("withdraws 2 open questions")


def test_the_error_of_a_used_link_begins_as_a_sentence(desk: Desk, signed_in: SignedIn) -> None:
    link = desk.link("ben")
    page = signed_in()
    page.goto(link)
    expect(page.locator("#line")).to_have_text("live")
    page.goto("about:blank")
    page.goto(link)
    expect(page.get_by_role("alert")).to_contain_text("This link was used")
