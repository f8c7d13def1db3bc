"""Canonical JSON (RFC 8785) and the digest that binds an approval to exactly one call."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from sayso.core.errors import NotCanonical
from sayso.core.model import Call

TAG = "sayso/1"
MAX_DEPTH = 64
EXACT_INTEGERS = 2**53
_MOST_BITS = 1024
_MOST_DIGITS = 22
_PLAIN_DEPTH = 16
_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode
_GAP = msgspec.Raw(b"\0")  # where the arguments go: no text of JSON has this byte


def encode_canonical(value: object) -> bytes:
    """The one spelling of a JSON value: sorted keys, shortest numbers, no white space, UTF-8.

    Refused: numbers a double cannot hold exactly, NaN and infinities, lone surrogates, keys that are no
    strings, types that JSON does not have, and nesting deeper than 64.
    """
    try:
        return _encode(value) if plain(value) else "".join(_spell(value, 0)).encode()
    except UnicodeEncodeError as error:
        raise NotCanonical("text holds half a character (a lone surrogate)") from error


def plain(value: object, depth: int = 0) -> bool:
    """Return whether msgspec spells the value as RFC 8785 does, and quicker; all else takes the full way."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return -EXACT_INTEGERS <= value <= EXACT_INTEGERS  # type: ignore[operator]
    if kind is dict and depth < _PLAIN_DEPTH:
        for key, member in value.items():  # type: ignore[attr-defined]
            if type(key) is not str or not key.isascii():
                return False
            kind = type(member)
            if kind is not str and kind is not bool and member is not None and not plain(member, depth + 1):
                return False
        return True
    if kind is float:
        return 0.001 < value < 1e15 and value % 1 != 0  # type: ignore[operator]
    if (kind is list or kind is tuple) and depth < _PLAIN_DEPTH:
        return _are_plain(value, depth + 1)  # type: ignore[arg-type]
    return False


def _are_plain(members: Iterable[object], depth: int) -> bool:
    for member in members:  # noqa: SIM110  most of these lists are short: a generator would take longer
        if type(member) is not str and not plain(member, depth):
            return False
    return True


def decode_canonical(text: bytes) -> Any:
    """Canonical bytes to values: what runs is decoded from what was digested.

    A whole number becomes an int with the exact value of its double, however large: RFC 8785 spells only as
    many of its digits as tell doubles apart.
    """
    return _decode_checked(text)[0]


def _decode_checked(text: bytes) -> tuple[Any, bool]:
    """The value, and whether it is plain and spelled in the one way: then msgspec alone reads it right."""
    try:
        value = _decode(text)
        if plain(value) and _encode(value) == text:  # so it is canonical, and names no key twice
            return value, True
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    return _loads(text, _CANONICAL), False


def spell_exactly(text: bytes) -> str:
    """Canonical bytes as JSON for people, with every digit of a whole number; what is not JSON as it is."""
    try:
        return msgspec.json.encode(decode_canonical(text)).decode()
    except NotCanonical:
        return text.decode("utf-8", "backslashreplace")


def parse_json(text: bytes | str) -> Any:
    """JSON text to values, refusing duplicate keys instead of letting the last one win."""
    return _loads(text, _STRICT)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def call_digest(call: Call, operations: Iterable[str], agent: str, session: str) -> str:
    """The digest an approval of this call is bound to. Whatever could change what runs is in it."""
    where = (call.door, call.server, call.tool, call.schema, call.folder, call.workspace, agent, session)
    what: tuple[Any, ...] = (*where, call.command, call.target, *operations)
    world = _world(call)
    around = _spell_around(_call_members(*what) | world) if world else _spell_around_call(*what)
    return _digest(around, call.arguments)


def action_digest(call: Call) -> str:
    """The digest of what a call would do, leaving aside who makes it where: arguments, command and target.

    And what it would do this to: the real paths, and the state that its tool tells. Consent is for what was
    shown.
    """
    what, world = (call.command, call.target), _world(call)
    around = _spell_around(_action_members(*what) | world) if world else _spell_around_action(*what)
    return _digest(around, call.arguments)


def _call_members(
    door: str,
    server: str,
    tool: str,
    schema: str,
    folder: str,
    workspace: str,
    agent: str,
    session: str,
    command: str | None,
    target: str | None,
    *operations: str,
) -> dict[str, Any]:
    """Everything in the digest of a call but its arguments, and the world if that is in it."""
    return {
        "tag": TAG,
        "door": door,
        "server": server,
        "tool": tool,
        "schema": schema,
        "command": command,
        "target": target,
        "folder": folder,
        "workspace": workspace,
        "operations": list(operations),
        "agent": agent,
        "session": session,
    }


def _action_members(command: str | None, target: str | None) -> dict[str, Any]:
    return {"tag": TAG, "command": command, "target": target}


@lru_cache(maxsize=64, typed=True)  # typed: what only equals a text is not one
def _spell_around_call(*what: Any) -> tuple[bytes, bytes]:
    return _spell_around(_call_members(*what))


@lru_cache(maxsize=64, typed=True)
def _spell_around_action(*what: Any) -> tuple[bytes, bytes]:
    return _spell_around(_action_members(*what))


def _spell_around(members: dict[str, Any]) -> tuple[bytes, bytes]:
    """An object of texts and lists of texts with arguments in it, as spelled before and after these."""
    for name, member in members.items():
        kind = type(member)
        if kind is list:
            kind = str if all(type(one) is str for one in member) else list
        if kind is not str and member is not None:
            raise NotCanonical(f"{name} is a {kind.__name__}, not a text")
    try:
        spelled = _encode(members | {"arguments": _GAP})
    except UnicodeEncodeError as error:
        raise NotCanonical("text holds half a character (a lone surrogate)") from error
    before, _, after = spelled.partition(bytes(_GAP))
    return before, after


