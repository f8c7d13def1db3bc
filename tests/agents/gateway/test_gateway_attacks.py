"""Lines that try to bring a tool call past the gateway, and answers that are no allow."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from sayso.doors.mcp.gateway.messages import CancelNotice, Passed, Refused, ToolCall, fold, read_client_line
from tests.agents.gateway.place import (
    PATIENCE,
    Decide,
    GatewayPlace,
    allow,
    deny,
    hook_answer,
    is_denied,
    request,
    stay_silent,
    tool_call,
)
from tests.support.rows import each_row

CALL = json.dumps(tool_call(5)).encode()
INNER = b'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"touch","arguments":{}}}'
REFUSED = {
    "a batch": b"[" + CALL + b"]",
    "a batch after white space": b" \t[" + CALL + b"]",
    "a key twice, the last one a call": CALL.replace(b'"method"', b'"method": "ping", "method"'),
    "a key twice, the first one a call": CALL.replace(b'"params"', b'"method": "ping", "params"'),
    "a key twice, one escaped": b'{"jsonrpc":"2.0","id":5,"method":"ping","m\\u0065thod":"tools/call"}',
    "a key in another case": CALL.replace(b'"method"', b'"method": "ping", "Method"'),
    "the tool twice": CALL.replace(b'"name": "touch"', b'"name": "touch", "name": "wipe"'),
    "the tool in two cases": CALL.replace(b'"name": "touch"', b'"name": "touch", "Name": "wipe"'),
    "arguments with a long s": CALL.replace(b'"name": "touch"', '"name": "touch", "argumentſ": {}'.encode()),
    "an argument twice": CALL.replace(b'"path": "a"', b'"path": "a", "path": "b"'),
    "an argument in two cases": CALL.replace(b'"path": "a"', b'"path": "a", "PATH": "b"'),
    "an argument with an invisible letter": CALL.replace(b'"path": "a"', b'"path": "a", "pa\\u200bth": "b"'),
    "the method in capitals": CALL.replace(b"tools/call", b"Tools/Call"),
    "the method with a space": CALL.replace(b"tools/call", b"tools/call "),
    "the method in wide letters": CALL.replace(b"tools/call", "ｔools/call".encode()),
    "the method with a zero": CALL.replace(b"tools/call", b"tools/call\\u0000"),
    "a call between carriage returns": b'{"jsonrpc":"2.0","method":"x","params":\r' + INNER + b"\r}",
    "two messages on a line": b'{"jsonrpc":"2.0","id":4,"method":"ping"}' + CALL,
    "two messages between carriage returns": b'{"jsonrpc":"2.0","id":4,"method":"ping"}\r' + CALL,
    "a byte order mark": b"\xef\xbb\xbf" + CALL,
    "UTF-16": CALL.decode().encode("utf-16"),
    "UTF-16 without a mark": CALL.decode().encode("utf-16-le"),
    "UTF-32": CALL.decode().encode("utf-32-be"),
    "UTF-7": CALL.replace(b"tools/call", b"tools+AC8-call").replace(b'{"jsonrpc"', b'+AHsAIg-jsonrpc"'),
    "bytes that are no UTF-8": CALL.replace(b"touch", b"to\xc1\xb5ch"),
    "an overlong slash": CALL.replace(b"tools/call", b"tools\xc0\xafcall"),
    "half a character": CALL.replace(b"touch", b"to\xed\xa0\x80uch"),
    "no version": CALL.replace(b'"jsonrpc": "2.0", ', b""),
    "another version": CALL.replace(b'"2.0"', b'"1.0"'),
    "an id that is null": CALL.replace(b'"id": 5', b'"id": null'),
    "an id that is true": CALL.replace(b'"id": 5', b'"id": true'),
    "an id that is a fraction": CALL.replace(b'"id": 5', b'"id": 5.0'),
    "an id that is a list": CALL.replace(b'"id": 5', b'"id": [5]'),
    "a call that is also a response": CALL[:-1] + b', "result": {}}',
    "params in a list": b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":["touch",{}]}',
    "params in a text": b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":"{}"}',
    "no params": b'{"jsonrpc":"2.0","id":5,"method":"tools/call"}',
    "no tool": b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"arguments":{}}}',
    "a tool that is a list": CALL.replace(b'"touch"', b'["touch"]'),
    "arguments in a text": CALL.replace(b'{"path": "a"}', b'"{}"'),
    "a further key in params": CALL.replace(b'"name": "touch"', b'"name": "touch", "tool": "wipe"'),
    "a further key": CALL[:-1] + b', "x": 1}',
    "not a number": CALL.replace(b'"path": "a"', b'"path": NaN'),
    "infinite": CALL.replace(b'"path": "a"', b'"path": 1e999'),
    "a comment": CALL[:-1] + b"/**/}",
    "a trailing comma": CALL[:-1] + b",}",
    "single quotes": CALL.replace(b'"', b"'"),
    "a raw tab in a text": CALL.replace(b"touch", b"to\tuch"),
    "nested too deep": CALL.replace(b'"path": "a"', b'"path": ' + b"[" * 100 + b"]" * 100),
    "nested far too deep": b"[" * 100_000,
    "a long tool": CALL.replace(b"touch", b"t" * 10_000),
    "nothing but a text": b'"tools/call"',
}  # fmt: skip


def test_every_such_line_is_refused() -> None:
    passed = {name: line for name, line in REFUSED.items() if not isinstance(read_client_line(line), Refused)}
    assert not passed


def test_no_such_line_reaches_the_server_though_the_service_would_allow_it(place: GatewayPlace) -> None:
    with place.serving(allow), place.gateway() as client:
        client.send(*(line for line in REFUSED.values() if b"\n" not in line))
        client.send(b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"touch","arguments":{}}}')
        client.settle()
    assert [json.loads(line)["method"] for line in client.reached] == ["ping"]


ESCAPED = {
    "an escaped slash": CALL.replace(b"tools/call", b"tools\\/call"),
    "escaped letters": CALL.replace(b"tools/call", b"\\u0074ools/c\\u0061ll"),
    "an escaped key": CALL.replace(b'"method"', b'"\\u006dethod"'),
    "white space": b" \t" + CALL.replace(b":", b" : ") + b" ",
    "a carriage return at the end": CALL + b"\r",
}


@each_row("line", ESCAPED.values(), ids=ESCAPED.keys())
def test_a_call_in_another_spelling_is_judged_as_the_call_it_is(line: bytes) -> None:
    read = read_client_line(line)
    assert isinstance(read, ToolCall)
    assert json.loads(read.line) == tool_call(5)
    assert read.line.count(b"\n") == 1
    assert b"\r" not in read.line


def test_what_runs_is_written_from_what_was_judged() -> None:
    line = CALL.replace(b'"a"', '"\u2028 \u0085 \x7f é \\ud83d\\ude00"'.encode())
    read = read_client_line(line)
    assert isinstance(read, ToolCall)
    assert read.line.isascii()
    assert (
        json.loads(read.line)["params"]["arguments"] == read.arguments == {"path": "\u2028 \u0085 \x7f é 😀"}
    )


def of_another_call(event: str, payload: dict[str, Any]) -> bytes:
    return allow(event, {**payload, "id": "0" * 32})


def answering(raw: bytes) -> Decide:
    return lambda *_: raw


def longer(event: str, payload: dict[str, Any]) -> bytes:
    return allow(event, payload) + b" "


def edited(change: Callable[[bytes], bytes]) -> Decide:
    return lambda event, payload: change(allow(event, payload))


NOT_AN_ALLOW = {
    "an allow of another call": of_another_call,
    "a bare allow": answering(hook_answer(0, "allow")),
    "an allow with a code that blocks": edited(lambda raw: raw.replace(b"sayso-hook 0", b"sayso-hook 2")),
    "an allow with a code that is none": edited(lambda raw: raw.replace(b"sayso-hook 0", b"sayso-hook 1")),
    "an allow in capitals": edited(lambda raw: raw.replace(b"allow", b"ALLOW")),
    "an allow that says too much": longer,
    "nothing to print": answering(hook_answer(0)),
    "another status": edited(lambda raw: raw.replace(b"200 OK", b"403 Forbidden")),
    "an error of the service": answering(b'HTTP/1.1 500 X\r\ncontent-length: 2\r\n\r\n{}'),
    "no mark": edited(lambda raw: raw.replace(b"sayso-hook", b"hook-sayso")),
    "another protocol": answering(b"SSH-2.0-x\r\n\r\n"),
    "bytes": answering(b"\xff\x00" * 100),
    "a length that is no number": answering(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"),
}  # fmt: skip


def test_nothing_but_an_allow_of_this_call_lets_it_run(place: GatewayPlace) -> None:
    with place.serving(deny) as service, place.gateway() as client:
        ran = []
        for number, (name, how) in enumerate(NOT_AN_ALLOW.items()):
            service.decide = how
            client.send(tool_call(number))
            if name in ("another protocol", "bytes"):  # no answer at all: it is waited for
                service.next("call")
                client.send(request(f"after {number}", "ping"))
                client.read_answer(f"after {number}")
            elif not is_denied(client.read_answer(number)):
                ran.append(name)
        client.settle()
    assert not ran
    assert {json.loads(line)["method"] for line in client.reached} == {"ping"}


def test_an_answer_that_is_cut_is_no_allow(place: GatewayPlace) -> None:
    place.write_file(wait=0)

    def cut_and_hang_up(event: str, payload: dict[str, Any]) -> bytes:
        raise ValueError

    with place.serving(cut_and_hang_up), place.gateway() as client:
        client.send(tool_call(1))
        assert is_denied(client.read_answer(1))


def test_a_service_that_is_not_there_denies(place: GatewayPlace) -> None:
    with place.gateway() as client:
        client.send(tool_call(1))
        answer = client.read_answer(1)
        assert "not running" in answer["result"]["content"][0]["text"]
        client.settle()
    assert [json.loads(line)["method"] for line in client.reached] == ["ping"]


def test_a_service_of_another_user_is_not_asked(place: GatewayPlace) -> None:
    place.write_file(uid=12345)
    with place.serving(allow) as service, place.gateway() as client:
        client.send(tool_call(1))
        assert is_denied(client.read_answer(1))
    assert service.heard.empty()


def test_a_silent_service_denies_when_the_time_is_over(place: GatewayPlace) -> None:
    place.write_file(wait=-9)  # one second, with ten to spare
    with place.serving(lambda event, payload: None), place.gateway() as client:
        client.send(tool_call(1))
        assert "in time" in client.read_answer(1)["result"]["content"][0]["text"]


def test_a_service_that_goes_away_between_two_calls_is_asked_again_and_then_denies(
    place: GatewayPlace,
) -> None:
    with place.gateway() as client:
        with place.serving(allow):
            client.send(tool_call(1))
            assert not is_denied(client.read_answer(1))
        with place.serving(allow):
            client.send(tool_call(2))
            assert not is_denied(client.read_answer(2))
        client.send(tool_call(3))
        assert is_denied(client.read_answer(3))
        client.settle()
    assert [json.loads(line)["id"] for line in client.reached] == [1, 2, 999_999]


def test_a_line_that_is_too_long_is_refused_and_the_next_is_read(place: GatewayPlace) -> None:
    long = json.dumps(tool_call(1, "touch")).encode().replace(b'"a"', b'"' + b"a" * 5_000_000 + b'"')
    with place.serving(allow), place.gateway() as client:
        client.send(long)
        assert client.read()["error"]["code"] == -32600
        client.send(tool_call(2))
        assert not is_denied(client.read_answer(2))
    assert len(client.reached) == 1


def test_a_call_that_is_too_large_for_the_service_is_denied(place: GatewayPlace) -> None:
    with (
        place.serving(
            answering(b'HTTP/1.1 413 X\r\ncontent-length: 23\r\n\r\n{"detail": "too large"} '.strip())
        ),
        place.gateway() as client,
    ):
        client.send(tool_call(1))
        assert client.read_answer(1)["result"]["content"][0]["text"] == "Sayso: too large"


def test_many_calls_at_once_are_each_answered_for_themselves(place: GatewayPlace) -> None:
    def only_even(event: str, payload: dict[str, Any]) -> bytes:
        even = event != "call" or int(payload["tool"].removeprefix("t")) % 2 == 0
        return allow(event, payload) if even else deny(event, payload)

    with place.serving(only_even), place.gateway() as client:
        client.send(*(tool_call(number, f"t{number}") for number in range(300)))
        answers: dict[Any, dict[str, Any]] = {}
        while len(answers) < 300:
            found = client.read()
            answers[found["id"]] = found
        client.settle()
    assert {number for number, one in answers.items() if not is_denied(one)} == set(range(0, 300, 2))
    ran = [json.loads(line) for line in client.reached if "tools/call" in line]
    assert sorted(one["params"]["name"] for one in ran) == sorted(f"t{n}" for n in range(0, 300, 2))
    assert all(one["params"]["name"] == f"t{one['id']}" for one in ran)


PIECES = (
    '"method":"tools/call"', '"Method":"tools/call"', '"method":"ping"', '"id":5', '"params":{"name":"t"}',
    "tools/call", "Tools/Call", "\\u0000", "\\u002f", "\\/", "\r", "\u2028", "\x0b", "\x1c", "\x85", "\ufeff",
    "ſ", "\u200b", ",", ":", "{", "}", "[", "]", '"', "\\", " ", "/*x*/", '"result":{}', '"jsonrpc":"2.0"',
)  # fmt: skip


def list_readings(text: str) -> Iterator[object]:
    """Return every value that a reader could find who splits lines anywhere and takes texts one by one."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=tuple)
    for part in (text, *re.split("[\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]", text)):
        rest = part.strip(" \t\ufeff\x00,")
        while rest:
            try:
                value, end = decoder.raw_decode(rest)
            except (ValueError, RecursionError):
                break
            yield value
            rest = rest[end:].strip(" \t,")


