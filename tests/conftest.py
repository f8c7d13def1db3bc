"""What holds for every test, which stores it runs on, and the PostgreSQL server they share.

A test of the doors or the service runs on the store in memory. What depends on rows, transactions or order
is marked `each_store` and runs on every embedded store; with SAYSO_ALL everything does.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest

from sayso.reading.paths import own_places
from tests.support.warm_starts import WarmProcess

EMBEDDED = ("memory", "sqlite")
LONG = ("shell_judge", "crash", "property", "contract", "e2e", "service", "browser")
"""The folders whose single tests take longest. They begin first: no core waits for the last of them."""

WARM = (
    *("agents", "browser", "contract", "crash", "doors", "e2e", "gate", "property", "service", "surfaces"),
    "vectors",
)
"""The folders whose Python processes begin with our modules loaded (`tests/support/warm_starts.py`)."""

FOLDERS = count()


def pytest_configure(config: pytest.Config) -> None:
    """Programs under test are ended by signals, which whoever runs the tests in the background ignores."""
    config.addinivalue_line("markers", "each_store: run on every embedded store")
    config.addinivalue_line("markers", "cold: its processes begin with nothing loaded")
    config.addinivalue_line("markers", "slow: a second or more, or a process; not in `make fast`")
    for one in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(one) is signal.SIG_IGN:
            signal.signal(one, signal.default_int_handler if one is signal.SIGINT else signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {f"tests/{name}/": number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.nodeid[: item.nodeid.find("/", 6) + 1], len(LONG)))


def pytest_collection_finish() -> None:
    """The tests themselves live to the end: garbage is not looked for among them."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for this test. Pytest's own fixture lists the folders of all tests to find the next number."""
    name = re.sub(r"\W", "_", request.node.name)[:20]  # addresses of sockets are short
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(FOLDERS)}"
    folder.mkdir(mode=0o700)
    yield folder
    forget_guarded_files(folder)


class GuardedFiles(dict[str, own_places.OwnKind]):
    """The files that this process guards. Their number, by which Sayso knows them, is that of no others."""

    def __init__(self, files: Mapping[str, own_places.OwnKind]) -> None:
        super().__init__(files)
        self._first = next(FOLDERS) * 1_000_000

    def __len__(self) -> int:
        return self._first + super().__len__()


def forget_guarded_files(folder: Path) -> None:
    """Guard no file of a test that is over: a process that guards thousands reads paths slowly."""
    guarded = dict(own_places.list_opened_files())
    others = {path: kind for path, kind in guarded.items() if not path.startswith(f"{folder}/")}
    if others != guarded:
        own_places._opened = GuardedFiles(others)  # noqa: SLF001  no process but one that runs tests forgets them


@pytest.fixture(autouse=True)
def warm_starts(request: pytest.FixtureRequest) -> Iterator[None]:
    """Undone first of all: with `monkeypatch` here, what a test changes by it would outlive its fixtures."""
    warm = request.node.nodeid.startswith(tuple(f"tests/{name}/" for name in WARM))
    with pytest.MonkeyPatch.context() as patch:
        if warm and request.node.get_closest_marker("cold") is None:
            patch.setattr(subprocess, "Popen", WarmProcess)
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of one server for the whole run. Every test makes a schema of its own on it."""
    from tests.support.postgres_place import running_server

    with running_server() as address:
        yield address


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store_kind" in metafunc.fixturenames:
        every = "SAYSO_ALL" in os.environ or metafunc.definition.get_closest_marker("each_store")
        metafunc.parametrize("store_kind", EMBEDDED if every else EMBEDDED[:1], indirect=True)


@pytest.fixture
def store_kind(request: pytest.FixtureRequest) -> str:
    """The kind of embedded store that this test runs on."""
    kind: str = request.param
    return kind
