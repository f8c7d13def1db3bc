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
from sayso.core.errors import SaysoError
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


def test_a_key_that_is_too_long_is_not_repeated_whole(gate: Sayso) -> None:
    sends(gate)
    with pytest.raises(WrongArguments, match="and not one of 5,000 ") as refused:
        gate.run("send", {"to": "ana"}, key="x" * 5_000)
    assert "xxx" not in str(refused.value)
    with pytest.raises(WrongArguments) as refused:
        gate.run("send", {"to": "ana"}, wait="x" * 5_000)  # type: ignore[arg-type]
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize("key", [5, "", "x" * 201, "a\nb", b"x"])
def test_a_session_is_never_opened_by_a_key_that_is_none(gate: Sayso, key: Any) -> None:
    with pytest.raises(SaysoError, match="a session's key is a text of 1 to 200 printable characters"):
        gate.session(key=key)


NOT_WORKSPACES: list[Any] = ["nope/nope", Path("nope"), "~/nope", "/no\0path", 5, b"/tmp", ["/"], True]


@pytest.mark.parametrize("workspace", NOT_WORKSPACES)
def test_no_session_is_opened_in_a_workspace_that_can_be_none(gate: Sayso, workspace: Any) -> None:
    for named in ({}, {"key": "k"}):
        with pytest.raises(WrongArguments, match="workspace") as refused:
            gate.session(workspace=workspace, **named)
        assert "working folder" in (refused.value.hint or "")
    with pytest.raises(WrongArguments, match="workspace"):
        gate.open_session("helper", workspace=workspace)


def test_a_whole_path_that_is_no_folder_here_is_warned_of(
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


def test_a_workspace_is_the_folder_that_was_meant_here(
    gate: Sayso, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "project").mkdir()
    for number, named in enumerate(("project", Path("project"), str(tmp_path / "project"))):
        for key in (None, f"k{number}"):
            opened = gate.session(workspace=named, key=key)  # type: ignore[arg-type]
            assert gate.door.row(opened.id).workspace == str((tmp_path / "project").resolve())
