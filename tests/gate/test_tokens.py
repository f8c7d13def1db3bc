"""Tokens: whether a host's word is assured is said when its token is made, sealed with it, and recorded."""

from __future__ import annotations

import json
import secrets
from hashlib import sha256

import msgspec
import pytest

from sayso.core.errors import SaysoError
from sayso.gate.gate import Gate
from sayso.gate.people.tokens import Role, find_token, issue_token, list_tokens, revoke_token
from sayso.gate.sealed_values import write_value


def found(gate: Gate, secret: str) -> bool | None:
    """Whether this token is assured; None if it is nobody's."""
    with gate.store.read() as tx:
        token = find_token(gate, tx, secret)
    return None if token is None else token.assured


def test_a_token_is_claimed_unless_its_maker_says_otherwise(gate: Gate) -> None:
    made = [issue_token(gate, "host", "me", by="ana", assured=one) for one in (False, True)]
    assert [found(gate, secret) for secret, _ in made] == [False, True]
    assert {one.id: one.assured for one in list_tokens(gate)} == {made[0][1].id: False, made[1][1].id: True}
    with gate.store.read() as tx:
        rows = [row for row in tx.entries(gate.stream) if row.event == "TOKEN_ISSUED"]
    assert [json.loads(row.body or b"")["details"]["assured"] for row in rows] == [False, True]


@pytest.mark.parametrize("role", ["agent", "operator", "trusted"])
def test_only_a_hosts_token_can_be_assured(gate: Gate, role: Role) -> None:
    with pytest.raises(SaysoError, match="only a host"):
        issue_token(gate, role, "me", by="ana", assured=True)
    assert list_tokens(gate) == []


def test_an_assured_token_is_revoked_like_any_other(gate: Gate) -> None:
    secret, token = issue_token(gate, "host", "me", by="ana", assured=True)
    assert revoke_token(gate, token.id, by="ana").assured
    assert found(gate, secret) is None


def by_hand(gate: Gate, secret: str, old: str, new: str) -> None:
    place = f"token/{sha256(secret.encode()).hexdigest()}"
    with gate.store.write() as tx:
        text = tx.meta(place)
        assert text is not None
        assert old in text
        tx.set_meta(place, text.replace(old, new))


def test_a_row_edited_by_hand_is_nobodys_token(gate: Gate) -> None:
    claimed, _ = issue_token(gate, "host", "me", by="ana")
    by_hand(gate, claimed, '"assured":false', '"assured":true')
    assert found(gate, claimed) is None
    agent, _ = issue_token(gate, "agent", "you", by="ana")
    by_hand(gate, agent, '"role":"agent"', '"role":"host"')
    assert found(gate, agent) is None


class OldToken(msgspec.Struct):
    """A token as it was kept before there were assured ones."""

    id: str
    role: str
    name: str
    made_at: float
    revoked: bool = False


def test_a_token_from_before_there_were_assured_ones_is_claimed(gate: Gate) -> None:
    secret = f"sayso_host_{secrets.token_urlsafe(32)}"
    place = f"token/{sha256(secret.encode()).hexdigest()}"
    with gate.store.write() as tx:
        write_value(gate, tx, place, OldToken("t_0011223344556677", "host", "me", 1.8e9))
    assert found(gate, secret) is False
    by_hand(gate, secret, '"revoked":false', '"revoked":false,"assured":true')
    assert found(gate, secret) is None
