"""Details of the canonical spelling: where each of its limits lies."""

from __future__ import annotations

import hashlib
import json

import pytest

from sayso.core.digest import call_digest, canonical, decode, what_digest
from sayso.core.errors import NotCanonical
from sayso.gate.request import make_call


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_sixty_four_levels_are_taken_and_one_more_is_refused(opening: str, closing: str) -> None:
    text = opening * 64 + "null" + closing * 64
    assert canonical(json.loads(text)) == text.encode()
    with pytest.raises(NotCanonical):
        canonical(json.loads(f"{opening}{text}{closing}"))


@pytest.mark.parametrize(("text", "kind"), [(b"9007199254740992", int), (b"9007199254740994", float)])
def test_a_whole_number_is_read_as_one_up_to_two_to_the_53rd_and_as_a_double_beyond(
    text: bytes, kind: type
) -> None:
    for spelled in (text, b"-" + text):
        value = decode(spelled)
        assert type(value) is kind
        assert canonical(value) == spelled


def test_a_whole_number_of_more_than_1023_bits_is_refused_whether_a_double_could_hold_it_or_not() -> None:
    assert canonical(2**1022) == canonical(2.0**1022)
    for value in (2**1023, 2**1024 - 1, 2**1024):
        with pytest.raises(NotCanonical):
            canonical(value)


@pytest.mark.parametrize("text", [b"100000000000000000000", b"-100000000000000000000"])
def test_a_double_is_written_without_an_exponent_up_to_twenty_one_digits_and_read_back(text: bytes) -> None:
    assert decode(text) == float(text)
    assert canonical(decode(text)) == text
    with pytest.raises(NotCanonical):
        decode(text + b"0")


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
    assert what_digest(CALL) == hashlib.sha256(text.encode()).hexdigest()
