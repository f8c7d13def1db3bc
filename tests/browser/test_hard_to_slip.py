"""What a slip of the hand must not do: allow high risk, or let an agent go on that was just stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import CDPSession, Locator, Page, ViewportSize, expect

from sayso.gate.deciding.authorize import Bundle
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_row
from sayso.gate.rows.sessions import RowSelection, load_session
from sayso.gate.sessions.operator_grants import give_grant, list_grants
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import (
    HELD,
    TRIES,
    click_twice,
    expect_open,
    hold,
    read_to_the_end,
    stop_clock,
    wait_until,
    wake,
)

PHONE: ViewportSize = {"width": 360, "height": 740}
NAME = "Hold to allow once"


class Finger:
    """One finger on the glass, as the browser gets it. The page's clock stands still until it stays."""

    def __init__(self, page: Page, name: str = NAME) -> None:
        self.page, self.button = page, page.get_by_role("button", name=name)
        self.glass: CDPSession = page.context.new_cdp_session(page)
        expect(self.button).not_to_have_attribute("aria-disabled", "true")
        stop_clock(page)
        self.aim()

    def aim(self) -> None:
        wake(self.page, self.button)
        box = self.button.bounding_box()
        assert box is not None
        self.x, self.y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def touch(self, kind: str, *points: dict[str, float]) -> None:
        self.glass.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    def point(self, right: float = 0, down: float = 0, number: int = 1) -> dict[str, float]:
        return {"x": self.x + right, "y": self.y + down, "id": number}

    def press(self) -> None:
        """Begin to hold. What is drawn just then puts the button to sleep, and it is pressed once more."""
        held = self.page.locator(".hold.held")
        for _ in range(TRIES):
            self.touch("touchStart", self.point())
            if held.count():
                return
            self.touch("touchEnd")
            self.aim()
        expect(held).to_have_count(1)

    def slide(self, right: float = 0, down: float = 0) -> None:
        for step in (0.25, 0.5, 0.75, 1):
            self.touch("touchMove", self.point(right * step, down * step))

    def stay(self) -> None:
        """The finger rests on the glass for longer than a hold takes, and then lifts."""
        self.page.clock.run_for(HELD)
        self.touch("touchEnd")
        self.page.clock.resume()


def phone(desk: Desk, signed_in: SignedIn) -> tuple[str, Page]:
    question = desk.push(desk.session())
    return question, signed_in(viewport=PHONE, has_touch=True, is_mobile=True)


def test_a_finger_that_stays_on_the_button_allows(desk: Desk, signed_in: SignedIn) -> None:
    question, page = phone(desk, signed_in)
    finger = Finger(page)
    finger.press()
    finger.slide(right=6, down=4)
    finger.stay()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert load_question_row(desk.gate, question).answer == "once"


def test_a_hold_that_takes_the_focus_from_a_field_allows(desk: Desk, signed_in: SignedIn) -> None:
    question = desk.push(desk.session())
    page = signed_in()
    page.get_by_label("Reason for the agent").focus()
    hold(page)
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert load_question_row(desk.gate, question).answer == "once"


BUSY = "setTimeout(() => { const until = Date.now() + 1600; while (Date.now() < until); }, 200)"


def test_a_press_that_lasted_is_no_short_one_because_the_page_was_busy(
    desk: Desk, signed_in: SignedIn
) -> None:
    question = desk.push(desk.session())
    page = signed_in()
    button = page.get_by_role("button", name=NAME)
    expect(button).not_to_have_attribute("aria-disabled", "true")
    button.hover()
    page.evaluate(BUSY)
    page.mouse.down()
    page.wait_for_timeout(HELD)
    page.mouse.up()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert load_question_row(desk.gate, question).answer == "once"


def off_upwards(finger: Finger) -> None:
    finger.slide(down=-480)


def off_sideways(finger: Finger) -> None:
    finger.slide(right=-200)


def off_and_back(finger: Finger) -> None:
    finger.slide(down=-200)
    finger.slide()


def a_second_finger(finger: Finger) -> None:
    finger.touch("touchStart", finger.point(), finger.point(down=-300, number=2))


def heard(finger: Finger, event: str, act: Callable[[], object]) -> None:
    """Do this, and wait until the page has heard this event of it, even if its clock stands still."""
    hears = f"addEventListener('{event}', () => {{ window.heard = true; }}, {{ once: true }})"
    finger.page.evaluate(f"window.heard = false; {hears}")
    act()
    wait_until(finger.page, lambda: finger.page.evaluate("window.heard"))


def turned(finger: Finger) -> None:
    aside: ViewportSize = {"width": 740, "height": 360}
    heard(finger, "resize", lambda: finger.page.set_viewport_size(aside))


