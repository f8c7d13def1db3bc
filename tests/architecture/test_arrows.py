"""The arrows between the folders are really checked: a planted import against them is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

CONTRACTS = ROOT / ".importlinter"
RUN = "from importlinter.cli import lint_imports_command; lint_imports_command()"
HOUSE = "Arrows between the rooms point one way"
CORE = "Core knows msgspec"
TERMINAL = "Only the command line"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """import-linter on the copy of the package in this folder."""
    command = [sys.executable, "-c", RUN, "--config", str(CONTRACTS), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with our rooms, and nothing in their modules."""
    source = ROOT / "src" / "sayso"
    for module in source.rglob("*.py"):
        empty = tmp_path / "sayso" / module.relative_to(source)
        empty.parent.mkdir(parents=True, exist_ok=True)
        empty.touch()
    return tmp_path / "sayso"


def test_a_package_without_imports_keeps_every_contract(package: Path) -> None:
    done = lint(package.parent)
    assert done.returncode == 0, done.stdout
    assert f"{CONTRACTS.read_text().count('[importlinter:contract:')} kept, 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("core/deciding/decide.py", "import sayso.gate", HOUSE),
        ("core/deciding/decide.py", "import sayso.policy", HOUSE),
        ("policy/load.py", "import sayso.gate", HOUSE),
        ("policy/load.py", "import sayso.store", HOUSE),
        ("gate/ask.py", "import sayso.cli", HOUSE),
        ("surfaces/ask.py", "import sayso.doors", HOUSE),
        ("doors/hook.py", "import sayso.cli", HOUSE),
        ("helpers/__init__.py", "", HOUSE),
        ("reading/resolve.py", "import sayso.policy.load", HOUSE),
        ("service/api/calls.py", "import sayso.doors.sayso", HOUSE),
        ("wire.py", "import sayso.service.app", HOUSE),
        ("core/deciding/decide.py", "import sayso.core.conversation.hear", "Inside core"),
        ("core/text/phrases.py", "import sayso.core.model", "Inside core"),
        ("reading/verbs.py", "import sayso.reading.resolve", "Inside reading"),
        ("gate/rows/journal.py", "import sayso.gate.gate", "Inside the gate"),
        ("gate/questions/answer.py", "import sayso.gate.ledger.start", "Inside the gate"),
        ("gate/new_room/__init__.py", "", "Inside the gate"),
        ("service/http/auth.py", "import sayso.service.api.calls", "Inside the service"),
        ("store/contract/rows.py", "import sayso.store.sqlite.store", "Inside the store"),
        ("policy/load.py", "import sayso.policy.compare.diff", "Inside the policy"),
        ("policy/parsing/document.py", "import sayso.policy.checks", "Inside the policy"),
        ("policy/new_file.py", "", "Inside the policy"),
        ("doors/python/program.py", "import sayso.doors.remote.connected", "Between the doors"),
        ("doors/new_door/__init__.py", "", "Between the doors"),
        ("doors/python/values/plain.py", "import sayso.doors.python.calls.run", "Inside the Python door"),
        ("cli/views/grants.py", "import sayso.cli.commands.audit", "Inside the command line"),
        ("core/deciding/decide.py", "import time", CORE),
        ("core/deciding/decide.py", "def f():\n    from ruamel.yaml import YAML", CORE),
        ("policy/load.py", "import rich.table", TERMINAL),
    ],
)
def test_an_import_against_an_arrow_is_refused(package: Path, module: str, line: str, contract: str) -> None:
    planted = package / module
    planted.parent.mkdir(exist_ok=True)
    planted.write_text(line, encoding="utf-8")
    done = lint(package.parent)
    assert done.returncode != 0
    assert [row for row in done.stdout.splitlines() if contract in row and row.endswith("BROKEN")]
