"""Numbers in sentences."""

from __future__ import annotations


def count_of(number: float, noun: str, plural: str | None = None) -> str:
    """Return "1 entry", "2 entries" or "1,000 entries"; without `plural`, the noun takes an s."""
    many = plural or f"{noun}s"
    return f"{number:,.15g} {noun if number == 1 else many}"
