"""Only an allow of low risk that changes nothing else is committed without waiting for the disk.

And a power failure that takes such allows away must not look like a store put back from a copy.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayso.core.audit.entry import read_entry
from sayso.core.durations import DAY
from sayso.core.model import Mode, Operation, Request, Risk
from sayso.core.policy import Detail, Domain, Policy, Settings, SlashCommand, compile_policy
from sayso.core.session import Scope
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.start import start_call
from sayso.gate.open import open_gate
from sayso.gate.questions.answer import answer_question
from sayso.gate.rows.keys import make_key
from sayso.gate.rows.mark import unsettled
from sayso.gate.sessions.messages import record_message, record_task_start
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.store.contract import Batch, Reader, Store, StoreError, Writer
from sayso.store.memory.store import MemoryStore
from sayso.store.sqlite import log_sync
from sayso.store.sqlite.store import SqliteStore
from tests.support.failing_disks import fail_sync

KEY = make_key("test")
NOON = 1_800_000_000.0
POLICY = compile_policy(
    domains={
        "files": Domain(autonomous=("list",), requires_approval=("read", "edit"), blocked=("wipe",)),
        "chat": Domain(autonomous=("post",), fan_out="single", content_from="text"),
        "soul": Domain(autonomous=("amend",), trusted_channel_required=("amend",)),
        "mail": Domain(requires_approval=("guess",), confidence_bypass=True),
    },
    operations={
        "files.read": Detail(risk=Risk.LOW),
        "files.wipe": Detail(risk=Risk.LOW),
        "files.stat": Detail(risk=Risk.LOW),
        "files.peek": Detail(risk=Risk.LOW, always_ask=True),
        "mail.guess": Detail(risk=Risk.LOW),
    },
    settings=Settings(notices="terminal"),
    slash_commands={"look": SlashCommand(operations=("files.read",))},
)


class Noting:
    """A store that notes of every entry whether it was committed without waiting for the disk."""

    bound = 0.0
    fault = None
    local = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen = 0
        self.quick: list[bytes] = []
        self.durable: list[bytes] = []

    def read(self) -> AbstractContextManager[Reader]:
        return self._store.read()

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Writer]:
        with self._store.write(durable=durable) as tx:
            yield tx
        kept = self.durable if tx.durable else self.quick
        with self._store.read() as reader:
            new = reader.entries("main", after=self._seen)
        self._seen += len(new)
        kept.extend(row.body for row in new if row.body is not None)

    def batch(self) -> AbstractContextManager[Batch]:
        return self._store.batch()

    def wait_for_change(self, seen: int, timeout: float) -> int:
        return self._store.wait_for_change(seen, timeout)

    def close(self) -> None:
        self._store.close()


def request(session: str, *names: str, **more: object) -> Request:
    call = make_call("tool", {"names": list(names)})
    operations = [msgspec.structs.replace(Operation(name), **more) for name in names]
    return make_request(call, operations, agent="tester", session=session)


Act = Callable[[Gate, str], object]


def asks(*names: str, **more: object) -> Act:
    return lambda gate, session: authorize(gate, request(session, *names, **more))


def by_grant(gate: Gate, session: str) -> None:
    give_grant(gate, session, by="ana", operation="files.stat", minutes=60)
    authorize(gate, request(session, "files.stat"))


def approved(gate: Gate, session: str) -> None:
    question = authorize(gate, request(session, "files.peek")).question
    assert question is not None
    answer_question(gate, question.id, "once", by="ana")
    authorize(gate, request(session, "files.peek"))


def denied(gate: Gate, session: str) -> None:
    question = authorize(gate, request(session, "files.peek")).question
    assert question is not None
    answer_question(gate, question.id, "deny", by="ana")
    authorize(gate, request(session, "files.peek"))


def by_slash_command(gate: Gate, session: str) -> None:
    record_message(gate, session, "/look")
    authorize(gate, request(session, "files.read"))


def stopped(gate: Gate, session: str) -> None:
    record_message(gate, session, "stop")
    authorize(gate, request(session, "files.list"))


def first_of_a_turn(gate: Gate, session: str) -> None:
    record_task_start(gate, session, "feature")
    record_message(gate, session, "and now the rest")
    authorize(gate, request(session, "files.list"))


def user_initiated_but_risky(gate: Gate, session: str) -> None:
    authorize(gate, request(session, "files.stat", reading=Risk.HIGH), Scope(user_initiated="button"))


def in_mode_paranoid(gate: Gate, session: str) -> None:
    paranoid = msgspec.structs.replace(
        gate, live=None, policy=msgspec.structs.replace(POLICY, mode=Mode.PARANOID)
    )
    authorize(paranoid, request(session, "files.list"))


def decayed(gate: Gate, session: str) -> None:
    with gate.store.write() as tx:
        tx.put_review(gate.sealer.review("files.list", NOON - 31 * DAY, "ana"))
    authorize(gate, request(session, "files.list"))


def started(gate: Gate, session: str) -> None:
    start_call(gate, request(session, "files.list"), holder="me")


def started_here(*names: str, **more: Any) -> Act:
    """The call of a hook, or of the MCP gateway: for those the decision is the start."""

    def act(gate: Gate, session: str) -> None:
        start_call(gate, request(session, *names), holder="me", lasts=False, **more)

    return act


def started_by_grant(gate: Gate, session: str) -> None:
    give_grant(gate, session, by="ana", operation="files.stat", minutes=60)
    started_here("files.stat")(gate, session)


HARMLESS: dict[str, Act] = {
    "started on this machine": started_here("files.list", host_id="h1"),
    "autonomous": asks("files.list"),
    "low and listed nowhere": asks("files.stat"),
    "two of them": asks("files.list", "files.stat"),
}
MUST_LAST: dict[str, Act] = {
    "a grant is used": by_grant,
    "an approval is used": approved,
    "a person said no": denied,
    "a slash command is counted": by_slash_command,
    "the session is stopped": stopped,
    "the task is active": first_of_a_turn,
    "the reading raises the risk": asks("files.list", reading=Risk.HIGH),
    "risky, but the user pressed the button": user_initiated_but_risky,
    "one of two is asked": asks("files.list", "files.peek"),
    "one of two is moderate": asks("files.list", "files.edit"),
    "low, but to be approved": asks("files.read"),
    "low, but always asked": asks("files.peek"),
    "low, but blocked": asks("files.wipe"),
    "not through the trusted channel": asks("soul.amend"),
    "the content is noted": asks("chat.post", content="hello"),
    "the operator is told": lambda gate, session: authorize(
        gate, msgspec.structs.replace(request(session, "mail.guess"), confidence=0.99)
    ),
    "mode paranoid": in_mode_paranoid,
    "decayed": decayed,
    "the ledger says that it runs": started,
    "started on this machine, by a grant": started_by_grant,
    "started on this machine, under a key": started_here("files.list", key="k1"),
    "started on this machine, with an effect": started_here("files.list", effect_key="e1"),
    "started on this machine, but asked": started_here("files.peek"),
}


def told(entry: bytes) -> tuple[object, object, object]:
    details = read_entry(entry).details
    return details.get("verdict"), details.get("risk"), details.get("grants")


def noted(act: Act) -> tuple[int, Noting]:
    """The store after this act, and how many entries there were before."""
    store = Noting(MemoryStore(clock=lambda: NOON))
    gate = open_gate(POLICY, store, key=KEY)
    session = open_session(gate, agent="tester", owner="host")
    before = len(store.durable)
    act(gate, session)
    return before, store


@pytest.mark.parametrize("what", HARMLESS)
def test_an_allow_of_low_risk_that_uses_no_grant_does_not_wait_for_the_disk(what: str) -> None:
    before, store = noted(HARMLESS[what])
    assert (len(store.durable), [told(entry) for entry in store.quick]) == (before, [("allow", "low", [])])


@pytest.mark.parametrize("what", MUST_LAST)
def test_whatever_does_more_than_that_is_on_the_disk_before_it_counts(what: str) -> None:
    before, store = noted(MUST_LAST[what])
    assert store.quick == []
    assert len(store.durable) > before


def count_syncs(path: Path, act: Act, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the log was synced in this act."""
    made: list[int] = []
    sync = log_sync.sync_file

    def watched(file: int) -> None:
        made.append(file)
        sync(file)

    with closing(SqliteStore(path, clock=lambda: NOON)) as store:
        gate = open_gate(POLICY, store, key=KEY)
        session = open_session(gate, agent="tester", owner="host")
        with monkeypatch.context() as patch:
            patch.setattr(log_sync, "sync_file", watched)
            act(gate, session)
            return len(made)


