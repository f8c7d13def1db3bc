"""`sayso mcp serve` where it cannot begin: each mistake is told in a sentence, on stderr, with a code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sayso.doors.mcp.http import BadAddress, open_listener
from sayso.doors.mcp.tokens import TokensRefused, read_tokens

MODULES = {
    "broken.py": "import os\n\nraise RuntimeError('no list here')\n",
    "lacking.py": "import a_module_that_is_not_there\n",
    "unread.py": "def f(:\n",
    "leaving.py": "raise SystemExit(0)\n",
    "empty.py": "gate = 7\n",
}


def served(folder: Path, *words: str, before: str = "") -> subprocess.CompletedProcess[str]:
    for name, text in MODULES.items():
        (folder / name).write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-c",
        f"{before}\nfrom sayso.cli.main import run_command\nrun_command()",
        "mcp",
        "serve",
        *words,
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, input="", check=False)


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        ("gate", "'gate' names no gate"),
        (":gate", "names no gate"),
        ("nowhere:gate", "there is no module 'nowhere'"),
        ("nowhere.at.all:gate", "there is no module 'nowhere'"),
        ("nowhere.py:gate", "there is no file nowhere.py"),
        ("empty:other", "empty has no 'other'"),
        ("empty:gate", "empty:gate is a int, not a gate"),
        ("empty.py:gate", "is a int, not a gate"),
        ("broken:gate", "broken.py:3: RuntimeError: no list here"),
        ("broken.py:gate", "broken.py:3: RuntimeError: no list here"),
        ("lacking:gate", "lacking.py:1: ModuleNotFoundError: No module named 'a_module_that_is_not_there'"),
        ("unread:gate", "unread.py:1: SyntaxError"),
        ("leaving:gate", "leaving.py:1: SystemExit"),
    ],
)
def test_a_gate_that_cannot_be_had_is_told(tmp_path: Path, gate: str, told: str) -> None:
    done = served(tmp_path, gate)
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert (done.returncode, done.stdout) == (1, "")


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    done = served(tmp_path, "empty:gate", before="import sys; sys.modules['mcp'] = None")
    assert 'pip install "./sayso[mcp]"' in done.stderr
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize(
    "address", ["0.0.0.0:0", "192.0.2.1:80", "example.com:80", "8080", "127.0.0.1:x", "::"]
)
def test_it_listens_on_this_machine_alone(address: str) -> None:
    with pytest.raises(BadAddress, match="cannot serve at"):
        open_listener(address)


def test_a_port_that_is_taken_is_told() -> None:
    with open_listener("localhost:0") as taken, pytest.raises(BadAddress, match="cannot listen at"):
        open_listener(f"127.0.0.1:{taken.getsockname()[1]}")


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        ("a-token-that-is-long-enough\n", 0o644, "others can read"),
        ("a-token-that-is-long-enough\nshort\n", 0o600, "20 characters or more"),
        ("# nothing\n\n", 0o600, "20 characters or more"),
        (None, 0o600, "cannot be read"),
    ],
)
def test_tokens_that_would_protect_nothing_are_refused(
    tmp_path: Path, text: str | None, mode: int, told: str
) -> None:
    tokens = tmp_path / "tokens"
    if text is not None:
        tokens.write_text(text)
        tokens.chmod(mode)
    with pytest.raises(TokensRefused, match=told):
        read_tokens(tokens)


@pytest.mark.cold
def test_other_commands_do_not_load_the_sdk() -> None:
    code = "import sys, sayso.cli.main; print('mcp' in sys.modules, 'pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
