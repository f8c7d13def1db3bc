"""What docs/authzen.md shows is what happens."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from sayso.gate.open import open_gate
from sayso.policy import load_preset
from sayso.store.memory.store import MemoryStore
from tests.service.conftest import KEY
from tests.support.service import Service

PAGE = Path(__file__, "../../../docs/authzen.md").resolve().read_text()
SHOWN = re.findall(r"curl -s http://127\.0\.0\.1:7333(\S+).*?-d '(.*?)'\n  → (.*?)\n", PAGE, re.DOTALL)


def test_the_page_shows_a_permit_and_a_denial() -> None:
    assert [re.findall(r'"decision":(\w+)', shown) for _, _, shown in SHOWN] == [["true"], ["false"]]


@pytest.mark.parametrize(("path", "body", "shown"), SHOWN)
def test_the_requests_of_the_page_are_answered_as_it_says(
    runner: asyncio.Runner, path: str, body: str, shown: str
) -> None:
    service = Service(open_gate(load_preset("balanced"), MemoryStore(), key=KEY), runner)
    told = json.dumps(service.told("agent", "POST", path, json.loads(body)), separators=(",", ":"))
    for part in (piece.strip(" ,{}") for piece in shown.split("…")):
        assert part in told
