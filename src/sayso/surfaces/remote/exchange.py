"""One request to a service of somebody else, bounded in time and size."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import msgspec

from sayso.core.errors import SaysoError
from sayso.gate.deliveries.remote_surface import SurfaceDown

LONGEST_EXCHANGE = 15.0
LARGEST_REPLY = 1024 * 1024
CUT_AGAIN = 0.5
BUSY = frozenset({408, 425, 429})
GONE = frozenset({404, 410})
DIGITS = 8


class SendingFailed(SaysoError):
    """The service could not be reached, or refused what was sent. It is tried again."""

    code = "sending_failed"


class NotThere(SendingFailed):
    """There is nothing at this address, or no longer."""


class BadRequest(SendingFailed):
    """The service is there, and does not do what was asked for: it would not do it a second time either."""


class ServiceDown(SendingFailed, SurfaceDown):
    """The service could not be reached, or takes nothing now, whatever is sent."""

    def __init__(self, message: str, wish: float = 0.0) -> None:
        super().__init__(message)
        self.wish = wish


@contextmanager
def cut_off_after(seconds: float, find_socket: Callable[[], socket.socket | None]) -> Iterator[None]:
    """Cut the connection once so much time has passed: a service that sends a byte at a time holds nobody."""
    done = threading.Event()

    def cut() -> None:
        pause = seconds
        while not done.wait(pause):
            open_one, pause = find_socket(), CUT_AGAIN
            with suppress(OSError):
                if open_one is not None:
                    socket.socket.shutdown(open_one, socket.SHUT_RDWR)

    threading.Thread(target=cut, name="sayso-cut-off", daemon=True).start()
    try:
        yield
    finally:
        done.set()


def post(
    url: str, body: bytes, headers: Mapping[str, str], *, timeout: float = LONGEST_EXCHANGE, secret: str = ""
) -> bytes:
    """Post this and return the answer; an error unless it was taken. `secret` is left out of what is said."""
    return _exchange("POST", url, body, headers, timeout=timeout, secret=secret)


def fetch(url: str, *, timeout: float = LONGEST_EXCHANGE) -> bytes:
    """Return what is at this address; an error unless it is there. Redirections are not followed."""
    return _exchange("GET", url, None, {"accept": "application/json"}, timeout=timeout, secret="")


def _exchange(
    method: str, url: str, body: bytes | None, headers: Mapping[str, str], *, timeout: float, secret: str
) -> bytes:
    where = urlsplit(url)
    if where.scheme not in ("http", "https") or not where.hostname:
        raise SendingFailed("this is not an address of the web", hint="write https://…")
    speak = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
    connection = speak(where.hostname, where.port, timeout=timeout)
    try:
        opened: list[socket.socket] = []  # the connection forgets its own before the answer was read
        with cut_off_after(timeout, lambda: opened[0] if opened else connection.sock):
            connection.connect()
            opened.append(connection.sock)
            path = where.path + (f"?{where.query}" if where.query else "")
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            content = answer.read(LARGEST_REPLY)
    except ValueError as error:  # whose words would repeat what was to be sent
        raise SendingFailed(f"{type(error).__name__}: this cannot be sent") from None
    except (OSError, http.client.HTTPException) as error:
        why = f"{type(error).__name__}: {error}"
        raise ServiceDown(why.replace(secret, "…") if secret else why) from None
    finally:
        connection.close()
    if answer.status in BUSY or answer.status >= 500:
        raise ServiceDown(f"{where.hostname} answered {answer.status}", _read_wish(answer))
    if not 200 <= answer.status < 300:
        kind = {HTTPStatus.BAD_REQUEST: BadRequest, **dict.fromkeys(GONE, NotThere)}
        raise kind.get(answer.status, SendingFailed)(f"{where.hostname} answered {answer.status}")
    return content


def _read_wish(answer: http.client.HTTPResponse) -> float:
    """The seconds for which the service asks to be left alone (RFC 9110, Retry-After); 0 if it does not."""
    told = answer.headers.get("retry-after", "").strip()
    return float(told) if told.isascii() and told.isdigit() and len(told) < DIGITS else 0.0


def post_json(
    url: str,
    body: Any,
    headers: Mapping[str, str] = {},
    *,
    timeout: float = LONGEST_EXCHANGE,
    secret: str = "",
) -> Any:
    """The same with JSON both ways; None if the answer is not JSON."""
    told = {"content-type": "application/json", **headers}
    content = post(url, msgspec.json.encode(body), told, timeout=timeout, secret=secret)
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return None
