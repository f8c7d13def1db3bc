"""What looks like a command line in a list of commands, and what looks like speech between them."""

from __future__ import annotations

import re


def looks_like_command(entry: str) -> bool:
    """Whether an entry, as it stands, begins like a command: with a program, a path, quotes or a variable.

    A name that is an English word as well ("make sure it works") does not pass before plain words.
    """
    first, *rest = entry.split() or [""]
    if first[0:1] in "`\"'$" or re.search(r"[/\\=]|\A\.|\.(?:sh|py|js|ts|rb|pl|exe|bat|cmd|ps1)\Z", first):
        return True
    if first in _WORDS_TOO:
        return len(rest) < 2 and not _SPEECH.intersection(rest) if _is_plain(rest) else True
    return (
        first in _PROGRAMS
        or re.fullmatch(r"(?:python|pip|node|ruby|php|gcc|clang|java)[\d.]+", first) is not None
    )


def is_program(word: str, *, as_speech: bool) -> bool:
    """Whether a word is the name of a program; `as_speech` if one that is an English word as well counts."""
    return (word in _PROGRAMS and word not in _ENGLISH) or (as_speech and word in _WORDS_TOO | _ENGLISH)


def _is_plain(words: list[str]) -> bool:
    return all(re.fullmatch(r"[A-Za-z]+[!.]?", word) for word in words)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SPEECH = frozenset(
    {"sure", "easy", "slow", "slowly", "careful", "carefully", "gently", "time", "first", "out"}
)
_ENGLISH = _words(
    """bat black bundle code composer dart diff echo env exec export helm hostname jest just lint man mix mocha
    nano next ping prettier rails rake ruby sed serverless snap stat stripe swift task tee touch tr turbo vi vue
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
