"""What tests, builds and scripts of a project are given: places, targets and settings.

A project's own code may run as a test or a build. What lies outside the workspace, comes from the network,
names remote work (`deploy`, `publish`) or sets which program is run is not the project's own.
"""

from __future__ import annotations

import os
import re

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import follow_links, is_folder
from sayso.reading.paths.named_files import digest_content
from sayso.reading.paths.places import is_secret, locate
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect, named_set
from sayso.reading.shell.programs.options import Argument

_ELSEWHERE = lazy_pattern(
    r"(?s)^@|[\w.+-]+://|@(?:latest|v?\d|[0-9a-f]{7})|^(?:github|gitlab|git|path|flake|nixpkgs|npm|jsr)[:#+]"
)
"""A file of options, an address, a package at a version, or a source of packages."""
_REMOTE_WORK = lazy_pattern(
    r"(?:^|[:/._,-])(?:publish|deploy|upload|push|gh-deploy|gh-pages|unpublish|rollout|promote|ship|provision|destroy|drop|wipe|nuke|flash|burn)(?![a-z])"
    r"|[a-z](?:Publish|Deploy|Upload)(?![a-z])|(?:^|:)(?:un)?install[A-Z]|(?:^|:)connected[A-Z]"
    r"|^(?:pre|post)?release(?![a-z])|^db[:_-]reset|[:-]release:|^scm:|^wagon:|^dependency:get|^release:|^site-deploy"
)
_UNREAD_RUNNERS = frozenset(
    {"rake", "nox", "tox", "invoke", "inv", "turbo", "gulp", "grunt", "ninja", "scons", "ant"}
)
"""Runners of tasks whose own files are not read: only the phases of a build go by their names."""
_PHASE = lazy_pattern(
    r"(?i)(?:^|[:_./-])(?:build|compile|test|tests|spec|check|lint|format|fmt|clean|typecheck|verify|docs?|all|default"
    r"|dev|coverage|py\d+|run-many|affected|run|graph|list|show)(?:$|[:_.,-])|^-|=|^\S+\.\w+$"
)
_SYSTEM_WORK = frozenset({"install", "uninstall", "install-strip", "install-data", "system-install"})
_RUNS = lazy_pattern(
    r"(?i).*(?:compiler|launcher|toolchain|program|command|linker|shell|executable|tool|wrapper|exec|makeflags|makefiles|extld"
    r"|plugin|agent|script|editor|javaagent|argline|jvmargs).*|CC|CXX|LD|AR|AS|RM|CPP|FC|PATH|HOME|MAKE|GO|PYTHON|NODE"
)
_PLAIN_TARGET = lazy_pattern(r"(?!eval\b)[^\s\"'`$;&|<>!\\]*(?: [\w.:*/-]+)*")
_COMPILERS = frozenset({"gcc", "g++", "clang", "clang++", "cc", "c++"})
_PLAIN_SETTING = lazy_pattern(r"[\w.,:+@%/-]*|-[\w.,:+=/ -]*")


_STANDARD_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_OPEN_DATA = frozenset("{[")
"""How settings begin that are given as they are, where a file may be named."""


