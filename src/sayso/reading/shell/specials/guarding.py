"""The guard guards itself: signals to its processes, its sockets, its units, and its own commands."""

from __future__ import annotations

from pathlib import Path

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.commands.usage import judge_by_data, names_chosen
from sayso.reading.shell.files.guard import bar
from sayso.reading.shell.judge import Invocation, Judge
from sayso.reading.shell.programs.known import KnownProgram, default_effect
from sayso.reading.shell.programs.options import ParsedOptions
from sayso.reading.shell.value import Value
from sayso.reading.shell.words import BACKGROUND

FREE_COMMANDS = frozenset({"check", "explain", "wait", "retry"})
_SPECIAL = lazy_pattern(r"\[[^\]]*\]?|[.*+?^$(){}\\]+")


def judge_sayso(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`sayso`: an agent may ask what is allowed, and nothing else."""
    first = invocation.arguments[0].text if invocation.arguments else None
    start, end = invocation.start, invocation.end
    if first in FREE_COMMANDS or (len(invocation.arguments) == 1 and first in ("--help", "--version")):
        judge.effect(default_effect("shell.inspect"), start, end)
    else:
        named = f"sayso {first}" if first else "sayso"
        bar(judge, "run_guard_command", f"{named[:60]} is for people, not for agents", start, end)


def judge_signals(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`kill`, `pkill`, `killall`: as their data says; `kill -9 -1` is for all of them, `kill -0` asks."""
    if program.name == "kill" and _only_asks([one.text or "" for one in invocation.arguments]):
        judge.effect(default_effect("system.read"), invocation.start, invocation.end)
        return
    given = [one for one in invocation.arguments if (one.text or "")[:1] != "-"]
    if program.name == "kill" and given and all(_is_own_background(one.value) for one in given):
        judge.effect(default_effect("shell.stop_background"), invocation.start, invocation.end)
        return
    parsed = judge_by_data(judge, program, invocation)
    for one in invocation.arguments:
        if one.text is None and one.value.source:  # kill $(pgrep sayso)
            bar(judge, "stop_guard", "it may end a process of Sayso", one.start, one.end)
    texts = [one.text or "" for one in invocation.arguments]
    if program.name == "kill" and "-1" in texts[1:] and texts[0][:1] == "-":
        bar(judge, "stop_guard", "it ends every process, Sayso's too", invocation.start, invocation.end)
    elif program.name != "kill" and _names_own_process(program, parsed):
        bar(judge, "stop_guard", "it ends the process of Sayso", invocation.start, invocation.end)


def _is_own_background(value: Value) -> bool:
    """Return whether this is `%1`, or `$!` by whatever name: a command that the line itself started."""
    text = value.text or ""
    if text == "$!":  # as the lenient reading sees it
        return True
    return text[:1] == "%" and text[1:].isdigit() if text else value.vetted and value.prefix == BACKGROUND


def _only_asks(texts: list[str]) -> bool:
    """`kill -0 PID`: no signal is sent, it says whether the process is there. `kill -l` lists signals."""
    if texts[:1] == ["-l"]:
        return all(one.isalnum() for one in texts[1:])
    rest = texts[1:] if texts[:1] == ["-0"] else texts[2:] if texts[:2] == ["-s", "0"] else []
    return bool(rest) and all(one.isdecimal() for one in rest)


def _names_own_process(program: KnownProgram, parsed: ParsedOptions) -> bool:
    """Return whether a name or pattern fits the process which judges this."""
    chosen = names_chosen(parsed)
    own = _describe_own_process("cmdline" if "-f" in chosen else "comm").strip()
    whole = "-x" in chosen or (program.name == "killall" and "-r" not in chosen)
    named = [one.text for one in parsed.operands if one.text]
    return bool(own) and any(one == own if whole else _fits(one, own) for one in named)


def _fits(pattern: str, text: str) -> bool:
    """Return whether a pattern may fit: the plain letters of one of its alternatives stand there in order.

    It comes from the line, so it is not run as the expression that it is: that may take for ever.
    """
    return any(_stand_in_order(_SPECIAL.split(one), text) for one in pattern.split("|"))


def _stand_in_order(pieces: list[str], text: str) -> bool:
    here = 0
    for one in pieces:
        at = text.find(one, here)
        if at < 0:
            return False
        here = at + len(one)
    return True


def _describe_own_process(kind: str) -> str:
    try:
        return Path(f"/proc/self/{kind}").read_bytes()[:4096].replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def judge_unit(judge: Judge, program: KnownProgram, invocation: Invocation) -> None:
    """`systemctl`, `launchctl` and their kind: as their data says, and never on Sayso's own units."""
    for one in invocation.arguments:
        if one.text is not None and "sayso" in one.text.casefold():
            bar(judge, "stop_guard", "it is about a unit of Sayso", one.start, one.end)
    judge_by_data(judge, program, invocation)
