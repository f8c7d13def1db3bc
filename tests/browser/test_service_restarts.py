"""The service ends and comes back: the page says so, answers nothing meanwhile, and goes on by itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, expect

from sayso.gate.open import open_gate
from sayso.gate.questions.wait import load_question_row
from sayso.policy import load_preset
from tests.browser.desk import Desk
from tests.browser.reading import wait_awake


@contextmanager
def sayso_serve(folder: Path, port: int = 0) -> Iterator[str]:
    """A real service, as people start it; killed at the end, as power cuts do."""
    wanted = ["--store", str(folder / "s.db"), "--socket", str(folder / "s.sock"), "--preset", "coding"]
    command = [sys.executable, "-m", "sayso", "serve", "--port", str(port), *wanted]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def test_the_page_recovers_when_the_service_restarts(tmp_path: Path, window: Callable[..., Page]) -> None:
    gate = open_gate(load_preset("coding"), tmp_path / "s.db")
    page = window(service_workers="allow")
    with sayso_serve(tmp_path) as url:
        desk = Desk(gate, url)
        session = desk.session()
        first = desk.edit(session, "first.py")
        page.goto(desk.link())
        expect(page.locator(".card")).to_contain_text("first.py")
        wait_awake(page)
    expect(page.locator("#line")).to_contain_text("connection lost")
    allow = page.get_by_role("button", name="Allow once")
    expect(allow).to_have_attribute("aria-disabled", "true")
    allow.click(force=True)
    page.keyboard.press("a")
    second = desk.edit(session, "second.py")
    assert load_question_row(gate, first).state == "open"
    with sayso_serve(tmp_path, int(url.rpartition(":")[2])):
        expect(page.locator("#line")).to_have_text("live")
        expect(page.locator(".list button")).to_have_count(2)
        allow.click()
        expect(page.locator(".card")).to_contain_text("second.py")
        page.get_by_role("button", name="Deny").click()
        expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert [load_question_row(gate, one).answer for one in (first, second)] == ["once", "deny"]
    gate.store.close()


def test_without_the_service_the_page_still_opens_and_says_so(
    tmp_path: Path, window: Callable[..., Page]
) -> None:
    gate = open_gate(load_preset("coding"), tmp_path / "s.db")
    page = window(service_workers="allow")
    with sayso_serve(tmp_path) as url:
        page.goto(Desk(gate, url).link())
        expect(page.locator("#line")).to_have_text("live")
        page.evaluate("navigator.serviceWorker.ready")
        page.reload()
        expect(page.locator("#line")).to_have_text("live")
    page.reload()
    expect(page.locator("#line")).to_contain_text("connection lost")
    kept = page.evaluate(
        "(async () => { const found = [];"
        " for (const name of await caches.keys())"
        "   for (const one of await (await caches.open(name)).keys()) found.push(new URL(one.url).pathname);"
        " return found; })()"
    )
    assert kept
    assert not [path for path in kept if path.startswith(("/v1/", "/sign", "/metrics"))]
    gate.store.close()
