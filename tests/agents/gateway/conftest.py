from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.gateway.place import GatewayPlace


@pytest.fixture
def place(tmp_path: Path) -> GatewayPlace:
    return GatewayPlace(tmp_path)
