"""The files of the trusted channel: one secret, made once, and letters that nobody loses."""

from __future__ import annotations

import http.server
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sayso.core.proposals.diffs import make_diff
from sayso.core.signed_messages import SignedMessage, is_signed
from sayso.doors.trusted.send import (
    DeadLetter,
    OutgoingMessage,
    forget_dead_letters,
    keep_dead_letter,
    read_dead_letters,
    seal_letter,
)
from sayso.gate.trusted.settings_file import (
    TrustedFile,
    TrustedRefused,
    load_trusted_file,
    make_trusted_file,
    rotate_secret,
)
from tests.support.service_process import a_home, said


def letter(name: str, url: str = "http://127.0.0.1:1") -> DeadLetter:
    return DeadLetter(OutgoingMessage(name, url, "{}"), "no answer", 4, 1.0)


def keep(folder: Path, one: DeadLetter) -> Path:
    """Keep a letter beside the secret in this folder, as the sender does; its file."""
    file = folder / "trusted-undelivered.jsonl"
    keep_dead_letter(file, seal_letter(one, load_trusted_file(folder / "trusted.json").every_secret()[0]))
    return file


def send_again(folder: Path, *more: str) -> tuple[int, str]:
    return said("trusted", "send", "--again", *more, "--file", str(folder / "trusted.json"))


def ids(file: Path) -> list[str]:
    return [one.message.id for one in read_dead_letters(file)]


