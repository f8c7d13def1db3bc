"""Rooms that one sees at a glance, and names that say what they mean."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import pytest

from tests.support.repository import ROOT

SOURCE = ROOT / "src" / "sayso"
MOST_MODULES = 16
"""Fifteen and the `__init__`: a room of more has a second idea in it."""
IRREGULAR = {
    "bound", "built", "chosen", "done", "drawn", "given", "gone", "heard", "held", "kept", "known", "left",
    "lost", "made", "meant", "said", "seen", "sent", "shown", "spent", "taken", "told", "written",
}  # fmt: skip
"""Participles that do not end in -ed."""

QUAINT = re.compile(r"\bby hand\b|\bput back\b|\btaken (?:away|off)\b|\banew\b", re.IGNORECASE)
"""Instead: changed outside Sayso, an older copy was restored, deleted, again."""

CLAUSES = ("What ", "Who ", "Whose ", "Whether ", "How ", "Where ")
"""A docstring that begins so is half a sentence. Instead: Return …, Read …, A …"""
MOST_CLAUSES = 0.06
FOR_OTHERS = {
    "release_call",  # the specification lets a holder give an approval back
    "enter_call",  # and after this moment no longer
    "compile_presets",  # for tools.presets
    "verify_rows",  # for whoever verifies rows outside a store
    "serve_tasks",  # named in the command line of a process that verifies
}


Trees = dict[str, ast.Module]


@pytest.fixture(scope="module")
def trees() -> Trees:
    """Every module of the source, parsed once for all these tests."""
    return {
        str(path.relative_to(SOURCE)): ast.parse(path.read_text("utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("__"):
            yield node


def is_bare_participle(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether its name is a participle alone; one that answers yes or no may be."""
    name = function.name.strip("_")
    says_bool = function.returns is not None and ast.unparse(function.returns) == "bool"
    return not says_bool and "_" not in name and (name.endswith("ed") or name in IRREGULAR)


def repeated(named: Iterable[tuple[str, ast.Module]]) -> dict[str, list[str]]:
    """Public functions that several modules define, by name."""
    where: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in named:
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_"):
                where[node.name].append(path)
    return {name: paths for name, paths in where.items() if len(paths) > 1}


def repeated_classes(named: Iterable[tuple[str, ast.Module]]) -> dict[str, list[str]]:
    """Public classes that several modules define, by name."""
    where: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in named:
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(path)
    return {name: paths for name, paths in where.items() if len(paths) > 1}


def references(tree: ast.Module) -> Iterator[str]:
    """Every name that the module uses; a name in a comment or a docstring, or only imported, is not used."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname not in (None, node.name):
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield node.value  # tables of what is loaded by its name


def unused(modules: Iterable[ast.Module]) -> list[str]:
    """Functions and constants of modules that nothing in the whole source uses."""
    trees = list(modules)
    used = Counter(name for tree in trees for name in references(tree))
    for tree in trees:
        used.subtract(target.id for target in constants(tree))
    functions = (
        node.name
        for tree in trees
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not is_registered(node)
    )
    named = (*functions, *(target.id for tree in trees for target in constants(tree)))
    return [name for name in named if used[name] == 0 and not name.startswith("__")]


def is_registered(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a decorator registers it, as `app.command` does and `functools.cache` does not."""
    decorators = (ast.unparse(one) for one in function.decorator_list)
    return any(not text.startswith(("functools.", "contextmanager", "contextlib.")) for text in decorators)


def constants(tree: ast.Module) -> Iterator[ast.Name]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from (target for target in node.targets if isinstance(target, ast.Name))


def docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield text


def messages(tree: ast.Module) -> Iterator[str]:
    """Every text in the module that is not a docstring: what people may come to read."""
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value


def test_no_room_holds_more_modules_than_one_sees_at_a_glance() -> None:
    rooms = [path for path in (SOURCE, *SOURCE.rglob("*")) if path.is_dir()]
    counts = {
        str(room.relative_to(ROOT)): sum(one.suffix in (".py", ".js") for one in room.iterdir())
        for room in rooms
    }
    assert max(counts.values()) > 10, "the rooms were looked into"
    assert {room: count for room, count in counts.items() if count > MOST_MODULES} == {}


def test_functions_are_verbs(trees: Trees) -> None:
    every = [function for tree in trees.values() for function in functions(tree)]
    bare = [function.name for function in every if is_bare_participle(function)]
    assert len(every) > 1_000
    assert len(bare) < 0.01 * len(every), sorted(bare)


def test_no_public_name_stands_for_two_functions(trees: Trees) -> None:
    assert repeated(trees.items()) == {}


def test_no_public_name_stands_for_two_classes(trees: Trees) -> None:
    assert set(repeated_classes(trees.items())) <= {"Session"}  # the program's, and what is decided by of it


def test_messages_say_in_common_words_that_something_was_tampered_with(trees: Trees) -> None:
    grammar = ("core/text/", "core/plans/", "core/conversation/")  # there, these are words of users
    read = {path: list(messages(tree)) for path, tree in trees.items() if not path.startswith(grammar)}
    assert [(path, text) for path, texts in read.items() for text in texts if QUAINT.search(text)] == []
    outside = {path for path, texts in read.items() for text in texts if "outside Sayso" in text}
    assert outside == {"gate/words.py", "core/words.py"}, "these sentences are in one place"


def test_docstrings_are_statements(trees: Trees) -> None:
    every = [text for tree in trees.values() for text in docstrings(tree)]
    clauses = [text.splitlines()[0] for text in every if text.startswith(CLAUSES)]
    assert len(every) > 2_000
    assert len(clauses) < MOST_CLAUSES * len(every), clauses


def test_no_function_is_there_for_tests_alone(trees: Trees) -> None:
    assert set(unused(trees.values())) == FOR_OTHERS


def test_the_checks_notice_what_they_are_for() -> None:
    planted = ast.parse(
        "def told(): ...\nasync def loaded() -> int: ...\ndef kept() -> bool: ...\ndef load(): ..."
    )
    assert [one.name for one in functions(planted) if is_bare_participle(one)] == ["told", "loaded"]
    assert repeated([("a.py", planted), ("b.py", ast.parse("def load(): ..."))]) == {"load": ["a.py", "b.py"]}
    state, door = ast.parse("class Session: ..."), ast.parse("class Session: ...\nclass _Line: ...")
    assert repeated_classes([("a.py", state), ("b.py", door)]) == {"Session": ["a.py", "b.py"]}
    quaint = ast.parse('"""Rows put back."""\nraise Tampered(f"{row} was CHANGED by hand")')
    assert [bool(QUAINT.search(text)) for text in messages(quaint)] == [True]
    called = (
        "def load(): ...\ndef main(): load()\n@app.command\ndef stop(): ...\nWIDE = 78\nHIGH = 9\nHIGH",
        "@functools.cache\ndef names(): ...",
        '"""Made with target_for."""\nfrom a import target_for\ndef target_for(): ...',
    )
    assert unused(map(ast.parse, called)) == ["main", "names", "target_for", "WIDE"]
    assert list(docstrings(ast.parse('"""A."""\ndef f():\n    """What it is."""'))) == ["A.", "What it is."]
