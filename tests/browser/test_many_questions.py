"""Many questions: those alike share a row and can be answered in one act; on a phone the list comes first."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_row
from sayso.gate.sessions.stop import stop_session
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import (
    expect_open,
    read_on,
    read_to_the_end,
    wait_awake,
    wait_for_value,
    wait_settled,
    wait_until,
)
from tests.browser.test_pages import no_violations_in_any_theme

PHONE = {"width": 360, "height": 740}
ALIKE = 8
# The page learns of a scroll with the next frame, so a step is done only after two of them, the last one too.
SCROLL_A_STEP = """async (body) => {
  body.scrollTop += 200;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return body.scrollTop + body.clientHeight >= body.scrollHeight - 1;
}"""
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def ask_to_archive(desk: Desk, session: str, number: int) -> str:
    args = {"folder": "Inbox", "message": f"Invoice {number} of ACME"}
    return desk.ask(session, "mail.archive", tool="archive_mail", args=args, agent="mail-bot")


def ask_alike(desk: Desk, count: int = ALIKE) -> list[str]:
    session = desk.session(agent="mail-bot")
    return [ask_to_archive(desk, session, number) for number in range(count)]


def open_together(page: Page) -> None:
    page.get_by_role("button", name="like this").click()
    page.get_by_role("button", name="Answer several…").click()
    expect(page.get_by_role("heading", name=re.compile("like this: archive_mail"))).to_be_visible()


def test_a_row_of_commands_shows_how_they_begin(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    for number in range(ALIKE):
        desk.ask(session, "git.push_force", command=f"git push --force origin feature-{number}")
    page = signed_in()
    expect(page.get_by_role("button", name="8 like this: shell git push --force origin …")).to_be_visible()


def answers(desk: Desk, questions: list[str]) -> list[str | None]:
    return [load_question_row(desk.gate, one).answer for one in questions]


def test_questions_alike_share_a_row_which_opens_to_each_of_them(desk: Desk, signed_in: SignedIn) -> None:
    coding = desk.session()
    first = desk.edit(coding, "first.py")
    alike = ask_alike(desk)
    last = desk.edit(coding, "last.py")
    page = signed_in()
    rows = page.locator(".list [data-id]")
    group = page.get_by_role("button", name="8 like this: archive_mail")
    expect(group).to_contain_text("mail-bot")
    expect(rows).to_have_count(2)
    shown = "[...document.querySelectorAll('.list [data-id]')].map((row) => row.dataset.id)"
    wait_for_value(page, lambda: page.evaluate(shown), [first, last])
    group.click()
    expect(group).to_have_attribute("aria-expanded", "true")
    wait_for_value(page, lambda: page.evaluate(shown), [first, last, *alike])
    rows.nth(4).click()
    expect(page.locator(".card")).to_contain_text("Invoice 2 of ACME")
    group.click()
    expect(rows).to_have_count(2)
    expect(group).to_have_attribute("aria-current", "true")


def test_few_questions_are_listed_one_by_one_however_alike(desk: Desk, signed_in: SignedIn) -> None:
    ask_alike(desk, 7)
    page = signed_in()
    expect(page.locator(".list [data-id]")).to_have_count(7)
    expect(page.get_by_role("button", name="like this")).to_have_count(0)


def test_the_keyboard_goes_through_a_group_and_opens_it(desk: Desk, signed_in: SignedIn) -> None:
    alike = ask_alike(desk)
    page = signed_in()
    expect(page.locator(".card")).to_contain_text("Invoice 0")
    expect(page.locator(".list [data-id]")).to_have_count(0)
    page.keyboard.press("j")
    expect(page.locator(".list [aria-current]")).to_have_attribute("data-id", alike[1])
    expect(page.locator(".card")).to_contain_text("Invoice 1")


def test_the_chosen_ones_are_allowed_in_one_act_once_all_of_them_was_on_screen(
    desk: Desk, signed_in: SignedIn
) -> None:
    alike = ask_alike(desk)
    page = signed_in()
    open_together(page)
    allow = page.locator(".yeses .allow")
    expect(allow).to_have_text("Allow once")
    expect(allow).to_have_attribute("aria-disabled", "true")
    boxes = page.locator(".several input")
    expect(boxes).to_have_count(ALIKE)
    page.get_by_label("Choose all").check()
    expect(read_on(page)).to_be_visible()
    boxes.nth(3).uncheck()
    read_to_the_end(page)
    expect(allow).to_have_text("Allow 7 once")
    allow.click()
    expect(page.locator("#said")).to_contain_text("7 allowed once by you")
    chosen = [*alike[:3], *alike[4:]]
    assert answers(desk, chosen) == ["once"] * 7
    assert {load_question_row(desk.gate, one).by for one in chosen} == {"ana"}
    expect_open(desk, page, alike[3])


def test_what_was_not_on_screen_is_not_allowed_together_with_what_was(
    desk: Desk, signed_in: SignedIn
) -> None:
    alike = ask_alike(desk)
    page = signed_in()
    open_together(page)
    page.get_by_label("Choose all").check()
    expect(read_on(page)).not_to_have_attribute("aria-disabled", "true")
    read_on(page).click()
    expect(page.locator(".hint")).to_contain_text("on screen before it can be allowed")
    expect(page.locator(".yeses .allow")).to_have_count(0)
    wait_settled(page)
    expect_open(desk, page, *alike)


def test_the_chosen_ones_are_denied_and_the_others_stay_open(desk: Desk, signed_in: SignedIn) -> None:
    alike = ask_alike(desk)
    page = signed_in()
    open_together(page)
    for number in (1, 6):
        page.locator(".several input").nth(number).check()
    deny = page.get_by_role("button", name="Deny 2")
    expect(deny).not_to_have_attribute("aria-disabled", "true")
    deny.click()
    expect(page.locator("#said")).to_contain_text("2 denied by you")
    assert answers(desk, [alike[1], alike[6]]) == ["deny", "deny"]
    expect_open(desk, page, *(one for one in alike if one not in (alike[1], alike[6])))


def test_without_a_choice_nothing_is_answered(desk: Desk, signed_in: SignedIn) -> None:
    alike = ask_alike(desk)
    page = signed_in()
    open_together(page)
    for name in (".yeses .allow", ".no .deny"):
        page.locator(name).dispatch_event("click")
        page.locator(name).click(force=True)
    wait_settled(page)
    expect_open(desk, page, *alike)


def test_high_risk_is_never_answered_together(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    for number in range(ALIKE):
        desk.ask(session, "git.push_force", command=f"git push --force origin b{number}")
    page = signed_in()
    page.get_by_role("button", name="8 like this").click()
    expect(page.locator(".list [data-id]")).to_have_count(ALIKE)
    expect(page.get_by_role("button", name="Answer several…")).to_have_count(0)


def test_one_answered_elsewhere_can_no_longer_be_chosen_and_moves_nothing(
    desk: Desk, signed_in: SignedIn
) -> None:
    alike = ask_alike(desk)
    page = signed_in()
    open_together(page)
    page.get_by_label("Choose all").check()
    assert answer_question(desk.gate, alike[0], "deny", by="bo").yours
    row = page.locator(".several li").first
    expect(row).to_contain_text("denied by bo")
    expect(row.locator("input")).to_be_disabled()
    read_to_the_end(page)
    page.get_by_role("button", name="Allow 7 once").click()
    expect(page.locator("#said")).to_contain_text("7 allowed once by you")
    assert answers(desk, alike) == ["deny", *["once"] * 7]


def test_one_more_like_them_is_not_chosen_by_itself(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session(agent="mail-bot")
    alike = [ask_to_archive(desk, session, number) for number in range(ALIKE)]
    page = signed_in()
    open_together(page)
    page.get_by_label("Choose all").check()
    read_to_the_end(page)
    expect(page.locator(".yeses .allow")).to_have_text("Allow 8 once")
    late = ask_to_archive(desk, session, 99)
    expect(page.locator(".several li")).to_have_count(ALIKE + 1)
    expect(page.get_by_label("Choose all")).to_have_js_property("indeterminate", value=True)
    expect(page.locator(".yeses .allow:not([aria-disabled])")).to_have_text("Allow 8 once")
    page.locator(".yeses .allow").click()
    expect(page.locator("#said")).to_contain_text("8 allowed once by you")
    assert answers(desk, alike) == ["once"] * ALIKE
    expect_open(desk, page, late)


def test_a_group_is_read_chosen_and_allowed_from_the_keyboard(desk: Desk, signed_in: SignedIn) -> None:
    alike = ask_alike(desk)
    page = signed_in()
    group = page.get_by_role("button", name="8 like this: archive_mail folder Inbox")
    group.press("Enter")
    page.get_by_role("button", name="Answer several…").press("Enter")
    expect(group).to_have_attribute("aria-current", "true")
    expect(page.locator(".no [data-off]")).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator(".several input").first).to_be_focused()

    def complains() -> bool:
        page.keyboard.press("d")
        return page.locator(".hint").inner_text() != ""

    wait_until(page, complains)  # once the buttons are awake
    expect(page.locator(".hint")).to_have_text("Choose at least one.")
    page.get_by_label("Choose all").press("Space")
    read_on(page).focus()
    read_to_the_end(page)
    expect(page.locator(".yeses .allow")).to_be_focused()
    page.locator(".several input").nth(2).press("Space")
    allow = page.get_by_role("button", name="Allow 7 once")
    expect(allow).not_to_have_attribute("aria-disabled", "true")
    page.keyboard.press("a")
    expect(page.locator("#said")).to_contain_text("7 allowed once by you")
    assert answers(desk, alike) == ["once", "once", None, *["once"] * 5]
    page.locator(".several input").nth(2).focus()
    page.keyboard.press("Escape")
    expect(page.locator(".several")).to_have_count(0)


def test_what_was_read_before_it_was_chosen_was_read(desk: Desk, signed_in: SignedIn) -> None:
    ask_alike(desk)
    page = signed_in()
    open_together(page)
    wait_settled(page)
    body = page.locator(".card-body")
    for _ in range(40):
        if body.evaluate(SCROLL_A_STEP):
            break
    body.evaluate("e => { e.scrollTop = 0 }")
    page.get_by_label("Choose all").check()
    expect(page.locator(".yeses .allow")).to_have_text("Allow 8 once")


def test_how_those_ended_that_others_answered_or_took_back_is_told_truly(
    desk: Desk, signed_in: SignedIn
) -> None:
    stopped, other = (desk.session(agent="mail-bot") for _ in range(2))
    alike = [ask_to_archive(desk, (stopped, other)[number % 2], number) for number in range(ALIKE)]
    page = signed_in()
    open_together(page)
    page.get_by_label("Choose all").check()
    held: list[Any] = []
    page.route("**/v1/questions/*/answer", lambda route: held.append(route), times=1)  # noqa: PLW0108  Playwright marks it
    page.locator(".no .deny:not([aria-disabled])").click()
    wait_until(page, lambda: held)
    stop_session(desk.gate, stopped, by="bo")
    held[0].continue_()
    expect(page.locator("#said")).to_have_text("4 denied by you; 4 were over already")
    expect(page.locator(".several .ended")).to_have_text(["taken back by bo", "denied by you"] * 4)
    assert answers(desk, alike) == [None, "deny"] * 4
    expect(page.get_by_role("heading", name="None of these is waiting any more")).to_be_visible()


def test_an_answer_lost_on_its_way_is_not_known_to_have_arrived(desk: Desk, signed_in: SignedIn) -> None:
    alike = ask_alike(desk)
    page = signed_in()
    open_together(page)
    page.get_by_label("Choose all").check()
    sent: list[Any] = []

    def lose_the_third(route: Any) -> None:
        sent.append(route)
        if len(sent) == 3:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/questions/*/answer", lose_the_third)
    page.locator(".no .deny:not([aria-disabled])").click()
    expect(page.locator("#said")).to_contain_text(
        "2 of 8 denied. It is not known whether the next answer arrived"
    )
    expect(page.locator(".several .ended:visible")).to_have_count(3)
    assert answers(desk, alike) == ["deny"] * 3 + [None] * 5


@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, PHONE], ids=["desk", "phone"])
def test_axe_finds_nothing_in_groups(desk: Desk, signed_in: SignedIn, size: Any) -> None:
    ask_alike(desk)
    desk.edit(desk.session())
    page = signed_in(viewport=size)
    no_violations_in_any_theme(page)
    open_together(page)
    no_violations_in_any_theme(page)
    assert page.evaluate(SIDEWAYS) == 0
    if size == PHONE:  # what is said has a row of its own
        page.evaluate("import('/web/lib/parts.js').then((parts) => parts.say('This was done.'))")
        expect(page.locator("#said p")).to_be_visible()
        said, card = page.locator("#said").bounding_box(), page.locator(".card").bounding_box()
        assert said is not None
        assert card is not None
        assert said["y"] + said["height"] <= card["y"]
    page.keyboard.press("Escape")
    expect(page.locator(".several")).to_have_count(0)


def test_on_a_phone_the_list_comes_first_and_the_way_back_leads_to_it(
    desk: Desk, signed_in: SignedIn
) -> None:
    session = desk.session()
    desk.edit(session, "one.py")
    desk.push(session)
    page = signed_in(viewport=PHONE)
    rows = page.locator(".list [data-id]")
    expect(rows).to_have_count(2)
    expect(page.locator(".card")).to_have_count(0)
    assert page.evaluate(SIDEWAYS) == 0
    rows.last.click()
    expect(page.locator(".card")).to_contain_text("git push --force")
    expect(rows.first).not_to_be_visible()
    page.go_back()
    expect(rows.first).to_be_visible()
    expect(page.locator(".card")).to_have_count(0)
    rows.first.click()
    expect(page.locator(".card")).to_contain_text("one.py")
    page.get_by_role("button", name="1 of 2: back to the list").click()
    expect(rows.first).to_be_visible()


def test_on_a_phone_the_list_is_filtered(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    for name in ("one.py", "two.py", "three.py"):
        desk.edit(session, name)
    page = signed_in(viewport=PHONE)
    page.get_by_label("Filter the questions").fill("two")
    expect(page.locator(".list [data-id]")).to_have_count(1)
    expect(page.get_by_text("1 of 3 match")).to_be_visible()
    expect(page.get_by_label("Filter the questions")).to_be_focused()
    page.locator(".list [data-id]").click()
    expect(page.locator(".card")).to_contain_text("two.py")


def test_on_a_phone_a_single_question_is_shown_at_once_and_stays_when_another_comes(
    desk: Desk, signed_in: SignedIn
) -> None:
    session = desk.session()
    desk.edit(session, "one.py")
    page = signed_in(viewport=PHONE)
    expect(page.locator(".card")).to_contain_text("one.py")
    desk.edit(session, "two.py")
    expect(page.locator(".pager")).to_contain_text("1 of 2")
    expect(page.locator(".card")).to_contain_text("one.py")
    wait_awake(page)
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".card")).to_contain_text("two.py")


def test_what_an_answer_would_have_covered_is_told_though_more_was_opened_before_it_was_known(
    desk: Desk, signed_in: SignedIn
) -> None:
    session = desk.session()
    for name in ("a.py", "b.py"):
        desk.edit(session, name)
    question = desk.edit(session, "c.py")
    page = signed_in()
    held: list[Any] = []
    page.route(f"**/v1/questions/{question}", lambda route: held.append(route))  # noqa: PLW0108  Playwright marks it
    page.reload()
    page.locator(f"[data-id='{question}']").click()
    page.get_by_role("button", name="more", exact=True).click()
    offer = page.locator(".offers li", has=page.get_by_role("button", name="For 15 minutes"))
    expect(offer).to_be_visible()
    expect(offer).not_to_contain_text("Would have covered")
    wait_until(page, lambda: held)
    held[0].continue_()
    expect(offer).to_contain_text("Would have covered")
