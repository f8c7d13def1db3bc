"""The endpoints are found without the framework, and exactly those that the framework would find."""

from __future__ import annotations

import re

from starlette.routing import Match, Route

from sayso.service.app import DESCRIBED, SOONEST
from sayso.service.http.endpoints import Routes
from tests.support.service import Service

METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD", "get", "")
NAMES = ("op_1", "file", "evaluation", "a.b", "%2F", "ü", " ", "{call}")


def addresses() -> list[str]:
    whole = [re.sub(r"\{\w+\}", name, one.path) for one in DESCRIBED for name in NAMES]
    broken = [path + more for path in whole for more in ("/", "/x", "//", "x")]
    lacking = [path.replace("/op_1", "/") for path in whole]
    return sorted({*whole, *broken, *lacking, "", "/", "//", "/v1", "v1/calls", "/V1/calls"})


def found_by_framework(routes: list[Route], method: str, path: str) -> tuple[str, dict[str, str]] | None:
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}
    for route in routes:
        match, more = route.matches(scope)
        if match is Match.FULL:
            return route.path, more["path_params"]
    return None


def test_every_address_leads_where_the_framework_would_lead(service: Service) -> None:
    ours = Routes(SOONEST)
    routes = [route for route in service.app.routes if isinstance(route, Route)]
    found = 0
    for path in addresses():
        for method in METHODS:
            there = found_by_framework(routes, method, path)
            here = ours.find(method, path)
            if method == "HEAD":
                assert here is None  # left to the framework, which knows what a HEAD is
                continue
            assert (None if here is None else (here[0].path, dict(here[1]))) == there, (method, path)
            found += here is not None
    assert found > len(DESCRIBED)
