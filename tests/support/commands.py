"""Commands of the program that end by themselves, each a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence

PATIENCE = 180


def run_command(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `sayso` with these words and nothing but this environment, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "sayso", *words],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, start_new_session=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
