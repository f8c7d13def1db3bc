"""The gateway as a process: it starts the server, pumps, and ends it when the client has left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from sayso.doors.mcp.gateway.pump import GOODBYE, Gateway, GatewaySettings
from sayso.doors.mcp.gateway.service import Service

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def wrap_server(words: Sequence[str], service: Service, settings: GatewaySettings) -> int:
    """Start the server, stand between it and the client on stdin and stdout, and return its exit code."""
    (its_stdin, to_server), (from_server, its_stdout) = os.pipe(), os.pipe()
    os.set_blocking(to_server, False)
    with subprocess.Popen(  # noqa: S603  the server that the operator has configured
        list(words), stdin=its_stdin, stdout=its_stdout
    ) as server:
        os.close(its_stdin)
        os.close(its_stdout)
        gateway = Gateway((0, 1), (from_server, to_server), service, settings)
        try:
            with _stop_on_signals():
                gateway.run()
        except _Stopped:
            server.terminate()
        finally:
            _say_goodbye(gateway, server)
            service.close()
    return server.returncode if server.returncode >= 0 else 128 - server.returncode


class _Stopped(BaseException):
    """Whoever started the gateway wants it to end."""


@contextmanager
def _stop_on_signals() -> Iterator[None]:
    """While this lasts, the signals that end a program raise; after that the end takes its course."""

    def stop(*_: object) -> None:
        raise _Stopped

    for one in SIGNALS:
        signal.signal(one, stop)
    try:
        yield
    finally:
        for one in SIGNALS:
            signal.signal(one, signal.SIG_IGN)


def _say_goodbye(gateway: Gateway, server: subprocess.Popen[bytes]) -> None:
    """End the server, deliver what it still says, and close the session."""
    if not gateway.server_left:
        gateway.drop_held()
    gateway.stop_reading()
    for end in (None, server.terminate, server.kill):
        if end is not None:
            end()
        until = time.monotonic() + GOODBYE
        while not gateway.server_left and (left := until - time.monotonic()) > 0:
            gateway.turn(left)
        with suppress(subprocess.TimeoutExpired):
            server.wait(max(until - time.monotonic(), 0.05))
            break
    gateway.answer_all()
    gateway.close_session()
