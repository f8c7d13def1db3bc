"""The lines of the service's log are gathered for a moment, and none is lost in an orderly end."""

from __future__ import annotations

import io
import logging
import os
import re
import time
from collections.abc import Callable, Iterator

import pytest

from sayso.service import logs

KNOWN = ("logThreads", "logProcesses", "logMultiprocessing", "_srcfile")
A_LINE = re.compile(r"\d\d:\d\d:\d\d (INFO|WARNING) [a-z ]+")


PATIENCE = 30


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


class Lines(io.StringIO):
    """What was written, and in how many goes."""

    def __init__(self) -> None:
        super().__init__()
        self.goes = 0

    def write(self, text: str) -> int:
        self.goes += 1
        return super().write(text)

    @property
    def lines(self) -> list[str]:
        return self.getvalue().splitlines()


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    for name in KNOWN:
        monkeypatch.setattr(logging, name, getattr(logging, name))
    before = [(one, one.handlers, one.propagate, one.level) for one in map(logging.getLogger, logs.OURS)]
    written = Lines()
    logs.log_to(written)
    yield written
    for logger, handlers, propagates, level in before:
        logger.handlers, logger.propagate = handlers, propagates
        logger.setLevel(level)


def test_lines_are_written_soon_and_together(lines: Lines) -> None:
    for _ in range(20):
        logs.access.info("one more")
    until(lambda: len(lines.lines) == 20)
    assert lines.goes <= 2, "two if the writer was about to write when they came"
    assert all(A_LINE.fullmatch(line) for line in lines.lines)


def test_a_warning_is_written_at_once_with_all_before_it(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "A_MOMENT", 3600)
    logs.access.info("first")
    logs.access.warning("second")
    assert [line.split()[-1] for line in lines.lines] == ["first", "second"]


def test_what_nobody_reads_is_not_gathered_without_end(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "A_MOMENT", 3600)
    for _ in range(logs.MOST_GATHERED + 1):
        logs.access.info("one more")
    assert len(lines.lines) == logs.MOST_GATHERED


def test_the_end_of_the_program_writes_what_is_left(lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "A_MOMENT", 3600)
    logs.access.info("the last")
    writer = logging.getLogger("uvicorn.error").handlers[0]
    logging.shutdown([lambda: writer])  # a weak reference is called, too
    assert [line.split()[-1] for line in lines.lines] == ["last"]


def test_a_line_that_cannot_be_written_fails_nobody(lines: Lines, capsys: pytest.CaptureFixture[str]) -> None:
    lines.close()
    logs.access.warning("lost")
    assert "lines of the log: 1" in capsys.readouterr().err


def test_a_process_that_was_forked_writes_its_own_lines(lines: Lines) -> None:
    logs.access.info("before")
    until(lambda: len(lines.lines) == 1)
    ended, ends = os.pipe()
    child = os.fork()
    if not child:
        logs.access.info("after")
        try:
            until(lambda: len(lines.lines) == 2)
            os.write(ends, b"!")
        finally:
            os._exit(0)
    os.close(ends)
    with os.fdopen(ended, "rb") as told:
        assert told.read() == b"!"
    os.waitpid(child, 0)
