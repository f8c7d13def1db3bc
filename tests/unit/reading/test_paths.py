"""Where a path really leads decides which operation it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sayso.core.model import Operation, Risk
from sayso.core.policy import Policy
from sayso.policy import load_preset, load_text
from sayso.reading.paths.places import find_workspace, locate
from tests.unit.deciding import bare
from tests.unit.resolving import read_operations, target_for

GRAPH_FILES = """
domains:
  files:
    autonomous: [read, write_workspace, create, edit]
    requires_approval: [delete, write_outside_workspace]
    blocked: [delete_outside_workspace, modify_secrets]
tools:
  - {tool: read, resolve: path, operation: files.read, from: args.path}
  - {tool: write, resolve: path, operation: files.write, from: args.path}
  - {tool: edit, resolve: path, operation: files.edit, from: args.path}
  - {tool: delete, resolve: path, operation: files.delete, from: args.path}
  - {tool: move, resolve: path, operation: files.write, from: "args.source, args.target"}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Ana's folder, with a project in it that is full of ways out."""
    work = tmp_path / "project"
    (work / "src").mkdir(parents=True)
    (work / ".git").mkdir()
    (tmp_path / ".ssh").mkdir()
    (tmp_path / "other").mkdir()
    (work / "exit").symlink_to(tmp_path / "other")
    (work / "keys").symlink_to(tmp_path / ".ssh")
    (work / "notes.txt").symlink_to(tmp_path / ".ssh" / "id_ed25519")
    (work / "circle").symlink_to(work / "circle")
    (work / "inner").symlink_to(work / "src")
    return tmp_path


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_text(GRAPH_FILES)


def done(tool: str, path: object, policy: Policy, home: Path, **more: object) -> tuple[Operation, ...]:
    args = {"path": path, **more} if path is not None else more
    work = str(home / "project")
    found = read_operations(tool, args, policy, folder=work, workspace=work, home=str(home))
    return tuple(map(bare, found))


@pytest.mark.parametrize(
    ("tool", "path", "operation"),
    [
        ("read", "src/a.py", Operation("files.read")),
        ("read", "../other/a.txt", Operation("files.read")),
        ("read", "/etc/hosts", Operation("files.read")),
        ("read", ".env", Operation("files.read", reading=Risk.HIGH)),
        ("read", "notes.txt", Operation("files.read", reading=Risk.HIGH)),
        ("read", "~/.ssh/config", Operation("files.read", reading=Risk.HIGH)),
        ("read", "/proc/self/environ", Operation("files.read", reading=Risk.HIGH)),
        ("read", "/dev/sda", Operation("files.read", reading=Risk.HIGH)),
        ("read", "/etc/shadow", Operation("files.read", reading=Risk.HIGH)),
        ("write", "src/a.py", Operation("files.write_workspace")),
        ("write", "src/shadow", Operation("files.write_workspace")),
        ("write", "./src/../src/a.py", Operation("files.write_workspace")),
        ("write", "inner/a.py", Operation("files.write_workspace")),
        ("write", "new/folder/a.py", Operation("files.write_workspace")),
        ("edit", "src/a.py", Operation("files.edit")),
        ("delete", "src/a.py", Operation("files.delete")),
        ("write", "../a.py", Operation("files.write_outside_workspace")),
        ("write", "src/../../a.py", Operation("files.write_outside_workspace")),
        ("write", "exit/a.py", Operation("files.write_outside_workspace")),
        ("write", "exit/../a.py", Operation("files.write_outside_workspace")),
        ("write", "~/a.py", Operation("files.write_outside_workspace")),
        ("write", "~root/a.py", Operation("files.write_outside_workspace")),
        ("write", "", Operation("files.write_outside_workspace")),
        ("write", "a\0.py", Operation("files.write_outside_workspace")),
        ("write", 7, Operation("files.write_outside_workspace")),
        ("write", "circle/a.py", Operation("files.write_outside_workspace")),
        ("delete", "../a.py", Operation("files.delete_outside_workspace")),
        ("delete", "exit/a.py", Operation("files.delete_outside_workspace")),
        ("write", "/etc/passwd", Operation("files.write_outside_workspace", reading=Risk.HIGH)),
        ("write", "/usr/../etc/passwd", Operation("files.write_outside_workspace", reading=Risk.HIGH)),
        ("write", ".git/hooks/pre-commit", Operation("files.write_workspace", reading=Risk.HIGH)),
        ("write", ".GIT/config", Operation("files.write_workspace", reading=Risk.HIGH)),
        ("write", ".env.local", Operation("files.modify_secrets")),
        ("write", ".ENV", Operation("files.modify_secrets")),
        ("edit", "~/.secrets/token", Operation("files.modify_secrets")),
        ("write", "keys/config", Operation("files.modify_secrets")),
        ("write", "notes.txt", Operation("files.modify_secrets")),
        ("write", "../.SSH/authorized_keys", Operation("files.modify_secrets")),
        ("write", "$HOME/.ssh/authorized_keys", Operation("files.modify_secrets")),
        ("write", "~root/.ssh/authorized_keys", Operation("files.modify_secrets")),
        ("delete", "server.pem", Operation("files.modify_secrets")),
    ],
)
def test_a_path_is_what_it_leads_to(
    tool: str, path: object, operation: Operation, policy: Policy, home: Path
) -> None:
    assert done(tool, path, policy, home) == (operation,)


