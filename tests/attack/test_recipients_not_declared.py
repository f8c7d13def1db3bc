"""A message goes to everybody it names, also where the entry of its tool reads only some of its arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.attack.test_marks_kept_in_readings import decide

MAIL = """\
vip_contacts: {ann: ann@example.com, bob: "+1 555 010 0001"}
domains:
  email:
    autonomous: [send_vip, send_group_without_context]
    requires_approval: []
    blocked: [send_unknown]
tools:
  - {tool: mail, resolve: recipient, domain: email, from: args.to}
  - {tool: nested, resolve: recipient, domain: email, from: args.message.to.email}
"""
EVE = "eve@example.org"
ANN: dict[str, Any] = {"to": "ann@example.com", "subject": "Sunday"}


@pytest.mark.parametrize(
    "args",
    [
        {"cc": EVE},
        {"bcc": [EVE]},
        {"BCC": f"ann@example.com, {EVE}"},
        {"cc": [{"email": EVE}]},
        {"recipients": EVE},
        {"bcc_recipients": [EVE]},
        {"To": EVE},
        {"To": "+1 555 010 0009"},
        {"cc_addresses": {"first": EVE}},
        {"options": {"bcc": EVE}},
        {"options": f'{{"bcc": "{EVE}"}}'},
        {"headers": {"Bcc": EVE}},
        {"headers": f"X-Mailer: a\nBcc: {EVE}"},
        {"headers": f"Bcc: {EVE}"},
        {"headers": [{"name": f"x\r\ncc: {EVE}"}]},
        {"subject": f"Sunday\r\nBcc: {EVE}"},
        {"bcc": True},
        {"bcc": 7},
    ],
    ids=repr,
)
def test_nobody_unknown_gets_a_copy(tmp_path: Path, args: dict[str, Any]) -> None:
    assert decide(MAIL, tmp_path, "mail", {**ANN, **args}) == "deny blocked"


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"cc": "", "bcc": [], "recipients": None},
        {"cc": "Ann <ann@example.com>"},
        {"cc": "+1 (555) 010-0001"},
        {"bcc": False},
        {"body": f"To: {EVE}\nBcc: {EVE}\n"},
        {"from": "2026-11-18", "when": {"to": "2026-11-19"}},
        {"subject": f"To: {EVE}"},
        {"reply_to": "me@example.com"},
    ],
    ids=repr,
)
def test_a_message_to_known_people_goes_out(tmp_path: Path, args: dict[str, Any]) -> None:
    assert decide(MAIL, tmp_path, "mail", {**ANN, **args}) == "allow autonomous"


def test_a_declared_recipient_deep_in_an_argument_is_read_once(tmp_path: Path) -> None:
    message: dict[str, Any] = {"to": {"email": "ann@example.com"}}
    assert decide(MAIL, tmp_path, "nested", {"message": message}) == "allow autonomous"
    assert decide(MAIL, tmp_path, "nested", {"message": {**message, "cc": EVE}}) == "deny blocked"


def test_copies_make_a_group(tmp_path: Path) -> None:
    text = MAIL.replace("send_vip, send_group_without_context", "send_vip")
    args = {**ANN, "cc": "+1 555 010 0001"}
    assert decide(text, tmp_path, "mail", args) == "deny blocked"


@pytest.mark.parametrize("text", ["\n", "\n\t", "\nto ", "to:", "[", '{"to":'])
def test_no_text_takes_long_to_be_searched_for_headers(tmp_path: Path, text: str) -> None:
    """Each would take hours if the time grew with more than the length."""
    args = {**ANN, "subject": text * (300_000 // len(text))}
    assert decide(MAIL, tmp_path, "mail", args) != "deny blocked"
