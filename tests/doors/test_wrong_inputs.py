"""What a program passes by mistake is refused in words, wherever it is passed."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sayso import Sayso, Step
from sayso.doors.python.values.arguments import WrongArguments
from tests.support.people import Person, sends


@pytest.mark.parametrize("params", [[1], [], "to", 5, ("to", "ana")])
def test_parameters_that_are_not_by_name_are_an_error_result(gate: Sayso, params: Any) -> None:
    sent = sends(gate)
    gate.workflow("digest", [Step("one", lambda: None)])
    for name in ("send", "digest"):
        result = gate.run(name, params)
        assert result.status == "error"
        assert f"in a dict, and not in a {type(params).__name__}" in (result.reason or "")
        assert asyncio.run(gate.arun(name, params)).status == "error"
    with pytest.raises(WrongArguments, match="in a dict"):
        gate.check("send", params)
    with pytest.raises(WrongArguments, match="in a dict"):
        gate.session().call("send", params)
    assert sent == []


@pytest.mark.parametrize("wait", ["x", math.nan, -1, -0.5, None, True, [1]])
def test_a_time_to_wait_that_is_none_is_refused(gate: Sayso, wait: Any) -> None:
    sends(gate)
    uses: list[Callable[[], object]] = [
        lambda: gate.run("send", {"to": "ana"}, wait=wait),
        lambda: asyncio.run(gate.arun("send", {"to": "ana"}, wait=wait)),
        lambda: gate.retry("op_1", wait=wait),
        lambda: gate.session().run("send", {"to": "ana"}, wait=wait),
    ]
    for use in uses:
        with pytest.raises(WrongArguments, match="wait takes the seconds"):
            use()
    if wait is not None:
        with pytest.raises(WrongArguments, match="wait takes the seconds"):
            gate.requires_consent("mail.send", wait=wait)


@pytest.mark.parametrize("key", ["", 5, b"x", "x" * 201])
def test_a_key_that_is_none_is_refused(gate: Sayso, person: Person, key: Any) -> None:
    sends(gate)
    with pytest.raises(WrongArguments, match="the key of a call is a text of 1 to 200 characters"):
        gate.run("send", {"to": "ana"}, key=key)
    assert person.questions == []


def test_a_workspace_that_is_no_folder_here_is_warned_of(
    gate: Sayso, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "sayso"):
        gate.session(workspace=str(tmp_path))
        gate.session()
        assert caplog.messages == []
        gate.session(workspace="/nope/nope")
        gate.session(key="k", workspace="/nope/nope")
    assert (
        caplog.messages
        == ["the workspace /nope/nope is not a folder on this machine: no path here lies in it"] * 2
    )
