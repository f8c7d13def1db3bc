"""A home folder with a store in it, the operator's commands there as real processes, and calls to decide."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import subprocess
import sys
import termios
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from sayso.core.model import Operation, Request
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.open import KEY_NAME, open_gate
from sayso.gate.rows.keys import load_or_make_key
from sayso.policy import load_preset
from tests.support.terminals import Screen

PATIENCE = 180.0
CHAT = ("--preset", "chat")


def write(session: str, content: str) -> Request:
    """A write with hostile content beside a command that nothing runs."""
    args = {"path": "/etc/cron.d/x", "content": content, "command": "ls"}
    call = make_call("write_file", args, command="ls", folder="/srv/app")
    return make_request(call, [Operation("git.push")], session=session)


class Place:
    """A home folder with a store, a key and the preset chat in it."""

    def __init__(self, home: Path | str) -> None:
        self.home = Path(home)
        self.store = self.home / "sayso.db"
        self.environment: dict[str, str] = {}
        self._clean = {key: one for key, one in os.environ.items() if not key.startswith(("SAYSO", "XDG"))}

    def gate(self) -> Gate:
        folder = self.home / "share" / "sayso"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = load_or_make_key(KEY_NAME, folder / "gate.key")
        return open_gate(load_preset("chat"), self.store, key=key, marks=folder)

    def start(self, *words: str, **how: Any) -> subprocess.Popen[str]:
        """The program in a session of its own, so that it has no terminal but one it is given."""
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True} | how
        return subprocess.Popen(
            [sys.executable, "-m", "sayso", *words],
            text=True,
            env=self._surroundings(),
            **how,
        )

    def _surroundings(self) -> dict[str, str]:
        own = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_DATA_HOME": str(self.home / "share"),
            "SAYSO_STORE": str(self.store),
            "LC_ALL": "C.UTF-8",
        }
        return self._clean | own | self.environment

    def at_terminal(self, screen: Screen, *words: str) -> subprocess.Popen[str]:
        """The same with this as its controlling terminal."""
        ends = dict.fromkeys(("stdin", "stdout", "stderr"), screen.slave)
        take = partial(fcntl.ioctl, screen.slave, termios.TIOCSCTTY, 0)
        return self.start(*words, **ends, preexec_fn=take)

    def sayso(self, *words: str) -> subprocess.CompletedProcess[str]:
        with self.start(*words) as process:
            out, errors = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(words, process.returncode, out, errors)

    def told(self, *words: str) -> Any:
        ran = self.sayso(*words, "--json")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)


def everything(place: Place) -> dict[str, list[Any]]:
    """Every row of every table of the store."""
    with closing(sqlite3.connect(place.store)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in tables}  # noqa: S608


def verified(place: Place) -> tuple[int, int]:
    """How many entries the trail has, and how many a signed checkpoint covers."""
    ran = place.sayso("audit", "verify", "--json")
    assert ran.returncode == 0, ran.stdout
    (main,) = json.loads(ran.stdout)["streams"]
    return main["entries"], main["signed_through"]
