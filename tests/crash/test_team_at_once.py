"""Approvals in eight processes at once: each person counts once, and the last one needed closes."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.gate import Gate
from tests.crash.jobs import Job
from tests.crash.test_at_once import gate, job
from tests.crash.workers import APPROVERS, working
from tests.support.teams import asks, team_policy, under, verdict

__all__ = ["gate", "job"]
ROUNDS = 200 if os.environ.get("SAYSO_ALL") else 8

pytestmark = pytest.mark.slow


def test_three_people_in_eight_processes_close_a_question_once(job: Job, gate: Gate) -> None:
    team = under(gate, team_policy(needed=3))
    with working(job, *["approve"] * len(APPROVERS)) as workers:
        for _ in range(ROUNDS):
            request, question = asks(team)
            for worker in workers:
                worker.tell(f"{request.session} {question}")
            said = Counter(worker.said() for worker in workers)
            assert said["answered True"] == 1, said
            assert said["open True"] >= 2, said
            assert sum(said.values()) == said["answered True"] + said["answered False"] + said["open True"]
            with gate.store.read() as tx:
                row = tx.question(question)
                assert row is not None
                assert sorted((row.by or "").replace(",", " and").split(" and ")) == ["ana", "bo", "cy"]
                assert len(tx.grants(request.session)) == 1
            assert verdict(team, request) == "allow"
            assert verdict(team, request) == "ask"
    assert verify_audit(team).clean


def test_two_people_with_six_ids_are_two(job: Job, gate: Gate) -> None:
    team = under(gate, team_policy(needed=3))
    with working(job, *["approve"] * 6) as workers:
        for _ in range(ROUNDS):
            request, question = asks(team)
            for worker in workers:
                worker.tell(f"{request.session} {question}")
            assert {worker.said() for worker in workers} == {"open True"}
            assert verdict(team, request) == "ask"
