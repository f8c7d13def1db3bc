"""`sayso mcp wrap`: start the gateway in front of an MCP server."""

from __future__ import annotations

from collections.abc import Sequence


def run_gateway(words: Sequence[str], name: str | None, url: str | None = None) -> int:
    """Run the gateway until its client or its server ends; return the server's exit code."""
    from pathlib import Path
    from urllib.parse import urlsplit

    from sayso.core.errors import MalformedRequest, SaysoError
    from sayso.core.text.mcp_names import clean_name
    from sayso.doors.agents.mcp_servers.records import gateway_file
    from sayso.doors.agents.mcp_servers.words import is_name
    from sayso.doors.mcp.gateway.process import wrap_server
    from sayso.doors.mcp.gateway.pump import GatewaySettings
    from sayso.doors.mcp.gateway.service import Service, ServiceFile

    if url is not None:
        words = _bridge_words(url)
    named = (urlsplit(url).hostname or "") if url is not None else Path(words[0]).stem
    called = clean_name(named) if name is None else name
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


def _bridge_words(url: str) -> tuple[str, ...]:
    """Return the command that stands for a server at this address."""
    import sys

    from sayso.core.errors import MalformedRequest

    if not url.startswith(("http://", "https://")):
        raise MalformedRequest(f"{url!r} is not the address of a server", hint="it begins with https://")
    return (sys.executable, "-P", "-m", "sayso.doors.mcp.gateway.bridge", url)
