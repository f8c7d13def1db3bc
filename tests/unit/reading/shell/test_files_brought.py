"""Files that a command brings into the workspace under names of their own: each is judged as a write."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from sayso.core.model import Risk
from tests.support.shell_lines import Reader


def pack(path: Path, names: list[str], mode: str = "w") -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = 1
            archive.addfile(entry, io.BytesIO(b"x"))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("home").resolve()
    work = home / "work"
    for name in ("evil/.claude", "evil/.git/hooks", "fine", "src", "hook/.git/hooks"):
        (work / name).mkdir(parents=True)
    for name in ("evil/.claude/settings.json", "evil/AGENTS.md", "fine/x.py", "AGENTS.md", "notes.txt"):
        (work / name).write_text("x\n")
    (work / "hook/.git/hooks/pre-commit").write_text("x\n")
    pack(work / "evil.tar", ["a.txt", ".claude/settings.json"])
    pack(work / "agents.tgz", ["p/AGENTS.md"], "w:gz")
    pack(work / "strip.tar.bz2", ["p/.sayso.yaml"], "w:bz2")
    pack(work / "repo.tar.xz", ["sub/.git/config"], "w:xz")
    pack(work / "slip.tar", ["../../x"])
    pack(work / "good.tar.gz", ["src/a.py", "README.md"], "w:gz")
    for name, member in (("evil.zip", "CLAUDE.md"), ("good.zip", "a/b.txt")):
        with zipfile.ZipFile(work / name, "w") as archive:
            archive.writestr(member, "x")
    (work / "junk.tar").write_bytes(b"junk" * 1000)
    (work / "evil.patch").write_text("--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1 @@\n-x\n+y\n")
    (work / "good.patch").write_text("--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-x\n+y\n")
    return Reader(work, home)


@pytest.mark.parametrize(
    "line",
    [
        "tar xf evil.tar",
        "tar -xzf agents.tgz",
        "tar xzf agents.tgz -C src",
        "tar xf strip.tar.bz2 --strip-components=1",
        "unzip evil.zip",
        "unzip -o evil.zip -d out",
        "cp -r evil/. .",
        "cp -r evil/ .",
        "cp -a evil x",
        "cp evil/AGENTS.md src",
        "mkdir d && cp evil/AGENTS.md d",
        "mv evil/.claude src",
        "rsync -a evil/ src",
        "patch -p1 -i evil.patch",
        "git apply evil.patch",
        "rm *.md",
        "sed -i s/x/y/ *.md",
    ],
)
def test_the_guards_files_and_instructions_are_blocked_however_they_come(reader: Reader, line: str) -> None:
    found = reader.read(line).findings[0]
    assert found.barred is not None, found


@pytest.mark.parametrize(
    "line",
    [
        "tar xf repo.tar.xz",
        "tar xf slip.tar",
        "tar xf junk.tar",
        "tar xf good.tar.gz --transform s/a/b/",
        "cat good.tar.gz | tar xz",
        "cp notes.txt good.tar.gz && tar xf good.tar.gz",
        "cp x.patch good.patch; git apply good.patch",
        "unzip *.zip",
        "7z x a.7z",
        "unrar x a.rar",
        "cpio -i",
        "cp -r hook/. .",
        "mv hook/.git .",
        "rm *",
        "tar xf missing.tar",
    ],
)
def test_what_nobody_can_tell_or_lies_elsewhere_is_high(reader: Reader, line: str) -> None:
    assert reader.risk(line) is Risk.HIGH


@pytest.mark.parametrize(
    "line",
    [
        "tar xzf good.tar.gz",
        "unzip good.zip",
        "unzip good.zip -d .",
        "cp fine/x.py .",
        "cp -r fine/. .",
        "cp -r fine out",
        "mv fine src",
        "git apply good.patch",
        "patch -p1 -i good.patch",
        "rm *.txt",
        "rm src/*.py",
        "sed -i s/x/y/ *.txt",
        "black .",
        "ruff format .",
        "git checkout other",
        "git stash pop",
    ],
)
def test_ordinary_files_are_moderate_also_beside_instructions(reader: Reader, line: str) -> None:
    found = reader.read(line)
    assert found.risk is Risk.MODERATE, found.findings


@pytest.mark.parametrize("line", ["tar tf evil.tar", "unzip -l evil.zip", "git apply --check evil.patch"])
def test_a_look_at_what_would_come_is_low(reader: Reader, line: str) -> None:
    assert reader.risk(line) is Risk.LOW


@pytest.mark.parametrize(
    "line",
    [
        "echo .env > l; xargs -a l cat",
        "echo .env > l; while read f; do cat $f; done < l",
        "echo rm > run.sh && ./run.sh",
        "cp /tmp/x run.sh; bash run.sh",
        "git checkout other && ./run.sh",
        "touch -- -delete; find * -name x",
        "mv fine/x.py src/a.py && python src/a.py",
    ],
)
def test_what_the_line_itself_changes_is_not_taken_for_what_it_was(tmp_path: Path, line: str) -> None:
    work = tmp_path.resolve() / "work"
    (work / "src").mkdir(parents=True)
    (work / "fine").mkdir()
    for name in ("run.sh", "l", "src/a.py", "fine/x.py"):
        (work / name).write_text("notes.txt\n")
    assert Reader(work, tmp_path.resolve()).risk(line) is Risk.HIGH


def test_what_the_line_changes_elsewhere_does_not_count(tmp_path: Path) -> None:
    work = tmp_path.resolve() / "work"
    work.mkdir()
    (work / "run.sh").write_text("echo\n")
    assert (
        Reader(work, tmp_path.resolve()).risk("mkdir -p out && echo x > out/y && ./run.sh") is Risk.MODERATE
    )


def test_a_store_in_the_workspace_is_not_read_whatever_its_name(tmp_path: Path) -> None:
    from sayso.reading.paths.own_places import guard_store

    work = tmp_path.resolve() / "work"
    work.mkdir()
    (work / "state.db").write_text("x")
    reader = Reader(work, tmp_path.resolve())
    assert reader.risk("cat state.db") is Risk.LOW
    guard_store(work / "state.db")
    assert reader.read("cat state.db").findings[0].barred is not None


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_commit_of_another_repository_counts_without_a_list_of_submodules(
    tmp_path: Path, version: str
) -> None:
    """git looks into every gitlink of the index, also into those that `.gitmodules` does not list."""
    work = tmp_path.resolve() / "work"
    (work / "lib/deep").mkdir(parents=True)

    def git(*words: str, at: Path = work) -> None:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.test")
        subprocess.run(["git", "-C", str(at), *identity, *words], check=True, capture_output=True)  # noqa: S607

    git("init", "-q")
    git("init", "-q", at=work / "lib/deep")
    git("commit", "-q", "--allow-empty", "-m", "x", at=work / "lib/deep")
    (work / "lib/a.txt").write_text("x")
    git("add", "lib/a.txt", "lib/deep")
    git("update-index", "--index-version", version)
    reader = Reader(work, tmp_path.resolve())
    assert reader.risk("git status") is Risk.LOW
    with (work / "lib/deep/.git/config").open("a") as file:
        file.write("[core]\n\tfsmonitor = ./evil\n")
    assert reader.risk("git status") is Risk.HIGH
    assert reader.risk("git diff") is Risk.HIGH
