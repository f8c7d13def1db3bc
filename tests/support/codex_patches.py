"""Patches made up by chance, and Codex's own program, which applies them in folders that are thrown away."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.repository import ROOT

FILES = {
    "a.txt": "one\ntwo\nthree\n",
    "sub/b.txt": "one\n\ntwo\n",
    "sub/inner/c d.txt": "*** Add File: q.txt\nthree\n",
    "AGENTS.md": "one\n",
    "../beside/e.txt": "one\ntwo\n",
}
LINKS = {"deep": "sub/inner", "out": "../beside"}
NEW = (
    "n.txt", "new/m.txt", "sub/../k.txt", "deep/../j.txt", "deep/i.txt", "./h.txt", "../beside/g.txt", "é.md",
    ".claude/settings.json", "out/f.txt", "no/../l.txt", "sub//o.txt", "x y.txt", "~/p.txt", "~/../r.txt",
)  # fmt: skip
RUST_BLANKS = "\t\x0b\x0c\r \x85\xa0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
NO_BLANKS = "\x1c\x1d\x1f\u180e\u200b\u2060\ufeff"
LINES = (
    "+x", "-one", " one", " two", "", "@@", "@@ one", "*** End of File", " ", "x", "+*** Add File: q.txt",
    " *** Add File: q.txt", "*** Begin Patch", "*** End Patch", "*** Move to: w.txt", "+", "***", "EOF", "-",
    "*** Environment ID: e", "*** Add File:v.txt", "*** add file: u.txt", "\\ No newline at end of file",
    "*** Delete File: a.txt", "--- a/a.txt", "+++ b/a.txt", "*** Update File: a.txt",
)  # fmt: skip


class Applied(NamedTuple):
    """How Codex ended, and the real paths of the files that are not as they were."""

    code: int
    written: frozenset[str]
    deleted: frozenset[str]


def find_codex() -> Path:
    """Return the program that `make test` installs."""
    [program] = (ROOT / ".venv/agents/codex/node_modules/@openai").glob("codex-*/vendor/*/bin/codex")
    return program


def make_patch(chance: random.Random) -> str:
    """Return a patch, most often damaged in some way."""
    sections = [_make_section(chance) for _ in range(chance.randint(1, 3))]
    lines = ["*** Begin Patch", *(line for one in sections for line in one), "*** End Patch"]
    for _ in range(chance.choice((0, 0, 1, 1, 1, 2, 3))):
        chance.choice(_DAMAGES)(lines, chance)
    text = chance.choice(("\n", "\n", "\n", "\r\n")).join(lines)
    if chance.random() < 0.1:
        here = chance.choice(("<<EOF", "<<'EOF'", '<<"EOF"', "<<END", "apply_patch <<'EOF'"))
        text = f"{here}\n{text}\n{chance.choice(('EOF', 'EOF', 'END', 'xEOF', ' EOF'))}"
    return text + chance.choice(("", "\n", "\n\n", " "))


def _make_section(chance: random.Random) -> list[str]:
    kind = chance.choice(("Add", "Add", "Delete", "Update", "Update", "Move"))
    if kind == "Add":
        return [f"*** Add File: {chance.choice((*NEW, *FILES))}", *["+x"] * chance.randint(0, 2)]
    path, content = chance.choice(list(FILES.items()))
    if kind == "Delete":
        return [f"*** Delete File: {path}"]
    moved = [f"*** Move to: {chance.choice((*NEW, path))}"] if kind == "Move" else []
    kept = content.splitlines()
    at = chance.randrange(len(kept))
    hunk = [f" {one}" for one in kept[:at]] + [f"-{kept[at]}", "+changed"]
    begin = chance.choice(([], ["@@"], ["@@"], ["", "@@"]))
    return [f"*** Update File: {path}", *moved, *begin, *hunk, *chance.choice(([], [], ["*** End of File"]))]


def _pad(lines: list[str], chance: random.Random) -> None:
    headers = [at for at, line in enumerate(lines) if line[:1] == "*"]
    at = chance.choice(headers or [0])
    blanks = "".join(
        chance.choices(RUST_BLANKS + chance.choice(("", NO_BLANKS)), k=chance.choice((1, 2, 33)))
    )
    where = chance.choice((0, 0, len(lines[at]), chance.randint(0, len(lines[at]))))
    lines[at] = lines[at][:where] + blanks + lines[at][where:]


def _insert(lines: list[str], chance: random.Random) -> None:
    lines.insert(chance.randint(0, len(lines)), chance.choice(LINES))


def _drop(lines: list[str], chance: random.Random) -> None:
    if len(lines) > 1:
        del lines[chance.randrange(len(lines))]


def _swap(lines: list[str], chance: random.Random) -> None:
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


def _join(lines: list[str], chance: random.Random) -> None:
    """Two lines with another end between them."""
    if len(lines) > 1:
        at = chance.randrange(len(lines) - 1)
        lines[at : at + 2] = [chance.choice("\r\x0b\x0c\x85\u2028\u2029").join(lines[at : at + 2])]


def _hide(lines: list[str], chance: random.Random) -> None:
    """A header behind something."""
    at = chance.randrange(len(lines))
    lines[at] = chance.choice(("+", "-", " ", "\t", "  ", "> ", "\ufeff", "\u3000")) + lines[at]


def _change_letter(lines: list[str], chance: random.Random) -> None:
    at = chance.randrange(len(lines))
    if lines[at]:
        where = chance.randrange(len(lines[at]))
        lines[at] = lines[at][:where] + chance.choice(("", "*", " ", ":", "/", "A")) + lines[at][where + 1 :]


_DAMAGES = (_pad, _pad, _insert, _insert, _drop, _swap, _join, _hide, _change_letter)


def apply_all(folder: Path, patches: Sequence[str], command: str = "") -> list[Applied]:
    """Let a program apply each patch in a workspace of its own below this folder, where alone it may write.

    Without a command for the shell that is Codex.
    """
    program = folder / "apply_patch"
    program.symlink_to(find_codex())
    for number, patch in enumerate(patches):
        _make_workspace(folder / str(number))
        (folder / f"{number}.patch").write_bytes(patch.encode())
    before = [_look(folder / str(number)) for number in range(len(patches))]
    command = command or '"$0/apply_patch"'
    each = f'cd "$0/$1/work" && {command} < "$0/$1.patch" > /dev/null 2>&1; echo $?'
    loop = f"n=0; while [ $n -lt {len(patches)} ]; do (set -- $n; {each}); n=$((n + 1)); done"
    start = [*_fence(folder), "/bin/sh", "-c", loop, str(folder)]
    codes = subprocess.run(start, check=True, capture_output=True, text=True, timeout=600).stdout.split()
    assert len(codes) == len(patches)
    return [
        _compare(int(code), before[number], _look(folder / str(number))) for number, code in enumerate(codes)
    ]


def _fence(folder: Path) -> list[str]:
    """Return what confines a program to this folder, without a network, where the machine has it."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return []
    where = ["--ro-bind", "/", "/", "--dev", "/dev", "--bind", str(folder), str(folder)]
    return [bwrap, *where, "--unshare-all", "--die-with-parent"]


def _make_workspace(place: Path) -> None:
    for path, content in {**FILES, "sub/inner/kept": "", "../beside/kept": ""}.items():
        file = place / "work" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    for link, target in LINKS.items():
        (place / "work" / link).symlink_to(target)


def _look(place: Path) -> dict[str, str]:
    found = {}
    for folder, _, names in os.walk(place):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - there are thousands
            if os.path.islink(path):  # noqa: PTH114
                found[path] = os.readlink(path)  # noqa: PTH115
                continue
            with open(path, "rb") as file:  # noqa: PTH123
                found[path] = hashlib.sha256(file.read()).hexdigest()
    return found


def _compare(code: int, before: dict[str, str], after: dict[str, str]) -> Applied:
    written = {path for path, digest in after.items() if before.get(path) != digest}
    return Applied(code, frozenset(written), frozenset(before.keys() - after.keys()))
