"""`sayso tour` and `sayso chat` as a newcomer meets them: without a terminal, and at a real one."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest


def play(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sayso", *words],
        input=typed,
        capture_output=True,
        check=False,
        text=True,
        timeout=180,
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"},
    )


def at_a_terminal(*words: str, typed: bytes, until: bytes) -> str:
    """Run it on a pseudo terminal, type once `until` has appeared, and return all it printed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(COLUMNS="80", NO_COLOR="1", TERM="dumb")
        os.execv(sys.executable, [sys.executable, "-m", "sayso", *words])  # noqa: S606  # a program of ours
    seen, sent = b"", False
    while select.select([terminal], [], [], 60)[0]:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
        if not sent and until in seen:
            os.write(terminal, typed)
            sent = True
    os.waitpid(pid, 0)
    os.close(terminal)
    assert sent, seen.decode()
    return seen.decode()


def test_without_a_terminal_the_demo_answers_no_and_still_shows_everything() -> None:
    ran = play("tour")
    assert ran.returncode == 0, ran.stderr
    for rule in (
        "[autonomous]",
        "[ask]",
        "[denied_call]",
        "[blocked]",
        "[plan]",
        "[stopped]",
        "[allowlist]",
        "[risky]",
    ):
        assert rule in ran.stdout
    assert "the answer is No" in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 80


def test_at_a_terminal_the_person_allows_once_and_the_call_runs() -> None:
    seen = at_a_terminal("tour", typed=b"o\n", until=b"[N]o:")
    assert "answered: once" in seen
    assert "[approved_call]" in seen


@pytest.mark.parametrize("typed", [b"\n", b"n\n", b"maybe\n", b"\x04"])
def test_at_a_terminal_anything_but_a_clear_yes_is_no(typed: bytes) -> None:
    seen = at_a_terminal("tour", typed=typed, until=b"[N]o:")
    assert "answered: deny" in seen
    assert "[approved_call]" not in seen


def test_a_typed_session_shows_decisions_state_and_why() -> None:
    typed = "\n".join(
        [
            "Implement feature X",
            ":call files.edit a.py",
            "yes",
            ":call files.edit a.py",
            ":call files.edit b.py",
            ":why",
            ":call git.push $ git push --force",
            ":nonsense",
            ":quit",
        ]
    )
    ran = play("chat", "--preset", "chat", typed=typed)
    assert ran.returncode == 0, ran.stderr
    assert "First file edits in workflow, need consent:" in ran.stdout
    assert "Using workflow consent for file edits (granted turn 2)" in ran.stdout
    assert "Risky operation (requires consent every time):" in ran.stdout
    assert "unknown :nonsense" in ran.stdout


def test_a_script_prints_one_json_line_for_each_step(tmp_path: Path) -> None:
    steps = [
        {"hear": "Grant standing consent for: git push"},
        {"call": {"operations": ["git.push"], "command": "git push"}},
        {"advance": 5},
        {"hear": "stop"},
    ]
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps(step) + "\n" for step in steps))
    ran = play("chat", "--preset", "chat", "--script", str(script), "--json")
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [one["step"] for one in told] == ["hear", "call", "advance", "hear"]
    assert told[1]["announce"] == "Using session allowlist: git push"
    assert told[3]["kind"] == "stop"


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        "{}",
        '{"call": {}, "hear": "x"}',
        '{"call": {"operations": []}}',
        '{"call": {"operations": ["email.send"], "user_initiated": true}}',
        '{"call": {"operations": ["email.send"], "confidence": 2}}',
        '{"call": {"operations": ["email.send"], "confidence": true}}',
        '{"call": {"operations": ["email.send"], "confidence": NaN}}',
        '{"call": {"operations": ["email.send"], "origin": "root"}}',
        '{"call": {"operations": ["email.send"], "risk": "none"}}',
        '{"call": {"operations": ["email.send"], "operations": ["email.read"]}}',
        '{"hear": 5}',
        '{"answer": "once"}',
        '{"outcome": "ok"}',
        '{"advance": -1}',
        '{"end_task": false}',
        '{"grant": "everything"}',
        '{"plan": {"operations": ["no.such"]}}',
    ],
)
def test_a_malformed_step_ends_the_script_with_its_place_and_allows_nothing(
    line: str, tmp_path: Path
) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text(line + "\n" + '{"hear": "never reached"}\n')
    ran = play("chat", "--preset", "graph", "--script", str(script), "--json")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "script.jsonl:1:" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * (17 * 1024 * 1024)], ids=["not text", "17 MB"])
def test_a_script_that_is_no_text_or_too_large_is_one_readable_error(content: bytes, tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_bytes(content)
    ran = play("chat", "--preset", "graph", "--script", str(script))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "Traceback" not in ran.stderr
