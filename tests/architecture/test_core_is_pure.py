"""Deciding is pure: core has no way to reach a clock, a file, the network, chance or the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

import sayso
from tests.architecture.purity import impurities
from tests.support.rows import each_row

CORE = Path(sayso.__file__).parent / "core"
MODULES = sorted(CORE.rglob("*.py"))

IMPURE = [
    "import time",
    "import os.path",
    "import sayso.gate",
    "import sayso.corex",
    "from datetime import datetime\nlate = datetime.now()",
    "from datetime import datetime\nclock = datetime.now",
    "from datetime import date\nday = date.today()",
    "from os import environ",
    "from random import random",
    "from dataclasses import dataclass",
    "from sayso import policy",
    "from . import model",
    "from .. import policy",
    "from sayso.policy.load import load",
    "def f():\n    import logging",
    "text = open('policy.yaml').read()",
    "show = print",
    "key = hash('git.push')",
    "import msgspec\nmsgspec.structs.force_setattr(grant, 'uses', 9)",
    "def later(self):\n    msgspec.structs.force_setattr(self, 'uses', 9)",
    "def __post_init__(self):\n    msgspec.structs.force_setattr(self.grant, 'uses', 9)",
    "async def decide(): ...",
    "count = 0\ndef f():\n    global count\n    count += 1",
]

PURE = [
    "import msgspec",
    "import collections.abc",
    "from sayso.core.model import Risk",
    "from sayso.core import words",
    "import re, unicodedata, hashlib, enum",
    "class Grant:\n    id: str",
    "def __post_init__(self):\n    msgspec.structs.force_setattr(self, 'marks', 1)",
    "def later(now: float) -> float:\n    return now + 60",
    "def late(subject):\n    return subject.now > 60",
]


def test_core_is_there_to_be_read() -> None:
    assert CORE / "__init__.py" in MODULES


@each_row("module", MODULES, ids=lambda path: str(path.relative_to(CORE)))
def test_a_core_module_does_nothing_impure(module: Path) -> None:
    assert list(impurities(module.read_text(encoding="utf-8"))) == []


@each_row("source", IMPURE)
def test_impure_source_is_found(source: str) -> None:
    assert list(impurities(source)) != []


@pytest.mark.parametrize("source", PURE)
def test_pure_source_is_left_alone(source: str) -> None:
    assert list(impurities(source)) == []
