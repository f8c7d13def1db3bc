"""Names that a command finds are judged for what they are: secrets behind links, tracked secrets, the guard.

The workspace is a repository somebody else made: it tracks a key, and links with plain names that lead to
the user's own secrets.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sayso.core.model import Risk
from sayso.reading.secrets_below import MAX_ENTRIES
from tests.support.shell_lines import Reader


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("home").resolve()
    work = home / "work"
    for folder in (home / ".ssh", work / "src", work / "keys", work / "docs", work / "lib", work / "away"):
        folder.mkdir(parents=True)
    (home / ".ssh/id_rsa").write_text("k")
    (home / "notes").write_text("n")
    for name in ("README.md", "src/a.py", "lib/b.py", "keys/server.key"):
        (work / name).write_text("x = 1\n")
    (work / "docs/plain.txt").symlink_to(home / ".ssh/id_rsa")
    (work / "away/home").symlink_to(home)
    for order in ("init", "add"):
        words = ["git", "-C", str(work), order, "-q" if order == "init" else "."]
        subprocess.run(words, check=True, capture_output=True)
    return Reader(work, home)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A workspace with a folder of few names, and one of more than are looked at."""
    home = tmp_path_factory.mktemp("crowd").resolve()
    for folder, count in (("few", 3), ("many", MAX_ENTRIES + 1)):
        (home / "work" / folder).mkdir(parents=True)
        for number in range(count):
            (home / "work" / folder / str(number)).touch()
    yield Reader(home / "work", home)
    shutil.rmtree(home / "work")


@pytest.mark.parametrize(
    "line",
    [
        "git ls-files keys | xargs cat",
        "git ls-files | xargs cat",
        "git ls-files keys | xargs -n1 base64",
        "git ls-files keys | head -1 | xargs head",
        "git ls-files docs | xargs cat",
        "git ls-files ':keys' | xargs cat",
        "git ls-files 'k*' | xargs cat",
        "git ls-files -- keys/server.key | xargs cat",
        "cd src && git ls-files ../keys | xargs cat",
        "cat $(git ls-files keys)",
        "for f in $(git ls-files keys); do cat $f; done",
        "git diff --name-only | xargs cat",
        "git diff --name-only HEAD~3 | xargs cat",
        "git show --name-only --format= HEAD | xargs cat",
        "git grep -n x",
        "git grep -n x -- keys",
        "git grep -n src",
        "git grep -n '.*'",
        "git grep -e src -- 'k*'",
        "git grep -n x -- '*.key'",
        "git archive HEAD keys",
        "git archive src",
        "cat docs/*",
        "cat docs/*.txt",
        "cat docs/pl*",
        "head -c 100 docs/plai?.txt",
        "cat */*.txt",
        "cat **/*.txt",
        "wc -l docs/*",
        "for f in docs/*.txt; do cat $f; done",
        "find docs -name '*.txt' | xargs cat",
        "find docs -name '*.txt' -exec cat {} +",
        "find . -name 'p*' -exec head {} \\;",
        "grep x docs/*.txt",
        "grep -R x docs",
        "grep -R x away",
        "rg -L x away",
        "rg --follow x away",
        "ag -f x away",
        "find -L away -name '*.md' -exec cat {} +",
        "find away -follow -type f -exec cat {} +",
        "fd -L . away -x cat",
    ],
)
def test_a_secret_behind_a_name_that_a_command_finds_is_not_low(reader: Reader, line: str) -> None:
    assert reader.risk(line) is not Risk.LOW


@pytest.mark.parametrize(
    "line",
    [
        "git ls-files src | xargs cat",
        "git ls-files -- src lib | xargs wc -l",
        "cd src && git ls-files | xargs cat",
        "git grep -n x -- src",
        "git grep -n x src",
        "git archive HEAD src",
        "git grep -n x -- '*.py'",
        "git ls-files '*.py' | xargs wc -l",
        "cat src/*.py",
        "find src -name '*.py' | xargs cat",
        "find src lib -name '*.py' -exec grep -l x {} +",
        "grep -r x src",
        "grep -R x src",
        "rg -L x src",
        "rg x src",
        "ls docs/*",
        "ls **/*.py",
    ],
)
def test_names_of_plain_files_stay_low(reader: Reader, line: str) -> None:
    found = reader.read(line)
    assert found.risk is Risk.LOW, [(one.operation, one.why) for one in found.findings]


