"""The scratch folder: a small home with a repository in it, and all that can be seen to change there."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

FILES = {
    "work/notes.txt": "one two\nthree > four\n'five' six\n",
    "work/a.txt": "a\nb\nc\n",
    "work/b.txt": "a\nx\nc\n",
    "work/names": "a.txt\nb.txt\n",
    "work/data.json": '{"a": [1, 2], "b": "rm notes.txt"}\n',
    "work/run.sh": "echo planted >planted\n",
    "work/src/a.py": "print(1)\n",
    "work/src/b.py": "# TODO\n",
    "work/sub/c.txt": "c\n",
    "work/sub/args": "#!/bin/sh\n",
    "work/sub/.zshenv": "evil\n",
    "work/sub/.gitconfig": "[core]\n\tfsmonitor = evil\n\tpager = evil\n",
    "work/sub/git/config": "[core]\n\tfsmonitor = evil\n",
    "work/odd/two words": "2\n",
    "work/odd/-n": "n\n",
    "work/odd/$(evil)": "e\n",
    "work/odd/x;evil": "e\n",
    "other/outside.txt": "outside\n",
    ".ssh/id_rsa": "-----BEGIN OPENSSH PRIVATE KEY-----\n",
}
SECRET = ".ssh/id_rsa"
LONG_AGO = 1_600_000_000
OPENED = 0x20
"""inotify's event of a file that is opened."""
# What a copy changes of a file is not looked at, so that git never writes its index again.
GIT = ("-c", "user.name=judge", "-c", "user.email=judge@example.test")
CONFIG = (
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\ttrustctime = false\n\tcheckStat = minimal\n"
)


def make_template(folder: Path) -> Path:
    """Return a home as it is before any line has run."""
    folder.mkdir(parents=True, exist_ok=True)
    home = folder / "template"
    if home.exists():
        return home
    made = folder / f"template.{os.getpid()}"
    for name, text in FILES.items():
        place = made / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        os.utime(place, (LONG_AGO, LONG_AGO))
    work = made / "work"
    for name in ("run.sh", "sub/args"):
        (work / name).chmod(0o755)
    (work / "link").symlink_to("sub")
    os.utime(work / "link", (LONG_AGO, LONG_AGO), follow_symlinks=False)
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for arguments in (("init", "-q", "--template="), ("add", "."), ("commit", "-q", "-m", "first")):
        if arguments[0] == "add":
            (work / ".git/config").write_text(CONFIG)
        subprocess.run(["git", *GIT, *arguments], cwd=work, env=environment, check=True)  # noqa: S607
    return made.rename(home)


class Scratch:
    """One home for one judge. It stands again as it was after whatever changed it."""

    def __init__(self, template: Path, home: Path) -> None:
        self.home = home
        self._template = template
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._watch = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        home.mkdir(parents=True)
        self.restore()

    def restore(self) -> None:
        """Bring every file back. The home itself stays, because shells stand in it."""
        for place in self.home.iterdir():
            shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
        shutil.copytree(self._template, self.home, symlinks=True, dirs_exist_ok=True)
        watched = os.fsencode(self.home / SECRET)
        if self._libc.inotify_add_watch(self._watch, watched, OPENED) < 0:
            raise OSError(ctypes.get_errno(), "the secret cannot be watched")
        self._before = _look(self.home)
        self._secret_opened()

    def changes(self) -> list[str]:
        """Return what changed, and put it right."""
        after = _look(self.home)
        names = {name for name, _ in after.items() ^ self._before.items()}
        found = [f"file {name} changed" for name in sorted(names) if name != "work"][:4] or (
            ["file: one came and went in work"] if names else []
        )
        if names:
            self.restore()
        return found + (["secret was opened"] if not names and self._secret_opened() else [])

    def _secret_opened(self) -> bool:
        try:
            return bool(os.read(self._watch, 4096))
        except BlockingIOError:
            return False


def _look(home: Path) -> dict[str, tuple[int, ...]]:
    """Each name with its mode, size, number and times: whoever writes a file changes its times."""
    found: dict[str, tuple[int, ...]] = {}
    waiting = [""]
    for below in waiting:
        with os.scandir(home / below) as entries:
            for one in entries:
                state = one.stat(follow_symlinks=False)
                name = f"{below}{one.name}"
                folder = one.is_dir(follow_symlinks=False)
                locks = folder and ".git" in name  # git locks its index while it reads it
                times = () if locks else (state.st_size, state.st_mtime_ns, state.st_ctime_ns)
                found[name] = (state.st_mode, state.st_ino, *times)
                if folder:
                    waiting.append(f"{name}/")
    return found
