"""Canonical JSON as RFC 8785 defines it, what has no canonical form, and what a call's digest binds."""

from __future__ import annotations

import enum
import hashlib
import json
import math
import struct
import sys
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.digest import (
    MAX_DEPTH,
    action_digest,
    call_digest,
    decode_canonical,
    encode_canonical,
    parse_json,
    read_arguments,
    sha256,
    spell_exactly,
    take_arguments,
)
from sayso.core.errors import NotCanonical
from sayso.core.model import Call
from sayso.gate.deciding.request import make_call
from tests.support.rows import each_row

# RFC 8785, appendix B: the bits of a double and the text it is written as.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}


def double(bits: str) -> float:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert isinstance(value, float)
    return value


@each_row(("bits", "text"), NUMBERS.items())
def test_a_double_is_written_as_the_rfc_lists_it(bits: str, text: str) -> None:
    assert encode_canonical(double(bits)) == text.encode()


@pytest.mark.parametrize("bits", ["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])
def test_a_double_that_is_no_number_is_refused_as_the_rfc_says(bits: str) -> None:
    with pytest.raises(NotCanonical):
        encode_canonical(double(bits))


def test_keys_are_sorted_by_their_utf_16_units_as_in_the_rfcs_example() -> None:
    members = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    written = json.loads(
        encode_canonical(members), object_pairs_hook=lambda pairs: [value for _, value in pairs]
    )
    assert written == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


def test_the_rfcs_sample_object_comes_out_as_printed_there() -> None:
    sample = r"""{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"""
    assert encode_canonical(parse_json(sample)).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


@each_row(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (-1, "-1"),
        (2**53, "9007199254740992"),
        (1e20, "100000000000000000000"),
        (100.0, "100"),
        (120.5, "120.5"),
        (0.1, "0.1"),
        (-1e-7, "-1e-7"),
        (1.5e300, "1.5e+300"),
        ([], "[]"),
        ((), "[]"),
        ({}, "{}"),
        ([1, [2, {}]], "[1,[2,{}]]"),
        ({"b": 1, "a": {"d": 2, "c": 3}}, '{"a":{"c":3,"d":2},"b":1}'),
        ('\x00\x1f\x7f\b\t\n\f\r"\\/', '"\\u0000\\u001f\x7f\\b\\t\\n\\f\\r\\"\\\\/"'),
        ("\u2028é😀", '"\u2028é😀"'),
    ],
)
def test_a_value_has_one_spelling(value: object, text: str) -> None:
    assert encode_canonical(value).decode() == text


class Colour(enum.Enum):
    RED = "red"


class Text(str):
    """A string of another type is still that string."""


@each_row(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        2**53 + 1,
        -(2**53) - 1,
        10**400,
        "\ud800",
        "\udc00\ud800",
        {"\ud800": 1},
        {1: "a"},
        {None: "a"},
        {"a": {b"b": 1}},
        b"bytes",
        {1, 2},
        Decimal(1),
        1j,
        object(),
        Colour.RED,
        range(3),
        (number for number in (1, 2)),
    ],
)
def test_what_has_no_one_spelling_is_refused(value: object) -> None:
    with pytest.raises(NotCanonical):
        encode_canonical(value)


def test_a_subclass_of_text_is_spelled_as_its_text() -> None:
    assert encode_canonical(Text("a")) == b'"a"'


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_is_taken_to_a_limit_and_refused_beyond() -> None:
    assert encode_canonical(nested(MAX_DEPTH)) == b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)
    with pytest.raises(NotCanonical):
        encode_canonical(nested(MAX_DEPTH + 1))


def test_a_value_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(NotCanonical):
        encode_canonical(endless)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": 1, "\\u0061": 2}',
        '{"b": {"a": 1, "a": 1}}',
        "NaN",
        "[Infinity]",
        '{"a": -Infinity}',
        "",
        "{",
        "{'a': 1}",
        "1 2",
        "[1,]",
        b"\xff",
        "[" * 100_000,
    ],
)
def test_text_that_is_not_plain_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(NotCanonical):
        parse_json(text)