def test_a_write_without_a_path_is_outside_and_a_read_is_not_low(policy: Policy, home: Path) -> None:
    assert done("write", None, policy, home) == (Operation("files.write_outside_workspace"),)
    assert done("read", None, policy, home) == (Operation("files.read", reading=Risk.HIGH),)


@pytest.mark.parametrize("path", ["~a\0b/x", "'~\0'/x", "~\0", "file://~\0/x"])
def test_the_home_of_a_name_no_system_takes_is_never_free(path: str, policy: Policy, home: Path) -> None:
    (found,) = done("read", path, policy, home)
    assert found.reading is Risk.HIGH or found.barred is not None


def test_a_path_that_no_system_takes_is_outside_and_reading_it_is_not_low(policy: Policy, home: Path) -> None:
    assert done("write", "x" * 10_000, policy, home) == (Operation("files.write_outside_workspace"),)
    assert done("read", "x" * 10_000, policy, home) == (Operation("files.read", reading=Risk.HIGH),)


def test_each_of_several_paths_counts(policy: Policy, home: Path) -> None:
    found = done("move", None, policy, home, source="src/a.py", target="~/.ssh/a")
    assert found == (Operation("files.write_workspace"), Operation("files.modify_secrets"))


def test_what_the_domain_does_not_list_is_high(home: Path) -> None:
    text = "domains: {files: {autonomous: [], requires_approval: [write], blocked: []}}\n" + "".join(
        GRAPH_FILES.partition("tools:")[1:]
    )
    policy = load_text(text)
    assert done("write", "src/a.py", policy, home) == (Operation("files.write"),)
    assert done("write", "../a.py", policy, home) == (
        Operation("files.write_outside_workspace", reading=Risk.HIGH),
    )
    assert done("write", ".env", policy, home) == (Operation("files.modify_secrets", reading=Risk.HIGH),)


@pytest.mark.parametrize("folder", ["", "relative"])
def test_without_a_working_folder_a_relative_path_is_outside(folder: str, policy: Policy, home: Path) -> None:
    work = str(home / "project")
    found = read_operations("write", {"path": "a.py"}, policy, folder=folder, workspace=work, home=str(home))
    assert tuple(map(bare, found)) == (Operation("files.write_outside_workspace"),)


@pytest.mark.parametrize("workspace", ["", "/"])
def test_without_a_workspace_everything_is_outside(workspace: str, home: Path) -> None:
    place = locate("a.py", folder=str(home / "project"), workspace=workspace, home=str(home))
    assert not place.inside


def test_the_home_folder_is_no_workspace(home: Path) -> None:
    assert not locate("a.py", folder=str(home), workspace=str(home), home=str(home)).inside


def test_a_folder_with_a_longer_name_is_not_inside(home: Path) -> None:
    (home / "project-2").mkdir()
    work = str(home / "project")
    assert not locate("../project-2/a.py", folder=work, workspace=work, home=str(home)).inside
    assert locate(".", folder=work, workspace=work, home=str(home)).inside


def test_the_workspace_is_the_folder_the_host_names(home: Path) -> None:
    assert find_workspace(str(home / "project"), str(home / "other"), home=str(home)) == str(home / "other")


