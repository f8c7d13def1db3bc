"""A project's own file, `.sayso.yaml` at the root of a workspace: it makes calls there stricter, and no more.

- It is looked at whenever a call of that workspace is decided: one `stat`, and it is read if it changed.
- What holds is at least as strict as the operator's policy alone and as that policy with the file over it. So
  nothing in the file can allow anything, whatever it says.
- A file that is refused or cannot be read, a link included, makes every call of the workspace ask.
- Whoever wrote the file wrote no words that people are asked with: titles and reasons of it do not count.
- Whoever is asked because of the file learns that.
"""

from __future__ import annotations

import os
import stat
import threading
import time

import msgspec

from sayso.core.audit import events
from sayso.core.deciding.decide import decide
from sayso.core.decision import Decision, Item
from sayso.core.digest import sha256
from sayso.core.errors import SaysoError
from sayso.core.model import Request, Verdict
from sayso.core.policy import Policy, Tool
from sayso.core.session import View
from sayso.core.words import visible
from sayso.gate import words
from sayso.gate.forks import begin_in_each_process
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record
from sayso.gate.telemetry import log_policy_alert
from sayso.policy.compare.strictest import ask_always, join_strictest
from sayso.policy.load import lay_over
from sayso.reading.paths.file_content import read_whole
from sayso.store.contract import Writer

NAME = ".sayso.yaml"
MOST_BYTES = 64 * 1024
LONGEST_PROBLEM = 500
MOST_KEPT = 64
"""How many workspaces are remembered; others are read again when they are needed."""
SETTLED = 2.0
"""Seconds after its last change until a file's times tell every further one; it is read again until then."""
Stamp = tuple[int, int, int, int, int]


class ProjectFile(msgspec.Struct, frozen=True):
    """What a project's file makes of a policy, and what is wrong with the file."""

    policy: Policy
    problem: str = ""


class _Kept(msgspec.Struct, frozen=True):
    base: Policy
    stamp: Stamp | None
    read_until: float
    content: bytes | None
    policy: Policy


class ProjectFiles:
    """The files of the workspaces of a gate, as of now. Used by many threads at once."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._told: dict[str, None] = {}
        self._untold: list[tuple[str, str]] = []
        begin_in_each_process(self)

    def begin_process(self) -> None:
        """Begin in a new process: nobody reads."""
        self._lock = threading.Lock()

    def policy_for(self, policy: Policy, workspace: str) -> Policy:
        """Return the policy for calls of this workspace: the same one unless it has a file of its own."""
        if not workspace.startswith("/"):
            return policy
        file = f"{workspace.rstrip('/')}/{NAME}"
        try:
            found = os.lstat(file)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            if file in self._kept:
                with self._lock:
                    self._kept.pop(file, None)
            return policy
        except OSError:
            stamp = None
        else:
            stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)
        kept = self._kept.get(file)
        if kept is not None and kept.base is policy and kept.stamp == stamp and time.time() > kept.read_until:
            return kept.policy
        with self._lock:
            return self._read(policy, file, stamp)

    def last_policy_for(self, policy: Policy, workspace: str) -> Policy:
        """Return the policy for calls of this workspace as of the last look at its file."""
        kept = self._kept.get(f"{workspace.rstrip('/')}/{NAME}") if self._kept else None
        return kept.policy if kept is not None and kept.base is policy else policy

    def take_alerts(self) -> list[tuple[str, str]]:
        """Return what is wrong with files and was not recorded yet: the digest of each, and the alert."""
        if not self._untold:
            return []
        with self._lock:
            alerts, self._untold = self._untold, []
        return alerts

    def _read(self, policy: Policy, file: str, stamp: Stamp | None) -> Policy:
        content, problem = read_project_file(file)
        kept = self._kept.pop(file, None)
        if kept is not None and kept.base is policy and kept.content == content:
            made = kept.policy
        else:
            laid = _lay_over(policy, content, file) if content is not None else _refuse(policy, file, problem)
            made = laid.policy
            if laid.problem:
                self._alert(content, words.project_file_refused(file, laid.problem))
        changed = 0.0 if stamp is None else max(stamp[0], stamp[1]) / 1e9
        self._kept[file] = _Kept(policy, stamp, changed + SETTLED, content, made)
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return made

    def _alert(self, content: bytes | None, alert: str) -> None:
        if alert in self._told:
            return
        self._told[alert] = None
        while len(self._told) > MOST_KEPT:
            del self._told[next(iter(self._told))]
        self._untold = [*self._untold, (sha256(content or b""), alert)][-MOST_KEPT:]
        log_policy_alert(alert)


def decide_here(gate: Gate, request: Request, view: View, now: float) -> Decision:
    """Decide under the gate's policy. If the project's own file made it stricter, the reason says so."""
    decision = decide(request, gate.policy, view, now)
    return decision if gate.base is None else name_project(gate, request, view, now, decision)


def name_project(gate: Gate, request: Request, view: View, now: float, decision: Decision) -> Decision:
    """The decision, with a remark where the operator's policy alone would be looser."""
    if gate.base is None or decision.verdict is Verdict.ALLOW:
        return decision
    try:
        alone = {one.operation: one for one in decide(request, gate.base, view, now).items}
    except SaysoError:
        return decision
    items = tuple(_with_remark(one, alone.get(one.operation)) for one in decision.items)
    if items == decision.items:
        return decision
    return msgspec.structs.replace(decision, reason=words.with_project(decision.reason), items=items)


