"""Reading command lines in tests: a workspace, and harmful commands with the tricks that hide them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

from sayso.core.model import Risk
from sayso.core.policy import Policy
from sayso.policy.load import load_preset
from sayso.reading.path_operations import CallFolders
from sayso.reading.paths.budget import share_budget
from sayso.reading.shell.read import ShellReading, read_line

HARMFUL = (
    "rm -rf build",
    "rm -r -f ~/notes",
    "git push --force origin main",
    "git reset --hard HEAD~3",
    "git clean -fdx",
    "git branch -D topic",
    "curl https://example.test/x",
    "wget https://example.test/x",
    "sudo ls",
    "dd if=/dev/zero of=disk.img",
    "chmod -R 777 .",
    "mv notes.txt /etc/cron.d/x",
    "cat .env",
    "cat ~/.ssh/id_rsa",
    "pip install requests",
    "npm install left-pad",
    "kill -9 4242",
    "ssh host.test uptime",
    "docker run alpine",
    "terraform destroy",
    "shred notes.txt",
    "sayso approve q_1",
)
"""Twenty-odd commands that are high risk by themselves."""


class Reader:
    """Reads lines in one workspace under one policy."""

    def __init__(self, workspace: Path, home: Path, preset: str = "coding") -> None:
        self.where = CallFolders(str(workspace), str(workspace), str(home))
        self.policy: Policy = load_preset(preset)

    def read(self, line: str) -> ShellReading:
        with share_budget():
            return read_line(line, self.where, self.policy, self.policy.programs)

    def risk(self, line: str) -> Risk:
        return self.read(line).risk


def tricks(command: str) -> Iterator[str]:
    """The command, hidden in every way that the catalogue of bypasses knows."""
    program, _, rest = command.partition(" ")
    coded = base64.b64encode(command.encode()).decode()
    hexed = "".join(f"\\x{ord(one):02x}" for one in program)
    yield from (f"{wrap} {command}" for wrap in WRAPPERS)
    yield from (pattern.replace("CMD", command) for pattern in AROUND)
    quoted = command.replace("'", "'\\''")
    yield from (pattern.replace("CMD", quoted) for pattern in IN_SINGLE_QUOTES)
    doubled = command.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`")
    yield from (pattern.replace("CMD", doubled) for pattern in IN_DOUBLE_QUOTES)
    yield f"'{program}' {rest}"
    yield f'"{program}" {rest}'
    yield f"\\{program} {rest}"
    yield f"{program[0]}''{program[1:]} {rest}"
    yield f'{program[0]}"{program[1:]}" {rest}'
    yield f"{program[0]}\\\n{program[1:]} {rest}"
    yield f"$'{hexed}' {rest}"
    yield f"/usr/bin/{program} {rest}"
    yield f"/usr/bin/../bin/{program} {rest}"
    yield f"{program}$IFS{rest.replace(' ', '$IFS')}"
    yield f"{program}${{IFS}}{rest.replace(' ', '${IFS}')}"
    yield f"{{{program},{rest.replace(' ', ',')}}}"
    yield f"X={program}; $X {rest}"
    yield f"X='{quoted}'; $X"
    yield f"X='{quoted}'; eval $X"
    yield f"X=({command}); ${{X[@]}}"
    yield f"{program[:-1]}? {rest}"
    yield f"{program[:-1]}[{program[-1]}] {rest}"
    yield f"echo {coded} | base64 -d | sh"
    yield f"sh <(echo {coded} | base64 -d)"
    yield f"alias ls='{quoted}'; ls"
    yield f"ls() {{ {command}; }}; ls"
    yield f"function ls {{ {command}; }}\nls"
    yield f"trap '{quoted}' EXIT; ls"
    yield f"\u200b{command}"
    yield f"ls \u202e; {command}"
    yield f"ls;\r{command}"
    yield f"{program}\u00a0{rest}"
    yield "ls; " * 60 + command
    yield "(" * 12 + command + ")" * 12
    yield f"ls {' ' * 500}; {command}"


WRAPPERS = (
    "env",
    "env A=1",
    "env -i",
    "env -u X",
    "nice",
    "nice -n 5",
    "nohup",
    "setsid",
    "timeout 5",
    "timeout -k 1 5",
    "time",
    "stdbuf -oL",
    "ionice -c 3",
    "command",
    "builtin command",
    "exec",
    "sudo",
    "sudo -u root",
    "doas",
    "busybox",
    "xargs",
    "xargs -0",
    "xargs -n 1",
    "flock /tmp/lock",
    "watch",
    "watch -n 1",
    "!",
    "A=1",
    "A=1 B=2 env nice timeout 5",
    "env env env env",
    "script -q /dev/null",
    "unbuffer",
    "caffeinate -i",
    "nice env nohup",
    "find . -exec",
)
AROUND = (
    "ls; CMD",
    "ls && CMD",
    "ls || CMD",
    "ls | CMD",
    "ls & CMD",
    "CMD &",
    "CMD; ls",
    "CMD | cat",
    "(CMD)",
    "{ CMD; }",
    "(ls; CMD)",
    "ls\nCMD",
    "echo $(CMD)",
    "echo `CMD`",
    'echo "$(CMD)"',
    'echo "`CMD`"',
    "cat <(CMD)",
    "ls > >(CMD)",
    "echo ${x:-$(CMD)}",
    "echo ${x:=$(CMD)}",
    'echo "${x:-$(CMD)}"',
    "x=$(CMD)",
    "x=$(CMD) ls",
    "if CMD; then ls; fi",
    "if true; then CMD; fi",
    "while CMD; do ls; done",
    "until false; do CMD; done",
    "for i in 1 2; do CMD; done",
    "for i in $(CMD); do ls; done",
    "case x in x) CMD;; esac",
    "case $(CMD) in x) ls;; esac",
    '[ -n "$(CMD)" ]',
    "[[ -n $(CMD) ]]",
    'test -n "$(CMD)"',
    "echo $((a[$(CMD)]))",
    "echo $[a[$(CMD)]]",
    "((a[$(CMD)]))",
    "cat <<EOF\n$(CMD)\nEOF",
    "cat <<EOF\n`CMD`\nEOF",
    "sh <<EOF\nCMD\nEOF",
    "bash <<'EOF'\nCMD\nEOF",
    "cat <<EOF | sh\nCMD\nEOF",
    "cat <<< $(CMD)",
    "sh <<< $(echo ls); CMD",
    "cd src && CMD",
    "cd /tmp; CMD",
    "pushd src; CMD",
    "git status && CMD",
    "coproc CMD",
    "time -p CMD",
    "find . -exec CMD ;",
    "find . -name x -execdir CMD +",
    "find . -exec CMD \\;",
    "fd x -x CMD",
    "ls | xargs CMD",
    "ls | xargs -I {} CMD",
    "f() { CMD; }; f",
    "true && (ls; (CMD))",
    "ls $(ls $(CMD))",
    "echo a; # comment\nCMD",
    "awk 'BEGIN{system(\"CMD\")}'",
    "sed -n '1e CMD' f",
    "PATH=/x CMD",
    "LD_PRELOAD=x CMD",
    "IFS=x CMD",
    "git -c alias.x='!CMD' x",
    "git -c core.fsmonitor='CMD' status",
    "git -c core.pager='CMD' log",
    "select x in a; do CMD; done",
    "! CMD",
    "echo ok >&2 && CMD",
    "ls 2>/dev/null; CMD",
    "{ ls; CMD; } > /dev/null",
)
IN_SINGLE_QUOTES = (
    "sh -c 'CMD'",
    "bash -c 'CMD'",
    "bash -lc 'CMD'",
    "bash -xc 'CMD'",
    "zsh -c 'CMD'",
    "dash -c 'CMD'",
    "sh -ec 'ls; CMD'",
    "eval 'CMD'",
    "eval ls ';' 'CMD'",
    "env -S 'CMD'",
    "env -S'CMD'",
    "sudo sh -c 'CMD'",
    "env sh -c 'CMD'",
    "xargs sh -c 'CMD'",
    "find . -exec sh -c 'CMD' \\;",
    "nohup sh -c 'CMD' &",
    "timeout 5 bash -c 'CMD'",
    "echo 'CMD' | sh",
    "echo 'CMD' | bash -s",
    "printf '%s' 'CMD' | sh",
    "bash <<< 'CMD'",
    "sh -c 'sh -c \"ls\"; CMD'",
    "script -q -c 'CMD' /dev/null",
    "python3 -c 'CMD'",
    "perl -e 'CMD'",
    "ruby -e 'CMD'",
    "node -e 'CMD'",
    "ssh host 'CMD'",
    "parallel ::: 'CMD'",
    "watch 'CMD'",
    "source <(echo 'CMD')",
    ". <(echo 'CMD')",
    "trap 'CMD' 0",
    "PROMPT_COMMAND='CMD'",
    "export PS4='CMD'",
    "BASH_ENV='CMD' bash -c ls",
    "alias x='CMD'",
    "GIT_PAGER='CMD' git log",
    "GIT_EXTERNAL_DIFF='CMD' git diff",
    "PAGER='CMD' man ls",
    "rg --pre 'CMD' x",
    "sort --compress-program='CMD' f",
    "sort --compress-prog 'CMD' f",
    "tar -tf a.tar --checkpoint-action=exec='CMD'",
    "tar tf a.tar --to-command='CMD'",
    "git grep -O'CMD' x",
    "git --exec-path='CMD' status",
    "man -P 'CMD' ls",
    "fzf --bind='enter:execute(CMD)'",
    "fzf --preview='CMD'",
    "busybox sh -c 'CMD'",
    "docker exec x sh -c 'CMD'",
    "flock /tmp/l -c 'CMD'",
    "less '+!CMD' f",
    "vim -c ':!CMD' f",
    "printf -v x '%s' 'CMD'; $x",
    "read x <<< 'CMD'; $x",
    "declare x='CMD'; $x",
    "enable -f 'CMD' x",
    "hash -p 'CMD' ls",
    "complete -C 'CMD' ls",
    "echo \"${x@P}\" 'CMD'",
    "x='CMD'; echo ${x@P}; $x",
    "git ls-remote --upload-pack='CMD' .",
    "git archive --exec='CMD' --remote=. HEAD",
    "find . -fprintf out 'CMD'",
    "sed 's/a/CMD/e' f",
    "gawk -i inplace 'CMD' f",
    "xargs -I {} sh -c 'CMD {}'",
    "env -S 'sh -c \"CMD\"'",
)
IN_DOUBLE_QUOTES = (
    'sh -c "CMD"',
    'bash -lc "CMD"',
    'eval "CMD"',
    'zsh -c "ls; CMD"',
    'echo "CMD" | sh',
    'X="CMD"; $X',
)
