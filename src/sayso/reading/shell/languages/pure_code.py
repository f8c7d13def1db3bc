"""Python and JavaScript that only compute: they read their input, print, and do nothing else.

Both readers recognise what is safe. Every value that a text can reach is pure: literals, listed builtins,
listed members of listed modules, and the functions the text makes of them. Calling such a value with such
values reaches nothing else, so calls need no further look. Reflection would lead out of that circle, and so
would a name that means one thing here and another there: neither is in the subset.
"""

from __future__ import annotations

import ast
import functools
import re
import warnings
from collections.abc import Iterator

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.shell.languages.pure_names import (
    NODE_METHODS,
    NODE_PLACES,
    NODE_VALUES,
    PYTHON_ATTRIBUTES,
    PYTHON_BUILTINS,
    PYTHON_MODULES,
    PYTHON_NODES,
    PYTHON_RESERVED,
    PYTHON_UNNAMED,
)

_LONGEST = 10_000
_MOST_TOKENS = 1_500
_FILE = "a text that is only read"
warnings.filterwarnings("ignore", module=_FILE)  # of its escapes, for one
# Controls, lone surrogates, marks and line ends that only one side knows: no text needs them.
_ODD = lazy_pattern(
    r"[^\t\n\x20-\x7e\xa1-\u1fff\u2010-\u2027\u2030-\ud7ff\ue000-\ufefe\uff00-\uffef\U00010000-\U000dffff]"
)
_TOKENS = lazy_pattern(r"\w+|[^\w\s]")
_COOKIE = lazy_pattern(r"(?im)^[ \t]*#.*coding[:=](?![ \t]*utf-?8(?![\w.-]))")
_FIELDS = lazy_pattern(r"(?s)(?:[^{}]|\{\{|\}\}|\{\w*(?:![rsa])?(?::[^{}]*)?\})*")


def python_only_computes(text: str) -> bool:
    """Return True if the text is Python that reads its input, computes and prints, and does nothing else.

    Its modules are the standard library's only where no file beside it takes their names. These names are
    `sys.stdlib_module_names` and `python_modules_of(text)`, even of a text that imports nothing.
    """
    nodes = _python_nodes(text)
    if not nodes or any(type(one).__name__ not in PYTHON_NODES for one in nodes):
        return False
    imported = dict(_imported(nodes))
    places = {name: path for name, path in imported.items() if path in PYTHON_MODULES}
    own = {name for one in nodes for name in _bound_by(one)}
    bound = own | imported.keys()
    inner = {id(one.value) for one in nodes if isinstance(one, ast.Attribute)}
    return (
        all(imported[name] == path != "" for name, path in _imported(nodes))
        and own.isdisjoint(imported)
        and bound.isdisjoint(PYTHON_RESERVED)
        and not any(name.startswith("__") for name in bound)
        and all(one.id in bound | PYTHON_BUILTINS for one in nodes if isinstance(one, ast.Name))
        and all(_is_listed(one, places) for one in nodes if isinstance(one, ast.Attribute))
        and not any(_place(one, places) and id(one) not in inner for one in nodes)
    )


def python_modules_of(text: str) -> frozenset[str]:
    """Return the top modules that the text imports, and those that newer Pythons import unasked."""
    named = {name for one in _python_nodes(text) for name in _module_names(one)}
    return PYTHON_UNNAMED.union(name.partition(".")[0] for name in named)


def _python_nodes(text: str) -> list[ast.AST]:
    """Return the nodes of the text, and none where it cannot be read or is too large."""
    odd = len(text) > _LONGEST or _ODD.search(text) or _COOKIE.search(text)
    if odd or len(_TOKENS.findall(text)) > _MOST_TOKENS:
        return []
    try:
        return list(ast.walk(ast.parse(text, _FILE)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _imported(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, with its path; an empty path for what is not listed."""
    for one in nodes:
        if isinstance(one, ast.Import):
            for name in one.names:
                path = name.name if name.asname else name.name.partition(".")[0]
                yield name.asname or path, path if name.name in PYTHON_MODULES else ""
        elif isinstance(one, ast.ImportFrom):
            for name in one.names:
                path = f"{one.module}.{name.name}"
                listed = path in PYTHON_MODULES or name.name in PYTHON_MODULES.get(one.module or "", ())
                yield name.asname or name.name, path if listed and not one.level else ""


def _module_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [one.name for one in node.names] if isinstance(node, ast.Import) else []


def _bound_by(node: ast.AST) -> list[str]:
    """Return the names that the node binds, imports apart."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    return [node.name] if isinstance(node, ast.FunctionDef | ast.ExceptHandler) and node.name else []


def _place(node: ast.AST, places: dict[str, str]) -> str | None:
    """Return the listed module that the node names."""
    if isinstance(node, ast.Name):
        return places.get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        path = f"{places.get(node.value.id)}.{node.attr}"
        return path if path in PYTHON_MODULES else None
    return None


def _is_listed(node: ast.Attribute, places: dict[str, str]) -> bool:
    """Return True for a listed member of a module, and for what any value may be asked for."""
    place = _place(node.value, places)
    if not isinstance(node.ctx, ast.Load):
        return False
    if place is not None:
        return node.attr in PYTHON_MODULES[place] or f"{place}.{node.attr}" in PYTHON_MODULES
    if node.attr == "format" and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return _FIELDS.fullmatch(node.value.value) is not None  # its fields reach no attribute
    return node.attr in PYTHON_ATTRIBUTES


def node_only_computes(text: str) -> bool:
    """Return True if the text is JavaScript that computes and prints, and does nothing else.

    It is a row of listed tokens: literals without escapes, listed builtins, listed methods, one-letter names
    and operators. Without braces, bare `=`, slashes and computed members, no other value can be named.
    """
    odd = len(text) > _LONGEST or "<!--" in text or "-->" in text
    return not odd and not _ODD.search(text) and _node_text().fullmatch(text) is not None


@functools.cache
def _node_text() -> re.Pattern[str]:
    places = (f"{place}.{member}" for place, members in NODE_PLACES.items() for member in members)
    names = sorted((*places, *NODE_VALUES, "new", "typeof", "void"), key=len, reverse=True)
    tokens = (
        r"'(?!constructor|__)[^'\\\n]*'",
        r'"(?!constructor|__)[^"\\\n]*"',
        r"`[^`$\\]*`",
        r"\d+(?:\.\d+)?(?![\w.$])",
        rf"(?<![\w$])(?<!(?<!\.\.)\.)(?:{'|'.join(map(re.escape, names))}|[a-z])(?![\w$])",
        rf"\??\.(?:{'|'.join(sorted(NODE_METHODS))})(?![\w$])",
        r"\.\.\.|=>|[!=]==?|[<>]=?|&&|\|\||\?\?|\*\*|[-+*%(),;?:\]!]",
        r"(?<=[\d)] )/(?= )",  # behind a value: a division, never a pattern
        r"(?:(?<=[(,?:+>\[.])|^)\[|(?<=[(,?:+>] )\[",  # an array, never a member
        r"\s",
    )
    return re.compile(f"(?:{'|'.join(tokens)})*+", re.ASCII)  # a token is never taken apart again
