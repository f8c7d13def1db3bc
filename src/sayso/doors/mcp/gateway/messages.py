"""Messages of a client, read so strictly that no server can read them otherwise.

- A message is one line, one JSON object in UTF-8, with the keys of JSON-RPC 2.0 and no others. A key that is
  there twice, or in two spellings that some parser takes for one, is refused.
- A carriage return inside a line is refused: a server that splits lines there would read other messages.
- Only `tools/call` is judged, and what could pass for it is refused. An allowed call is written again from
  what was judged. Everything else goes to the server byte for byte.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from sayso.core.digest import parse_json
from sayso.core.errors import NotCanonical

PARSE, INVALID, BAD_PARAMS, REFUSED = -32700, -32600, -32602, -32000
INPUT_REQUIRED = "input_required"
TOOLS_CALL, CANCELLED = "tools/call", "notifications/cancelled"
VERSION = "io.modelcontextprotocol/protocolVersion"
LONGEST_TOOL = 200
DEEPEST = 64
LONGEST_CHECKED = 4 * 1024 * 1024
"""A longer line of a server is only read for its id."""
_REQUEST, _RESPONSE = frozenset(("jsonrpc", "id", "method", "params")), frozenset(("result", "error"))
_CALL = frozenset(("name", "arguments", "_meta", "task"))
_GOES_ON = frozenset(("inputResponses", "requestState"))
_spell = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
MessageId = int | str
UNKNOWN_END = {"sayso": "ambiguous"}
"""With an error, in its data: the call was sent, and nobody can say how it ended."""
BROKEN_OFF = "the MCP server broke this call off; find out whether it ran before you repeat it"


class Passed(msgspec.Struct, frozen=True):
    """Nothing to judge; `id` and `method` are a request's."""

    id: MessageId | None = None
    method: str = ""


class CancelNotice(msgspec.Struct, frozen=True):
    """The client no longer wants the answer to a request."""

    request: Any


class ToolCall(msgspec.Struct, frozen=True):
    """A call to judge, and the one message to send if it is allowed, as a line too."""

    id: MessageId
    tool: str
    arguments: dict[str, Any]
    message: dict[str, Any]
    line: bytes
    progress: MessageId | None = None
    as_task: bool = False
    is_stateless: bool = False
    """Of the era without a handshake, from 2026-07-28 on: each request names its version."""
    state: str | None = None
    """Where it goes on, if it was sent before."""

    def spell_with(self, state: str | None) -> bytes:
        """Return the line with this state in the place of the client's, or none."""
        if state == self.state:
            return self.line
        params = {key: value for key, value in self.message["params"].items() if key != "requestState"}
        if state is not None:
            params["requestState"] = state
        return _encode({**self.message, "params": params})


class Refused(msgspec.Struct, frozen=True):
    """A line that goes nowhere. With `silent` it was a notification, which nobody answers."""

    code: int
    why: str
    id: MessageId | None = None
    silent: bool = False


def read_client_line(line: bytes) -> Passed | CancelNotice | ToolCall | Refused:
    """Return what this line is to the gateway."""
    try:
        message = _parse(line)
    except (NotCanonical, ValueError) as error:
        return Refused(PARSE, str(error))
    if not isinstance(message, dict):
        return Refused(INVALID, "a message is one JSON object; batches are not taken")
    known = message.get("id") if type(message.get("id")) in (int, str) else None
    try:
        return _read(message, known)
    except (NotCanonical, ValueError, RecursionError) as error:  # ValueError: a number that JSON cannot hold
        return Refused(INVALID, str(error), known, silent="id" not in message and "method" in message)


def _parse(line: bytes) -> Any:
    if b"\r" in line.rstrip(b"\r\n"):
        raise NotCanonical("a line has a carriage return inside")
    return parse_json(line.decode("utf-8"))


def _read(message: dict[str, Any], known: MessageId | None) -> Passed | CancelNotice | ToolCall:
    if message.get("jsonrpc") != "2.0" or ("id" in message and known is None):
        raise NotCanonical("this is not JSON-RPC 2.0, or its id is neither a text nor a whole number")
    if "method" not in message:
        if len(message.keys() & _RESPONSE) != 1 or message.keys() - _RESPONSE - {"jsonrpc", "id"}:
            raise NotCanonical("this is neither a request nor a response")
        return Passed()
    method = message["method"]
    if not isinstance(method, str) or message.keys() - _REQUEST:
        raise NotCanonical("a request has the keys jsonrpc, id, method and params, and no others")
    if method == TOOLS_CALL:
        return _read_call(message, known)
    if TOOLS_CALL in fold(method):
        raise NotCanonical(f"the method {method!r} could be taken for {TOOLS_CALL}")
    params = message.get("params")
    if method == CANCELLED and isinstance(params, dict):
        return CancelNotice(params.get("requestId"))
    return Passed(known, method)


