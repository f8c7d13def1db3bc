"""Recipients in arguments that the entry of a tool does not name.

A message goes to whoever its `cc` or `bcc` names, also in its headers, whatever the entry reads.

- Copies and recipients count under any name that says so, at any depth.
- `to` is a date or a place in some tools: there an address or a number with its country counts.
- A header counts that is smuggled into a subject or a name behind a line end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sayso.core.command_arguments import fold_argument
from sayso.core.text.patterns import lazy_pattern
from sayso.reading.arguments import named_values
from sayso.reading.recipients import normalise_recipient, split_recipients

_COPIES = lazy_pattern(
    r"(?:blind)?b?cc(?:s|ed)?|(?:blind)?carboncopy|addressees?"
    r"|(?:to|b?cc|additional|blind|extra|hidden|more|other)?recipients?"
    r"|(?:to|b?cc)(?:address(?:es)?|emails?|numbers?|list)|(?:send|mail|email|forward|resent|copy)to"
)
"""Names of arguments for further recipients, folded."""
_TO = frozenset({"to", "tos"})
_HEADERS = frozenset({"header", "headers"})
_BEFORE_HEADERS = _HEADERS | {"subject", "title", "from", "fromname", "sender", "replyto", "name"}
"""Names of arguments that come to stand among the headers of a message."""
_HEADER = lazy_pattern(r"[\r\n]\s*(?:resent-)?(?:to|b?cc)\s*:([^\r\n]*)", re.IGNORECASE)


def find_other_recipients(args: Mapping[str, Any], source: str) -> list[tuple[str, Any]]:
    """Return whom the message goes to besides the recipients at `source`, with the names of the arguments."""
    return [(name, one) for name, value in _undeclared(args, source) for one in _recipients_in(name, value)]


def _undeclared(args: Mapping[str, Any], source: str) -> Iterator[tuple[str, Any]]:
    """Yield every named value; of a declared argument those inside that its path does not name."""
    paths = [path.strip().removeprefix("args.").split(".") for path in source.split(",")]
    steps = {path[0]: {step for one in paths if one[0] == path[0] for step in one} for path in paths}
    for name, value in args.items():
        if name not in steps:
            yield name, value
        yield from (one for one in named_values(value) if one[0] not in steps.get(name, ()))


def _recipients_in(name: str, value: Any) -> Iterator[Any]:
    folded = fold_argument(name)
    if value and _COPIES.fullmatch(folded):
        yield value
    elif folded in _TO:
        yield from (one for one in split_recipients(value) if "@" in one or normalise_recipient(one))
    elif folded in _BEFORE_HEADERS and isinstance(value, str):
        text = f"\n{value}" if folded in _HEADERS else value
        yield from (found[1] for found in _HEADER.finditer(text))
