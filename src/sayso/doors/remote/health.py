"""Whether a service can do its work, as it says itself to anybody who asks."""

from __future__ import annotations

from sayso.core.errors import SaysoError
from sayso.doors.remote.exchange import LineLost, NotReached
from sayso.doors.remote.line import KNOCK, ServiceAddress, Unreachable, error_from_answer

SILENT = "it does not answer"
SILENT_HINT = "see its log, or restart it: `sayso serve --restart`"


def find_trouble(place: ServiceAddress) -> SaysoError | None:
    """Return why the service at this address cannot do its work; None if it can."""
    server = place.make_server()
    try:
        answer = server.ask(KNOCK)
    except (NotReached, LineLost):
        return Unreachable(SILENT, hint=SILENT_HINT)
    finally:
        server.close()
    return None if answer.is_success else error_from_answer(answer, place)
