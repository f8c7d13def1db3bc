"""Records of servers behind the gateway: the file with its token, and commands as they were before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from sayso.core.errors import SaysoError
from sayso.doors.agents.mcp_servers.gating import GatedServer
from sayso.doors.agents.settings.installed import FOLDER, write_private
from sayso.gate.decoding import decode_json
from sayso.gate.settings import gate_config_folder

NAME = "mcp"
WAIT = 300


def gateway_file() -> Path:
    """Return the file that gateways read: where the service listens, and their token."""
    return gate_config_folder() / FOLDER / NAME


def load_gated() -> tuple[GatedServer, ...]:
    """Return the servers that were put behind the gateway."""
    try:
        return decode_json(_record().read_bytes(), tuple[GatedServer, ...])
    except FileNotFoundError:
        return ()
    except (OSError, msgspec.MsgspecError) as error:
        raise SaysoError(f"cannot read {_record()}: {error}", hint="remove it; commands are then restored "
                         "from the gateway's command line") from error  # fmt: skip


def save_gated(servers: Sequence[GatedServer]) -> None:
    """Keep these; of a server that is named twice, as it was the last time it had no gateway."""
    latest = {(one.path, one.where): one for one in servers}
    _record().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(_record(), msgspec.json.format(msgspec.json.encode(list(latest.values()))))


def forget_gated() -> None:
    _record().unlink(missing_ok=True)


def _record() -> Path:
    return gate_config_folder() / FOLDER / f"{NAME}.servers"
