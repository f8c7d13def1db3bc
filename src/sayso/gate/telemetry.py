"""Logs and traces of the gate's work: the standard `logging`, and spans of OpenTelemetry.

- Neither holds an argument, a command, a reason, a result or an error's message: what agents, tools and
  people write may be secret. Names that others chose are made visible and cut.
- Nothing here can fail or change what it reports.
- The loggers are `sayso.gate`, `sayso.asking`, `sayso.run` and `sayso.ledger`.
- Spans are made once the program itself has loaded OpenTelemetry; before that nobody could collect them, and
  Sayso does not load it.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import PurePath
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Self

from sayso.core.decision import Decision, Question
from sayso.core.errors import SaysoError
from sayso.core.model import Request
from sayso.core.words import visible

if TYPE_CHECKING:
    from opentelemetry import trace

Facts = dict[str, str]
WhenCommitted = Callable[[Callable[[], object]], None]
"""Does something once what was decided is committed."""

LONGEST = 120
SHORT = 12
TRACE = "opentelemetry.trace"
TAMPERED = ("tampered_session", "tampered_call")
COMMON = {"tool": "gen_ai.tool.name", "call": "gen_ai.tool.call.id", "agent": "gen_ai.agent.name"}
"""What others call the same fact; in spans it stands under that name."""

logging.getLogger("sayso").addHandler(logging.NullHandler())  # whoever runs the program says what is logged
GATE, ASKING = logging.getLogger("sayso.gate"), logging.getLogger("sayso.asking")
RUN, LEDGER = logging.getLogger("sayso.run"), logging.getLogger("sayso.ledger")


class Span:
    """A span, if the program collects any; otherwise nothing. What goes wrong in it stays in it."""

    name: ClassVar[str]
    _scope: AbstractContextManager[trace.Span] | None = None
    _span: trace.Span | None = None

    def __enter__(self) -> Self:
        if TRACE in sys.modules:
            with suppress(Exception):
                self._begin()
        return self

    def _begin(self) -> None:
        from opentelemetry import trace

        self._scope = trace.get_tracer("sayso").start_as_current_span(
            self.name, record_exception=False, set_status_on_exception=False
        )
        span = self._scope.__enter__()
        self._span = span if span.is_recording() else None

    def tell(self, facts: Facts) -> None:
        if self._span is not None:
            with suppress(Exception):
                self._span.set_attributes({COMMON.get(k, f"sayso.{k}"): v for k, v in facts.items()})

    def fail(self, error: BaseException) -> None:
        """The span ends in an error. Of the error it says the kind: its message may hold anything."""
        if self._span is not None:
            with suppress(Exception):
                from opentelemetry.trace import StatusCode

                self._span.set_attribute("error.type", printable_name(type(error).__name__))
                self._span.set_status(StatusCode.ERROR)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._scope is not None:
            if error is not None:
                self.fail(error)
            with suppress(Exception):
                self._scope.__exit__(None, None, None)


class DecidingSpan(Span):
    """The span around a decision's transaction: the decision is logged once it is committed."""

    name = "sayso.decide"

    def __init__(self, session: str, when_committed: WhenCommitted) -> None:
        self._session = session
        self._when_committed = when_committed
        self._decided: tuple[Request, Decision, Question | None, bool] | None = None

    def set_decision(
        self, request: Request, decision: Decision, question: Question | None, *, opened: bool
    ) -> None:
        """Note the decision. `opened`: the question is new, not one that was open already."""
        self._decided = request, decision, question, opened

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if (
            error is None
            and self._decided is not None
            and (self._span is not None or GATE.isEnabledFor(logging.INFO))
        ):
            with suppress(Exception):
                self._log_decision(*self._decided)
        if isinstance(error, SaysoError) and error.code in TAMPERED:
            _log_line(
                GATE, logging.WARNING, "refused in session %(session)s: %(error)s", self._refusal_facts(error)
            )
        if self._scope is not None:
            super().__exit__(kind, error, trace)

    def _log_decision(
        self, request: Request, decision: Decision, question: Question | None, opened: bool
    ) -> None:
        facts = _request_facts(request) | {
            "verdict": decision.verdict.value,
            "rule": decision.rule,
            "risk": decision.risk.word,
        }
        if question is not None:
            facts["question"] = question.id
        self.tell(facts)
        self._when_committed(partial(_log_decided, facts, opened=opened))

    def _refusal_facts(self, error: SaysoError) -> Facts:
        return {"session": printable_name(self._session), "error": error.code}


def _log_decided(facts: Facts, *, opened: bool) -> None:
    line = "%(verdict)s %(operation)s: rule %(rule)s, tool %(tool)s, session %(session)s, %(digest)s"
    _log_line(GATE, logging.INFO, line, facts)
    if opened:
        asks = "question %(question)s opened: %(operation)s, %(risk)s risk, asked by %(agent)s"
        _log_line(ASKING, logging.INFO, asks, facts)


