"""Write the types of the HTTP interface for TypeScript, which checks the page's code.

`python -m tools.page.shapes` writes shapes.d.ts, beside this file, from the types of the service. Every path
that the page asks for has its row in ASKS; to the checker, the answer of any other path is `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from sayso.service.app import GROUPS
from sayso.service.notifying import NotifyView, SubscriptionBody
from sayso.service.pages import CodeBody, SignedInUser
from sayso.service.provider_pages import BegunView, ProviderView, ReturnBody
from sayso.service.shapes import LiveEvent

FILE = Path(__file__).with_name("shapes.d.ts")
ASKS = (
    ("GET", "/v1/audit"),
    ("GET", "/v1/audit/entries"),
    ("POST", "/v1/audit/verify"),
    ("GET", "/v1/grants"),
    ("DELETE", "/v1/grants/{grant}"),
    ("GET", "/v1/history"),
    ("GET", "/v1/history/{seq}"),
    ("GET", "/v1/passkeys"),
    ("POST", "/v1/passkeys"),
    ("POST", "/v1/passkeys/options"),
    ("DELETE", "/v1/passkeys/{passkey}"),
    ("GET", "/v1/people"),
    ("GET", "/v1/people/broken-glass"),
    ("POST", "/v1/people/delegations"),
    ("DELETE", "/v1/people/delegations/{delegation}"),
    ("GET", "/v1/policy"),
    ("POST", "/v1/policy/apply"),
    ("POST", "/v1/policy/apply/challenge"),
    ("POST", "/v1/policy/diff"),
    ("GET", "/v1/policy/file"),
    ("POST", "/v1/policy/replay"),
    ("GET", "/v1/policy/suggestions"),
    ("POST", "/v1/policy/suggestions/{suggestion}/proposal"),
    ("GET", "/v1/policy/reviews"),
    ("POST", "/v1/policy/reviews/{domain}"),
    ("POST", "/v1/policy/reviews/{domain}/challenge"),
    ("POST", "/v1/policy/reviews/{domain}/tighten"),
    ("GET", "/v1/proposals"),
    ("GET", "/v1/proposals/{proposal}"),
    ("POST", "/v1/proposals/{proposal}/apply"),
    ("POST", "/v1/proposals/{proposal}/approve"),
    ("POST", "/v1/proposals/{proposal}/challenge"),
    ("POST", "/v1/proposals/{proposal}/reject"),
    ("POST", "/v1/proposals/{proposal}/undo"),
    ("POST", "/v1/proposals/{proposal}/withdraw"),
    ("GET", "/v1/questions"),
    ("GET", "/v1/questions/{question}"),
    ("GET", "/v1/questions/{question}/why"),
    ("POST", "/v1/questions/{question}/answer"),
    ("POST", "/v1/questions/{question}/challenge"),
    ("POST", "/v1/questions/{question}/edited"),
    ("POST", "/v1/questions/{question}/rating"),
    ("GET", "/v1/runs"),
    ("GET", "/v1/sessions"),
    ("POST", "/v1/sessions/resume"),
    ("POST", "/v1/sessions/stop"),
    ("POST", "/v1/sessions/{session}/resume"),
    ("POST", "/v1/sessions/{session}/stop"),
    ("POST", "/v1/sessions/{session}/workflows/{workflow}/revoke"),
    ("POST", "/v1/sign-in"),
    ("POST", "/v1/sign-in/options"),
    ("GET", "/v1/stats"),
)
# These go to the browser almost as they are, so they have its types (see HEAD).
OF_THE_BROWSER = {
    "/v1/passkeys/options": "PasskeyOptions",
    "/v1/policy/apply/challenge": "SigningOptions",
    "/v1/policy/reviews/{domain}/challenge": "SigningOptions",
    "/v1/proposals/{proposal}/challenge": "SigningOptions",
    "/v1/questions/{question}/challenge": "SigningOptions",
    "/v1/sign-in/options": "SigningOptions",
}
PLAIN: dict[type, str] = {
    inspect.AnyType: "Json",
    inspect.BoolType: "boolean",
    inspect.FloatType: "number",
    inspect.IntType: "number",
    inspect.NoneType: "null",
    inspect.StrType: "string",
}
HEAD = """\
// What the page sends and gets. Written by `python -m tools.page.shapes` from the types of the service.

declare namespace Sayso {
  type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

