"""What several agents are answered in the same words and the same form."""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.wire import HookAnswer, HookOutput

NOT_HEARD = "Sayso did not get this message: its service could not be reached."
NOT_DECIDED = "Sayso could not decide, so nothing runs."


def to_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def refuse_by_exit(answer: HookAnswer) -> HookOutput:
    """Exit code 2, with the reason on stderr: the agent blocks the call and shows it."""
    return HookOutput(2, err=f"{answer.reason or NOT_DECIDED}\n")


def show_announced(answer: HookAnswer) -> HookOutput:
    """Show the user what their message did."""
    lines = "\n".join(answer.announced)
    return HookOutput(out=to_json({"systemMessage": lines}) if lines else "")


def render_permission(answer: HookAnswer) -> HookOutput:
    """Answer the host's own prompt, or leave it to the user who sees it."""
    if answer.verdict == "none":
        return HookOutput()
    decision = {"behavior": "allow"} if answer.verdict == "allow" else _deny(answer.reason)
    return HookOutput(out=to_json(_permission(decision)))


def _deny(reason: str) -> dict[str, str]:
    return {"behavior": "deny", "message": reason or NOT_DECIDED}


def _permission(decision: dict[str, str]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}


MESSAGE_LOST = to_json({"systemMessage": NOT_HEARD})
FAILED_PERMISSION = to_json(_permission(_deny(NOT_DECIDED)))
