"""Reads a module's source and names everything in it that a pure module may not do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

ALLOWED_IMPORTS = frozenset(
    {
        "__future__",
        "bisect",
        "collections",
        "collections.abc",
        "contextlib",
        "datetime",
        "difflib",
        "enum",
        "fnmatch",
        "functools",
        "hashlib",
        "hmac",
        "html",
        "itertools",
        "json",
        "math",
        "msgspec",
        "operator",
        "re",
        "string",
        "types",
        "typing",
        "unicodedata",
    }
)

# What reaches outside the module, by whatever way it is used.
FORBIDDEN_NAMES = frozenset(
    {
        "__builtins__",
        "__import__",
        "breakpoint",
        "compile",
        "delattr",
        "eval",
        "exec",
        "globals",
        "input",
        "locals",
        "open",
        "print",
        "setattr",
    }
)

# What differs from one process to the next: hash() of text is salted, id() is an address.
FORBIDDEN_CALLS = frozenset({"hash", "id"})

# Methods of allowed modules that read the clock, the time zone or a file, or get round a frozen type.
FORBIDDEN_METHODS = frozenset(
    {
        "astimezone",
        "file_digest",
        "force_setattr",
        "fromtimestamp",
        "now",
        "today",
        "utcnow",
    }
)


def impurities(source: str) -> Iterator[str]:
    """Each impure thing in the source as `line: what`; nothing for a pure module."""
    tree = ast.parse(source)
    completing = set(_completing_calls(tree))
    for node in ast.walk(tree):
        for fault in () if node in completing else _faults(node):
            yield f"{getattr(node, 'lineno', 0)}: {fault}"


def _completing_calls(tree: ast.AST) -> Iterator[ast.AST]:
    """The calls with which a frozen value fills in its own derived fields while it is being made."""
    for made in ast.walk(tree):
        if isinstance(made, ast.FunctionDef) and made.name == "__post_init__":
            for node in ast.walk(made):
                match node:
                    case ast.Call(func=ast.Attribute(attr="force_setattr"), args=[ast.Name(id="self"), *_]):
                        yield node
                    case _:
                        pass


def _faults(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (f"imports {alias.name}" for alias in names if not _allowed(alias.name))
        case ast.ImportFrom(module=module, level=level):
            if level or not _allowed(module or ""):
                yield f"imports from {'.' * level}{module or ''}"
        case ast.Name(id=name, ctx=ast.Load()) if name in FORBIDDEN_NAMES:
            yield f"uses {name}"
        case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS:
            yield f"calls {name}"
        case ast.Call(func=ast.Attribute(attr=name)) if name in FORBIDDEN_METHODS:
            yield f"calls .{name}"
        case ast.Attribute(value=ast.Name(id="date" | "datetime"), attr=name) if name in FORBIDDEN_METHODS:
            yield f"uses {name}"
        case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
            yield "is asynchronous"
        case ast.Global(names=names):
            yield f"changes the global {', '.join(names)}"
        case _:
            pass


def _allowed(module: str) -> bool:
    return module in ALLOWED_IMPORTS or module == "sayso.core" or module.startswith("sayso.core.")
