"""Audit entries: one spelling, one chain, and lines in which nothing from outside can pass for ours."""

from __future__ import annotations

import hashlib
import json
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from sayso.core.audit.entry import (
    AuditBody,
    AuditEntry,
    AuditError,
    chain_hash,
    encode_body,
    format_timestamp,
    genesis,
    leaf_content,
    read_body,
    read_entry,
    split_leaf,
)
from sayso.core.audit.events import EVENTS
from sayso.core.audit.merkle import leaf_hash
from sayso.core.audit.text import format_json_line, format_pruned_line, format_text_line
from sayso.core.digest import decode_canonical, encode_canonical
from sayso.core.errors import NotCanonical
from sayso.core.model import Piece, Risk, Verdict
from tests.support.audit_trails import append_entry, encode_entry, entry, parse_json_line
from tests.support.forging import forged_event
from tests.support.rows import each_row

AT = 1_794_729_600.0  # 2026-11-15T08:00:00Z


def granted(**details: Any) -> AuditEntry:
    return AuditEntry(1, AT, "GRANTED", "s-1", "claude", ("git.push",), details)


def test_a_body_is_canonical_json_with_the_time_as_utc_text() -> None:
    body = encode_entry(
        AuditEntry(1, AT + 0.25, "GRANTED", "s", "a", ("git.push",), {"uses": 1}, {"to": "ab" * 32})
    )
    assert body == encode_canonical(
        {
            "agent": "a",
            "at": "2026-11-15T08:00:00.250000Z",
            "commitments": {"to": "ab" * 32},
            "details": {"uses": 1},
            "event": "GRANTED",
            "operations": ["git.push"],
            "seq": 1,
            "session": "s",
            "stream": "main",
        }
    )


def test_the_hash_is_sha256_of_tag_hash_before_and_body_and_so_the_leaf_of_the_tree() -> None:
    first = genesis()
    body, head = append_entry(first, granted(uses=1))
    assert head.hash == hashlib.sha256(b"\x00sayso/audit/1\n" + first.hash + body).digest()
    assert head.hash == leaf_hash(leaf_content(first.hash, body)) == chain_hash(first.hash, body)
    assert split_leaf(leaf_content(first.hash, body)) == (first.hash, body)


def test_two_streams_begin_differently_so_that_an_entry_cannot_pass_between_them() -> None:
    assert genesis("main").hash != genesis("worker-1").hash


def test_an_entry_is_read_back_as_it_was() -> None:
    written = AuditEntry(
        7, AT + 0.125, "ASKED", "s", "a", ("x.y", "x.z"), {"n": [1, None, "é"]}, {"c": "0" * 64}
    )
    assert read_entry(encode_entry(written)) == written


@each_row(
    "changed",
    [
        {"seq": 0},
        {"seq": True},
        {"seq": 2**53 + 1},
        {"at": float("nan")},
        {"at": -1.0},
        {"at": 1e12},
        {"at": "2026-11-15"},
        {"event": "granted"},
        {"event": "GRANTED | BLOCKED"},
        {"event": "GRANTED\n"},
        {"event": ""},
        {"event": "A" * 65},
        {"event": None},
        {"stream": "Main"},
        {"stream": ""},
        {"session": None},
        {"agent": 3},
        {"operations": "git.push"},
        {"operations": (1,)},
        {"details": [1]},
        {"commitments": None},
        {"commitments": ()},
        {"commitments": {"c": "short"}},
        {"commitments": {"c": 1}},
        {"commitments": {"ü": "0" * 64}},
        {"commitments": [("c", "0" * 64)]},
    ],
)
def test_an_entry_that_does_not_say_one_clear_thing_is_refused(changed: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"seq": 1, "at": AT, "event": "GRANTED"} | changed
    with pytest.raises(AuditError):
        encode_entry(AuditEntry(**fields))


@pytest.mark.parametrize("value", [float("inf"), 2**60 + 1, "\ud800", {1: 2}, b"bytes", {"\udfff": 1}])
def test_details_without_a_canonical_form_are_refused(value: object) -> None:
    with pytest.raises(NotCanonical):
        encode_entry(granted(value=value))


