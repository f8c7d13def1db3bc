"""Ctrl-C, planted where Python lets it in: as a function begins, and after one that is not in Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

STORE = ("/sayso/store/", "/contextlib.py")


class Once:
    """What a thing of the program does, interrupted the first time: before it, or once it was done."""

    def __init__(self, act: Callable[..., Any], *, before: bool = False) -> None:
        self._act, self._before = act, before
        self.armed = True

    def __call__(self, *given: Any, **named: Any) -> Any:
        armed, self.armed = self.armed, False
        if armed and self._before:
            raise KeyboardInterrupt
        result = self._act(*given, **named)
        if armed:
            raise KeyboardInterrupt
        return result


def interrupt_at(place: int, act: Callable[[], object], *, files: tuple[str, ...] = STORE) -> bool:
    """Do this, interrupted at the place of this number in these files; False if it has fewer."""
    left = place

    def look(frame: FrameType, event: str, arg: object) -> None:
        nonlocal left
        if event in ("call", "c_return") and any(file in frame.f_code.co_filename for file in files):
            left -= 1
            if not left:
                raise KeyboardInterrupt

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(before)
    return left <= 0
