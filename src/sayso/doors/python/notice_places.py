"""Where the notices of a program with its own gate go.

- On your own store the service tells notices, if it has surfaces: those of the program go there as well.
- Otherwise the program tells them itself, on the first of its surfaces where somebody reads them.
- A place that the policy names is one of the program's surfaces, or one of the service's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from sayso.core.errors import SaysoError
from sayso.gate.deliveries.remote_surface import SETTINGS_FILE
from sayso.gate.deliveries.telling import takes_notices
from sayso.gate.gate import Gate
from sayso.gate.open import OWN_STORE, find_reader_place, gate_data_folder
from sayso.gate.questions.surface import LocalSurface


def find_notice_places(gate: Gate, surfaces: Sequence[LocalSurface]) -> tuple[Gate, Sequence[LocalSurface]]:
    """Return the gate with the places that notices can go to, and the surfaces that are told them here.

    An error if the policy names a place that is none.
    """
    named = gate.policy.settings.notices
    here = [one for one in surfaces if takes_notices(one)]
    local, remote = tuple(one.name for one in here), _service_places()
    if named is not None and named not in {*remote, *(one.name for one in surfaces)}:
        from sayso.surfaces.remote.settings_file import check_notices

        check_notices(named, (*local, *remote))
    if remote and _is_own_store(gate):
        places = (*remote, *local)
    else:
        places = (*local, *remote) if local or named in remote else ()
    return msgspec.structs.replace(gate, surfaces=places), here


def _is_own_store(gate: Gate) -> bool:
    """Return whether this is the store that the service has as well, by whichever name it was opened."""
    place, own = find_reader_place(gate.store), gate_data_folder(make=False) / OWN_STORE
    return place is not None and bool(place.path) and Path(place.path).resolve() == own.resolve()


def _service_places() -> tuple[str, ...]:
    """The surfaces of the service that are told notices; none if their file is not there, or refused."""
    if not (gate_data_folder(make=False) / SETTINGS_FILE).exists():
        return ()
    from sayso.surfaces.remote.settings_file import load_surface_settings, make_surfaces, notice_places

    try:
        return notice_places(make_surfaces(load_surface_settings()))
    except SaysoError:
        return ()
