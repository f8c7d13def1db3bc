"""Who a message goes to decides which operation it is."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.core.model import Operation, Verdict
from sayso.core.policy import Policy
from sayso.policy import load_text
from sayso.policy.probe import probe
from sayso.reading.recipients import normalise_recipient
from tests.unit.resolving import read_operations

CONTACTS = """
vip_contacts:
  {darcy: "+1 555 010 0001", boss: Boss@Example.com, mari: mari@bücher.example, gone: "+1XXXXXXXXXX"}
family_contacts: {sister: "+1 (555) 010-0002"}
tools: [{tool: send, resolve: recipient, domain: chat, from: "args.to, args.cc", context: args.thread}]
"""
DARCY, SISTER, BOSS, STRANGER = "+15550100001", "+15550100002", "boss@example.com", "+15550109999"


def policy(autonomous: str = "", asked: str = "", blocked: str = "") -> Policy:
    lists = f"autonomous: [{autonomous}], requires_approval: [{asked}], blocked: [{blocked}]"
    return load_text(f"{CONTACTS}domains: {{chat: {{{lists}}}}}")


def sent(to: Any, where: Policy, **more: Any) -> tuple[Operation, ...]:
    return read_operations("send", {"to": to, **more}, where, folder="/w", workspace="/w", home="/home/ana")


def names(to: Any, where: Policy, **more: Any) -> list[str]:
    return [operation.name.partition(".")[2] for operation in sent(to, where, **more)]


@pytest.mark.parametrize(
    ("to", "listed", "action", "barred"),
    [
        (DARCY, "send_vip, send", "send_vip", False),
        (DARCY, "send", "send", False),
        (DARCY, "", "send_vip", False),
        (SISTER, "send_family, send", "send_family", False),
        (SISTER, "send", "send", False),
        (SISTER, "", "send_family", False),
        (STRANGER, "send, send_unknown, send_to_unknown", "send_unknown", False),
        (STRANGER, "send, send_to_unknown, send_to_unknown_channel", "send_to_unknown", False),
        (STRANGER, "send, send_to_unknown_channel", "send_to_unknown_channel", False),
        (STRANGER, "send", "send_unknown", True),
        ("somebody", "send", "send_unknown", True),
        ("", "send", "send_unknown", True),
        (None, "send", "send_unknown", True),
        ([], "send", "send_unknown", True),
        ({"number": DARCY}, "send", "send_unknown", True),
        (15550100001, "send", "send_unknown", True),
    ],
)
def test_the_first_action_that_the_domain_lists_is_used(
    to: Any, listed: str, action: str, barred: bool
) -> None:
    (operation,) = sent(to, policy(asked=listed))
    assert operation.name == f"chat.{action}"
    assert (operation.barred is not None) == barred


@pytest.mark.parametrize("listed", ["send_group_without_context", ""])
def test_several_recipients_without_context_are_an_operation_of_their_own(listed: str) -> None:
    operations = sent([DARCY, SISTER], policy(asked="send_vip, send_family", blocked=listed))
    assert [operation.name.partition(".")[2] for operation in operations] == [
        "send_vip",
        "send_family",
        "send_group_without_context",
    ]
    assert (operations[-1].barred is None) == bool(listed)


def test_several_recipients_with_context_are_one_operation_each() -> None:
    where = policy(asked="send_vip, send_family", blocked="send_unknown")
    assert names([DARCY, SISTER, STRANGER], where, thread="42") == ["send_vip", "send_family", "send_unknown"]


@pytest.mark.parametrize("empty", ["", "  ", None, [], {}])
def test_an_empty_context_is_none(empty: Any) -> None:
    assert "send_group_without_context" in names([DARCY, SISTER], policy(asked="send_vip"), thread=empty)


def test_the_same_recipient_twice_is_no_group() -> None:
    assert names([DARCY, "+1 555-010-0001"], policy(asked="send_vip")) == ["send_vip"]


@pytest.mark.parametrize(
    "to", [f"{DARCY}, {STRANGER}", f"{DARCY};{STRANGER}", f"{DARCY}\n{STRANGER}", [DARCY, [STRANGER]]]
)
def test_a_stranger_among_friends_is_found(to: Any) -> None:
    assert "send_unknown" in names(to, policy(asked="send_vip"), thread="42")


def test_a_stranger_in_another_argument_is_found() -> None:
    assert names(DARCY, policy(asked="send_vip"), cc=STRANGER, thread="42") == ["send_vip", "send_unknown"]


def test_a_stranger_is_denied_even_where_nothing_lists_one() -> None:
    where = policy(autonomous="send")
    (operation,) = sent(STRANGER, where)
    assert probe(where, operation).verdict is Verdict.DENY


def test_a_contact_that_cannot_be_read_matches_nobody() -> None:
    assert names("+1XXXXXXXXXX", policy(asked="send_vip")) == ["send_unknown"]


@pytest.mark.parametrize(
    "spelling",
    [
        "+15550100001",
        "+1 555 010 0001",
        "+1 (555) 010-0001",
        "+1.555.010.0001",
        " +1-555-010-0001 ",
        "tel:+1-555-010-0001",
    ],
)
def test_a_number_is_the_same_in_every_spelling(spelling: str) -> None:
    assert normalise_recipient(spelling) == DARCY


@pytest.mark.parametrize(
    "text",
    [
        "5550100001",
        "001 555 010 0001",
        "+1555",
        "+1 555 010 0001 ext. 9",
        "+1 555 01O 0001",
        "+1XXXXXXXXXX",
        "+１５５５０１００００１",
        "+1555\u200b0100001",
        "+1 555 010 0001 +1 555 010 0009",
        "darcy",
        "+",
        "",
    ],
)
def test_what_could_be_somebody_else_is_no_number(text: str) -> None:
    assert normalise_recipient(text) is None


@pytest.mark.parametrize(
    ("spelling", "address"),
    [
        ("boss@example.com", BOSS),
        ("BOSS@EXAMPLE.COM", BOSS),
        ("boss@example.com.", BOSS),
        ("The Boss <boss@example.com>", BOSS),
        ('"Boss, The" <boss@example.com>', BOSS),
        ("mailto:boss@example.com", BOSS),
        ("mari@bücher.example", "mari@xn--bcher-kva.example"),
        ("mari@xn--bcher-kva.example", "mari@xn--bcher-kva.example"),
        ("mari@BÜCHER.example", "mari@xn--bcher-kva.example"),
    ],
)
def test_an_address_is_the_same_in_every_spelling(spelling: str, address: str) -> None:
    assert normalise_recipient(spelling) == address


@pytest.mark.parametrize(
    "text",
    [
        "boss@example.com@evil.example",
        "boss@example.com <evil@evil.example",
        "boss",
        "@example.com",
        "boss@",
        "boss@localhost",
        "boss@exa mple.com",
        "boss@example.com\u200b",
        "mailto:boss@example.com?cc=evil@evil.example",
        "boss@-example.com",
        "boss@[127.0.0.1]",
        "boss@example..com",
        '"boss"@example.com',
        "boss\n@example.com",
        "boss@example.com <evil@evil.example>",
    ],
)
def test_what_could_be_read_in_two_ways_is_no_address(text: str) -> None:
    assert normalise_recipient(text) is None


def test_letters_that_only_look_alike_are_another_host() -> None:
    assert normalise_recipient("boss@ex\u0430mple.com") not in (None, BOSS)


@pytest.mark.parametrize("prefix", ["args.", ""])
def test_an_argument_is_found_by_its_name_with_or_without_args(prefix: str) -> None:
    policy = load_text(
        "domains:\n"
        "  m: {autonomous: [], requires_approval: [send_vip], blocked: [send_group_without_context]}\n"
        "vip_contacts: {ana: ana@example.com, bo: bo@example.com}\n"
        f"tools: [{{tool: x, resolve: recipient, domain: m, from: {prefix}to, context: {prefix}thread}}]"
    )

    def names(**args: object) -> set[str]:
        found = read_operations("x", args, policy, folder="/w", workspace="/w", home="/home/ana")
        return {operation.name for operation in found}

    both = ["ana@example.com", "bo@example.com"]
    assert names(to=both) == {"m.send_vip", "m.send_group_without_context"}
    assert names(to=both, thread="t1") == {"m.send_vip"}
