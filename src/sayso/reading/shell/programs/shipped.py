"""The compiled data files: the build keeps them beside their sources. What is stale is made again.

The kept file has two lines: the digests of its sources and of its second line, and the data. The build
imports this module before Sayso is installed, so only the standard library is imported here.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
COMPILED_FILE = "compiled.jsonl"
_COMPILER = "compile.py"
"""Counts as a source: another compiler may make other data."""


def load_compiled(folder: Path = FOLDER) -> bytes:
    """Return the compiled data of this folder's files. What is missing, stale or damaged is made again."""
    sources = read_sources(folder)
    digest = _digest_sources(sources)
    kept = _read_kept(folder / COMPILED_FILE, digest)
    if kept is not None:
        return kept
    made = compile_sources(sources)
    with suppress(OSError):  # a folder that cannot be written: it is made again the next time
        _keep(folder / COMPILED_FILE, f"{digest} {_digest(made)}\n".encode() + made)
    return made


def read_sources(folder: Path) -> dict[str, bytes]:
    """Return each data file, and the compiler, by its name. Empty where no data file is installed."""
    files = sorted(folder.glob("*.yaml"))
    compiler = folder / _COMPILER
    return {path.name: path.read_bytes() for path in (*files, compiler) if files and path.is_file()}


def compile_sources(sources: Mapping[str, bytes]) -> bytes:
    """Compile data files to one line of JSON. An entry names those of its subcommands."""
    from ruamel.yaml import YAML

    from sayso.reading.shell.programs.compile import compile_files

    read = YAML(typ="safe")
    found = compile_files((name, read.load(text)) for name, text in sources.items() if name != _COMPILER)
    entries: dict[str, int] = {}
    programs = {name: _share(one, entries) for name, one in sorted(found["programs"].items())}
    head = _encode({"operations": found["operations"], "sets": found["sets"], "programs": programs})
    return f'{head[:-1]},"entries":[{",".join(entries)}]}}'.encode()


def _share(entry: Mapping[str, Any], entries: dict[str, int]) -> int:
    """Return the place of an entry: there once, however many programs and subcommands have it."""
    below = {name: _share(one, entries) for name, one in entry["subcommands"].items()}
    return entries.setdefault(_encode({**entry, "subcommands": below}), len(entries))


def _read_kept(path: Path, digest: str) -> bytes | None:
    try:
        head, _, body = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    made_of, _, whole = head.decode("ascii", "replace").partition(" ")
    return body if whole == _digest(body) and digest in ("", made_of) else None


def _keep(path: Path, text: bytes) -> None:
    """Put the file there whole: a process that reads it meanwhile sees the old one or the new one."""
    made = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with made.open("xb") as file:
            file.write(text)
        os.replace(made, path)  # noqa: PTH105 - Path.replace returns a path that nobody wants
    finally:
        made.unlink(missing_ok=True)


def _digest_sources(sources: Mapping[str, bytes]) -> str:
    """Return the digest of names and contents. Empty if there are no sources to compare."""
    listed = [[name, _digest(text)] for name, text in sources.items()]
    return _digest(_encode(listed).encode()) if listed else ""


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _encode(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
