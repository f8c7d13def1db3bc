"""One call can be followed: it crosses no more files than it has to.

Before the rooms were made, a decorated call crossed 59 files, and the same call over HTTP 63.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.repository import ROOT

pytestmark = pytest.mark.slow

MOST = {"a decorated call": 55, "the same call over HTTP": 59}


def test_a_call_crosses_no_more_files_than_it_did() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "bench.walk"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    titles = [line for line in ran.stdout.splitlines() if not line.startswith(" ")]
    crossed = {title.partition(":")[0]: int(title.partition(": ")[2].split()[0]) for title in titles}
    assert crossed.keys() == MOST.keys()
    assert all(20 < files <= MOST[title] for title, files in crossed.items()), crossed