def test_events_of_the_seeds_keep_their_names() -> None:
    for event in ("GRANTED", "USER_INITIATED_COVERED", "WORKFLOW_AUTO_BYPASS_LOW_WEIGHT"):
        assert read_body(encode_entry(AuditEntry(1, AT, event))).event == event


def test_details_nested_too_deeply_to_be_read_back_are_refused() -> None:
    for wrap in (lambda inner: {"in": inner}, lambda inner: [inner]):
        value: object = "core"
        for depth in range(1, 100):
            value = wrap(value)
            if depth < 60:
                assert read_entry(encode_entry(granted(value=value))).details == {"value": value}
        with pytest.raises(NotCanonical):
            encode_entry(granted(value=value))


@pytest.mark.parametrize("event", ["GRANTED", "RUN", "WORKFLOW_AUTO_BYPASS_LOW_WEIGHT", "A1_B2", "A" * 64])
def test_an_event_is_upper_case_words_joined_by_underscores(event: str) -> None:
    assert read_body(encode_entry(AuditEntry(1, AT, event))).event == event


def test_details_that_cannot_be_changed_in_place_are_spelled_like_others() -> None:
    plain = encode_entry(AuditEntry(1, AT, "RUN", details={"b": 1, "a": 2}, commitments={"c": "1" * 64}))
    proxied = AuditEntry(
        1,
        AT,
        "RUN",
        details=MappingProxyType({"b": 1, "a": 2}),
        commitments=MappingProxyType({"c": "1" * 64}),
    )
    assert encode_entry(proxied) == plain


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), values, max_size=5))
def test_the_quick_spelling_is_always_the_canonical_one(details: dict[str, Any]) -> None:
    try:
        expected = encode_canonical(details)
    except NotCanonical:
        with pytest.raises(NotCanonical):
            encode_entry(granted(details=details))
        return
    body = encode_entry(AuditEntry(1, AT, "RUN", details=details))
    assert b'"details":' + expected + b',"event"' in body
    assert encode_canonical(decode_canonical(body)) == body


def struct_body(details: msgspec.Struct) -> AuditBody:
    at = format_timestamp(AT)
    return AuditBody("", at, {}, details, "RUN", (), 1, "", "main")  # type: ignore[arg-type]


@given(st.dictionaries(st.sampled_from(("a", "b", "z", "digest")), values | st.just(UNSET), max_size=4))
def test_a_struct_of_details_is_spelled_as_its_fields_are_and_refused_where_they_are(
    details: dict[str, Any],
) -> None:
    event = forged_event("RUN", **details)
    said = {name: value for name, value in details.items() if value is not UNSET}
    try:
        expected = encode_entry(AuditEntry(1, AT, "RUN", details=said))
    except NotCanonical:
        with pytest.raises(NotCanonical):
            encode_body(struct_body(event))
        return
    assert encode_body(struct_body(event)) == expected


@pytest.mark.parametrize("value", [Risk.HIGH, Verdict.ASK, Piece(None, "x"), {"in": Piece("a", "y")}, (1,)])
def test_a_struct_of_details_may_hold_what_is_no_plain_value_itself(value: object) -> None:
    said = msgspec.to_builtins({"value": value})
    assert encode_body(struct_body(forged_event("RUN", value=value))) == encode_entry(
        AuditEntry(1, AT, "RUN", details=said)
    )


def test_no_event_has_a_field_whose_name_sorts_otherwise_in_json() -> None:
    for kind in EVENTS.values():
        assert all(name.isascii() for name in kind.__struct_encode_fields__)


@pytest.mark.parametrize(
    "value",
    [
        0.0,
        -0.0,
        1.0,
        -0.5,
        0.9,
        1e-5,
        1.5e-6,
        1.5e-7,
        5e-324,
        1e15,
        1e16,
        1e21,
        1.5e300,
        2**53,
        2**60,
        -(2**60),
    ],
)
def test_numbers_are_spelled_as_everywhere(value: float) -> None:
    assert b'"details":{"n":' + encode_canonical(value) + b"}" in encode_entry(granted(n=value))


