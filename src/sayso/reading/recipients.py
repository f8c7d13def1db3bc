"""Recipients: who a message goes to, in one spelling, to be compared with contacts.

A message goes to whoever its `cc` or `bcc` names, also in its headers, whatever the entry of its tool reads:

- Copies and recipients count under any name that says so, at any depth.
- `to` is a date or a place in some tools: there an address or a number with its country counts.
- A header counts that is smuggled into a subject or a name behind a line end.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sayso.core.command_arguments import fold_argument
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.arguments import undeclared_values
from sayso.reading.urls import normalise_host

_NUMBER = lazy_pattern(r"\+[0-9][0-9 ().\-/]{3,40}")
_NAMED = lazy_pattern(r'(?:"[^"<>]*"\s*|[^"<>@]*)<([^<>\s]+)>')
_LOCAL = lazy_pattern(r"[^\s@\"(),:;<>\[\]\\]{1,64}")
_HOST = lazy_pattern(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NETWORK = lazy_pattern(r"(tel:|sms:)|(mailto:)", re.IGNORECASE)
_PARTS = lazy_pattern(r'(?:[^,;\n"]|"[^"]*(?:"|$))+')
"""At commas, semicolons and line ends outside double quotes."""
_COPIES = lazy_pattern(
    r"(?:blind)?b?cc(?:s|ed)?|(?:blind)?carboncopy|addressees?"
    r"|(?:to|b?cc|additional|blind|extra|hidden|more|other)?recipients?"
    r"|(?:to|b?cc)(?:address(?:es)?|emails?|numbers?|list)|(?:send|mail|email|forward|resent|copy)to"
)
"""Names of arguments for further recipients, folded."""
_HEADERS = frozenset({"header", "headers"})
_BEFORE_HEADERS = _HEADERS | {"subject", "title", "from", "fromname", "sender", "replyto", "name"}
"""Names of arguments that come to stand among the headers of a message."""
_HEADER = lazy_pattern(r"[\r\n][ \t]*(?:resent-)?(?:to|b?cc)[ \t]*:([^\r\n]*)", re.IGNORECASE)


@functools.lru_cache(maxsize=4096)
def normalise_recipient(text: str) -> str | None:
    """A phone number as +15550100001, an e-mail address as name@host in small letters, or None.

    A number without its country is nobody's in particular, and so is one with letters in it.
    """
    text = text.strip()
    named = _NAMED.fullmatch(text)
    bare = named.group(1) if named else text
    network = _NETWORK.match(bare)
    rest = bare[network.end() :] if network else bare
    return _normalise_address(rest) if (network[2] if network else "@" in bare) else _normalise_number(rest)


def split_recipients(value: object) -> list[str]:
    """The recipients in an argument: a text with commas or semicolons between them, or a list.

    Anything else is one recipient that cannot be read.
    """
    if isinstance(value, str):
        return [part for part in map(str.strip, _PARTS.findall(value)) if part]
    if isinstance(value, (list, tuple)):
        return [one for member in value for one in split_recipients(member)]
    return [] if value is None else [str(value)]


def find_other_recipients(args: Mapping[str, Any], source: str) -> list[tuple[str, Any]]:
    """Return whom the message goes to besides the recipients at `source`, with the names of the arguments."""
    return [
        (name, one) for name, value in undeclared_values(args, source) for one in _recipients_in(name, value)
    ]


def is_contact(recipient: str, contacts: Iterable[str]) -> bool:
    """Return whether a recipient is one of these contacts."""
    wanted = normalise_recipient(recipient)
    return wanted is not None and any(normalise_recipient(contact) == wanted for contact in contacts)


def _normalise_number(text: str) -> str | None:
    if not _NUMBER.fullmatch(text.strip()):
        return None
    import phonenumbers

    try:
        number = phonenumbers.parse(text.strip(), None)
    except phonenumbers.NumberParseException:
        return None
    spelled = str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))
    return spelled if phonenumbers.is_possible_number(number) else None


def _normalise_address(text: str) -> str | None:
    local, at, host = text.rpartition("@")
    hidden = any(unicodedata.category(character)[0] == "C" for character in text)
    if not at or not _LOCAL.fullmatch(local) or hidden:
        return None
    ascii_host = normalise_host(host)
    named = f"{unicodedata.normalize('NFC', local).lower()}@{ascii_host}"
    return named if _HOST.fullmatch(ascii_host) else None


def _recipients_in(name: str, value: Any) -> Iterator[Any]:
    folded = fold_argument(name)
    if value and _COPIES.fullmatch(folded):
        yield value
    elif folded in ("to", "tos"):
        yield from (one for one in split_recipients(value) if "@" in one or normalise_recipient(one))
    elif folded in _BEFORE_HEADERS and isinstance(value, str):
        text = f"\n{value}" if folded in _HEADERS else value
        yield from (found[1] for found in _HEADER.finditer(text))
