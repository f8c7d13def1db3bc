"""Small faults that a tired person could make, one at a time: each is a Mutant of one source file.

Left alone are texts for people, annotations, imports, docstrings and what is inside a `raise`: the guard
around a raise is mutated, its sentence is not.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

Step = tuple[str, int | None]

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
SWAPPED = {
    "LOW": ("MODERATE",),
    "MODERATE": ("LOW", "HIGH"),
    "HIGH": ("MODERATE",),
    "ALLOW": ("ASK",),
    "ASK": ("ALLOW",),
    "DENY": ("ASK",),
    "min": ("max",),
    "max": ("min",),
    "any": ("all",),
    "all": ("any",),
}
TYPES = ("Said", "Rule", "Kind", "Key", "Reach")
"""Names of types, which only the type checker reads."""
WORD = re.compile(r"[a-z_/-]+")
"""A text that code compares with; sentences have blanks and stops."""


class Mutant(NamedTuple):
    """One fault: in which function (or class, or `module`), at which line, what it was and what it became."""

    module: str
    where: str
    line: int
    before: str
    after: str
    nth: int
    path: list[Step]
    node: ast.AST
    whole: ast.Module

    @property
    def key(self) -> str:
        """Its name, which a change elsewhere in the file does not alter."""
        again = f" (#{self.nth})" if self.nth > 1 else ""
        return f"{self.module}.{self.where}: {self.before} -> {self.after}{again}"

    @property
    def tree(self) -> ast.Module:
        """The whole file with the fault in it."""
        return _replaced(self.whole, self.path, self.node)


def mutants(module: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a source, in the order of its lines."""
    tree = ast.parse(source)
    seen: Counter[tuple[str, str, str]] = Counter()
    for path, node, where in _places(tree):
        for other in _others(node):
            before, after = _spelled(node), _spelled(other)
            if before == after:
                continue
            seen[where, before, after] += 1
            nth = seen[where, before, after]
            yield Mutant(module, where, _line(node), before, after, nth, path, other, tree)


def _places(tree: ast.Module) -> Iterator[tuple[list[Step], ast.AST, str]]:
    """Every node that may be mutated, the way to it, and the function it stands in."""
    yield from _below(tree, [], "module")


def _below(node: ast.AST, path: list[Step], where: str) -> Iterator[tuple[list[Step], ast.AST, str]]:
    for field, index, child in _children(node):
        if _left_alone(node, field, child):
            continue
        way = [*path, (field, index)]
        yield way, child, where
        named = isinstance(child, (ast.FunctionDef, ast.ClassDef))
        inner = f"{where}.{child.name}" if named else where  # type: ignore[attr-defined]
        yield from _below(child, way, inner.removeprefix("module."))


def _children(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield field, None, value
        elif isinstance(value, list):
            yield from ((field, at, each) for at, each in enumerate(value) if isinstance(each, ast.AST))


def _left_alone(parent: ast.AST, field: str, child: ast.AST) -> bool:
    if field in ("annotation", "returns", "decorator_list", "bases", "targets", "format_spec", "type_params"):
        return True
    if isinstance(parent, ast.ClassDef) and field == "keywords":
        return True
    if isinstance(child, (ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr)):
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True
    if isinstance(parent, ast.Assign) and _spelled(parent.targets[0]) in TYPES:
        return True
    return isinstance(child, ast.If) and _spelled(child.test) == "TYPE_CHECKING"


def _others(node: ast.AST) -> Iterator[ast.AST]:
    """What could stand there instead."""
    match node:
        case ast.If():
            yield from (ast.If(ast.Constant(fixed), node.body, node.orelse) for fixed in (True, False))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, (ast.Constant, ast.JoinedStr)):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.comprehension() if node.ifs:
            yield from (_with(node, ifs=left) for left in _shorter(node.ifs))
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp() | ast.BinOp() | ast.IfExp():
            yield from _conditions(node)
        case ast.expr():
            yield from _values(node)
        case _:
            pass


def _conditions(node: ast.expr) -> Iterator[ast.AST]:
    match node:
        case ast.Compare():
            yield from _compared(node)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            for left in _shorter(node.values):
                yield ast.BoolOp(node.op, left) if len(left) > 1 else left[0]
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case _:
            pass


def _values(node: ast.expr) -> Iterator[ast.AST]:
    match node:
        case ast.Constant():
            yield from _constants(node)
        case ast.Name(ctx=ast.Load()) if node.id in SWAPPED:
            yield from (ast.Name(other, ast.Load()) for other in SWAPPED[node.id])
        case ast.Attribute(ctx=ast.Load()) if node.attr in SWAPPED:
            yield from (_with(node, attr=other) for other in SWAPPED[node.attr])
        case ast.Call() if node.keywords:
            yield from (_with(node, keywords=left) for left in _shorter(node.keywords))
        case ast.Tuple(ctx=ast.Load()) | ast.List(ctx=ast.Load()) | ast.Set():
            yield from (_with(node, elts=left) for left in _shorter(node.elts) if left)
        case ast.Dict():
            yield from _smaller(node)
        case _:
            pass


def _compared(node: ast.Compare) -> Iterator[ast.AST]:
    for at, op in enumerate(node.ops):
        for other in COMPARISONS[type(op)]:
            yield _with(node, ops=[*node.ops[:at], other(), *node.ops[at + 1 :]])


def _constants(node: ast.Constant) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, (int, float)):
        yield from (ast.Constant(value + 1), ast.Constant(value - 1))
    elif isinstance(value, str) and WORD.fullmatch(value):
        yield ast.Constant(f"not {value}")


def _smaller(node: ast.Dict) -> Iterator[ast.AST]:
    if len(node.keys) > 1:
        for at in range(len(node.keys)):
            keys, values = ([*each[:at], *each[at + 1 :]] for each in (node.keys, node.values))
            yield ast.Dict(keys, values)


def _shorter(row: list[Any]) -> Iterator[list[Any]]:
    for at in range(len(row)):
        yield [*row[:at], *row[at + 1 :]]


def _with(node: Any, **fields: Any) -> Any:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _replaced(tree: ast.Module, path: list[Step], other: ast.AST) -> ast.Module:
    planted = copy.deepcopy(tree)
    node: Any = planted
    for field, index in path[:-1]:
        node = getattr(node, field) if index is None else getattr(node, field)[index]
    field, index = path[-1]
    if index is None:
        setattr(node, field, copy.deepcopy(other))
    else:
        getattr(node, field)[index] = copy.deepcopy(other)
    return ast.fix_missing_locations(planted)


def _spelled(node: ast.AST) -> str:
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}"
    if isinstance(node, ast.Dict):
        return f"{{{', '.join('**' if key is None else ast.unparse(key) for key in node.keys)}}}"
    return " ".join(ast.unparse(node).split())


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
