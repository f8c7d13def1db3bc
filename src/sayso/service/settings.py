"""The limits that whoever runs the service chose: by the flags of `sayso serve`, else in settings.json.

{"service": {"rate": 2000, "held": 33554432}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sayso.core.errors import MalformedRequest
from sayso.gate.decoding import convert_to
from sayso.gate.settings import read_settings
from sayso.service.http.state import ServiceSettings

SERVICE = "service"
LIMITS = ("rate", "burst", "waits", "body_rate", "body_burst", "held", "strangers")
"""The settings that can be chosen. Each is a number, and none is off."""


def load_service_settings(flags: Mapping[str, float | None]) -> ServiceSettings:
    """The settings with these flags; for a flag that was not given, what the settings file says."""
    in_file = read_settings().get(SERVICE, {})
    if not isinstance(in_file, dict):
        raise MalformedRequest(f"{SERVICE} in settings.json is not an object", hint="fix the file")
    unknown = sorted(set(in_file) - set(LIMITS))
    if unknown:
        raise MalformedRequest(
            f"{SERVICE}.{unknown[0]} in settings.json is not a setting", hint=f"use {', '.join(LIMITS)}"
        )
    given = {name: value for name, value in flags.items() if value is not None}
    return _parse_settings({**in_file, **given})


def _parse_settings(wanted: Mapping[str, Any]) -> ServiceSettings:
    for name, value in wanted.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value < 10**15:
            raise MalformedRequest(f"{name} takes a number from 1 on, not {value!r}")
    try:
        return convert_to(dict(wanted), ServiceSettings)
    except msgspec.ValidationError as error:
        raise MalformedRequest(f"the limits of the service: {error}", hint="write whole numbers") from error
