"""`python -m sayso` and the command `sayso`: the same, also while it is still being loaded."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

from sayso.cli import INTERRUPTED


def main() -> None:
    """Run one command. Ctrl-C ends it without a traceback even before there is a command to end.

    Loading leaves nothing to collect, and what is left at the end goes with the process: to look for cycles
    in it would take a fifth of a short command's time.
    """
    gc.disable()
    try:
        _load()()
    finally:
        gc.freeze()


def _load() -> Callable[[], None]:
    try:
        if sys.argv[1:] in (["--help"], ["-h"]) and sys.stdout is not None:
            from sayso.cli.front import print_front_page as run
        else:
            from sayso.cli.main import run_command as run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    return run


if __name__ == "__main__":
    main()
