"""A policy file that waits, on the page: what it loosens is read to the end, then it is held or signed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from sayso.gate.gate import current_gate
from sayso.gate.open import open_gate
from sayso.gate.policy.acting_policy import PolicySource
from sayso.gate.policy_acts.apply import apply_policy, load_policy_status
from sayso.policy import load_text
from sayso.store.memory.store import MemoryStore
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk, serving
from tests.browser.reading import HELD, wait_until
from tests.browser.test_by_keyboard import tab_to, type_word
from tests.browser.test_pages import PHONE, no_violations
from tests.browser.test_passkeys import with_passkey
from tests.support.gates import KEY

STRICT = "domains:\n  mail: {autonomous: [], requires_approval: [read], blocked: [send]}\n"
LOOSE = "domains:\n  mail: {autonomous: [read], requires_approval: [send], blocked: []}\n"
MANY = ", ".join(f"send_{number}" for number in range(6))
TOOLS = "".join(
    f"  - {{tool: post, operation: mail.send, when: \"args.to == 'name{number}'\"}}\n" for number in range(60)
)
LONG = LOOSE.replace("[read]", f"[read, {MANY}]") + f"tools:\n{TOOLS}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "policy.yaml"
    made.write_text(STRICT)
    return made


@pytest.fixture
def desk(file: Path) -> Iterator[Desk]:
    with closing(MemoryStore()) as store:
        gate = open_gate(load_text(STRICT, name="policy"), store, key=KEY, source=PolicySource(file))
        with serving(gate) as desk:
            yield desk


def state_of(desk: Desk, file: Path) -> str:
    return load_policy_status(current_gate(desk.gate), file).state


def scroll_through(page: Page) -> None:
    """Scroll over all of the page, a screen at a time, as fast as it is drawn."""
    page.evaluate(
        """async () => {
          const frame = () => new Promise(requestAnimationFrame);
          for (let top = 0; top <= document.body.scrollHeight; top += innerHeight / 2) {
            scrollTo(0, top);
            await frame(); // the page learns of a scroll with the next frame
            await frame();
          }
        }"""
    )


def test_a_loosening_waits_until_it_was_read_and_is_applied_by_holding(
    desk: Desk, signed_in: SignedIn, file: Path
) -> None:
    file.write_text(LOOSE)
    page = signed_in("/policy")
    waiting = page.get_by_role("region", name="Your policy file")
    expect(waiting).to_contain_text("Your policy file waits")
    expect(waiting.locator(".loosened").first).to_contain_text("mail.read")
    no_violations(page)
    button = waiting.get_by_role("button", name="Hold to apply")
    expect(button).not_to_have_attribute("aria-disabled", "true")
    button.click()
    expect(waiting).to_contain_text("Hold the button for a second")
    assert state_of(desk, file) == "waits"
    button.click(delay=HELD)
    expect(page.locator(".said, [role=status]", has_text="Applied")).to_be_visible()
    expect(waiting).to_be_empty()
    assert state_of(desk, file) == "in_force"


def test_a_loosening_that_was_taken_back_is_not_said_to_loosen(
    desk: Desk, signed_in: SignedIn, file: Path
) -> None:
    file.write_text(STRICT.replace("[read], blocked: [send]", "[read, send], blocked: []"))
    current_gate(desk.gate)
    file.write_text(STRICT)
    waiting = signed_in("/policy").get_by_role("region", name="Your policy file")
    expect(waiting).to_contain_text("Applying it loosens nothing.")
    expect(waiting).not_to_contain_text("It loosens what is in force")
    waiting.get_by_role("button", name="Hold to apply").click(delay=HELD)
    expect(waiting).to_be_empty()
    assert state_of(desk, file) == "in_force"


def test_many_changes_are_summed_up_before_they_are_listed(
    desk: Desk, signed_in: SignedIn, file: Path
) -> None:
    summary = "Summary of the changes"
    file.write_text(LOOSE)
    page = signed_in("/policy")
    expect(page.locator(".changes .loosened").first).to_be_visible()
    expect(page.get_by_role("list", name=summary)).to_have_count(0)
    many = ", ".join(f"send_{number}" for number in range(20))
    file.write_text(LOOSE.replace("[read]", f"[read, {many}]"))
    page.reload()
    listed = page.get_by_role("list", name=summary)
    expect(listed).to_contain_text("Blocked before, no longer: 1 (mail.send)")
    expect(listed).to_contain_text("Asked before, allowed in more situations: 21 (mail 21)")
    no_violations(page)


def test_the_inbox_says_that_a_file_waits_and_leads_to_it(
    desk: Desk, signed_in: SignedIn, file: Path
) -> None:
    file.write_text(LOOSE)
    page = signed_in("/")
    expect(page.locator("main")).to_contain_text("No question waits for you")
    page.get_by_role("link", name="Your policy file waits to be applied").click()
    expect(page.locator("h1")).to_have_text("Policy")
    apply_policy(desk.gate, file, by="ana", content=load_policy_status(desk.gate, file).content)
    page.goto(page.url.replace("/policy", "/"))
    expect(page.locator("main")).to_contain_text("Nothing waits for you")


def test_the_keyboard_alone_applies_it(desk: Desk, signed_in: SignedIn, file: Path) -> None:
    file.write_text(LOOSE)
    page = signed_in("/policy")
    button = page.get_by_role("button", name="Hold to apply")
    expect(button).not_to_have_attribute("aria-disabled", "true")
    tab_to(page, "Hold to apply")
    page.keyboard.press("Enter")
    type_word(page, "appl")
    assert state_of(desk, file) == "waits"
    type_word(page, "y")
    expect(page.locator("[role=status]", has_text="Applied")).to_be_visible()
    assert state_of(desk, file) == "in_force"


def test_what_was_not_on_screen_is_not_applied(desk: Desk, signed_in: SignedIn, file: Path) -> None:
    file.write_text(LONG)
    page = signed_in("/policy", viewport=PHONE)
    waiting = page.get_by_role("region", name="Your policy file")
    expect(waiting.get_by_role("button", name="read on")).to_be_attached()
    expect(waiting.get_by_role("button", name="Hold to apply")).to_have_count(0)
    expect(waiting).to_contain_text("args.to == 'name59'")
    scroll_through(page)
    expect(waiting.get_by_role("button", name="Hold to apply")).to_be_attached()


def test_by_keyboard_alone_a_file_is_read_to_its_end_from_wherever_the_button_stands(
    desk: Desk, signed_in: SignedIn, file: Path
) -> None:
    file.write_text(LONG)
    page = signed_in("/policy", viewport=PHONE)
    waiting = page.get_by_role("region", name="Your policy file")
    button = waiting.get_by_role("button")
    button.focus()
    expect(button).to_have_text("read on ↑")

    def has_read_all() -> bool:
        """Whether nothing is left to read; one more press if there is."""
        expect(button).not_to_have_attribute("aria-disabled", "true")
        if "read on" not in button.inner_text():
            return True
        page.keyboard.press("Enter")
        return False

    wait_until(page, has_read_all)
    expect(button).to_have_text("Hold to apply")
    expect(button).to_be_focused()
    expect(button).to_be_in_viewport()


def test_a_file_that_changed_meanwhile_is_read_again(desk: Desk, signed_in: SignedIn, file: Path) -> None:
    file.write_text(LOOSE)
    page = signed_in("/policy")
    waiting = page.get_by_role("region", name="Your policy file")
    button = waiting.get_by_role("button", name="Hold to apply")
    expect(button).not_to_have_attribute("aria-disabled", "true")
    file.write_text(LOOSE.replace("requires_approval: [send]", "requires_approval: [send, forward]"))
    button.click(delay=HELD)
    expect(page.locator(".said, [role=status]", has_text="Nothing was done")).to_be_visible()
    expect(waiting.locator("li", has_text="mail.forward").first).to_be_visible()
    assert state_of(desk, file) == "waits"


def test_with_a_passkey_it_is_signed(desk: Desk, signed_in: SignedIn, file: Path) -> None:
    page = signed_in()
    with_passkey(page, desk)
    file.write_text(LOOSE)
    page.goto(f"{desk.url}/policy")
    waiting = page.get_by_role("region", name="Your policy file")
    waiting.get_by_role("button", name="Apply with a passkey").click()
    expect(waiting).to_be_empty()
    assert state_of(desk, file) == "in_force"
    with desk.gate.store.read() as tx:
        signed = [row.event for row in tx.entries("main") if b'"proof":{' in (row.body or b"")]
    assert signed == ["POLICY"]


def test_a_refused_file_is_told_with_its_problem_and_no_button(
    desk: Desk, signed_in: SignedIn, file: Path
) -> None:
    file.write_text("mood: <b>paranoid</b>")
    page = signed_in("/policy")
    waiting = page.get_by_role("region", name="Your policy file")
    expect(waiting).to_contain_text("Your policy file is refused")
    expect(waiting.locator("pre")).to_contain_text(re.compile("mood"))
    expect(waiting.get_by_role("button")).to_have_count(0)
