"""The hook as a process of its own: only a whole allow of the right service allows."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from sayso.doors.agents import AGENTS
from sayso.doors.agents.settings.registration import (
    HOOK,
    HookSettings,
    hook_command,
    hook_words,
    write_settings_text,
)
from tests.agents.hosts import Output
from tests.agents.listeners import ALLOW, HEAD, answering, hanging_up, listening, never_answering

PATIENCE = 180
AGENT, EVENT = AGENTS["opencode"], "tool.execute.before"
CALL = b'{"hook_event_name":"tool.execute.before"}'


class Place(msgspec.Struct, frozen=True):
    """A hook file and its socket."""

    file: Path
    socket: Path

    def write(self, **more: object) -> None:
        settings = HookSettings(self.socket, os.getuid(), "sayso_agent_x", 60, None, {})
        self.file.write_text(write_settings_text(AGENT.events, msgspec.structs.replace(settings, **more)))

    @property
    def words(self) -> list[str]:
        return hook_words(AGENT, EVENT, self.file)

    @property
    def command(self) -> list[str]:
        return ["/bin/sh", "-c", hook_command(AGENT, EVENT, self.file)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path / "hook-file", tmp_path / "s.sock")
    made.write()
    return made


def run(words: list[str], given: bytes = CALL, env: dict[str, str] | None = None) -> Output:
    done = subprocess.run(words, input=given, capture_output=True, env=env, timeout=PATIENCE, check=False)
    return Output(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_whole_allow_is_printed_as_it_came(place: Place) -> None:
    with listening(place.socket, answering(HEAD + ALLOW)) as heard:
        answer = run(place.words)
    assert answer == Output(0, '{"decision":"allow"}', "")
    assert heard[0].startswith(b"POST /v1/hooks/opencode/tool.execute.before?wait=60 HTTP/1.1\r\n")
    assert b"Authorization: Bearer sayso_agent_x\r\n" in heard[0]
    assert heard[0].endswith(CALL)


def with_length(size: int) -> bytes:
    return HEAD[:-2] + b"content-length: %d\r\n\r\n" % size


BAD = {
    "nothing": b"",
    "only a head": HEAD,
    "half a head": HEAD[:10],
    "no mark": HEAD + b'{"decision":"allow"}',
    "another mark": HEAD + b"hook-sayso 0 20 0\n" + b'{"decision":"allow"}',
    "a cut allow": HEAD + ALLOW[:-1],
    "too much": HEAD + ALLOW + b" ",
    "a code that is none": HEAD + b"sayso-hook 1 20 0\n" + b'{"decision":"allow"}',
    "a negative length": HEAD + b"sayso-hook 0 21 -1\n" + b'{"decision":"allow"}',
    "words for numbers": HEAD + b"sayso-hook zero 20 0\n" + b'{"decision":"allow"}',
    "another status": HEAD.replace(b"200 OK", b"403 Forbidden") + ALLOW,
    "an informational status": HEAD.replace(b"200 OK", b"100 Continue") + ALLOW,
    "another protocol": b"SSH-2.0-server\r\n\r\n" + ALLOW,
    "bytes that are no text": HEAD + b"\xff\xfe\x00",
    "less than its head says": with_length(len(ALLOW)) + ALLOW[:-1],
    "more than its head says": with_length(len(ALLOW) - 1) + ALLOW,
    "a head that says nothing comes": with_length(0) + ALLOW[:5],
    "a length that is no number": HEAD[:-2] + b"content-length: all\r\n\r\n" + ALLOW,
    "an endless answer": HEAD + b"sayso-hook 0 3000000 0\n" + b"x" * 3_000_000,
}


@pytest.mark.parametrize("raw", BAD.values(), ids=BAD.keys())
def test_any_other_answer_denies(place: Place, raw: bytes) -> None:
    with listening(place.socket, answering(raw)):
        answer = run(place.words)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("Sayso could not decide, so nothing runs: ")


def test_a_whole_answer_is_not_waited_for_any_longer(place: Place) -> None:
    def answer_and_stay(line: socket.socket) -> None:
        line.sendall(with_length(len(ALLOW)) + ALLOW)
        never_answering(line)

    with listening(place.socket, answer_and_stay):
        assert run(place.words) == Output(0, '{"decision":"allow"}', "")


def test_a_service_that_answers_byte_by_byte_is_given_up_in_time(place: Place) -> None:
    def drip(line: socket.socket) -> None:
        for byte in HEAD * 10_000:
            line.sendall(bytes([byte]))
            threading.Event().wait(0.01)

    place.file.write_text(
        place.file.read_text().replace("wait 60", "wait -9")
    )  # one second, with 10 to spare
    with listening(place.socket, drip):
        answer = run(place.words)
    assert answer.code == 2
    assert "in time" in answer.err


def test_a_service_that_hangs_up_denies(place: Place) -> None:
    with listening(place.socket, hanging_up):
        assert run(place.words).code == 2


def test_a_missing_service_denies_and_says_what_to_do(place: Place) -> None:
    answer = run(place.words)
    assert answer.code == 2
    assert "sayso serve" in answer.err


def test_another_user_on_the_socket_is_told_nothing(place: Place) -> None:
    place.write(uid=os.getuid() + 1)
    with listening(place.socket, answering(HEAD + ALLOW)) as heard:
        answer = run(place.words)
    assert answer.code == 2
    assert "not the service's user" in answer.err
    assert heard in ([], [b""])


def test_a_slow_service_is_given_up_before_the_host_gives_up(place: Place) -> None:
    text = place.file.read_text().replace("wait 60", "wait -9")  # one second, as -9 and 10 to spare make
    place.file.write_text(text)
    with listening(place.socket, never_answering):
        answer = run(place.words)
    assert answer.code == 2
    assert "in time" in answer.err


@pytest.mark.parametrize("given", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGALRM])
def test_a_hook_that_is_killed_denies_by_its_guard(place: Place, given: signal.Signals) -> None:
    def kill(line: socket.socket) -> None:
        found = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        os.kill(int.from_bytes(found[:4], sys.byteorder), given)

    with listening(place.socket, kill):
        answer = run(place.command)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.strip()


def test_an_interrupted_hook_denies(place: Place) -> None:
    def interrupt(line: socket.socket) -> None:
        found = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        os.kill(int.from_bytes(found[:4], sys.byteorder), signal.SIGINT)
        never_answering(line)

    with listening(place.socket, interrupt):
        assert run(place.words).code == 2


@pytest.mark.parametrize("missing", ["python", "hook", "file"])
def test_a_hook_with_a_part_missing_denies_by_its_guard(place: Place, missing: str) -> None:
    words = place.words
    gone = {"python": words[0], "hook": str(HOOK), "file": str(place.file)}[missing]
    command = place.command[-1].replace(gone, "/nowhere/at/all")
    with listening(place.socket, answering(HEAD + ALLOW)):
        answer = run(["/bin/sh", "-c", command])
    assert answer.code == 2
    assert answer.err.strip()


@pytest.mark.parametrize("text", ["", "wait x", "socket\nuid\ntoken\nwait", "\x00", "long"])
def test_a_broken_hook_file_denies(place: Place, text: str) -> None:
    place.file.write_text("uid 0\n" * 200_000 if text == "long" else text)
    assert run(place.words).code == 2


def test_a_call_larger_than_the_service_takes_denies(place: Place) -> None:
    with listening(place.socket, answering(HEAD + ALLOW)):
        answer = run(place.words, b" " * (1024 * 1024 + 1))
    assert answer.code == 2
    assert "larger" in answer.err


def test_a_pipe_that_is_full_or_closed_denies(place: Place) -> None:
    out_read, out_write = os.pipe()
    os.close(out_read)
    with listening(place.socket, answering(HEAD + ALLOW)):
        done = subprocess.run(place.words, input=CALL, stdout=out_write, stderr=subprocess.PIPE, check=False)
    os.close(out_write)
    assert done.returncode == 2


def test_a_call_of_fifty_megabytes_denies_and_says_why(place: Place) -> None:
    with listening(place.socket, answering(HEAD + ALLOW)):
        answer = run(place.command, b"x" * 50_000_000)
    assert (answer.code, answer.out) == (2, "")
    assert "larger" in answer.err


def test_a_working_folder_that_is_gone_changes_nothing(place: Place, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    command = f"mkdir {gone} && cd {gone} && rmdir {gone} && {place.command[-1]}"
    assert run(["/bin/sh", "-c", command]).code == 2
    with listening(place.socket, answering(HEAD + ALLOW)):
        answer = run(["/bin/sh", "-c", command])
    assert (answer.code, answer.out) == (0, '{"decision":"allow"}')


@pytest.fixture
def copy(place: Place, tmp_path: Path) -> Path:
    """The hook in a folder of its own, which has run once: Python has compiled it there."""
    folder = tmp_path / "program"
    shutil.copytree(HOOK.parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    with listening(place.socket, answering(HEAD + ALLOW)):
        assert run_copy(place, folder).code == 0
    place.socket.unlink()
    assert len(list((folder / "__pycache__").glob("ask.*.pyc"))) == 1
    return folder


def run_copy(place: Place, folder: Path) -> Output:
    return run(["/bin/sh", "-c", place.command[-1].replace(str(HOOK), str(folder / HOOK.name))])


def test_a_hook_that_was_compiled_before_its_source_changed_is_not_used(place: Place, copy: Path) -> None:
    source = copy / "ask.py"
    source.write_text(source.read_text().replace("sayso-hook ", "sayso-hook-2 "))
    with listening(place.socket, answering(HEAD + ALLOW)):
        assert run_copy(place, copy).code == 2


@pytest.mark.parametrize("content", [b"", b"garbage", None])
def test_a_compiled_hook_that_is_broken_allows_nothing_by_itself(
    place: Place, copy: Path, content: bytes | None
) -> None:
    [compiled] = (copy / "__pycache__").glob("ask.*.pyc")
    compiled.write_bytes(compiled.read_bytes()[:-100] if content is None else content)
    answer = run_copy(place, copy)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.strip()


def test_a_hook_without_its_other_half_denies(place: Place, copy: Path) -> None:
    shutil.rmtree(copy / "__pycache__")
    (copy / "ask.py").unlink()
    with listening(place.socket, answering(HEAD + ALLOW)):
        answer = run([*place.words[:5], str(copy / HOOK.name), AGENT.name, EVENT])
    assert answer.code == 2
    assert "nothing runs" in answer.err


def test_the_environment_of_the_agent_changes_nothing(place: Place, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    planted.mkdir()
    for name in ("posix", "_socket", "_signal", "sitecustomize", "usercustomize", "socket", "os"):
        (planted / f"{name}.py").write_text("import sys; sys.stdout.write('planted'); sys.exit(0)\n")
    env = {
        "PYTHONPATH": str(planted),
        "PYTHONHOME": str(planted),
        "PYTHONSTARTUP": str(planted / "os.py"),
        "PYTHONINSPECT": "1",
        "PYTHONPLATLIBDIR": str(planted),
        "SAYSO_APPROVAL_MODE": "trusting",
        "SAYSO_SOCKET": "/elsewhere",
        "HOME": str(planted),
        "XDG_RUNTIME_DIR": str(planted),
        "PATH": str(planted),
        "ENV": str(planted / "os.py"),
        "BASH_ENV": str(planted / "os.py"),
    }
    answer = run(place.command, env=env)
    assert answer.code == 2
    assert answer.out == ""
    with listening(place.socket, answering(HEAD + ALLOW)):
        assert run(place.command, env=env) == Output(0, '{"decision":"allow"}', "")


def test_a_program_in_the_workspace_is_not_taken_for_a_part_of_the_hook(place: Place, tmp_path: Path) -> None:
    for name in ("posix", "_socket", "_signal", "time", "ask"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(0)\n")
    done = subprocess.run(place.words, input=CALL, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 2


def test_how_an_event_fails_is_what_its_file_says(place: Place) -> None:
    text = place.file.read_text().replace(f"fail {EVENT} 2 ", f'fail {EVENT} 0 {{"cancel":true}}')
    place.file.write_text(text)
    answer = run(place.words)
    assert (answer.code, answer.out) == (0, '{"cancel":true}')


def test_a_missing_service_is_started_from_the_root_with_the_environment_of_the_install(
    place: Place, tmp_path: Path
) -> None:
    noted, program = tmp_path / "noted", tmp_path / "program"
    program.write_text(
        f'#!/bin/sh\npwd > {noted}\nenv >> {noted}\necho "$@" >> {noted}\nmv {noted} {noted}.done\n'
    )
    program.chmod(0o755)
    place.write(start=str(program), variables={"HOME": "/somewhere/of/install"}, wait=-8)
    env = {"PYTHONPATH": "/planted", "SAYSO_APPROVAL_MODE": "trusting", "HOME": "/somewhere/of/agent"}
    assert run(place.command, env=env).code == 2  # alone it may be cut off before it ends itself
    done = tmp_path / "noted.done"
    for _ in range(300):  # the hook gives up soon, whatever it started goes on
        if done.exists():
            break
        time.sleep(0.1)
    found = done.read_text().splitlines()
    assert found[0] == "/"
    assert "HOME=/somewhere/of/install" in found
    assert not [line for line in found if "planted" in line or "SAYSO" in line]
    assert found[-1] == f"-P -m sayso serve --socket {place.socket}"
