"""A tool that reads never fetches from the network or writes a file unasked, and no name hides in a glob."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sayso.core.errors import MalformedRequest
from sayso.policy import load_text
from tests.attack.opening import a_gate, a_service
from tests.attack.workplaces import work

__all__ = ["work"]

ADDRESSES = [
    "http://169.254.169.254/",
    "HTTP://169.254.169.254/latest/meta-data",
    " http://169.254.169.254/",
    "'https://example.com/x'",
    "https:/example.com/x",
    "http:\\\\example.com",
    "s3://bucket/key",
    "ftp://example.com/x",
]


@pytest.mark.parametrize("path", ADDRESSES)
@pytest.mark.parametrize("preset", ["balanced", "coding"])
def test_a_file_reader_never_fetches_an_address_unasked(work: Path, preset: str, path: str) -> None:
    with a_gate(f"extends: [{preset}]") as gate, a_service(gate) as service:
        session = service.opened("host", workspace=str(work))
        for tool, args, more in (
            ("read_file", {"path": path}, {}),
            ("Read", {"file_path": path}, {}),
            ("list_files", {"path": [path]}, {}),
            ("peek", {"path": path}, {"operations": [{"operation": "files.read"}]}),
            ("peek", {"spec": {"file": path}}, {"operations": [{"operation": "files.read"}]}),
        ):
            body = {"session": session, "tool": tool, "args": args, "folder": str(work), **more}
            found = service.post("host", "/v1/calls", body).json()
            assert found["status"] != "allowed", (tool, found)


OUTPUTS: list[dict[str, Any]] = [
    {"output": "AGENTS.md"},
    {"out": "AGENTS.md"},
    {"output_file": "./AGENTS.md"},
    {"outputPath": "AGENTS.md"},
    {"save_to": "AGENTS.md"},
    {"write_to": "AGENTS.md"},
    {"dest": "AGENTS.md"},
    {"options": {"output": "AGENTS.md"}},
    {"output": ".claude/settings.json"},
]


@pytest.mark.parametrize("extra", OUTPUTS)
@pytest.mark.parametrize("preset", ["balanced", "coding"])
def test_a_search_never_writes_a_guarded_file(work: Path, preset: str, extra: dict[str, Any]) -> None:
    with a_gate(f"extends: [{preset}]") as gate, a_service(gate) as service:
        session = service.opened("host", workspace=str(work))
        for tool, more in (
            ("search_files", {}),
            ("look_up", {"operations": [{"operation": "files.search"}]}),
        ):
            args = {"query": "x", "path": ".", **extra}
            body = {"session": session, "tool": tool, "args": args, "folder": str(work), **more}
            found = service.post("host", "/v1/calls", body).json()
            assert found["rule"] == "blocked", (tool, found)


@pytest.mark.parametrize(
    "extra", [{"output": "report.txt"}, {"output": "notes.txt"}, {"save_to": "/etc/cron.d/x"}]
)
def test_a_search_never_writes_a_file_unasked(work: Path, extra: dict[str, Any]) -> None:
    with a_gate("extends: [balanced]") as gate, a_service(gate) as service:
        body = {"session": service.opened("host", workspace=str(work)), "folder": str(work)}
        call = body | {"tool": "search_files", "args": {"query": "x", "path": ".", **extra}}
        assert service.post("host", "/v1/calls", call).json()["status"] != "allowed"


@pytest.mark.parametrize("extra", [{}, {"output": "json"}, {"output_mode": "content"}, {"timeout": 5}])
def test_a_search_is_still_free(work: Path, extra: dict[str, Any]) -> None:
    (work / "AGENTS.md").write_text("x")
    with a_gate("extends: [balanced]") as gate, a_service(gate) as service:
        body = {"session": service.opened("host", workspace=str(work)), "folder": str(work)}
        call = body | {"tool": "search_files", "args": {"query": "x", "path": ".", **extra}}
        assert service.post("host", "/v1/calls", call).json()["status"] == "allowed"


GLOBS = """
domains:
  bank: {autonomous: [look], requires_approval: [], blocked: [wipe]}
tools:
  - {tool: "acct_*", operation: bank.look}
  - {tool: "wipe?all", operation: bank.wipe}
"""


@pytest.mark.parametrize(
    "tool",
    [
        "acct_look\u200b",
        "acct_\n",
        "acct_\x00x",
        "acct_\u202elook",
        "acct_\u2028",
        "wipe\u00adall",
        "wi\u200bpe_all",
    ],
)
def test_a_glob_never_fits_a_name_with_characters_that_nobody_sees(tool: str) -> None:
    policy = load_text(GLOBS)
    assert [one.operation for one in policy.entries_for("acct_look")] == ["bank.look"]
    with suppress(MalformedRequest):
        assert policy.entries_for(tool) == []
    with a_gate(GLOBS) as gate, a_service(gate) as service:
        found = service.post("agent", "/v1/calls", {"tool": tool, "args": {}}).json()
        assert found.get("status") != "allowed", found
