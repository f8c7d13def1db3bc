"""`python -m sayso` and the command `sayso`: the same, also while it is still being loaded."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Run one command. Ctrl-C ends it without a traceback even before there is a command to end."""
    try:
        if sys.argv[1:] in (["--help"], ["-h"]) and sys.stdout is not None:
            from sayso.cli.front import print_front_page as run
        else:
            from sayso.cli.main import run_command as run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
