"""The gate as one object: what the examples in the documentation do."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso import Sayso, SaysoError
from sayso.core.model import Operation, Verdict
from sayso.gate.audit.verifying.verify import verify_audit
from sayso.gate.deciding.request import make_call, make_request
from tests.support.gates import KEY


def test_a_call_is_asked_answered_and_run_and_the_trail_verifies(tmp_path: Path) -> None:
    with Sayso.open("chat", tmp_path / "s.db", key=KEY, marks=tmp_path) as gate:
        session = gate.open_session("tester")
        request = make_request(
            make_call("edit", {"path": "a.py"}, target="a.py"), [Operation("files.edit")], session=session
        )
        asked = gate.authorize(request)
        assert asked.question is not None
        assert gate.answer(asked.question.id, "always", by="ana").yours
        assert gate.wait(asked.question.id).answer == "always"
        assert gate.authorize(request).decision.verdict is Verdict.ALLOW
        (standing,) = [one for one in gate.grants(session) if one.kind == "operation"]
        gate.revoke(standing.id, by="ana")
        assert gate.authorize(request).decision.verdict is Verdict.ASK
    with Sayso.open("chat", tmp_path / "s.db", key=KEY, marks=tmp_path) as again:
        assert verify_audit(again.gate).clean
        assert again.authorize(request).decision.verdict is Verdict.ASK


def test_a_policy_file_can_be_named_too(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("extends: [chat]\nmode: paranoid\n")
    with Sayso.open(policy, tmp_path / "s.db", key=KEY, marks=tmp_path) as gate:
        assert gate.gate.policy.mode.value == "paranoid"


def test_the_mode_is_the_one_asked_for_else_the_environments_else_the_policys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mode(approval: str | None = None) -> str:
        with Sayso.open("chat", tmp_path / "s.db", approval=approval, key=KEY, marks=tmp_path) as gate:
            return gate.gate.policy.mode.value

    assert mode() == "balanced"
    monkeypatch.setenv("SAYSO_APPROVAL_MODE", "trusting")
    assert mode() == "trusting"
    assert mode("paranoid") == "paranoid"


def test_a_gate_is_not_opened_in_a_mode_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(SaysoError, match="paranoid, balanced or trusting"):
        Sayso.open("chat", tmp_path / "s.db", approval="yolo", key=KEY, marks=tmp_path)
    assert not (tmp_path / "s.db").exists()
