"""A path stays one however long or oddly it is put: what nobody can read is never no path (SPEC 12)."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sayso import ConsentDenied, ConsentRequired
from sayso.core.model import Risk, Verdict
from tests.attack.guarded_home import Agent, coder, home
from tests.attack.opening import a_gate, a_service, answer_last

__all__ = ["coder", "home"]

LONG: dict[str, Callable[[str], str]] = {
    "dots": lambda path: "/." * 2100 + path,
    "slashes": lambda path: "/" * 5000 + path,
    "up": lambda path: "/x/.." * 1000 + path,
    "lines": lambda path: "/x\n\n\n\n/.." + path,
    "carriage returns": lambda path: "/x\r\n\r\n\r\n\r\n\r\n/.." + path,
    "backslashes": lambda path: "\\." * 2100 + path.replace("/", "\\"),
    "invisible": lambda path: "\u200b" * 5000 + path,
    "white space": lambda path: " " * 5000 + path + "\n" * 5000,
    "many lines": lambda path: "todo\n" * 10 + path,
}
NAMES = ("path", "file_path", "target", "name", "to")


@pytest.mark.parametrize("spelled", LONG)
@pytest.mark.parametrize("name", NAMES)
def test_no_length_and_no_line_end_hides_a_guarded_file(
    coder: Agent, home: Path, spelled: str, name: str
) -> None:
    for path in (home / "project/AGENTS.md", home / ".config/sayso/policy.yaml"):
        for args in ({name: LONG[spelled](str(path))}, {"x": [{name: LONG[spelled](str(path))}]}):
            assert coder.verdict("save", {**args, "content": "x"}) is Verdict.DENY, path
    key = str(home / ".local/share/sayso/gate.key")
    assert coder.verdict("read_note", {name: LONG[spelled](key)}) is Verdict.DENY


@pytest.mark.parametrize("spelled", [name for name in LONG if name not in ("many lines", "white space")])
@pytest.mark.parametrize("name", ["doc", "thing", "text", "content"])
def test_no_length_hides_sayso_s_own_files_under_any_name(
    coder: Agent, home: Path, spelled: str, name: str
) -> None:
    path = LONG[spelled](str(home / ".config/sayso/policy.yaml"))
    assert coder.verdict("save", {name: path, "x": 1}) is Verdict.DENY


@pytest.mark.parametrize(
    "path", ["x\n\n\n\n/../AGENTS.md", "./" * 2100 + "AGENTS.md", "a/b\n\n\n\n\n/../../SOUL.md"]
)
@pytest.mark.parametrize("name", ["path", "doc", "name"])
def test_no_relative_path_hides_a_guarded_file_behind_length(coder: Agent, path: str, name: str) -> None:
    assert coder.verdict("save", {name: path, "content": "x"}) is Verdict.DENY


def test_a_folder_with_line_ends_in_its_name_hides_nothing(coder: Agent, home: Path) -> None:
    folder = home / "project/a\n\n\n\n\nb"
    folder.mkdir()
    (home / "project/notes\n\n\n\n\nx").symlink_to(home / ".config/sayso/policy.yaml")
    for name in ("path", "doc", "name"):
        assert coder.verdict("save", {name: "a\n\n\n\n\nb/AGENTS.md"}) is Verdict.DENY
        assert coder.verdict("save", {name: "notes\n\n\n\n\nx"}) is Verdict.DENY


@pytest.mark.parametrize("text", ["a" * 5000, "a/" * 3000 + "b", "line\n" * 100, "{" * 9000])
@pytest.mark.parametrize("name", ["path", "file", "folder"])
def test_a_path_that_nobody_can_read_is_high_risk(coder: Agent, text: str, name: str) -> None:
    items = coder.session.call("frobnicate", {name: text}).decision.items
    assert {item.risk for item in items} == {Risk.HIGH}


ORDINARY: list[dict[str, Any]] = [
    {"content": "# About AGENTS.md\n" + "See docs/AGENTS.md and .claude/settings.json.\n" * 500},
    {"path": "src/a.py", "content": "import os\n" * 2000 + "open('/etc/hosts')\n"},
    {"file_text": "one\ntwo\nthree\nfour\nfive\n" * 500},
    {"message": "a\n\n\n\n\nb /etc/passwd"},
    {"body": "word " * 5000},
    {"data": "x,y\n1,2\n" * 2000},
    {"notes": "Please read docs/AGENTS.md\n\n\n\n\nand then go on with AGENTS.md"},
    {"html": "<a href='/../x'>y</a>\n" * 1000},
    {"files": "\n".join(f"src/{n}.py" for n in range(20))},
]


@pytest.mark.parametrize("args", ORDINARY, ids=lambda args: next(iter(args)))
def test_long_content_stays_ordinary(coder: Agent, args: dict[str, Any]) -> None:
    items = coder.session.call("frobnicate", args).decision.items
    assert [(item.operation, item.risk) for item in items] == [("tools.frobnicate", Risk.MODERATE)]


def test_a_task_consent_never_overwrites_the_policy_by_a_long_path(home: Path) -> None:
    policy = home / ".config/sayso/policy.yaml"
    workspace = str(home / "project")
    with (
        a_gate("extends: [coding]") as gate,
        gate.session(agent="a", workspace=workspace).active() as session,
    ):

        @gate.requires_consent("notes.write", risk="moderate")
        def save(path: str, content: str) -> None:
            Path(path).write_text(content)

        session.hear("write it down")
        todo = str(home / "todo")
        with pytest.raises(ConsentRequired):
            save(todo, "x")
        answer_last(gate, session.id, "task")
        save(todo, "x")
        for spelled in ("dots", "slashes", "lines"):
            with pytest.raises(ConsentDenied):
                save(LONG[spelled](str(policy)), "extends: [trusting]")
    assert policy.read_text() == "extends: [coding]\n"


# --- bytes ---


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_a_path_in_bytes_is_a_path(home: Path, kind: Any) -> None:
    (home / "project/AGENTS.md").write_text("good")
    ran: list[Any] = []
    workspace = str(home / "project")
    with (
        a_gate("extends: [coding]") as gate,
        gate.session(agent="a", workspace=workspace).active() as session,
    ):

        def write_blob(path: Any, content: str) -> None:
            ran.append(path)

        write_blob.__annotations__["path"] = kind
        write = gate.requires_consent("blobs.write", risk="moderate")(write_blob)
        session.hear("write")
        with pytest.raises(ConsentRequired):
            write(kind(b"todo"), "x")
        answer_last(gate, session.id, "task")
        write(kind(b"todo"), "x")
        policy = os.fsencode(home / ".config/sayso/policy.yaml")
        for path in (b"AGENTS.md", policy, b".claude/settings.json", b"/." * 2100 + policy):
            with pytest.raises(ConsentDenied):
                write(kind(path), "x")
        with pytest.raises(ConsentRequired) as asked:
            write(kind(b".env"), "x")
        assert asked.value.risk is Risk.HIGH
    assert len(ran) == 1


def test_a_path_in_base64_is_a_path_at_every_door(home: Path) -> None:
    with a_gate("extends: [coding]") as gate, a_service(gate) as service:
        session = service.opened(workspace=str(home / "project"))
        coded = base64.b64encode(b".claude/settings.json").decode()
        call = {"tool": "save_blob", "args": {"path": coded}, "session": session}
        assert service.told("host", "POST", "/v1/check", call)["verdict"] == "deny"


# --- verbs ---

DOUBTFUL = (
    ("notes.set", "set_note"),
    ("notes.add", "add_note"),
    ("docs.generate", "generate"),
    ("files.store", "store_file"),
    ("notes.log", "log"),
    ("lists.add", "add_to_list"),
    ("docs.fix", "find_and_fix"),
    ("todo.list", "todo_list"),
    ("files.merge", "merge_file"),
    ("docs.render", "render"),
    ("docs.read", "read_then_push"),
    ("docs.show", "keep"),
    ("docs.view", "viewOrSet"),
    ("docs.get", "mcp__get__it"),
)


@pytest.mark.parametrize(("operation", "tool"), DOUBTFUL)
def test_a_tool_of_a_doubtful_verb_never_has_a_guarded_file_unasked(
    home: Path, operation: str, tool: str
) -> None:
    with (
        a_gate("extends: [coding]") as gate,
        gate.session(agent="a", workspace=str(home / "project")).active() as session,
    ):

        def put(path: str, content: str) -> None: ...

        put.__name__ = put.__qualname__ = tool
        call = gate.requires_consent(operation, risk="moderate")(put)
        session.hear("write it down")
        with pytest.raises(ConsentRequired):
            call("todo", "x")
        answer_last(gate, session.id, "task")
        call("todo", "x")
        for path in ("AGENTS.md", "SOUL.md", ".claude/settings.json"):
            with pytest.raises(ConsentRequired) as asked:
                call(path, "x")
            assert asked.value.risk is Risk.HIGH
        for path in (".sayso.yaml", "~/.config/sayso/policy.yaml", "~/.local/share/sayso/sayso.db"):
            with pytest.raises(ConsentDenied):
                call(path, "x")


@pytest.mark.parametrize(
    "tool",
    ["read_file", "ReadText", "mcp__fs__read_text", "file_read", "git_show", "files.view", "get_and_show"],
)
def test_a_tool_that_only_reads_reads_what_may_be_read(coder: Agent, tool: str) -> None:
    items = coder.session.call(tool, {"path": "AGENTS.md"}).decision.items
    assert all(item.risk < Risk.HIGH for item in items)