@pytest.mark.parametrize("mark", [".git", "pyproject.toml", "package.json", "go.mod"])
def test_the_workspace_is_the_nearest_parent_that_looks_like_a_project(mark: str, home: Path) -> None:
    deep = home / "other" / "project" / "a" / "b"
    deep.mkdir(parents=True)
    (home / "other" / "project" / mark).touch()
    assert find_workspace(str(deep), home=str(home)) == str(home / "other" / "project")


def test_without_a_project_the_workspace_is_the_working_folder(home: Path) -> None:
    assert find_workspace(str(home / "other"), home=str(home)) == str(home / "other")


@pytest.mark.parametrize("named", ["/", "home", "above", "relative"])
def test_a_named_folder_that_is_too_wide_is_not_taken(named: str, home: Path) -> None:
    names = {"home": str(home), "above": str(home.parent)}
    assert find_workspace(str(home / "project" / "src"), names.get(named, named), home=str(home)) == str(
        home / "project"
    )


def test_the_home_folder_is_never_the_workspace_even_with_a_repository_in_it(home: Path) -> None:
    (home / ".git").mkdir()
    assert find_workspace(str(home), home=str(home)) == ""
    assert find_workspace(str(home / "other"), home=str(home)) == str(home / "other")
    assert find_workspace("relative", home=str(home)) == ""
    assert find_workspace("/", home=str(home)) == ""


def test_the_file_tools_of_the_presets_look_at_their_paths(home: Path) -> None:
    balanced, coding = load_preset("balanced"), load_preset("coding")
    work = str(home / "project")

    def made(tool: str, key: str, path: str, policy: Policy) -> Operation:
        found = read_operations(tool, {key: path}, policy, folder=work, workspace=work, home=str(home))
        return bare(found[0])

    assert made("read_file", "path", "src/a.py", balanced) == Operation("files.read")
    assert made("read_file", "path", "keys/id_rsa", balanced) == Operation("files.read", reading=Risk.HIGH)
    assert made("write_file", "file_path", "../x", balanced) == Operation("files.write_outside_workspace")
    assert made("Edit", "file_path", "src/a.py", coding) == Operation("files.edit")
    assert made("delete_file", "path", "../x", coding) == Operation("files.delete_outside_workspace")


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("src/a.py", "src/a.py"),
        ("./src/../src/a.py", "src/a.py"),
        ("{home}/project/src/a.py", "src/a.py"),
        ("~/project/src/a.py", "src/a.py"),
        ("inner/a.py", "src/a.py"),
        (".", "."),
        ("exit/a.py", "{home}/other/a.py"),
        ("../other/a.py", "{home}/other/a.py"),
        ("/etc/hosts", "/etc/hosts"),
        ("~bo/a.py", "~bo/a.py"),
        ("circle", "circle"),
        (["src/a.py", "/etc/hosts"], "src/a.py, /etc/hosts"),
        (7, "7"),
        (None, None),
    ],
)
def test_the_target_of_a_tool_with_a_path_is_that_path(
    path: object, target: str | None, policy: Policy, home: Path
) -> None:
    work, real = str(home / "project"), str(home.resolve())
    args = {"path": path.format(home=home) if isinstance(path, str) else path}
    found = target_for("write", args, policy, folder=work, workspace=work, home=str(home))
    assert found == (target and target.format(home=real))


@pytest.mark.parametrize("tool", ["read_file", "write_file", "edit_file"])
@pytest.mark.parametrize("argument", ["path", "file_path"])
def test_the_file_tools_of_the_presets_have_targets(tool: str, argument: str, home: Path) -> None:
    work = str(home / "project")
    args = {argument: f"{work}/src/a.py", "content": "x"}
    assert target_for(tool, args, load_preset("balanced"), folder=work, workspace=work) == "src/a.py"
    assert target_for(tool, args, load_preset("balanced"), folder=work, workspace="") == str(
        (home / "project/src/a.py").resolve()
    )


FIRST_LOOK_AT_ONCE = """
import sysconfig, threading, time
from sayso.reading.paths.own_places import find_own_places

asked, find, ready = [], sysconfig.get_path, threading.Barrier(8)

def get_path(name):
    asked.append(name)  # and for what it needs itself
    time.sleep(0.01)
    return find(name)

def look():
    ready.wait()
    find_own_places("/home/ana")

sysconfig.get_path = get_path
threads = [threading.Thread(target=look) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
print(asked.count("scripts"), asked.count("purelib"))
"""


def test_one_thread_asks_python_for_its_folders() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FIRST_LOOK_AT_ONCE], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "1 1\n"
