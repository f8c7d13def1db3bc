"""The gate: where the pure core meets store, clock, keys and policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from sayso.core.audit import events
from sayso.core.effects import ConsentCleared, Effect, QuestionClosed, QuestionOpened
from sayso.core.errors import SaysoError
from sayso.core.grants import GrantKey
from sayso.core.model import Request, Tier
from sayso.core.policy import Policy
from sayso.core.session import Scope, Session, apply_effects, only_count_uses
from sayso.core.team import IdentityProvider
from sayso.gate import words
from sayso.gate.rows.journal import record
from sayso.gate.rows.keys import SigningKey
from sayso.gate.rows.mark.watermark import EPOCH_ROW, Watermark
from sayso.gate.rows.row_seals import Sealer
from sayso.gate.rows.sealed_store import MarkedStore
from sayso.gate.rows.sessions import (
    NOTHING_SAID,
    Closing,
    LoadedSession,
    RowSelection,
    load_session,
    save_session,
)
from sayso.gate.rows.tampering import Tampered
from sayso.gate.telemetry import log_tampering
from sayso.store.contract import Reader, SessionRow, Store, Writer

NO_SCOPE = Scope()
EPOCH_READ = frozenset({EPOCH_ROW})
"""Every transaction that changes what is sealed reads it."""
CLOCK_SLACK = 60.0
"""How far the clock may fall behind the newest entry before time is no longer trusted."""


class UnknownSession(SaysoError):
    """There is no such session, or it belongs to somebody else: the two look the same."""

    code = "unknown_session"
    advice = "open one first; `sayso sessions` lists those that are open"


class TamperedSession(Tampered):
    """The session's row was tampered with. Nothing is decided in it again."""

    code = "tampered_session"


class PolicyMoved(SaysoError):
    """Another policy came into force while this was being decided. Nothing was done."""

    code = "policy_moved"
    advice = "try again: it is decided under the policy in force then"


class LivePolicy(Protocol):
    """The policy of a gate that another one may come into force for: its file changes, or its store's row."""

    path: Path | None
    rows_read: frozenset[str]
    """The values of the store that `check` reads."""

    def policy_now(self) -> Policy:
        """Return the policy in force, after one look at the file."""

    def has_moved(self, policy: Policy) -> bool:
        """Return whether another policy may be in force by now. Quick: it only looks at the file."""

    def look_again(self) -> None:
        """Read file and row at the next look, whatever their times say."""

    def is_own(self, policy: Policy) -> bool:
        """Return whether this is the very policy that the gate was opened with, and no file's."""

    def follow(self, gate: Gate) -> None:
        """Write to the store as this gate does from now on."""

    def check(self, tx: Reader, policy: Policy) -> None:
        """Refuse with PolicyMoved to go on under a policy that is not the one in force."""


class ProjectPolicies(Protocol):
    """What the files in workspaces make of a policy."""

    def policy_for(self, policy: Policy, workspace: str) -> Policy:
        """Return the policy for calls of this workspace: the same one, or one that is stricter."""

    def last_policy_for(self, policy: Policy, workspace: str) -> Policy:
        """The same as of the last look."""

    def take_alerts(self) -> list[tuple[str, str]]:
        """Return what is wrong with such files and was not recorded yet: a digest and the alert."""