@pytest.mark.parametrize("line", ["split README.md", "csplit README.md 1", "split -b 1 src/a.py"])
def test_what_writes_files_that_no_word_names_is_not_low(reader: Reader, line: str) -> None:
    assert reader.risk(line) is not Risk.LOW


@pytest.mark.parametrize("line", ["rg x", "ag x", "fd . -x cat", "fd -x wc -l", "grep -r x ."])
def test_more_names_than_are_looked_at_are_not_low(crowded: Reader, line: str) -> None:
    assert crowded.risk(f"cd few && {line}") is Risk.LOW
    assert crowded.risk(f"cd many && {line}") is not Risk.LOW


@pytest.mark.parametrize(
    "line",
    [
        "mv $(which sayso) x",
        'rm -f "$(type -p sayso)"',
        "chmod -x $(which sayso)",
        'p=$(which sayso); rm "$p"',
        'p=$(which sayso) && mv "$p" "$p.old"',
        "which sayso | xargs rm",
        "which sayso | xargs -I{} mv {} x",
        "command -v sayso | head -1 | xargs rm -f",
        "dd if=README.md of=$(which sayso)",
        "find / -name sayso -delete",
        "find / -name sayso | xargs rm",
        "find / -iname 'SAYSO*' -print0 | xargs -0 rm",
        "fd sayso / -x rm",
        "locate sayso | xargs rm",
        "for f in $(whereis sayso); do rm $f; done",
        "which sayso | while read f; do rm $f; done",
        "pgrep sayso | xargs kill",
        "pgrep -f 'sayso serve' | xargs -r kill -9",
        "ps aux | grep sayso | awk '{print $2}' | xargs kill -9",
        "p=$(pgrep sayso); kill $p",
        "if true; then p=$(pgrep sayso); fi; kill $p",
        "for p in $(pgrep sayso); do kill $p; done",
        "pgrep sayso | while read p; do kill $p; done",
        "kill -9 -1",
        "kill -TERM -1",
        "$(which sayso) approve q_1",
        "`which sayso` approve q_1",
        "s=$(which sayso); $s approve q_1",
        "which sayso | xargs -I{} {} approve q_1",
        "/opt/x/sayso approve q_1",
        "./sayso approve q_1",
        ".venv/bin/sayso approve q_1",
        "python3 -m sayso.cli approve q_1",
        "sa?so approve q_1",
        "/usr/bin/say* approve q_1",
    ],
)
def test_the_guard_found_by_a_command_is_blocked(reader: Reader, line: str) -> None:
    found = reader.read(line).findings
    assert any(one.barred and one.operation.startswith("self_modification.") for one in found), found


@pytest.mark.parametrize(
    "line",
    [
        "which sayso",
        "ls -l $(which sayso)",
        "$(which sayso) check git push",
        "pgrep sayso",
        "ps aux | grep sayso",
        "grep -rl sayso src | xargs sed -i s/a/b/",
        'git commit -m "docs: $(date +%s) of sayso"',
        "kill -9 999999",
        "pkill -u s node",
        "killall node",
        "pkill -f vite",
    ],
)
def test_what_only_speaks_of_the_guard_is_not_blocked(reader: Reader, line: str) -> None:
    assert not any(one.barred for one in reader.read(line).findings)


def test_a_pattern_that_fits_the_guards_own_process_is_blocked(reader: Reader) -> None:
    own = Path("/proc/self/comm").read_text().strip()
    for line in (f"pkill {own}", f"pkill {own[:-1]}", f"killall {own}", f"pkill -x {own}"):
        assert any(one.barred for one in reader.read(line).findings), line
    assert not any(one.barred for one in reader.read(f"killall {own}-not").findings)


def test_a_pattern_for_processes_is_never_run_as_an_expression(reader: Reader) -> None:
    """It would take for ever; here it takes as long as it is."""
    assert reader.risk(f"pkill -f '(a*)*{'a.*' * 2_000}!'") is Risk.HIGH
