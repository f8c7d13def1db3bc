"""`requestState` of the stateless era: where a call goes on that its server, or a person, has yet to answer.

A client sends a call again with the state that came with `input_required`. The gateway puts a state of its
own around the server's, under a MAC: it names the call that was decided, and what was decided about. So the
call goes on as that one, once, and for no other tool or arguments.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
from typing import Literal

import msgspec

from sayso.core.digest import sha256
from sayso.doors.mcp.gateway.messages import ToolCall
from sayso.gate.decoding import decode_json

LONGEST = 1024 * 1024
Waits = Literal["server", "person"]


class CallState(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Which call goes on, what it is for, who had to answer, and the state that its server gave."""

    waits_for: Waits
    call: str
    about: str
    inner: str | None = None


class States:
    """The states of one gateway. Another one, or the next, takes none of them."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def seal(self, waits_for: Waits, name: str, call: ToolCall, inner: str | None = None) -> str:
        body = msgspec.json.encode(CallState(waits_for, name, digest_judged_call(call), inner))
        return base64.urlsafe_b64encode(self._mac(body) + body).decode("ascii")

    def open(self, text: str, call: ToolCall) -> CallState | None:
        """Return the state; None if it is not ours, or for another call."""
        if len(text) > LONGEST:
            return None
        try:
            raw = base64.b64decode(text, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        mac, body = raw[:32], raw[32:]
        if not hmac.compare_digest(mac, self._mac(body)):
            return None
        state = decode_json(body, CallState)
        return state if state.about == digest_judged_call(call) else None

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self._key, b"sayso requestState\n" + body, "sha256")


def digest_judged_call(call: ToolCall) -> str:
    """Return a digest of what is judged: the tool and its arguments."""
    return sha256(json.dumps([call.tool, call.arguments], sort_keys=True).encode("ascii"))
