"""`sayso mcp wrap`: start the gateway in front of an MCP server."""

from __future__ import annotations

from collections.abc import Sequence


def run_gateway(words: Sequence[str], name: str | None) -> int:
    """Run the gateway until its client or its server ends; return the server's exit code."""
    from pathlib import Path

    from sayso.core.errors import MalformedRequest, SaysoError
    from sayso.doors.agents.mcp_servers.records import gateway_file
    from sayso.doors.agents.mcp_servers.words import clean_name, is_name
    from sayso.doors.mcp.gateway.pump import GatewaySettings, wrap_server
    from sayso.doors.mcp.gateway.service import Service, ServiceFile

    called = clean_name(Path(words[0]).stem) if name is None else name
    if not is_name(called):
        raise MalformedRequest(
            f"{called!r} is not a name for a server", hint="use letters, digits, - and single _"
        )
    try:
        file = ServiceFile.load(gateway_file())
    except (OSError, ValueError) as error:
        raise SaysoError(
            f"the gateway has no token yet: {error}", hint="`sayso install mcp` makes it"
        ) from error
    settings = GatewaySettings(server=called, folder=str(Path.cwd()), wait=file.wait)
    try:
        return wrap_server(words, Service(file), settings)
    except OSError as error:
        raise SaysoError(f"cannot start {words[0]}: {error.strerror}") from error
