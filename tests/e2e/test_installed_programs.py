"""A wheel, an editable installation and a plain checkout know the same of programs."""

from __future__ import annotations

import hashlib
import os
import shutil
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from sayso.reading.shell.programs.shipped import COMPILED_FILE, load_compiled

REPOSITORY = Path(__file__).parents[2]
TELL = """
import hashlib
from sayso.reading.shell.programs import known, shipped
kept = shipped.FOLDER / shipped.COMPILED_FILE
before = kept.stat().st_mtime_ns if kept.is_file() else None
assert known.find_shipped("git") is not None
print(shipped.FOLDER, hashlib.sha256(shipped.load_compiled()).hexdigest(), before == kept.stat().st_mtime_ns)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The sources as git has them: nothing compiled."""
    place = tmp_path / "checkout"
    made = shutil.ignore_patterns("__pycache__", COMPILED_FILE)
    shutil.copytree(REPOSITORY / "src", place / "src", ignore=made)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(REPOSITORY / name, place)
    return place


def _run(*words: str | Path, **variables: str) -> str:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ran = subprocess.run(words, env=plain | variables, cwd="/", check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def _install(place: Path, *what: str | Path) -> Path:
    """Install into an environment of its own, which sees the packages of this one."""
    venv.create(place, with_pip=False)
    python = place / "bin/python"
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-build-isolation")
    tools = os.pathsep.join(sys.path)  # hatchling may be there only for this one
    _run(sys.executable, "-m", "pip", "--python", python, "install", *quiet, *what, PYTHONPATH=tools)
    [here] = (place / "lib").glob("python*/site-packages")
    (here / "packages_of_the_tests.pth").write_text("\n".join(site.getsitepackages()))
    return python


@pytest.mark.cold
@pytest.mark.slow
@pytest.mark.parametrize("how", ["wheel", "editable", "checkout"])
def test_every_installation_loads_the_same_rows(how: str, checkout: Path, tmp_path: Path) -> None:
    if how == "checkout":
        told = _run(sys.executable, "-c", TELL, PYTHONPATH=str(checkout / "src"))
    else:
        options = ("--editable", checkout) if how == "editable" else (checkout,)
        told = _run(_install(tmp_path / "installed", *options), "-c", TELL)
    folder, digest, was_there = told.split()
    assert digest == hashlib.sha256(load_compiled()).hexdigest()
    assert Path(folder).is_relative_to(tmp_path / "installed" if how == "wheel" else checkout / "src")
    assert (was_there == "True") is (how != "checkout"), "the build makes it; a checkout does when it starts"
