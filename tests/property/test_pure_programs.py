"""Programs called pure run under a recorder, in Python and in Node: none of them does anything else."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from sayso.reading.shell.languages import pure_names
from sayso.reading.shell.languages.pure_code import node_only_computes, python_only_computes

HERE = Path(__file__).parent / "pure_code"
NODE = Path(sys.executable).parent / "node"
MANY = 6_000

# Endless or slow: of no interest here.
_SLOW = {
    "count",
    "cycle",
    "repeat",
    "sleep",
    "permutations",
    "product",
    "combinations",
    "iter",
    "pow",
    "exit",
    "quit",
}
_SLOW |= {"combinations_with_replacement", "factorial", "perm", "comb", "exp", "batched", "shuffle", "input"}
_IMPURE_NAMES = (
    "open",
    "eval",
    "exec",
    "__import__",
    "getattr",
    "type",
    "vars",
    "globals",
    "compile",
    "x",
    "f",
)
_IMPURE_MEMBERS = (
    "system",
    "remove",
    "environ",
    "modules",
    "path",
    "__class__",
    "__globals__",
    "popen",
    "getcwd",
)
_PYTHON_EFFECTS = (
    "open('out.txt', 'w')",
    "os.mkdir('out')",
    "exec('x')",
    "__import__('not_there')",
    "random._os.mkdir('out')",
    "(lambda open: 0, open('out.txt', 'w'))",
    "(lambda *exec: [exec for exec in x], exec('x'))",
    "print.__self__.open('out.txt', 'w')",
    "[one.mkdir for one in [os]][0]('out')",
    "(lambda: 0).__globals__['os'].mkdir('out')",
)
_NODE_EFFECTS = (
    "require('fs')",
    "fs.x",
    "f.constructor('1')()",
    "process.env.A",
    "(fs => 0, fs.x)",
    "[[].map].map(({constructor}) => constructor)",
    "f['constructor']",
    "(x => { const require = 1 }, require)",
    "Object.defineProperty",
    "(console.log = 1)",
)
_TEXTS = ("'a'", "'out.txt'", "'{} {}'", "b'a'", "'w'", "r'\\w+'", "f'{1!r:>4}'", "'idna'", "'1 2'", "'os'")


class PythonPrograms:
    """A grammar that mixes what is pure with what is not."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.modules = sorted(set(pure_names.PYTHON_MODULES) - {"__future__"})

    def atom(self) -> str:
        pure = sorted(pure_names.PYTHON_BUILTINS - _SLOW)
        kinds = (
            lambda: str(self.draw.randrange(10)),
            lambda: self.draw.choice(_TEXTS),
            lambda: self.draw.choice(pure),
            lambda: self.draw.choice(("x", "y", "f")),
            lambda: self.member(self.draw.choice(self.modules)),
            lambda: self.draw.choice(_IMPURE_NAMES if self.draw.random() < 0.1 else ("x", "y")),
            lambda: self.draw.choice(_PYTHON_EFFECTS if self.draw.random() < 0.3 else ("x", "y")),
        )
        return self.draw.choice(kinds)()

    def member(self, module: str) -> str:
        if self.draw.random() < 0.05:
            return f"{module}.{self.draw.choice(_IMPURE_MEMBERS)}"
        listed = sorted(pure_names.PYTHON_MODULES[module] - _SLOW)
        return f"{module}.{self.draw.choice(listed)}" if listed else "y"

    def expression(self, depth: int) -> str:
        if depth == 0:
            return self.atom()
        one = [self.expression(depth - 1) for _ in range(3)]
        attribute = self.draw.choice(sorted(pure_names.PYTHON_ATTRIBUTES))
        if self.draw.random() < 0.05:
            attribute = self.draw.choice((*_IMPURE_MEMBERS, "format", "raw", "detach", "format_map"))
        shapes = (
            "{0}({1})", "{0}({1}, {2})", "({0}).{a}", "({0}).{a}({1})", "({0}).{a}({1}, {2})", "[{0}, {1}]",
            "({0}, {1})[{2}]", "{{{0}: {1}}}", "({0} + {1})", "({0} if {1} else {2})",
            "(lambda x=y: {0})({1})",
            "(lambda *x: {0})", "[{0} for x in ({1}, {2})]", "{0}(*[{1}])", "(z := {0})", "f'{{{0!s}}}'",
            "map({0}, [{1}])", "list(map({0}, [{1}], [{2}]))", "sorted([{1}, {2}], key={0})", "({0} % {1})",
            "{0}({1}, key={2})", "print({0}, {1}, sep={2})", "next({0}, {1})", "({0} and {1} or {2})",
        )  # fmt: skip
        return self.draw.choice(shapes).format(*one, a=attribute)

    def statement(self) -> str:
        one = [self.expression(self.draw.randrange(3)) for _ in range(2)]
        shapes = (
            "print({0})", "x = {0}", "y = {0}", "x[{0}] = {1}", "x, *y = {0}", "for x in [{0}]: print({1})",
            "def f(x={0}, *y): return {1}", "f = lambda *y: {0}",
            "try: {0}\nexcept Exception as e: print(e.args)",
            "if {0}: print({1})", "x += {0}", "try: f({0})\nfinally: print({1})", "assert {0}, {1}",
            "raise {0}",
            "for print in [{0}]: {1}", "x.y = {0}", "global open\nx = {0}", "@{0}\ndef f(*y): return {1}",
        )  # fmt: skip
        weights = [4] * 14 + [1] * 4
        return self.draw.choices(shapes, weights)[0].format(*one)

    def program(self) -> str:
        start = [f"import {', '.join(self.modules)}", "x = y = [1]", "f = str"]
        return "\n".join(start + [f"try:\n    {self.indented()}\nexcept Exception: x = 1" for _ in range(3)])

    def indented(self) -> str:
        return self.statement().replace("\n", "\n    ")


