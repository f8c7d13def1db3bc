"""Units that start the service with the session: systemd on Linux, launchd on macOS."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from xml.sax.saxutils import escape

from sayso.core.errors import SaysoError
from sayso.service.serve import Address

SYSTEMD = """[Unit]
Description=Sayso: consent for what agents do

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=1
NoNewPrivileges=yes
UMask=0077

[Install]
WantedBy=default.target
"""
LAUNCHD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>sayso</string>
  <key>ProgramArguments</key><array>{arguments}</array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
</dict>
</plist>
"""


def write_unit(
    address: Address,
    store: str | None,
    policy: Path | None,
    preset: str | None,
    *,
    platform: str = sys.platform,
) -> list[str]:
    """Write the unit for this system; where it lies, and how to start it."""
    command = _command(address, store, policy, preset)
    if platform == "linux":
        path = Path.home() / ".config" / "systemd" / "user" / "sayso.service"
        _write(path, SYSTEMD.format(command=shlex.join(command).replace("%", "%%")))
        return [f"wrote {path}", "start it with: systemctl --user enable --now sayso"]
    if platform == "darwin":
        path = Path.home() / "Library" / "LaunchAgents" / "sayso.plist"
        listed = "".join(f"<string>{escape(word)}</string>" for word in command)
        _write(path, LAUNCHD.format(arguments=listed))
        return [f"wrote {path}", f"start it with: launchctl bootstrap gui/$UID {path}"]
    raise SaysoError(f"there are no units for {platform}", hint="start `sayso serve` yourself")


def _command(address: Address, store: str | None, policy: Path | None, preset: str | None) -> list[str]:
    command = [sys.executable, "-m", "sayso", "serve", "--host", address.host, "--port", str(address.port)]
    if address.origin is not None:
        command += ["--origin", address.origin]
    if address.path is not None:
        command += ["--socket", str(address.path)]
    if address.open_socket:
        command += ["--open-socket"]
    if store is not None:
        command += ["--store", store if "://" in store else str(Path(store).absolute())]
    if policy is not None:
        command += ["--policy", str(policy.absolute())]
    return command if preset is None else [*command, "--preset", preset]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
