"""Every door gives the same decision for the same call, or the stricter one that the specification names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sayso.core.policy import Policy
from tests.support.door_rows import Expected, Made, Row, rows
from tests.support.doors_in_process import (
    CommandLine,
    Core,
    Disagreement,
    DoorUnderTest,
    EmbeddedCall,
    EmbeddedHost,
    EmbeddedRun,
    World,
)
from tests.support.doors_over_lines import (
    ConnectedCall,
    ConnectedHost,
    ConnectedRun,
    Http,
    HttpAgent,
    HttpAgentAnyhow,
    Mcp,
    Served,
    serving,
    starts_at_workspace,
)

ROWS = rows()
DOORS = (
    "core", "command line", "embedded run", "embedded call", "embedded host", "connected run",
    "connected call", "connected host", "http", "http agent", "mcp",
)  # fmt: skip
STRICTNESS = ("allow", "ask", "deny")
RISKS = ("low", "moderate", "high")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as running:
        yield running


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A workspace with a link to a secret, a home beside it, and nobody's settings."""
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    (workspace / ".git").mkdir(parents=True)
    (home / ".ssh").mkdir(parents=True)
    (workspace / "notes.txt").write_text("notes", encoding="utf-8")
    (workspace / "innocent.txt").symlink_to(home / ".ssh" / "id_rsa")
    for name in ("SAYSO_APPROVAL_MODE", "SAYSO_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, folder in (("HOME", home), ("XDG_CONFIG_HOME", home / "c"), ("XDG_DATA_HOME", home / "d")):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.chdir(workspace)
    return World(workspace, home)


@pytest.fixture
def doors(
    world: World,
    served: Served,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Mapping[str, DoorUnderTest]:
    made = (
        Core(world), CommandLine(tmp_path, monkeypatch, capsys), EmbeddedRun(world), EmbeddedCall(world),
        EmbeddedHost(world), ConnectedRun(world, served), ConnectedCall(world, served),
        ConnectedHost(world, served), Http(world, served), HttpAgent(world, served), Mcp(world),
    )  # fmt: skip
    return dict(zip(DOORS, made, strict=True))


FROM_WORKSPACE = [row for row in ROWS if starts_at_workspace(row)]
EACH_ROW = pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])


@EACH_ROW
@pytest.mark.parametrize("name", DOORS)
def test_this_door_decides_the_call_as_the_table_says(
    name: str, row: Row, doors: Mapping[str, DoorUnderTest]
) -> None:
    door = doors[name]
    if door.cannot(row) is None:
        assert str(door.decide(row)) == str(row.expected_of(door.kind))


@pytest.mark.parametrize("absolute", [True, False], ids=["absolute", "as written"])
@pytest.mark.parametrize("row", FROM_WORKSPACE, ids=[row.id for row in FROM_WORKSPACE])
def test_no_agent_without_a_workspace_is_decided_looser_than_the_table_says(
    row: Row, absolute: bool, world: World, served: Served
) -> None:
    """What is inside a workspace cannot be told there, so an agent may be asked more, and never less."""
    door = HttpAgentAnyhow(world, served, absolute=absolute)
    if door.cannot(row) is not None:
        return
    decided = door.decide(row)
    if not decided.refused:
        expected = row.expected_of("agent")
        assert STRICTNESS.index(decided.verdict) >= STRICTNESS.index(expected.verdict)
        assert RISKS.index(decided.risk) >= RISKS.index(expected.risk)


# What the table itself promises


def test_only_a_stricter_decision_differs_and_it_says_why() -> None:
    for row in ROWS:
        for kind, other in row.differs.items():
            assert kind in ("connection", "agent"), row.id
            assert "SPEC" in other.because, row.id
            strict = [STRICTNESS.index(one.verdict) for one in (row.expect, other)]
            risks = [RISKS.index(one.risk) for one in (row.expect, other)]
            assert strict == sorted(strict), row.id
            assert risks == sorted(risks), row.id
            assert (strict, risks) != ([strict[0]] * 2, [risks[0]] * 2), f"{row.id}: nothing differs"


def test_rows_have_names_of_their_own_and_say_what_was_found_wherever_code_declares_something() -> None:
    assert len({row.id for row in ROWS}) == len(ROWS)
    for row in ROWS:
        for one in (row, *row.before):
            assert (one.declared is not None) == bool(one.found), row.id


SAID = {
    "core": 91, "command line": 74, "embedded run": 63, "embedded call": 60, "embedded host": 28,
    "connected run": 63, "connected call": 60, "connected host": 28, "http": 88, "http agent": 65, "mcp": 63,
}  # fmt: skip
"""How many rows each door decides. One that cannot say a row any more shows here."""


def test_no_door_stops_saying_what_it_said(doors: Mapping[str, DoorUnderTest]) -> None:
    said = Counter(name for name, door in doors.items() for row in ROWS if door.cannot(row) is None)
    assert dict(said) == SAID


# Planted faults


class DeafToTools(Http):
    """A door that decides by declarations alone."""

    def decide(self, row: Row) -> Expected:
        policy = msgspec.structs.replace(row.in_force(), tools=(), tools_named={}, tools_like=())
        return super().decide(_Fixed.of(row, policy))


class DeafToCode(Http):
    """A door that forgets what code declares."""

    def _body(self, session: str | None, made: Made) -> dict[str, Any]:
        return super()._body(session, msgspec.structs.replace(made, declared=None))


class Credulous(EmbeddedRun):
    """A connection that believes a program that something is low."""

    kind = "connection"


class _Fixed(Row, frozen=True, kw_only=True):
    """A row under a policy that was changed behind its back."""

    changed: Policy

    @classmethod
    def of(cls, row: Row, policy: Policy) -> Row:
        return cls(**{name: getattr(row, name) for name in row.__struct_fields__}, changed=policy)

    def in_force(self) -> Policy:
        return self.changed


def caught(door: DoorUnderTest) -> set[str]:
    """The rows that notice what is wrong with this door."""
    return {row.id for row in ROWS if door.cannot(row) is None and not _right(door, row)}


def _right(door: DoorUnderTest, row: Row) -> bool:
    try:
        return door.decide(row) == row.expected_of(door.kind)
    except Disagreement:
        return False


def test_a_door_that_ignores_the_policys_tools_is_caught(world: World, served: Served) -> None:
    found = caught(DeafToTools(world, served))
    assert found >= {
        "env-is-not-written-after-a-yes-to-another-file",
        "a-when-that-leads-to-a-blocked-operation-denies",
        "an-unknown-recipient-is-blocked-though-code-declares-a-send",
        "an-address-nearby-is-high-though-code-says-fetching-is-low",
    }


def test_a_door_that_ignores_what_code_declares_is_caught(world: World, served: Served) -> None:
    found = caught(DeafToCode(world, served))
    assert found >= {
        "a-preset-does-not-lower-what-code-declares-as-high",
        "code-raises-what-a-tool-entry-says",
        "an-unlisted-operation-declared-high-is-high",
    }


def test_a_connection_that_believes_that_something_is_low_is_caught(world: World) -> None:
    assert "an-unlisted-operation-declared-low-is-safe-where-the-code-is-believed" in caught(Credulous(world))
