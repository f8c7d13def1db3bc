"""MCP servers in the settings of their clients: put behind the gateway, and restored letter by letter."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sayso.core.errors import SaysoError
from sayso.core.text.mcp_names import clean_name
from sayso.doors.agents.agent import Place
from sayso.doors.agents.mcp_servers.gating import plan_gating, plan_release, read_servers
from sayso.doors.agents.mcp_servers.places import ServerFile, list_places
from sayso.doors.agents.mcp_servers.words import is_name, unwrap_words, wrap_words
from sayso.doors.agents.settings.changes import apply_changes
from tests.agents.gateway.place import RECORDER
from tests.agents.test_install import sayso
from tests.support.rows import each_row
from tests.support.service_process import a_home

JSON_FILES = {
    "one line": '{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}}}',
    "no arguments": '{"mcpServers": {"a": {"command": "npx"}}}',
    "no arguments, more keys": '{"mcpServers": {"a": {"command": "npx", "env": {"K": "v"}}}}\n',
    "arguments first": '{"mcpServers": {"a": {"args": [ "x" ],\n "command" : "npx"}}}\n',
    "something in between": '{"mcpServers":{"a":{"command":"npx","env":{"K":"\\u00e9"},"args":[]}}}',
    "indented": json.dumps({"mcpServers": {"a": {"command": "npx", "args": ["x"]}}}, indent="\t"),
    "carriage returns": '{\r\n "mcpServers": {"a": {"command": "npx",\r\n "args": []}}\r\n}\r\n',
    "comments": '{ // mine\n "servers": {"a": {/* here */ "command": "npx", "args": ["x",]}}\n}',
    "a mark": '\ufeff{"mcpServers": {"a": {"command": "npx", "args": []}}}',
    "escapes": '{"mcpServers": {"a": {"command": "n\\u0070x", "args": ["\\ud83d\\ude00", "é\\/"]}}}',
    "by project": '{"projects": {"/x": {"mcpServers": {"a": {"command": "npx", "args": ["1"]}}}}, "n": 1.50}',
    "opencode": '{"mcp": {"a": {"type": "local", "command": [ "npx", "x" ], "enabled": true}}}',
    "several": '{"mcpServers": {"a": {"command": "1"}, "b": {"command": "2", "args": []}, "c": {"url": ""}}}',
}  # fmt: skip
TOML_FILES = {
    "plain": '# mine\nmodel = "x"\n\n[mcp_servers.a]\ncommand = "npx"\nargs = ["-y", "x"]\n',
    "no arguments": "[mcp_servers.a]\ncommand = 'npx' # here\nenabled = true\n[other]\nargs = [1]\n",
    "several lines": '[mcp_servers."a"]\nargs = [\n  "x", # ]\n  "]",\n]\ncommand = "npx"\n',
    "two": '[mcp_servers.a]\ncommand="1"\n[mcp_servers.b]\ncommand="2"\n[mcp_servers.b.env]\nargs = "x"\n',
    "carriage returns": '[mcp_servers.a]\r\ncommand = "npx"\r\n',
}
FILES = {f"{name}.json": text for name, text in JSON_FILES.items()} | {
    f"{name}.toml": text for name, text in TOML_FILES.items()
}


def a_file(folder: Path, name: str, text: str) -> ServerFile:
    path = folder / name.replace(" ", "-")
    path.write_bytes(text.encode())
    return ServerFile(path, "Somebody")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("settings")


@each_row(("name", "text"), FILES.items(), ids=FILES.keys())
def test_a_file_is_gated_once_and_restored_letter_by_letter(folder: Path, name: str, text: str) -> None:
    file = a_file(folder, name, text)
    before = read_servers(file)
    plan = plan_gating(file)
    assert plan.change.is_needed
    apply_changes([plan.change])
    after = read_servers(file)
    assert [unwrap_words(one.words) for one in after.stdio] == [one.words for one in before.stdio]
    assert all(one.words[0] == sys.executable for one in after.stdio)
    assert after.others == before.others
    assert not plan_gating(file).change.is_needed
    apply_changes([plan_release(file, plan.gated).change])
    assert file.path.read_bytes() == text.encode()


@each_row(("name", "text"), FILES.items(), ids=FILES.keys())
def test_without_a_record_the_servers_own_commands_are_put_back(folder: Path, name: str, text: str) -> None:
    file = a_file(folder, name, text)
    before = [one.words for one in read_servers(file).stdio]
    apply_changes([plan_gating(file).change])
    apply_changes([plan_release(file, ()).change])
    assert [one.words for one in read_servers(file).stdio] == before


def test_what_else_the_user_has_changed_since_stays(folder: Path) -> None:
    file = a_file(folder, "since.json", JSON_FILES["several"])
    plan = plan_gating(file)
    apply_changes([plan.change])
    text = file.path.read_text().replace('"mcpServers"', '"theme": "dark",\n  "mcpServers"')
    file.path.write_text(text.replace('"2"', '"3"'))  # and another command, behind the gateway
    apply_changes([plan_release(file, plan.gated).change])
    expected = JSON_FILES["several"].replace('"mcpServers"', '"theme": "dark",\n  "mcpServers"')
    assert json.loads(file.path.read_text()) == json.loads(expected.replace('"2"', '"3"'))
    assert '"a": {"command": "1"}' in file.path.read_text()


BROKEN = {
    "broken.json": '{"mcpServers": {"a": {"command": "npx",,}}}',
    "cut.json": '{"mcpServers": {"a": {"command": "npx"',
    "twice.json": '{"mcpServers": {"a": {"command": "1", "command": "2"}}}',
    "two values.json": '{"mcpServers": {}} {}',
    "broken.toml": "[mcp_servers.a\ncommand = 1",
    "twice.toml": '[mcp_servers.a]\ncommand = "1"\ncommand = "2"\n',
}


@each_row(("name", "text"), BROKEN.items(), ids=BROKEN.keys())
def test_a_broken_file_is_left_alone_and_named(folder: Path, name: str, text: str) -> None:
    file = a_file(folder, name, text)
    for plan in (plan_gating, lambda one: plan_release(one, ())):
        with pytest.raises(SaysoError) as refusal:
            plan(file)
        assert str(file.path) in refusal.value.message
        assert "left alone" in str(refusal.value.hint)
    assert file.path.read_text() == text


NOT_STARTED = {
    "the older kind of server": '{"mcpServers": {"a": {"type": "sse", "url": "https://x"}}}',
    "the older kind, by its address": '{"mcpServers": {"a": {"url": "https://x/sse/"}}}',
    "a sign-in of its client's": '{"mcpServers": {"a": {"url": "https://x", "oauth": {}}}}',
    "no address": '{"mcpServers": {"a": {"url": "file:///x"}}}',
    "an address that is none": '{"mcpServers": {"a": {"url": ["https://x"]}}}',
    "two addresses": '{"mcpServers": {"a": {"url": "https://x", "httpUrl": "https://y"}}}',
    "headers that are none": '{"mcpServers": {"a": {"url": "https://x", "headers": {"A": 1}}}}',
    "a number": '{"mcpServers": {"a": {"command": 1}}}',
    "arguments that are none": '{"mcpServers": {"a": {"command": "x", "args": "y"}}}',
    "an empty command": '{"mcpServers": {"a": {"command": ""}}}',
    "an empty list": '{"mcp": {"a": {"type": "local", "command": []}}}',
    "a list": '{"mcpServers": [{"command": "x"}]}',
    "nothing": "",
    "null": "null",
}


@each_row(("name", "text"), NOT_STARTED.items(), ids=NOT_STARTED.keys())
def test_what_no_gateway_can_stand_in_front_of_stays_as_it_is(folder: Path, name: str, text: str) -> None:
    assert not plan_gating(a_file(folder, "x.json", text)).change.is_needed


def test_toml_that_is_spelled_in_other_ways_is_not_touched(folder: Path) -> None:
    for text in (
        'mcp_servers.a.command = "npx"\n',
        'mcp_servers = {a = {command = "npx"}}\n',
        '[mcp_servers]\na = {command = "npx"}\n',
        '[mcp_servers.a]\ncommand = """npx"""\n',
    ):
        assert tomllib.loads(text)
        file = a_file(folder, "other.toml", text)
        assert not plan_gating(file).change.is_needed
        assert read_servers(file).others == ("a",)


def test_no_text_of_a_server_can_pass_for_another_place(folder: Path) -> None:
    """Names and arguments that look like the file around them."""
    generator = random.Random(1)
    parts = [
        '"',
        "\\",
        "]",
        "[",
        "}",
        "# x",
        "command = ",
        "\n",
        "'",
        "mcp wrap --name",
        "--",
        "é",
        "\t",
        ",",
    ]
    for number in range(300):
        words = ["".join(generator.choices(parts, k=generator.randint(1, 6))) for _ in range(3)]
        name = "".join(generator.choices(parts, k=3)) + str(number)
        servers = {name: {"args": words, "command": "c" + words[0]}, "z": {"command": "z"}}
        file = a_file(
            folder, "odd.json", json.dumps({"mcpServers": servers}, indent=generator.choice([None, 2]))
        )
        text = file.path.read_text()
        plan = plan_gating(file)
        apply_changes([plan.change])
        found = {one.name: unwrap_words(one.words) for one in read_servers(file).stdio}
        assert found == {name: ("c" + words[0], *words), "z": ("z",)}
        apply_changes([plan_release(file, plan.gated).change])
        assert file.path.read_text() == text


def test_names_end_before_the_tool() -> None:
    assert [clean_name(name) for name in ("github", "my server", "a__b", "_x_", "é", "")] == [
        "github", "my_server", "a_b", "x", "server", "server",
    ]  # fmt: skip
    assert not any(map(is_name, ("", "a__b", "_a", "a_", "a b", "a/b", "a\n", "é")))


def test_a_command_that_only_looks_gated_is_gated() -> None:
    for words in (
        ("sayso", "mcp", "wrap"),
        ("python", "-m", "sayso", "mcp", "wrap", "--name", "x", "--", "y"),
    ):
        assert unwrap_words(words) is None
        assert unwrap_words(wrap_words("x", words)) == words
    assert wrap_words("x", wrap_words("y", ["c"])) == wrap_words("x", ["c"])


def test_install_doctor_and_uninstall_of_a_real_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    a_home(monkeypatch, tmp_path)
    record = tmp_path / "record"
    config = tmp_path / "XDG_CONFIG_HOME" / "Claude" / "claude_desktop_config.json"
    config.parent.mkdir()
    server = {"command": sys.executable, "args": [str(RECORDER), str(record)]}
    text = json.dumps({"mcpServers": {"files": server}}, indent=1)
    config.write_text(text)
    (tmp_path / ".cursor").mkdir()
    broken = tmp_path / ".cursor" / "mcp.json"
    broken.write_text("{,")
    assert sayso("doctor", "mcp").returncode == 1
    done = sayso("install", "mcp", "--yes", cwd=tmp_path)
    assert done.returncode == 0, done
    assert "left alone" in done.stderr
    gated = config.read_text()
    assert sayso("install", "mcp", "--yes", cwd=tmp_path).returncode == 0
    assert config.read_text() == gated
    broken.unlink()
    with subprocess.Popen(
        [sys.executable, "-m", "sayso", "serve", "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        service.stdout.readline()
        doctor = sayso("doctor", "mcp", cwd=tmp_path)
        service.terminate()
    assert "blocked a call that must be blocked, as decided" in " ".join(doctor.stdout.split())
    assert doctor.returncode == 0
    assert not record.read_text()
    broken.write_text("{,")
    done = sayso("uninstall", "mcp", "--yes", cwd=tmp_path)
    assert done.returncode == 0, done
    assert "left alone" in done.stderr
    assert config.read_text() == text
    assert not (tmp_path / "XDG_CONFIG_HOME" / "sayso" / "hooks" / "mcp").exists()


def test_every_known_place_is_an_absolute_path_and_named_once(tmp_path: Path) -> None:
    files = list(list_places(Place(tmp_path, tmp_path / "project", {})))
    assert all(file.path.is_absolute() for file in files)
    assert len({file.path for file in files}) == len(files)
