"""Tokens: who may speak to the service, as what. Random, kept only as hashes, revocable, never in a log."""

from __future__ import annotations

import secrets
from typing import Literal

import msgspec

from sayso.core.audit import events
from sayso.core.errors import SaysoError
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record
from sayso.gate.rows.moves import hold_streams
from sayso.gate.sealed_values import (
    ValueReading,
    find_value,
    read_value_again,
    secret_value_name,
    value_name,
    write_value,
)
from sayso.store.contract import MetaRow, Reader

Role = Literal["agent", "host", "operator", "trusted"]
ROLES: tuple[Role, ...] = ("agent", "host", "operator", "trusted")

MOST_CALLS = 1_000_000


class UnknownToken(SaysoError):
    code = "unknown_token"
    advice = "`sayso token list` lists them"


class Token(msgspec.Struct, frozen=True):
    """The record of a token. `name` is the holder's name, as agent or as operator.

    `assured`: whoever issued it vouches that the agent's user cannot read it, so what this host reports of
    its user was typed by them. Otherwise that is only claimed.

    `rate`: how many calls a second it may make; None for as many as the service lets anybody.
    """

    id: str
    role: Role
    name: str
    made_at: float
    revoked: bool = False
    assured: bool = False
    rate: float | None = None
    issuer: str = ""
    """The id of whoever issued it: they count as asking with it, where the policy says of nobody else."""


def secret_prefix(role: Role) -> str:
    """Return what every token of this role begins with."""
    return f"sayso_{role}_"


def issue_token(
    gate: Gate,
    role: Role,
    name: str,
    *,
    by: str,
    assured: bool = False,
    rate: float | None = None,
    issuer: str = "",
) -> tuple[str, Token]:
    """Issue a token; return it with its record. The token itself is shown only once."""
    if role not in ROLES:
        raise SaysoError(f"there is no role {role!r}", hint=f"use one of: {', '.join(ROLES)}")
    if not name or not name.isprintable() or len(name) > 100:
        raise SaysoError("a token needs a name of up to 100 plain characters")
    if assured and role != "host":
        raise SaysoError("only a host tells what its user typed, so only a host's token can be assured")
    if rate is not None and (role == "operator" or not 0 < rate <= MOST_CALLS):
        raise SaysoError(
            f"a token may make more than 0 and up to {MOST_CALLS:,} calls a second, "
            "and an operator's is never limited"
        )
    secret = f"{secret_prefix(role)}{secrets.token_urlsafe(32)}"
    with operator_act(gate) as tx:
        token = Token(
            f"t_{secrets.token_hex(8)}", role, name, tx.now, assured=assured, rate=rate, issuer=issuer
        )
        write_value(gate, tx, secret_value_name("token", secret), token)
        issued = events.TokenIssued(token.id, role, name, by, assured, rate)
        record(tx, issued, stream=gate.stream)
    return secret, token


def find_token(gate: Gate, tx: Reader, secret: str) -> Token | None:
    """Return the token's record; None if it is unknown, revoked or tampered with."""
    token = find_value(gate, tx, secret_value_name("token", secret), Token)
    return None if token is None or token.revoked else token


def read_token_again(
    gate: Gate, tx: Reader, name: str, before: ValueReading[Token] | None
) -> ValueReading[Token]:
    """Read the record of the token that is stored under this name, again if it was read `before`."""
    return read_value_again(gate, tx, name, Token, before)


def find_token_record(gate: Gate, tx: Reader, token: str, *, revoked: bool = False) -> Token | None:
    """Return the record of the token of this id; of a revoked one only if that is asked for."""
    found = (find_value(gate, tx, name, Token) for name in _token_names(tx))
    return next((one for one in found if one and one.id == token and (revoked or not one.revoked)), None)


def list_tokens(gate: Gate) -> list[Token]:
    """List the tokens that are not revoked, oldest first."""
    with gate.store.read() as tx:
        found = [find_value(gate, tx, name, Token) for name in _token_names(tx)]
    return sorted((one for one in found if one is not None and not one.revoked), key=lambda one: one.made_at)


def revoke_token(gate: Gate, token: str, *, by: str) -> Token:
    """Revoke a token: from the next request on it lets nobody in."""
    with operator_act(gate) as tx:
        for place in _token_names(tx):
            found = find_value(gate, tx, place, Token)
            if found is not None and found.id == token and not found.revoked:
                ended = msgspec.structs.replace(found, revoked=True)
                write_value(gate, tx, place, ended)
                hold_streams(tx)  # what is decided in any service after this was committed finds it
                record(tx, events.TokenRevoked(token, by), stream=gate.stream)
                return ended
    raise UnknownToken(f"there is no token {token}", hint="sayso token list shows them")


def _token_names(tx: Reader) -> list[str]:
    every = value_name("token", "")
    return [row.name for row in tx.every(MetaRow) if row.name.startswith(every)]
