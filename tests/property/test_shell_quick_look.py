"""The quick look at a path says what the full reading of paths says, or nothing."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sayso.core.model import Operation
from sayso.policy.load import load_preset
from sayso.reading.path_operations import CallFolders, operation_at_path
from sayso.reading.paths.budget import follow_links, is_folder, share_budget
from sayso.reading.paths.own_places import guard_store
from sayso.reading.paths.places import SECRET_FILES
from sayso.reading.shell.quick import QuickLook
from tests.support.rows import each_row
from tests.support.shell_lines import HARMFUL, Reader, tricks

PATHS = 60_000 if os.environ.get("SAYSO_ALL") else 3_000
TABLES = Path(__file__).parents[1] / "unit/reading/shell"
OPERATIONS = (
    "files.read",
    "files.list",
    "files.search",
    "files.write",
    "files.edit",
    "files.create",
    "files.delete",
)
NAMES = (
    "src", "a.py", "notes.txt", "link", "outward", "twin.txt", "deep", "docs", "missing", "settings.json",
    "hooks", "AGENTS.md", "agents.md", "CLAUDE.md", "soul.md", "scripts", "run", "opt", "etc", "usr", "var",
    "home", "documents", "library", "sayso.db", "gate.key", "state.db", "id_rsa", "x.pem", "prod.env", "gh",
    "secrets.yaml",
    "hosts.yml", "gcloud", "credentials.db", "terraform.tfstate", "token.py", "keys.md", "system_prompt.md",
    ".env", ".env.example", ".ssh", ".npmrc", ".gitignore", ".git", ".github", ".claude", ".config", ".aws",
    "credentials", "hosts", "shadow-", "passwd",
    "consent-graph.json", "opencode.json", "systemd", "A.PY", "x.PEM", "proc", "dev", "shadow", "locked",
)  # fmt: skip
STARTS = ("", "./", "/", "~/", "../", "/srv/", "/etc/", "/usr/", "HOME/", "WORK/")


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> CallFolders:
    home = tmp_path_factory.mktemp("home").resolve()
    work = home / "work"
    for name in ("src/deep", "docs/AGENTS", "gh", "scripts", "run", "hooks", "withagents", "locked"):
        (work / name).mkdir(parents=True)
    for name in (
        "src/a.py",
        "notes.txt",
        "first.txt",
        "withagents/AGENTS.md",
        "state.db",
        "gh/hosts.yml",
        "x.pem",
    ):
        (work / name).write_text("x")
    (work / "link").symlink_to(work / "src")
    (work / "outward").symlink_to("/etc")
    (work / "src/up").symlink_to("..")
    os.link(work / "first.txt", work / "twin.txt")
    guard_store(work / "state.db")
    return CallFolders(str(work), str(work), str(home))


def full(operation: str, path: str, folder: str, where: CallFolders) -> Operation:
    with share_budget():
        place = CallFolders(folder, where.workspace, where.home)
        return operation_at_path(operation, path, load_preset("coding"), place, ())


def make_path(chance: random.Random, where: CallFolders) -> str:
    names = [
        chance.choice((*NAMES, "withagents", "up", "twin.txt", ".", ".."))
        for _ in range(chance.randint(0, 4))
    ]
    start = chance.choice(STARTS).replace("HOME", where.home).replace("WORK", where.workspace)
    return (start + "/".join(names) + chance.choice(("", "", "", "/"))) or "."


def test_every_answer_of_the_quick_look_is_the_full_one(where: CallFolders) -> None:
    chance = random.Random(5)
    policy = load_preset("coding")
    folders = (
        where.folder,
        f"{where.folder}/src",
        f"{where.folder}/link",
        f"{where.folder}/gh",
        where.home,
        "/srv",
        "/",
    )
    answered = 0
    for _ in range(PATHS):
        operation, path, folder = chance.choice(OPERATIONS), make_path(chance, where), chance.choice(folders)
        found = QuickLook(where, policy).look(operation, path, folder)
        if found is not None:
            answered += 1
            assert found == full(operation, path, folder, where), (operation, path, folder)
    assert answered > PATHS // 20


def test_a_real_path_is_what_the_system_says(where: CallFolders) -> None:
    chance = random.Random(9)
    with share_budget():
        for _ in range(PATHS):
            path = make_path(chance, where).replace("~", where.home)
            whole = path if path.startswith("/") else f"{where.folder}/{path}"
            assert follow_links(whole) == os.path.realpath(whole), whole
            assert is_folder(whole) is os.path.isdir(whole), whole  # noqa: PTH112 - what is compared


def test_a_folder_that_a_link_replaces_is_another_one_at_once(tmp_path: Path) -> None:
    """That no link stands on the way is known for a second, but only of the folder that was looked at."""
    home = tmp_path.resolve()
    work, policy = home / "work", load_preset("coding")
    (work / "sub").mkdir(parents=True)
    where = CallFolders(str(work), str(work), str(home))
    here = str(work / "sub")
    with share_budget():
        assert QuickLook(where, policy).look("files.write", "a.txt", here) is not None
    (work / "sub").rename(work / "old")
    (work / "sub").symlink_to("/etc")
    with share_budget():
        assert QuickLook(where, policy).look("files.write", "a.txt", here) is None
    (work / "sub").unlink()
    (work / "sub").mkdir()
    with share_budget():
        found = QuickLook(where, policy).look("files.write", "a.txt", here)
    assert found == full("files.write", "a.txt", here, where)


@each_row(
    "name",
    [one.replace("*", "x") for one in SECRET_FILES]
    + ["gh/hosts.yml", "gcloud/credentials.db", ".ssh/x", ".docker/config.json", ".codex/auth.json"],
)
@each_row("folder", ["", "src/", "/etc/", "~/", "~/.config/"])
@each_row("operation", ["files.read", "files.write"])
def test_a_secret_is_a_secret(where: CallFolders, name: str, folder: str, operation: str) -> None:
    found = QuickLook(where, load_preset("coding")).operation_at(operation, folder + name, where.folder)
    assert found == full(operation, folder + name, where.folder, where)
    assert "secrets" in found.name or found.barred is not None or found.reading is not None


@contextmanager
def no_quick_look(patched: pytest.MonkeyPatch) -> Iterator[None]:
    """The reading without it: every path is read in full."""
    with patched.context() as inner:
        inner.setattr(QuickLook, "_resolve", lambda *_: None)
        yield


def test_a_line_is_read_the_same_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations, risks, spans and sentences of all lines of the tables, and of harmful ones in disguise."""
    work = tmp_path.resolve() / "work"
    for name in (".git", "src", "tests", "docs", "sub/.git", "build"):
        (work / name).mkdir(parents=True)
    for name in ("notes.txt", "src/a.py", "run.sh", ".env", "tests/test_a.py"):
        (work / name).write_text("x = 1\n")
    reader = Reader(work, tmp_path.resolve())
    tables = [
        YAML(typ="safe").load((TABLES / f"{name}.yaml").read_text())
        for name in ("lines", "everyday", "attacks")
    ]
    lines = [line for table in tables for several in table.values() for line in several]
    chance = random.Random(3)
    hidden = [line for command in HARMFUL for line in tricks(command)]
    lines += hidden if os.environ.get("SAYSO_ALL") else chance.sample(hidden, 300)
    for line in lines:
        quick = reader.read(line)
        with no_quick_look(monkeypatch):
            assert reader.read(line) == quick, line
