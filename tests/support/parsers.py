"""An application on a real socket, with either parser of HTTP."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvicorn
from starlette.types import ASGIApp

from sayso.service.http.connections import LARGEST_HEAD, Strangers, protocol_for

PARSERS = ("httptools", "h11")


@contextmanager
def served_with(app: ASGIApp, parser: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """The address of this application while it is served."""
    if parser == "h11":
        monkeypatch.setitem(sys.modules, "uvicorn.protocols.http.httptools_impl", None)
    protocol = protocol_for(Strangers(99, 60.0))
    assert any(parser in kind.__module__ for kind in protocol.__mro__)
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        server_header=False,
        date_header=False,
        h11_max_incomplete_event_size=LARGEST_HEAD,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()
        server.should_exit = True
        thread.join(30)