def _read_call(message: dict[str, Any], known: MessageId | None) -> ToolCall:
    params = message.get("params")
    if known is None or not isinstance(params, dict):
        raise NotCanonical(f"{TOOLS_CALL} has an id and params")
    tool, arguments, meta = params.get("name"), params.get("arguments", {}), params.get("_meta", {})
    is_stateless = isinstance(meta, dict) and VERSION in meta
    if params.keys() - _CALL - (_GOES_ON if is_stateless else set()):
        raise NotCanonical(f"the params of {TOOLS_CALL} are name, arguments, _meta and task only")
    state = params.get("requestState")
    if not (state is None or isinstance(state, str)) or (state is None and _GOES_ON & params.keys()):
        raise NotCanonical("inputResponses need the requestState they answer")
    if not isinstance(tool, str) or not 0 < len(tool) <= LONGEST_TOOL:
        raise NotCanonical("the tool has no name, or one that is too long")
    if not isinstance(arguments, dict) or not isinstance(meta, dict):
        raise NotCanonical("arguments and _meta are objects")
    _refuse_twins(params, 0)
    token = meta.get("progressToken")
    return ToolCall(
        id=known,
        tool=tool,
        arguments=arguments,
        message=message,
        line=_encode(message),
        progress=token if type(token) in (int, str) else None,
        as_task="task" in params,
        is_stateless=is_stateless,
        state=state,
    )


def fold(text: str) -> str:
    """Return the text as the most lenient reader would compare it."""
    if text.isascii() and text.isidentifier():  # as most keys are: there is nothing else to fold
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if letter.isprintable() and not letter.isspace())


def _refuse_twins(value: Any, depth: int) -> None:
    """Refuse keys beside each other that some parsers take for the same one, and what is nested too deep."""
    if depth > DEEPEST:
        raise NotCanonical("the call is nested too deep")
    if isinstance(value, dict):
        if len({fold(name) for name in value}) != len(value):
            raise NotCanonical("an object has two keys that can be taken for one")
        for member in value.values():
            _refuse_twins(member, depth + 1)
    elif isinstance(value, list):
        for member in value:
            _refuse_twins(member, depth + 1)


def answer_denied(call: ToolCall, why: str) -> bytes:
    """Answer a call that does not run: the agent reads why, as the result of its call."""
    if call.as_task:  # its client waits for a task, not for a result
        return answer_refused(Refused(REFUSED, why, call.id))
    result = {"content": [{"type": "text", "text": why}], "isError": True}
    kind = {"resultType": "complete"} if call.is_stateless else {}
    return _encode({"jsonrpc": "2.0", "id": call.id, "result": {**kind, **result}})


def answer_with_state(call: ToolCall, state: str) -> bytes:
    """Answer a call that waits for a person: its client sends it again, with this state."""
    result = {"resultType": INPUT_REQUIRED, "requestState": state}
    return _encode({"jsonrpc": "2.0", "id": call.id, "result": result})


def replace_state(line: bytes, seal: Callable[[str | None], str]) -> bytes | None:
    """Return the server's `input_required` with its state sealed; None if it cannot be read for certain."""
    try:
        message = parse_json(line)
        result = message["result"]
        inner = result.get("requestState")
        if not (inner is None or isinstance(inner, str)) or result["resultType"] != INPUT_REQUIRED:
            return None
        return _encode({**message, "result": {**result, "requestState": seal(inner)}})
    except (NotCanonical, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None


def answer_refused(refused: Refused) -> bytes:
    error = {"code": refused.code, "message": f"Sayso: {refused.why}"}
    return _encode({"jsonrpc": "2.0", "id": refused.id, "error": error})


def answer_broken_off(known: MessageId) -> bytes:
    """Answer a call that was sent to a server, of which nobody can say whether it ran."""
    error = {"code": REFUSED, "message": f"Sayso: {BROKEN_OFF}", "data": UNKNOWN_END}
    return _encode({"jsonrpc": "2.0", "id": known, "error": error})


def write_progress(token: MessageId, times: int, why: str) -> bytes:
    """Tell the client that its call waits. The numbers grow, and stay below all that the server may send."""
    params = {"progressToken": token, "progress": -1e-6 / times, "message": why}
    return _encode({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def _encode(message: dict[str, Any]) -> bytes:
    return _spell(message).encode("ascii") + b"\n"


class _Result(msgspec.Struct, frozen=True):
    """As much of a result as tells whether it is an error; the rest is not kept."""

    failed: Any = msgspec.field(default=None, name="isError")
    kind: Any = msgspec.field(default=None, name="resultType")


_decode_result = msgspec.json.Decoder(_Result).decode


class ServerReply(msgspec.Struct, frozen=True):
    """As much of a server's message as tells how a call ended."""

    id: Any = None
    method: Any = None
    result: msgspec.Raw = msgspec.Raw()
    error: Any = None

    @property
    def ends(self) -> Literal["ok", "failed", "unknown", "asks"] | None:
        """Return how the call ended, `unknown` if nobody can say.

        `asks`: its server has a question first, None: this is not an answer.
        """
        if self.method is not None:
            return None
        if isinstance(self.error, dict) and self.error.get("data") == UNKNOWN_END:
            return "unknown"
        try:
            found = _decode_result(self.result)
        except msgspec.MsgspecError:  # it is none, or no object
            return "failed"
        if self.error is not None or found.failed:
            return "failed"
        return "asks" if found.kind == INPUT_REQUIRED else "ok"


_decode_reply = msgspec.json.Decoder(ServerReply).decode


def is_one_message(line: bytes) -> bool:
    """Return whether everybody reads the same one message in a server's line: no batch, and no key twice."""
    if len(line) > LONGEST_CHECKED:
        return read_server_line(line) is not None
    try:
        return isinstance(_parse(line), dict)
    except (NotCanonical, ValueError, RecursionError):
        return False


def read_server_line(line: bytes) -> ServerReply | None:
    """Return what the server says; None if it cannot be read. Nothing is allowed or denied by it."""
    try:
        return _decode_reply(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
