"""Which part of a call made its operation what it is: told by whoever read it, to be shown and no more."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.core.deciding.decide import decide
from sayso.core.deciding.questions import find_or_open_question
from sayso.core.model import Operation, Piece
from sayso.core.session import Session, View
from sayso.gate.deciding.request import make_call, make_request
from sayso.policy import load_text
from sayso.reading.evidence import MAX_PIECE_LENGTH, MAX_PIECES, pieces_named_in
from tests.unit.deciding import NOW, bare
from tests.unit.resolving import read_operations

POLICY = load_text("""
vip_contacts: {boss: boss@example.com}
domains:
  bank: {autonomous: [], requires_approval: [transfer, transfer_large], blocked: []}
  chat: {autonomous: [], requires_approval: [send, send_unknown], blocked: [send_group_without_context]}
  files: {autonomous: [read], requires_approval: [write, write_outside_workspace], blocked: [modify_secrets]}
  network: {autonomous: [fetch], requires_approval: [api], blocked: []}
tools:
  - {tool: transfer, operation: bank.transfer, when: "args.amount <= 100 && args.memo != 'args.iban'"}
  - {tool: transfer, operation: bank.transfer_large}
  - {tool: send, resolve: recipient, domain: chat, from: "args.to, args.cc", context: args.thread}
  - {tool: read, resolve: path, operation: files.read, from: args.path}
  - {tool: write, resolve: path, operation: files.write, from: args.path}
  - {tool: get, resolve: url, domain: network, from: args.url}
  - {tool: sh, resolve: shell, from: args.command}
""")


def read(tool: str, **args: Any) -> tuple[Operation, ...]:
    return read_operations(tool, args, POLICY, folder="/w", workspace="/w", home="/home/ana")


def told(tool: str, **args: Any) -> dict[str, list[tuple[str | None, str]]]:
    return {one.name: [(part.argument, part.text) for part in one.because] for one in read(tool, **args)}


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        ("write", {"path": "../x"}, {"files.write_outside_workspace": [("path", "../x")]}),
        ("write", {"path": "~/.ssh/id"}, {"files.modify_secrets": [("path", "~/.ssh/id")]}),
        ("write", {"path": ".git/config"}, {"files.write": [("path", ".git/config")]}),
        ("write", {"path": "a.py"}, {"files.write": []}),
        ("read", {"path": "id_rsa"}, {"files.read": [("path", "id_rsa")]}),
        ("read", {"path": "../other.txt"}, {"files.read": []}),
        ("get", {"url": "http://127.0.0.1/"}, {"network.fetch": [("url", "http://127.0.0.1/")]}),
        ("get", {"url": "file:///etc/shadow"}, {"files.read": [("url", "file:///etc/shadow")]}),
        ("get", {"url": "https://example.com"}, {"network.fetch": []}),
        ("get", {"url": "https://example.com", "method": "POST"}, {"network.api": [("method", "POST")]}),
        (
            "transfer",
            {"amount": 7},
            {"bank.transfer": [("amount", "7")], "bank.transfer_large": [("amount", "7")]},
        ),
        ("sh", {"command": "rm -rf build"}, {"files.delete": [(None, "rm -rf build")]}),
        ("sh", {"command": "ls"}, {"files.list": []}),
    ],
)
def test_the_part_that_made_it_so_is_told_and_what_is_plain_is_not(
    tool: str, args: dict[str, Any], expected: dict[str, list[tuple[str, str]]]
) -> None:
    assert told(tool, **args) == expected


def test_a_condition_that_did_not_hold_had_a_say_as_well() -> None:
    assert told("transfer", amount=5000, memo="rent", iban="DE1") == {
        "bank.transfer_large": [("amount", "5000"), ("memo", "rent")]
    }


def test_unknown_recipients_are_told_as_they_were_written_and_known_ones_are_not() -> None:
    to = "Boss <boss@example.com>, Mallory <M@evil.example>"
    found = told("send", to=to, cc="eve@evil.example", thread="t")
    assert found == {
        "chat.send": [],
        "chat.send_unknown": [("to", "Mallory <M@evil.example>"), ("cc", "eve@evil.example")],
    }


def test_a_crowd_without_context_is_told_by_everybody_in_it() -> None:
    found = told("send", to="boss@example.com, m@evil.example")
    assert found["chat.send_group_without_context"] == [("to", "boss@example.com"), ("to", "m@evil.example")]


def test_what_two_parts_make_alike_is_one_operation_with_both_parts() -> None:
    (operation,) = read("write", path=["../a", "../b"])
    assert [part.text for part in operation.because] == ["../a", "../b"]


def test_parts_are_few_and_short() -> None:
    (operation,) = read("write", path=[f"../{number}{'x' * 1000}" for number in range(100)])
    assert len(operation.because) == MAX_PIECES
    assert all(len(part.text) <= MAX_PIECE_LENGTH for part in operation.because)


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ("args.a == args.b.c", ["1", "3"]),
        ("args['a'] == 2 || args[\"d e\"]", ["1", "true"]),
        ("tool == 'args.a' || cwd == \"args.a\"", []),
        ("my.args.a == 1 || xargs.a == 1", []),
        ("args.gone == args.list", []),
        ("args.b.contains('x')", []),
    ],
)
def test_of_a_condition_the_arguments_it_names_are_told(condition: str, named: list[str]) -> None:
    args = {"a": 1, "b": {"c": 3}, "d e": True, "list": [], "empty": ""}
    assert [part.text for part in pieces_named_in([condition], args)] == named


def test_parts_change_no_digest_and_no_decision() -> None:
    operations = read("write", path="../x")
    call = make_call("write", {"path": "../x"})
    request, plain = make_request(call, operations), make_request(call, [bare(one) for one in operations])
    assert request.digest == plain.digest
    view = View(Session("session"))
    assert decide(request, POLICY, view, NOW) == decide(plain, POLICY, view, NOW)


def test_a_question_tells_the_parts_of_what_it_asks_for_only() -> None:
    operations = [
        Operation("files.write", because=(Piece("path", "a"), Piece(None, "b"))),
        Operation("files.write", because=(Piece(None, "b"),)),
        Operation("files.read", because=(Piece("path", "free"),)),
    ]
    request = make_request(make_call("write", {"path": "a"}, command="b"), operations)
    session = Session("session")
    decision = decide(request, POLICY, View(session, reviews={"files": NOW}), NOW)
    question = find_or_open_question(decision, request, POLICY, session, NOW)
    assert question.because == (Piece("path", "a"), Piece(None, "b"))


DANGER = " && rm -rf ~/projects && git push --force"


@pytest.mark.parametrize(
    "line",
    [" && ".join(f"echo {n}" for n in range(90)) + DANGER, f"echo 'never closed{DANGER}"],
    ids=["long", "broken"],
)
def test_the_dangerous_part_of_a_long_or_broken_line_is_marked_and_not_the_line(line: str) -> None:
    found = told("sh", command=line)
    assert found["files.delete"] == [(None, "rm -rf ~/projects")]
    assert found["git.push_force"] == [(None, "git push --force")]


def test_a_row_of_commands_is_not_deep_however_long_it_is() -> None:
    assert "shell.run" not in told("sh", command=" && ".join(["echo a"] * 400))
