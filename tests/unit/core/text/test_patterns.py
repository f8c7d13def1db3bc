"""Patterns that are compiled late must all compile, and nothing compiles them early."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys

import sayso.core
import sayso.reading
from sayso.core.text.patterns import LazyPattern, lazy_pattern

COMPILED_AT_IMPORT = """
import re
import sys
made = []
compile_one = re.compile
def watched(pattern, flags=0):
    caller = sys._getframe(1).f_globals.get("__name__", "")
    if caller.startswith(("sayso.core", "sayso.reading")):
        made.append(caller)
    return compile_one(pattern, flags)
re.compile = watched
import sayso.gate.deciding.check
print(sum("sayso" in str(one) for one in sys.modules), len(made))
"""


def every_lazy_pattern() -> list[LazyPattern]:
    found: list[LazyPattern] = []
    for package in (sayso.core, sayso.reading):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            found += patterns_in(list(vars(importlib.import_module(module.name)).values()))
    return found


def patterns_in(value: object) -> list[LazyPattern]:
    if isinstance(value, LazyPattern):
        return [value]
    if isinstance(value, dict):
        return patterns_in(list(value.values()))
    return [one for inner in value for one in patterns_in(inner)] if isinstance(value, (list, tuple)) else []


def test_every_pattern_compiles() -> None:
    found = every_lazy_pattern()
    assert len(found) > 200
    for one in found:
        re.compile(one.pattern, one.flags)


def test_a_late_pattern_is_like_an_early_one() -> None:
    late, early = lazy_pattern(r"(\w+)@x", re.IGNORECASE), re.compile(r"(\w+)@x", re.IGNORECASE)
    assert late.findall("a@x B@X c@y") == early.findall("a@x B@X c@y") == ["a", "B"]
    assert late.pattern == early.pattern
    found = late.search("a@X")
    assert found is not None
    assert found[1] == "a"


def test_reading_messages_and_paths_compiles_nothing_before_there_is_one() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", COMPILED_AT_IMPORT], capture_output=True, text=True, check=True
    )
    modules, compiled = map(int, ran.stdout.split())
    assert modules > 50
    assert compiled < 5, "a table of names is made with one of them"