# Whole numbers up to 2**53: beyond them the text of a double need not be a number that a double holds.
WHOLE = st.integers(-(2**53), 2**53)


SCALARS = (
    st.none()
    | st.booleans()
    | WHOLE
    | st.floats(-(2.0**53), 2.0**53)
    | st.text(st.characters(exclude_categories=["Cs"]))
)


VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_reading_canonical_text_and_writing_it_again_gives_the_same_text(value: Any) -> None:
    once = encode_canonical(value)
    assert parse_json(once) == value
    assert encode_canonical(parse_json(once)) == once


ASCII = st.text(st.characters(max_codepoint=127), max_size=5)


PLAIN = st.recursive(
    SCALARS | st.floats(0.001, 1e15) | ASCII,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ASCII, inner),
    max_leaves=20,
)


@given(VALUES | PLAIN)
def test_the_quick_way_and_the_full_way_spell_alike(value: Any) -> None:
    """Inside a mapping that is no dict everything takes the full way."""
    assert encode_canonical(MappingProxyType({"v": value})) == b'{"v":' + encode_canonical(value) + b"}"


@each_row("character", [chr(code) for code in range(0x100)])
def test_every_character_is_spelled_alike_in_both_ways(character: str) -> None:
    members = {character: character}
    assert encode_canonical(members) == encode_canonical(MappingProxyType(members))
    assert encode_canonical({"v": character}) == encode_canonical(MappingProxyType({"v": character}))


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), SCALARS))
def test_the_order_in_which_members_were_written_does_not_matter(members: dict[str, Any]) -> None:
    assert encode_canonical(members) == encode_canonical(dict(reversed(members.items())))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_double_is_read_back_as_itself(value: float) -> None:
    assert float(encode_canonical(value)) == value


@given(st.integers())
def test_a_whole_number_is_written_as_the_double_it_is_or_refused(value: int) -> None:
    try:
        written = encode_canonical(value)
    except NotCanonical:
        assert abs(value) > 2**53
    else:
        assert written == encode_canonical(float(value))


@pytest.mark.parametrize("value", [2**68, -(2**68), 2**53 + 2, 2**60, 10**20, 10**21, 2**1000])
def test_a_whole_number_a_double_holds_is_written_as_that_double(value: int) -> None:
    """One value, one spelling: whether it came as an integer or as a float must not change a digest."""
    assert encode_canonical(value) == encode_canonical(float(value))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_was_accepted_once_is_accepted_when_read_back(value: float) -> None:
    """Arguments are digested, kept as bytes and decoded again; no number may get stuck on the way."""
    once = encode_canonical({"n": value})
    assert decode_canonical(once) == {"n": value}
    assert encode_canonical(decode_canonical(once)) == once


# What a digest binds

CALL = Call("shell", b'{"a":1}', "/w/src", "/w", "git push", "a.py", "python", "mail", "schema")


def digest(
    call: Call = CALL, operations: tuple[str, ...] = ("git.push",), agent: str = "a", session: str = "s"
) -> str:
    return call_digest(call, operations, agent, session)


def test_a_digest_is_the_sha_256_of_bytes_and_the_same_for_the_same_call() -> None:
    assert sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest() == digest(msgspec.structs.replace(CALL))
    assert len(digest()) == 64


OTHERS: Mapping[str, Any] = {
    "tool": "Shell",
    "arguments": b'{"a":2}',
    "folder": "/w",
    "workspace": "/v",
    "command": "git push --force",
    "target": "b.py",
    "door": "mcp",
    "server": "other",
    "schema": "changed",
    "state": "dirty",
    "beside": ("env",),
    "places": ("/elsewhere/a.py",),
    "leads_to": "/elsewhere",
    "missing": ("/work",),
}


WORDS = ("title", "targets")


"""How a call is told to people, and what is made from arguments, folder and links, which have their place."""


