"""Claude Code's settings, as far as they decide whether its hooks run.

Claude Code drops a settings file as a whole, without a word, if one known key in it has a value of the wrong
kind, and all hooks of an event if one entry there is malformed (seen with 2.1.325). And what a project sets
can disarm the hooks of the home folder.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from sayso.gate.decoding import convert_to

Positive = Annotated[float, msgspec.Meta(gt=0)]
PositiveWhole = Annotated[int, msgspec.Meta(gt=0)]
Flag = bool | UnsetType
Text = str | UnsetType
Texts = list[str] | UnsetType

DISARMING = re.compile(
    r"LD_\w+|DYLD_\w+|GLIBC_TUNABLES|BASH_ENV|ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|SHELL|IFS|PS4|ZDOTDIR"
    r"|PYTHON\w*|NODE_OPTIONS|CLAUDE_CONFIG_DIR|CLAUDE_CODE_SHELL\w*"
)
"""Variables by which a loader, a shell or Claude Code itself runs something else than the hook."""


class _Hook(msgspec.Struct):
    type: str
    command: Text = UNSET
    timeout: Positive | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.type == "command" and self.command is UNSET:
            raise ValueError("the hook has no command")


class _HookEntry(msgspec.Struct):
    hooks: list[_Hook]
    matcher: Text = UNSET


class _Permissions(msgspec.Struct, rename="camel"):
    allow: Texts = UNSET
    ask: Texts = UNSET
    deny: Texts = UNSET
    additional_directories: Texts = UNSET
    default_mode: Text = UNSET


class _Settings(msgspec.Struct, rename="camel"):
    hooks: dict[str, list[_HookEntry]] | UnsetType = UNSET
    disable_all_hooks: Flag = UNSET
    env: dict[str, Any] | UnsetType = UNSET
    permissions: _Permissions | UnsetType = UNSET
    cleanup_period_days: PositiveWhole | UnsetType = UNSET
    model: Text = UNSET
    api_key_helper: Text = UNSET
    include_co_authored_by: Flag = UNSET
    enable_all_project_mcp_servers: Flag = UNSET
    enabled_mcpjson_servers: Texts = UNSET
    disabled_mcpjson_servers: Texts = UNSET


def find_claude_fault(value: Any) -> str:
    """Return what in the settings makes Claude Code drop them; nothing if it takes them."""
    try:
        convert_to(value, _Settings)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def list_disarming_variables(value: dict[str, Any]) -> list[str]:
    """Return the variables that these settings set and that can disarm a hook."""
    env = value.get("env")
    return sorted(name for name in env if DISARMING.fullmatch(name)) if isinstance(env, dict) else []
