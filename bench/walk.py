"""Which code one call passes: `python -m bench.walk` lists it for a decorated call and for one over HTTP.

Each line is a file, how often the call entered it, and its functions in the order of their first visit.
Both calls are allowed by the policy, and both are the second of their kind.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import httpx

import sayso
from sayso import Sayso
from sayso.gate.open import open_gate
from sayso.gate.people.tokens import issue_token
from sayso.gate.rows.keys import make_key
from sayso.policy import load_text
from sayso.service.app import make_app
from sayso.store.memory.store import MemoryStore

HOME = Path(sayso.__file__).parent
HOST = "sayso.test"
POLICY = """
sayso: 1
domains:
  notes: {trust_level: high, autonomous: [add], requires_approval: [], blocked: []}
tools:
  - {tool: add_note, operation: notes.add}
"""


class Walk:
    """The functions of Sayso that ran, in whatever thread."""

    def __init__(self) -> None:
        self.functions: dict[str, list[str]] = {}
        self.entered: dict[str, int] = {}
        self.going = False
        self._last: dict[int, str] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not self.going:
            return
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(HOME):
            return
        file, name = str(path.relative_to(HOME)), frame.f_code.co_qualname
        functions = self.functions.setdefault(file, [])
        if name not in functions:
            functions.append(name)
        thread = threading.get_ident()
        if self._last.get(thread) != file:
            self.entered[file] = self.entered.get(file, 0) + 1
        self._last[thread] = file

    def show(self, title: str) -> None:
        total = sum(len(functions) for functions in self.functions.values())
        print(f"{title}: {len(self.functions)} files, {total} functions")
        for file, functions in self.functions.items():
            print(f"  {file} ×{self.entered[file]}: {', '.join(functions)}")


def walk_through(play: Callable[[Walk], None]) -> Walk:
    """Look at every call into Sayso, in this thread and in those that it starts."""
    walk = Walk()
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        play(walk)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


def decorated(walk: Walk) -> None:
    gate = Sayso(open_gate(load_text(POLICY), MemoryStore(), key=make_key("walk")), [])

    @gate.requires_consent("notes.add", risk="low")
    def add_note(text: str) -> str:
        return text

    add_note("milk")
    walk.going = True
    add_note("bread")
    walk.going = False


def over_http(walk: Walk) -> None:
    gate = open_gate(load_text(POLICY), MemoryStore(), key=make_key("walk"))
    secret, _ = issue_token(gate, "agent", "walker", by="bench")
    app = make_app(gate, hosts=(HOST,))

    async def ask() -> None:
        transport = httpx.ASGITransport(app=app)
        headers = {"Authorization": f"Bearer {secret}"}
        async with httpx.AsyncClient(
            transport=transport, base_url=f"http://{HOST}", headers=headers
        ) as client:
            for text in ("milk", "bread"):
                walk.going = text == "bread"
                answer = await client.post("/v1/calls", json={"tool": "add_note", "args": {"text": text}})
                answer.raise_for_status()
            walk.going = False

    asyncio.run(ask())


WALKS: dict[str, Callable[[Walk], None]] = {
    "a decorated call": decorated,
    "the same call over HTTP": over_http,
}

if __name__ == "__main__":
    for title, play in WALKS.items():
        walk_through(play).show(title)