def test_how_a_call_is_told_changes_no_digest() -> None:
    assert digest(msgspec.structs.replace(CALL, title="Pay {amount}")) == digest()


@pytest.mark.parametrize("field", [name for name in Call.__struct_fields__ if name not in WORDS])
def test_a_call_that_differs_in_anything_has_another_digest(field: str) -> None:
    assert digest(msgspec.structs.replace(CALL, **{field: OTHERS[field]})) != digest()


def test_other_operations_another_agent_or_another_session_give_another_digest() -> None:
    others = [
        digest(operations=("git.push", "git.commit")),
        digest(operations=("git.commit", "git.push")),
        digest(operations=("git.push_force",)),
        digest(operations=()),
        digest(agent="b"),
        digest(session="t"),
        digest(agent="s", session="a"),
    ]
    assert len({digest(), *others}) == len(others) + 1


def test_text_that_moves_from_one_field_to_the_next_changes_the_digest() -> None:
    one = digest(msgspec.structs.replace(CALL, tool="ab", server="c"))
    two = digest(msgspec.structs.replace(CALL, tool="a", server="bc"))
    assert one != two


def test_no_command_and_an_empty_command_are_different_calls() -> None:
    assert digest(msgspec.structs.replace(CALL, command=None)) != digest(
        msgspec.structs.replace(CALL, command="")
    )


def test_arguments_that_differ_only_in_how_they_are_written_have_one_digest() -> None:
    spaced = msgspec.structs.replace(CALL, arguments=b'{ "a": 1.0 }')
    assert digest(spaced) == digest()


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_sixty_four_levels_are_taken_and_one_more_is_refused(opening: str, closing: str) -> None:
    text = opening * 64 + "null" + closing * 64
    assert encode_canonical(json.loads(text)) == text.encode()
    with pytest.raises(NotCanonical):
        encode_canonical(json.loads(f"{opening}{text}{closing}"))


@pytest.mark.parametrize(
    "value",
    [2**53, 2**53 + 2, 10**16 - 2, 10**17, 2**60, 2**63, 2**64, 10**20, 10**21, 10**22, 2**80, 2**1000],
)
def test_a_whole_number_that_a_double_holds_is_read_back_as_that_whole_number(value: int) -> None:
    for one in (value, -value):
        read = decode_canonical(encode_canonical(one))
        assert type(read) is int
        assert read == one
        assert encode_canonical(read) == encode_canonical(one)


def test_a_whole_number_is_shown_with_all_its_digits_and_not_as_the_digest_spells_it() -> None:
    assert encode_canonical({"id": 2**60}) == b'{"id":1152921504606847000}'
    assert (
        spell_exactly(encode_canonical({"id": 2**60, "rate": 0.5})) == '{"id":1152921504606846976,"rate":0.5}'
    )
    assert spell_exactly(b"{\xff") == "{\\xff"


@pytest.mark.parametrize("text", [b"1e999", b"-1e+400"])
def test_no_number_is_read_as_endless(text: bytes) -> None:
    with pytest.raises(NotCanonical):
        decode_canonical(text)


def test_a_whole_number_is_taken_up_to_the_largest_double_and_refused_beyond() -> None:
    largest = int(sys.float_info.max)
    assert encode_canonical(2**1023) == encode_canonical(2.0**1023)
    assert decode_canonical(encode_canonical(sys.float_info.max)) == largest
    for value in (largest + 1, 2**1024 - 1, 2**1024, 10**400):
        for one in (value, -value):
            with pytest.raises(NotCanonical):
                encode_canonical(one)


@pytest.mark.parametrize("text", [b"100000000000000000000", b"-100000000000000000000"])
def test_a_double_is_written_without_an_exponent_up_to_twenty_one_digits_and_read_back(text: bytes) -> None:
    assert decode_canonical(text) == float(text)
    assert encode_canonical(decode_canonical(text)) == text
    with pytest.raises(NotCanonical):
        decode_canonical(text + b"0")


