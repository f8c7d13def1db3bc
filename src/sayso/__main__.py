"""`python -m sayso` and the command `sayso`: the same, also while it is still being loaded."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Run one command. Ctrl-C ends it without a traceback even before there is a command to end."""
    try:
        from sayso.cli.main import run_command as run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
