"""Gates on memory and SQLite, with a clock that tests move by hand."""

from __future__ import annotations

from tests.gate.conftest import gate, session
from tests.support.gates import clock, no_settings

__all__ = ["clock", "gate", "no_settings", "session"]
