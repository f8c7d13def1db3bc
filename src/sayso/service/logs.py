"""The service's log: a line for people, or a JSON object a line. Never a query, a body or a token."""

from __future__ import annotations

import logging
import sys
import time
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sayso.core.words import visible
from sayso.service.http.connections import ANSWERED

Form = Literal["text", "json"]
access = logging.getLogger("sayso.access")
LONGEST_PATH = 200
OURS = ("sayso", "uvicorn.error")
FACT = "sayso_"
"""How the fields of a record begin that tell its facts one by one."""


def log_to(stream: TextIO | None = None, form: Form = "text") -> None:
    """Write what Sayso and its server log to this stream, stderr if none is given."""
    writer = logging.StreamHandler(stream or sys.stderr)
    writer.setFormatter(_Json() if form == "json" else _Text())
    for name in OURS:
        logger = logging.getLogger(name)
        logger.handlers = [writer]
        logger.propagate = False
        logger.setLevel(logging.INFO if name == "sayso" else logging.WARNING)


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
    said = {"method": scope["method"], "path": path, "status": status, "ms": round(seconds * 1e3, 1)}
    access.info("%s %s %s %.1f ms", *said.values(), extra={"request": said})


class _Text(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "logger": record.name}
        line |= getattr(record, "request", None) or {"message": record.getMessage()}
        line |= {name: value for name, value in vars(record).items() if name.startswith(FACT)}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()
