"""An address where something else answers: said to be that, with how to find the service."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from sayso import Sayso
from sayso.core.errors import SaysoError
from sayso.doors.remote.decode import OtherCall, decode_attempt
from sayso.doors.remote.line import NotSayso
from tests.support.service import READ, Service


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """A web server that gives this answer to everything."""

    class Stranger(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer  # noqa: N815  the names that the standard library looks for

        def log_message(self, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"<h1>Not found</h1>"),
        (501, b"Unsupported method"),
        (404, b'{"detail": "Not Found"}'),
        (200, b"<html>welcome</html>"),
        (401, b"[]"),
    ],
)
def test_a_server_that_is_not_sayso_is_called_that(status: int, body: bytes) -> None:
    with answering(status, body) as url, Sayso.connect(url, "sayso_host_x") as gate:
        with pytest.raises(NotSayso) as found:
            gate.session(agent="helper")
        assert f"no Sayso service answers at {url}" in str(found.value)
        assert f"with {status}" in str(found.value)
        assert "`sayso serve` prints its address" in str(found.value)
        with pytest.raises(NotSayso):
            gate.questions()


def test_a_proxy_without_its_service_is_not_called_a_wrong_address() -> None:
    with (
        answering(502, b"Bad gateway") as url,
        Sayso.connect(url, "sayso_host_x") as gate,
        pytest.raises(SaysoError, match="something between here and the service"),
    ):
        gate.session(agent="helper")


@pytest.mark.parametrize("asked", [{"call": "op_other"}, {"tool": "wipe"}])
def test_an_answer_about_another_call_or_tool_allows_nothing(service: Service, asked: dict[str, str]) -> None:
    told = service.told("agent", "POST", "/v1/calls", READ)
    assert told["status"] == "allowed"
    right = {"call": told["operation_id"], "tool": READ["tool"]}
    assert decode_attempt(told, **right).state == "running"
    with pytest.raises(OtherCall, match="another call"):
        decode_attempt(told, **{**right, **asked})
