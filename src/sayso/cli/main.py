"""The command `sayso`: what every command shares, and how errors end it."""

from __future__ import annotations

import os
import sys

import typer

from sayso.cli.commands import (
    allowlist,
    audit,
    calls,
    check,
    history,
    init,
    link,
    mcp,
    operator,
    passkey,
    policy,
    serve,
    stop,
    store,
)
from sayso.cli.playing import chat, demo, tour
from sayso.cli.policy_choice import ApprovalOption, set_global_approval

USAGE, FAILURE = 2, 1

app = typer.Typer(
    name="sayso",
    help="Your agent acts on your say-so: may it do this now, must you approve it first, or never?",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes of check and explain: 0 allow, 3 ask, 4 deny, 2 usage, 1 failure.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from sayso import __version__

        typer.echo(f"sayso {__version__}")
        raise typer.Exit


@app.callback()
def sayso_root(
    approval: ApprovalOption = None,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    set_global_approval(approval)


app.command("check", short_help="Decide one operation.")(check.check_operation)
app.command("explain", short_help="Decide, and show every check.")(check.explain_operation)
app.command("chat", short_help="Play a session, typed or scripted.")(chat.chat)
app.command("init", short_help="Write a first policy of your own.")(init.write_first_policy)
app.command("demo", short_help="Watch an agent that needs your say-so.")(demo.demo)
app.command("tour", short_help="Watch Sayso decide in a conversation.")(tour.tour)
app.command("inbox", short_help="List questions waiting for you.")(operator.show_inbox)
app.command("approve", short_help="Approve an open question.")(operator.approve_question)
app.command("deny", short_help="Deny an open question.")(operator.deny_question)
app.command("wait", short_help="Wait for the answer to a question.")(operator.wait_for_question)
app.command("grants", short_help="List live grants.")(operator.show_grants)
app.command("grant", short_help="Grant something in advance.")(operator.grant_ahead)
app.command("revoke", short_help="Revoke one grant, or all of a session.")(operator.revoke_grants)
app.command("stats", short_help="Show how often people are asked, and answer.")(operator.show_stats)
app.add_typer(allowlist.allowlist, name="allowlist", short_help="List commands with standing consent.")
app.add_typer(allowlist.sessions, name="sessions", short_help="List open sessions.")
app.command("stop", short_help="Stop a session, or all of them.")(stop.stop_sessions)
app.command("resume", short_help="Resume a stopped session.")(stop.resume_sessions)
app.command("serve", short_help="Run the service and its page.")(serve.run_service)
app.command("link", short_help="Print a sign-in link for the page.")(link.link)
app.add_typer(passkey.passkeys, name="passkey", short_help="Passkeys that sign answers.")
app.add_typer(serve.tokens, name="token", short_help="Tokens that give access to the service.")
app.command("history", short_help="Show past decisions, call by call.")(history.history)
app.add_typer(calls.calls, name="calls", short_help="List calls: waiting, running or ambiguous.")
app.add_typer(calls.runs, name="runs", short_help="List workflow runs and their progress.")
app.add_typer(policy.app, name="policy")
app.add_typer(audit.app, name="audit")
app.add_typer(store.app, name="store")
app.add_typer(mcp.app, name="mcp")


def run_command() -> None:
    """Run one command. Whatever goes wrong ends with a sentence and a code that is not 0."""
    from sayso.core.errors import MalformedRequest, SaysoError, UnknownAnswer

    if sys.stdout is None:
        sys.exit(FAILURE)  # nobody would see the answer
    try:
        app()
    except (MalformedRequest, UnknownAnswer) as error:
        _fail(error.message, error.hint, USAGE)
    except SaysoError as error:
        _fail(error.message, error.hint, FAILURE)
    except KeyboardInterrupt:
        _fail("interrupted", None, FAILURE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILURE)
    except Exception as error:
        if os.environ.get("SAYSO_DEBUG"):
            raise
        hint = "this is a fault of Sayso; run again with SAYSO_DEBUG=1 to see where"
        _fail(f"unexpected {type(error).__name__}: {error}", hint, FAILURE)


def _fail(message: str, hint: str | None, code: int) -> None:
    from sayso.cli.views.wrapping import width_of, wrap_line

    text, width = f"sayso: {message}" + (f"\n  hint: {hint}" if hint else ""), width_of(sys.stderr)
    for line in text.split("\n"):
        for piece in wrap_line(line, width):
            typer.echo(piece, err=True)
    sys.exit(code)
