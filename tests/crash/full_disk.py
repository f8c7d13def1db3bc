"""A process whose files may not grow any more, as on a full disk, and later may.

Prints how many calls were allowed.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from sayso.core.model import Verdict
from sayso.gate.deciding.authorize import authorize
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.sessions import open_session
from sayso.store.contract import StoreError
from tests.crash.jobs import Clock, Job, gate_on, opened
from tests.support.asking import push

ROOM = 200_000


def main(folder: str) -> None:
    job = Job("live", "", f"{folder}/store.db", folder)
    store = opened(job.address, Clock())
    gate = gate_on(store, job)
    session = open_session(gate, agent="tester", owner="host")
    record_message(gate, session, "Grant standing consent for: git push")
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    grown = max(file.stat().st_size for file in Path(folder).iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (grown + ROOM, hard))
    allowed = refused = 0
    while refused < 3:
        try:
            allowed += authorize(gate, push(session)).decision.verdict is Verdict.ALLOW
        except StoreError:
            refused += 1
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    allowed += authorize(gate, push(session)).decision.verdict is Verdict.ALLOW
    store.close()
    sys.stdout.write(f"{allowed}\n")


if __name__ == "__main__":
    main(sys.argv[1])
