"""The words of Sayso as immutable types: what can be asked, by whom, how risky."""

from __future__ import annotations

import enum
import math
import unicodedata
from functools import lru_cache
from typing import Literal, Self

import msgspec

from sayso.core.errors import MalformedRequest
from sayso.core.text.patterns import lazy_pattern

NAME = lazy_pattern(r"\w[\w-]*(?:\.\w[\w-]*)+")


class Risk(enum.IntEnum):
    """The harm an operation can do. Ordered, so that the strictest of several is their maximum."""

    LOW = 0
    MODERATE = 1
    HIGH = 2

    @property
    def word(self) -> str:
        return _WORDS[self]

    @classmethod
    def parse(cls, word: object) -> Self:
        """The risk a word means, aliases included; any other word is an error, never a guess."""
        known = _RISK_WORDS.get(word) if isinstance(word, str) else None
        if known is None:
            raise MalformedRequest(f"unknown risk {word!r}", hint="use low, moderate or high")
        return cls(known)


_WORDS = ("low", "moderate", "high")
_RISK_WORDS = {
    alias: rank
    for rank, aliases in enumerate(
        (
            ("low", "safe", "SAFE", "tier 1"),
            ("moderate", "medium", "MEDIUM", "tier 2"),
            ("high", "risky", "HIGH", "tier 3"),
        )
    )
    for alias in aliases
}


class Tier(enum.Enum):
    """The list of the policy that an operation is in. An operation in none of them is unlisted (None)."""

    AUTONOMOUS = "autonomous"
    REQUIRES_APPROVAL = "requires_approval"
    BLOCKED = "blocked"


class Mode(enum.Enum):
    PARANOID = "paranoid"
    BALANCED = "balanced"
    TRUSTING = "trusting"


class Origin(enum.Enum):
    """The way a request arrived. Set by the door, never read from the request's content."""

    USER = "user"
    AGENT = "agent"
    SUBAGENT = "subagent"
    SCHEDULE = "schedule"
    TRUSTED_CHANNEL = "trusted_channel"


class Assurance(enum.IntEnum):
    """How sure we are that a person typed a message: claimed by a hook, or assured by the host itself."""

    CLAIMED = 0
    ASSURED = 1


