"""Programs for the tests of the controlling terminal: a shell that owns it, and an agent started from there.

`python -m tests.surfaces.program shell PATH ROLE` takes the terminal at PATH, starts the agent and says how
it ended. The agent asks in a thread; its main thread waits for the reply, or (role `leaves`) for a line.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading

from sayso.gate.questions.surface import Reply
from sayso.surfaces.terminal.terminal import Terminal
from tests.support.questions import push_question


def shell(path: str, role: str) -> None:
    os.open(path, os.O_RDWR)  # a session's leader that opens a terminal owns it
    group = 0 if role == "background" else None
    agent = subprocess.run(
        [sys.executable, "-m", __spec__.name, "agent", role], process_group=group, check=False
    )
    say(ended=agent.returncode)
    sys.stdin.read()


def agent(role: str) -> None:
    terminal = Terminal("kim", wait=lambda over, seconds: None)
    replies: list[Reply] = []
    terminal.show(push_question(), "key")
    thread = threading.Thread(target=lambda: replies.extend(terminal.fetch(60)), daemon=role == "leaves")
    say(pid=os.getpid())
    thread.start()
    if role == "leaves":
        sys.stdin.readline()
        return
    thread.join()
    say(reply=next(([one.answer, one.reason, one.edited] for one in replies), None))


def say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    logging.basicConfig(format="%(message)s")
    if sys.argv[1] == "shell":
        shell(*sys.argv[2:])
    else:
        agent(*sys.argv[2:])
