"""Tokens: who may speak to the service, and as what. For operators alone."""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.gate.people.tokens import Role, Token, issue_token, list_tokens, revoke_token
from sayso.service.http.callers import answerer_of
from sayso.service.http.endpoints import OPERATORS, Context, Endpoint


class TokenBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token to make. `rate` is how many calls a second it may make, if not as many as anybody."""

    role: Role
    name: str
    rate: float | None = None


class IssuedToken(msgspec.Struct, frozen=True):
    """A new token. `secret` is told this once, and kept nowhere."""

    secret: str
    token: Token


def list_all_tokens(context: Context) -> list[Token]:
    return list_tokens(context.gate)


def post_token(context: Context) -> IssuedToken:
    body: TokenBody = context.body
    by, issuer = context.token.name, answerer_of(context).identity
    made = issue_token(context.gate, body.role, body.name, by=by, rate=body.rate, issuer=issuer)
    return IssuedToken(*made)


def delete_token(context: Context) -> Token:
    """From the next request on nobody is let in with it."""
    return revoke_token(context.gate, context.parameters["token"], by=context.token.name)


ALL: Any = list[Token]
ENDPOINTS = (
    Endpoint(
        "GET", "/v1/tokens", OPERATORS, "List the tokens that are not revoked", list_all_tokens, result=ALL
    ),
    Endpoint("POST", "/v1/tokens", OPERATORS, "Make a token", post_token, TokenBody, IssuedToken, status=201),
    Endpoint("DELETE", "/v1/tokens/{token}", OPERATORS, "Revoke a token", delete_token, result=Token),
)
