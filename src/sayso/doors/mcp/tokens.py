"""Tokens of clients over HTTP: without one nobody gets in, and each is a client of its own."""

from __future__ import annotations

import os
import secrets
import stat
from hashlib import sha256
from pathlib import Path

from mcp.server.auth.provider import AccessToken

from sayso.core.errors import SaysoError

SHORTEST = 20


class TokensRefused(SaysoError):
    code = "tokens_refused"


class Tokens:
    """The tokens that are let in. They are kept as hashes, and give the role of an agent, nothing more."""

    def __init__(self, tokens: list[str]) -> None:
        self._known = frozenset(_hash(token) for token in tokens)

    async def verify_token(self, token: str) -> AccessToken | None:
        name = _hash(token)
        return AccessToken(token=token, client_id=name, scopes=[]) if name in self._known else None


def make_token() -> str:
    return secrets.token_urlsafe(32)


def read_tokens(path: Path) -> list[str]:
    """The tokens of a file, one a line. A file that others can read is refused."""
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            found = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise TokensRefused(f"the tokens in {path} cannot be read: {error}") from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise TokensRefused(f"others can read {path}", hint=f"chmod 600 {path}, and write new tokens into it")
    tokens = [token for token in found if token and not token.startswith("#")]
    if not tokens or any(len(token) < SHORTEST or not token.isascii() for token in tokens):
        raise TokensRefused(
            f"{path} needs one token a line, each of {SHORTEST} characters or more",
            hint="python -c 'import secrets; print(secrets.token_urlsafe(32))' makes one",
        )
    return tokens


def _hash(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
