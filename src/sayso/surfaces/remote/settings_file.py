"""The file that names the surfaces beyond this process: surfaces.json in the data folder, its owner's alone.

- The order counts: the first surface is where notices go, unless the policy names another.
- A file that others can read, or that cannot be understood completely, is refused.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.team import Team
from sayso.core.text.patterns import lazy_pattern
from sayso.gate.decoding import convert_to, decode_json
from sayso.gate.deliveries.remote_surface import SETTINGS_FILE, RemoteSurface
from sayso.gate.deliveries.telling import is_told_notices
from sayso.gate.open import gate_data_folder
from sayso.gate.private_files import hold_file, read_private_file, write_private_file
from sayso.surfaces.remote.desktop import Desktop, DesktopSettings
from sayso.surfaces.remote.mail import Mail, MailSettings
from sayso.surfaces.remote.ntfy import Ntfy, NtfySettings
from sayso.surfaces.remote.obsidian import Obsidian, ObsidianSettings
from sayso.surfaces.remote.slack import Slack, SlackSettings
from sayso.surfaces.remote.telegram import Telegram, TelegramSettings
from sayso.surfaces.remote.webhook import Webhook, WebhookSettings

SurfaceSettings = (
    WebhookSettings
    | NtfySettings
    | TelegramSettings
    | SlackSettings
    | MailSettings
    | ObsidianSettings
    | DesktopSettings
)
KINDS: Mapping[str, type[SurfaceSettings]] = {
    "telegram": TelegramSettings,
    "slack": SlackSettings,
    "ntfy": NtfySettings,
    "mail": MailSettings,
    "webhook": WebhookSettings,
    "obsidian": ObsidianSettings,
    "desktop": DesktopSettings,
}
SECRET_KEYS = frozenset({"token", "secret", "signing_secret", "password", "topic"})
TAKEN_NAMES = frozenset({"notices", "trail", "page", "terminal"})
BROWSERS = "push-"
"""So begin the names of the browsers that are sent notifications."""
SHARED = "give each person a surface of their own, with a secret of its own"
OWN_BOT = "make another one: all its answers come to one surface"
PLAIN_NAME = lazy_pattern(r"[a-z][a-z0-9-]{0,30}")


class SurfacesRefused(SaysoError):
    """The file of the surfaces is broken or open to others, or what was to be added is not right."""

    code = "surfaces_file"


def surfaces_path() -> Path:
    return gate_data_folder() / SETTINGS_FILE


def load_surface_settings(path: Path | None = None) -> tuple[SurfaceSettings, ...]:
    """Return the surfaces in the file, in their order; none if there is no file."""
    path = path or surfaces_path()
    try:
        content = read_private_file(path, SurfacesRefused)
    except FileNotFoundError:
        return ()
    try:
        found = decode_json(content, tuple[SurfaceSettings, ...])
    except msgspec.MsgspecError as error:
        raise SurfacesRefused(f"{path} cannot be used: {error}", hint="fix it, or add them again") from error
    _check(found)
    return found


def add_surface(kind: str, values: Mapping[str, Any], path: Path | None = None) -> SurfaceSettings:
    """Add a surface at the end of the file. One of the same name is refused."""
    if kind not in KINDS:
        raise SurfacesRefused(f"{kind!r} is not a kind of surface", hint=f"use {', '.join(KINDS)}")
    try:
        added = convert_to({"kind": kind, **values}, KINDS[kind], strict=False)
    except msgspec.ValidationError as error:
        raise SurfacesRefused(f"{kind}: {error}") from error
    path = path or surfaces_path()
    with hold_file(path):
        every = (*load_surface_settings(path), added)
        _check(every)
        _write(path, every)
    return added


def remove_surface(name: str, path: Path | None = None) -> None:
    """Take a surface out of the file. What it shows stays there, and cannot be answered any more."""
    path = path or surfaces_path()
    with hold_file(path):
        before = load_surface_settings(path)
        left = tuple(one for one in before if one.name != name)
        if len(left) == len(before):
            raise SurfacesRefused(f"there is no surface {name!r}", hint="sayso surfaces list")
        _write(path, left)


def make_surfaces(settings: Sequence[SurfaceSettings]) -> tuple[RemoteSurface, ...]:
    """Return the surfaces that these settings describe."""
    return tuple(_make(one) for one in settings)


def notice_places(surfaces: Sequence[RemoteSurface]) -> tuple[str, ...]:
    """Return the surfaces that can be told notices, in their order."""
    return tuple(one.name for one in surfaces if is_told_notices(one))


def check_notices(named: str | None, surfaces: Sequence[str]) -> None:
    """Refuse a policy that sends notices to what is not a surface."""
    if named is not None and named not in surfaces:
        hint = f"use {', '.join(surfaces)}" if surfaces else "there is none yet: sayso surfaces add"
        raise SurfacesRefused(f"notices: {named!r} in the policy is not a surface", hint=hint)


def find_unknown_escalations(team: Team, surfaces: Sequence[str]) -> list[str]:
    """Return the surfaces that an escalation of the team names, and that are none."""
    named = {name for rule in team.approvals if rule.escalate for name in rule.escalate.surfaces}
    return sorted(named - set(surfaces))


def _make(one: SurfaceSettings) -> RemoteSurface:
    match one:
        case WebhookSettings():
            return Webhook(one, time.time)
        case SlackSettings():
            return Slack(one, time.time)
        case TelegramSettings():
            return Telegram(one)
        case NtfySettings():
            return Ntfy(one)
        case MailSettings():
            return Mail(one)
        case ObsidianSettings():
            return Obsidian(one, time.time)
        case DesktopSettings():
            return Desktop(one)


def _check(found: Sequence[SurfaceSettings]) -> None:
    names = [one.name for one in found]
    for name in names:
        if not PLAIN_NAME.fullmatch(name) or name in TAKEN_NAMES or name.startswith(BROWSERS):
            raise SurfacesRefused(
                f"{name!r} cannot be the name of a surface", hint="use small letters, digits and -"
            )
        if names.count(name) > 1:
            raise SurfacesRefused(f"there are two surfaces {name!r}", hint="choose another name")
    for one in found:
        _check_values(one)
        if one.detail not in ("full", "masked"):
            raise SurfacesRefused(f"{one.name}: detail is full or masked, not {one.detail!r}")

    _check_secrets([one for one in found if isinstance(one, WebhookSettings | ObsidianSettings)])
    _check_bots(found)


def _check_bots(found: Sequence[SurfaceSettings]) -> None:
    """Refuse two surfaces with one bot or app: the answers of both would come to one of them."""
    owners: dict[tuple[str, str], str] = {}
    for one in found:
        if isinstance(one, TelegramSettings):
            bot = ("bot", one.token)
        elif isinstance(one, SlackSettings):
            bot = ("app", one.signing_secret)
        else:
            continue
        first = owners.setdefault(bot, one.name)
        if first != one.name:
            raise SurfacesRefused(f"{one.name}: {first} has the same {bot[0]}", hint=OWN_BOT)


def _check_secrets(found: Sequence[WebhookSettings | ObsidianSettings]) -> None:
    """Refuse what is not a secret, and one with which somebody could answer as another person."""
    secrets = [one.secret for one in found]
    for one in found:
        _make(one)  # refuses a secret that is none
        if secrets.count(one.secret) > 1:
            raise SurfacesRefused(f"{one.name}: another surface has the same secret", hint=SHARED)
        if isinstance(one, ObsidianSettings) and len(one.approvers) > 1:
            why = "whoever has its secret could answer as any of its approvers"
            raise SurfacesRefused(f"{one.name}: {why}", hint=SHARED)


def _check_values(one: SurfaceSettings) -> None:
    """Refuse what is needed and empty, and text that no header can hold. Values are not shown."""
    for field in msgspec.structs.fields(one):
        value = getattr(one, field.name)
        if field.required and not value:
            raise SurfacesRefused(f"{one.name}: {field.name} is empty", hint="it is needed")
        if isinstance(value, str) and not (value.isprintable() and value == value.strip()):
            raise SurfacesRefused(
                f"{one.name}: {field.name} holds a line break, or white space at an end", hint="leave it out"
            )


def _write(path: Path, every: Sequence[SurfaceSettings]) -> None:
    write_private_file(path, msgspec.json.format(msgspec.json.encode(every), indent=2) + b"\n")
