"""Every page: full and empty, dark and light, on a desk and on a phone, without a fault that axe can find."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, Route, expect

from sayso.core.model import Operation, Request
from sayso.gate.deciding.authorize import Bundle
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.ledger.start import start_call
from sayso.gate.questions.answer import answer_question
from sayso.gate.sessions.operator_grants import list_grants, list_grants_page
from tests.browser.conftest import SignedIn, Watch
from tests.browser.desk import Desk

SHOWS = {
    "/": "git push --force origin main",
    "/history": "tests.py",
    "/grants": "grant for files.edit",
    "/sessions": "claude-code",
    "/workflows": "No workflow is running",
    "/proposals": "Nothing is proposed",
    "/policy": "write_outside_workspace",
    "/review": "files.search",
    "/audit": "ANSWERED",
    "/figures": "Questions, hour by hour",
    "/people": "The policy names no people",
    "/passkeys": "You have no passkey",
}
EMPTY = {
    "/": "Nothing waits for you",
    "/history": "Nothing was decided yet",
    "/grants": "Nothing is granted",
    "/sessions": "No session is open",
    "/proposals": "Nothing is proposed",
    "/figures": "Nothing was decided in this time",
}
PHONE = {"width": 360, "height": 740}


def busy(desk: Desk) -> str:
    """A desk with something on every page; the session of its grants."""
    session = desk.session()
    for name, answer in (("src/a.py", "temporary"), ("tests.py", "once")):
        assert answer_question(desk.gate, desk.edit(session, name), answer, by="ana").yours
    desk.push(session)
    desk.ask(session, "git.commit", "files.edit", command="./release.sh", bundle=Bundle("release"))
    desk.ask(session, "scripts.run", command="run\n" * 900)
    return session


def edit_call(session: str) -> Request:
    """What `Desk.edit` asks for."""
    call = make_call(
        "Edit", {"file_path": "src/parse.py"}, folder="/home/ana/sayso-demo", target="src/parse.py"
    )
    return make_request(call, [Operation("files.edit")], session=session, agent="claude-code")


def no_violations(page: Page, options: dict[str, object] | None = None) -> None:
    found = Axe().run(page, options=options)
    assert found.violations_count == 0, found.generate_report()


def no_violations_in_any_theme(page: Page) -> None:
    """A theme changes nothing but colours, so the second one is looked at for those alone."""
    no_violations(page)
    page.emulate_media(color_scheme="dark")
    no_violations(page, {"runOnly": ["color-contrast"]})
    page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("path", list(SHOWS))
def test_axe_finds_nothing(desk: Desk, signed_in: SignedIn, path: str) -> None:
    busy(desk)
    page = signed_in(path)
    expect(page.locator("main")).to_contain_text(SHOWS[path])
    expect(page.locator(".bar [aria-disabled]")).to_have_count(0)
    no_violations_in_any_theme(page)
    page.set_viewport_size({"width": 360, "height": 740})
    expect(page.locator(".bar [aria-disabled]")).to_have_count(0)
    no_violations_in_any_theme(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("path", list(EMPTY))
def test_an_empty_page_says_what_would_be_there(signed_in: SignedIn, path: str) -> None:
    page = signed_in(path)
    expect(page.locator("main")).to_contain_text(EMPTY[path])
    no_violations(page)


def test_axe_finds_nothing_where_answers_are_widened_edited_and_confirmed(
    desk: Desk, signed_in: SignedIn
) -> None:
    session = busy(desk)
    desk.edit(session, "other.py")
    page = signed_in()
    for name in ("more", "Edit…", "Why"):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator(".bar [aria-disabled]")).to_have_count(0)
        no_violations(page)
    page.locator(".card-body").focus()
    page.keyboard.press("a")
    expect(page.get_by_role("dialog")).to_be_visible()
    no_violations(page)


def test_a_page_that_cannot_be_read_says_so_and_tries_again(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in()
    refused: list[Route] = []

    def refuse(route: Route) -> None:
        refused.append(route)
        route.fulfill(status=503, body='{"detail": "the store is busy"}')

    page.route("**/v1/grants", refuse)
    # It is read when the page opens, and again at the service's first word; then it stays as it is.
    with page.expect_response(lambda found: found.url.endswith("/v1/grants") and len(refused) > 1):
        page.goto(desk.url + "/grants")
    expect(page.get_by_role("alert")).to_contain_text("the store is busy")
    no_violations(page)
    page.unroute("**/v1/grants")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("main")).to_contain_text("Nothing is granted")


def test_a_grant_is_revoked_by_one_key(desk: Desk, signed_in: SignedIn) -> None:
    session = busy(desk)
    # One row an answer: "15 minutes" gave an approval of this call as well, and both end together.
    before = len(list_grants_page(desk.gate, session=session)[0])
    assert before < len(list_grants(desk.gate, session))
    page = signed_in("/grants")
    expect(page.locator("tbody tr")).to_have_count(before)
    page.keyboard.press("j")
    page.keyboard.press("r")
    expect(page.locator("tbody tr")).to_have_count(before - 1)
    assert len(list_grants(desk.gate, session)) == before - 1


def test_a_grant_given_elsewhere_appears_and_is_revoked_by_a_click(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in("/grants")
    expect(page.locator("main")).to_contain_text("Nothing is granted")
    session = desk.session()
    answer_question(desk.gate, desk.edit(session), "once", by="ben")
    page.get_by_role("button", name="Revoke").click()
    expect(page.locator("main")).to_contain_text("Nothing is granted")
    assert list_grants(desk.gate, session) == []


def test_all_agents_are_stopped_by_one_button(desk: Desk, signed_in: SignedIn) -> None:
    desk.session("one")
    desk.session("two")
    page = signed_in("/sessions")
    page.get_by_role("button", name="Stop all agents").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop all").click()
    expect(page.locator(".mark", has_text="stopped")).to_have_count(2)


def test_on_a_phone_the_word_after_stop_all_is_not_cut_off(desk: Desk, signed_in: SignedIn) -> None:
    for name in ("one", "two", "three"):
        desk.edit(desk.session(name))
    page = signed_in("/sessions", viewport=PHONE, has_touch=True)
    page.get_by_role("button", name="Stop all agents").tap()
    page.get_by_role("dialog").get_by_role("button", name="Stop all").tap()
    said = page.locator("#said p")
    expect(said).to_contain_text("3 stopped")
    assert said.evaluate(
        "(one) => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize("path", ["/sessions", "/", "/histroy"])
def test_on_a_phone_the_way_to_the_inbox_is_no_smaller_than_a_thumb(
    desk: Desk, signed_in: SignedIn, path: str
) -> None:
    page = signed_in(viewport=PHONE, has_touch=True)
    page.goto(f"{desk.url}{path}")
    expect(page.locator("#brand img")).to_be_visible()
    box = page.locator("#brand").bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 44


def test_a_missing_address_leads_back(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in(viewport=PHONE, has_touch=True)
    page.goto(f"{desk.url}/histroy")
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
    no_violations(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_role("link", name="Back to the inbox").tap()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()


def test_history_is_filtered_and_a_row_opens(desk: Desk, signed_in: SignedIn) -> None:
    busy(desk)
    page = signed_in("/history")
    expect(page.locator("main")).to_contain_text("tests.py")
    page.keyboard.press("/")
    page.keyboard.type("push --force")
    expect(page.locator("tbody tr:not(.opened)")).to_have_count(1)
    page.locator("tbody button").click()
    expect(page.locator(".opened")).to_contain_text("high risk asks every time")


def test_a_row_opens_to_what_was_recorded_its_proof_and_the_trace_of_deciding_it_now(
    desk: Desk, signed_in: SignedIn
) -> None:
    desk.ask(desk.session(), "git.commit", "git.push", command="./release.sh")
    page = signed_in("/history")
    expect(page.locator("tbody tr[tabindex]")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    recorded = page.locator(".past section").nth(1)
    expect(recorded.get_by_role("heading", name="As it was recorded")).to_be_visible()
    expect(recorded.locator("tbody tr")).to_have_count(2)
    expect(recorded.locator("tbody tr", has_text="git.push")).to_contain_text("high risk asks every time")
    expect(recorded).to_contain_text("still in force")
    now = page.locator(".past .again")
    expect(now).to_contain_text("This is not what happened then")
    expect(now).to_contain_text("It would be decided the same way: asked")
    now.locator("summary", has_text="git.push").click()
    expect(now.locator("details[open] .spoke")).to_contain_text("risky")
    no_violations_in_any_theme(page)
    page.set_viewport_size({"width": 360, "height": 740})
    no_violations_in_any_theme(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    with page.expect_download() as saved:
        recorded.get_by_role("button", name="Download the proof").click()
    assert saved.value.path().read_text(encoding="utf-8").startswith("c2sp.org/tlog-proof")


def test_what_would_be_decided_otherwise_now_is_said_to_be(desk: Desk, signed_in: SignedIn) -> None:
    answer_question(desk.gate, desk.edit(desk.session()), "once", by="ana")
    page = signed_in("/history")
    page.locator("tbody button.call").click()
    expect(page.locator(".past .story")).to_contain_text("Allowed once by ana")
    expect(page.locator(".again")).to_contain_text("It would be decided differently: allowed by the rule")


def test_a_row_that_cannot_be_read_says_so_and_tries_again(desk: Desk, signed_in: SignedIn) -> None:
    desk.push(desk.session())
    page = signed_in("/history")
    page.route("**/v1/history/*", lambda route: route.fulfill(status=503, body='{"detail": "busy"}'))
    page.locator("tbody button.call").click()
    expect(page.get_by_role("alert")).to_contain_text("busy")
    page.unroute("**/v1/history/*")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".past")).to_contain_text("As it was recorded")


def test_the_matrix_says_how_long_ago_an_operation_was_used(desk: Desk, signed_in: SignedIn) -> None:
    session = desk.session()
    attempt = desk.edit(session)
    page = signed_in("/policy")
    files = page.locator("tbody tr", has=page.get_by_text("files", exact=True)).first
    expect(files.locator("li", has_text="edit")).to_contain_text(re.compile(r"edit asked \d+ s ago"))
    answer_question(desk.gate, attempt, "always", by="ana")
    start_call(desk.gate, edit_call(session), holder="desk")
    page.reload()
    expect(files.locator("li", has_text="edit")).to_have_text(re.compile(r"^edit \d+ s ago$"))
    expect(files.locator("li", has_text="search").locator("time")).to_have_count(0)
    page.locator("main summary").click()
    expect(page.locator("details tbody tr", has_text="files.edit").locator("time")).to_have_count(2)
    no_violations(page)


def test_figures_are_told_by_agent_and_by_category_in_pictures_words_and_tables(
    desk: Desk, signed_in: SignedIn, watch: Watch
) -> None:
    long = desk.session("an-agent-" * 20)
    desk.ask(long, "git.commit", command="y", agent="an-agent-" * 20)
    session = desk.session("<b>bold</b>")
    with watch.held():
        asked = desk.ask(session, "files.edit", command="x", agent="<b>bold</b>")
        answer_question(desk.gate, asked, "deny", by="ana")
    page = signed_in("/figures")
    for name in ("Asked against avoided", "Time to answer", "Too fast to be read"):
        for by, label in (("agent", "<b>bold</b>"), ("category", "file-edit")):
            figure = page.locator("figure", has=page.get_by_role("heading", name=f"{name}, by {by}"))
            expect(figure.locator("figcaption p")).to_contain_text(label)
            expect(figure.locator(".bar-row", has_text=label)).to_have_count(1)
            figure.locator("summary").click()
            expect(figure.locator("tbody tr", has_text=label)).to_have_count(1)
    fast = page.locator("figure", has=page.get_by_role("heading", name="Too fast to be read, by agent"))
    expect(fast.locator(".bar-row")).to_contain_text("1 of 1")
    expect(page.locator("main b")).to_have_count(0)
    no_violations(page)
    page.set_viewport_size({"width": 360, "height": 740})
    no_violations(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_trail_is_verified_and_a_proof_is_saved(desk: Desk, signed_in: SignedIn) -> None:
    busy(desk)
    page = signed_in("/audit")
    page.get_by_role("button", name="Verify all").click()
    expect(page.get_by_text("Verified to entry")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download the proof of entry 2", exact=True).click()
    assert saved.value.path().read_text(encoding="utf-8").startswith("c2sp.org/tlog-proof")


def test_a_draft_is_compared_in_words(desk: Desk, signed_in: SignedIn) -> None:
    page = signed_in("/policy")
    draft = "sayso: 1\nextends: [coding]\noperations:\n  git.commit: {risk: low}\n"
    page.get_by_label("Draft").fill(draft)
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".changes")).to_contain_text("git.commit")
    no_violations(page)


def test_what_a_draft_loosens_and_tightens_is_told_by_word_as_well_as_colour(
    desk: Desk, signed_in: SignedIn
) -> None:
    page = signed_in("/policy")
    lists = "autonomous: [edit], requires_approval: [], blocked: [read]"
    page.get_by_label("Draft").fill(f"sayso: 1\nextends: [coding]\ndomains:\n  files: {{{lists}}}\n")
    page.get_by_role("button", name="Compare").click()
    for kind, operation in (("loosened", "files.edit"), ("tightened", "files.read")):
        line = page.locator(f".changes .{kind}", has_text=operation).first
        expect(line.locator("strong")).to_have_text(kind)
    no_violations_in_any_theme(page)


def test_every_page_has_an_address_of_its_own_and_the_way_back_works(signed_in: SignedIn) -> None:
    page = signed_in()
    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("heading", name="History")).to_be_focused()
    page.get_by_role("link", name="Grants").click()
    expect(page).to_have_url(re.compile("/grants$"))
    expect(page.get_by_role("heading", name="Grants")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="History")).to_be_visible()


FITS = """() => [...document.querySelectorAll(".top > *, #nav li")].every((one) => {
  const box = one.getBoundingClientRect();
  return box.left >= 0 && box.right <= innerWidth && box.height <= 52;
})"""


@pytest.mark.parametrize("word", ["live", "connecting …", "no answer yet"])
def test_the_top_fits_at_every_width(desk: Desk, signed_in: SignedIn, word: str) -> None:
    busy(desk)
    page = signed_in("/workflows")
    page.evaluate(
        """(word) => {
          document.body.classList.toggle("slow", word === "no answer yet");
          document.querySelector("#line").textContent = word;
          for (const one of document.querySelectorAll(".count")) one.textContent = "50+";
        }""",
        word,
    )
    for width in (360, 400, 720, 721, 900, 1120, 1121, 1180, 1260, 1261, 1280, 1400, 1401):
        page.set_viewport_size({"width": width, "height": 740})
        assert page.evaluate(FITS), width


def test_several_effects_of_a_call_are_told_apart(desk: Desk, signed_in: SignedIn) -> None:
    desk.ask(desk.session(), "git.commit", "files.edit", command="./release.sh", bundle=Bundle("release"))
    page = signed_in()
    expect(page.locator(".card-head li")).to_have_text(["records a commit", "changes a file"])
    expect(page.locator(".place-of")).to_have_text("Folder/home/ana/sayso-demo")