class AskingSpan(Span):
    """Around the wait for a person: how long it took, and what came of it."""

    name = "sayso.ask"

    def __init__(self, question: str, request: Request) -> None:
        self._facts = _request_facts(request) | {"question": question}
        self._began = time.monotonic()

    def over(self, state: str, answer: str | None) -> None:
        """Note the question's state when nobody waits for it here any longer."""
        said = {"state": "timed out" if state == "open" else state, "answer": printable_name(answer or "")}
        facts = self._facts | said | {"seconds": f"{time.monotonic() - self._began:.1f}"}
        self.tell(facts)
        line = "question %(question)s %(state)s after %(seconds)s s"
        _log_line(ASKING, logging.INFO, f"{line}: %(answer)s" if answer else line, facts)


class RunningSpan(Span):
    """Around the function of a call, or the steps of a workflow."""

    name = "sayso.run"

    def __init__(self, call: str, request: Request) -> None:
        self._call, self._request = call, request

    def __enter__(self) -> Self:
        if TRACE in sys.modules:
            super().__enter__()
            if self._span is not None:
                self.tell(_request_facts(self._request) | {"call": self._call})
        if RUN.isEnabledFor(logging.INFO):
            log_run_start(self._call, self._request)
        return self

    def set_end(self, state: str, error: BaseException | None = None) -> None:
        if self._span is not None:
            self.tell({"state": state})
        if error is not None:
            self.fail(error)
        if RUN.isEnabledFor(logging.INFO):
            log_run_end(self._call, self._request, state)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.set_end("failed")
        if self._scope is not None:
            super().__exit__(kind, error, trace)


def log_answer(question: str, answer: str, by: str) -> None:
    facts = {"question": question, "answer": printable_name(answer), "by": printable_name(by)}
    _log_line(ASKING, logging.INFO, "question %(question)s answered: %(answer)s by %(by)s", facts)


def log_approval(question: str, by: str, missing: str) -> None:
    """One of several approvals; the question stays open."""
    facts = {"question": question, "by": printable_name(by), "missing": printable_name(missing)}
    _log_line(ASKING, logging.INFO, "question %(question)s approved by %(by)s: %(missing)s", facts)


def log_run_start(call: str, request: Request) -> None:
    if RUN.isEnabledFor(logging.INFO):
        line = "run %(call)s started: %(tool)s for %(operation)s, session %(session)s"
        _log_line(RUN, logging.INFO, line, _request_facts(request) | {"call": call})


def log_run_end(call: str, request: Request, state: str) -> None:
    if RUN.isEnabledFor(logging.INFO):
        facts = _request_facts(request) | {"call": call, "state": state}
        _log_line(RUN, logging.INFO, "run %(call)s ended: %(state)s, %(tool)s, session %(session)s", facts)


def log_tampering(session: str, finding: str) -> None:
    """Warn that something in the store was tampered with, and does not count."""
    facts = {"session": printable_name(session), "finding": printable_name(finding)}
    _log_line(GATE, logging.WARNING, "tampering, session %(session)s: %(finding)s", facts)


def log_policy_alert(notice: str) -> None:
    """Warn about the policy file."""
    _log_line(GATE, logging.WARNING, "policy: %(notice)s", {"notice": printable_name(notice)})


def log_lease_lost(call: str, error: SaysoError) -> None:
    facts = {"call": call, "error": error.code}
    _log_line(LEDGER, logging.WARNING, "the lease of %(call)s could not be renewed: %(error)s", facts)


def log_holder_gone(call: str, session: str) -> None:
    line = "nobody keeps %(call)s of session %(session)s any more: it is ambiguous until it is resolved"
    _log_line(LEDGER, logging.WARNING, line, {"call": call, "session": printable_name(session)})


def log_surface_failure(surface: str, question: str, error: BaseException) -> None:
    facts = {"surface": printable_name(surface), "question": question, "error": describe_error(error)}
    line = "the surface %(surface)s failed at question %(question)s: %(error)s"
    _log_line(ASKING, logging.WARNING, line, facts)


def printable_name(name: str) -> str:
    """A name somebody else chose: every character of it to be seen, on one line, and not long."""
    seen = visible(name[: LONGEST + 1])
    return seen if len(seen) <= LONGEST else f"{seen[:LONGEST]}…"


def describe_error(error: BaseException) -> str:
    """Return the kind of error, and the line of code it comes from."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = "" if at is None else f" at {PurePath(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}"
    return f"{printable_name(type(error).__name__)}{where}"


def _request_facts(request: Request) -> Facts:
    """Return who wants to do what, by names alone."""
    names = request.operation_names
    return {
        "operation": printable_name(", ".join(names)),
        "tool": printable_name(request.call.tool),
        "agent": printable_name(request.agent),
        "session": printable_name(request.session),
        "digest": request.digest[:SHORT],
    }


def _log_line(logger: logging.Logger, level: int, line: str, facts: Facts) -> None:
    """One line, with its facts as fields `sayso_…` for whoever formats records as JSON."""
    if logger.isEnabledFor(level):
        with suppress(Exception):
            logger.log(level, line, facts, extra={f"sayso_{name}": fact for name, fact in facts.items()})
