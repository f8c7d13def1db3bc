"""What certainly is a command line in a list of commands, and what is speech between them."""

from __future__ import annotations

import re
import unicodedata

from sayso.core.text.patterns import lazy_pattern


def is_certainly_command(entry: str) -> bool:
    """Whether an entry, as it is, is a command, not speech.

    It is in backticks or quotes, or is a known program followed by what it takes, or the path of a script
    with no plain words behind it. Assignments may come before it.
    """
    tokens = _QUOTED.sub('"', entry).split()
    while tokens and _ASSIGNMENT.fullmatch(tokens[0]):
        tokens = tokens[1:]
    if not tokens:
        return False
    first, *rest = tokens
    if first[0] == "`":
        return True
    if _SCRIPT.fullmatch(first):
        return not any(map(_is_plain, rest))
    if first in _SUBCOMMANDS:
        return not rest or _takes(_SUBCOMMANDS[first], rest)
    if first in _WORDS_TOO or first in _ENGLISH:
        return bool(rest) and not any(map(_is_plain, rest))
    known = first in _PROGRAMS or _VERSIONED.fullmatch(first) is not None
    return known and (not rest or _takes({}, rest))


def holds_speech(entry: str) -> bool:
    """Whether an entry, quotations aside, holds a word or sign of speech: "git push if it works"."""
    tokens = {token.strip("()[]{}.,;:!—–-") for token in entry.split() if not _FLAG.match(token)}
    shell = ";" in entry and tokens & {"if", "while", "until", "for"}
    signs = any(unicodedata.category(char) == "So" for char in set(entry) - {"\ufffd"})
    speech = SPEECH - {"for", "no", "to", "on"} if len(tokens) < 2 else SPEECH
    if any(map(_NO_ARGUMENT.fullmatch, entry.split()[1:])):
        return True
    return signs or _ASIDE.search(entry) is not None or bool(tokens & speech and not shell)


def _takes(subcommands: dict[str, int], rest: list[str]) -> bool:
    """Whether plain words are only a known subcommand, what it takes, and one behind each flag."""
    allowed = subcommands.get(rest[0], -1)
    if allowed >= 0:
        rest = rest[1:]
    elif subcommands and _is_plain(rest[0]):
        return False
    left = max(allowed, 0)
    for word in rest:
        if word in _TARGETS and subcommands is _SUBCOMMANDS["make"]:
            continue
        left += 1 if word.startswith("-") else -1 if _is_plain(word) else 0
        if left < 0:
            return False
    return True


def is_program(word: str, *, as_speech: bool) -> bool:
    """Whether a word is the name of a program; `as_speech` if one that is an English word as well counts."""
    return (word in _PROGRAMS and word not in _ENGLISH) or (as_speech and word in _WORDS_TOO | _ENGLISH)


def _is_plain(word: str) -> bool:
    """Whether a word may be one of a sentence. In quotes, with a slash, a dot within or "=" it is none."""
    return re.fullmatch(r"[A-Za-z]+(?:'[a-z]+)?[!.,]?", word) is not None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_QUOTED = lazy_pattern(r"""(?<!\S)"[^"]*"|(?<!\S)'[^']*'""")
_ASIDE = lazy_pattern(r"\s\([a-z' ]+\)\s*\Z")
# "git push x3", "git push ...", "git push !main": a count, something left out, a branch struck out.
_NO_ARGUMENT = lazy_pattern(r"x\d+|\.{3}|…|!\w+|-(?:main|master|prod\w*|staging)")
_FLAG = lazy_pattern(r"-+\w")
_ASSIGNMENT = lazy_pattern(r"[A-Z_][A-Z0-9_]*=\S*")
_SCRIPT = lazy_pattern(
    r"(?:\.{1,2}/|~/|/|\.\w[\w-]*/)[\w./~@+-]*\w|[\w./~@+-]*\.(?:sh|py|js|ts|rb|pl|exe|bat|cmd|ps1)"
)
_VERSIONED = lazy_pattern(r"(?:python|pip|node|ruby|php|gcc|clang|java)[\d.]+")
SPEECH = _words(
    """but except excepting unless only if when whenever while until till provided providing assuming as
    just not
    never without excluding excluded exclude however though although because since once twice today tomorrow
    tonight weekdays weekends weekday weekend maybe perhaps sometimes usually always my your our his their
    its i
    you we they it he she me us them this that these those the is are was were be been has have had will would
    shall should can could may might must don't doesn't isn't aren't can't cannot won't mustn't shouldn't
    nevermind anything everything nothing else every each any some during before after within between about
    permitting times hour hours minute minutes day days week weeks month months max maximum minimum limited
    allowed and nope nah hmm hm later soon sans w/o w/out apart aside lol haha yeah right other than single
    time
    fridays mondays on to for now no a one sure ok okay please thanks first carefully slowly gently off
    empty green passes passing passed approved reviewed merged disabled ready works with under pending upon by
    or then daily weekly hourly rarely often seldom"""
)
"""Words that stand in sentences and hardly ever, unquoted, in commands."""


