"""Counters for Prometheus: what was decided, how long people took to answer, what was requested."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from sayso.core.audit.events import DECISIONS, Answered, read_decision
from sayso.core.durations import HOUR, MINUTE
from sayso.store.contract import EntryRow, Reader

BUCKETS = (1.0, 5.0, 15.0, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 2 * HOUR)
VERSION = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counted since this process began, in its own stream of the audit trail."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decisions: Counter[tuple[str, str]] = Counter()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._answers: Counter[int] = Counter()
        self._seconds = 0.0

    def count_request(self, method: str, path: str, status: int) -> None:
        with self._lock:
            self._requests[method, path, status] += 1

    def count_entry(self, tx: Reader, row: EntryRow, details: Mapping[str, Any]) -> None:
        """Count a new entry."""
        if row.event in DECISIONS:
            decided = read_decision(details)
            with self._lock:
                self._decisions[decided.verdict, decided.rule] += 1
        elif row.event == Answered.event:
            question = tx.question(str(details.get(Answered.subject)))
            if question is not None and question.closed_at is not None:
                self._count_answer(question.closed_at - question.opened_at)

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All of it in the text format; `gauges` are values of this moment, each with its help."""
        with self._lock:
            return "\n".join((*self._lines(gauges), ""))

    def _count_answer(self, seconds: float) -> None:
        with self._lock:
            self._answers[bisect_left(BUCKETS, seconds)] += 1
            self._seconds += seconds

    def _lines(self, gauges: Mapping[str, tuple[str, float]]) -> Iterator[str]:
        yield from _head("sayso_decisions_total", "Decisions by verdict and rule.", "counter")
        for (verdict, rule), count in sorted(self._decisions.items()):
            yield f'sayso_decisions_total{{verdict="{_safe(verdict)}",rule="{_safe(rule)}"}} {count}'
        yield from _head("sayso_requests_total", "Requests by method, path and status.", "counter")
        for (method, path, status), count in sorted(self._requests.items()):
            yield f'sayso_requests_total{{method="{method}",path="{path}",status="{status}"}} {count}'
        yield from _head("sayso_answer_seconds", "How long questions were open until answered.", "histogram")
        for number, bound in enumerate((*map(str, BUCKETS), "+Inf")):
            below = sum(count for place, count in self._answers.items() if place <= number)
            yield f'sayso_answer_seconds_bucket{{le="{bound}"}} {below}'
        yield f"sayso_answer_seconds_sum {self._seconds}"
        yield f"sayso_answer_seconds_count {self._answers.total()}"
        for name, (about, value) in gauges.items():
            yield from _head(name, about, "gauge")
            yield f"{name} {value:g}"


def _head(name: str, about: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _safe(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