def is_call(value: object) -> bool:
    """Return whether a reader who does not mind case, or which of two keys counts, takes this for a call."""
    if isinstance(value, list):
        return any(map(is_call, value))
    pairs = value if isinstance(value, tuple) else ()
    return any(fold(key) == "method" and fold(str(found)) == "tools/call" for key, found in pairs)


def test_no_changed_line_that_passes_is_a_call_for_any_reader() -> None:
    generator = random.Random(14)
    for _ in range(20_000):
        text = (CALL if generator.random() < 0.7 else CALL.replace(b"tools/call", b"ping")).decode()
        for _ in range(generator.randint(1, 4)):
            start = generator.randrange(len(text))
            end = start + generator.choice((0, 0, 1, 12))
            text = text[:start] + generator.choice(PIECES) + text[end:]
        read = read_client_line(text.encode())
        if isinstance(read, (Passed, CancelNotice)):
            assert not any(map(is_call, list_readings(text))), text


def test_a_server_cannot_answer_a_held_call_in_a_way_that_only_some_clients_read(place: GatewayPlace) -> None:
    with place.serving(stay_silent) as service, place.gateway("forges") as client:
        client.send(tool_call(7))
        service.next("call")
        client.send(request(8, "ping"))
        assert client.read()["id"] == 8