def turned_and_turned_back(finger: Finger) -> None:
    turned(finger)
    heard(finger, "resize", lambda: finger.page.set_viewport_size(PHONE))


def gone_back(finger: Finger) -> None:
    back = "history.pushState(null, '', '/'); history.back()"
    heard(finger, "popstate", lambda: finger.page.evaluate(back))


def to_the_next(finger: Finger) -> None:
    finger.page.evaluate("document.querySelector(`.pager [data-step='1']`).click()")


def to_the_next_and_back(finger: Finger) -> None:
    finger.page.evaluate("document.querySelector(`.pager [data-step='1']`).click()")
    finger.page.evaluate("document.querySelector(`.pager [data-step='-1']`).click()")


def help_opened(finger: Finger) -> None:
    finger.page.keyboard.press("?")


def covered(finger: Finger) -> None:
    finger.page.evaluate(COVER)


def moved(finger: Finger) -> None:
    finger.page.evaluate("document.querySelector('.bar').style.paddingBottom = '40px'")


COVER = """() => {
  const cover = document.createElement("div");
  cover.style.cssText = "position: fixed; inset: 0; z-index: 99";
  document.body.append(cover);
}"""
SLIPS = [
    off_upwards, off_sideways, off_and_back, a_second_finger, turned, turned_and_turned_back, gone_back,
    to_the_next, to_the_next_and_back, help_opened, covered, moved,
]  # fmt: skip


@pytest.mark.parametrize("slip", SLIPS)
def test_a_hold_that_did_not_stay_as_it_began_allows_nothing(
    desk: Desk, signed_in: SignedIn, slip: Callable[[Finger], None]
) -> None:
    question, page = phone(desk, signed_in)
    other = desk.ask(desk.session(), "git.push_force", command="git push --force origin other")
    expect(page.locator(".pager")).to_contain_text("1 of 2")
    finger = Finger(page)
    finger.press()
    slip(finger)
    finger.stay()
    expect_open(desk, page, question, other)


def test_a_hold_on_a_question_answered_elsewhere_allows_nothing_of_the_next(
    desk: Desk, signed_in: SignedIn
) -> None:
    question, page = phone(desk, signed_in)
    other = desk.ask(desk.session(), "git.push_force", command="git push --force origin other")
    finger = Finger(page)
    finger.press()
    answer_question(desk.gate, question, "deny", by="bob")
    finger.stay()
    assert load_question_row(desk.gate, question).answer == "deny"
    expect_open(desk, page, other)


def test_a_mouse_that_leaves_the_button_allows_nothing(desk: Desk, signed_in: SignedIn) -> None:
    question = desk.push(desk.session())
    page = signed_in()
    finger = Finger(page)
    page.mouse.move(finger.x, finger.y)
    page.mouse.down()
    expect(page.locator(".hold.held")).to_have_count(1)
    page.mouse.move(finger.x, finger.y - 300)
    page.mouse.move(finger.x, finger.y)
    page.clock.run_for(HELD)
    page.mouse.up()
    expect_open(desk, page, question)


def test_a_finger_that_slides_off_the_answers_one_by_one_grants_nothing(
    desk: Desk, signed_in: SignedIn
) -> None:
    session = desk.session()
    both = ("git.commit", "git.push_force")
    question = desk.ask(session, *both, command="./release.sh", bundle=Bundle("release"))
    page = signed_in(viewport=PHONE, has_touch=True, is_mobile=True)
    read_to_the_end(page)
    page.get_by_role("button", name="more", exact=True).click()
    for name in both:
        page.get_by_label(name).select_option("once")
    finger = Finger(page, "Hold: Give these answers")
    finger.press()
    finger.slide(down=-300)
    finger.stay()
    expect_open(desk, page, question)
    assert list_grants(desk.gate, session) == []


def test_a_finger_that_slides_off_does_not_allow_an_edited_call(desk: Desk, signed_in: SignedIn) -> None:
    question, page = phone(desk, signed_in)
    page.get_by_role("button", name="Edit…").click()
    page.get_by_label("command", exact=True).fill("git push --force origin side")
    button = page.locator(".yeses button").last
    expect(button).not_to_have_attribute("aria-disabled", "true")
    read_to_the_end(page)
    finger = Finger(page, "Hold to allow the edited call")
    finger.press()
    finger.slide(down=-300)
    finger.stay()
    expect_open(desk, page, question)


def middle(page: Page, name: str) -> tuple[float, float]:
    """The middle of the first button whose name begins so, measured in one go: rows are drawn again."""
    x, y = page.wait_for_function(MIDDLE, arg=name).json_value()
    return x, y


