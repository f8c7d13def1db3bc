"""Random calls under random small policies: every door decides each of them alike."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.support.door_rows import Declared, Expected, Row
from tests.support.doors_in_process import (
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
    Mcp,
    Served,
    serving,
)

CASES = 2_000 if os.environ.get("SAYSO_ALL") else 60
DOMAINS = ("files", "bank")
ACTIONS = ("read", "write", "pay")
TOOLS = ("alpha", "beta", "alphabet")
PATHS = ("notes.txt", "innocent.txt", ".env", "~/.ssh/id_rsa", "/etc/hosts", "../beside", "sub/../a.txt")
RECIPIENTS = ("darcy@example.org", "eve@example.net", "+1 555 010 0002", "", "darcy@example.org, eve@x.org")
URLS = ("https://example.com/a", "http://127.0.0.1/", "file:///etc/passwd", "nonsense")
WHENS = ("args.amount > 10", "args.amount.cents > 1", "tool == 'alpha'", "args.path.startsWith('~')")
NOTHING = Expected()


class Chance(random.Random):
    """One random case after another, the same ones for the same number."""

    def policy(self) -> dict[str, Any]:
        return {
            "mode": self.choice(["balanced", "balanced", "balanced", "paranoid", "trusting"]),
            "settings": {
                "safe": self.choice(["auto", "auto", "ask"]),
                "unlisted": self.choice(["ask", "ask", "ask", "block"]),
            },
            "vip_contacts": {"darcy": "darcy@example.org"},
            "family_contacts": {"sister": "+1 555 010 0002"},
            "domains": {name: self.domain() for name in DOMAINS},
            "operations": {name: self.detail() for name in self.some(self.operations())},
            "tools": [self.entry() for _ in range(self.randrange(4))],
        }

    def domain(self) -> dict[str, Any]:
        lists: dict[str, Any] = {"autonomous": [], "requires_approval": [], "blocked": []}
        for action in (*ACTIONS, "send_vip", "send_family", "send_unknown", "modify_secrets"):
            place = self.choice(["autonomous", "autonomous", "requires_approval", "blocked", None])
            if place is not None:
                lists[place].append(action)
        return lists | ({"trusted_channel_required": ["pay"]} if self.random() < 0.1 else {})

    def detail(self) -> dict[str, Any]:
        detail: dict[str, Any] = {"reason": "for the test"}
        if self.random() < 0.6:
            detail["risk"] = self.choice(["low", "moderate", "high"])
        return detail | ({"always_ask": True} if self.random() < 0.15 else {})

    def entry(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"tool": self.choice([*TOOLS, "alpha*"])}
        entry |= self.choice(
            [
                {"operation": self.choice(self.operations())},
                {
                    "resolve": "path",
                    "operation": self.choice(["files.read", "files.write"]),
                    "from": "args.path",
                },
                {"resolve": "recipient", "domain": "bank", "from": "args.to"},
                {"resolve": "url", "domain": "bank", "from": "args.url"},
            ]
        )
        if self.random() < 0.3:
            entry["when"] = self.choice(WHENS)
        return entry | ({"risk": self.choice(["low", "moderate", "high"])} if self.random() < 0.2 else {})

    def row(self, number: int) -> Row:
        args = {
            "path": self.choice(PATHS),
            "to": self.choice(RECIPIENTS),
            "url": self.choice(URLS),
            "amount": self.choice([1, 100]),
        }
        return Row(
            id=f"case {number}",
            source="at random",
            policy=self.policy(),
            tool=self.choice(TOOLS),
            args={name: args[name] for name in self.some(list(args))},
            declared=self.declared(),
            expect=NOTHING,
        )

    def declared(self) -> Declared | None:
        if self.random() < 0.35:
            return None
        operation = self.choice([*self.operations(), "else.where"])
        return Declared(operation, self.choice([None, "low", "moderate", "high"]))

    def operations(self) -> list[str]:
        return [f"{domain}.{action}" for domain in DOMAINS for action in ACTIONS]

    def some(self, of: list[str]) -> list[str]:
        return [one for one in of if self.random() < 0.6]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    workspace, home = folder / "workspace", folder / "home"
    (workspace / ".git").mkdir(parents=True)
    (home / ".ssh").mkdir(parents=True)
    (workspace / "innocent.txt").symlink_to(home / ".ssh" / "id_rsa")
    with pytest.MonkeyPatch.context() as patch:
        for name, place in (("HOME", home), ("XDG_CONFIG_HOME", home / "c"), ("XDG_DATA_HOME", home / "d")):
            patch.setenv(name, str(place))
        patch.delenv("SAYSO_APPROVAL_MODE", raising=False)
        patch.chdir(workspace)
        yield World(workspace, home)


def without_low(row: Row) -> Row:
    """The row as a connection takes it: that something is low is not believed there (SPEC 3)."""
    if row.declared is None or row.declared.risk != "low":
        return row
    return msgspec.structs.replace(row, declared=Declared(row.declared.operation, None))


def decided(row: Row, doors: dict[str, DoorUnderTest]) -> dict[str, str]:
    return {name: str(door.decide(row)) for name, door in doors.items() if door.cannot(row) is None}


@pytest.mark.parametrize("number", range(0, CASES, 20))
def test_all_doors_decide_random_calls_alike(number: int, world: World, served: Served) -> None:
    near: dict[str, DoorUnderTest] = {
        "run": EmbeddedRun(world), "call": EmbeddedCall(world), "host": EmbeddedHost(world),
        "mcp": Mcp(world),
    }  # fmt: skip
    far: dict[str, DoorUnderTest] = {
        "connected run": ConnectedRun(world, served), "connected call": ConnectedCall(world, served),
        "connected host": ConnectedHost(world, served), "http": Http(world, served),
    }  # fmt: skip
    for case in range(number, number + 20):
        row = Chance(case).row(case)
        here, there = decided(row, near), decided(row, far)
        assert here, row
        assert len(set(here.values())) == 1, (here, row)
        assert len(set(there.values())) == 1, (there, row)
        believed = decided(without_low(row), near)
        assert set(there.values()) == set(believed.values()), (there, believed, row)


def test_the_cases_reach_every_verdict_and_most_rules(world: World) -> None:
    doors = (EmbeddedRun(world), EmbeddedHost(world))
    found: set[str] = set()
    for row in (Chance(case).row(case) for case in range(200)):
        found |= {str(door.decide(row)).split(" at ")[0] for door in doors if door.cannot(row) is None}
    assert "refused" not in found
    wanted = {"allow by autonomous", "allow by safe", "ask by risky", "ask by ask", "ask by always_ask"}
    assert wanted | {"ask by paranoid", "deny by blocked", "deny by trusted_channel"} <= found
