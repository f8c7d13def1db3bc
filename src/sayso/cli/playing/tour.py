"""`sayso tour`: a guided conversation between a user, an agent and Sayso, with you at the keyboard."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from sayso.gate.sessions.play import Player

PLAN = (
    "Edit `src/parse.py`: add a null check to parse_header(). Nothing else changes. Done when the tests pass."
)

SCENES: tuple[tuple[str, tuple[dict[str, Any], ...]], ...] = (
    (
        "Reading is free",
        (
            {"hear": "Find out why the header parser crashes"},
            {"call": {"operations": ["files.read"], "target": "src/parse.py"}},
        ),
    ),
    (
        "The first edit asks, and you are asked",
        (
            {"call": {"operations": ["files.edit"], "target": "src/parse.py"}},
            {"person": True},
            {"call": {"operations": ["files.edit"], "target": "src/parse.py"}},
        ),
    ),
    (
        "Secrets are never touched, whatever anybody says",
        (
            {"hear": "yes, go ahead with everything you like"},
            {"call": {"operations": ["files.modify_secrets"], "target": "~/.ssh/id_ed25519"}},
        ),
    ),
    (
        "A plan you agree to covers what it names, and no more",
        (
            {"plan": PLAN},
            {"hear": "go ahead"},
            {"call": {"operations": ["files.edit"], "target": "src/parse.py"}},
            {"call": {"operations": ["files.edit"], "target": "src/secret_feature.py"}},
        ),
    ),
    (
        "Stop means stop",
        (
            {"hear": "wait, stop"},
            {"call": {"operations": ["files.read"], "target": "src/parse.py"}},
        ),
    ),
    (
        "A command you granted word for word runs unasked, its cousins do not",
        (
            {"hear": "Grant standing consent for: git push"},
            {"call": {"operations": ["git.push"], "command": "git push"}},
            {"call": {"operations": ["git.push_force"], "command": "git push --force"}},
        ),
    ),
)

SHORTCUTS = {"o": "once", "y": "once", "yes": "once", "t": "task", "n": "deny", "no": "deny", "": "deny"}


def tour() -> None:
    """Watch Sayso decide: an allow, a question to you, a plan, a block, a stop, an allowlist."""
    import time

    from sayso.cli.policy_choice import in_flagged_mode
    from sayso.cli.views.decision import make_console
    from sayso.gate.sessions.play import Player
    from sayso.policy import load_preset

    out = make_console()
    out.print("\n[bold]Sayso stands between an agent and the world.[/bold]")
    out.print("An agent works on a small project here; preset balanced decides. Nothing real is run.")
    player = Player(in_flagged_mode(load_preset("balanced")), start=time.time())
    for number, (title, steps) in enumerate(SCENES, 1):
        out.print(f"\n[bold cyan]{number}. {title}[/bold cyan]")
        for step in steps:
            _play_step(out, player, step)
    out.print("\n[bold]Go on by yourself[/bold]")
    out.print("  .venv/bin/sayso chat                           a session to type into")
    out.print("  .venv/bin/sayso explain git push               one decision, check by check")
    out.print("  .venv/bin/sayso check --preset graph email send 0.9", highlight=False)
    out.print("  .venv/bin/sayso init                           a policy of your own\n")


def _play_step(out: Console, player: Player, step: dict[str, Any]) -> None:
    from sayso.cli.playing.session_view import print_step_result

    if "person" in step:
        _ask_person(out, player)
        return
    _introduce(out, step)
    print_step_result(out, step, player.step(step))


def _introduce(out: Console, step: dict[str, Any]) -> None:
    from rich.text import Text

    ((name, value),) = step.items()
    if name == "call":
        what = value.get("command") or f"{value['operations'][0]} {value['target']}"
        out.print(Text.assemble(("agent ", "bold blue"), "wants to: ", (what, "bold")))
    else:
        who = ("user  ", "bold green") if name == "hear" else ("agent ", "bold blue")
        out.print(Text.assemble(who, f"“{value}”"))


def _ask_person(out: Console, player: Player) -> None:
    """The person at the keyboard answers; without one, or without a clear yes, the answer is no."""
    given = "deny"
    if sys.stdin.isatty() and sys.stdout.isatty():
        given = _read_answer(out)
    else:
        out.print("[dim]No terminal to ask at, so the answer is No.[/dim]")
    player.step({"answer": given})
    out.print(f"[bold]you[/bold]   answered: {given}")


def _read_answer(out: Console) -> str:
    out.print("Allow it? \\[o]nce, for this \\[t]ask, or \\[N]o: ", end="")
    try:
        word = input().strip().lower()
    except (EOFError, KeyboardInterrupt):
        out.print()
        return "deny"
    return SHORTCUTS.get(word, "deny")
