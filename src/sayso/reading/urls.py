"""Targets of URLs: the open internet, or something near that a stranger could not reach."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from sayso.core.command_arguments import fold_argument
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.arguments import undeclared_values

_NUMERIC = lazy_pattern(r"[0-9a-fx.]+")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""The names of this machine."""
AROUND = " \t\r\n'\"`<>()[]"
_NEAR = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "test", "invalid", "onion")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class UrlTarget(msgspec.Struct, frozen=True):
    """The scheme and host in one spelling. `open` only if it is plainly a public http or https address."""

    scheme: str
    host: str
    path: str
    open: bool


_ADDRESS = lazy_pattern(r"(?!file:|unix:|vscode|cursor)[a-z][a-z0-9+.-]+:[/\\\\]{2}|https?:", re.IGNORECASE)


_LEADS = lazy_pattern(
    r".*ur[il]s?|href|links?|.*address(?:es)?|.*endpoints?|.*origin|.*redirect(?:to)?|.*callback|.*location"
    r"|host|server|base|target"
)
"""Names of arguments that hold addresses, folded."""
_PROXY = lazy_pattern(r"(?:http|https|all|socks)?prox(?:y|ies)(?:ur[il]|server|host|address)?")


def is_address(text: object) -> bool:
    """Return whether a text given as a path begins as an address that some program would fetch."""
    return isinstance(text, str) and _ADDRESS.match(text.strip(AROUND)) is not None


def find_near_addresses(args: Mapping[str, Any], source: str) -> Iterator[tuple[str, str]]:
    """Yield the arguments beside those at `source` that lead a request elsewhere than to a public address.

    A proxy does so wherever it is.
    """
    for name, value in undeclared_values(args, source):
        folded = fold_argument(name)
        members = value if isinstance(value, (list, tuple)) else (value,)
        for one in (member for member in members if isinstance(member, str) and member):
            url = f"http://{one}" if folded == "host" and not is_address(one) else one
            leads = _LEADS.fullmatch(folded) is not None and is_address(url) and not is_public_address(url)
            if leads or _PROXY.fullmatch(folded):
                yield name, one


def find_local_path(url: object) -> str | None:
    """Return the path of a file that is named as an address; None of any other address."""
    found = read_url(url)
    return found.path if found is not None and found.scheme == "file" else None


def is_public_address(url: object) -> bool:
    """Return whether this is the address of something public."""
    found = read_url(url)
    return found is not None and found.open


def read_url(url: object) -> UrlTarget | None:
    """Parse this URL; None if it has more than one reading."""
    # Programs read white space, backslashes and invisible characters in different ways.
    if not isinstance(url, str) or any(
        c == "\\" or c.isspace() or unicodedata.category(c)[0] == "C" for c in url
    ):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    scheme = parts.scheme.casefold()
    if scheme == "file":
        local = parts.netloc in ("", "localhost")
        return UrlTarget(scheme, "", unquote(parts.path), False) if local else None
    named = parts.hostname or ""
    host = named.partition("%")[0] if ":" in named else normalise_host(unquote(named))
    public = host != "" and port != 0 and "@" not in parts.netloc and not _near(host)
    return UrlTarget(scheme, host, parts.path, public and scheme in ("http", "https"))


def normalise_host(host: str) -> str:
    """The name of a host as a resolver would see it, or "" if it is none."""
    try:
        return unicodedata.normalize("NFKC", host).encode("idna").decode().casefold().rstrip(".")
    except UnicodeError:
        return ""


def _near(host: str) -> bool:
    """Loopback, private and metadata addresses in any spelling, and names that only a near resolver knows."""
    address = _parse_address(host)
    if address is not None:
        return not address.is_global or address.is_multicast
    return "." not in host or host.rpartition(".")[2] in _NEAR or host.rpartition(".")[2].isdigit()


def _parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that this host is, of an IPv6 address that carries one of IPv4 that one."""
    import socket

    try:
        if ":" in host:
            address = ipaddress.IPv6Address(host)
            carried = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
            return carried or address.ipv4_mapped or address.sixtofour or address
        # Resolvers take 127.1, 0x7f.1 and 2130706433 for 127.0.0.1; so does this, without asking any of them.
        return ipaddress.IPv4Address(socket.inet_aton(host)) if _NUMERIC.fullmatch(host) else None
    except (OSError, ValueError):
        return None