@pytest.mark.parametrize("what", [*HARMLESS, *MUST_LAST])
def test_sqlite_syncs_the_log_for_those_only(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = {**HARMLESS, **MUST_LAST}[what]
    assert (count_syncs(tmp_path / "s.db", act, monkeypatch) == 0) is (what in HARMLESS)


# --- a power failure ---


def in_a_file(folder: Path, policy: Policy = POLICY) -> Gate:
    return open_gate(policy, SqliteStore(folder / "s.db"), key=KEY, marks=folder)


def on_disk(folder: Path, kept: Path) -> None:
    kept.mkdir()
    for file in folder.glob("s.db*"):
        shutil.copy(file, kept / file.name)


def fail_the_power(folder: Path, kept: Path) -> None:
    """What was not synced is gone; the mark, which is another file, may have been written before."""
    for file in folder.glob("s.db*"):
        file.unlink()
    for file in kept.iterdir():
        shutil.copy(file, folder / file.name)


def nothing_that_lasts(gate: Gate, folder: Path, session: str) -> None:
    """Durable transactions that write nothing, and so sync nothing."""
    start_call(gate, request(session, "files.list"), holder="me", host_id="h1")
    open_gate(POLICY, gate.store, key=KEY, marks=folder)


def test_allows_lost_to_a_power_failure_void_no_grant(tmp_path: Path) -> None:
    folder, kept = tmp_path / "store", tmp_path / "kept"
    folder.mkdir()
    gate = in_a_file(folder)
    session = open_session(gate, agent="tester", owner="host")
    give_grant(gate, session, by="ana", operation="files.edit", minutes=60)
    start_call(gate, request(session, "files.list"), holder="me", host_id="h1")
    on_disk(folder, kept)
    for _ in range(3):
        assert authorize(gate, request(session, "files.stat")).decision.rule == "safe"
    nothing_that_lasts(gate, folder, session)
    gate.store.close()
    fail_the_power(folder, kept)
    again = in_a_file(folder)
    with again.store.read() as tx:
        assert "EPOCH" not in [row.event for row in tx.entries("main")]
    assert authorize(again, request(session, "files.edit")).decision.rule == "operation_grant"
    again.store.close()


def test_a_store_put_back_to_before_a_use_is_still_noticed(tmp_path: Path) -> None:
    folder, kept = tmp_path / "store", tmp_path / "kept"
    folder.mkdir()
    gate = in_a_file(folder)
    session = open_session(gate, agent="tester", owner="host")
    give_grant(gate, session, by="ana", operation="files.edit", minutes=60, uses=1)
    on_disk(folder, kept)
    authorize(gate, request(session, "files.stat"))
    assert authorize(gate, request(session, "files.edit")).decision.rule == "operation_grant"
    gate.store.close()
    fail_the_power(folder, kept)
    again = in_a_file(folder)
    with again.store.read() as tx:
        assert "EPOCH" in [row.event for row in tx.entries("main")]
    again.store.close()


def test_what_a_failed_sync_leaves_in_doubt_is_not_marked_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the power fails, and what was in doubt is gone: that is no store put back from a copy."""
    folder, kept = tmp_path / "store", tmp_path / "kept"
    folder.mkdir()
    gate = in_a_file(folder)
    session = open_session(gate, agent="tester", owner="host")
    give_grant(gate, session, by="ana", operation="files.edit", minutes=60)
    on_disk(folder, kept)
    with monkeypatch.context() as patch:
        patch.setattr(log_sync, "sync_file", fail_sync)
        with pytest.raises(StoreError):
            give_grant(gate, session, by="ana", operation="files.read", minutes=60)
        gate.store.close()
    fail_the_power(folder, kept)
    monkeypatch.setattr(unsettled, "boot_number", lambda: 1)
    again = in_a_file(folder)
    with again.store.read() as tx:
        assert "EPOCH" not in [row.event for row in tx.entries("main")]
    assert authorize(again, request(session, "files.edit")).decision.rule == "operation_grant"
    again.store.close()
