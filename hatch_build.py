"""The build's own step: compile the program data, for wheels, source archives and editable installs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompilePrograms(BuildHookInterface):  # type: ignore[type-arg, misc, unused-ignore]
    """Make the compiled form current before files are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the data files beside themselves. It is left alone where it is current."""
        sys.path.insert(0, str(Path(self.root, "src")))
        from sayso.reading.shell.programs.shipped import COMPILED_FILE, FOLDER, load_compiled

        load_compiled()
        if not (FOLDER / COMPILED_FILE).is_file():
            raise OSError(f"{FOLDER / COMPILED_FILE} could not be written")