class Gate(msgspec.Struct, frozen=True):
    """One gate on one store under one policy. Its use cases are the functions beside this file.

    The policy of one gate never changes. Where it is a file, `current_gate` gives the gate of now.
    """

    store: Store
    policy: Policy
    sealer: Sealer
    stream: str = "main"
    surfaces: tuple[str, ...] | None = None
    """The surfaces that notices can be sent to; None where nobody here knows them."""
    providers: Mapping[str, IdentityProvider] = {}
    """The providers that people sign in with, by the names that ids in the policy call them."""
    mark: Watermark | None = None
    key: SigningKey | None = None
    live: LivePolicy | None = None
    projects: ProjectPolicies | None = None
    base: Policy | None = None
    """The policy of the gate itself, if `policy` is that of one workspace."""

    def __post_init__(self) -> None:
        """No gate works on a store past its mark, whoever put the two together."""
        if not isinstance(self.store, MarkedStore):
            marked = MarkedStore(self.store, self.sealer.mark, self.sealer.doubts, stream=self.stream)
            msgspec.structs.force_setattr(self, "store", marked)

    @property
    def notices_to(self) -> str | None:
        """Return where notices go: where the policy says, else to the first surface; None if to none."""
        named = self.policy.settings.notices
        if self.surfaces is None or named in self.surfaces:
            return named
        return self.surfaces[0] if named is None and self.surfaces else None

    @property
    def marked_store(self) -> MarkedStore:
        """The store, which is always behind its mark."""
        return self.store  # type: ignore[return-value]

    def in_workspace(self, workspace: str, *, look: bool = True) -> Gate:
        """Return this gate for calls of a workspace: the same one unless the project there has its own file.

        Without a `look` it is the gate as of the last look at that file: only to read a call by, as it is
        read again by whoever decides it, if the file says something else by then (`gate_and_reading`).
        """
        if self.projects is None:
            return self
        base = self.base or self.policy
        policy = (self.projects.policy_for if look else self.projects.last_policy_for)(base, workspace)
        if policy is self.policy:
            return self
        return msgspec.structs.replace(self, policy=policy, base=None if policy is base else base)


T = TypeVar("T")
TRIES = 20
"""How often an act is begun again because the policy moved meanwhile."""


def current_gate(gate: Gate) -> Gate:
    """Return this gate under the policy in force now: the same one unless the policy moved."""
    if gate.live is None:
        return gate
    policy = gate.live.policy_now()
    return gate if policy is gate.policy else with_policy(gate, policy)


def with_policy(gate: Gate, policy: Policy) -> Gate:
    return msgspec.structs.replace(gate, policy=policy, base=None)


def act_under_current_policy(gate: Gate, act: Callable[[Gate], T]) -> T:
    """Do this, and do it again if the policy moves before it is done. Nothing was done by then."""
    for _ in range(TRIES):
        try:
            return act(gate)
        except PolicyMoved:
            gate = current_gate(gate)
    return act(gate)


def writing(gate: Gate, *, durable: bool = True) -> AbstractContextManager[Writer]:
    """One transaction of the gate. Once it is on the disk, the store raises the mark beside the key."""
    return gate.marked_store.write(durable=durable, goes_on=gate.stream)


def select_live_rows(*names: str, calls: bool = False) -> RowSelection:
    """All live grants and open questions of a session, for what may end any; and grants of these names.

    With `calls` the calls under way, which end with consent that is taken back by name.
    """
    return RowSelection(live=True, names=names, calls=calls)


def select_every_row(*, calls: bool = False) -> RowSelection:
    """All of a session, also what is over: to know what names mean in it, and to find every forged row."""
    return RowSelection(over=True, calls=calls)


def select_rows_for(request: Request, policy: Policy, scope: Scope) -> RowSelection:
    """The rows one decision can depend on: a handful of look-ups, whatever the session holds."""
    call = request.call
    keys: list[GrantKey] = [("call", request.digest), ("retry", request.digest), ("tool", call.tool)]
    if call.command_line is not None:
        keys.append(("command", call.command_line))
    if request.workflow is not None:
        keys.append(("workflow", request.workflow))
    if scope.run is not None:
        keys += [("run", scope.run.id), ("workflow", scope.run.workflow)]
    for operation in request.operations:
        entry = policy.entry(operation.name)
        keys += [("operation", operation.name), ("category", entry.category)]
    return RowSelection(tuple(dict.fromkeys(keys)), request.digest)


def load_open_session(gate: Gate, tx: Reader, session: str, wanted: RowSelection) -> LoadedSession:
    """The session with the rows wanted; an error if there is none that is open."""
    found = load_session(tx, gate.sealer, session, wanted)
    if found is None or not found.believed:
        refuse_tampered(gate, tx, session, found)
    if found is None or found.row.ended_at is not None:
        raise UnknownSession("there is no such session")
    return found


def find_session_row(gate: Gate, session: str) -> SessionRow:
    """Return the row of this session, open or ended. Does not check who it belongs to."""
    with gate.store.read() as tx:
        row = tx.session(session)
    if row is None:
        raise UnknownSession("there is no such session")
    return row


