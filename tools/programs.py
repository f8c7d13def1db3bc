"""`python -m tools.programs [--check]`: compile what is known of programs, or look for faults in its rows."""

from __future__ import annotations

import sys

from sayso.reading.shell.programs.shipped import FOLDER, load_compiled
from tools.program_rows import find_faults


def main() -> int:
    """0 if there is nothing to mend."""
    if "--check" not in sys.argv[1:]:
        load_compiled()
        return 0
    faults = find_faults(FOLDER)
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
