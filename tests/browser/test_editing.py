"""Edits on the page: the arguments are what is edited, and nothing but the edited call can be allowed."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from sayso import Inbox, Sayso
from sayso.core.digest import decode_canonical
from sayso.gate.questions.wait import load_question_row
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import expect_open, hold, read_on, read_to_the_end, wait_awake
from tests.browser.test_pages import no_violations, no_violations_in_any_theme

PHONE = {"width": 360, "height": 740}
MAIL = {
    "to": ["ana@example.org", "bo@example.org"],
    "subject": "Friday",
    "body": "Hello,\n\nFriday?",
    "urgent": False,
    "retries": 3,
    "share": 0.5,
    "options": {"format": "plain", "tags": ["a"], "deep": {"level": 1}},
    "reply_to": None,
}
TOO_SMALL = """() => [...document.querySelectorAll(
    ".detail button, .top summary, .editor input, .editor select, .editor textarea")]
  .filter((one) => one.checkVisibility() && !one.matches("[type=checkbox]"))
  .filter((one) => one.getBoundingClientRect().height < 44)
  .map((one) => one.textContent)"""


def aside(does: Callable[[], Any]) -> Any:
    """Do this in a thread of its own: the browser's driver keeps an event loop in this one."""
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(does()))
    thread.start()
    thread.join()
    return done[0]


def open_form(page: Page) -> None:
    page.get_by_role("button", name="Edit…").click()
    expect(page.get_by_role("form", name="Edit the call")).to_be_visible()


def allow_edited(page: Page) -> None:
    page.get_by_role("button", name="Allow the edited call").click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()


def edited_args(desk: Desk, question: str) -> Any:
    edited = desk.gate.sealer.open_edited(load_question_row(desk.gate, question))
    return None if edited is None else decode_canonical(edited.call.arguments)


def field(page: Page, name: str) -> Any:
    return page.locator(".editor").get_by_label(name, exact=True)


@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 800}], ids=str)
def test_an_edited_command_is_what_runs(
    desk: Desk, signed_in: SignedIn, size: dict[str, int], tmp_path: Path
) -> None:
    program = Sayso(desk.gate, [Inbox()])

    @program.capability("Bash")
    @program.requires_consent("shell.run")
    def run(command: str) -> None:
        subprocess.run(["sh", "-c", command], check=True, cwd=tmp_path)  # noqa: S607  # what was allowed

    late = aside(lambda: program.run("Bash", {"command": "touch original"}, wait=0))
    page = signed_in(viewport=size)
    open_form(page)
    field(page, "command").fill("touch edited")
    expect(page.locator(".preview")).to_contain_text(re.compile(r"touch.*edited"))
    read_to_the_end(page)
    hold(page, "Hold to allow the edited call")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert aside(lambda: program.retry(late.operation_id)).status == "ok"
    assert [one.name for one in tmp_path.iterdir() if one.name in ("original", "edited")] == ["edited"]


def test_nothing_but_the_edited_call_can_be_allowed_while_the_form_is_changed(
    desk: Desk, signed_in: SignedIn
) -> None:
    question = desk.edit(desk.session())
    page = signed_in()
    open_form(page)
    field(page, "file_path").fill("src/other.py")
    expect(page.locator(".bar button:visible")).to_have_text(
        ["Deny", "Discard changes", "Allow the edited call"]
    )
    page.locator(".card-head").click()
    for key in ("a", "t", "w"):
        page.keyboard.press(key)
    expect(page.locator(".hint")).to_contain_text("discard the changes first")
    expect_open(desk, page, question)
    page.get_by_role("button", name="Discard changes").click()
    expect(page.locator(".editor")).to_have_count(0)
    page.get_by_role("button", name="Allow once").click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert load_question_row(desk.gate, question).answer == "once"


