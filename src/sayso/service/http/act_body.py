"""The bodies of what the page itself posts: signing in, and the switches of a browser."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from starlette.requests import Request

from sayso.core.digest import parse_json
from sayso.gate.decoding import convert_to
from sayso.service.http.problems import RequestRefused

Body = TypeVar("Body", bound=msgspec.Struct)


async def read_act_body(request: Request, kind: type[Body], most: int) -> Body:
    """Read the body of an act, of so many bytes at most."""
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > most:
            raise RequestRefused(413, "too_large", f"this holds {most:,} bytes at most")
    try:
        return convert_to(parse_json(raw), kind)
    except msgspec.ValidationError as error:
        raise RequestRefused(422, "malformed", str(error)) from error