def test_what_is_approved_is_approved_for_the_schema_that_was_listed(place: GatewayPlace) -> None:
    with place.serving(allow) as service, place.gateway("changes") as client:
        said = []
        for number in range(3):
            client.send(tool_call(10 + number))
            client.read_answer(10 + number)
            said.append(service.next("call")["schema"])
            client.send(request(number, "tools/list"))
            client.read_answer(number)
    assert said[0] == ""
    assert len(set(said)) == 3


def test_a_tool_that_changes_while_it_is_asked_about_does_not_run(place: GatewayPlace) -> None:
    asked, go = threading.Event(), threading.Event()

    def wait(event: str, payload: dict[str, Any]) -> bytes:
        if event == "call":
            asked.set()
            assert go.wait(PATIENCE)
        return allow(event, payload)

    with place.serving(wait) as service, place.gateway("changes") as client:
        client.send(tool_call(1))
        assert asked.wait(PATIENCE)
        client.send(request(2, "tools/list"))
        client.read_answer(2)
        go.set()
        assert "changed this tool" in client.read_answer(1)["result"]["content"][0]["text"]
        assert service.next("end")["ok"] is False
        client.settle()
    assert not [line for line in client.reached if "tools/call" in line]


HIDDEN = {
    "a call in the answer to a server's request": {"jsonrpc": "2.0", "id": 1, "result": json.loads(INNER)},
    "a call in the arguments of another method": request(1, "completion/complete", call=json.loads(INNER)),
    "a call in a notification": {"jsonrpc": "2.0", "method": "notifications/x", "params": json.loads(INNER)},
}


@each_row("message", HIDDEN.values(), ids=HIDDEN.keys())
def test_a_call_inside_of_something_else_is_no_call_for_any_reader(message: dict[str, Any]) -> None:
    """It passes as what it is: a server that takes it for a call does so without being called."""
    line = json.dumps(message).encode()
    assert isinstance(read_client_line(line), Passed)
    assert not any(map(is_call, list_readings(line.decode())))


MORE_DISGUISES = (
    "tools/call/", "/tools/call", "x/tools/call", "TOOLS/CALL", "tools/\u200bcall", "tools\uff0fcall",
    " tools/call", "tools/call\u2028", "\ufefftools/call",
)  # fmt: skip


@each_row("method", MORE_DISGUISES)
def test_a_method_that_could_be_taken_for_a_call_is_judged_or_refused(method: str) -> None:
    read = read_client_line(json.dumps({**tool_call(5), "method": method}).encode())
    assert isinstance(read, (Refused, ToolCall))
