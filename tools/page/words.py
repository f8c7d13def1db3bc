"""Write the words for answers, steps and states as JavaScript, for the page.

`python -m tools.page.words` writes lib/words.js from sayso/gate/words.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from sayso.gate import words

FILE = Path(__file__).parents[2] / "src" / "sayso" / "service" / "web" / "lib" / "words.js"
TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "ANSWERED": ("What an answer did.", words.ANSWERED),
    "STEPS": ("A step in the story of a call; one that is not listed is its own word.", words.STEPS),
    "SINCE": ("How far a call came, beside its decision or answer.", words.SINCE),
}
HEAD = "// Words for answers, steps and states. Written by `python -m tools.page.words` from gate/words.py.\n"


def script() -> str:
    """Return the text of lib/words.js."""
    return "\n".join([HEAD, *(_table(name, *table) for name, table in TABLES.items())])


def _table(name: str, about: str, entries: Mapping[str, str]) -> str:
    lines = [f"  {key}: {json.dumps(text)}," for key, text in entries.items()]
    comment = f"/**\n * {about}\n *\n * @type {{Record<string, string>}}\n */"
    return "\n".join([comment, f"export const {name} = {{", *lines, "};", ""])


if __name__ == "__main__":
    FILE.write_text(script(), encoding="utf-8")
