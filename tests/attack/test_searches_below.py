"""A tool that searches shows what it finds: no secret below its folder unasked, as with `grep -r`."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from sayso.core.model import Verdict
from tests.attack.opening import a_gate

SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("grep_search", {"pattern": "KEY"}),
    ("grep_search", {"pattern": "KEY", "dir_path": "."}),
    ("grep_search", {"pattern": "KEY", "include_pattern": ".*"}),
    ("grep_search", {"query": "KEY", "isRegexp": False, "includePattern": "**"}),
    ("Grep", {"pattern": "KEY", "path": ".", "output_mode": "content"}),
    ("Grep", {"pattern": "KEY", "glob": "*"}),
    ("Grep", {"pattern": "KEY", "glob": "!*.py"}),
    ("grep", {"pattern": "KEY"}),
    ("search_files", {"path": ".", "regex": "KEY"}),
    ("search_file_content", {"pattern": "KEY"}),
    ("read_many_files", {"include": ["**"]}),
]
NAMED = [
    ("grep_search", {"pattern": "KEY", "dir_path": ".", "include_pattern": ".env"}),
    ("grep_search", {"pattern": "KEY", "include_pattern": "**/.env*"}),
    ("grep_search", {"query": "KEY", "isRegexp": False, "includePattern": "*.env"}),
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("KEY = 1\n")
    return folder


def decide(work: Path, tool: str, args: dict[str, Any], preset: str = "coding") -> Verdict:
    with a_gate(f"extends: [{preset}]") as gate:
        called = gate.session(agent="a", workspace=str(work)).call(tool, args)
    return called.decision.verdict


@pytest.mark.parametrize("preset", ["coding", "balanced"])
@pytest.mark.parametrize(("tool", "args"), SEARCHES, ids=repr)
def test_a_search_through_a_folder_with_a_secret_asks(
    work: Path, tool: str, args: dict[str, Any], preset: str
) -> None:
    (work / ".env").write_text("KEY=secret\n")
    assert decide(work, tool, args, preset) is Verdict.ASK


@pytest.mark.parametrize(("tool", "args"), NAMED, ids=repr)
def test_a_search_for_names_that_only_a_secret_has_is_blocked(
    work: Path, tool: str, args: dict[str, Any]
) -> None:
    (work / ".env").write_text("KEY=secret\n")
    assert decide(work, tool, args) is Verdict.DENY


@pytest.mark.parametrize(("tool", "args"), SEARCHES[:-1], ids=repr)
def test_a_search_through_a_folder_without_one_runs(work: Path, tool: str, args: dict[str, Any]) -> None:
    assert decide(work, tool, args) is Verdict.ALLOW


@pytest.mark.parametrize(
    "args", [{"path": "src"}, {"glob": "*.py"}, {"glob": "src/**/*.py"}, {"type": "py"}], ids=repr
)
def test_a_search_that_passes_the_secret_over_runs(work: Path, args: dict[str, Any]) -> None:
    (work / ".env").write_text("KEY=secret\n")
    assert decide(work, "Grep", {"pattern": "KEY", **args}) is Verdict.ALLOW


NOT_PASSED_OVER: list[tuple[str, dict[str, Any]]] = [
    *(("Grep", {"type": one}) for one in ("yaml", "json", "all", "tf", ["py", "json"])),
    *(("Grep", {"glob": one}) for one in ("*.py *", "*.py\t*", "config", "config/", ".", "**/", "[^a-z]env")),
    *(("Grep", {"glob": one}) for one in ("config*.yaml", "*.{py,yaml}", "*" * 200 + ".py", "(*.py|.env)")),
    *(("grep_search", {"include_pattern": one}) for one in ("config", ".", ":/", ":!a.py", ":(exclude)*.py")),
    ("grep_search", {"includePattern": "*.py"}),
    ("grep_search", {"type": "py"}),
    ("grep", {"include": "*.py"}),
    ("grep", {"include": "src/a.py"}),
    ("grep_search", {"glob": "*.py"}),
    ("grep_search", {"query": "KEY", "include_pattern": "*.py"}),
    ("search_files", {"path": ".", "regex": "KEY", "glob": "*.py"}),
    ("codebase_search", {"path": ".", "query": "KEY", "includePattern": "*.py"}),
]


@pytest.mark.parametrize(("tool", "args"), NOT_PASSED_OVER, ids=repr)
def test_only_a_plain_limit_that_the_tool_knows_passes_a_secret_over(
    work: Path, tool: str, args: dict[str, Any]
) -> None:
    (work / "config").mkdir()
    (work / "config" / "secrets.yaml").write_text("KEY: secret\n")
    assert decide(work, tool, {"pattern": "KEY", **args}) is Verdict.ASK


@pytest.mark.parametrize("include", ["config", "config/", "./config", "config/+(.)env", "config/{.env,b}"])
def test_a_folder_that_is_read_whole_shows_the_secrets_in_it(work: Path, include: str) -> None:
    (work / "config").mkdir()
    (work / "config" / ".env").write_text("KEY=secret\n")
    assert decide(work, "read_many_files", {"include": [include]}) is not Verdict.ALLOW


def test_a_folder_without_secrets_is_read_whole(work: Path) -> None:
    (work / ".env").write_text("KEY=secret\n")
    assert decide(work, "read_many_files", {"include": ["src"]}) is Verdict.ALLOW
    assert decide(work, "read_many_files", {"include": ["src/a.py"]}) is Verdict.ALLOW


def test_a_secret_below_the_folder_of_a_pattern_is_found(work: Path) -> None:
    (work / "src" / "secrets.yaml").write_text("KEY: secret\n")
    assert decide(work, "Grep", {"pattern": "KEY", "glob": "src/**"}) is Verdict.ASK
    assert decide(work, "Grep", {"pattern": "KEY", "glob": "*.{json,yaml}"}) is Verdict.ASK


IGNORING = [".env\n", "# own\n\n.env*\n!.env.example\n", "/.env\n", "**/.env\n", "*\n"]
NOT_IGNORING = [
    "",
    "#.env\n",
    ".env/\n",
    "src/.env\n",
    ".env\n!.env\n",
    ".env*\n!.e*\n",
    "/src\n",
    "\\.env\n",
    " .env\n",
    ".env\t\n",
    "a\u2028.env\n",
    "a\x0c.env\n",
    ".env\n!/.env\n",
    ".env\n!\\.env\n",
    ".env\n!.en[^x]\n",
    ".env\n!**/.env\n",
]


@pytest.mark.parametrize("text", IGNORING)
def test_a_secret_that_git_ignores_is_passed_over_as_the_tools_do(work: Path, text: str) -> None:
    (work / ".env").write_text("KEY=secret\n")
    (work / ".gitignore").write_text(text)
    assert decide(work, "Grep", {"pattern": "KEY"}) is Verdict.ALLOW
    assert decide(work, "Grep", {"pattern": "KEY", "glob": ".*"}) is Verdict.ASK


@pytest.mark.parametrize("text", NOT_IGNORING)
def test_a_secret_that_git_does_not_plainly_ignore_asks(work: Path, text: str) -> None:
    (work / ".env").write_text("KEY=secret\n")
    (work / ".gitignore").write_text(text)
    assert decide(work, "Grep", {"pattern": "KEY"}) is Verdict.ASK


@pytest.mark.parametrize("line", ["!config/.env", "!/config/.env", "!**/config/.env", "!config/**"])
def test_a_secret_that_is_taken_out_of_the_ignored_ones_asks(work: Path, line: str) -> None:
    (work / "config").mkdir()
    (work / "config" / ".env").write_text("KEY=secret\n")
    (work / ".gitignore").write_text(f".env\r\n{line}\r\n")
    assert decide(work, "Grep", {"pattern": "KEY"}) is Verdict.ASK
    (work / ".gitignore").write_text(".env\r\n!README.md\r\n")
    assert decide(work, "Grep", {"pattern": "KEY"}) is Verdict.ALLOW


@pytest.mark.parametrize("name", [".ignore", ".rgignore", "src/.ignore"])
def test_a_secret_that_the_tools_own_file_may_take_in_asks(work: Path, name: str) -> None:
    (work / "src" / ".env").write_text("KEY=secret\n")
    (work / ".gitignore").write_text(".env\n")
    (work / name).write_text("build\n")
    assert decide(work, "Grep", {"pattern": "KEY"}) is Verdict.ALLOW
    (work / name).write_text("!.env\n")
    assert decide(work, "Grep", {"pattern": "KEY"}) is Verdict.ASK


def git(work: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(work), *words], check=True, capture_output=True)  # noqa: S607


def test_a_secret_that_git_records_although_it_is_ignored_asks(work: Path) -> None:
    (work / ".git").rmdir()
    git(work, "init")
    (work / ".env").write_text("KEY=secret\n")
    (work / ".gitignore").write_text(".env\n")
    assert decide(work, "grep_search", {"pattern": "KEY"}) is Verdict.ALLOW
    git(work, "add", "--force", ".env")
    assert decide(work, "grep_search", {"pattern": "KEY"}) is Verdict.ASK


def test_with_an_index_that_cannot_be_read_nothing_is_ignored(work: Path) -> None:
    (work / ".env").write_text("KEY=secret\n")
    (work / ".gitignore").write_text(".env\n")
    (work / ".git" / "index").write_bytes(b"DIRC\0\0\0\xff")
    assert decide(work, "grep_search", {"pattern": "KEY"}) is Verdict.ASK


def test_an_ignore_file_that_cannot_be_read_ignores_nothing(work: Path) -> None:
    (work / "src" / ".env").write_text("KEY=secret\n")
    (work / ".gitignore").write_text(".env\n")
    (work / "src" / ".gitignore").write_bytes(b"\xff\n")
    assert decide(work, "Grep", {"pattern": "KEY"}) is Verdict.ASK


def test_without_a_repository_nothing_is_ignored(work: Path) -> None:
    (work / ".git").rmdir()
    (work / ".env").write_text("KEY=secret\n")
    (work / ".gitignore").write_text(".env\n")
    assert decide(work, "Grep", {"pattern": "KEY"}) is Verdict.ASK


def test_a_secret_in_a_folder_that_git_ignores_is_passed_over(work: Path) -> None:
    (work / "keys").mkdir()
    (work / "keys" / "server.pem").write_text("secret\n")
    (work / ".gitignore").write_text("keys/\n")
    assert decide(work, "Grep", {"pattern": "KEY"}) is Verdict.ALLOW
    (work / ".gitignore").write_text("key/\n")
    assert decide(work, "Grep", {"pattern": "KEY"}) is Verdict.ASK


def test_a_search_that_takes_ignored_files_in_asks(work: Path) -> None:
    (work / ".env").write_text("KEY=secret\n")
    (work / ".gitignore").write_text(".env\n")
    args = {"query": "KEY", "isRegexp": False, "includeIgnoredFiles": True}
    assert decide(work, "grep_search", args) is Verdict.ASK
    assert decide(work, "grep_search", {**args, "includeIgnoredFiles": False}) is Verdict.ALLOW


@pytest.mark.parametrize(
    "switch",
    [
        {"no_ignore": "true"},
        {"no_ignore": 1},
        {"options": {"no_ignore": True}},
        {"file_filtering_options": {"respect_git_ignore": False}},
        {"file_filtering_options": '{"respect_git_ignore": "false"}'},
        {"-uuu": True},
    ],
    ids=repr,
)
def test_a_switch_for_ignored_files_counts_in_any_form(work: Path, switch: dict[str, Any]) -> None:
    (work / ".env").write_text("KEY=secret\n")
    (work / ".gitignore").write_text(".env\n")
    assert decide(work, "grep_search", {"pattern": "KEY", **switch}) is Verdict.ASK


def test_a_secret_below_another_folder_asks(work: Path) -> None:
    other = work.parent / "other"
    other.mkdir()
    assert decide(work, "Grep", {"pattern": "KEY", "path": "../other"}) is Verdict.ALLOW
    (other / ".env").write_text("KEY=secret\n")
    (other / ".gitignore").write_text(".env\n")
    assert decide(work, "Grep", {"pattern": "KEY", "path": str(other)}) is Verdict.ASK


BY_NAME = [
    "rg -t json KEY",
    "rg -tjson KEY",
    "rg --type all KEY",
    "rg --type-add 'x:*.json' -t x KEY",
    "rg --type-add 'x:include:json' -t x KEY",
    "rg -g '*.json' KEY",
    "rg -g '{a,credentials}.json' KEY",
    "rg -g '*.{ts,json}' KEY",
    "rg -g '[^a]redentials.json' KEY",
    "grep -r --include='*.json' KEY .",
    "grep -r --include='[^a]*.json' KEY .",
    "find . -name '*.json' -exec cat {} +",
    "find . -name '*.json' | xargs cat",
]


@pytest.mark.parametrize("line", BY_NAME)
def test_a_command_that_takes_files_by_name_asks_if_a_secret_is_so_named(work: Path, line: str) -> None:
    assert decide(work, "Bash", {"command": line}) is Verdict.ALLOW
    (work / "src" / "credentials.json").write_text("KEY: secret\n")
    assert decide(work, "Bash", {"command": line}) is Verdict.ASK


@pytest.mark.parametrize("line", [*BY_NAME[5:7], *BY_NAME[9:], "rg -t py KEY", "rg -g '*.{ts,tsx}' KEY"])
def test_a_command_that_takes_other_names_runs(work: Path, line: str) -> None:
    (work / "src" / "id_rsa").write_text("KEY\n")
    assert decide(work, "Bash", {"command": line}) is Verdict.ALLOW


@pytest.mark.parametrize(
    "name", [".docker/config.json", ".m2/settings.xml", ".codex/auth.json", "pip/pip.conf"]
)
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Grep", {"pattern": "KEY"}),
        ("Bash", {"command": "grep -r KEY ."}),
        ("Bash", {"command": "cat $(find .)"}),
    ],
    ids=repr,
)
def test_a_secret_by_the_name_of_its_folder_is_found(
    work: Path, name: str, tool: str, args: dict[str, Any]
) -> None:
    file = work / "src" / name
    file.parent.mkdir()
    file.write_text("KEY\n")
    assert decide(work, tool, args) is Verdict.ASK
