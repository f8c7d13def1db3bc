"""What one running service holds besides the gate: its settings, limits, live events and counters."""

from __future__ import annotations

import msgspec

from sayso.doors.python.embedded import EmbeddedDoor
from sayso.gate.activity import Activity
from sayso.service.limits import Limits
from sayso.service.metrics import Metrics
from sayso.service.shapes import EventTold
from sayso.service.trail import Trail
from sayso.service.uses import Uses
from sayso.service.waiters import Waiters


class Settings(msgspec.Struct, frozen=True):
    """What whoever starts the service decides. Nothing in a request changes it."""

    open_metrics: bool = False
    """Whether /metrics is told without a token. Only where the service is reached from this machine alone."""
    rate: float = 50.0
    """Requests a second that one token may make, and how many at once."""
    burst: int = 500
    waits: int = 2_000
    """How many waits and event streams one token may have open."""
    ping: float = 5.0
    """Seconds between the heartbeats of an event stream: who misses two knows that it is not live."""
    slowest_body: float = 10.0
    """Seconds in which a body has to arrive."""
    origins: tuple[str, ...] = ()
    """Where browsers find the page: passkeys are made and used there, and nowhere else."""


class Running:
    """One service in one process."""

    def __init__(self, door: EmbeddedDoor, settings: Settings | None = None) -> None:
        self.door = door
        self.settings = settings or Settings()
        self.limits = Limits(self.settings.rate, self.settings.burst, self.settings.waits)
        self.metrics = Metrics()
        self.trail = Trail(door.gate, self.metrics)
        self.uses = Uses()
        self.activity = Activity()
        self.waiters = Waiters(self._tell_waiting)

    def _tell_waiting(self, question: str) -> None:
        self.trail.tell(EventTold("waiting", question, question.rpartition(".")[0]))

    def let_go(self) -> None:
        """The service ends: whoever waits for an answer or for events is let go. Called in its loop."""
        self.door.asker.let_go()
        self.trail.close()
