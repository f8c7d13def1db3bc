"""The service's log: a line for people, or a JSON object a line. Never a query, a body or a token.

Lines are gathered for a moment and written together; a warning takes all before it along at once. A process
that is killed loses the lines of that moment: the log is for watching, proof is in the audit trail.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sayso.core.words import visible
from sayso.service.http.connections import ANSWERED

Form = Literal["text", "json"]
access = logging.getLogger("sayso.access")
REQUEST = "%s %s %s %.1f ms"
REQUEST_FACTS = ("method", "path", "status", "ms")
LONGEST_PATH = 200
A_MOMENT = 0.05
"""How many seconds lines are gathered."""
MOST_GATHERED = 1_000
"""So many lines are written at once, by whoever adds the last: where nobody reads the log, they wait."""
OURS = ("sayso", "uvicorn.error")
FACT = "sayso_"
"""How the fields of a record begin that tell its facts one by one."""


def log_to(stream: TextIO | None = None, form: Form = "text") -> None:
    """Write what Sayso and its server log to this stream, stderr if none is given."""
    _spare_unused_facts()
    writer = _GatheringHandler(stream or sys.stderr)
    writer.setFormatter(_Json() if form == "json" else _Text())
    for name in OURS:
        logger = logging.getLogger(name)
        logger.handlers = [writer]
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "sayso" else logging.WARNING)


def _spare_unused_facts() -> None:
    """Let `logging` not find out for every line which thread, process and line of code it comes from."""
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # noqa: SLF001  as its documentation says


class _GatheringHandler(logging.StreamHandler[TextIO]):
    """Writes many lines in one go, in a thread that ends with the program."""

    def __init__(self, stream: TextIO) -> None:
        self._lines: list[str] = []
        self._news = threading.Event()
        self._thread: threading.Thread | None = None
        super().__init__(stream)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.append(self.format(record))
        except Exception:  # noqa: BLE001  as every handler does
            self.handleError(record)
            return
        if record.levelno >= logging.WARNING or len(self._lines) >= MOST_GATHERED:
            self.flush()
        elif len(self._lines) == 1:
            self._tell_writer()

    def flush(self) -> None:
        """Write what was gathered. What cannot be written is told of, where anything can, and dropped."""
        self.acquire()
        lines, self._lines = self._lines, []
        try:
            if lines:
                self.stream.write("\n".join((*lines, "")))
                super().flush()
        except Exception:  # noqa: BLE001  as every handler does
            self.handleError(logging.makeLogRecord({"msg": f"lines of the log: {len(lines)}"}))
        finally:
            self.release()

    def _tell_writer(self) -> None:
        if self._thread is None or not self._thread.is_alive():  # none yet, or left behind by a fork
            self._thread = threading.Thread(target=self._keep_writing, name="sayso-log", daemon=True)
            self._thread.start()
        self._news.set()

    def _keep_writing(self) -> None:
        while True:
            self._news.wait()
            time.sleep(A_MOMENT)
            self._news.clear()
            self.flush()


class AccessLog:
    """One line for every request, once it is answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not access.isEnabledFor(logging.INFO):
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            _log_request(scope, scope.get(ANSWERED, status), time.monotonic() - began)


def _log_request(scope: Scope, status: int, seconds: float) -> None:
    path = visible(scope["path"])[:LONGEST_PATH]
    access.info(REQUEST, scope["method"], path, status, round(seconds * 1e3, 1))


class _Text(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")
        self._clock = (0, "")
        """The second of the last line, and how it is written."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        second = int(record.created)
        if second != self._clock[0]:
            self._clock = second, super().formatTime(record, datefmt)
        return self._clock[1]


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "logger": record.name}
        if record.msg is REQUEST and isinstance(record.args, tuple):
            line |= zip(REQUEST_FACTS, record.args, strict=True)
        else:
            line["message"] = record.getMessage()
        line |= {name: value for name, value in vars(record).items() if name.startswith(FACT)}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()
