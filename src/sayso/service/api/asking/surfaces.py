"""What surfaces send us: buttons that were pressed there. Each surface knows how to tell its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from starlette.responses import Response

from sayso.core.signed_messages import BadMessage
from sayso.gate.deliveries.answers import record_forgery, take_answer
from sayso.gate.deliveries.fetching import open_cards
from sayso.gate.deliveries.remote_surface import QuestionCard, RemoteSurface
from sayso.service.http.endpoints import Context, Endpoint, UnreadBody
from sayso.service.http.problems import RequestRefused
from sayso.surfaces.remote.browser import BrowserSurface, find_browser_surface
from sayso.surfaces.remote.obsidian import Obsidian
from sayso.wire import SURFACES_PATH


class SurfaceAnswer(msgspec.Struct, frozen=True):
    """How the question stands after the answer, and whether it was this answer."""

    question: str
    state: str
    answer: str | None
    yours: bool


def fetch_cards(context: Context) -> Response:
    """Return what waits on a surface that fetches its questions; the answer is signed as the request was."""
    body: UnreadBody = context.body
    surface = context.running.surfaces.get(context.parameters["surface"])
    if not isinstance(surface, Obsidian):
        raise RequestRefused(404, "not_found", "no surface of that name fetches its questions")
    with _refusing(context, surface, "this asks for nothing"):
        message = surface.check_fetch(body.headers, body.content)
    cards = open_cards(context.gate, surface, lambda question: f"{context.base}/#/question/{question}")
    content = msgspec.json.encode(cards)
    return Response(content, headers=surface.sign(message, content), media_type="application/json")


def receive_answer(context: Context) -> SurfaceAnswer:
    """Take an answer from a surface. Whoever sends it proves nothing but what the surface checks."""
    body: UnreadBody = context.body
    name = context.parameters["surface"]
    surface: RemoteSurface | None = context.running.surfaces.get(name)
    surface = surface or find_browser_surface(context.gate, name)
    if surface is None:
        raise RequestRefused(404, "not_found", "there is no such surface here")
    with _refusing(context, surface, "this is not an answer"):
        given = surface.receive(body.headers, body.content)
    if given is None:
        return SurfaceAnswer("", "not answered", None, yours=False)
    who = surface.answerer if isinstance(surface, BrowserSurface) else None
    stands = take_answer(context.gate, surface, given, context.running.refused_answers, who=who)
    return SurfaceAnswer(stands.question, stands.state, stands.answer, stands.yours)


@contextmanager
def _refusing(context: Context, surface: RemoteSurface, malformed: str) -> Iterator[None]:
    """Record a forged message, and refuse one that cannot be read."""
    try:
        yield
    except BadMessage as error:
        record_forgery(context.gate, surface, error.message, context.running.refused_answers)
        raise
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise RequestRefused(400, "malformed", malformed) from error


ENDPOINTS = (
    Endpoint(
        "POST",
        SURFACES_PATH + "/{surface}",
        frozenset(),
        "Take an answer from a surface",
        receive_answer,
        result=SurfaceAnswer,
        raw=True,
    ),
    Endpoint(
        "POST",
        SURFACES_PATH + "/{surface}/questions",
        frozenset(),
        "Fetch what waits on a surface",
        fetch_cards,
        result=list[QuestionCard],
        raw=True,
    ),
)
