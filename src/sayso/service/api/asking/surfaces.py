"""What surfaces send us: buttons that were pressed there. Each surface knows how to tell its own."""

from __future__ import annotations

import msgspec

from sayso.core.signed_messages import BadMessage
from sayso.gate.deliveries.answers import record_forgery, take_answer
from sayso.service.http.endpoints import Context, Endpoint, UnreadBody
from sayso.service.http.problems import RequestRefused
from sayso.wire import SURFACES_PATH


class SurfaceAnswer(msgspec.Struct, frozen=True):
    """How the question stands after the answer, and whether it was this answer."""

    question: str
    state: str
    answer: str | None
    yours: bool


def receive_answer(context: Context) -> SurfaceAnswer:
    """Take an answer from a surface. Whoever sends it proves nothing but what the surface checks."""
    body: UnreadBody = context.body
    surface = context.running.surfaces.get(context.parameters["surface"])
    if surface is None:
        raise RequestRefused(404, "not_found", "there is no such surface here")
    try:
        given = surface.receive(body.headers, body.content)
    except BadMessage as error:
        record_forgery(context.gate, surface, error.message, context.running.refused_answers)
        raise
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise RequestRefused(400, "malformed", "this is not an answer") from error
    if given is None:
        return SurfaceAnswer("", "not answered", None, yours=False)
    stands = take_answer(context.gate, surface, given, context.running.refused_answers)
    return SurfaceAnswer(stands.question, stands.state, stands.answer, stands.yours)


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
)