def test_of_two_who_make_the_secret_at_once_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have written their own file before either is in its place."""
    file, both = tmp_path / "trusted.json", threading.Barrier(2)
    made: list[TrustedFile | None] = []
    real = os.fsync

    def wait_for_the_other(descriptor: int) -> None:
        real(descriptor)
        both.wait(timeout=30)

    monkeypatch.setattr(os, "fsync", wait_for_the_other)

    def make() -> None:
        try:
            made.append(make_trusted_file(file))
        except TrustedRefused:
            made.append(None)

    threads = [threading.Thread(target=make) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(timeout=60)
    assert [one for one in made if one is not None] == [load_trusted_file(file)]
    assert len(made) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trusted.json"]


def test_a_letter_kept_while_others_are_sent_again_stays(tmp_path: Path) -> None:
    file = tmp_path / "letters"
    keep_dead_letter(file, letter("one"))
    sent = ids(file)
    keep_dead_letter(file, letter("two"))
    forget_dead_letters(file, sent)
    assert ids(file) == ["two"]


def test_half_a_line_hides_no_letter_and_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "letters"
    keep_dead_letter(file, letter("one"))
    with file.open("ab") as out:
        out.write(b'{"message":{"id":"ha')
    keep_dead_letter(file, letter("two"))
    assert ids(file) == ["one", "two"]
    forget_dead_letters(file, {"one"})
    assert ids(file) == ["two"]
    assert b'"ha' in file.read_bytes()
    assert file.stat().st_mode & 0o077 == 0


@contextmanager
def receiver(status: int, got: list[str] | None = None) -> Iterator[str]:
    """Somebody who answers every message like this, and the address; `got` are the ids that arrived."""

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            if got is not None:
                got.append(self.headers["webhook-id"])
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(("status", "stays"), [(401, True), (404, True), (422, False)])
def test_only_a_letter_that_will_never_be_taken_is_dropped(tmp_path: Path, status: int, stays: bool) -> None:
    make_trusted_file(tmp_path / "trusted.json")
    with receiver(status) as url:
        file = keep(tmp_path, letter("one", url))
        send_again(tmp_path)
    assert (ids(file) == ["one"]) is stays


def test_letters_are_sent_again_to_the_address_that_is_named(tmp_path: Path) -> None:
    """What was sent to a wrong address would never arrive otherwise."""
    make_trusted_file(tmp_path / "trusted.json")
    file = keep(tmp_path, letter("one"))
    with receiver(202) as url:
        code, told = send_again(tmp_path, "--url", url)
    assert (code, ids(file)) == (0, []), told


def change_body(line: dict[str, Any], elsewhere: str) -> None:
    line["message"]["body"] = '{"type": "sayso.request", "data": {"operation": "self_modification.x"}}'


def change_id(line: dict[str, Any], elsewhere: str) -> None:
    line["message"]["id"] = "other"


def change_address(line: dict[str, Any], elsewhere: str) -> None:
    line["message"]["url"] = elsewhere


def drop_seal(line: dict[str, Any], elsewhere: str) -> None:
    del line["seal"]


@pytest.mark.parametrize("change", [change_body, change_id, change_address, drop_seal])
def test_a_letter_that_was_tampered_with_is_neither_signed_nor_sent(
    tmp_path: Path, change: Callable[[dict[str, Any], str], None]
) -> None:
    make_trusted_file(tmp_path / "trusted.json")
    got: list[str] = []
    with receiver(202, got) as url, receiver(202, got) as elsewhere:
        file = keep(tmp_path, letter("one", url))
        line = json.loads(file.read_bytes())
        change(line, elsewhere)
        file.write_text(json.dumps(line) + "\n")
        keep(tmp_path, letter("two", url))
        code, told = send_again(tmp_path)
    assert (code, got) == (1, ["two"]), told
    assert "was not kept by this sender" in told
    assert json.loads(file.read_bytes()) == line


def test_a_letter_of_a_secret_that_counts_no_more_is_not_signed_with_the_new_one(tmp_path: Path) -> None:
    secret, got = tmp_path / "trusted.json", list[str]()
    make_trusted_file(secret)
    with receiver(202, got) as url:
        file = keep(tmp_path, letter("one", url))
        rotate_secret(secret, time.time())
        assert send_again(tmp_path)[0] == 0
        keep(tmp_path, letter("two", url))
        rotate_secret(secret, time.time(), at_once=True)
        code, told = send_again(tmp_path)
    assert (code, got, ids(file)) == (1, ["one"], ["two"]), told


def test_a_seal_of_a_kept_letter_is_no_signature_of_a_message() -> None:
    key = b"k" * 32
    sealed = seal_letter(letter("one"), key)
    for timestamp in ("1", "0", ""):
        message = SignedMessage("one", timestamp, f"v1,{sealed.seal}", sealed.message.body.encode())
        assert not is_signed(message, [key])


def test_a_request_goes_to_the_service_that_runs_here_and_the_sender_is_told_what_was_filed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On whichever port it runs: what listens on the usual one may be somebody else."""
    home = a_home(monkeypatch, tmp_path)
    config, memory = tmp_path / "XDG_CONFIG_HOME" / "sayso", tmp_path / "memory"
    for folder in (config, memory):
        folder.mkdir()
    (memory / "lessons.md").write_text("be kind\n")
    (config / "settings.json").write_text(json.dumps({"proposal_roots": {"memory": str(memory)}}))
    make_trusted_file(tmp_path / "XDG_DATA_HOME" / "sayso" / "trusted.json")
    diff = make_diff("lessons.md", "be kind\n", "be kind\nbe brief\n")
    change = {"root": "memory", "diff": diff, "undo": "reverse", "reason": "clarity"}
    with home.serve():
        asked = ("self_modification.propose_behavioral_change", "--args", json.dumps({"proposal": change}))
        code, told = said("trusted", "send", *asked)
        assert (code, "--url" in told) == (3, False), told
        (call,) = re.findall(r"--retry (op_\w+)", told)
        (question,) = json.loads(said("inbox", "--json", "--store", home.store)[1])
        assert said("approve", question["id"], "--store", home.store)[0] == 0
        code, told = said("trusted", "send", "--retry", call)
        assert code == 0, told
        filed = json.loads(said("propose", "list", "--json", "--store", home.store)[1])
    assert [f"Filed {one['proposal']['id']}." in told for one in filed] == [True]