class NodePrograms:
    """The same for JavaScript."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def atom(self) -> str:
        places = sorted(pure_names.NODE_PLACES)
        place = self.draw.choice(places)
        wrong = ("constructor", "env", "mainModule", "Console", "getOwnPropertyDescriptor", "binding", "_x")
        right = sorted(pure_names.NODE_PLACES[place])
        kinds = (
            lambda: str(self.draw.randrange(10)),
            lambda: self.draw.choice(("'a'", '"constructor"', "`a${x}`", "/a/g", "'\\\n'", "`\\``", "/[/]/")),
            lambda: self.draw.choice(sorted(pure_names.NODE_VALUES)),
            lambda: f"{place}.{self.draw.choice(right if self.draw.random() < 0.95 else wrong)}",
            lambda: self.draw.choice(("x", "y", "f")),
            lambda: self.draw.choice(_NODE_EFFECTS if self.draw.random() < 0.3 else ("x", "y")),
            lambda: self.draw.choice(
                ("require", "fs", "globalThis", "eval", "Function", "this",
                "process") if self.draw.random() < 0.1 else ("x",)
            ),
        )  # fmt: skip
        return self.draw.choice(kinds)()

    def expression(self, depth: int) -> str:
        if depth == 0:
            return self.atom()
        one = [self.expression(depth - 1) for _ in range(3)]
        name = self.draw.choice(sorted(pure_names.NODE_METHODS - {"repeat", "padEnd", "padStart", "fill"}))
        if self.draw.random() < 0.07:
            name = self.draw.choice(
                ("constructor", "__proto__", "call", "apply", "bind", "anchor", "prototype")
            )
        shapes = (
            "{0}({1})", "{0}({1}, {2})", "({0}).{a}", "({0}).{a}({1})", "({0}).{a}({1}, {2})",
            "[{0}, ...{1}]",
            "[{0}, {1}][{2}]", "({{a: {0}, 'b': {1}}})", "{0} + {1}", "({0} ? {1} : {2})", "(x => {0})({1})",
            "((x, y) => {0})", "((...x) => {{ return {0} }})", "[{1}, {2}].map({0})", "({0}, {1})",
            "`${{{0}}}`",
            "new {0}({1})", "typeof {0}", "({{x, y}})", "{0} / {1} / {2}", "[{1}].map(({{a}}) => {0})",
            "({0})['at']",
            "{0} /* ' */ + {1}", "{0} // `\n + {1}", "({0})?.{a}", "(fs => {0})({1})", "{0}`{1}`",
            "{0} = {1}",
        )  # fmt: skip
        return self.draw.choice(shapes).format(*one, a=name)

    def program(self) -> str:
        one = [self.expression(self.draw.randrange(3)) for _ in range(4)]
        shapes = ("{0}; {1}", "console.log({0}, {1})", "[{0}, {1}].map(x => {2})", "(x => {0})({1})")
        return self.draw.choice(shapes).format(*one)


def in_python(programs: list[str], folder: Path) -> list[Any]:
    modules = sorted(set(pure_names.PYTHON_MODULES) - {"__future__"})
    given = {"programs": programs, "modules": modules, "unnamed": sorted(pure_names.PYTHON_UNNAMED)}
    return run([sys.executable, "-I", str(HERE / "recorder.py")], given, folder)


def in_node(programs: list[str], folder: Path) -> list[Any]:
    places = {name: sorted(members) for name, members in pure_names.NODE_PLACES.items()}
    given = {"programs": programs, "values": sorted(pure_names.NODE_VALUES), "places": places}
    fence = ["--permission", f"--allow-fs-read={HERE}"]
    return run([str(NODE), *fence, str(HERE / "recorder.js")], given, folder)


def run(command: list[str], given: dict[str, Any], folder: Path) -> list[Any]:
    done = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, cwd=folder, timeout=300, check=False
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    found: list[Any] = json.loads(done.stdout)
    assert len(found) == len(given["programs"])
    return found


RUNS = (
    pytest.param(PythonPrograms, python_only_computes, in_python, id="python"),
    pytest.param(NodePrograms, node_only_computes, in_node, id="node"),
)


@pytest.mark.parametrize(("grammar", "reads", "runs"), RUNS)
def test_no_program_called_pure_has_an_effect(
    grammar: Any, reads: Callable[[str], bool], runs: Callable[[list[str], Path], list[Any]], tmp_path: Path
) -> None:
    programs = [grammar(seed).program() for seed in range(MANY)]
    pure = [text for text in programs if reads(text)]
    assert MANY // 20 < len(pure) < MANY  # the grammar makes both
    found = runs(pure, tmp_path)
    assert not [(text, effects) for text, (effects, _) in zip(pure, found, strict=True) if effects]
    ran = sum(error != "SyntaxError" for _, error in found)
    assert ran > len(pure) // 2
    assert not list(tmp_path.iterdir())


TABLE = Path(__file__).parents[1] / "unit" / "reading" / "shell" / "pure_code.yaml"


@pytest.mark.parametrize(("language", "runs"), [("python", in_python), ("node", in_node)])
def test_each_pure_program_of_the_table_runs_and_has_no_effect(
    language: str, runs: Callable[[list[str], Path], list[Any]], tmp_path: Path
) -> None:
    programs: list[str] = YAML(typ="safe").load(TABLE.read_text())[language]["pure"]
    found = runs(programs, tmp_path)
    wrong = ("SyntaxError", "NameError", "AttributeError", "TypeError")
    assert not [
        (text, effects, error)
        for text, (effects, error) in zip(programs, found, strict=True)
        if effects or error in wrong
    ]


PLANTED = (
    (
        in_python,
        ("open('x', 'w')", "import os; os.system('true')",
        "().__class__.__base__.__subclasses__()[0]; exec('1')",
         "import socket; socket.socket()", "import subprocess; subprocess.run(['true'])",
         "import os; os.remove('x')", "import not_there", "try: open('x')\nexcept Exception: pass"),
    ),
    (
        in_node,
        ("require('fs')", "fs.x", "[].map.constructor('1')()", "(x => 1).constructor('1')()", "process.env.X",
         "globalThis.x", "eval('1')", "console.log = 1", "x = Object.defineProperty({}, 'a', {})"),
    ),
)  # fmt: skip


@pytest.mark.parametrize(("runs", "programs"), PLANTED, ids=("python", "node"))
def test_the_recorder_finds_each_planted_effect(
    runs: Callable[[list[str], Path], list[Any]], programs: tuple[str, ...], tmp_path: Path
) -> None:
    found = runs(list(programs), tmp_path)
    assert not [text for text, (effects, _) in zip(programs, found, strict=True) if not effects]