MIDDLE = """(name) => {
  const named = (one) => (one.ariaLabel ?? one.textContent).startsWith(name) && one.checkVisibility();
  const scope = document.querySelector("dialog[open]") ?? document;
  const button = [...scope.querySelectorAll("button")].find(named);
  if (!button) return null;
  button.scrollIntoView({ block: "center" });
  const { left, top, width, height } = button.getBoundingClientRect();
  return [left + width / 2, top + height / 2];
}"""


def stopped(desk: Desk, session: str) -> bool:
    with desk.gate.store.read() as tx:
        found = load_session(tx, desk.gate.sealer, session, RowSelection())
    return found is not None and found.session.stopped is not None


def marks(page: Page) -> Locator:
    return page.locator(".mark", has_text="stopped")


@pytest.mark.parametrize("pause", [0, 200, 350, 600])
@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, PHONE])
def test_a_double_click_on_stop_does_not_let_the_agent_go_on(
    desk: Desk, signed_in: SignedIn, size: Any, pause: int
) -> None:
    desk.session("other")
    session = desk.session("one")
    page = signed_in("/sessions", viewport=size)
    page.get_by_role("button", name="Stop other").click()
    expect(marks(page)).to_have_count(1)
    expect(page.locator("#said")).to_contain_text("is stopped")
    click_twice(page, middle(page, "Stop one"), marks(page), 2, pause)
    expect(marks(page)).to_have_count(2)
    page.goto(desk.url + "/sessions")
    expect(marks(page)).to_have_count(2)
    assert stopped(desk, session)


def test_a_session_just_let_go_on_is_stopped_again_at_once(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session("one")
    page = signed_in("/sessions")
    at = middle(page, "Stop one")
    page.mouse.click(*at)
    expect(marks(page)).to_have_count(1)
    page.get_by_role("button", name="Let one go on").click()
    expect(marks(page)).to_have_count(0)
    page.mouse.click(*middle(page, "Stop one"))
    expect(marks(page)).to_have_count(1)
    assert stopped(desk, session)


@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, PHONE])
def test_a_double_click_on_stop_all_lets_nobody_go_on(desk: Desk, signed_in: SignedIn, size: Any) -> None:
    sessions = [desk.session(name) for name in ("one", "two", "three", "four", "five")]
    page = signed_in("/sessions", viewport=size)
    page.get_by_role("button", name="Stop all agents").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    click_twice(page, middle(page, "Stop all"), marks(page), 5)
    page.goto(desk.url + "/sessions")
    expect(marks(page)).to_have_count(5)
    assert all(stopped(desk, one) for one in sessions)


def test_the_place_of_stop_all_is_not_taken_by_let_all_go_on(desk: Desk, signed_in: SignedIn) -> None:
    desk.session("one")
    page = signed_in("/sessions")
    at, _ = middle(page, "Stop all agents")
    page.get_by_role("button", name="Stop one").click()
    expect(marks(page)).to_have_count(1)
    way_back = page.get_by_role("button", name="Let all go on").bounding_box()
    assert way_back is not None
    assert way_back["x"] + way_back["width"] <= at


def test_a_double_click_on_revoke_leaves_the_next_grant(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    for name in ("files.edit", "git.commit", "git.add", "git.branch"):
        give_grant(desk.gate, session, operation=name, by="ana")
    page = signed_in("/grants")
    revoke = page.get_by_role("button", name="Revoke")
    revoke.last.click()
    expect(revoke).to_have_count(3)
    expect(page.locator("#said")).to_contain_text("Revoked")
    click_twice(page, middle(page, "Revoke"), revoke, 2)
    page.goto(desk.url + "/grants")
    expect(revoke).to_have_count(2)
    assert len(list_grants(desk.gate, session)) == 2


def test_enter_on_a_row_never_stops_or_revokes_or_lets_go_on(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session("one")
    give_grant(desk.gate, session, operation="files.edit", by="ana")
    page = signed_in("/sessions")
    for now in (False, True):
        expect(page.locator("tbody tr")).to_have_count(1)
        page.keyboard.press("j")
        expect(page.locator("tbody tr")).to_be_focused()
        for _ in range(3):
            page.keyboard.press("Enter")
        page.goto(desk.url + "/sessions")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(marks(page)).to_have_count(int(now))
        assert stopped(desk, session) is now
        if not now:
            page.get_by_role("button", name="Stop one").click()
            expect(marks(page)).to_have_count(1)


def test_enter_on_a_grant_never_revokes_it(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    question = desk.edit(session)
    answer_question(desk.gate, question, "temporary", by="ana")
    kept = len(list_grants(desk.gate, session))
    page = signed_in("/grants")
    expect(page.locator("tbody tr").first).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("tbody tr").first).to_be_focused()
    for _ in range(3):
        page.keyboard.press("Enter")
    page.goto(desk.url + "/grants")
    expect(page.locator("tbody tr")).to_have_count(1)  # one row for one answer
    assert len(list_grants(desk.gate, session)) == kept
