"""What needs an extra that is not installed names it, and the command that brings it; never a traceback."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.repository import ROOT

PROGRAM = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
{work}
"""
COMMAND = "from sayso.cli.main import run_command; sys.argv = ['sayso', *{arguments!r}]; run_command()"
CONNECT = """
from sayso import Sayso
try:
    Sayso.connect("http://127.0.0.1:1", "t")
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
WHEN = """
from sayso.core.errors import PolicyError
from sayso.reading.cel import compile_expression
try:
    compile_expression("args.a < 1")
except PolicyError as error:
    sys.exit(str(error))
"""
SERVICE = ("starlette", "uvicorn", "h11", "webauthn")
pytestmark = pytest.mark.cold


def run(folder: Path, missing: tuple[str, ...], work: str) -> subprocess.CompletedProcess[str]:
    env = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")}
    script = PROGRAM.format(missing=missing, work=work)
    return subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("extra", "missing", "work"),
    [
        ("service", SERVICE, COMMAND.format(arguments=["serve", "--preset", "balanced"])),
        ("service", ("uvicorn",), COMMAND.format(arguments=["serve", "--preset", "balanced"])),
        ("service", ("starlette",), COMMAND.format(arguments=["serve", "--install"])),
        ("service", SERVICE, COMMAND.format(arguments=["demo"])),
        ("service", ("h11",), CONNECT),
        (
            "postgres",
            ("psycopg",),
            COMMAND.format(arguments=["store", "info", "--store", "postgresql://h/d"]),
        ),
        (
            "postgres",
            ("psycopg_pool",),
            COMMAND.format(arguments=["serve", "--preset", "balanced", "--store", "postgresql://h/d"]),
        ),
        ("mcp", ("mcp",), COMMAND.format(arguments=["mcp", "serve", "somewhere:gate"])),
        ("cel", ("cel",), WHEN),
    ],
)
def test_what_is_not_installed_is_named_with_the_command_that_installs_it(
    tmp_path: Path, extra: str, missing: tuple[str, ...], work: str
) -> None:
    done = run(tmp_path, missing, work)
    assert done.returncode == 1
    assert f'pip install "./sayso[{extra}]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_readme_and_docs_name_extras_that_exist_in_one_way() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    texts = {file: file.read_text("utf-8") for file in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))}
    named = {
        file: re.findall(r"pip install ([\"']?)\./sayso\[([\w,]+)\]\1", text) for file, text in texts.items()
    }
    for file, found in named.items():
        for quote, extras in found:
            assert quote == '"', file
            assert set(extras.split(",")) <= set(known), file
    told = {extra for found in named.values() for _, extras in found for extra in extras.split(",")}
    assert {"service", "postgres", "mcp", "cel", "passkeys"} <= told
    assert 'pip install "./sayso[service]"' in texts[ROOT / "README.md"]
    assert 'pip install "./sayso[service]"' in texts[ROOT / "docs" / "service.md"]


def test_nothing_tells_the_user_to_install_from_a_registry() -> None:
    """No registry has Sayso, so only the checkout can be installed."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    found = [str(file) for file in files if re.search(r"pip install +(-\S+ +)*[\"']?sayso", file.read_text())]
    assert found == []
    assert {"git clone", "make run"} <= set(
        re.findall("git clone|make run", (ROOT / "README.md").read_text())
    )


@pytest.mark.parametrize("text", ["", "x = 1\n"])
@pytest.mark.parametrize("name", ["http.py"])
def test_a_file_that_hides_a_module_is_not_called_a_missing_extra(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    serve = COMMAND.format(arguments=["serve", "--preset", "balanced"])
    told = run(tmp_path, (), f"sys.path.insert(0, {str(tmp_path)!r}); {serve.lstrip()}")
    assert told.returncode == 1
    assert "pip install" not in told.stderr
    assert "rename it" in told.stderr
