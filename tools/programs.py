"""`python -m tools.programs [--check]`: compile what is known of programs, or see whether it is current."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from ruamel.yaml import YAML

from sayso.reading.shell.programs.compile import compile_files
from sayso.reading.shell.programs.known import COMPILED_FILE

FOLDER = Path(__file__).parents[1] / "src/sayso/reading/shell/programs"


def compile_data() -> bytes:
    """The data files as one JSON text, one program a line."""
    read = YAML(typ="safe")
    files = [(path.name, read.load(path.read_text())) for path in sorted(FOLDER.glob("*.yaml"))]
    found = compile_files(files)
    encode = msgspec.json.Encoder().encode
    lines = [b"%s:%s" % (encode(name), encode(entry)) for name, entry in sorted(found["programs"].items())]
    return b'{"operations":%s,\n"sets":%s,\n"programs":{\n%s}}\n' % (
        encode(found["operations"]),
        encode(found["sets"]),
        b",\n".join(lines),
    )


def main() -> int:
    """0 if the file is current, or is now."""
    made, kept = compile_data(), FOLDER / COMPILED_FILE
    if "--check" not in sys.argv[1:]:
        kept.write_bytes(made)
        return 0
    if kept.is_file() and kept.read_bytes() == made:
        return 0
    sys.stderr.write(f"{kept.name} is not what the program data means; `make format` compiles it\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
