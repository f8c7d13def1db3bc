"""Some rows of the table through real processes: `sayso mcp serve` with an SDK client, and `sayso serve`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from tests.support.door_rows import Row, rows
from tests.support.doors_in_process import STATUSES, Functions, as_told, worst_of
from tests.support.repository import ROOT
from tests.support.service_process import Home, a_home

SERVED = Path(__file__).with_name("served_row.py")
ROWS = {row.id: row for row in rows()}
SAMPLE = (
    "a-secret-is-not-read-because-code-says-reading-is-low",
    "a-preset-does-not-lower-what-code-declares-as-high",
    "env-is-not-written-by-code-that-declares-a-write",
    "a-when-that-leads-to-a-blocked-operation-denies",
)
EACH = pytest.mark.parametrize("row", [ROWS[name] for name in SAMPLE], ids=SAMPLE)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Somebody's home, with a workspace in it where programs run."""
    made = a_home(monkeypatch, tmp_path)
    (tmp_path / "workspace" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "workspace")
    return made


@EACH
def test_a_real_mcp_server_decides_as_the_table_says(row: Row, home: Home) -> None:
    async def asked() -> tuple[dict[str, Any], dict[str, Any]]:
        environment = {**os.environ, "ROW": row.id, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
        words = ["-m", "sayso", "mcp", "serve", f"{SERVED}:gate"]
        server = StdioServerParameters(
            command=sys.executable, args=words, env=environment, cwd=str(home.folder / "workspace")
        )
        async with Client(stdio_client(server)) as client:
            what = {"name": row.tool, "params": row.args}
            checked = await client.call_tool("check", what)
            ran = await client.call_tool("run", {**what, "wait": 0})
            return checked.structured_content or {}, ran.structured_content or {}

    checked, ran = asyncio.run(asked())
    assert (checked["verdict"], checked["rule"]) == (row.expect.verdict, row.expect.rule)
    assert worst_of(checked["operations"]) == row.expect.risk
    assert ran["status"] in STATUSES[row.expect.verdict]


@EACH
def test_a_real_service_decides_as_the_table_says(row: Row, home: Home) -> None:
    policy = {"extends": [row.preset]} if row.policy is None else row.policy
    home.policy.write_text(json.dumps(policy), encoding="utf-8")
    with home.serve() as service, service.connect(home.token("host")) as gate:
        functions = Functions(gate, [row])
        session = gate.session(workspace=str(home.folder / "workspace"))
        assert as_told(gate.check(row.tool, row.args, session=session)) == row.expect
        assert session.run(row.tool, row.args, wait=0).status in STATUSES[row.expect.verdict]
        assert functions.ran == []
