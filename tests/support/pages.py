"""Pages of the documentation as programs: their code is run in order, and what it prints is what they show.

Blocks of kind `python` and `console` are run; a bare block right after one of Python shows what that prints.
A comment before a block says what the person at the terminal types: `<!-- typed: once | deny -->`. What
differs from run to run is masked on both sides.

`python -m tests.support.pages PAGE` runs one, with a mark before the output of each block.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import msgspec

from tests.support.repository import ROOT

MARK = "-- block --\n"
BLOCK = re.compile(
    r"(?:<!-- (?:example: (?P<example>\S+), )?typed: (?P<typed>.*?) -->\n)?"
    r"^```(?P<kind>\w*)\n(?P<text>.*?)^```\n",
    re.MULTILINE | re.DOTALL,
)
QUESTION = re.compile(r"s_[0-9a-f]{24}\.q\d+")
MASKS = (
    (re.compile(r"\bs_[0-9a-f]{24}"), "s_…"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "…"),
    (re.compile(r"\bdigest [0-9a-f]{12}\b"), "digest …"),
    (re.compile(r"(  folder: ).*"), r"\1…"),
    (re.compile(r"until (?:\d{4}-\d\d-\d\d )?\d\d:\d\d \((?:2 hours|1 hour 59 minutes)\)"), "until …"),
    (re.compile(r"(│ Folder     ).*(?:\n│ {14}.*)*"), r"\1…"),
    (re.compile(r"by \S+ at the terminal"), "by … at the terminal"),
    (re.compile(r", (?:2\.0|1\.9|2|1) h left"), ", … left"),
)


class Block(msgspec.Struct, frozen=True):
    """One block of a page. `follows`: nothing stands between it and the block before."""

    kind: str
    text: str
    typed: tuple[str, ...]
    example: str | None
    follows: bool


def blocks_of(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found: list[Block] = []
    end = 0
    for match in BLOCK.finditer(text):
        typed = () if match["typed"] is None else tuple(match["typed"].split(" | "))
        follows = not text[end : match.start()].strip()
        found.append(Block(match["kind"], match["text"], typed, match["example"], follows))
        end = match.end()
    return found


def shown_on(page: str) -> list[tuple[Block, str | None]]:
    """Every block that is run, with what the page shows of its output; None if it shows nothing."""
    blocks = blocks_of(page)
    shown: list[tuple[Block, str | None]] = []
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block.kind == "console":
            shown.append((block, block.text))
        elif block.kind == "python":
            prints = after is not None and after.follows and not after.kind and after.example is None
            shown.append((block, after.text if after is not None and prints else None))
    return shown


def masked(text: str) -> str:
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def agrees(real: str, shown: str) -> bool:
    """Whether this was printed. A line with nothing but `…` stands for any number of lines."""
    pieces = [re.escape(piece) for piece in f"\n{masked(shown)}\n".split("\n…\n")]
    return re.fullmatch(r"\n(?:.*\n)*?".join(pieces), f"\n{masked(real)}\n") is not None


def play(page: str) -> None:
    known: dict[str, Any] = {"__name__": "__main__"}
    question = ""
    for block, _ in shown_on(page):
        tell(MARK)
        if block.kind == "python":
            exec(compile(block.text, page, "exec", dont_inherit=True), known)  # noqa: S102  our own page
        else:
            question = run_commands(block.text, question)


def run_commands(text: str, question: str) -> str:
    """Run the commands of a block. The id of a question stands for the newest one that was printed."""
    for line in text.splitlines():
        if not line.startswith("$ sayso "):
            continue
        words = [QUESTION.sub(question, word) for word in line.removeprefix("$ ").split()]
        wide = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        done = subprocess.run(
            [sys.executable, "-m", *words], capture_output=True, text=True, check=True, env=wide
        )
        tell(f"$ {' '.join(words)}\n{done.stdout}")
        question = (QUESTION.findall(done.stdout) or [question])[-1]
    return question


def tell(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    play(sys.argv[1])
