"""`sayso link --url` to a closed port says so before it opens anything."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from sayso.cli.commands.service import link
link.note_if_refused("http://127.0.0.1:1")
print(*(name for name in sys.modules if name.startswith(("sayso.gate", "sayso.store", "cryptography"))))
"""


@pytest.mark.cold
def test_a_refused_connection_is_reported_before_the_gate_is_even_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert "nobody answers at http://127.0.0.1:1 now" in " ".join(done.stderr.split())
    assert done.stdout.split() == []
