"""`sayso mcp serve` offers a gate's capabilities to MCP clients; `sayso mcp wrap` gates a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Sayso and the Model Context Protocol.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def mcp_root() -> None:
    """Sayso and the Model Context Protocol."""


@app.command("serve", short_help="Offer a gate's capabilities to an MCP client.")
def mcp_serve(
    gate: Annotated[
        str, typer.Argument(metavar="MODULE:GATE", help="Where the gate is: module:name or file.py:name.")
    ],
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="HOST:PORT", help="Serve over HTTP on this machine, not on stdin and stdout."
        ),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(
            "--tokens",
            metavar="FILE",
            help="With --http: a file of tokens, one per line, one for each client.",
        ),
    ] = None,
    session_name: Annotated[
        str | None,
        typer.Option(
            "--session-name",
            metavar="NAME",
            help="The clients' name, instead of the one they give themselves.",
        ),
    ] = None,
    elicit: Annotated[
        bool,
        typer.Option(
            "--elicit", help="Also ask through the client (MCP elicitation): it must show forms to a person."
        ),
    ] = False,
) -> None:
    """Offer a gate's capabilities to an agent: the tools run, retry, check and list_consents. None grants.

    Questions go to the gate's own surfaces. Meanwhile the client waits and sees progress, for 90 seconds
    unless it says otherwise; then it gets a timeout, and can retry later.

    Example: sayso mcp serve tasks.py:gate
    """
    _check_installed()
    _pass_mode_on()
    if http is None:
        _on_stdio(gate, tokens, session_name, elicit)
    else:
        _on_http(gate, http, tokens, session_name, elicit)


@app.command("wrap", short_help="Gate an MCP server: ask before every tool call.")
def mcp_wrap(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND...", help="The command that starts the server.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="The server's name in your policy; by default its command's."
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url", metavar="URL", help="The address of a server (streamable HTTP), instead of a command."
        ),
    ] = None,
) -> None:
    """Start an MCP server on stdin and stdout, and pass on only the tool calls that are allowed.

    With --url the server is at an address; the client still uses stdin and stdout.

    The service decides each call under the name mcp__NAME__TOOL, and the call waits for your answer.
    Everything else passes unchanged. MCP clients start this: `sayso install mcp` puts it into their
    settings.

    Example: sayso mcp wrap --name files -- npx -y @modelcontextprotocol/server-filesystem .
    """
    from sayso.cli.agents.gateway import run_gateway

    if (url is None) == (not words):
        raise typer.BadParameter("give either -- COMMAND or --url URL")
    if url is not None:
        _check_installed()
    raise typer.Exit(run_gateway(words or (), name, url))


def _pass_mode_on() -> None:
    """The mode of `sayso --approval MODE`, for the gate that the module opens in this process."""
    import os

    from sayso.cli.policy_choice import global_approval
    from sayso.gate.settings import VARIABLE

    mode = global_approval()
    if mode is not None:
        os.environ[VARIABLE] = mode


def _check_installed() -> None:
    from importlib.util import find_spec

    from sayso.core.extras import needs_extra

    with needs_extra("mcp", "an MCP server"):
        if find_spec("mcp") is None:  # looked for, not imported: that takes a second
            raise ModuleNotFoundError(name="mcp")


def _on_stdio(gate: str, tokens: Path | None, name: str | None, elicit: bool) -> None:
    from sayso.doors.mcp.gate_lookup import find_gate
    from sayso.doors.mcp.stdio import take_stdio

    if tokens is not None:
        raise typer.BadParameter("--tokens is for --http")
    wire = take_stdio()  # before the module is imported, which may print
    served = find_gate(gate)
    from sayso.doors.mcp.serve import serve_stdio  # the SDK takes a second: a wrong name is told before

    serve_stdio(served, wire, name=name, elicit=elicit)


def _on_http(gate: str, address: str, tokens: Path | None, name: str | None, elicit: bool) -> None:
    from sayso.doors.mcp.gate_lookup import find_gate
    from sayso.doors.mcp.http import open_listener, url_of_listener
    from sayso.doors.mcp.serve import serve_http
    from sayso.doors.mcp.tokens import make_token, read_tokens

    known = [make_token()] if tokens is None else read_tokens(tokens)
    served = find_gate(gate)
    with open_listener(address) as listener:
        typer.echo(f"sayso: serving at {url_of_listener(listener)}", err=True)
        if tokens is None:
            typer.echo(f"sayso: clients send the header  Authorization: Bearer {known[0]}", err=True)
        serve_http(served, listener, known, name=name, elicit=elicit)
