"""The arrows between the folders are really checked: a planted import against them is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = ROOT / ".importlinter"
RUN = "from importlinter.cli import lint_imports_command; lint_imports_command()"
LAYERS = "Arrows point one way"
CORE = "Core knows msgspec"
TERMINAL = "Only the command line"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """import-linter on the copy of the package in this folder."""
    command = [sys.executable, "-c", RUN, "--config", str(CONTRACTS), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with our folders and nothing in them."""
    for name in ("", "core", "policy", "gate", "cli", "store", "doors", "surfaces", "service"):
        folder = tmp_path / "sayso" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    return tmp_path / "sayso"


def test_a_package_without_imports_keeps_every_contract(package: Path) -> None:
    done = lint(package.parent)
    assert done.returncode == 0, done.stdout
    assert "3 kept, 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("core/deciding/decide.py", "import sayso.gate", LAYERS),
        ("core/deciding/decide.py", "import sayso.policy", LAYERS),
        ("policy/load.py", "import sayso.gate", LAYERS),
        ("policy/load.py", "import sayso.store", LAYERS),
        ("gate/ask.py", "import sayso.cli", LAYERS),
        ("surfaces/ask.py", "import sayso.doors", LAYERS),
        ("doors/hook.py", "import sayso.cli", LAYERS),
        ("helpers/__init__.py", "", LAYERS),
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