def test_keys_are_sorted_as_everywhere() -> None:
    details = {"\U00010000": 1, "\uffff": 2, "z": 3, "é": {"\U0001f600": 1, "\ufffd": 2}}
    assert encode_canonical(details) in encode_entry(granted(**details))
    assert sorted(details) != list(decode_canonical(encode_canonical(details)))


@given(st.floats(0, 2**33))
def test_times_are_written_so_that_text_sorts_as_time_does(at: float) -> None:
    assert format_timestamp(at) <= format_timestamp(at + 1e-3)
    assert abs(read_entry(encode_entry(AuditEntry(1, at, "RUN"))).at - at) < 1e-6


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        encode_entry(granted()).replace(b'"seq":1', b'"seq":1.0'),
        encode_entry(granted()).replace(b'{"agent"', b'{ "agent"'),
        encode_entry(granted()).replace(b'"seq":1', b'"seq":"1"'),
        encode_entry(granted()).replace(b"2026-11-15T", b"2026-13-15T"),
        encode_entry(granted()).replace(b"2026-11-15T", b"2026-11-15 "),
        encode_entry(granted()).replace(b'"stream"', b'"streem"'),
        encode_entry(granted())[:-1] + b',"zone":"x"}',
    ],
)
def test_bytes_that_no_entry_is_spelled_with_are_not_read(body: bytes) -> None:
    with pytest.raises(AuditError):
        read_entry(body)


# --- lines ---


def test_a_line_is_time_event_operation_and_details() -> None:
    body = encode_entry(
        AuditEntry(1, AT + 0.9, "EXECUTED", "s-1", "claude", ("git.push",), {"via": "individual"})
    )
    assert format_text_line(body) == (
        "2026-11-15T08:00:00Z | EXECUTED | git.push | agent=claude session=s-1 via=individual"
    )
    assert (
        format_text_line(encode_entry(AuditEntry(1, AT, "POLICY"))) == "2026-11-15T08:00:00Z | POLICY | - | -"
    )
    assert format_pruned_line(3, "main") == "- | - | - | the body of entry 3 of main was pruned"


def test_a_detail_named_like_a_field_of_the_entry_does_not_pass_for_it() -> None:
    line = format_text_line(
        encode_entry(AuditEntry(1, AT, "RUN", "s-1", "claude", (), {"agent": "operator"}))
    )
    assert line.endswith("| agent=claude session=s-1 details.agent=operator")


@pytest.mark.parametrize(
    "text",
    [
        "x\n2026-11-15T08:00:00Z | GRANTED | git.push | by=operator",
        "x | GRANTED",
        "x agent=operator",
        'x" agent="operator',
        "x\u2028y\u2029z\u0085",
        "\u202egnitirw\u202c",
        "\x1b[2J\x1b[1;1H",
        "zero\u200bwidth",
        "\U000e0041tag",
        "",
    ],
)
def test_a_value_cannot_pass_for_another_field_or_line_or_hide(text: str) -> None:
    line = format_text_line(
        encode_entry(AuditEntry(1, AT, "BLOCKED", text, text, (text,), {"why": text, text or "n": 1}))
    )
    assert len(line.splitlines()) == 1
    assert line.count("|") == 3
    assert line.isprintable()
    assert json.loads(line.split(" | ")[2]) == text


def test_a_long_value_is_folded_and_says_so() -> None:
    line = format_text_line(encode_entry(granted(text="x " * 5_000)))
    assert len(line) < 3_000
    assert line.endswith("… (10000 characters in all)")


def test_an_exported_line_holds_the_very_bytes_and_can_be_read_back() -> None:
    body, head = append_entry(genesis(), entry(1, rule="safe", text="a\nb\u2028"))
    row = (1, body, genesis().hash, head.hash)
    line = format_json_line(row, "main")
    assert body in line
    assert b"\n" not in line
    assert encode_canonical(json.loads(line)) == line
    assert parse_json_line(line) == ("main", row)
    pruned = (1, None, genesis().hash, head.hash)
    assert parse_json_line(format_json_line(pruned, "main")) == ("main", pruned)


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[1]", b'{"entry":1,"hash":"zz","prev":"","seq":1,"stream":"m"}']
)
def test_a_line_that_was_not_exported_is_refused(line: bytes) -> None:
    with pytest.raises(AuditError):
        parse_json_line(line)
