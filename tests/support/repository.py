"""Where the repository is."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED_SCHEMA = ROOT / "src" / "sayso" / "policy" / "schema.json"
