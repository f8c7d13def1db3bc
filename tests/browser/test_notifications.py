"""Notifications in a real Chromium: its worker shows what a push service was given, and denies or opens.

A Chromium without its vendor's services refuses to subscribe, so the page's subscription is one whose keys
this test keeps: the message goes to a push service on this machine, the test opens it with those keys, and
hands it to the worker the way a browser does (CDP, `ServiceWorker.deliverPushMessage`). A click on a
notification cannot be made without a desktop: the worker is given the event, with the notification on show.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Worker, expect, sync_playwright

from sayso.gate.deliveries.dispatch import Dispatcher
from sayso.gate.people.push import live_subscriptions
from sayso.gate.questions.answer import answer_question
from sayso.gate.questions.wait import load_question_now
from sayso.surfaces.remote.browser import browser_surfaces
from tests.browser.conftest import BROWSERS, NEEDED
from tests.browser.desk import Desk
from tests.browser.reading import PATIENCE, wait_drawn
from tests.support.push_service import BrowserKeys, FakePushService, encode

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")
SUBSCRIBED = """
PushManager.prototype.subscribe = async function (options) {
  window.subscribedWith = options;
  sessionStorage.subscribed = "yes";
  return { toJSON: () => (%s) };
};
PushManager.prototype.getSubscription = async () =>
  sessionStorage.subscribed ? { unsubscribe: async () => sessionStorage.removeItem("subscribed") } : null;
