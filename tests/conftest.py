"""What holds for every test, and the PostgreSQL server that they share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Programs under test are ended by signals, which whoever runs the tests in the background ignores."""
    for one in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(one) is signal.SIG_IGN:
            signal.signal(one, signal.default_int_handler if one is signal.SIGINT else signal.SIG_DFL)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of one server for the whole run. Every test makes a schema of its own on it."""
    from tests.support.postgres_place import running_server

    with running_server() as address:
        yield address
