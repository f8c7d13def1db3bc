"""Words of agents stand in quotes, the page's own do not, and nothing is pushed out of sight by blanks."""

from __future__ import annotations

from playwright.sync_api import expect

from sayso.core.model import Declaration, Operation
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.ledger.start import start_call
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_row
from tests.browser.conftest import SignedIn
from tests.browser.desk import Desk
from tests.browser.reading import wait_awake, wait_for_value
from tests.browser.test_pages import no_violations

PHONE = {"width": 360, "height": 740}


def test_blanks_push_no_end_of_a_command_out_of_sight(desk: Desk, signed_in: SignedIn) -> None:
    desk.ask(desk.session(), "git.push_force", command=f"ls{' ' * 1500}; rm -rf ~\n    indented\ta  b")
    page = signed_in(viewport=PHONE)
    expect(page.locator(".card .hero")).to_contain_text("ls⟨1,500 spaces⟩; rm -rf ~")
    expect(page.locator(".card .hero")).to_contain_text("    indented", use_inner_text=True)
    expect(page.locator(".card .hero")).to_be_in_viewport(ratio=1)


def test_an_operations_name_cannot_pass_for_the_reason_it_is_asked(desk: Desk, signed_in: SignedIn) -> None:
    name = "x.safe_and_allowed_by_your_admin"
    desk.ask(desk.session(), name, tool="deploy", args={"a": 1})
    page = signed_in()
    expect(page.locator(".why .quoted").first).to_have_text(name)
    expect(page.locator(".why")).to_contain_text("is not listed in your policy")


def test_only_what_a_program_says_of_itself_stands_in_quotes_in_the_head(
    desk: Desk, signed_in: SignedIn
) -> None:
    session = desk.session()
    desk.edit(session, "a.py")
    operation = Operation("things.make", reason="harmless, says the tool", declared=True)
    call = make_call("make", {"a": 1}, folder="/home/ana/sayso-demo")
    told = Declaration((operation,), "host")
    request = make_request(call, [operation], session=session, agent="claude-code", declared=told)
    question = start_call(desk.gate, request, holder="desk").question
    page = signed_in()
    head = page.locator(".card-head .does")
    expect(head).to_have_text("changes a file")
    expect(head.locator(".quoted")).to_have_count(0)
    page.locator(f'[data-id="{question}"]').click()
    expect(head.locator(".quoted")).to_have_text("harmless, says the tool")


def test_the_dialog_that_wants_the_word_shows_the_call(desk: Desk, signed_in: SignedIn) -> None:
    question = desk.push(desk.session())
    page = signed_in()
    wait_awake(page)
    expect(page.locator(".yeses .hold:not([aria-disabled])")).to_be_visible()
    page.keyboard.press("a")
    expect(page.get_by_role("dialog").locator(".quoted")).to_have_text("git push --force origin main")
    no_violations(page)
    page.get_by_label("Type allow").fill("allow")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert load_question_row(desk.gate, question).answer == "once"


def test_two_open_stories_are_told_apart_by_those_who_hear_the_page(desk: Desk, signed_in: SignedIn) -> None:
    for path in ("a.py", "b.py"):
        answer_question(desk.gate, desk.edit(desk.session(), path), "deny", by="ana", reason="no")
    page = signed_in("/history")
    for number in range(2):
        page.locator("button.call").nth(number).click()
    expect(page.locator(".past")).to_have_count(2)
    expect(page.locator(".story li", has_text="Asked").first.locator(".quoted")).to_have_count(0)
    expect(page.locator(".story li", has_text="Denied").first.locator(".quoted")).to_have_text("no")
    no_violations(page)


def test_deny_keeps_its_place_on_a_phone_while_the_form_is_changed(desk: Desk, signed_in: SignedIn) -> None:
    desk.edit(desk.session(), "a.py")
    page = signed_in(viewport=PHONE)
    wait_awake(page)
    deny = page.locator(".bar .deny")
    before = deny.bounding_box()
    page.get_by_role("button", name="Edit…").click()
    page.get_by_label("file_path", exact=True).fill("b.py")
    expect(page.get_by_role("button", name="Discard changes")).to_be_visible()
    wait_for_value(page, deny.bounding_box, before)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_stopping_one_session_says_what_it_withdrew(desk: Desk, signed_in: SignedIn) -> None:
    desk.edit(desk.session("one"), "a.py")
    page = signed_in("/sessions")
    page.get_by_role("button", name="Stop one").click()
    expect(page.locator("#said")).to_contain_text("let it go on. 1 open question was withdrawn.")
    expect(page.locator("#said .quoted")).to_have_text("one")


def test_a_desk_shows_twelve_questions_at_once(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    for number in range(14):
        desk.ask(session, "files.edit", tool=f"edit_{number}", args={"path": f"src/module_{number}.py"})
    page = signed_in()
    expect(page.locator(".list li")).to_have_count(14)
    expect(page.locator(".list li").nth(11)).to_be_in_viewport(ratio=1)
