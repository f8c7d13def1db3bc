"""Two services on one PostgreSQL whose files change at the same moment: what either tightens stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest

from sayso.core.model import Tier
from sayso.core.policy import Policy
from sayso.gate.gate import Gate, current_gate
from sayso.gate.open import open_gate
from sayso.gate.policy import live
from sayso.gate.policy.acting_policy import PolicySource
from sayso.gate.policy.in_force import find_pinned, put_in_force, read_policy, read_row
from sayso.gate.policy_acts.file_flags import unprotect_file
from sayso.gate.policy_acts.lock import CannotLock, lock_policy
from sayso.gate.upkeep import review
from sayso.gate.upkeep.review import load_decays
from sayso.policy import load_file
from sayso.store.contract import Reader
from sayso.store.postgres.store import PostgresStore
from tests.support.changing_file import version_text, write_in_place
from tests.support.gates import KEY
from tests.support.postgres_place import new_schema

WAITING = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


class Member:
    """A service with a file of its own."""

    def __init__(self, address: str, file: Path) -> None:
        self.file, self.store = file, PostgresStore(address)
        write_in_place(file, version_text((0, 0, 0)))
        self.gate = open_gate(load_file(file), self.store, key=KEY, source=PolicySource(file))

    def write(self, *tiers: int) -> None:
        write_in_place(self.file, version_text(tiers))

    def decide(self) -> Policy:
        """Return the policy that is decided under: whoever decides looks at the store each time."""
        assert self.gate.live is not None
        self.gate.live.look_again()
        self.gate = current_gate(self.gate)
        return self.gate.policy


@pytest.fixture
def members(postgres_server: str, tmp_path: Path) -> Iterator[tuple[Member, Member]]:
    address = new_schema(postgres_server)
    one, other = Member(address, tmp_path / "one.yaml"), Member(address, tmp_path / "other.yaml")
    with closing(one.store), closing(other.store):
        yield one, other


def tiers_in_force(gate: Gate) -> dict[str, Tier | None]:
    with gate.store.read() as tx:
        row = read_row(gate, tx)
        assert row is not None
        policy = read_policy(gate, tx, row)
    return {name: policy.entry(f"mail.{name}").tier for name in ("read", "send", "purge")}


def start_and_watch(other: Thread, server: str) -> None:
    """Start it, until it has ended or waits for somebody."""
    other.start()
    with psycopg.connect(server, autocommit=True) as watcher:
        while other.is_alive() and not watcher.execute(WAITING).fetchall():
            continue


def meanwhile(monkeypatch: pytest.MonkeyPatch, server: str, do: Callable[[], object]) -> Thread:
    """Let this begin just before the next gate writes what is in force, and end or wait for it there."""
    other = Thread(target=do)

    def write(*args: Any, **more: Any) -> Any:
        monkeypatch.setattr(live, "put_in_force", put_in_force)
        start_and_watch(other, server)
        return put_in_force(*args, **more)

    monkeypatch.setattr(live, "put_in_force", write)
    return other


def test_what_two_services_tighten_at_the_same_moment_is_all_in_force(
    members: tuple[Member, Member], monkeypatch: pytest.MonkeyPatch, postgres_server: str
) -> None:
    one, other = members
    one.write(0, 2, 0)
    other.write(2, 0, 0)
    at_once = meanwhile(monkeypatch, postgres_server, other.decide)
    one.decide()
    at_once.join()
    assert tiers_in_force(one.gate) == {"read": Tier.BLOCKED, "send": Tier.BLOCKED, "purge": Tier.AUTONOMOUS}
    for member in members:
        policy = member.decide()
        assert {policy.entry(f"mail.{name}").tier for name in ("read", "send")} == {Tier.BLOCKED}


def test_a_lock_is_not_lost_to_a_service_that_reads_another_file_just_then(
    members: tuple[Member, Member], monkeypatch: pytest.MonkeyPatch, postgres_server: str
) -> None:
    one, other = members
    one.write(0, 2, 0)
    locked: list[str] = []

    def lock() -> None:
        with suppress(CannotLock):  # what the other file tightened is in force by then
            locked.append(lock_policy(other.gate, other.file, by="ana").digest)

    at_once = meanwhile(monkeypatch, postgres_server, lock)
    one.decide()
    at_once.join()
    with one.store.read() as tx:
        assert find_pinned(one.gate, tx) == (locked[0] if locked else "")
    unprotect_file(other.file)


def test_no_other_policy_comes_into_force_while_a_review_is_written(
    members: tuple[Member, Member], monkeypatch: pytest.MonkeyPatch, postgres_server: str
) -> None:
    one, other = members
    other.write(2, 0, 0)
    at_once, waits = Thread(target=other.decide), []

    def look(gate: Gate, tx: Reader) -> dict[str, review.DomainDecay]:
        start_and_watch(at_once, postgres_server)
        waits.append(at_once.is_alive())
        return load_decays(gate, tx)

    monkeypatch.setattr(review, "load_decays", look)
    review.keep_domain(one.gate, "mail", by="ana")
    at_once.join()
    assert waits == [True]
