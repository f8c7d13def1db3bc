"""Planting a mutant in this process, which is a forked one and ends afterwards."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.mutation.operators import Mutant

PACKAGE = "sayso.core"
READ_EARLY = frozenset({"digest", "errors", "model", "policy"})
"""Modules whose functions ran already when the cases were made."""
KEPT = ("tests.mutation", "tests.vectors.vector_files")


def plant(mutant: Mutant) -> bool:
    """Put the mutant in place; True if the cases have to be made anew because of it.

    Inside a function it is enough to exchange the function's code, which takes no time. A constant, a table
    or a default may have been copied anywhere by now: then nothing of ours stays imported.
    """
    code = compile(mutant.tree, f"<mutant of {mutant.module}>", "exec")
    if _exchanged(mutant, code):
        return mutant.module in READ_EARLY
    for name in list(sys.modules):
        if name.partition(".")[0] in ("sayso", "tests") and name != "tests" and not name.startswith(KEPT):
            del sys.modules[name]
    sys.meta_path.insert(0, _Mutated(f"{PACKAGE}.{mutant.module}", code))
    return True


def _exchanged(mutant: Mutant, code: CodeType) -> bool:
    """Whether the mutated function could be found and given its new code."""
    place: Any = importlib.import_module(f"{PACKAGE}.{mutant.module}")
    for name in mutant.where.split("."):
        codes = [each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name]
        if len(codes) != 1:
            return False
        (code,) = codes
        place = vars(place).get(name)
        place = place.fget if isinstance(place, property) else place
        if isinstance(place, FunctionType):
            if place.__code__ == code:
                return False  # the fault is in a default, not in the body
            place.__code__ = code
            return True
    return False


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from its mutated code."""

    def __init__(self, name: str, code: CodeType) -> None:
        self.name, self.code = name, code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.name else None

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, vars(module))  # noqa: S102 - code of ours with a fault in it
