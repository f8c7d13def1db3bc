"""However a guarded path is spelled, the call is denied; however an ordinary one is, it is no guarded one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso.core.deciding.decide import decide
from sayso.core.model import Verdict
from sayso.core.policy import Policy
from sayso.core.session import Session, View
from sayso.gate.deciding.request import just_reviewed, make_call, make_request
from sayso.policy import load_preset
from sayso.reading.resolve import operations_for

NOW = 1_800_000_000.0
GUARDED = (
    ".config/sayso/policy.yaml",
    ".local/share/sayso/sayso.db",
    ".local/share/sayso/gate.key",
    ".claude/settings.json",
    "project/AGENTS.md",
    "project/SOUL.md",
    "project/.sayso.yaml",
    "project/.codex/config.toml",
    "project/docs/CLAUDE.md",
)
ORDINARY = ("project/src/a.py", "project/docs/AGENTS.md.bak", "project/sayso/client.py", "other/sayso.txt")
patient = settings(deadline=None, suppress_health_check=list(HealthCheck))
TOOLS = (("Write", "file_path"), ("Edit", "file_path"), ("delete_file", "path"), ("write_anything", "path"))
POLICIES = {name: load_preset(name) for name in ("coding", "trusting", "graph")}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home folder with a project and with links that lead around in it."""
    top = tmp_path_factory.mktemp("home")
    for name in (*GUARDED, *ORDINARY):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    (top / "project/.git").mkdir()
    (top / "project/up").symlink_to(top)
    (top / "project/here").symlink_to(top / "project")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("XDG_")]:
            patch.delenv(name)
        patch.setenv("HOME", str(top))
        yield top


Step = Callable[[str, st.DataObject, Path], str]


def detour(path: str, data: st.DataObject, home: Path) -> str:
    """A way round, at one of the slashes."""
    slashes = [place for place, letter in enumerate(path) if letter == "/"]
    place = data.draw(st.sampled_from(slashes))
    back = f"/../{path[:place].rpartition('/')[2]}/"
    way = data.draw(st.sampled_from(("/./", "//", "/docs/../", back)))
    return path[:place] + way + path[place + 1 :]


def linked(path: str, data: st.DataObject, home: Path) -> str:
    door = data.draw(st.sampled_from(("project/up", "project/here/up", "project/up/project/up")))
    return path.replace(str(home), str(home / door), 1)


def shortened(path: str, data: st.DataObject, home: Path) -> str:
    short = data.draw(st.sampled_from(("~", "$HOME", "${HOME}", "../..", "..")))
    return path.replace(str(home), short if short != "../.." else "src/../..", 1)


def surrounded(path: str, data: st.DataObject, home: Path) -> str:
    before, after = data.draw(
        st.sampled_from(
            (
                (" ", ""),
                ("", " "),
                ("\n", "\n"),
                ('"', '"'),
                ("'", "'"),
                ("`", "`"),
                ("\u200b", ""),
                ("", "\0"),
            )
        )
    )
    return before + path + after


def as_url(path: str, data: st.DataObject, home: Path) -> str:
    return data.draw(st.sampled_from(("file://", "FILE://localhost", "file:", "vscode://file"))) + path


def encoded(path: str, data: st.DataObject, home: Path) -> str:
    place = data.draw(st.integers(1, len(path) - 1))
    letter = path[place]
    if not letter.isascii() or letter in "%{}$":
        return path
    hexed = quote(letter, safe="") if not letter.isalnum() and letter not in "._-~" else f"%{ord(letter):02x}"
    return path[:place] + hexed + path[place + 1 :]


def backwards(path: str, data: st.DataObject, home: Path) -> str:
    return path.replace("/", "\\")


def ended(path: str, data: st.DataObject, home: Path) -> str:
    return path + data.draw(st.sampled_from(("/", "//", "/.", ".", " ", "::$DATA")))


def questioned(path: str, data: st.DataObject, home: Path) -> str:
    """A wildcard for the last letter."""
    return path[:-1] + data.draw(st.sampled_from(("?", "*", f"[{path[-1]}]", f"{{{path[-1]},x}}")))


def in_another_case(path: str, data: st.DataObject, home: Path) -> str:
    head, slash, name = path.rpartition("/")
    return head + slash + (name.upper() if head.endswith(("sayso", ".claude", ".codex")) else name)


INNER: tuple[Step, ...] = (detour, linked, in_another_case)
OUTER: tuple[Step, ...] = (shortened, questioned, ended, backwards, encoded, as_url, surrounded)


def spelled(path: str, data: st.DataObject, home: Path) -> str:
    """The path after some of the inner steps, and then some of the outer ones, each at most once."""
    for step in data.draw(st.lists(st.sampled_from(INNER), max_size=3)):
        path = step(path, data, home)
    outer = data.draw(st.sets(st.sampled_from(OUTER), max_size=3))
    for step in (one for one in OUTER if one in outer):
        path = step(path, data, home)
    return path


def decided(tool: str, args: dict[str, object], policy: Policy, home: Path) -> tuple[Verdict, set[str]]:
    work = str(home / "project")
    found = operations_for(tool, args, policy, folder=work, workspace=work, home=str(home))
    request = make_request(make_call(tool, args, folder=work, workspace=work), found)
    view = View(Session(workspace=work), reviews=just_reviewed(policy, NOW))
    return decide(request, policy, view, NOW).verdict, {one.name for one in request.operations}


@patient
@given(st.data())
def test_no_spelling_of_a_guarded_path_is_allowed_or_asked(home: Path, data: st.DataObject) -> None:
    path = spelled(str(home / data.draw(st.sampled_from(GUARDED))), data, home)
    tool, argument = data.draw(st.sampled_from(TOOLS))
    policy = POLICIES[data.draw(st.sampled_from(sorted(POLICIES)))]
    assert decided(tool, {argument: path}, policy, home)[0] is Verdict.DENY, path


@patient
@given(st.data())
def test_no_spelling_of_an_ordinary_path_is_taken_for_a_guarded_one(home: Path, data: st.DataObject) -> None:
    path = spelled(str(home / data.draw(st.sampled_from(ORDINARY))), data, home)
    tool, argument = data.draw(st.sampled_from(TOOLS))
    _, operations = decided(tool, {argument: path}, POLICIES["coding"], home)
    assert not any(name.startswith("self_modification.") for name in operations), path


@patient
@given(path=st.text(max_size=80))
def test_no_text_at_all_lets_a_write_run_unasked(home: Path, path: str) -> None:
    verdict, _ = decided("Write", {"file_path": path}, POLICIES["coding"], home)
    assert verdict is not Verdict.ALLOW