def record_project_alerts(gate: Gate, tx: Writer) -> None:
    """Record what is wrong with projects' files, each once."""
    for digest, alert in () if gate.projects is None else gate.projects.take_alerts():
        record(tx, events.PolicyAlerted(digest, alert), stream=gate.stream)


def _with_remark(item: Item, alone: Item | None) -> Item:
    if alone is not None and alone.ruling.verdict is item.ruling.verdict:
        return item
    ruling = msgspec.structs.replace(item.ruling, reason=words.with_project(item.ruling.reason))
    return msgspec.structs.replace(item, ruling=ruling)


def read_project_file(file: str) -> tuple[bytes | None, str]:
    """Return the file's content, or None and why it cannot be had. A link is not followed."""
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):
            return None, "it is not a plain file"
        return read_whole(file, MOST_BYTES), ""
    except OSError as error:
        return None, f"it cannot be read: {error.strerror or error}"
    except ValueError:
        return None, f"it is not a plain file of at most {MOST_BYTES} bytes"


def find_project_file(policy: Policy, workspace: str) -> ProjectFile | None:
    """Return what this workspace's file makes of the policy, read afresh; None if it has none."""
    file = f"{workspace.rstrip('/')}/{NAME}"
    if not workspace:
        return None
    try:
        os.lstat(file)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError:
        pass
    content, problem = read_project_file(file)
    return _refuse(policy, file, problem) if content is None else _lay_over(policy, content, file)


def _lay_over(policy: Policy, content: bytes, file: str) -> ProjectFile:
    try:
        laid = _without_words(policy, lay_over(policy, content.decode(), name=NAME))
        joined = join_strictest(policy, laid, 0.0)
    except Exception as error:  # noqa: BLE001  whatever is wrong with it, what it wanted is not known: ask
        return _refuse(policy, file, str(error))
    return ProjectFile(msgspec.structs.replace(joined, tightened=policy.tightened, project=file))


def _refuse(policy: Policy, file: str, problem: str) -> ProjectFile:
    asks = msgspec.structs.replace(ask_always(policy), project=file)
    return ProjectFile(asks, visible(problem or "it is refused", LONGEST_PROBLEM))


def _without_words(policy: Policy, laid: Policy) -> Policy:
    """The laid-over policy with the operator's words alone."""

    def without_title(tool: Tool) -> Tool:
        return tool if tool in policy.tools else msgspec.structs.replace(tool, title=None)

    table = {
        name: msgspec.structs.replace(
            entry, reason=known.reason if (known := policy.table.get(name)) else None
        )
        for name, entry in laid.table.items()
    }
    return msgspec.structs.replace(laid, tools=tuple(map(without_title, laid.tools)), table=table)