  // What a browser is asked about passkeys; the bytes are spelled in base64url.
  type SpelledKey = Omit<PublicKeyCredentialDescriptor, "id"> & { id: string };
  interface PasskeyOptions extends Omit<
    PublicKeyCredentialCreationOptions,
    "challenge" | "user" | "excludeCredentials"
  > {
    challenge: string;
    user: { id: string; name: string; displayName: string };
    excludeCredentials: SpelledKey[];
  }
  interface SigningOptions extends Omit<PublicKeyCredentialRequestOptions, "challenge" | "allowCredentials"> {
    challenge: string;
    allowCredentials: SpelledKey[];
  }
"""


class Ask(msgspec.Struct, frozen=True):
    """One path that the page asks for: what it sends and what it gets."""

    method: str
    path: str
    body: Any
    result: Any


def shapes() -> str:
    """Return the text of shapes.d.ts."""
    asks = sorted(_asks(), key=lambda ask: (ask.method, _generality(ask.path)))
    sent, got = (_structs([getattr(ask, side) for ask in asks]) for side in ("body", "result"))
    got |= _structs([LiveEvent])
    if both := [name for name in sent.keys() & got.keys() if _has_defaults(sent[name])]:
        raise ValueError(f"sent and received, but only what is sent may leave fields out: {both}")
    lines = [line for name in sorted(sent | got) for line in _interface((sent | got)[name], name in sent)]
    chains = [
        _chain("GetAnswer", "GET", asks, "result"),
        _chain("PostAnswer", "POST", asks, "result"),
        _chain("PostBody", "POST", asks, "body"),
        _chain("DeleteAnswer", "DELETE", asks, "result"),
    ]
    return "\n".join([HEAD, *lines, *(line for chain in chains for line in chain), "}\n"])


def _asks() -> Iterator[Ask]:
    found = {(one.method, one.path): one for group in GROUPS for one in group.ENDPOINTS}
    for method, path in ASKS:
        endpoint = found[method, path]
        yield Ask(method, path, endpoint.body, OF_THE_BROWSER.get(path, endpoint.result))
    yield Ask("GET", "/signed-in", None, SignedInUser)
    yield Ask("POST", "/sign-in", CodeBody, SignedInUser)
    yield Ask("POST", "/sign-out", None, None)
    yield Ask("GET", "/sign-in-providers", None, list[ProviderView])
    yield Ask("POST", "/sign-in/{provider}/begin", None, BegunView)
    yield Ask("POST", "/sign-in/{provider}", ReturnBody, SignedInUser)
    yield Ask("GET", "/notify", None, NotifyView)
    yield Ask("POST", "/notify", SubscriptionBody, NotifyView)
    yield Ask("DELETE", "/notify", None, NotifyView)


def _generality(path: str) -> tuple[int, int, str]:
    """Sort exact paths before patterns, and long patterns before the short ones that fit them, too."""
    return ("{" in path, -path.count("/"), path)


def _structs(types: Iterable[Any]) -> dict[str, inspect.StructType]:
    """Return every struct in these types, by name."""
    found: dict[str, inspect.StructType] = {}

    def visit(node: inspect.Type) -> None:
        if isinstance(node, inspect.StructType):
            name = node.cls.__name__
            if name in found:
                if found[name].cls is not node.cls:
                    raise ValueError(f"two shapes are called {name}")
                return
            found[name] = node
            for field in node.fields:
                visit(field.type)
        for part in _parts(node):
            visit(part)

    for one in types:
        if one is not None and not isinstance(one, str):
            visit(inspect.type_info(one))
    return found


def _parts(node: inspect.Type) -> Iterable[inspect.Type]:
    match node:
        case inspect.UnionType(types=types):
            return types
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return (item,)
        case inspect.DictType(value_type=value):
            return (value,)
        case _:
            return ()


def _has_defaults(struct: inspect.StructType) -> bool:
    return any(not field.required for field in struct.fields)


def _interface(struct: inspect.StructType, sent: bool) -> Iterator[str]:
    yield f"  interface {struct.cls.__name__} {{"
    for field in struct.fields:
        unset = field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT
        left_out = sent or unset or struct.cls.__struct_config__.omit_defaults
        optional = "?" if left_out and not field.required else ""
        yield f"    {field.encode_name}{optional}: {_name(field.type)};"
    yield "  }"


def _name(node: inspect.Type) -> str:
    if type(node) in PLAIN:
        return PLAIN[type(node)]
    match node:
        case inspect.StructType(cls=cls):
            return cls.__name__
        case inspect.LiteralType(values=values):
            return " | ".join(msgspec.json.encode(one).decode() for one in values)
        case inspect.EnumType(cls=enum):
            return " | ".join(msgspec.json.encode(one).decode() for one in enum)
        case inspect.UnionType(types=types):
            return " | ".join(_name(one) for one in types)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            inner = _name(item)
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case inspect.DictType(value_type=value):
            return f"Record<string, {_name(value)}>"
        case _:
            raise TypeError(f"no TypeScript for {node}")


def _chain(name: str, method: str, asks: Iterable[Ask], side: str) -> Iterator[str]:
    """Write a type that depends on a path; the first pattern that fits decides."""
    yield f"  type {name}<Path extends string> ="
    for ask in asks:
        if ask.method == method:
            yield f"    Path extends {_pattern(ask.path)} ? {_side(getattr(ask, side))} :"
    yield "    unknown;"


def _pattern(path: str) -> str:
    parts = ["${string}" if part.startswith("{") else part for part in path.split("/")]
    return f"`{'/'.join(parts)}`" if "{" in path else f'"{path}"'


def _side(what: Any) -> str:
    if what is None:
        return "undefined"
    return what if isinstance(what, str) else _name(inspect.type_info(what))


if __name__ == "__main__":
    FILE.write_text(shapes(), encoding="utf-8")
