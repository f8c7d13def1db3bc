"""The contract suite as a list: every function `check_...` of the files in `checks`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from tests.support.places import Open

Check = Callable[[Open], None]

CHECKS: dict[str, Check] = {
    name.removeprefix("check_"): check
    for file in sorted((Path(__file__).parent / "checks").glob("*.py"))
    for name, check in vars(import_module(f"tests.contract.checks.{file.stem}")).items()
    if name.startswith("check_")
}
