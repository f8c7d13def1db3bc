"""The words that lines are made of: harmless commands, harm that stays in the scratch folder, and what is put
around and between them. `CMD` stands for a command, `WORD` for a word, `TEXT` for a text."""

from __future__ import annotations

HARM = (
    "evil",
    "evil a.txt",
    "touch planted",
    "rm notes.txt",
    "rm -f a.txt b.txt",
    "mv a.txt planted",
    "cp a.txt planted",
    "tee planted",
    "echo x > planted",
    "printf x >> notes.txt",
    "> planted",
    "mkdir planted",
    "ln -s a.txt planted",
    "chmod 700 notes.txt",
    "sed -i s/a/b/ a.txt",
    "sort -o notes.txt a.txt",
    "git branch planted",
    "exec 3<>/dev/tcp/127.0.0.1/9",
    "cat ~/.ssh/id_rsa",
    "./run.sh",
    "sh -c 'echo x > planted'",
    "awk 'BEGIN { print 1 > \"planted\" }'",
)
CALM = (
    "ls", "ls -la", "ls src sub", "ls *.txt", "cat notes.txt", "cat -n a.txt b.txt", "cat < notes.txt", "head -n 2 a.txt",
    "tail -n 1 notes.txt", "wc -l a.txt", "wc *.txt", "grep -n a notes.txt", "grep -e a -e b a.txt", "grep -c '>' notes.txt",
    "grep -rn one src", "sort -u a.txt", "sort -r notes.txt", "uniq -c a.txt", "cut -d, -f1 notes.txt", "diff a.txt b.txt",
    "test -f a.txt", "test a = b", "[ -f a.txt ]", "[ -n x ]", "[ 1 -lt 2 ]", "[[ a == a ]]", "[[ -f a.txt && x != y ]]",
    "true", "false", ":", "pwd", "date +%s", "echo hi", "echo a b c", "echo -n x", "echo -e 'a\\tb'", "printf '%s\\n' a b",
    "printf %d 5", "args", "args a b", "args 'a b' c", 'args "a b"', "args a\\ b", "args *.txt", "args {a,b}c", "args ~",
    "args ~/other", "args -", "args '' x", "args a=b", "args [x] ?", "git status", "git status --short", "git log --oneline -1",
    "git diff", "git diff --stat", "git show HEAD", "git branch", "git ls-files", "git log --grep=x", "git rev-parse HEAD",
    "find . -name '*.txt'", "find src -type f", "find sub -exec args {} \\;", "find sub -exec args {} +", "jq .a data.json",
    "jq -r '.a[]' data.json", "sed -n 1p a.txt", "sed s/a/b/ a.txt", "awk '{ print $1 }' notes.txt", "basename /a/b.c .c",
    "dirname a/b", "seq 3", "tr a b < a.txt", "nl a.txt", "stat a.txt", "file a.txt", "cd src", "cd sub && pwd", "cd src && ls",
    "which ls", "type ls", "command -v git", "env args a", "env A=1 args b", "nice args a", "timeout 5 args a", "time args a",
    "command args a", "builtin echo a", "xargs args < names", "xargs -n 1 args < names", "echo a b | xargs args",
    "ls | head -n 1", "cat notes.txt | grep one | wc -l", "git ls-files | xargs args", "printf 'a b\\n' | xargs -I{} args x{}",
    "export -p", "set -e", "shopt -s nullglob", "unset x", "read -r x < names", "local x", "shift", "umask", "exit 0", "wait",
)  # fmt: skip
"""Mostly low."""
SET = (
    "x=1", "x=a", "x='a b'", 'x="$x"', "x=*.txt", "x=~", "x=$HOME", "x=", "x=-n", "x=args", "x=echo", "x=evil", "x=touch",
    "x='evil a'", "x=$(echo args)", "x=$(echo evil)", "x=$PWD/notes.txt", "x+=b", "x=(a b)", "x[1]=c", "y=$x", "y=x", "IFS=a",
    "export x=args", "declare x=evil", "readonly y=1", "local x=1", "typeset -i x=1", "x=a y=b", "x=${y:-args}", "set -- a b",
    "set -- evil", "x=>", "x=';'", "x='$(evil)'", "x=planted", "unset x", "read x <<< evil", "printf -v x evil",
)  # fmt: skip
USE = (
    "$x", "$x a", '"$x" a', "${x} planted", "$x$y", "args $x", 'args "$x"', 'args "${x}b"', "args ${x:-a}", 'args "${x:-a b}"',
    "args ${x#a}", 'args "${x%%b*}"', "args ${x/a/b}", "args ${#x}", "args ${x[0]}", 'args "${x[@]}"', 'args "$@"', "args $*",
    "args $#", "args $?", "args $x$x", "args ~$x", "args {$x,b}", "args $((x))", "args $((1 + 2))", "args $((x + 1))", "echo $x",
    'echo "$x"', "[ $x = a ]", '[ "$x" = a ]', "[[ $x == a ]]", "(( x > planted ))", "cat $x", 'cat "$x"', "ls > $x",
    'ls > "$x"', "args ${x:+evil}", "args ${x^^}", "args ${x@Q}", "args ${!x}", 'args "a${x}c"', "test -v x", "env $x a",
    "command $x a", "eval $x", "echo $x | xargs args", "xargs $x < names", "sh -c \"$x\"", "args $'a\\tb'", 'args $"a"',
)  # fmt: skip
BRANCHES = (
    "A; B; C", "A; false && B; C", "A; true || B; C", "A; true && B; C", "A; { B; }; C", "A; { false && B; }; C",
    "A; (B); C", "A; B & C", "A; B | cat; C", "A | B; C", "A; if true; then B; fi; C", "A; if false; then B; fi; C",
    "A; if B; then C; else C; fi", "if true; then A; else B; fi; C", "A; while false; do B; done; C", "A; until true; do B; done; C",
    "A; for i in; do B; done; C", "A; for i in 1 2; do B; done; C", "for x in evil args; do :; done; C", "for x in args evil; do C; done",
    "A; case a in b) B;; esac; C", "A; case a in a) B;; *) A;; esac; C", "A; case a in (a) B;& b) C;; esac", "A; f() { B; }; C",
    "A; f() { B; }; f; C", "A; f() { B; C; }; f", "f() { A; false && B; }; f; C", "A; ! B; C", "A && B || C", "A || B && C",
    "A; [[ a == b ]] && B; C", "A; [ a = b ] || B\nC", "A; (( 0 )) && B; C", "A\nB\nC", "A; B; break; C", "for i in 1; do A; break; B; done; C",
    "for i in 1; do continue; B; done; C", "A; return; B; C", "(A; exit; B); C", "A; x= C", "B C", "A C", "A; B C; C", "A; trap 'B' EXIT; C",
    "A; alias args=evil; C", "alias args=evil\nC", "A; time B; C", "A; coproc B; C", "A; B |& cat; C", "{ A; } 2>/dev/null; C",
    "A; if ! B; then :; fi; C", "A; false && { B; }; C", "A; false && (B); C", "A; true || { B; } && C", "A; select i in a; do B; done < names; C",
    "A; for ((i = 0; i < 1; i++)); do B; done; C", "A; while read -r x; do B; done < names; C", "A; cat names | while read x; do C; done",
)  # fmt: skip
"""Assignments, what may not have run, and a use."""
AROUND = (
    "echo 'CMD'", 'echo "CMD"', "# CMD", "ls # CMD", "args 'CMD'", 'args "CMD"', "args CMD", "args \\\n CMD", "echo start\nCMD",
    "echo \\$(CMD)", "echo '$(CMD)'", 'echo "\\$(CMD)"', "echo \\`CMD\\`", 'echo "$(CMD)"', "echo `CMD`", "args $(echo CMD)",
    "cat <<'E'\nCMD\nE", "cat <<E\nCMD\nE", "cat <<-E\n\tCMD\n\tE", "cat <<\\E\n$(CMD)\nE", "cat <<E\n\\$(CMD)\nE", 'cat <<"E"\n`CMD`\nE',
    "cat <<E; CMD\nx\nE", "cat <<E | args\nCMD\nE\nls", "cat <<E <<F\nCMD\nE\nCMD\nF", "cat <<'E F'\nCMD\nE F", "cat <<E\nx\nE\nCMD",
    "grep -n 'CMD' notes.txt", 'git log --grep="CMD"', "git log --grep 'CMD'", "printf '%s\\n' 'CMD'", 'printf "CMD"', "args a'CMD'b",
    "args $'CMD'", 'args $"CMD"', "args ${x:-'CMD'}", 'args "${x:-CMD}"', "args ${x:-CMD}", "x='CMD'; args \"$x\"", "x='CMD'; args $x",
    "[ x = 'CMD' ]", '[[ x == "CMD" ]]', "[[ 'CMD' =~ x ]]", "[ CMD ]", "test CMD", "[[ CMD ]]", "(( 1 CMD ))", "args $(( 1 CMD ))",
    "false && CMD", "true || CMD", "if false; then CMD; fi", "case x in 'CMD') ls;; esac", "f() { CMD; }", "f() { CMD; }; ls",
    "args {'CMD',a}", "args a;CMD", "args a\\;CMD", "args a '&&' CMD", "args \\| CMD", "args '' CMD", "sh -c 'echo CMD'", "bash -c \"args 'CMD'\"",
    "env -S 'args CMD'", "echo 'CMD' | cat", "echo 'CMD' | xargs args", "xargs -I{} args 'CMD' < names", "find sub -name 'CMD'",
    "find sub -exec args 'CMD' {} \\;", "awk '# CMD' a.txt", "awk '{ print \"CMD\" }' a.txt", "awk '/CMD/' a.txt", "sed -n '/CMD/p' a.txt",
    "sed 's/a/CMD/' a.txt", "sed -n '# CMD' a.txt", "sed 'a CMD' a.txt", "sed '$a\\\nCMD' a.txt", "jq '.a # CMD' data.json", "jq '\"CMD\"' data.json",
    "ls &&\nCMD", "ls |\nCMD", "!\nCMD", "time\nCMD", "args <<< 'CMD'", 'args <<< "$(CMD)"', "cat <(CMD)", "args [CMD]", "args !(CMD)", "args ?(CMD)",
    "x=$'CMD'", "x=\"CMD\"", "x=(CMD)", "args $[CMD]", "echo \"a\"'CMD'\"b\"", "echo 'a'\"CMD\"'b'", "echo \"a\\\"CMD\"", "echo 'a'\\''CMD'",
    "echo \"'\"; CMD; echo \"'\"", "echo '\"' CMD '\"'", "echo \\\" CMD \\\"", "echo \\' CMD \\'", "case x in x) echo 'CMD';; esac",
)  # fmt: skip
"""Places for a command, in most of which it is text."""
REDIRECTIONS = (
    "> planted", ">> notes.txt", "2> planted", ">| planted", "<> notes.txt", "&> planted", ">& planted", "< notes.txt", "2>&1",
    "> /dev/null", "2>/dev/null", "&>/dev/null", "{n}> planted", "3> planted", "<&-", ">&2", "<<< x", ">planted", "> \"planted\"",
    ">& 2", "2>&1 >/dev/null", "> /dev/null 2>&1", "&>> planted", "> >(evil)", "< <(evil)", "< <(echo)", ">!planted", ">&!planted",
)  # fmt: skip
JOINTS = (" ; ", "; ", " && ", " || ", " | ", "\n", " & ", "&&", "||", ";", " |& ", "\n\n", ";\n", " &\n", " |\n", " &&\n")
WRAPS = (
    "{ LINE; }", "{ LINE\n}", "(LINE)", "( LINE )", "( (LINE) )", "if LINE; then ls; fi", "if true; then LINE; fi", "! LINE", "LINE &", "time LINE",
    "while LINE; do break; done", "for i in a; do LINE; done", "case a in a) LINE;; esac", "echo \"$(LINE)\"", "echo `LINE`", "LINE | cat",
    "cat <(LINE)", "LINE #", "f() { LINE; }; f", "LINE 2>/dev/null", "true && { LINE; }", "[[ -n $(LINE) ]]", "x=$(LINE)", "\nLINE\n",
    "args $(LINE)", "args \"$(LINE)\" b", "set -- \"$(LINE)\"", "LC_ALL=C LINE", "LC_ALL=en_US.ISO-8859-1 LINE", "LANG=zh_CN.GBK; LINE",
)  # fmt: skip
SCRIPTED = ("sh -c", "bash -c", "dash -c", "zsh -c", "env sh -c", "nice bash -c", "xargs sh -c", "eval", "env -S", "timeout 5 sh -c")
NOISE = (
    "\\\n", "\\\n", "\\\n", "\\\n", "'", '"', "\\", "$", "`", "(", ")", "{", "}", ";", "&", "|", "<", ">", "#", "!", "\n", "\t", " ", " ", "=",
    "*", "?", "[", "]", "~", "^", "%", "@", ",", "-", "+", ":", "/", ".", "$'", '$"', "$(", "${", "$((", "((", "))", "[[", "]]", "<<", "<<E", "<(", ">(",
    "&&", "||", ";;", "''", '""', "\\\\", "\\'", '\\"', "\\$", "{a,b}", "{}", "$x", '"$x"', "$@", "$IFS", "\\ ", " # ", "\r", "\0", "\u00a0", "\u3000",
    "\u2028", "\u00e9", "\x0b", "\x0c", "\x1b", "\\\r\n", "then", "do", "in", "esac", "fi", "E", "1", "0", "n", "e", "w", "evil", "planted",
)  # fmt: skip
"""What is put into a line anywhere; a continuation most often."""
OPTIONS = {
    "sort": "-o planted|-oplanted|--output=planted|--out planted|-u|-k 1|-k1,2n|--compress-program=evil|-T sub|-S 1|-t o|-m|--files0-from=names|-c|-R",
    "uniq": "-c|-d|a.txt planted|-f 1|planted|--group|-w 3|-s1",
    "ls": "-l|-a|-R|-d|-1|--color|-I a|--hide=b|-w 9|-T 3|--time-style=+%s|-Q|--zero",
    "cat": "-A|-n|-s|-|--|-v|-E",
    "head": "-n 1|-1|-c 3|-q|--lines=-1|-z",
    "wc": "-l|-c|--files0-from=names|-L|--total=never",
    "grep": "-n|-r|-e a|-f names|-v|-c|-l|-q|-o|-P|-E|-F|-A 1|--include=*.txt|-i|-w|-s|-z|--color=always|-m1",
    "cut": "-d, -f1|-c1-2|-b 1|--output-delimiter=x|-s|-z",
    "tr": "a b|-d a|-s a|-c a b",
    "diff": "-u|-q|-r src sub|-y|--brief|-N|--to-file=a.txt|--from-file=b.txt|-l",
    "comm": "-12|-3|--nocheck-order|--output-delimiter=x",
    "paste": "-d,|-s|a.txt b.txt|-",
    "split": "-l 1|-n 2|--filter=evil",
    "tee": "planted|-a planted|/dev/null|-i|-p",
    "git": "status|log -1|diff|show|grep one|grep -Oevil one|log --output=planted|diff --output=planted|diff --output planted|"
    "diff --ext-diff|-c core.pager=evil log|-c alias.z=!evil z|-p status|branch -v|branch planted|tag -l|tag planted|log -p|"
    "status -s|rev-parse HEAD|ls-files -o|blame a.txt|shortlog HEAD|describe --always|-C sub status|archive -o planted HEAD|"
    "archive HEAD|bundle create planted HEAD|format-patch -1|format-patch -1 --stdout|format-patch -o planted -1|stash list|cat-file -p HEAD|"
    "diff --no-index a.txt b.txt|hash-object a.txt|hash-object -w a.txt|check-ignore a.txt|config -l|config x.y z|remote -v|reflog|reflog expire --all|"
    "--help|help -a|for-each-ref|symbolic-ref HEAD|symbolic-ref HEAD refs/heads/planted|update-index --refresh|read-tree HEAD|write-tree|worktree list|notes list",
    "find": ". -name a*|sub -type f|sub -print|sub -delete|sub -exec evil {} ;|sub -fprint planted|sub -fls planted|sub -fprintf planted x|"
    "sub -exec args {} +|sub -ok args {} ;|sub -execdir args {} ;|sub -newer a.txt|-maxdepth 1|-printf %p|-files0-from names|-D help|-L sub",
    "date": "+%s|-u|-d now|-r a.txt|-f names|--iso-8601|-R",
    "env": "args a|-i args a|-u HOME args a|A=b args $A|-S 'args a b'|-C sub args a|--chdir=sub args|-0|--|-v args a|--block-signal=INT args",
    "xargs": "args|-n1 args|-I{} args {}|-a names args|-0 args|-d , args|-t args|-p args|evil|-P2 args|-I{} sh -c 'args {}'|-E b args|-L1 args|-x args|-r args|-s 99 args|-i args {}|--process-slot-var=x args",
    "file": "a.txt|-b a.txt|-f names|-C|-m names a.txt|-k a.txt|-z a.txt|-s a.txt|-L link",
    "tar": "tf a.txt|cf planted a.txt|-cf - a.txt|--to-command=evil -xf a.txt|cf /dev/null a.txt|-tf a.txt -I evil",
    "od": "-c a.txt|-An -tx1 a.txt",
    "base64": "a.txt|-d a.txt|-w0 a.txt",
    "xxd": "a.txt|a.txt planted|-r a.txt|-p a.txt",
    "seq": "3|-s, 3|-w 1 3|-f %g 2",
    "printf": "%s a|-v x a|%b '\\x41'|'%s\\n' a b|%q 'a b'|%d 1|-- %s a",
    "echo": "a|-n a|-e '\\x41'|-E a|-ne a|--|a > b",
    "test": "-f a.txt|a = b|-n a -a -n b|a > planted|-v x|a '>' b|! -f a.txt|-t 1",
    "[": "-f a.txt ]|a = b ]|a > planted ]|a '>' b ]|a \\> b ]|x -o y ]|! x ]|1 -gt 0 ]|a < notes.txt ]|( x ) ]|\\( x \\) ]",
    "[[": "-f a.txt ]]|a > planted ]]|a < b ]]|a =~ b ]]|a == [ab] ]]|a && b ]]|(a) ]]|-v x ]]|a = $(evil) ]]|a -eq x ]]|! a ]]",
    "nl": "a.txt|-b a a.txt", "rev": "a.txt", "tac": "a.txt|-s , a.txt", "fold": "-w 1 a.txt", "expand": "a.txt", "column": "-t a.txt|-s, a.txt",
    "join": "a.txt b.txt", "shuf": "a.txt|-o planted a.txt|-n 1 a.txt|-e a b", "pr": "a.txt", "fmt": "a.txt", "ptx": "a.txt planted|a.txt", "tsort": "a.txt",
    "cmp": "a.txt b.txt", "md5sum": "a.txt|-c names|--tag a.txt", "sha256sum": "a.txt|-c names", "cksum": "a.txt", "sum": "a.txt", "df": ".|-h", "du": "-s sub|-a .",
    "stat": "-c %n a.txt|--printf=%n a.txt|-f .", "readlink": "link|-f link", "realpath": "link|-m x", "basename": "a/b|-s b ab|-a a b", "dirname": "a/b", "mktemp": "-u|planted.XXX|-p sub|-d planted.XXX",
    "csplit": "a.txt 2|-f planted a.txt 2", "dd": "if=a.txt|if=a.txt of=planted|if=a.txt of=/dev/null", "truncate": "-s 0 a.txt", "install": "a.txt planted", "csh": "-c evil",
    "which": "ls|-a ls", "whereis": "ls", "id": "-u|", "uname": "-a", "nproc": "|--all", "hostname": "|planted", "tty": "", "yes": "a", "sleep": "0", "strings": "a.txt", "look": "a a.txt",
    "less": "a.txt|-o planted a.txt|+!evil a.txt", "more": "a.txt", "bc": "a.txt|-q a.txt", "dc": "-e '!evil'|-e 1p", "expr": "1 + 2|a : b|a > planted|1 \\> 2", "factor": "6", "numfmt": "1000",
    "gawk": "-i inplace 1 a.txt|-f names|--dump-variables=planted 1 a.txt|-dplanted 1 a.txt|-oplanted 1|-p 1 a.txt|-E names|--sandbox 1 a.txt|-l filefuncs 1 a.txt|-b 1 a.txt",
    "script": "planted|-c evil planted", "logger": "a", "pushd": "sub", "dirs": "", "hash": "|-p /bin/rm ls", "enable": "-n echo|-f x y", "mapfile": "x < names|-C evil -c 1 x < names",
    "type": "ls", "ulimit": "-a", "times": "", "let": "x=1|x>planted", "declare": "-p|x=1|-n x=y", "complete": "-C evil x", "compgen": "-c|-C evil x|-W '$(evil)'|-F evil", "fc": "-l|-s", "history": "-w planted|",
}  # fmt: skip
"""Programs, with options, subcommands and operands."""
OPERANDS = ("a.txt", "notes.txt", "b.txt", "sub", ".", "planted", "names", "*.txt", "-", "", "", "", "src/a.py", "data.json", "'a b'")
AWK_PATTERNS = ("", "", "", "BEGIN", "END", "NR==1", "/a/", "/>/", "$1 > 1", "($1 > 1)", "!x[$0]++", "NR > 1 && /b/", "1", "/a/,/b/", "$0 ~ \">\"")
AWK_ACTIONS = (
    "print", "print $1", "print $1, $2", 'print "a > b"', "print (1 > 2)", "print 1 > 2", 'print > "planted"', 'print $1 > "planted"',
    'print $1 >> "planted"', 'print | "evil"', 'print "x" | "evil"', 'system("evil")', '"evil" | getline', '"evil" | getline x', 'getline < "notes.txt"',
    "x = $1", "x += $2", "if ($1 > 1) print", "if (a > b) { print }", 'printf "%s\\n", $1', "printf(\"%d\", 1 > 2)", 'printf "x" > "planted"', "for (i = 0; i < 2; i++) print i",
    "while (i++ < 2) print i > 1", "gsub(/a/, \"b\")", "x = \"evil\"; x | getline", "close(\"x\")", "next", "exit", "print a ? b : c", "print(a)(b)", 'print a " > " b',
    "split($0, a, />/)", "print a[1 > 2]", "x = (1 > 2)", "x = 1 > 2", "print /x/ > 1", 'print -1 " " -1', "print length", "do print; while (0)", 'print "\\"" > "planted"',
    'print "a" /* > "planted" */', "print 1, 2 |& \"evil\"", 'printf("a") | "evil"', "@x = 1", "f = \"system\"; @f(\"evil\")", "delete a", "return", "print $1 # > x", "print $1; # \"",
    "print substr($0, 1) > substr(\"planted\", 1)", "switch (1) { case 1: print }", 'print strftime()', "x = y ~ /[/]>/", "x = a / b > c / d", "print a / b > c", "getline x < y", "fflush()",
)  # fmt: skip
SED_PARTS = (
    "p", "d", "s/a/b/", "s/a/b/g", "s|a|b|", "s,a,b,w planted", "s/a/b/e", "s/a/evil/e", "s/a/b/w planted", "s/x/y/pw planted", "w planted", "1w planted", "W planted", "e evil", "1e evil", "e",
    "r notes.txt", "R names", "r ~/.ssh/id_rsa", "a text", "i text", "c text", "a\\\ntext", "a\\", "y/ab/cd/", "q", "1q", "$p", "1,2p", "/a/p", "/a/,/b/d", "\\xaxp", "\\,a,w planted", "b", "b x", ":x", "t x",
    "{p}", "{p", "}", "1{p;d}", "n", "N", "h;G", "=", "l", "l 3", "1~2p", "/a/I p", "s/\\//x/", "s/[/]/x/", "s/[/w planted", "s/a/\\n/", "s/a/b/2", "s/a/b/m", "s/a\\/w planted/b/", "#n", "# x", "F", "z", "v", "x;x",
    "a x\\\nw planted", "s/a/b\\\nw planted/", "s/a/x\\\n/w planted", "a\\\n}\nw planted", "bx;w planted", "b x\nw planted", ":a;w planted", ":a\nw planted", "t;w planted", "}w planted", "y/a/b/w planted",
    "r a.txt;w planted", "r a.txt\nw planted", "a w planted", "i\\\nw planted", "i\\w planted", "c\\\n\\\nw planted", "s/a/b/;;p", "s/a/b/ ; p", "s/a/b/ }", "s/a/b/ #w", "1!p", "1 ! p", "0,/a/p", "/a/+1p", "1,+1p", "s\na\nb\n",
)  # fmt: skip
SED_OPTIONS = ("-n", "-e", "-E", "-s", "-u", "-z", "-l 5", "--posix", "--debug", "--sandbox", "-i", "-nE", "-ne", "-e p -e", "--expression", "-i.bak", "-n -i", "-Ei", "--in-place", "-f names -e", "--null-data", "-nf names -e")
JQ = (".", ".a", ".a[]", ".b | @sh", ".a | length", "input_filename", "env", "$__prog_args", "input", "@text \"\\(.b)\"", "\"$(evil)\"", ".a[0] > 1", "limit(1; .a[])", "include \"x\"; .", "import \"x\" as x; .", "$ENV.HOME", "debug", "halt", "now", "input_line_number")
