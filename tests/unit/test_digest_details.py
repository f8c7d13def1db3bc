"""Details of the canonical spelling: where each of its limits lies."""

from __future__ import annotations

import hashlib
import json
import sys

import pytest

from sayso.core.digest import action_digest, call_digest, decode_canonical, encode_canonical, spell_exactly
from sayso.core.errors import NotCanonical
from sayso.gate.deciding.request import make_call


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


CALL = make_call(
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
    digest = call_digest(CALL, ("git.commit", "files.read"), "worker", "s1")
    assert digest == hashlib.sha256(text.encode()).hexdigest()


def test_what_a_call_would_do_has_a_digest_of_its_own_text() -> None:
    text = '{"arguments":{"all":true},"command":"git commit","tag":"sayso/1","target":"a.py"}'
    assert action_digest(CALL) == hashlib.sha256(text.encode()).hexdigest()
