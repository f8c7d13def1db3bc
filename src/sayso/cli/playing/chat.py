"""`sayso chat`: a session to type into, or a script of one to play."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sayso.cli.options import ApprovalOption, JsonOption, PolicyOption, PresetOption
from sayso.cli.policy_choice import choose_policy

if TYPE_CHECKING:
    from rich.console import Console

    from sayso.gate.sessions.play import Player

Script = Annotated[
    Path | None, typer.Option("--script", metavar="FILE", help="Play steps, one JSON object per line.")
]

MAX_SCRIPT = 16 * 1024 * 1024

HELP = """\
You type what the user says; lines that begin with a colon are what the agent and the host do.
  git status please                      any text: a user message
  :call files.edit src/parse.py          the agent wants to edit src/parse.py
  :call git.push $ git push origin main  the agent wants to run a command line
  :call {"operations": ["email.send"], "confidence": 0.9}    a call in the script's form
  :plan Edit src/parse.py: add a null check. Done when the tests pass.
  :answer once | task | temporary | always | remember | deny
  :ok   :error                           how the last allowed call ended
  :task NAME   :done                     a task begins, the task is done
  :wait SECONDS                          time passes
  :why   :state   :help   :quit"""


def chat(
    script: Script = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play a session: type user messages, propose calls and plans, watch what is decided and why.

    With --script FILE the steps come from a file (- for standard input), one JSON object per line.
    """
    import time

    from sayso.gate.sessions.play import Player
    from sayso.reading.paths.places import find_workspace

    here, home = str(Path.cwd()), str(Path.home())
    player = Player(
        choose_policy(policy, preset, approval), start=time.time(), workspace=find_workspace(here), home=home
    )
    if script is not None:
        _play_script(player, script, as_json)
    else:
        _talk(player)


def _play_script(player: Player, script: Path, as_json: bool) -> None:
    """One line of output for each step; the first step that is malformed ends the script."""
    from sayso.core.digest import parse_json
    from sayso.core.errors import SaysoError

    for number, line in enumerate(_read_script(script), 1):
        if not line.strip():
            continue
        try:
            step = parse_json(line)
            told = player.step(step)
        except SaysoError as error:
            error.message = f"{script}:{number}: {error.message}"
            raise
        (name,) = step
        if as_json:
            typer.echo(json.dumps({"step": name} | told, ensure_ascii=False))
        else:
            typer.echo(_format_step(name, step[name], told))


def _read_script(script: Path) -> list[str]:
    from sayso.core.errors import SaysoError

    try:
        if str(script) == "-":
            data = sys.stdin.buffer.read(MAX_SCRIPT + 1)
        else:
            with script.open("rb") as file:
                data = file.read(MAX_SCRIPT + 1)
        if len(data) > MAX_SCRIPT:
            raise SaysoError(f"{script} is larger than 16 MiB", hint="a script is one JSON object per line")
        return data.decode().split("\n")
    except OSError as error:
        raise SaysoError(f"cannot read {script}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SaysoError(f"{script} is not UTF-8 text") from error


def _format_step(name: str, value: object, told: dict[str, Any]) -> str:
    """A step and what it led to, on one line."""
    if name == "call":
        said = f"{told['verdict'].upper()} by {told['rule']}: {told['reason']}"
        offers = f" [{', '.join(told['offers'])}]" if told["offers"] else ""
        return f"call {_format_label(value)} -> {said}{offers}"
    if name == "hear":
        rest = [*told["did"], *(f"cleared {what}" for what in told["cleared"]), *told["announced"]]
        return f"hear {_format_label(value)} -> {told['kind']}" + "".join(f"; {_flat(one)}" for one in rest)
    if name == "plan":
        named = ", ".join(told["operations"]) or "no operation"
        return f"plan -> score {told['score']} of 4, names {named}; {_flat(told['shown'])}"
    rest = [*told.get("grants", ()), *told.get("announced", ())]
    return f"{name} {_format_label(value)}" + "".join(f"; {_flat(one)}" for one in rest)


def _format_label(value: object) -> str:
    from sayso.core.words import visible

    if isinstance(value, dict):
        value = value.get("command") or ", ".join(value.get("operations", ())) or value.get("tool", "")
    return visible(str(value))


def _flat(text: str) -> str:
    return " | ".join(line for line in text.splitlines() if line)


def _talk(player: Player) -> None:
    from sayso.cli.views.decision import make_console
    from sayso.core.errors import SaysoError

    out = make_console()
    out.print("[bold]A session to play with.[/bold] Type :help for what you can do, :quit to leave.")
    for line in _read_typed_lines():
        if line.strip() in (":quit", ":q"):
            return
        try:
            _handle_line(out, player, line.strip())
        except SaysoError as error:
            out.print(
                f"{error.message}" + (f" ({error.hint})" if error.hint else ""), style="red", markup=False
            )


def _read_typed_lines() -> Iterator[str]:
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            line = input(prompt)
        except (EOFError, KeyboardInterrupt):
            return
        if line.strip():
            yield line


def _handle_line(out: Console, player: Player, line: str) -> None:
    from sayso.cli.playing.session_view import print_state, print_step_result, print_why

    if line == ":help":
        out.print(HELP, markup=False)
    elif line == ":why":
        print_why(out, player)
    elif line == ":state":
        print_state(out, player)
    else:
        step = _step_from_line(line)
        print_step_result(out, step, player.step(step))
        print_state(out, player)


def _step_from_line(line: str) -> dict[str, Any]:
    """A typed line as a step of a script."""
    from sayso.core.errors import MalformedRequest

    if not line.startswith(":"):
        return {"hear": line}
    word, _, rest = line[1:].partition(" ")
    rest = rest.strip()
    if word == "call":
        return {"call": _parse_call(rest)}
    if word in ("ok", "error"):
        return {"outcome": word}
    if word == "done":
        return {"end_task": True}
    if word == "wait":
        return {"advance": _parse_seconds(rest)}
    if word in ("plan", "answer", "task"):
        return {"begin_task" if word == "task" else word: rest}
    raise MalformedRequest(f"unknown :{word}", hint="type :help")


def _parse_call(text: str) -> Any:
    from sayso.core.digest import parse_json

    if text.startswith("{"):
        return parse_json(text)
    named, dollar, command = text.partition("$")
    operation, _, target = named.strip().partition(" ")
    call: dict[str, Any] = {"operations": [operation]}
    if dollar:
        call["command"] = command.strip()
    elif target.strip():
        call["target"] = target.strip()
    return call


def _parse_seconds(text: str) -> float:
    from sayso.core.errors import MalformedRequest

    try:
        return float(text)
    except ValueError:
        raise MalformedRequest(f"{text!r} is not a number of seconds") from None
