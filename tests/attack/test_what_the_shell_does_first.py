"""Lines that a shell reads in another way than they look: joined lines, branches, tests, folders, sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.core.model import Risk
from sayso.reading.paths.budget import MAX_LOOKS, share_budget
from sayso.reading.shell.judge import MAX_STEPS
from sayso.reading.shell.read import read_line
from tests.support.rows import each_row
from tests.support.shell_lines import Reader

JOINED = (
    "echo start\n\\\ngit push --force",
    "ls\n\\\n\\\nrm -rf src",
    'echo "$\\\n(rm -rf src)"',
    "echo $\\\n(rm -rf src)",
    "echo `rm -rf\\\n src`",
    'printf %s "$\\\n(rm -rf src)"',
    'git log --grep "$\\\n(rm -rf src)"',
    "echo ${x:-$\\\n(rm -rf src)}",
    "[[ -n $\\\n(rm -rf src) ]]",
    "cat <<E\n$\\\n(rm -rf src)\nE",
    "cat <<E\nx\n\\\nE\nE\nrm -rf src",
    "cat <<'E'\nx\\\nE\nrm -rf src",
    "g\\\nit pu\\\nsh --fo\\\nrce",
    "echo a &\\\n& rm -rf src",
    "echo a |\\\n| rm -rf src",
    "ls >\\\n out.txt",
    "echo x 2\\\n>f",
    "# nothing \\\nrm -rf src",
    "echo a#\\\nrm -rf b\nrm -rf src",
    "cat .\\\nenv",
    "echo $'a\\'\nrm -rf src\n'",
    "echo \"'\\\n\"; rm -rf src #'",
)
APART = (
    "cp=ls; $\ncp notes.txt b.txt",
    "touch=echo; $\ntouch planted",
    "x=a; echo $\nx",
    "test ==\ncp notes.txt b.txt",
    "test a ==\ntouch planted",
    "[ ==\ntouch planted",
    "[ a ==\ntouch planted",
    "[[ a ==\ntouch planted ]]",
    "[[\nls ]]",
    "[[ a =\nls ]]",
    "echo a >\nout.txt",
    "export\nX=1 touch planted",
)
AWK_AND_SED = (
    "awk '{print $1 \\\n> \"out\"}' notes.txt",
    "awk '{print $1 \\\n>> \"out\"}' notes.txt",
    "awk '{print $1 \\\n| \"sh\"}' notes.txt",
    'awk \'{ printf("x") \\\n > "out" }\' notes.txt',
    "awk '# \\\n{print > \"out\"}' notes.txt",
    "awk '{print \\\r\n > \"out\"}' notes.txt",
    "awk '{print substr(0,\n1)>substr(\"d\",1)}' notes.txt",
    "awk '{print $1,\n$2 > \"out\"}' notes.txt",
    "awk '{print (1\n) > \"out\"}' notes.txt",
    "awk '{print 1 ?\n2 : 3 > \"out\"}' notes.txt",
    "sed -n '1w out' notes.txt",
    "sed 't#;w out' notes.txt",
    "sed ':a #;w out' notes.txt",
)
BRANCHES = (
    "X=git; false && X=echo; $X push --force origin main",
    "X=git; true || X=echo; $X push --force",
    "X=git; false && { X=echo; }; $X push --force",
    "X=git; { false && X=echo; }; $X push --force",
    "X=git; if false; then X=echo; fi; $X push --force",
    "X=git; case a in b) X=echo;; esac; $X push --force",
    "X=git; while false; do X=echo; done; $X push --force",
    "X=git; for i in; do X=echo; done; $X push --force",
    "X=git; X=echo && true & $X push --force",
    "X=git; X=echo | true; $X push --force",
    "X=git; (X=echo); $X push --force",
    "X=echo; while true; do X=git; break; X=echo; done; $X push --force",
    "X=echo; for i in 1 2; do $X push --force; X=git; done",
    "X=echo; f() { X=git; return; X=echo; }; f; $X push --force",
    "X=echo; f() { $X push --force; }; X=git f",
    "X=echo; X=git :; $X push --force",
    "X=echo; false || X=git; $X push --force",
    "X=notes.txt; false && X=src; X=.env && false || true; cat $X",
    "false && f() { :; }; f() { rm -rf src; } && f",
    "X=.env; false && X=notes.txt; cat $X",
    "X=sayso; false && X=echo; $X approve q_1",
    "cd src && false || cd ..; rm -rf x",
    "false && export X=echo; X=git; false && export X=echo; $X push --force",
    "X=git; false && read X < notes.txt; $X push --force",
    "X=git; false && unset X; $X push --force",
)
TESTS = (
    "[ x > FILE ]",
    "[ -n x >> FILE ]",
    "[ x 2> FILE ]",
    "if [ x > FILE ]; then ls; fi",
    "while [ x > FILE ]; do ls; done",
    "[ x >| FILE ] && ls",
    "[ x &> FILE ]",
    "! [ x > FILE ]",
    "ls && [ a = b > FILE ]",
    "[ $(echo x) > FILE ]",
    "[ x < .env ]",
    "test x > FILE",
    "[[ x > FILE ]]",
    "[[ x || touch FILE ]]",
    "[ 'a[$(touch FILE)]' -eq 1 ]",
    "test 'a[$(touch FILE)]' -lt 1",
)
FOLDERS = (
    "cd ../other && pytest",
    "cd ../other; make",
    "cd link && make",
    "env -C ../other make",
    "find ../other -execdir make \\;",
    "(cd ../other && npm test)",
    "cd ../other && cargo build",
    "cd ../other && ruff check --fix",
    "cd ../other && ./run.sh",
    "cd $UNKNOWN && make",
    "pushd ../other && go test ./...",
    "for d in ../other; do cd $d && make; done",
    "cd src && cd ../../other && make",
    "make -C ../other",
    "git -C ../other commit -m x",
)

TILDES = (
    'for x in ~/.bashrc; do cp notes.txt "$x"; done',
    'for x in ~/.bashrc ~/.profile; do touch "$x"; done',
    'f() { echo x >> "$1"; }; f ~/.profile',
    'f() { echo x >> "$@"; }; f ~/.profile',
    "bash -c 'touch $1' _ ~/.config/autostart/x.desktop",
    "sh take.sh ~/.profile",
    "echo ~/.bashrc | xargs touch",
    "echo ~root/.bashrc | xargs touch",
    'for d in ~/other; do cd "$d" && make; done',
    'for d in ~; do cd "$d/other" && make; done',
    'for x in ~root/.bashrc; do cat "$x"; done',
    'x=~root/.bashrc; cat "$x"',
    'export X=~/.bashrc; touch "$X"',
    "x=:~/.bashrc; touch $x",
    "cd ~/other && make",
    "cd && make",
)

TAKEN_FROM_INPUT = (
    "xargs -a list cat",
    "xargs -a list wc -l",
    "xargs --arg-file=list git diff",
    "xargs --arg-file list -I{} sort {}",
    "echo a,-delete | xargs -d, find",
    "ls | xargs -d x find",
)

NAMES_READ = (
    "g=echo; mapfile -t g <<< git; $g push --force",
    "g=echo; readarray -t g <<< git; $g push --force",
    "a=echo; read -s a <<< git; $a push --force",
    "a=echo; read -r -s a <<< git; $a push --force",
    "a=echo; read -O a <<< git; $a push --force",
    "a=echo; read -C a <<< git; $a push --force",
    "a=echo; read -p a <<< git; $a push --force",
    "a=echo; read -A a <<< git; $a push --force",
    "a=echo; read -ra a <<< git; $a push --force",
    "a=echo; read -raa <<< git; $a push --force",
    "a=echo; read -k a <<< git; $a push --force",
    "a=echo; read -sn 1 a <<< g; $a push --force",
    "a=echo; read -d a <<< git; $a push --force",
    "REPLY=echo; read <<< git; $REPLY push --force",
    "MAPFILE=echo; mapfile <<< git; $MAPFILE push --force",
    'a=.env; ls | while read -p a b; do cat "$a"; done',
)

COMPUTED_BY_ZSH = (
    "echo $path['$(touch planted)']",
    "echo $x['$(touch planted)']",
    'echo "$x[\\$(touch planted)]"',
    'echo "$+x[\\$(touch planted)]"',
    "echo $HOME[$(touch planted)]",
    "echo $x[$y]",
    "echo $x[1]['$(touch planted)']",
    "echo $#x['$(touch planted)']",
    "echo $+x['$(touch planted)']",
    "echo $1['$(touch planted)']",
    "echo ${y:-$x['$(touch planted)']}",
    "cat <<E\n$x['$(touch planted)']\nE",
    "cat <<E\n$x[\\$(touch planted)]\nE",
    "[[ -n $x['$(touch planted)'] ]]",
    "case $x['$(touch planted)'] in a) ls;; esac",
    "for i in $x['$(touch planted)']; do ls; done",
    "cat < $x['$(touch planted)']",
    "y=$x['$(touch planted)']",
    "printf '%d' 'path[$(touch planted)]'",
    "printf '%s %d' a 'path[$(touch planted)]'",
    "printf -- '%5.2lf' 'path[$(touch planted)]'",
    "printf '%*s' 'path[$(touch planted)]' a",
    "printf '%2$d' a 'path[$(touch planted)]'",
    "printf '%%%x' \"$y\"",
    "printf '%d' y",
    *(
        f"{one} 'path[$(touch planted)]'"
        for one in ("exit", "return", "shift", "break", "continue", "logout")
    ),
    'exit "$y"',
    "shift path",
)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("home").resolve()
    for name in ("work/.git", "work/src", "other"):
        (home / name).mkdir(parents=True)
    for name, text in {
        "notes.txt": "notes",
        "list": "src",
        ".env": "KEY=1",
        "Makefile": "all:\n\techo hi\n",
    }.items():
        (home / "work" / name).write_text(text)
    for name in ("Makefile", "run.sh"):
        (home / "other" / name).write_text("all:\n\techo hi\n")
    (home / "work/take.sh").write_text('touch "$1"\n')
    (home / "work/link").symlink_to(home / "other")
    return Reader(home / "work", home)


@each_row("line", (*JOINED, *APART, *AWK_AND_SED, *TESTS, *COMPUTED_BY_ZSH))
def test_what_a_shell_runs_or_writes_is_not_low(reader: Reader, line: str) -> None:
    assert reader.risk(line) is not Risk.LOW


@each_row("line", (*BRANCHES, *FOLDERS, *TILDES, *TAKEN_FROM_INPUT, *NAMES_READ))
def test_what_may_have_been_set_or_lies_elsewhere_is_high(reader: Reader, line: str) -> None:
    assert reader.risk(line) is Risk.HIGH


@each_row(
    "line", ["sayso app\\\nrove q_1", 'echo "$\\\n(sayso approve q_1)"', "true\n\\\nsayso grant git.push"]
)
def test_a_joined_line_does_not_hide_the_guard(reader: Reader, line: str) -> None:
    assert any(one.barred for one in reader.read(line).findings)


@each_row(
    "line",
    [
        "grep -rn foo \\\n  src \\\n  | head",
        "X=notes.txt; cat $X",
        "X=notes.txt && cat $X",
        "cd src && ls; cd .. && ls",
        "[ -f notes.txt ] && echo yes",
        "[ a \\> b ]",
        "if [ -d src ]; then ls src; fi",
        "for f in a b; do echo $f; done; echo done",
        "[[ -f a || -f b ]] && echo yes",
        "cat <<'E'\na\\\nb\nE",
        "echo 'a\\\nb'",
        "i=0; while [ $i = 3 ]; do echo $i; done",
        "awk '{ print $1, \\\n $2 }' notes.txt",
    ],
)
def test_what_only_looks_odd_is_low(reader: Reader, line: str) -> None:
    assert reader.risk(line) is Risk.LOW


@each_row(
    ("name", "line"),
    [
        ("doublings", "a=xxxxxxxx;" + "a=$a$a;" * 60 + "echo $a"),
        ("quoted doublings", "a=xxxxxxxx; " + 'a="$a$a"; ' * 60 + 'echo "$a"'),
        ("arguments", "cat " + " ".join(f"f{i}" for i in range(20_000))),
        ("characters", "echo " + "a" * 100_000),
        ("words", "rm -rf x; " * 10_000),
        ("pipes", "ls " + "| xargs " * 1_000 + "ls"),
        ("loops", "".join(f"for a{i} in 1 2; do X{i}=$a{i}; " for i in range(11)) + "ls; " + "done; " * 11),
    ],
)
def test_what_is_too_much_is_high_and_costs_no_more_than_the_budget(
    reader: Reader, name: str, line: str
) -> None:
    read = reader.read(line)
    assert read.risk is Risk.HIGH
    assert len(read.commands) <= MAX_STEPS


@pytest.mark.parametrize("start", ["cat", "cp", "grep x", "wc -l"])
def test_names_that_patterns_fit_cost_no_more_looks_than_a_call_has(tmp_path: Path, start: str) -> None:
    reader = Reader(tmp_path.resolve() / "work", tmp_path.resolve())
    for folder in (tmp_path / "work/many" / str(one) for one in range(10)):
        folder.mkdir(parents=True)
        for name in range(200):
            (folder / str(name)).touch()
    end = " src" if start == "cp" else ""
    assert reader.risk(f"{start} many/*/*{end}") is not Risk.HIGH
    with share_budget() as looks:
        line = f"{start} {'many/*/* ' * 20}{end}"
        assert read_line(line, reader.where, reader.policy, reader.policy.programs).risk is Risk.HIGH
    assert MAX_LOOKS <= looks.made < 2 * MAX_LOOKS
