"""A difference between two policies besides decisions."""

from __future__ import annotations

import msgspec

from sayso.core.words import visible


class OtherChange(msgspec.Struct, frozen=True):
    """A part of the policy that changed. Whatever cannot be proven stricter counts as loosened."""

    what: str
    before: str
    after: str
    loosens: bool

    def __str__(self) -> str:
        return visible(f"{self.what}: {self.before} -> {self.after}", fold=None)
