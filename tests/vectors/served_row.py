"""The functions of one row on a gate, for `sayso mcp serve`. ROW says which row."""

from __future__ import annotations

import os

from sayso import Sayso
from sayso.store.memory.store import MemoryStore
from sayso.surfaces.inbox import Inbox
from tests.support.door_rows import rows
from tests.support.doors_in_process import KEY, Functions

if "ROW" in os.environ:
    row = next(one for one in rows() if one.id == os.environ["ROW"])
    gate = Sayso.open(row.in_force(), MemoryStore(), surfaces=[Inbox()], key=KEY)
    functions = Functions(gate, [row])
