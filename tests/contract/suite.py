"""The contract suite as a list: every function `check_...` of the two files of checks."""

from __future__ import annotations

from collections.abc import Callable

from tests.contract import checks_rows, checks_transactions
from tests.contract.checks_rows import Open

Check = Callable[[Open], None]

CHECKS: dict[str, Check] = {
    name.removeprefix("check_"): check
    for module in (checks_rows, checks_transactions)
    for name, check in vars(module).items()
    if name.startswith("check_")
}
