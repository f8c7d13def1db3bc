"""Python values as plain ones (JSON) and back, for arguments and results.

- Arguments are written so that the same value always gives the same text (sets are sorted), and are read back
  as the type the function declares.
- Results are written as they are, or not at all: a value without a JSON form is never replaced by another.
- Pydantic is used where a program uses it, and never imported here.
"""

from __future__ import annotations

import base64
import json
import sys
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path, PurePath
from types import UnionType
from typing import Any

import msgspec

from sayso.core.digest import EXACT_INTEGERS, encode_canonical
from sayso.core.words import RESULT_TOO_LARGE
from sayso.doors.python import words
from sayso.doors.python.values.undeclared import describe_type, find_undeclared_key
from sayso.gate.decoding import work_out_type
from sayso.gate.ledger.outcome import KEPT_RESULT

BYTES = "base64"
"""The only key of what stands for bytes of a model that are not text: pydantic writes none but UTF-8."""
DEEPEST = 50
AGAIN = {"by_alias": True, "round_trip": True}
"""A model is written so that it can be validated again: by its aliases, without computed fields."""


class NotPlain(ValueError):
    """The value has no JSON form, or not one it could be read back from; `hint` says what to do about it."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.hint = hint


def is_plain_scalar(value: object) -> bool:
    """Return whether a value is a text or a number that is written, and read back, as it is."""
    kind = type(value)
    if kind is str:
        return value.isascii()  # type: ignore[attr-defined, no-any-return]
    return kind is bool or (kind is int and -EXACT_INTEGERS <= value <= EXACT_INTEGERS)  # type: ignore[operator]


class DeclaredType:
    """The declared type of one parameter: how its values are written down, and read back.

    Every parameter has one of its own. Nothing here is looked up by a type, because types that are equal are
    not the same: `Keep | Delete` equals `Delete | Keep`, but what fits both is read as the first of them.
    """

    def __init__(self, hint: Any) -> None:
        self.hint = hint

    @property
    def adapter(self) -> Any | None:
        """Pydantic's own reader of this type, where pydantic has to read it; None where msgspec does."""
        return self._adapter if "pydantic" in sys.modules and self._mentions_pydantic else None

    def write(self, value: object) -> Any:
        """The plain form of a value of this type; the same for equal values."""
        adapter = self.adapter
        return _write_argument(value) if adapter is None else _dump_by(adapter, value)

    def read(self, value: object) -> Any:
        """The value as this type. Raises ValueError or TypeError if it does not fit."""
        adapter = self.adapter
        if adapter is not None:
            return _read_by_pydantic(value, adapter)
        try:
            return self._convert(value, dec_hook=_read, str_keys=True)
        except msgspec.ValidationError:
            raise
        except TypeError:  # a union that msgspec cannot tell apart by itself
            if not self._arms:
                raise
            return _read_first(value, self._arms)

    def read_given(self, value: object) -> Any:
        """Read plain values that somebody gave: NotPlain if the declared type would drop a key of them."""
        dropped = find_undeclared_key(value, self._description) if self.adapter is None else None
        if dropped is not None:
            raise NotPlain(words.undeclared_key(dropped), words.ONLY_DECLARED)
        return self.read(value)

    @cached_property
    def _adapter(self) -> Any:
        return sys.modules["pydantic"].TypeAdapter(self.hint)

    @cached_property
    def _mentions_pydantic(self) -> bool:
        """Return whether it is a type of pydantic's own, or says something to pydantic."""
        return any(map(_of_pydantic, _parts(self.hint)))

    @cached_property
    def _convert(self) -> Callable[..., Any]:
        work_out_type(self.hint)
        return partial(msgspec.convert, type=self.hint)

    @cached_property
    def _arms(self) -> tuple[DeclaredType, ...]:
        """The types of a union, in its order; none of a type that is not a union."""
        union = typing.get_origin(self.hint) in (typing.Union, UnionType)
        return tuple(map(DeclaredType, typing.get_args(self.hint))) if union else ()

    @cached_property
    def _description(self) -> Any:
        return describe_type(self.hint)


def is_same_path(value: object, back: object, hint: Any) -> bool:
    """Return whether one is the text of the other, for a parameter that takes a text and a path alike."""
    arms = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, UnionType) else ()
    kinds = {isinstance(one, PurePath) for one in (value, back)}
    return str in arms and len(kinds) == 2 and str(value) == str(back)


def write_result(value: object) -> Any:
    """The plain form of a result. NotPlain if something in it has none."""
    return msgspec.json.decode(_result_text(value))


def keep_result(value: object) -> tuple[bytes | None, str | None]:
    """Return the JSON text of a result for the ledger, or the reason why there is none."""
    try:
        text = _result_text(value)
    except NotPlain as error:
        return None, str(error)
    return (text, None) if len(text) <= KEPT_RESULT else (None, RESULT_TOO_LARGE)


