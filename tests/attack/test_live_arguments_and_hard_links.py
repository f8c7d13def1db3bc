"""Two ways to hide which file a call is about: an argument that is not written down, and a second name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso import ConsentDenied, ConsentRequired, Inbox, Sayso
from sayso.core.errors import SaysoError
from sayso.doors.python.values.arguments import WrongArguments
from sayso.gate.open import open_gate
from sayso.policy import load_preset
from sayso.reading.paths.places import PathPlace, locate
from sayso.store.memory.store import MemoryStore
from tests.support.gates import KEY
from tests.support.people import answer_open


class Wrapped:
    """An object with a path in it that nobody can see."""

    def __init__(self, path: Path) -> None:
        self.path = path


class Notebook(os.PathLike[str]):
    def __fspath__(self) -> str:
        return "/etc/passwd"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    for folder in (home / ".ssh", home / "work/.git/hooks"):
        folder.mkdir(parents=True)
    (home / ".ssh/id_rsa").write_text("secret")
    (home / ".ssh/authorized_keys").write_text("")
    (home / "work/.env").write_text("TOKEN=1")
    (home / "work/.git/config").write_text("")
    (home / "plain.txt").write_text("")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home / "work")
    return home


@pytest.fixture
def gate(home: Path) -> Iterator[Sayso]:
    made = Sayso(open_gate(load_preset("balanced"), MemoryStore(), key=KEY), [Inbox()])
    yield made
    made.close()


@pytest.mark.parametrize("value", ["/etc/passwd", b"/etc/passwd", Path("/etc/passwd"), Notebook()])
def test_what_can_be_written_down_is_not_live(gate: Sayso, value: object) -> None:
    @gate.requires_consent("files.read", risk="low", live=["path"])
    def read_file(path: object) -> str:
        raise AssertionError("it ran")

    with pytest.raises(WrongArguments, match="declared live"):
        read_file(value)


@pytest.mark.parametrize("tool", ["read_file", "write_file"])
def test_a_live_object_where_the_policy_reads_a_path_is_no_file_of_the_workspace(
    gate: Sayso, home: Path, tool: str
) -> None:
    def body(path: Wrapped) -> str:
        raise AssertionError("it ran")

    body.__name__ = body.__qualname__ = tool
    operation = "files.read" if tool == "read_file" else "files.write"
    gated = gate.requires_consent(operation, risk="low", live=["path"])(body)
    with pytest.raises((ConsentRequired, ConsentDenied)) as raised:
        gated(Wrapped(home / ".ssh/id_rsa"))
    assert isinstance(raised.value, SaysoError)


def place_of(home: Path, path: Path) -> PathPlace:
    return locate(str(path), folder=str(home / "work"), workspace=str(home / "work"), home=str(home))


@pytest.mark.parametrize(
    "secret",
    [
        ".ssh/id_rsa",
        ".ssh/authorized_keys",
        ".ssh/a/b/c/d/k",
        "work/.env",
        "work/backend/.env",
        "work/a/b/c/d/e/server.key",
    ],
)
def test_a_hard_link_to_a_secret_is_a_secret(home: Path, secret: str) -> None:
    (home / secret).parent.mkdir(parents=True, exist_ok=True)
    (home / secret).write_text("secret")
    os.link(home / secret, home / "work/notes.txt")
    assert place_of(home, home / "work/notes.txt").secret


@pytest.mark.parametrize("target", ["plain.txt", "work/.git/config"])
def test_a_file_with_other_names_may_lie_elsewhere_too(home: Path, target: str) -> None:
    os.link(home / target, home / "work/notes.txt")
    place = place_of(home, home / "work/notes.txt")
    assert place.shared
    assert not place.secret


def test_a_file_with_other_names_is_not_read_unasked_unless_it_is_of_a_library(
    gate: Sayso, home: Path
) -> None:
    other, library = home / "elsewhere/.env", home / "work/.venv/lib/a.py"
    for path in (other, library):
        path.parent.mkdir(parents=True)
        path.write_text("x")
    os.link(other, home / "work/notes.txt")
    os.link(library, home / "work/.venv/lib/b.py")

    @gate.requires_consent("files.read", risk="low")
    def read_file(path: str) -> str:
        return "read"

    with gate.session(agent="tester", workspace=str(home / "work")).active():
        assert read_file("work/.venv/lib/b.py".removeprefix("work/")) == "read"
        with pytest.raises(ConsentRequired):
            read_file("notes.txt")


def test_a_file_with_one_name_is_what_it_seems(home: Path) -> None:
    (home / "work/notes.txt").write_text("")
    place = place_of(home, home / "work/notes.txt")
    assert (place.inside, place.shared, place.secret, place.links) == (True, False, False, ())


@pytest.mark.parametrize("target", [".ssh/authorized_keys", "work/.env", "work/.git/config", "plain.txt"])
def test_an_approved_write_does_not_go_through_a_hard_link_made_since(
    gate: Sayso, home: Path, target: str
) -> None:
    notes = home / "work/notes.txt"
    notes.write_text("")
    ran: list[str] = []

    @gate.requires_consent("files.write", risk="moderate")
    def write_file(path: str, content: str) -> None:
        ran.append(path)

    session = gate.session(agent="tester", workspace=str(home / "work"))
    asked = session.run("write_file", {"path": str(notes), "content": "x"}, wait=0)
    answer_open(gate)
    notes.unlink()
    os.link(home / target, notes)
    assert session.retry(asked.operation_id or "", wait=0).status != "ok"
    assert ran == []