def _digest(around: tuple[bytes, bytes], arguments: bytes) -> str:
    """The digest of an object with these arguments in it, and what is around them."""
    before, after = around
    return sha256(before + _read(arguments).spelled + after)


def _world(call: Call) -> dict[str, Any]:
    """Return the facts read from the call, and the state that its tool reports."""
    world: dict[str, Any] = {} if call.state is None else {"state": call.state}
    if call.beside:
        world["beside"] = list(call.beside)
    if call.places:
        world["places"] = list(call.places)
    if call.leads_to:
        world["leads_to"] = call.leads_to
    if call.missing:
        world["missing"] = list(call.missing)
    return world


class _ReadArguments(msgspec.Struct, frozen=True, gc=False):
    """The arguments of a call: as values, as they are in a digest, and whether msgspec reads them right."""

    values: Any
    spelled: bytes
    plainly: bool


@lru_cache(maxsize=4)
def _read(text: bytes) -> _ReadArguments:
    """The arguments of a call, checked once for all who read them."""
    values, plainly = _decode_checked(text)
    return _ReadArguments(values, text if plainly else encode_canonical(values), plainly)


def read_arguments(text: bytes) -> Any:
    """The arguments of a call to look at: decoded once for all who do, so none of them may change these."""
    return _read(text).values


def take_arguments(text: bytes) -> Any:
    """The arguments of a call as values of their own, for whoever takes them."""
    return _decode(text) if _read(text).plainly else decode_canonical(text)


def _spell(value: object, depth: int) -> Iterable[str]:
    if depth > MAX_DEPTH:
        raise NotCanonical(f"nested deeper than {MAX_DEPTH} levels")
    if value is None or value is True or value is False:
        yield {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, str):
        yield _quote(value)
    elif isinstance(value, (int, float)):
        yield _number(value)
    elif isinstance(value, (list, tuple)):
        yield from _array(value, depth)
    elif isinstance(value, Mapping):
        yield from _object(value, depth)
    else:
        raise NotCanonical(f"a {type(value).__name__} has no form in JSON")


def _array(values: Iterable[object], depth: int) -> Iterable[str]:
    separator = "["
    for value in values:
        yield separator
        yield from _spell(value, depth + 1)
        separator = ","
    yield "]" if separator == "," else "[]"


def _object(members: Mapping[Any, object], depth: int) -> Iterable[str]:
    if not all(isinstance(key, str) for key in members):
        raise NotCanonical("an object's keys must be text")
    separator = "{"
    for key in sorted(members, key=lambda key: key.encode("utf-16-be", "surrogatepass")):
        yield separator
        yield _quote(key)
        yield ":"
        yield from _spell(members[key], depth + 1)
        separator = ","
    yield "}" if separator == "," else "{}"


_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in map(chr, range(0x20))} | {
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("\b"): "\\b",
    ord("\f"): "\\f",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}


def _quote(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _number(value: int | float) -> str:
    if isinstance(value, int):
        if abs(value) <= EXACT_INTEGERS:
            return str(int(value))
        if not _is_double(value):
            raise NotCanonical("a whole number is too large to be held exactly", hint="send it as text")
    elif not math.isfinite(value):
        raise NotCanonical(f"{value} is not a number JSON can hold")
    return _shortest(float(value))


def _is_double(value: int) -> bool:
    """Return whether a double holds this whole number exactly."""
    if value.bit_length() > _MOST_BITS:
        return False
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _shortest(value: float) -> str:
    """A double as ECMAScript writes it, which RFC 8785 asks for."""
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value!r}".partition("e")
    sign, digits = ("-", mantissa[1:]) if mantissa[0] == "-" else ("", mantissa)
    whole, _, fraction = digits.partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(exponent or 0)
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    return sign + _place(digits, point)


def _place(digits: str, point: int) -> str:
    """Digits with the decimal point after `point` of them."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    power = point - 1
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{'+' if power > 0 else '-'}{abs(power)}"


def _loads(text: bytes | str, decoder: json.JSONDecoder) -> Any:
    """Read what `json.loads` reads, with a decoder that is made once."""
    try:
        if not isinstance(text, str):
            text = text.decode(json.detect_encoding(text), "surrogatepass")
        elif text.startswith("\ufeff"):
            raise NotCanonical("this is not JSON: it begins with a byte order mark")
        return decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise NotCanonical(f"this is not JSON: {error}") from error


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise NotCanonical("a whole number is not spelled as the double it is")
    if abs(int(digits)) <= EXACT_INTEGERS:
        return int(digits)
    if _shortest(float(digits)) != digits:
        raise NotCanonical("a whole number is not spelled as the double it is")
    return int(float(digits))


def _fraction(spelled: str) -> int | float:
    """A number with a point or an exponent. Those from 10^21 on are whole, and all written like this."""
    value = float(spelled)
    if not math.isfinite(value):
        raise NotCanonical(f"{spelled} is not a number JSON can hold")
    return int(value) if value.is_integer() else value


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotCanonical("an object names the same key twice")
    return members


def _no_constant(name: str) -> Any:
    raise NotCanonical(f"{name} is not a number JSON can hold")


_STRICT = json.JSONDecoder(object_pairs_hook=_no_twins, parse_constant=_no_constant)
_CANONICAL = json.JSONDecoder(
    object_pairs_hook=_no_twins, parse_constant=_no_constant, parse_int=_whole, parse_float=_fraction
)
