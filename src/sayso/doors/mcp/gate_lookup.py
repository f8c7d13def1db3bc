"""Find the gate that `MODULE:GATE` names, and say clearly what is wrong if it cannot be had."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from sayso.core.errors import SaysoError
from sayso.doors.sayso import Sayso

FORM = "write module:gate, as in tasks.gates:gate, or file.py:gate"


class NoGate(SaysoError):
    """Nothing that could be served is found under this name."""

    code = "no_gate"


def find_gate(where: str) -> Sayso:
    """The open gate of this name. The module is imported, so what it declares is declared then."""
    home, _, name = where.rpartition(":")
    if not home or not name:
        raise NoGate(f"{where!r} names no gate", hint=FORM)
    module = _module(home)
    if not hasattr(module, name):
        raise NoGate(f"{home} has no {name!r}", hint=f"{FORM}; it needs {name} = Sayso.open(…)")
    found = getattr(module, name)
    if not isinstance(found, Sayso):
        raise NoGate(
            f"{where} is a {type(found).__name__}, not a gate", hint="a gate comes from Sayso.open(…)"
        )
    return found


def _module(home: str) -> ModuleType:
    try:
        return _from_file(Path(home)) if home.endswith(".py") else _from_path(home)
    except NoGate:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # foreign code may even call sys.exit while it is imported
        raise NoGate(f"importing {home} failed{_place(error)}: {type(error).__name__}: {error}") from error


def _from_path(home: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(home)
    except ModuleNotFoundError as error:
        if error.name is None or not (home == error.name or home.startswith(f"{error.name}.")):
            raise  # the module is there; what it imports is not
        raise NoGate(f"there is no module {error.name!r}", hint=f"looked from {here}; {FORM}") from None


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise NoGate(f"there is no file {path}", hint=FORM)
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None or spec.loader is None:
        raise NoGate(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _place(error: BaseException) -> str:
    """Return the place of the error as an editor reads it."""
    if isinstance(error, SyntaxError):
        return f" at {error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    seen = [one for one in frames if one.filename != __file__ and "importlib" not in one.filename]
    return f" at {seen[-1].filename}:{seen[-1].lineno}" if seen else ""
