from pathlib import Path


def find_faults(folder: Path) -> list[str]:
    return []