def test_a_form_in_which_nothing_is_changed_any_more_offers_no_edited_call(
    desk: Desk, signed_in: SignedIn
) -> None:
    question = desk.edit(desk.session())
    page = signed_in()
    open_form(page)
    allow = page.get_by_role("button", name="Allow the edited call")
    expect(allow).to_have_count(0)
    field(page, "file_path").fill("other.py")
    expect(allow).not_to_have_attribute("aria-disabled", "true")
    field(page, "file_path").fill("src/parse.py")
    expect(allow).to_have_count(0)
    page.get_by_role("button", name="Close the form").click()
    expect(page.locator(".editor")).to_have_count(0)
    expect(page.get_by_role("button", name="Edit…")).to_be_focused()
    page.get_by_role("button", name="Allow once").click()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert load_question_row(desk.gate, question).answer == "once"


def test_what_cannot_be_read_is_allowed_neither_edited_nor_as_it_was(desk: Desk, signed_in: SignedIn) -> None:
    question = desk.ask(desk.session(), "email.send", tool="send_mail", args=MAIL)
    page = signed_in()
    open_form(page)
    field(page, "retries").fill("many")
    allow = page.get_by_role("button", name="Allow the edited call")
    expect(page.get_by_role("button", name="Allow once")).to_have_count(0)
    expect(page.get_by_role("button", name="Discard")).not_to_have_attribute("aria-disabled", "true")
    allow.click(force=True)
    expect(page.locator(".hint")).to_contain_text("retries takes a number")
    expect_open(desk, page, question)
    no_violations(page)


def test_what_the_policy_denies_stays_denied_when_it_is_edited_in(desk: Desk, signed_in: SignedIn) -> None:
    question = desk.edit(desk.session())
    page = signed_in()
    open_form(page)
    field(page, "file_path").fill("/home/ana/.ssh/id_ed25519")
    expect(page.locator(".preview")).to_contain_text("The policy denies the edited call")
    allow = page.get_by_role("button", name="Allow the edited call")
    expect(page.get_by_role("button", name="Discard")).not_to_have_attribute("aria-disabled", "true")
    allow.click(force=True)
    expect(page.locator(".hint")).to_contain_text("denies the edited call")
    expect_open(desk, page, question)
    no_violations(page)


def test_an_edit_that_raises_the_risk_says_so_and_has_to_be_read_and_held(
    desk: Desk, signed_in: SignedIn
) -> None:
    args = {"file_path": "src/parse.py", "new_string": "x\n" * 60}
    question = desk.ask(desk.session(), "files.edit", tool="Edit", args=args)
    page = signed_in(viewport=PHONE)
    open_form(page)
    field(page, "file_path").fill("/etc/hosts")
    expect(page.locator(".preview")).to_contain_text("This raises the risk from moderate to high")
    expect(read_on(page)).to_be_visible()
    expect(page.get_by_role("button", name="Allow the edited call")).to_have_count(0)
    no_violations_in_any_theme(page)
    expect_open(desk, page, question)
    read_to_the_end(page)
    hold(page, "Hold to allow the edited call")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert edited_args(desk, question)["file_path"] == "/etc/hosts"


def test_every_kind_of_value_has_a_field_and_keeps_its_kind(desk: Desk, signed_in: SignedIn) -> None:
    question = desk.ask(desk.session(), "email.send", tool="send_mail", args=MAIL)
    page = signed_in(viewport=PHONE)
    open_form(page)
    field(page, "subject").fill("Monday")
    field(page, "body").fill("Hello,\n\nMonday?")
    field(page, "urgent").check()
    field(page, "retries").fill("five")
    expect(page.locator(".editor .fault")).to_contain_text("retries takes a number")
    field(page, "retries").fill("5")
    field(page, "share").fill("0.25")
    page.get_by_role("button", name="Remove to 1").click()
    page.get_by_role("button", name="Add another to to").click()
    field(page, "to 3").fill("cy@example.org")
    field(page, "level").fill("2")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    allow_edited(page)
    assert edited_args(desk, question) == {
        **MAIL,
        "to": ["bo@example.org", "cy@example.org"],
        "subject": "Monday",
        "body": "Hello,\n\nMonday?",
        "urgent": True,
        "retries": 5,
        "share": 0.25,
        "options": {"format": "plain", "tags": ["a"], "deep": {"level": 2}},
    }


