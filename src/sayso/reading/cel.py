"""`when` expressions: CEL over `args`, `tool` and `cwd`. Needs the extra `cel`, loaded on first use."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from sayso.core.errors import PolicyError
from sayso.core.extras import install_command


@functools.lru_cache(maxsize=1024)
def compile_expression(expression: str) -> Any:
    """The expression, ready to be evaluated. PolicyError if it does not compile or the extra is missing."""
    try:
        import cel
    except ImportError as error:
        raise PolicyError("`when` needs the extra cel", hint=install_command("cel")) from error
    try:
        return cel.compile(expression)
    except Exception as error:  # whatever the compiler raises, it is a refusal
        # The compiler repeats the whole expression before it says what is wrong with it.
        said = str(error).strip().split("ERROR: <input>:", 1)[-1].partition("\n")[0][:200]
        raise PolicyError(f"this `when` does not compile: {said}", hint="see cel.dev") from error


def condition_holds(expression: str, args: Mapping[str, Any], tool: str, folder: str) -> bool | None:
    """Return whether the expression is true of this call; None if it fails or gives no yes or no."""
    try:
        answer = compile_expression(expression).execute({"args": dict(args), "tool": tool, "cwd": folder})
    except Exception:  # noqa: BLE001  whatever the program raises, nobody can tell then
        return None
    return answer if isinstance(answer, bool) else None
