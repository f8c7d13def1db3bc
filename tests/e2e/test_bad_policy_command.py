"""A policy file that is bad in any way is one readable error on the command line, and never an allow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BAD: dict[str, tuple[bytes, str]] = {
    "broken YAML": (b"domains: {email: [\n", "not YAML or JSON"),
    "duplicate keys": (b"mode: balanced\nmode: trusting\n", "stands here twice"),
    "an action in two lists": (
        b"domains:\n  email: {autonomous: [send], requires_approval: [send], blocked: []}\n",
        "is listed in autonomous and in requires_approval",
    ),
    "an unknown preset": (b"extends: [nope]\n", "no preset 'nope'"),
    "a binary file": (bytes(range(256)) * 16, "NUL bytes"),
    "50 MB": (b"a: b\n" * 10_500_000, "larger than"),
    "deep nesting": (b"a: " + b"[" * 5_000 + b"]" * 5_000, "nested deeper"),
    "wrong types": (b"mode: 5\nsettings: [1]\ndomains: text\n", "settings must be a map"),
    "an empty file": (b"", "empty"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_policy_file_is_one_readable_error_and_allows_nothing(what: str, tmp_path: Path) -> None:
    content, said = BAD[what]
    file = tmp_path / "policy.yaml"
    file.write_bytes(content)
    ran = subprocess.run(
        [sys.executable, "-m", "sayso", "check", "--policy", str(file), "email", "read", "1"],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
