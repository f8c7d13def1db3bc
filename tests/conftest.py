"""What holds for every test."""

from __future__ import annotations

import signal

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Programs under test are ended by signals, which whoever runs the tests in the background ignores."""
    for one in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(one) is signal.SIG_IGN:
            signal.signal(one, signal.default_int_handler if one is signal.SIGINT else signal.SIG_DFL)
