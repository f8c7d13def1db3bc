"""Settings of the person who runs the gate: the approval mode they chose, and a policy of their own.

Read in the gate's own process, never taken from a request, a hook or a client.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sayso.core.digest import parse_json
from sayso.core.errors import SaysoError, UnknownMode
from sayso.core.model import Mode
from sayso.core.policy import Policy, with_mode
from sayso.reading.paths import own_places

if TYPE_CHECKING:
    from sayso.policy import LoadedPolicy

VARIABLE = "SAYSO_APPROVAL_MODE"
KEY = "approval_mode"
POLICY_NAMES = ("policy.yaml", "policy.yml", "policy.json")
SERVICE_USER = "service_uid"


def in_chosen_mode(policy: Policy, flag: object = None) -> Policy:
    """The policy in the mode chosen: by the flag, the environment, the settings file, else its own.

    A policy with `lock_mode` keeps its own. A wrong value in any of the three places is an error, whether or
    not another one would have come first.
    """
    return with_mode(policy, *_mode_choices(flag))


def chosen_mode(flag: object = None) -> Mode | None:
    """Return the mode that the flag, the environment or the settings file chooses; None for the policy's."""
    return next((mode for mode in _mode_choices(flag) if mode is not None), None)


def read_mode(word: object, where: str) -> Mode:
    """The mode a word means, exactly; any other value is an error that names the valid ones."""
    try:
        return Mode(word)
    except ValueError:
        raise UnknownMode(
            f"{where}: {word!r} is not an approval mode", hint="use paranoid, balanced or trusting"
        ) from None


def load_own_policy() -> LoadedPolicy | None:
    """The policy file in the config folder; None if there is none. Of several the first counts."""
    import msgspec

    from sayso.policy import read_file
    from sayso.policy.problems import PolicyProblem

    found = find_own_policies()
    if not found:
        return None
    loaded = read_file(found[0])
    passed_over = tuple(
        PolicyProblem(0, 0, f"it is not used: {found[0].name} comes first", "keep one of them", str(other))
        for other in found[1:]
    )
    return msgspec.structs.replace(loaded, warnings=(*loaded.warnings, *passed_over))


def find_own_policies() -> list[Path]:
    """The policy files in the config folder; the first counts."""
    return [place for place in own_policy_places() if not _is_absent(place)]


def own_policy_places() -> tuple[Path, ...]:
    """Return the places of your own policy file; the first that exists counts."""
    return tuple(gate_config_folder() / name for name in POLICY_NAMES)


def gate_config_folder() -> Path:
    return own_places.config_folder_path()


def socket_path() -> Path | None:
    """Return the path of the service's socket; None where the system has no such sockets."""
    import socket

    if not hasattr(socket, "AF_UNIX"):
        return None
    return own_places.runtime_folder_path() / "sayso.sock"


def read_settings() -> dict[str, Any]:
    """Return the settings file's content; empty if there is no file."""
    path = gate_config_folder() / "settings.json"
    return {} if _is_absent(path) else _load_settings(path)


def service_user() -> int | None:
    """The user the service was installed under, if it is another one than runs its clients."""
    found = read_settings().get(SERVICE_USER)
    if found is not None and type(found) is not int:
        raise SaysoError(f"{SERVICE_USER} in settings.json is not a user's number", hint="fix the file")
    return found


def _mode_choices(flag: object) -> tuple[Mode | None, ...]:
    """The flag, then the environment, then the settings file. An empty variable counts as not set."""
    variable = os.environ.get(VARIABLE)
    return (
        None if flag is None else read_mode(flag, "approval"),
        read_mode(variable, VARIABLE) if variable else None,
        _mode_in_file(gate_config_folder() / "settings.json"),
    )


def _mode_in_file(path: Path) -> Mode | None:
    if _is_absent(path):
        return None
    settings = _load_settings(path)
    return read_mode(settings[KEY], f"{KEY} in {path.name}") if KEY in settings else None


def _load_settings(path: Path) -> dict[str, Any]:
    try:
        settings = parse_json(path.read_bytes())
    except (OSError, SaysoError) as error:
        raise SaysoError(f"cannot read {path}: {error}", hint="fix or remove the file") from error
    if not isinstance(settings, dict):
        raise SaysoError(f"{path} does not hold a JSON object", hint="fix or remove the file")
    return settings


def _is_absent(path: Path) -> bool:
    """Return whether nothing is there. A link to nowhere or a closed folder is broken, not absent."""
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False