def judge_project(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    """A file, folder or package whose code is run: the workspace's own, or not known."""
    text = value.text
    if text is None or text in _STANDARD_INPUT or text.lstrip()[:1] in _OPEN_DATA:
        if not value.value.vetted or text is not None:
            judge.doubt(f"what {program.name} runs is not known until it runs", value.start, value.end)
        return
    if _ELSEWHERE.search(text):
        judge.effect(default_effect("packages.install"), value.start, value.end)
        return
    if text[:1] == "-":  # an option of the code that is run
        given = text.partition("=")[2] or text[2:]
        if not given.startswith(("/", "~", "..")):
            return
        text = given
    _judge_place(judge, text.partition("::")[0], value, program, invocation)


def judge_target(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    """A target, task or script by its name; `NAME=VALUE` is a setting."""
    text = value.text
    if text is None:
        judge.doubt(f"what {program.name} does is not known until it runs", value.start, value.end)
        return
    if _ELSEWHERE.search(text) or (
        program.name == "mvn" and ":" in text and text not in named_set("maven_goals")
    ):
        judge.effect(default_effect("packages.install"), value.start, value.end)
    elif _REMOTE_WORK.search(text):
        judge.effect(default_effect("remote.change"), value.start, value.end)
    elif text in _SYSTEM_WORK and program.name != "mvn":
        judge.effect(default_effect("system.change"), value.start, value.end)
    elif program.name.partition(" ")[0] in _UNREAD_RUNNERS and not _PHASE.search(text):
        judge.doubt(f"what {program.name} runs by this name is not read", value.start, value.end)
    elif "=" in text and text[:1] != "-":
        judge_setting(judge, value, program, invocation)
    elif not _PLAIN_TARGET.fullmatch(text):
        judge.doubt(f"what {program.name} is given is not understood", value.start, value.end)
    elif text.startswith(("/", "~", "..")) or is_secret(text):
        _judge_place(judge, text, value, program, invocation)


def judge_setting(judge: Judge, value: Argument, program: KnownProgram, invocation: Invocation) -> None:
    """`NAME=VALUE`: one that names a program, or whose value is more than a plain word, is not understood."""
    name, _, given = (value.text or "").lstrip("-").partition("=")
    name = name.partition(":")[0].rstrip("?+:!")
    if value.text is None or not _PLAIN_SETTING.fullmatch(given):
        judge.doubt(f"{program.name} is given a setting that is not understood", value.start, value.end)
    elif _RUNS.fullmatch(name) and given not in _COMPILERS:
        judge.doubt(f"{name[:60]} may say which program is run", value.start, value.end)
    elif re.search(r"(?:^|[:,=])(?:/|~|\.\.)", given or value.text):
        _judge_place(judge, given or value.text, value, program, invocation)


def _judge_place(
    judge: Judge, path: str, value: Argument, program: KnownProgram, invocation: Invocation
) -> None:
    for folder in invocation.state.folders:
        if folder is None:
            judge.doubt("the folder it runs in cannot be told", value.start, value.end)
            return
        fixed = re.split(r"[*?\[{]", path, maxsplit=1)[0] if value.value.wild else path
        if program.name.startswith("go ") and fixed.endswith("/..."):
            fixed = fixed.removesuffix("/...")
        real, where = judge.quick.find_inside(fixed or ".", folder), judge.where
        if real is None:
            place = locate(fixed or ".", folder=folder, workspace=where.workspace, home=where.home)
            if not place.inside or place.secret:
                why = f"{program.name} would run or go by something that is not the workspace's"
                judge.doubt(why, value.start, value.end)
                return
            real = place.real or folder
        pin_project_files(judge, real, value.start, value.end)


PROJECT_WORK = frozenset({"tests.run", "build.run", "scripts.run", "lint.run"})


def pin_project_files(judge: Judge, path: str, start: int, end: int) -> None:
    """Pin this file; of a folder, the files that say what to run, in it and above, up to the workspace."""
    here, workspace = follow_links(path), follow_links(judge.where.workspace)
    if not is_folder(here):
        _pin(judge, here, start, end)
        here = here.rpartition("/")[0]
    while f"{here}/".startswith(f"{workspace}/"):
        for name in _list_names(here):
            _pin(judge, f"{here}/{name}", start, end)
        here = here.rpartition("/")[0]


def _list_names(folder: str) -> list[str]:
    try:
        return sorted(named_set("project_files").intersection(os.listdir(folder)))  # noqa: PTH208 - names only
    except OSError:
        return []


def _pin(judge: Judge, path: str, start: int, end: int) -> None:
    digest = digest_content(path)
    if digest is not None:
        judge.pins.add(f"{follow_links(path)}#sha256:{digest}")
    elif os.path.lexists(path):
        name = path.rpartition("/")[2]
        judge.doubt(f"{name[:60]} cannot be read, so nobody can tell what it runs", start, end)
