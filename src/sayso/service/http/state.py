"""The state of a running service besides the gate: settings, limits, live events and counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from sayso.gate.deliveries.remote_surface import RemoteSurface
from sayso.gate.figures.activity import Activity
from sayso.gate.gate import Gate, current_gate
from sayso.gate.ledger.call_endings import CallEndings
from sayso.gate.questions.asker import Asker
from sayso.gate.refusal_limit import RefusalLimit
from sayso.gate.trusted.receive import RefusalLog
from sayso.service.http.auth import KnownCallers
from sayso.service.http.batches import Batches
from sayso.service.http.lanes import Lanes
from sayso.service.http.limits import Limits
from sayso.service.live.hook_calls import HookCalls
from sayso.service.live.metrics import Metrics
from sayso.service.live.trail import Trail
from sayso.service.live.waiters import Waiters
from sayso.service.shapes import LiveEvent
from sayso.wire import HookDialect


class ServiceSettings(msgspec.Struct, frozen=True):
    """What whoever starts the service decides. Nothing in a request changes it."""

    open_metrics: bool = False
    """Whether /metrics is told without a token. Only where the service is reached from this machine alone."""
    rate: float = 1_000.0
    """Calls a second that a token may make if its own record says nothing, and how many at once."""
    burst: int = 2_000
    waits: int = 2_000
    """How many waits and event streams one token may have open."""
    all_waits: int = 4_000
    """How many agents and hosts may have open together; operators are not counted out."""
    body_rate: float = 256 * 1024.0
    """Bytes of bodies a second that one token may send, and how many at once."""
    body_burst: int = 8 * 1024 * 1024
    held: int = 16 * 1024 * 1024
    """Bytes that the calls of one session that are not over may hold; and, in an hour, those of one token
    that were denied."""
    strangers: int = 1_000
    """Connections on which no token was shown, and how many seconds each may stay."""
    stranger_stays: float = 30.0
    ping: float = 5.0
    """Seconds between the heartbeats of an event stream: who misses two knows that it is not live."""
    slowest_body: float = 10.0
    """Seconds in which a body has to arrive."""
    origins: tuple[str, ...] = ()
    """Where browsers find the page: passkeys are made and used there, and nowhere else."""
    trusted_file: Path | None = None
    """The file of the trusted channel; None for the one in the data folder."""


class ServiceState:
    """One service in one process."""

    def __init__(
        self,
        gate: Gate,
        settings: ServiceSettings | None = None,
        agents: Mapping[str, HookDialect] | None = None,
        surfaces: Sequence[RemoteSurface] = (),
    ) -> None:
        self.gate = gate
        self.agents: Mapping[str, HookDialect] = agents or {}
        """The coding agents whose hooks are answered here."""
        self.hook_calls = HookCalls()
        self.asker = Asker(gate, ())
        """Callers that wait for answers. People are asked on the page, so there are no surfaces here."""
        self.endings = CallEndings(gate)
        self.settings = settings or ServiceSettings()
        self.limits = _limits(self.settings)
        self.lanes = Lanes()
        self.batches = Batches(gate.marked_store, self.look_at_policy)
        self.callers = KnownCallers()
        self.metrics = Metrics()
        self.trail = Trail(gate, self.metrics)
        self.activity = Activity()
        self.waiters = Waiters(self._tell_waiting)
        self.refused_messages = RefusalLog()
        self.surfaces: Mapping[str, RemoteSurface] = {one.name: one for one in surfaces}
        """Surfaces beyond this process that questions and notices are sent to."""
        self.refused_answers = RefusalLimit()

    @property
    def has_policy_moved(self) -> bool:
        gate = self.gate
        return gate.live is not None and gate.live.has_moved(gate.policy)

    def look_at_policy(self) -> None:
        """Go on under the policy in force now."""
        if self.has_policy_moved:
            self.gate = current_gate(self.gate)

    def _tell_waiting(self, question: str) -> None:
        self.trail.tell(LiveEvent("waiting", question, question.rpartition(".")[0]))

    def let_go(self) -> None:
        """The service ends: whoever waits for an answer or for events is let go. Called in its loop."""
        self.asker.let_go()
        self.endings.let_go()
        self.trail.close()


def _limits(settings: ServiceSettings) -> Limits:
    return Limits(
        settings.rate,
        settings.burst,
        settings.waits,
        all_waits=settings.all_waits,
        bytes_rate=settings.body_rate,
        bytes_burst=settings.body_burst,
        refused=settings.held,
    )
