"""The files of the trusted channel: one secret, made once, and letters that nobody loses."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sayso.doors.trusted.send import (
    DeadLetter,
    OutgoingMessage,
    forget_dead_letters,
    keep_dead_letter,
    read_dead_letters,
)
from sayso.gate.trusted.settings_file import (
    TrustedFile,
    TrustedRefused,
    load_trusted_file,
    make_trusted_file,
)
from tests.support.service_process import said


def letter(name: str, url: str = "http://127.0.0.1:1") -> DeadLetter:
    return DeadLetter(OutgoingMessage(name, url, "{}"), "no answer", 4, 1.0)


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
def receiver(status: int) -> Iterator[str]:
    """Somebody who answers every message like this, and the address."""

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
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
    file = tmp_path / "trusted-undelivered.jsonl"
    with receiver(status) as url:
        keep_dead_letter(file, letter("one", url))
        said("trusted", "send", "--again", "--file", str(tmp_path / "trusted.json"))
    assert (ids(file) == ["one"]) is stays


def test_letters_are_sent_again_to_the_address_that_is_named(tmp_path: Path) -> None:
    """What was sent to a wrong address would never arrive otherwise."""
    secret, file = tmp_path / "trusted.json", tmp_path / "trusted-undelivered.jsonl"
    make_trusted_file(secret)
    keep_dead_letter(file, letter("one"))
    with receiver(202) as url:
        code, told = said("trusted", "send", "--again", "--url", url, "--file", str(secret))
    assert (code, ids(file)) == (0, []), told