def refuse_tampered(gate: Gate, tx: Reader, session: str, found: LoadedSession | None) -> None:
    """Refuse a session whose row was changed, rolled back or deleted, now and for good.

    One of another epoch was not tampered with. One of an earlier epoch has ended.
    """
    if found is None and not gate.sealer.is_missing(session):
        return
    gate.marked_store.refuse_later_epoch(tx)
    if found is not None and found.void:
        raise UnknownSession(words.SESSION_VOID)
    finding = words.deleted_outside("the session row") if found is None else found.findings[0]
    gate.sealer.doubts.note(finding, session, burns=True)
    raise TamperedSession(finding, hint="open a new one, and look at the audit")


def time_trusted(gate: Gate, tx: Reader) -> bool:
    """Return whether the clock has not fallen behind what is recorded, in any stream."""
    newest = latest_time(gate, tx)
    return newest is None or tx.now >= newest - CLOCK_SLACK


def latest_time(gate: Gate, tx: Reader) -> float | None:
    """The highest time stored. On this machine there is one stream."""
    newest = tx.head(gate.stream)
    own = None if newest is None else newest.at
    others = None if gate.store.local else tx.newest_time()
    if own is None or others is None:
        return others if own is None else own
    return max(own, others)


def apply_and_save(
    gate: Gate,
    tx: Writer,
    found: LoadedSession,
    effects: tuple[Effect, ...],
    *,
    call: str | None = None,
    stands: tuple[str, str | None] | None = None,
    by: str = "",
) -> Session:
    """Write what these effects change, and how a call stands. Tampering that was noticed is recorded too.

    `by` names the person whose act this is: questions that end with it say so.
    """
    before = found.session
    after = apply_effects(before, effects) if effects else before
    closing = _closing(effects, by) if before.questions else NOTHING_SAID
    same_head = not effects or only_count_uses(effects)
    save_session(
        tx, gate.sealer, found, after, call=call, closing=closing, stands=stands, same_head=same_head
    )
    for finding in found.findings:
        record(tx, events.TamperingFound(finding=finding), session=before.id, stream=gate.stream)
        log_tampering(before.id, finding)
    return after


def _closing(effects: tuple[Effect, ...], by: str) -> Closing:
    """Return how the questions that end with these effects close: answered, or withdrawn by whom and why."""
    answers: dict[str, str] = {}
    opened = cleared = None
    for effect in effects:
        if isinstance(effect, QuestionClosed):
            answers[effect.question] = effect.answer
        elif isinstance(effect, ConsentCleared):
            cleared = effect.why if cleared is None else cleared
        elif isinstance(effect, QuestionOpened):
            opened = effect.question.id if opened is None else opened
    if cleared is not None:
        return Closing(answers, by or None, cleared)
    return Closing(answers, None, None if opened is None else words.replacement_note(opened))


def reviewed_names(gate: Gate, request: Request) -> list[str]:
    """Return whose reviews a decision needs: also those of the policy that a project's file is laid over."""
    names: list[str] = []
    for policy in (gate.policy,) if gate.base is None else (gate.policy, gate.base):
        for operation in request.operations:
            entry = policy.entry(operation.name)
            if entry.tier is Tier.AUTONOMOUS:
                names += (entry.domain, entry.name)
    return names


def reviews_for(gate: Gate, tx: Reader, request: Request) -> dict[str, float]:
    """When what the request is about was reviewed. Only autonomous permissions decay."""
    names = reviewed_names(gate, request)
    return load_reviews(gate, tx, names) if names else {}


def load_reviews(gate: Gate, tx: Reader, names: Sequence[str]) -> dict[str, float]:
    """When each of these names was reviewed or first seen; a row that is gone means never."""
    if not names:
        return {}
    rows = tx.reviews(names)
    marked = gate.sealer.review_marks(names)
    if gate.sealer.are_behind(marked, rows):
        rows = tx.reviews(names, fresh=True)  # another process may have written them just now
    return gate.sealer.review_times(marked, rows)


def is_stopped(gate: Gate, tx: Reader, session: str) -> bool:
    """Return whether this session or any above it is stopped; one that cannot be read counts as stopped."""
    found = load_session(tx, gate.sealer, session, RowSelection())
    if found is None or found.findings or found.session.stopped is not None:
        return True
    return found.row.parent is not None and is_stopped(gate, tx, found.row.parent)
