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


def make_repository(folder: Path) -> None:
    """Make a repository here that configures the remote `origin`."""
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir(parents=True)
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git/config").write_text('[remote "origin"]\n\turl = https://example.test/x.git\n')


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
    octal = "".join(f"\\{ord(one):03o}" for one in program)
    yield f"$'{octal}' {rest}"
    yield f"$'\\u{ord(program[0]):04x}{program[1:]}' {rest}"
    yield f"$(printf '{octal}') {rest}"
    yield f"$(echo {program}) {rest}"
    yield f"$(which {program}) {rest}"
    yield f"echo '{quoted[::-1]}' | rev | sh"
    yield f"echo {command.encode().hex()} | xxd -r -p | sh"
    yield f"/???/{program} {rest}"
    yield f"/bin/{program[0]}* {rest}"
    yield f"//bin/{program} {rest}"
    yield f"echo $\\\n({command})"
    yield f'echo "\\"" ; {command} ; echo "\\""'
    yield f"echo '{quoted}' > x.sh; sh x.sh"
    yield f"cat <<'EOF' > x.sh\n{command}\nEOF\nsh x.sh"
    yield f"X='{quoted}'; bash -c \"$X\""
    yield f'set -- {command}; "$@"'
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
    "command -p",
    "exec -a ls",
    "chrt -i 0",
    "taskset -c 0",
    "systemd-run --user",
    "nsenter -t 1",
    "strace -f",
    "arch -x86_64",
    "rtk proxy",
    "env -C src",
    "env -i PATH=/bin",
    "xargs -a names",
    "xargs -P 4 -n 1",
    "nocorrect",
    "poetry run",
    "npm exec --",
    "go test -exec",
    "git bisect run",
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
    "cd 'src' && CMD",
    "\\cd src && CMD",
    "cd .git && CMD",
    "cd ~/.ssh; CMD",
    'git -C "$(CMD)" status',
    'git --git-dir="$(CMD)" status',
    'git diff --output="$(CMD)"',
    'sort -o "$(CMD)" f',
    'CMD > "$PWD/x"',
    'echo x > "$PWD/$(CMD)"',
    "ls ^& CMD",
    "cmd /c CMD",
    "cmd.exe /c ls & CMD",
    "ls |& CMD",
    "ls <(ls >(CMD))",
    "ls {a,$(CMD)}",
    "echo ${x[$(CMD)]}",
    "x=(a $(CMD))",
    "declare x=$(CMD)",
    "printf '%s' $(CMD)",
    "while read x; do CMD; done < notes.txt",
    "ls | while read x; do CMD; done",
    "if ls; then :; elif CMD; then :; fi",
    "case x in y) ls;; *) CMD;; esac",
    "for ((i=0; i<1; i++)); do CMD; done",
    "[[ -f x && -n $(CMD) ]]",
    "ls; [ -f x ] || CMD",
    "make -f - <<< 'all:; CMD'",
    "screen -dm CMD",
    "at now <<< 'CMD'",
    "awk '{print | \"CMD\"}' f",
    "awk 'BEGIN{\"CMD\" | getline}'",
    "git -p -c core.pager='CMD' status",
    "git -c diff.external='CMD' diff --ext-diff",
    "git config core.pager 'CMD' && git log",
    "git config alias.x '!CMD' && git x",
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
    "python3 -c 'import os; os.system(\"CMD\")'",
    'node -e \'require("child_process").execSync("CMD")\'',
    "perl -e 'system(\"CMD\")'",
    "lua -e 'os.execute(\"CMD\")'",
    "php -r 'system(\"CMD\");'",
    "sqlite3 x.db '.shell CMD'",
    "make --eval='x:;CMD' x",
    "npm exec -c 'CMD'",
    "cmd /c 'ls & CMD'",
    "pwsh -Command 'CMD'",
    "tmux new -d 'CMD'",
    "gdb -batch -ex 'shell CMD'",
    "git submodule foreach 'CMD'",
    "git rebase -x 'CMD' HEAD~1",
    "git ls-remote --upload-pa='CMD' .",
    "tar tf a.tar --to-comm='CMD'",
    "tar cf a.tar --checkpoint-act=exec='CMD' f",
    "env --split-st='CMD'",
    "rsync -e 'CMD' a b",
    "zip -TT 'CMD' x.zip f",
    "history -s 'CMD'; fc -s",
    "export GIT_PAGER='CMD'; git log",
    "typeset -x PAGER='CMD'; man ls",
    "declare -x BASH_ENV='CMD'; bash -c ls",
    "SHELLOPTS=xtrace PS4='$(CMD)' bash -c ls",
    "env PS4='$(CMD)' bash -xc ls",
    "ENV='CMD' sh -c ls",
    "LESSOPEN='|CMD' less f",
    "GIT_SSH_COMMAND='CMD' git fetch",
    "EDITOR='CMD' git commit",
    "FZF_DEFAULT_COMMAND='CMD' fzf",
    "NODE_OPTIONS='CMD' node --version",
    "x='$(CMD)'; y=x; echo \"${!y@P}\"",
    "mapfile -C 'CMD' -c 1 a < f",
    "bind -x '\"a\":CMD'",
    "crontab - <<< '* * * * * CMD'",
    "sed -e 'p' -e 'e CMD' f",
    "sed --expression='1e CMD' f",
    "find . -exec sh -c 'CMD' _ {} +",
    "fd -x sh -c 'CMD'",
    "watch -n 1 -x sh -c 'CMD'",
    "less +'!CMD' f",
    "vim -es -c '!CMD' f",
    "ex -c '!CMD' f",
    "docker run alpine sh -c 'CMD'",
    "kubectl exec p -- sh -c 'CMD'",
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
