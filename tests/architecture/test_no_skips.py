"""In CI a skipped test fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

pytestmark = pytest.mark.slow

SKIPPING = "import pytest\ndef test_nothing():\n    pytest.skip('not today')\n"
MISSING = "import pytest\npytest.importorskip('a_module_that_does_not_exist')\n"
WHOLE = "def test_one():\n    pass\n"


def run(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """pytest with the plugin on this file and a good one, away from our own configuration."""
    (folder / "test_one.py").write_text(source, encoding="utf-8")
    (folder / "test_two.py").write_text(WHOLE, encoding="utf-8")
    (folder / "pytest.ini").touch()
    start = f"import sys, pytest; sys.path.insert(0, {str(ROOT)!r}); sys.exit(pytest.main())"
    command = [sys.executable, "-c", start, "-p", "tests.architecture.no_skips", "-p", "no:cacheprovider"]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # loading the other plugins takes seconds
    return subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("source", [SKIPPING, MISSING], ids=["by a call", "by a missing module"])
def test_a_run_with_a_skipped_test_fails_and_says_why(tmp_path: Path, source: str) -> None:
    done = run(tmp_path, source)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 skipped: in CI nothing may be skipped" in done.stdout


def test_a_run_in_which_every_test_ran_passes(tmp_path: Path) -> None:
    assert run(tmp_path, WHOLE).returncode == pytest.ExitCode.OK
