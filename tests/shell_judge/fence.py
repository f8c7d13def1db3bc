"""A fence around real shells: no network but its own loopback, no file of the machine but its programs, one
scratch folder that can be written, and a recorder in every program that starts.

Where no fence can be made there is no judge, and its tests fail: nothing runs outside.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
NEEDED = ("bwrap", "cc", "bash", "dash", "zsh", "gawk", "mawk", "busybox", "git", "jq")
SHELLS = ("bash", "dash", "zsh")
AWKS = ("gawk", "mawk", "busybox")
"""Each is `awk` in a run of bash; in that of busybox its `sed` is `sed` as well."""
KINDS = (*SHELLS, *(f"bash with {one}" for one in AWKS))
HANGS = 2.5
"""Seconds without progress after which a line hangs."""
LIMITS = b"ulimit -c 0; ulimit -f 8192\n"
PIPE = 1 << 20
"""Bytes that a batch of lines fits into, so that writing it never waits."""
COMMANDS = {"bash": "bash --norc --noprofile -s", "dash": "dash -s", "zsh": "zsh -f -s"}
LINKS = tuple(Path(one) for one in ("/bin", "/lib", "/lib64", "/sbin"))
FENCE = """bwrap --unshare-all --die-with-parent --new-session --cap-drop ALL --clearenv
--dev /dev --proc /proc --tmpfs /tmp --ro-bind /usr /usr --ro-bind-try /etc/alternatives /etc/alternatives
--ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --ro-bind /etc/passwd /etc/passwd
--ro-bind /etc/group /etc/group --ro-bind {tools} /judge/tools --ro-bind {tools}/preload /etc/ld.so.preload
--bind {run} /judge/run --bind {home} {home} --setenv HOME {home} --setenv PATH {path}
--setenv LC_ALL C.UTF-8"""


class NoFenceError(Exception):
    """The machine cannot run shells inside a fence, so nothing was judged."""


class Event(msgspec.Struct, frozen=True):
    """A program that started, with its words, or a socket that was made."""

    kind: str
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"started {' '.join(self.words)!r}" if self.kind == "E" else "made a socket"


def build_tools(folder: Path) -> Path:
    """Compile the recorder, and lay out the programs that are put before the machine's own."""
    missing = [one for one in NEEDED if shutil.which(one) is None]
    if missing:
        raise NoFenceError(f"the shell judge needs {', '.join(missing)} (apt-get install bubblewrap gcc …)")
    tools = folder / "tools"
    if tools.exists():
        return tools
    made = folder / f"tools.{os.getpid()}"
    (made / "bin").mkdir(parents=True)
    _run("cc", "-O2", "-shared", "-fPIC", "-o", str(made / "recorder.so"), str(HERE / "recorder.c"))
    (made / "preload").write_text("/judge/tools/recorder.so\n")
    (made / "idle.c").write_text("int main(void) { return 0; }\n")
    _run("cc", "-O2", "-o", str(made / "bin/args"), str(made / "idle.c"))
    shutil.copy(made / "bin/args", made / "bin/evil")
    for name in AWKS:
        (made / name).mkdir()
        (made / name / "awk").symlink_to(shutil.which(name) or name)
    (made / "busybox/sed").symlink_to(shutil.which("busybox") or "busybox")
    return made.rename(tools)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoFenceError(f"{command[0]} failed: {done.stderr.strip()}")


def _fence(tools: Path, run: Path, home: Path, kind: str) -> list[str]:
    """The command that starts a shell of this kind inside its fence."""
    shell, _, awk = kind.partition(" with ")
    before = f"/judge/tools/{awk}:" if awk else ""
    places = {"tools": tools, "run": run, "home": home, "path": f"{before}/judge/tools/bin:/usr/bin:/bin"}
    links = [f"--symlink {one.readlink()} {one}" for one in LINKS if one.is_symlink()]
    links += [f"--ro-bind-try {one} {one}" for one in LINKS if not one.is_symlink()]
    words = [*FENCE.split(), *" ".join(links).split(), *COMMANDS[shell].split()]
    return [one.format(**places) for one in words]


class Shell:
    """One long-lived shell inside a fence, that runs each line in a subshell."""

    def __init__(self, tools: Path, folder: Path, home: Path, kind: str) -> None:
        self.kind = kind
        self.hung: list[str] = []
        self._run = folder / kind.replace(" ", "-")
        self._run.mkdir(parents=True)
        self._log = self._run / "log"
        self._command = _fence(tools, self._run, home, kind)
        self._process: subprocess.Popen[bytes] | None = None

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._log.write_bytes(b"")
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=pipe)
            assert self._process.stdin is not None
            fcntl.fcntl(self._process.stdin, fcntl.F_SETPIPE_SZ, PIPE)
            self._process.stdin.write(LIMITS)
        return self._process

    def stop(self) -> None:
        """End the shell, and with it everything inside its fence."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def run(self, lines: Sequence[str]) -> list[list[Event]]:
        """Run the lines, and return what each of them started. A line that hangs is ended and listed."""
        found: list[list[Event]] = []
        while len(found) < len(lines):
            found += self._run_until_one_hangs(lines[len(found) :])
        return found

    def _run_until_one_hangs(self, lines: Sequence[str]) -> list[list[Event]]:
        process = self._start()
        os.truncate(self._log, 0)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(map(_in_subshell, lines)) + b"echo\n")
        process.stdin.flush()
        size = -1
        while not select.select([process.stdout], [], [], HANGS)[0]:
            if size == (size := self._log.stat().st_size):
                break
        else:
            if process.stdout.readline() != b"\n":
                said = (process.stderr.read() if process.stderr else b"").decode(errors="replace")
                self.stop()
                raise NoFenceError(f"{self.kind} ended inside its fence: {said.strip()[:500]}")
            return list(_read_log(self._log.read_bytes(), len(lines)))
        self.stop()
        found = list(_read_log(self._log.read_bytes(), len(lines)))
        self.hung.append(lines[len(found) - 1])
        return found


def _in_subshell(line: str) -> bytes:
    """The line as the shell reads it: in no file and no loop, so that `return` and `break` do nothing."""
    quoted = line.replace("\0", "").replace("'", "'\\''").encode(errors="surrogateescape")
    marked = b"printf 'L\\000' >>/judge/run/log\n( cd ~/work; ulimit -t 1; eval '" + quoted
    return marked + b"'\nwait ) </dev/null >/dev/null 2>&1\n"


def _read_log(log: bytes, count: int) -> Iterator[list[Event]]:
    """The events of each line that began: those after its mark."""
    parts = iter(log.decode(errors="surrogateescape").split("\0")[:-1])
    events: list[Event] | None = None
    for part in parts:
        if part == "L":
            if events is not None:
                yield events
            events = []
        elif events is not None:
            number = int(part[1:])
            words = tuple(next(parts, "") for _ in range(number)) if part[0] == "E" else ()
            events.append(Event(part[0], words))
    if events is not None:
        yield events