class Verdict(enum.Enum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool call as a host makes it. `arguments` are its canonical bytes: what runs is decoded from them.

    `command` is the argument that the tool's declaration says it runs as a command line; `beside` names the
    arguments that could change what that command does. `places` are the real paths its arguments lead to.
    `leads_to` is where the name of the workspace leads, if a link has taken its place since it was named, and
    `missing` which of folder and workspace are not there.
    `target` is what it is declared to work on, in one text; `targets` are these and all other paths in its
    arguments, as plans write them.
    `state` is the state of the world that the tool reports, if it does. `title` is how the
    policy tells calls of the tool in a line: people see it, and nothing else looks at it, no digest and no
    check.
    """

    tool: str
    arguments: bytes = b"{}"
    folder: str = ""
    workspace: str = ""
    command: str | None = None
    target: str | None = None
    door: str = "python"
    server: str = ""
    schema: str = ""
    state: str | None = None
    beside: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    title: str | None = None
    leads_to: str = ""
    missing: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    @property
    def works_on(self) -> tuple[str, ...]:
        """Every target that a plan has to name; empty only if the call names none."""
        return self.targets or (() if self.target is None else (self.target,))

    @property
    def command_line(self) -> str | None:
        """The command without outer white space, if that is all the call runs, in its workspace."""
        if self.command is None or self.beside or not self._in_workspace:
            return None
        return trim_command(self.command)

    @property
    def _in_workspace(self) -> bool:
        folder, workspace = self.folder, self.workspace.rstrip("/")
        if ".." in folder.split("/"):
            return False
        return not folder or not workspace or folder == workspace or folder.startswith(f"{workspace}/")


def trim_command(command: str) -> str:
    """A command line without the white space around it that a shell passes over."""
    return command.strip(" \t\n")


class Piece(msgspec.Struct, frozen=True):
    """A part of a call, word for word: in its argument of this name, or in its command line (None)."""

    argument: str | None
    text: str


class Operation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing a call does, with what is known of it before the policy is asked.

    `risk`, `weight` and `reason` are declarations (decorator, tool entry); `reading` is what the shell, path
    or other reading of the actual call found, and can only raise. `barred` says why a resolver refuses it
    outright. `declared`: a decorator in this process, a tool entry or a reading says what it is. What the
    policy does not name either is granted for its exact arguments only. `because` are the parts of the call
    that whoever read it went by: people are shown them, and nothing else looks at them, no digest and no
    check.
    """

    name: str
    risk: Risk | None = None
    weight: Risk | None = None
    reading: Risk | None = None
    content: str | None = None
    barred: str | None = None
    reason: str | None = None
    because: tuple[Piece, ...] = ()
    declared: bool = False
    found: str | None = None
    """What the reading found, as a sentence for people, where the name of the operation does not say it."""
    own_row: bool = False
    """The reading comes from the operation's own row alone: nothing in the call made it riskier."""

    def read_as(self, risk: Risk | None) -> Operation:
        """The same, read at another risk for another reason than its own row."""
        return msgspec.structs.replace(self, reading=risk, own_row=False)


class Declaration(msgspec.Struct, frozen=True, omit_defaults=True):
    """Operations declared for a call besides those the policy reads in it, and by whom.

    `code`: a decorator in this process, believed as it is. `host`: a program over a connection, whose
    declarations only raise. `agent`: the same, and the tool itself stays an operation. `name`: these
    operations count only where no tool entry fits.
    """

    operations: tuple[Operation, ...] = ()
    by: Literal["code", "host", "agent", "name"] = "agent"
    parameters: str = ""
    """A JSON Schema of the function's parameters, as text; empty if its program gives none."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One immutable question: who asks, which call, which operations, how confident.

    `workflow` names the workflow that the call starts, if it starts one. `declared` is what its operations
    were read with, so that they can be read again; None if they were not read from the call.
    """

    call: Call
    operations: tuple[Operation, ...]
    digest: str
    arguments_digest: str
    agent: str = "agent"
    session: str = "session"
    origin: Origin = Origin.AGENT
    confidence: float = 0.0
    workflow: str | None = None
    declared: Declaration | None = None
    read_by: str = ""
    """The digest of the policy that read the call, where that policy may change before it is decided."""

    def __post_init__(self) -> None:
        if not self.operations:
            raise MalformedRequest("a request names at least one operation")
        for operation in self.operations:
            check_name(operation.name)
        check_confidence(self.confidence)

    @property
    def operation_names(self) -> tuple[str, ...]:
        """The names of its operations, each once."""
        if len(self.operations) == 1:
            return (self.operations[0].name,)
        return tuple(dict.fromkeys(operation.name for operation in self.operations))


@lru_cache(maxsize=256, typed=True)  # typed: what only equals a name is not one
def check_name(name: str) -> None:
    """Refuse an operation name that is not `domain.action` in one clear spelling."""
    if not NAME.fullmatch(name) or not unicodedata.is_normalized("NFC", name):
        raise MalformedRequest(
            f"{name!r} is not an operation", hint="write domain.action, for example email.send"
        )


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is not a number from 0 to 1."""
    if type(confidence) is float and 0.0 <= confidence <= 1.0:
        return
    if not isinstance(confidence, (int, float)) or isinstance(confidence, bool) or math.isnan(confidence):
        raise MalformedRequest(f"confidence {confidence!r} is not a number", hint="give a number from 0 to 1")
    if not 0 <= confidence <= 1:
        raise MalformedRequest(f"confidence {confidence!r} is out of range", hint="give a number from 0 to 1")
