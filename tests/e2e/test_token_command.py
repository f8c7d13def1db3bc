"""`sayso token` as a real process: whoever makes a host's token says whether its word is assured."""

from __future__ import annotations

from sayso.gate.gate import Gate
from sayso.gate.people.tokens import list_tokens
from tests.e2e.operator_place import Place


def test_a_hosts_token_is_assured_only_if_the_operator_says_so(place: Place, gate: Gate) -> None:
    claimed = place.told("token", "new", "host", "hook")
    assured = place.told("token", "new", "host", "terminal", "--assured")
    assert (claimed["assured"], assured["assured"]) == (False, True)
    assert [(one.name, one.assured) for one in list_tokens(gate)] == [("hook", False), ("terminal", True)]
    lines = place.sayso("token", "list").stdout.splitlines()
    assert [line.rstrip().endswith("assured") for line in lines] == [False, True]


def test_no_other_token_is_made_assured(place: Place, gate: Gate) -> None:
    refused = place.sayso("token", "new", "agent", "claude", "--assured")
    assert refused.returncode == 1
    assert "only a host" in refused.stderr
    assert list_tokens(gate) == []
