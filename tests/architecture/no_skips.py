"""A pytest plugin for CI: a run that skipped a test has failed, because what was not run was not tested."""

from __future__ import annotations

import pytest
from _pytest.terminal import TerminalReporter


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run if a test was skipped. Only the process that prints the summary knows of all of them."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not isinstance(reporter, TerminalReporter) or hasattr(session.config, "workerinput"):
        return
    skipped = len(reporter.stats.get("skipped", ()))
    if skipped and session.exitstatus == pytest.ExitCode.OK:
        reporter.ensure_newline()
        reporter.write_line(f"{skipped} skipped: in CI nothing may be skipped", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
