"""`sayso run`: decide a command, and run it if it is allowed."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.options import ApprovalOption, PolicyOption, PresetOption
from sayso.cli.policy_choice import choose_policy, find_policy_source, global_approval, print_note
from sayso.cli.short_ids import StoreOption

if TYPE_CHECKING:
    from sayso.doors.remote.connected import Connected
    from sayso.doors.sayso import Sayso

ASKED, DENIED = 3, 4
TOOL = "Bash"
FOLDER = "tokens"

CommandArg = Annotated[
    list[str],
    typer.Argument(metavar="COMMAND", help="The command; one argument with blanks is a command line."),
]


def run_line(
    command: CommandArg,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
) -> None:
    """Run a command if it is allowed, and end with its exit code.

    If you must be asked first, nothing runs and the exit code is 3: approve the question, and run the same
    command again. If it is denied, the exit code is 4. Where your service runs, it decides, by its own
    policy; --store, --policy, --preset or --approval let this command decide by itself.

    Example: sayso run -- git push origin main
    """
    from sayso.doors.python.calls.door import workspace_here

    line = command[0] if len(command) == 1 else shlex.join(command)
    opened = _open_program(store, policy, preset, approval)
    try:
        session = opened.session(key=f"run {workspace_here()}", agent="sayso run", workspace=workspace_here())
        called = session.call(TOOL, {"command": line})
        if called.announce:
            print_note(called.announce)
        if called.asked:
            print_note(f"not run: {called.reason}; answer it with `sayso inbox`, and run the same again")
            raise typer.Exit(ASKED)
        runs = called.runs
        if runs is None:
            print_note(f"not run: {called.reason} (rule {called.rule})")
            raise typer.Exit(DENIED)
        ended = subprocess.run(  # noqa: S602 - the approved command line is what was asked for
            runs.command or line, shell=True, executable="/bin/bash", cwd=runs.folder or None, check=False
        ).returncode
        called.succeeded() if ended == 0 else called.failed()
    finally:
        opened.close()
    raise typer.Exit(ended if ended >= 0 else 128 - ended)


def _open_program(
    store: str | None, policy: Path | None, preset: str | None, approval: str | None
) -> Sayso | Connected:
    """Return the line to the service where one decides, else a gate of our own: never one after the other."""
    from sayso.doors.remote.discovery import expects_service
    from sayso.doors.sayso import Sayso

    chosen = (store, policy, preset, approval or global_approval())
    if all(one is None for one in chosen) and expects_service():
        return Sayso.connect(token=_find_token(), start=False)
    source = find_policy_source(policy, preset, approval)
    has_file = source is not None and source.path is not None
    loaded = None if has_file else choose_policy(policy, preset, approval)
    named = loaded if source is None else source.path
    return Sayso.open(named, store, surfaces=(), approval=approval or global_approval())


def _find_token() -> str | None:
    """Return the token of this command: the one that is named, else one of its own, made at its first use.

    Where the service is another user's, only they make tokens.
    """
    import os

    from sayso.doors.agents.settings.installed import write_private
    from sayso.doors.remote.connected import TOKEN
    from sayso.gate.settings import gate_config_folder, service_user

    if os.environ.get(TOKEN) or service_user() not in (None, os.getuid()):
        return os.environ.get(TOKEN)
    file = gate_config_folder() / FOLDER / "run"
    secret = _read_own_token(file)
    if secret is None:
        secret = _issue_own_token()
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(file, f"{secret}\n".encode())
    return secret


def _read_own_token(file: Path) -> str | None:
    """Return the token in this file, if the store still knows it."""
    from sayso.cli.opening import open_gate_to_look
    from sayso.gate.people.tokens import find_token

    try:
        secret = file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    with open_gate_to_look(None, sealed=True) as gate, gate.store.read() as tx:
        return secret if find_token(gate, tx, secret) is not None else None


def _issue_own_token() -> str:
    from sayso.cli.opening import open_gate_to_act
    from sayso.cli.operator_name import operator_name, terminal_identity
    from sayso.gate.people.tokens import issue_token

    with open_gate_to_act(None) as gate:
        return issue_token(gate, "host", "sayso run", by=operator_name(), issuer=terminal_identity())[0]
