"""The front of the command line: which commands there are, where each is found, and `sayso --help`.

Whoever wants the help, or one command, waits for nothing else: this file imports next to nothing, and the
others are imported when they are used. A test holds the help against what typer would print.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

HELP = "Your agent acts on your say-so: may it do this now, must you approve it first, or never?"
EPILOG = (
    "`sayso COMMAND --help` explains a command. "
    "Exit codes of check and explain: 0 allow, 3 ask, 4 deny, 2 usage, 1 failure."
)
MOST_COLUMNS, FEWEST_COLUMNS, USUAL_COLUMNS = 100, 50, 80
_FIRST_COLUMN = 30
OPTIONS = (
    ("--approval MODE", "How often to ask: paranoid, balanced or trusting."),
    ("--version", "Show the version."),
    ("--install-completion", "Install completion for the current shell."),
    (
        "--show-completion",
        "Show completion for the current shell, to copy it or customize the installation.",
    ),
    ("-h, --help", "Show this message and exit."),
)


class CommandPlace(NamedTuple):
    """A command, or a group of them, and the name it has in its module."""

    name: str
    module: str
    attribute: str
    help: str
    group: bool = False


SECTIONS: dict[str, tuple[CommandPlace, ...]] = {
    "Begin here": (
        CommandPlace("demo", "playing.demo", "demo", "Watch an agent that needs your say-so."),
        CommandPlace("tour", "playing.tour", "tour", "Watch Sayso decide in a conversation, step by step."),
        CommandPlace(
            "init",
            "commands.changing.init",
            "write_first_policy",
            "Write a first policy, and gate your coding agents.",
        ),
    ),
    "Coding agents and MCP": (
        CommandPlace("install", "agents.install", "install_agent", "Gate a coding agent."),
        CommandPlace("uninstall", "agents.install", "uninstall_agent", "Stop gating a coding agent."),
        CommandPlace(
            "doctor",
            "agents.doctor",
            "examine_gates",
            "Prove that coding agents are gated, or say what is wrong.",
        ),
        CommandPlace(
            "mcp", "commands.mcp", "app", "The Model Context Protocol: a server, and a gateway.", group=True
        ),
        CommandPlace(
            "hook", "agents.install", "run_hook", "Answer one event of a coding agent; agents run this."
        ),
    ),
    "Answer": (
        CommandPlace("inbox", "commands.operator", "show_inbox", "List questions waiting for you."),
        CommandPlace("approve", "commands.operator", "approve_question", "Approve an open question."),
        CommandPlace("deny", "commands.operator", "deny_question", "Deny an open question."),
        CommandPlace("rate", "commands.operator", "rate_asked", "Say whether a question was clear."),
        CommandPlace("wait", "commands.operator", "wait_for_question", "Wait for the answer to a question."),
        CommandPlace(
            "stop", "commands.stop", "stop_sessions", "Stop the agents: one session, or all of them."
        ),
        CommandPlace("resume", "commands.stop", "resume_sessions", "Resume a stopped session."),
    ),
    "Consent that is given": (
        CommandPlace("sessions", "commands.allowlist", "sessions", "List open sessions.", group=True),
        CommandPlace("grants", "commands.operator", "show_grants", "List live grants."),
        CommandPlace("grant", "commands.operator", "grant_ahead", "Grant something in advance."),
        CommandPlace(
            "revoke", "commands.operator", "revoke_grants", "Revoke one grant, or all of a session."
        ),
        CommandPlace(
            "allowlist", "commands.allowlist", "allowlist", "List commands with standing consent.", group=True
        ),
    ),
    "The policy": (
        CommandPlace(
            "policy",
            "commands.changing.policy",
            "app",
            "Read, check, compare and apply policies.",
            group=True,
        ),
        CommandPlace(
            "propose",
            "commands.changing.propose",
            "app",
            "Proposed changes to policy and memory.",
            group=True,
        ),
        CommandPlace(
            "undo", "commands.changing.propose", "undo_applied", "Undo a proposal that was applied."
        ),
        CommandPlace(
            "people", "commands.changing.people", "people", "The team whose answers count.", group=True
        ),
        CommandPlace(
            "trusted", "commands.changing.trusted", "app", "The trusted channel: signed messages.", group=True
        ),
    ),
    "Decide and try": (
        CommandPlace("check", "commands.check", "check_operation", "Decide one operation."),
        CommandPlace("explain", "commands.check", "explain_operation", "Decide, and show every check."),
        CommandPlace("shell", "commands.shell", "explain_line", "Show what a command line does."),
        CommandPlace("run", "commands.run", "run_line", "Run a command if it is allowed."),
        CommandPlace("chat", "playing.chat", "chat", "Play a session yourself, typed or scripted."),
    ),
    "Look back": (
        CommandPlace("history", "commands.history", "history", "Show past decisions, call by call."),
        CommandPlace(
            "calls", "commands.calls", "calls", "List calls: waiting, running or ambiguous.", group=True
        ),
        CommandPlace("runs", "commands.calls", "runs", "List workflow runs and their progress.", group=True),
        CommandPlace(
            "stats", "commands.operator", "show_stats", "Show how often you are asked, and how you answer."
        ),
        CommandPlace(
            "audit", "commands.audit", "app", "The audit trail: who allowed what, with proof.", group=True
        ),
    ),
    "The service": (
        CommandPlace(
            "serve",
            "commands.service.serve",
            "run_service",
            "Run the service and its page; show, stop or restart it.",
        ),
        CommandPlace("link", "commands.service.link", "link", "Print a link that opens the page, signed in."),
        CommandPlace(
            "passkey",
            "commands.passkey",
            "passkeys",
            "Passkeys, which prove that it was you who answered.",
            group=True,
        ),
        CommandPlace(
            "token",
            "commands.service.tokens",
            "tokens",
            "Tokens for agents, hosts and operators.",
            group=True,
        ),
        CommandPlace(
            "surfaces", "commands.surfaces", "app", "Where else you are asked: phone, chat, mail.", group=True
        ),
        CommandPlace("store", "commands.store", "app", "The store: where consent is kept.", group=True),
    ),
}
COMMANDS = tuple(one for section in SECTIONS.values() for one in section)
WIDEST_NAME = max(len(one.name) for one in COMMANDS)


def find_command(arguments: Sequence[str]) -> str | None:
    """The command that these arguments name for certain; None if it takes all commands to tell."""
    completing = any(name.endswith("_COMPLETE") for name in os.environ)
    named = arguments[0] if arguments and not completing else None
    return named if any(one.name == named for one in COMMANDS) else None


def print_front_page() -> None:
    """Print what `sayso --help` prints. Exit 1 if nobody reads it to its end."""
    try:
        sys.stdout.write(format_front_page(_program_name(), _columns()))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def format_front_page(program: str, columns: int) -> str:
    """The help, wrapped for a terminal of so many columns."""
    width = max(min(columns, MOST_COLUMNS) - 2, FEWEST_COLUMNS)
    lines = [f"Usage: {program} [OPTIONS] COMMAND [ARGS]...", "", *_wrap(HELP, width, "  "), "", "Options:"]
    lines += [*_format_table(OPTIONS, width), ""]
    for title, rows in list_sections():
        lines += [f"{title}:", *_format_table(rows, width), ""]
    return "".join(f"{line}\n" for line in (*lines, *_wrap(EPILOG, width, "  ")))


def list_sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Return the sections of the help: the title, and each command, as wide as the widest, with its line."""
    for title, commands in SECTIONS.items():
        yield title, [(f"{one.name:{WIDEST_NAME}}", one.help) for one in commands]


def _format_table(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    first = min(max(len(name) for name, _ in rows), _FIRST_COLUMN) + 2
    for name, text in rows:
        lines = _wrap(text, max(width - first - 2, 10), "")
        yield f"  {name:{first}}{next(lines)}"
        yield from (f"  {'':{first}}{line}" for line in lines)


def _wrap(text: str, width: int, indent: str) -> Iterator[str]:
    line = indent
    for word in text.split():
        joined = f"{line} {word}" if line.strip() else f"{indent}{word}"
        if len(joined) > width and line.strip():
            yield line
            joined = f"{indent}{word}"
        line = joined
    yield line


def _program_name() -> str:
    """The way it was called, by its own name or as a module."""
    package = getattr(sys.modules["__main__"], "__package__", None)
    return f"python -m {package}" if package else os.path.basename(sys.argv[0])  # noqa: PTH119  no pathlib


def _columns() -> int:
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdigit() and int(told):
        return int(told)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or USUAL_COLUMNS
    except (OSError, ValueError):
        return USUAL_COLUMNS
