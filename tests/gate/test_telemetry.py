"""What programs see of the gate's work: log lines that hold no secret, and spans that tell the same."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sayso import Sayso
from sayso.core.errors import SaysoError
from sayso.doors.python.calls.lease_keeper import LeaseKeeper
from sayso.doors.python.calls.results import ConsentDenied, ConsentTimeout
from sayso.doors.python.workflow import Step
from sayso.gate.questions.surface import AskedQuestion, Reply
from sayso.gate.telemetry import LONGEST, printable_name
from tests.support.gates import KEY
from tests.support.saying import SayingPerson

MARKER = "hunter2-4711"
PROVIDER = TracerProvider()
EVIL = "edit\n2026 ERROR forged line\x1b[31m\u202e" + "x" * 500


@pytest.fixture
def person() -> SayingPerson:
    return SayingPerson(lambda asked: Reply("once", "ana"))


@pytest.fixture
def gate(tmp_path: Path, person: SayingPerson) -> Iterator[Sayso]:
    with Sayso.open("chat", tmp_path / "s.db", surfaces=[person], key=KEY, marks=tmp_path) as opened:
        yield opened


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "sayso")
    return caplog


@pytest.fixture
def spans() -> Iterator[Callable[[], list[ReadableSpan]]]:
    if trace.get_tracer_provider() is not PROVIDER:
        trace.set_tracer_provider(PROVIDER)
    kept = InMemorySpanExporter()
    PROVIDER.add_span_processor(SimpleSpanProcessor(kept))
    yield lambda: list(kept.get_finished_spans())
    kept.shutdown()


def edit(gate: Sayso, *, wait: float = 60.0) -> Callable[[str], str]:
    @gate.requires_consent("files.edit", risk="moderate", reason=MARKER, wait=wait)
    def save(text: str) -> str:
        return text.upper()

    return save


def answering_is_over() -> None:
    """The thread of the surface tells of the answer after whoever waited for it has gone on."""
    for thread in threading.enumerate():
        if thread.name == "sayso-person":
            thread.join(60)


def lines(log: pytest.LogCaptureFixture, name: str) -> list[str]:
    return [record.getMessage() for record in log.records if record.name == name]


def everything_said(log: pytest.LogCaptureFixture) -> str:
    """Every field of every record, with tracebacks, as a formatter could show it."""
    whole = logging.Formatter()
    return "\n".join(f"{whole.format(record)} {vars(record)!r}" for record in log.records)


def everything_traced(spans: list[ReadableSpan]) -> str:
    return "\n".join(f"{span.to_json()} {span.status.description}" for span in spans)


def test_a_call_that_is_asked_and_runs_is_told_line_by_line(
    gate: Sayso, log: pytest.LogCaptureFixture
) -> None:
    assert edit(gate)("text") == "TEXT"
    first, second = lines(log, "sayso.gate")
    assert first.startswith("ask files.edit: rule ask, tool save, session s_")
    assert second.startswith("allow files.edit: rule approved_call, tool save, session s_")
    answering_is_over()
    opened, *closed = lines(log, "sayso.asking")
    assert opened.endswith("opened: files.edit, moderate risk, asked by python")
    answered, waited = sorted(closed, key=lambda line: " after " in line)
    assert answered.endswith("answered: once by ana")
    assert " answered after " in waited
    started, ended = lines(log, "sayso.run")
    assert " started: save for files.edit, session s_" in started
    assert " ended: succeeded, save, session s_" in ended


def test_a_record_carries_its_facts_as_fields(gate: Sayso, log: pytest.LogCaptureFixture) -> None:
    edit(gate)("text")
    decided = next(vars(record) for record in log.records if record.name == "sayso.gate")
    told = {name: decided[f"sayso_{name}"] for name in ("verdict", "operation", "rule", "risk", "tool")}
    assert told == {
        "verdict": "ask",
        "operation": "files.edit",
        "rule": "ask",
        "risk": "moderate",
        "tool": "save",
    }
    assert decided["sayso_question"].startswith(decided["sayso_session"])
    assert len(decided["sayso_digest"]) == 12


def test_a_question_that_is_open_already_is_not_opened_twice(
    gate: Sayso, log: pytest.LogCaptureFixture
) -> None:
    session = gate.session(agent="tester")
    for _ in range(2):
        assert session.call("edit", {"path": "a.py"}).asked
    assert len(lines(log, "sayso.gate")) == 2
    assert len(lines(log, "sayso.asking")) == 1


def test_a_host_that_runs_the_call_itself_is_told_of_as_well(
    gate: Sayso, log: pytest.LogCaptureFixture
) -> None:
    session = gate.session(agent="tester")
    session.hear("Grant standing consent for: git push")
    called = session.call("shell", {"command": "git push"})
    called.failed()
    started, ended = lines(log, "sayso.run")
    assert started.startswith(f"run {called.operation_id} started: shell")
    assert ended.startswith(f"run {called.operation_id} ended: failed")


def test_nobody_in_time_is_told_as_timed_out(
    gate: Sayso, person: SayingPerson, log: pytest.LogCaptureFixture
) -> None:
    person.say = lambda asked: None
    with pytest.raises(ConsentTimeout):
        edit(gate, wait=0.01)("text")
    assert [line.split(" ")[2:4] for line in lines(log, "sayso.asking")][1:] == [["timed", "out"]]


def test_no_argument_command_reason_or_result_is_ever_logged_or_traced(
    gate: Sayso,
    person: SayingPerson,
    log: pytest.LogCaptureFixture,
    spans: Callable[[], list[ReadableSpan]],
) -> None:
    save = edit(gate)
    assert save(MARKER) == MARKER.upper()
    person.say = lambda asked: Reply("edit", "ana", reason=MARKER, edited={"text": f"{MARKER}!"})
    assert save(f"{MARKER} 2") == f"{MARKER.upper()}!"
    person.say = lambda asked: Reply("deny", "ana", reason=MARKER)
    with pytest.raises(ConsentDenied, match=MARKER):
        save(f"{MARKER} 3")
    person.say = lambda asked: Reply("once", "ana")

    @gate.requires_consent("files.edit", risk="moderate", wait=60.0)
    def broken(text: str) -> str:
        raise ValueError(text)

    with pytest.raises(ValueError, match=MARKER):
        broken(MARKER)
    gate.capability("greet")(lambda text: text * 2)
    assert gate.run("greet", {"text": MARKER}).status == "ok"
    gate.workflow("work", [Step("one", broken)], operations=["files.edit"])
    assert gate.run("work", {"text": MARKER}).status == "error"
    session = gate.session(agent="tester")
    session.hear(f"Grant standing consent for: echo {MARKER}")
    session.call("shell", {"command": f"echo {MARKER}"}).succeeded(MARKER.encode())
    answering_is_over()
    assert {record.name for record in log.records} >= {"sayso.gate", "sayso.asking", "sayso.run"}
    assert MARKER not in everything_said(log)
    assert {span.name for span in spans()} == {"sayso.decide", "sayso.ask", "sayso.run"}
    assert MARKER not in everything_traced(spans())


def test_a_surface_that_fails_is_told_by_kind_and_place_and_not_in_its_own_words(
    gate: Sayso, person: SayingPerson, log: pytest.LogCaptureFixture
) -> None:
    failed = threading.Event()
    warned = logging.Handler()
    warned.emit = lambda record: failed.set() if record.levelno == logging.WARNING else None  # type: ignore[method-assign]
    logging.getLogger("sayso.asking").addHandler(warned)

    def denied_once_it_failed(question: str) -> None:
        failed.wait(60)
        gate.answer(question, "deny", by="ana")

    def fails(asked: AskedQuestion) -> Reply:
        threading.Thread(target=denied_once_it_failed, args=(asked.question.id,)).start()
        raise RuntimeError(f"could not show {asked.question.text} {MARKER}")

    person.say = fails
    with pytest.raises(ConsentDenied):
        edit(gate)(MARKER)
    assert failed.is_set()
    logging.getLogger("sayso.asking").removeHandler(warned)
    (warning,) = [record.getMessage() for record in log.records if record.levelno == logging.WARNING]
    assert "the surface person failed at question" in warning
    assert "RuntimeError at test_telemetry.py:" in warning
    assert MARKER not in everything_said(log)


def test_names_that_an_agent_chose_cannot_forge_a_line(gate: Sayso, log: pytest.LogCaptureFixture) -> None:
    gate.session(agent=EVIL).call(EVIL, {"path": "a.py"})
    assert lines(log, "sayso.gate")
    for line in lines(log, "sayso.gate") + lines(log, "sayso.asking"):
        assert "\n" not in line
        assert "\x1b" not in line
        assert "\u202e" not in line
        assert len(line) < 5 * LONGEST
    assert len(printable_name("\u202e" * 10_000)) <= LONGEST + 1


def test_a_session_changed_by_hand_is_a_warning(
    gate: Sayso, tmp_path: Path, log: pytest.LogCaptureFixture
) -> None:
    session = gate.session(agent="tester")
    with closing(sqlite3.connect(tmp_path / "s.db")) as by_hand, by_hand:
        by_hand.execute("UPDATE sessions SET agent = 'other'")
    with pytest.raises(SaysoError):
        session.call("edit", {"path": "a.py"})
    assert lines(log, "sayso.gate") == [f"refused in session {session.id}: tampered_session"]
    assert [record.levelno for record in log.records] == [logging.WARNING]


def test_a_lease_that_is_lost_is_a_warning(gate: Sayso, log: pytest.LogCaptureFixture) -> None:
    LeaseKeeper(gate.door.beat)._beat_one("op_nowhere", 1)  # noqa: SLF001  the beat itself takes ten seconds
    assert lines(log, "sayso.ledger") == ["the lease of op_nowhere could not be renewed: unknown_call"]


def test_nothing_is_formatted_or_written_unless_the_program_wants_it(
    gate: Sayso, capfd: pytest.CaptureFixture[str]
) -> None:
    assert [type(one).__name__ for one in logging.getLogger("sayso").handlers].count("NullHandler") == 1
    assert edit(gate)("text") == "TEXT"
    assert capfd.readouterr() == ("", "")


def test_a_log_filter_or_span_processor_that_fails_changes_no_call(
    gate: Sayso, spans: Callable[[], list[ReadableSpan]], log: pytest.LogCaptureFixture
) -> None:
    def broken(record: logging.LogRecord) -> bool:
        raise RuntimeError("filter")

    class Broken(SimpleSpanProcessor):
        on = True

        def on_end(self, span: ReadableSpan) -> None:
            if self.on:
                raise RuntimeError("processor")

    processor = Broken(InMemorySpanExporter())
    PROVIDER.add_span_processor(processor)
    loggers = [logging.getLogger(f"sayso.{name}") for name in ("gate", "asking", "run")]
    for logger in loggers:
        logger.addFilter(broken)
    try:
        assert edit(gate)("text") == "TEXT"
    finally:
        processor.on = False
        for logger in loggers:
            logger.removeFilter(broken)
    assert log.records == []


def test_spans_tell_the_decision_the_wait_and_the_run_under_the_callers_span(
    gate: Sayso, spans: Callable[[], list[ReadableSpan]]
) -> None:
    with trace.get_tracer("test").start_as_current_span("caller") as caller:
        edit(gate)("text")
    told = spans()
    assert [span.name for span in told] == [
        "sayso.decide",
        "sayso.ask",
        "sayso.decide",
        "sayso.run",
        "caller",
    ]
    assert {_parent(span) for span in told[:-1]} == {caller.get_span_context().span_id}
    asked, waited, allowed, ran = (dict(span.attributes or {}) for span in told[:-1])
    assert (asked["sayso.verdict"], asked["sayso.rule"], asked["sayso.risk"]) == ("ask", "ask", "moderate")
    assert (allowed["sayso.verdict"], allowed["sayso.rule"]) == ("allow", "approved_call")
    assert waited["sayso.question"] == asked["sayso.question"]
    assert (waited["sayso.state"], waited["sayso.answer"]) == ("answered", "once")
    assert (ran["gen_ai.tool.name"], ran["sayso.operation"]) == ("save", "files.edit")
    assert (ran["sayso.state"], ran["sayso.session"]) == ("succeeded", asked["sayso.session"])
    assert str(ran["gen_ai.tool.call.id"]).startswith("op_")


def test_what_a_function_traces_stands_under_its_run_sync_and_async(
    gate: Sayso, spans: Callable[[], list[ReadableSpan]]
) -> None:
    mine = trace.get_tracer("test")

    @gate.capability("sync")
    def sync() -> None:
        mine.start_span("inner").end()

    @gate.capability("not_sync")
    async def not_sync() -> None:
        await asyncio.sleep(0)
        mine.start_span("inner").end()

    async def both_at_once() -> None:
        session = gate.session(agent="tester")
        with mine.start_as_current_span("outer"):
            results = await asyncio.gather(session.arun("sync"), session.arun("not_sync"))
        assert [result.status for result in results] == ["ok", "ok"]

    assert gate.run("sync").status == "ok"
    assert gate.run("not_sync").status == "ok"
    asyncio.run(both_at_once())
    told = spans()
    runs = {_id(span): span for span in told if span.name == "sayso.run"}
    inner = [_parent(span) for span in told if span.name == "inner"]
    assert len(runs) == 4
    assert sorted(filter(None, inner)) == sorted(runs)
    (outer,) = [_id(span) for span in told if span.name == "outer"]
    assert [_parent(span) for span in told if span.name == "sayso.run"].count(outer) == 2
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_an_error_is_told_by_its_kind_alone(gate: Sayso, spans: Callable[[], list[ReadableSpan]]) -> None:
    @gate.capability("fails")
    def fails() -> None:
        raise ValueError(MARKER)

    assert gate.run("fails").status == "error"
    (run,) = [span for span in spans() if span.name == "sayso.run"]
    assert run.status.status_code is trace.StatusCode.ERROR
    assert dict(run.attributes or {})["error.type"] == "ValueError"
    assert run.events == ()


def test_a_refusal_by_the_gate_marks_its_decision_as_failed(
    gate: Sayso, spans: Callable[[], list[ReadableSpan]]
) -> None:
    session = gate.session(agent="tester")
    session.end()
    with pytest.raises(SaysoError):
        session.call("edit", {"path": "a.py"})
    (decided,) = spans()
    assert decided.status.status_code is trace.StatusCode.ERROR
    assert dict(decided.attributes or {}) == {"error.type": "UnknownSession"}


def _id(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id


def _parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id
