"""`python -m tools.presets [--check]`: compile the presets, or see whether what is kept is current."""

from __future__ import annotations

import sys
from pathlib import Path

from sayso.policy.compiled import FILE
from sayso.policy.load import compile_presets

KEPT = Path(__file__).parents[1] / "src/sayso/policy/presets" / FILE


def main() -> int:
    """0 if the file is current, or is now."""
    made = compile_presets()
    if "--check" not in sys.argv[1:]:
        KEPT.write_bytes(made)
        return 0
    if KEPT.is_file() and KEPT.read_bytes() == made:
        return 0
    sys.stderr.write(f"{KEPT.name} is not what the presets mean; `make format` compiles them\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