def _result_text(value: object) -> bytes:
    if value is None or is_plain_scalar(value):
        return msgspec.json.encode(value)
    plain = _write(value, _result_hook)
    try:
        json.dumps(plain, allow_nan=False)  # msgspec writes null instead of NaN
        whole, text = msgspec.json.encode(value, enc_hook=_result_hook), msgspec.json.encode(plain)
    except (TypeError, ValueError, OverflowError, RecursionError, NotImplementedError) as error:
        half = isinstance(error, UnicodeEncodeError) or "utf-8" in str(error)
        why = words.HALF_A_CHARACTER if half else words.NOT_A_NUMBER
        raise NotPlain(words.not_exactly_in_json(type(value).__name__, why)) from error
    if len(whole) != len(text):  # two keys of one spelling became one
        raise NotPlain(words.not_exactly_in_json(type(value).__name__, words.KEYS_ALIKE))
    return text


def _write_argument(value: object) -> Any:
    return _write(value, _argument_hook, order="deterministic")


def _write(value: object, hook: Callable[[Any], Any], order: Any = None) -> Any:
    try:
        return msgspec.to_builtins(value, builtin_types=(), str_keys=True, enc_hook=hook, order=order)
    except NotPlain:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError, NotImplementedError) as error:
        key = _find_odd_key(value)
        reason = words.no_json_form(type(value).__name__) if key is None else words.no_json_key(key)
        raise NotPlain(reason) from error


def _find_odd_key(value: object, depth: int = 0) -> str | None:
    """The type of a key that JSON has no form for; None if no dict in plain containers has one."""
    if depth > DEEPEST or not isinstance(value, (dict, list, tuple)):
        return None
    if isinstance(value, dict):
        odd = (key for key in value if key is None or isinstance(key, (tuple, frozenset, bool, complex)))
        found = next(odd, None)
        if found is not None:
            return type(found).__name__
    inside = value.values() if isinstance(value, dict) else value
    return next((key for one in inside if (key := _find_odd_key(one, depth + 1)) is not None), None)


def _argument_hook(value: Any) -> Any:
    if not _is_model(value):
        return _write_path(value)
    return _dump(lambda **how: value.model_dump(**how, **AGAIN), value)


def _result_hook(value: Any) -> Any:
    if not _is_model(value):
        return _write_path(value)
    with _own_code_of(value):
        try:
            return value.model_dump(mode="json")
        except UnicodeDecodeError:
            return _spell_out(value.model_dump(mode="python"))


def _is_model(value: Any) -> bool:
    return not isinstance(value, type) and callable(getattr(type(value), "model_dump", None))


def _dump(dump: Callable[..., Any], value: object) -> Any:
    with _own_code_of(value):
        try:
            return _sort_sets(dump(mode="json"), dump(mode="python"))
        except UnicodeDecodeError:  # bytes that are not text
            return _spell_out(dump(mode="python"))


def _dump_by(adapter: Any, value: object) -> Any:
    return _dump(lambda **how: adapter.dump_python(value, **how, **AGAIN), value)


@contextmanager
def _own_code_of(value: object) -> Iterator[None]:
    """Around code of a model, which may fail in any way: then there is no plain form."""
    try:
        yield
    except NotPlain:
        raise
    except Exception as error:
        raise NotPlain(words.model_failed(type(value).__name__, type(error).__name__)) from error


def _write_path(value: Any) -> str:
    if isinstance(value, PurePath):
        return str(value)
    raise NotPlain(words.no_json_form(type(value).__name__))


def _spell_out(live: Any) -> Any:
    """The plain form of a dumped model that holds bytes which are not text."""
    return sys.modules["pydantic_core"].to_jsonable_python(_mark_bytes(live))


def _mark_bytes(live: Any) -> Any:
    """A dumped model with bytes that are not text spelled out, and its sets in one order."""
    if isinstance(live, bytes):
        try:
            return live.decode()
        except UnicodeDecodeError:
            return {BYTES: base64.b64encode(live).decode()}
    if isinstance(live, dict):
        _check_keys(live)
        return {name: _mark_bytes(one) for name, one in live.items()}
    if isinstance(live, (list, tuple)):
        return [_mark_bytes(one) for one in live]
    if isinstance(live, (set, frozenset)):
        return sorted(_spell_out(list(live)), key=encode_canonical)
    return live


def _check_keys(live: dict[Any, Any]) -> None:
    """Refuse a dict that looks like spelled-out bytes, or whose keys are bytes that are not text."""
    if live.keys() == {BYTES}:
        raise NotPlain(words.only_key_is(BYTES))
    for key in live:
        try:
            key.decode() if isinstance(key, bytes) else None
        except UnicodeDecodeError:
            raise NotPlain(words.no_json_key("bytes")) from None