"""
CLICK = """async ([tag, action]) => {
  const [notification] = await self.registration.getNotifications({ tag });
  const event = new NotificationEvent("notificationclick", { notification, action });
  let work = Promise.resolve();
  event.waitUntil = (promise) => { work = promise; };
  self.dispatchEvent(event);
  await work.catch((problem) => String(problem));
}"""
SHOWN = """async () => (await self.registration.getNotifications()).map(
  ({ tag, title, body, data, actions, silent }) => ({ tag, title, body, data, actions, silent }))"""


@pytest.fixture(scope="module")
def whole_browser() -> Iterator[Browser]:
    """The whole browser: the one without windows shows no notifications."""
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if chromium is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(NEEDED)
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS), headless=False)
        yield started
        started.close()


@pytest.fixture
def service() -> Iterator[FakePushService]:
    made = FakePushService()
    yield made
    made.stop()


class Phone:
    """A browser with the page open, and its worker."""

    def __init__(self, desk: Desk, context: BrowserContext, service: FakePushService) -> None:
        self.desk, self.context, self.service, self.keys = desk, context, service, BrowserKeys()
        spelled = {"p256dh": encode(self.keys.point), "auth": encode(self.keys.auth)}
        made = {"endpoint": service.endpoint("phone"), "expirationTime": None, "keys": spelled}
        self.page = context.new_page()
        self.page.add_init_script(SUBSCRIBED % json.dumps(made))
        self.page.goto(desk.link())
        wait_drawn(self.page)
        self.page.evaluate("navigator.serviceWorker.ready.then(() => null)")

    @property
    def worker(self) -> Worker:
        (found,) = self.context.service_workers
        return found

    def switch(self, *, on: bool) -> None:
        button = self.page.get_by_role("button", name="Notify me")
        button.click()
        expect(button).to_have_attribute("aria-pressed", str(on).lower())

    def send(self) -> list[dict[str, Any]]:
        """Send what is due; what the push service took is opened and handed to the worker."""
        before = len(self.service.messages)
        dispatcher = Dispatcher(self.desk.gate, (), notices_to=lambda: None)
        for surface in browser_surfaces(self.desk.gate):
            while dispatcher.send(surface):
                pass
        opened = [json.loads(self.keys.open(body)) for _, _, body in self.service.messages[before:]]
        for one in opened:
            self.deliver(json.dumps(one))
        return opened

    def deliver(self, text: str) -> None:
        session = self.context.new_cdp_session(self.page)
        found: list[str] = []
        session.on(
            "ServiceWorker.workerRegistrationUpdated",
            lambda told: found.extend(one["registrationId"] for one in told["registrations"]),
        )
        session.send("ServiceWorker.enable")
        while not found:
            self.page.wait_for_timeout(10)
        where = {"origin": self.desk.url, "registrationId": found[0]}
        session.send("ServiceWorker.deliverPushMessage", {**where, "data": text})
        session.detach()

    def shown(self, is_there: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        """Return the notifications on show, once they are so."""
        found: list[dict[str, Any]]
        end = time.monotonic() + PATIENCE / 1_000
        while not is_there(found := self.worker.evaluate(SHOWN)):
            assert time.monotonic() < end, f"never shown; but: {found}"
            self.page.wait_for_timeout(50)
        return found

    def click(self, question: str, action: str = "") -> None:
        self.worker.evaluate(CLICK, [question, action])


@pytest.fixture
def phone(whole_browser: Browser, desk: Desk, service: FakePushService) -> Iterator[Phone]:
    context = whole_browser.new_context(permissions=["notifications"], viewport={"width": 412, "height": 915})
    yield Phone(desk, context, service)
    context.close()


@pytest.fixture
def told(phone: Phone, desk: Desk) -> tuple[str, dict[str, Any]]:
    """Somebody switched notifications on, and an agent asks: the question, and the notification of it."""
    open_menu(phone.page)
    phone.switch(on=True)
    question = desk.push(desk.session())
    phone.send()
    (notification,) = phone.shown(lambda found: len(found) == 1)
    return question, notification


def open_menu(page: Page) -> None:
    page.locator("#menu summary").click()


def test_a_notification_says_operation_risk_and_agent_and_no_argument(
    told: tuple[str, dict[str, Any]], service: FakePushService
) -> None:
    question, notification = told
    assert notification["title"] == "claude-code: git.push_force (high risk)"
    assert notification["tag"] == question
    assert "origin main" not in str(notification)
    assert [one["action"] for one in notification["actions"]] == ["deny", "open"]
    assert len(service.messages) == 1


def test_deny_works_from_the_notification(told: tuple[str, dict[str, Any]], phone: Phone, desk: Desk) -> None:
    question, _ = told
    phone.click(question, "deny")
    row = load_question_now(desk.gate, question)
    assert (row.answer, str(row.by).startswith("ana on push-")) == ("deny", True)
    (after,) = phone.shown(lambda found: [one["body"] for one in found] == ["Denied."])
    assert after["silent"] is True


def test_everything_else_opens_the_question_and_answers_nothing(
    told: tuple[str, dict[str, Any]], phone: Phone, desk: Desk
) -> None:
    first, _ = told
    second = desk.edit(desk.session("codex"))
    phone.send()
    phone.shown(lambda found: len(found) == 2)
    phone.page.goto(f"{desk.url}/history")
    wait_drawn(phone.page)
    phone.click(second, "open")
    expect(phone.page.get_by_role("article", name="Question: Edit")).to_be_visible()
    phone.click(first)
    expect(phone.page.get_by_role("article", name="Question: git push --force")).to_be_visible()
    assert phone.page.url == f"{desk.url}/", "an address that is passed on opens nothing"
    for name in (first, second):
        assert load_question_now(desk.gate, name).state == "open"


def test_a_link_to_a_question_that_is_over_says_so(
    told: tuple[str, dict[str, Any]], phone: Phone, desk: Desk
) -> None:
    question, _ = told
    answer_question(desk.gate, question, "deny", by="bo")
    phone.page.goto(f"{desk.url}/history")
    phone.page.goto(f"{desk.url}/#/question/{question}")
    expect(phone.page.get_by_text("That question is over.")).to_be_visible()


def test_an_answer_from_elsewhere_replaces_the_notification(
    told: tuple[str, dict[str, Any]], phone: Phone, desk: Desk
) -> None:
    question, _ = told
    answer_question(desk.gate, question, "deny", by="bo at the desk")
    phone.send()
    (after,) = phone.shown(lambda found: "bo at the desk" in str(found))
    assert after["body"] == "Answered elsewhere: denied by bo at the desk."
    assert (after["actions"], after["tag"]) == ([], question)


def test_a_denial_after_signing_out_does_not_count_and_says_so(
    told: tuple[str, dict[str, Any]], phone: Phone, desk: Desk
) -> None:
    question, _ = told
    phone.page.get_by_role("button", name="Sign out").click()
    expect(phone.page.get_by_text("sayso link").first).to_be_visible()
    assert live_subscriptions(desk.gate) == []
    phone.click(question, "deny")
    assert load_question_now(desk.gate, question).state == "open"
    phone.shown(lambda found: "Nothing was denied" in str(found))


def test_the_switch_turns_off_and_stays_as_it_was_chosen(phone: Phone, desk: Desk) -> None:
    open_menu(phone.page)
    phone.switch(on=True)
    assert phone.page.evaluate("subscribedWith.userVisibleOnly")
    assert len(live_subscriptions(desk.gate)) == 1
    phone.page.reload()
    wait_drawn(phone.page)
    open_menu(phone.page)
    expect(phone.page.get_by_role("button", name="Notify me")).to_have_attribute("aria-pressed", "true")
    phone.switch(on=False)
    assert live_subscriptions(desk.gate) == []