def _with_arguments(text: str) -> dict[str, int]:
    """Subcommands with how many plain words may follow them: "push=2 status"."""
    pairs = (word.partition("=") for word in text.split())
    return {name: int(count or 0) for name, _, count in pairs}


_SCRIPTS = _with_arguments(
    "test ci publish start stop run=1 install=1 i=1 add=1 remove=1 build lint audit outdated pack version"
    " exec=1 dev"
)
_CARGO = _with_arguments("test build run check clippy fmt bench doc publish clean update add=1 install=1")
_DOCKER = _with_arguments(
    "compose=2 build ps images push=1 pull=1 stop=1 start=1 restart=1 rm=1 run=1 logs=1 exec=2 up down"
)
_TARGETS = _with_arguments("all test build clean install lint run check deploy release docs format dist")
_SUBCOMMANDS = {
    "git": _with_arguments(
        """push=2 pull=2 fetch=2 status diff=1 log show=1 add commit checkout=1 switch=1 merge=1 rebase=1
        branch=1
        tag=1 stash=1 reset=1 restore=1 clone init remote=1 clean gc blame revert=1 bisect=1 describe rm mv"""
    ),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), _SCRIPTS),
    "cargo": _CARGO,
    **dict.fromkeys(("docker", "docker-compose"), _DOCKER),
    "kubectl": _with_arguments("get=2 apply describe=2 logs=1 delete=2 rollout=2 config=1"),
    "terraform": _with_arguments("plan apply init validate fmt destroy output"),
    "gh": _with_arguments("pr=2 issue=2 run=2 release=2 repo=2 workflow=2 auth=1"),
    "uv": _with_arguments("sync lock run=1 pip=2 add=1 build publish"),
    "poetry": _with_arguments("install lock run=1 add=1 build publish"),
    "go": _with_arguments("test build run vet fmt mod=1 generate"),
    "ruff": _with_arguments("check format"),
    "make": _TARGETS,
    "pytest": {},
}
_ENGLISH = _words(
    """bat black bundle code composer dart diff echo env exec export helm hostname jest just lint man mix
    mocha
    nano next ping prettier rails rake ruby sed serverless snap stat stripe swift task tee touch tr turbo
    vi vue
    zip"""
)
_WORDS_TOO = _words(
    """at cut date dig file find go head install join kill less look make more mount move open patch play
    read screen script service sleep sort split su tail test time top touch tree type watch which
    who write"""
)
_PROGRAMS = _words(
    """alembic ansible ansible-playbook apk apt apt-get awk aws az bandit bash bat bazel black brew bun
    bundle bunx cargo cat cd chgrp chmod chown clang clippy cmake code composer conda cp crontab
    curl dart deno df diff django-admin dmesg dnf docker docker-compose dotnet du echo egrep env
    eslint exec export fd fgrep firebase flake8 flutter flyctl gcc gcloud gem gh git gitk glab gofmt
    gradle gradlew grep groovy gsutil gunzip gzip helm heroku hg hostname htop httpie iptables isort
    java javac jest jj jq just kotlin kubectl lerna lint ln ls lsof lua luarocks man md5sum meson
    minikube mix mkdir mocha mongo mongosh mv mvn mypy mysql nano nc netlify netstat next ng ninja
    nix node npm npx nvim nvm nx openssl pacman pdm perl pg_dump php phpunit ping pip pipenv pipx
    pm2 pnpm poetry powershell pre-commit prettier printenv printf prisma ps psql pulumi pwd pwsh py
    pylint pyright pytest python rails rake redis-cli rg rm rmdir rsync rspec rubocop ruby ruff
    rustc rustup sayso sbt scala scp sed serverless sh sha256sum shellcheck snap sqlite3 ssh stat
    strace stripe sudo svn swift systemctl tar task tee terraform tig tmux tofu touch tox tr tsc tsx
    turbo uname uniq unzip uv uvx vagrant vercel vi vim vite vitest vue wc webpack wget whoami
    wrangler xargs yarn yq zip zsh"""
)
