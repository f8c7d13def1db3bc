"""A small policy, a few calls and the question what is decided: for the tests of deciding's details."""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.core.deciding.decide import decide
from sayso.core.decision import Decision
from sayso.core.grants import Grant, Pins
from sayso.core.model import Operation, Request, Risk
from sayso.core.policy import Domain, Policy, Settings, compile_policy
from sayso.core.session import Session, Task, View
from sayso.gate.deciding.request import make_call, make_request

NOW = 1_800_000_000.0
DAY = 86_400.0
POLICY = compile_policy(
    domains={"git": Domain(requires_approval=("commit",)), "files": Domain(("read",), ("edit",), ("wipe",))}
)
COMMIT = make_request(make_call("shell", {}, command="git commit"), [Operation("git.commit")])
READ = make_request(make_call("read"), [Operation("files.read")])
TASK = Task("task-1", "work", 1, 1)
SURE = compile_policy(
    settings=Settings(confidence_bypass=True), domains={"git": Domain(requires_approval=("commit",))}
)


def decided(policy: Policy, session: Session, request: Request = COMMIT, **view: Any) -> Decision:
    return decide(request, policy, View(session, **view), NOW)


def retry_of(request: Request, operation: str, policy: Policy = POLICY) -> Grant:
    """One more run of this call after it failed."""
    pins, digest = Pins(operations=(operation,)), request.digest
    given: dict[str, Any] = {"uses": 1, "given_at": NOW, "policy": policy.digest}
    return Grant("g9", "retry", digest, Risk.MODERATE, NOW + 60, "session", pins, **given)


def bare(operation: Operation) -> Operation:
    """The operation without the parts of the call it was told by."""
    return msgspec.structs.replace(operation, because=())
