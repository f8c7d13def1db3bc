"""The demo from its start to the first approved call: one link, the page, and one Ctrl-C at the end."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.test_demo_ending import PROMPT, demo, slowly

__all__ = ["slowly"]


def test_the_demos_one_link_leads_to_the_first_approved_call_and_one_ctrl_c_ends_it(
    tmp_path: Path, window: Callable[..., Page]
) -> None:
    with demo(tmp_path) as played:
        screen = played.screen
        screen.wait_for(PROMPT)
        (link,) = re.findall(r"http://\S+", screen.text)
        page = window(service_workers="allow")
        page.goto(link)
        expect(page.locator(".card")).to_contain_text("hello.py")
        page.get_by_role("button", name="Allow once").click()
        taken_down = screen.wait_for("ran  edit_file (hello.py)")
        assert "Answered elsewhere: allowed once by" in taken_down
        assert "You answered" not in taken_down
        expect(page.locator(".card")).to_contain_text("A friendlier greeting")
        screen.wait_for(PROMPT)
        assert "The demo is over." in played.ends_after_ctrl_c()