def test_a_whole_number_of_a_function_stays_one_and_no_field_is_made_for_the_rest(
    signed_in: SignedIn,
) -> None:
    page = signed_in()
    found = page.evaluate(
        """async () => {
          const { formOf } = await import("/web/question/form.js");
          const values = { level: 1, files: [], kept: 7 };
          const form = formOf(values, { arguments: ["level", "files"], same_kinds: true }, () => {});
          const box = document.createElement("div");
          box.append(...form.elements);
          const [level, ...others] = box.querySelectorAll("input");
          level.value = "1.5";
          let refused = "";
          try { form.read(); } catch (problem) { refused = problem.message; }
          level.value = "2";
          return [form.read(), refused, others.length, box.querySelectorAll("fieldset button").length];
        }"""
    )
    assert found == [{"level": 2, "files": [], "kept": 7}, "level takes a whole number.", 0, 1]


def test_escape_closes_what_was_opened_and_the_focus_goes_back(desk: Desk, signed_in: SignedIn) -> None:
    desk.edit(desk.session())
    page = signed_in()
    for name, opened in (("more", ".wider:visible"), ("Edit…", ".editor"), ("Why", ".extra .foreign")):
        button = page.get_by_role("button", name=name, exact=True)
        button.click()
        expect(page.locator(opened)).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator(opened)).to_have_count(0)
        expect(button).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Why", exact=True)).to_be_focused()


def test_escape_closes_the_menu_of_a_phone(signed_in: SignedIn) -> None:
    page = signed_in(viewport=PHONE)
    page.locator("#menu summary").click()
    expect(page.get_by_role("link", name="History")).to_be_visible()
    page.get_by_role("link", name="History").focus()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="History")).to_be_hidden()
    expect(page.locator("#menu summary")).to_be_focused()


def test_a_call_is_edited_and_allowed_by_keyboard_alone(desk: Desk, signed_in: SignedIn) -> None:
    question = desk.edit(desk.session())
    page = signed_in()
    wait_awake(page)
    page.keyboard.press("e")
    expect(field(page, "file_path")).to_be_focused()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("src/other.py")
    allow = page.get_by_role("button", name="Allow the edited call")
    expect(allow).not_to_have_attribute("aria-disabled", "true")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Allow the edited call":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert load_question_row(desk.gate, question).answer == "edit"


def test_axe_finds_nothing_in_the_form_and_every_target_is_large_enough(
    desk: Desk, signed_in: SignedIn
) -> None:
    long = {**MAIL, "word" * 40: "y" * 300, "path": "/" + "deep/" * 60}
    desk.ask(desk.session(), "email.send", tool="send_mail" * 12, args=long, target="z" * 200)
    page = signed_in(viewport=PHONE)
    wait_awake(page)
    for opens in (None, "more", "Edit…"):
        if opens:
            page.get_by_role("button", name=opens, exact=True).click()
        if opens == "Edit…":
            field(page, "subject").fill("x" * 400)
            expect(page.locator(".preview")).to_contain_text("What would run instead")
        expect(page.locator(".bar [aria-disabled]")).to_have_count(0)
        assert page.evaluate(TOO_SMALL) == []
        no_violations_in_any_theme(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert page.locator(".card-body").evaluate("box => box.scrollWidth - box.clientWidth") <= 0
        page.keyboard.press("Escape")


def test_a_large_number_is_shown_digit_by_digit_and_an_edit_beside_it_leaves_it_alone(
    desk: Desk, signed_in: SignedIn
) -> None:
    args = {"note": "old", "id": 2**60, "ids": [10**16, {"deep": 10**21}]}
    question = desk.ask(desk.session(), "files.edit", tool="tune", args=args)
    page = signed_in()
    card = page.locator(".card")
    for digits in ("1152921504606846976", "10000000000000000", "1000000000000000000000"):
        expect(card).to_contain_text(digits)
    open_form(page)
    expect(field(page, "id")).to_have_value("1152921504606846976")
    field(page, "id").fill("1152921504606846977")
    expect(page.locator(".fault")).to_contain_text("too long a number to be exact")
    field(page, "id").fill("1152921504606846976")
    field(page, "note").fill("new")
    allow_edited(page)
    assert edited_args(desk, question) == {**args, "note": "new"}
