"""The words that say that a text may name a guarded file are made of the same table as the files."""

from __future__ import annotations

import pytest

from sayso.reading.paths.protected import find_named
from sayso.reading.paths.protected_names import BELOW, PATTERNS, Pattern
from sayso.reading.shell.files.guard import GUARD


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda one: "/".join(one.names))
def test_every_guarded_path_says_one_of_the_words(pattern: Pattern) -> None:
    names = ["x" if name == BELOW else name.replace("*", "x") for name in pattern.names]
    path = "/".join(names)
    assert GUARD.search(path)
    assert GUARD.search(f"--file={path.upper()}")
    assert find_named(f"/{path}" if pattern.rooted else path).at is not None


@pytest.mark.parametrize("text", ["example.txt", "organized/amplify.py", "x.idx", "kangaroo.py", "src/a.py"])
def test_an_ordinary_name_says_none(text: str) -> None:
    assert GUARD.search(text) is None