COMMIT = make_call(
    "commit",
    {"all": True},
    door="mcp",
    server="forge",
    schema="schema-1",
    command="git commit",
    target="a.py",
    folder="/w/src",
    workspace="/w",
)


def test_an_approval_is_bound_to_the_digest_of_exactly_this_text() -> None:
    text = (
        '{"agent":"worker","arguments":{"all":true},"command":"git commit","door":"mcp","folder":"/w/src",'
        '"operations":["git.commit","files.read"],"schema":"schema-1","server":"forge","session":"s1",'
        '"tag":"sayso/1","target":"a.py","tool":"commit","workspace":"/w"}'
    )
    digest = call_digest(COMMIT, ("git.commit", "files.read"), "worker", "s1")
    assert digest == hashlib.sha256(text.encode()).hexdigest()


def test_what_a_call_would_do_has_a_digest_of_its_own_text() -> None:
    text = '{"arguments":{"all":true},"command":"git commit","tag":"sayso/1","target":"a.py"}'
    assert action_digest(COMMIT) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "change", [{"state": 5}, {"places": (b"x",)}, {"missing": ("a", 1)}, {"tool": math.nan}]
)
def test_what_is_neither_a_text_nor_arguments_is_refused_in_a_digest(change: dict[str, Any]) -> None:
    with pytest.raises(NotCanonical):
        digest(msgspec.structs.replace(CALL, **change))


@given(st.dictionaries(st.text(), st.integers(-9, 9) | st.text() | st.lists(st.text()) | st.floats(-9, 9)))
def test_a_digest_is_that_of_the_canonical_object(arguments: dict[str, Any]) -> None:
    call = make_call("shell", arguments, folder="/w", command="é \x00 \\", state="ü", places=("/a", "/b"))
    said = {
        "tag": "sayso/1",
        "arguments": decode_canonical(call.arguments),
        "command": call.command,
        "target": None,
        "state": "ü",
        "places": ["/a", "/b"],
    }
    assert action_digest(call) == hashlib.sha256(encode_canonical(said)).hexdigest()


@given(
    st.dictionaries(st.text(), st.integers(-9, 9) | st.text() | st.floats(-9, 9)),
    st.sampled_from([None, "git push", "é \x00 \\"]),
    st.sampled_from([{}, {"state": "clean"}, {"leads_to": "/x", "missing": ("/a",)}, {"beside": ("env",)}]),
)
def test_a_digest_is_that_of_the_whole_object_whatever_is_known_of_it(
    arguments: dict[str, Any], command: str | None, world: dict[str, Any]
) -> None:
    call = make_call("shell", arguments, folder="/w", command=command, **world)
    said = {
        "tag": "sayso/1",
        "door": "python",
        "server": "",
        "tool": "shell",
        "schema": "",
        "arguments": decode_canonical(call.arguments),
        "command": command,
        "target": None,
        "folder": "/w",
        "workspace": "",
        "operations": ["git.push", "net.post"],
        "agent": "a",
        "session": "s",
        **world,
    }
    assert digest(call, ("git.push", "net.post")) == hashlib.sha256(encode_canonical(said)).hexdigest()


class Posing(str):
    """A text that says it is another."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("git.push")


def test_what_only_equals_a_text_has_no_digest() -> None:
    call = msgspec.structs.replace(CALL, tool="git.push", beside=(), places=(), leads_to="", missing=())
    assert digest(call)
    with pytest.raises(NotCanonical):
        digest(msgspec.structs.replace(call, tool=Posing("rm")))
    with pytest.raises(NotCanonical):
        digest(call, (Posing("files.delete"),))


@pytest.mark.parametrize("text", [b'{"a":[1]}', b'{"a":[1e21]}', b'{ "a": [1] }', b'{"\xc3\xa9":[1]}'])
def test_arguments_are_decoded_anew_for_everyone_who_takes_them(text: bytes) -> None:
    taken = take_arguments(text)
    assert taken == decode_canonical(text) == read_arguments(text)
    next(iter(taken.values())).append(2)
    assert take_arguments(text) == decode_canonical(text) == read_arguments(text)
