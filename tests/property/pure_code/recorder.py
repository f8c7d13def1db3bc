"""Run Python programs in one process and record each effect; a recorded effect does not happen."""

import builtins
import importlib
import io
import json
import resource
import sys
from pathlib import Path

INPUT = b'{"items": [{"name": "a", "n": 1}], "n": 2}'
GIVEN = json.load(sys.stdin)
QUIET = {"compile", "builtins.id", "object.__getattr__", "sys._getframe", "marshal.loads", "array.__new__"}
LIBRARY = str(Path(io.__file__).parent)
KNOWN = sys.stdlib_module_names | set(GIVEN["unnamed"])
found: list[str] | None = None
code: object = None


def is_quiet(event: str, arguments: tuple[object, ...]) -> bool:
    if event == "import":
        return str(arguments[0]).partition(".")[0] in KNOWN
    if event == "exec":  # of the program itself, or of a module that is imported
        file = getattr(arguments[0], "co_filename", "")
        return arguments[0] is code or file.startswith((LIBRARY, "<frozen "))
    if event in ("open", "os.listdir"):
        mode = arguments[1] if len(arguments) > 1 else "r"
        return str(arguments[0]).startswith(LIBRARY) and mode in ("r", "rb", None)
    return event in QUIET


def record(event: str, arguments: tuple[object, ...]) -> None:
    if found is not None and not is_quiet(event, arguments):
        found.append(f"{event} {arguments!r:.80}")
        raise PermissionError(event)


for module in GIVEN["modules"]:
    importlib.import_module(module)
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))  # a large text ends its program alone
sys.addaudithook(record)
real, results = sys.stdout, []
for text in GIVEN["programs"]:
    sys.stdout, sys.stderr, sys.stdin = (io.TextIOWrapper(io.BytesIO(given)) for given in (b"", b"", INPUT))
    error = ""
    try:
        code = compile(text, "<string>", "exec")
        found = []
        exec(code, {"__name__": "__main__", "__builtins__": builtins})  # noqa: S102 - what it is for
    except BaseException as fault:  # noqa: BLE001 - a program may end in any way
        error = type(fault).__name__
    ran, found = found, None
    results.append([ran or [], error])
json.dump(results, real)