def _restore_bytes(plain: Any) -> Any:
    """Undo `_mark_bytes`. ValueError if the text was not written by it."""
    if isinstance(plain, dict):
        if plain.keys() == {BYTES}:
            return base64.b64decode(plain[BYTES], validate=True)
        return {name: _restore_bytes(one) for name, one in plain.items()}
    return [_restore_bytes(one) for one in plain] if isinstance(plain, list) else plain


def _validate(
    plain: Any, from_json: Callable[[bytes], Any], from_python: Callable[..., Any], dump: Callable[[Any], Any]
) -> Any:
    """A model from its plain form: as JSON, or, if bytes in it are spelled out, with these restored.

    Bytes can only be restored for Python, where a strict model takes no text for a date or a path. It is then
    read as one that is not strict, and counts only if it is written again exactly as it was given.
    """
    try:
        return from_json(msgspec.json.encode(plain))
    except ValueError:
        restored = None
        with suppress(ValueError, TypeError):
            restored = _restore_bytes(plain)
        if restored is None or restored == plain:
            raise
    with suppress(ValueError):
        return from_python(restored)
    read = from_python(restored, strict=False)
    if not _is_part(plain, dump(read)):
        raise NotPlain(words.not_written_so(type(read).__name__), words.WRITE_IT_SO)
    return read


def _is_part(plain: Any, whole: Any) -> bool:
    """Whether all that one plain form says is said by the other, too, which may have more fields."""
    if isinstance(plain, dict) and isinstance(whole, dict):
        return all(name in whole and _is_part(one, whole[name]) for name, one in plain.items())
    if isinstance(plain, list) and isinstance(whole, list) and len(plain) == len(whole):
        return all(_is_part(one, other) for one, other in zip(plain, whole, strict=True))
    return type(plain) is type(whole) and bool(plain == whole)


def _sort_sets(plain: Any, live: Any) -> Any:
    """A dumped model with the values of its sets in one order, whatever order they were put in."""
    if isinstance(live, (set, frozenset)) and isinstance(plain, list):
        return sorted(plain, key=encode_canonical)
    if isinstance(live, dict) and isinstance(plain, dict) and len(live) == len(plain):
        pairs = zip(plain.items(), live.values(), strict=True)
        return {name: _sort_sets(one, other) for (name, one), other in pairs}
    if isinstance(live, (list, tuple)) and isinstance(plain, list) and len(live) == len(plain):
        return [_sort_sets(one, other) for one, other in zip(plain, live, strict=True)]
    return plain


def _read(kind: type, value: object) -> object:
    """Encode what msgspec does not know: paths, and models inside other types."""
    if isinstance(kind, type) and isinstance(value, kind):
        return value
    if isinstance(kind, type) and issubclass(kind, PurePath) and isinstance(value, str):
        return Path(value) if kind in (Path, PurePath) else kind(value)
    from_json = getattr(kind, "model_validate_json", None)
    if from_json is None:
        raise NotImplementedError(f"{kind!r} cannot be read back")
    validate = kind.model_validate  # type: ignore[attr-defined]
    found: object = _validate(value, from_json, validate, _write_argument)
    return found


def _read_by_pydantic(value: object, adapter: Any) -> Any:
    """Validated from JSON, also where an object was given: what is approved is what is written down."""
    by_pydantic = _of_pydantic(type(value)) and not _is_model(
        value
    )  # msgspec writes its bytes in another way
    try:
        plain = _dump_by(adapter, value) if by_pydantic else _write_argument(value)
    except NotPlain:  # a type that only pydantic can write
        plain = _dump_by(adapter, value)
    read = _validate(
        plain, adapter.validate_json, adapter.validate_python, lambda one: _dump_by(adapter, one)
    )
    if plain != value and read != value:
        raise NotPlain(words.not_the_same_again(type(value).__name__), words.ONLY_FIELDS)
    return read


def _read_first(value: object, arms: tuple[DeclaredType, ...]) -> Any:
    """The value as the first of these types that takes it; a text as a path only if it is written as one."""
    kinds = [arm.hint for arm in arms]
    for arm in arms:
        try:
            read = arm.read(value)
        except (TypeError, ValueError, NotImplementedError):
            continue
        rewritten = isinstance(value, str) and isinstance(read, PurePath) and str(read) != value
        if not (str in kinds and rewritten):
            return read
    names = ", ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
    raise NotPlain(words.none_of(type(value).__name__, names), words.ONE_OF_THEM)


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    yield from getattr(hint, "__metadata__", ())
    for part in typing.get_args(hint):
        yield from _parts(part)


def _of_pydantic(part: Any) -> bool:
    if isinstance(part, type):
        own = hasattr(part, "__pydantic_validator__") or hasattr(part, "__get_pydantic_core_schema__")
        return own or part.__module__.partition(".")[0] == "pydantic"
    return type(part).__module__.partition(".")[0] in ("pydantic", "pydantic_core", "annotated_types")
