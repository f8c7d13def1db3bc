"""A policy file changed 200 times at random by another process while threads decide: never looser."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sayso.core.audit import events
from sayso.doors.python.calls.results import ConsentDenied, ConsentRequired
from sayso.doors.python.program import Program
from sayso.doors.sayso import Sayso
from sayso.gate.gate import Gate
from sayso.gate.open import open_to_act
from sayso.gate.policy_acts.apply import apply_policy, load_policy_status
from sayso.store.sqlite.store import SqliteStore
from tests.support.changing_file import (
    ACTIONS,
    RANKS,
    ChangingFile,
    Outcome,
    find_looser,
    version_text,
    write_in_place,
)
from tests.support.gates import KEY
from tests.support.postgres_place import new_url
from tests.support.service_process import Home, a_home

pytestmark = pytest.mark.slow

ROUNDS, CHANGES, THREADS = 8, 25, 3
EVERY = ROUNDS if os.environ.get("SAYSO_ALL") else 0


def decide_until(
    over: threading.Event, decide: Callable[[str], int], outcomes: list[Outcome], seed: int
) -> None:
    rng = Random(seed)
    while not over.is_set():
        action = rng.choice(ACTIONS)
        began = time.monotonic_ns()
        rank = decide(action)
        outcomes.append(Outcome(action, rank, began, time.monotonic_ns()))


def decider(program: Program[Any]) -> Callable[[str], int]:
    """Make calls of each action; how strict the answer is."""

    def make(action: str) -> Callable[[], None]:
        def act() -> None:
            pass

        act.__name__ = action
        return program.requires_consent(f"mail.{action}")(act)

    acts = {action: make(action) for action in ACTIONS}

    def decide(action: str) -> int:
        try:
            acts[action]()
        except ConsentRequired:
            return RANKS["ask"]
        except ConsentDenied:
            return RANKS["deny"]
        return RANKS["allow"]

    return decide


@contextmanager
def deciding(each: list[Callable[[str], int]]) -> Iterator[list[Outcome]]:
    """Threads that decide all the time."""
    over, outcomes = threading.Event(), list[Outcome]()
    threads = [
        threading.Thread(target=decide_until, args=(over, each[n % len(each)], outcomes, n))
        for n in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    try:
        yield outcomes
    finally:
        over.set()
        for thread in threads:
            thread.join()


def change_and_check(file: Path, programs: list[Program[Any]], acting: Gate, rounds: int) -> list[Outcome]:
    """Let the file change under load; between the rounds the operator applies a file that allows all."""
    every: list[Outcome] = []
    each = [decider(program) for program in programs]
    with closing(ChangingFile(file)) as changing:
        for seed in range(rounds):
            write_in_place(file, version_text((0, 0, 0)))
            content = load_policy_status(acting, file).content
            apply_policy(acting, file, by="ana", content=content)
            with deciding(each) as outcomes:
                versions = changing.change(seed, CHANGES)
            assert find_looser(outcomes, versions) == []
            every += outcomes
        write_in_place(file, version_text((2, 2, 2)))
        assert {decide(action) for decide in each for action in ACTIONS} == {RANKS["deny"]}
        write_in_place(file, version_text((0, 0, 0)))
        assert {decide(action) for decide in each for action in ACTIONS} == {RANKS["deny"]}
        apply_policy(acting, file, by="ana", content=load_policy_status(acting, file).content)
        assert {decide(action) for decide in each for action in ACTIONS} == {RANKS["allow"]}
    return every


def test_no_decision_of_a_service_is_looser_than_the_strictest_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = a_home(monkeypatch, tmp_path)
    with ExitStack() as held:
        programs = held.enter_context(served(home, 1))
        acting = held.enter_context(closing_gate(home))
        outcomes = change_and_check(home.policy, programs, acting, EVERY or 2)
        assert outcomes


def test_no_decision_of_two_services_on_one_database_is_looser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_server: str
) -> None:
    home = a_home(monkeypatch, tmp_path)
    home.store = new_url(postgres_server)
    with ExitStack() as held:
        programs = held.enter_context(served(home, 2))
        acting = held.enter_context(closing_gate(home))
        outcomes = change_and_check(home.policy, programs, acting, EVERY or 1)
        assert outcomes


@contextmanager
def served(home: Home, services: int) -> Iterator[list[Program[Any]]]:
    """So many services of one file, and a program connected to each."""
    write_in_place(home.policy, version_text((0, 0, 0)))
    with ExitStack() as held:
        started = [
            held.enter_context(home.serve(socket=home.folder / f"run{number}" / "sayso.sock"))
            for number in range(services)
        ]
        yield [
            held.enter_context(closing(one.connect(home.token("host", f"host{number}"))))
            for number, one in enumerate(started)
        ]


@contextmanager
def closing_gate(home: Home) -> Iterator[Gate]:
    gate = open_to_act(None, home.store)
    try:
        yield gate
    finally:
        gate.store.close()


def test_no_decision_of_a_program_is_looser_than_the_strictest_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    write_in_place(file, version_text((0, 0, 0)))
    store = SqliteStore(tmp_path / "s.db")
    with closing(Sayso.open(file, store, surfaces=(), key=KEY, marks=tmp_path)) as program:
        outcomes = change_and_check(file, [program], program.gate, ROUNDS)
        assert outcomes
        with program.gate.store.read() as tx:
            rows = list(tx.entries("main", limit=100_000))
        assert any(row.event == events.PolicyAlerted.event for row in rows)
