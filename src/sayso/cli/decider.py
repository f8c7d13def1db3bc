"""Where `sayso check` decides: on the operator's store, in a session of it or in none, or without a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from sayso.cli.policy_choice import print_note

if TYPE_CHECKING:
    from sayso.core.decision import Decision
    from sayso.core.model import Request
    from sayso.core.policy import Policy
    from sayso.gate.deciding.check_alone import CheckResult
    from sayso.gate.gate import Gate
    from sayso.gate.policy.acting_policy import PolicySource

STATELESS = (
    "decided without a store: domains count as just reviewed unless the file gives a date,"
    " and notices as deliverable"
)
FILE_WAITS = (
    "your policy file is not in force as it is: decided as a gate that watches it does (sayso policy status)"
)
OTHER_POLICY = "decided here; the gate on this store was last opened with another policy"


class CheckTarget(NamedTuple):
    """The operation, or the call of a tool, to decide."""

    confidence: float
    operation: str | None = None
    tool: str = ""
    args: dict[str, Any] | None = None


class Decider:
    """One place to decide a check in; without a gate, there is no store."""

    def __init__(
        self, policy: Policy, gate: Gate | None, where: str | None, session: str | None, *, waits: bool
    ) -> None:
        self._policy = policy
        self._gate = gate
        self._where = where
        self._session = session
        self._remarks: tuple[str, ...] = (STATELESS,) if gate is None else ()
        if gate is not None and waits:
            self._remarks = (FILE_WAITS,)
        elif gate is not None:
            from sayso.gate.policy.acting_policy import policy_in_force

            self._remarks = () if policy_in_force(gate) in (None, policy.digest) else (OTHER_POLICY,)

    def decide(self, wish: CheckTarget) -> tuple[Request, CheckResult]:
        """The request for what is asked about, as a door would make it, and what would be decided."""
        import time

        request = self._request(wish)
        if self._gate is None:
            from sayso.gate.deciding.check_alone import check_alone

            return request, check_alone(request, self._policy, time.time())
        from sayso.gate.deciding.check import check_on_store

        return request, check_on_store(self._gate, request, in_session=self._session is not None)

    def alert(self, request: Request, decision: Decision) -> bool:
        """Record what is blocked, and alert the operator; False where there is no store to record it in."""
        if self._gate is None or decision.verdict.value != "deny":
            return False
        from sayso.gate.deciding.check import alert_blocked
        from sayso.gate.open import open_to_act

        acting = open_to_act(self._policy, self._where)
        try:
            alert_blocked(acting, request, decision)
        finally:
            acting.store.close()
        return True

    def tell(self, request: Request, decision: Decision) -> dict[str, Any]:
        from sayso.gate.as_json import decision_to_json, question_to_json

        return decision_to_json(decision) | question_to_json(decision, request, self._policy)

    def remark(self) -> None:
        for text in self._remarks:
            print_note(text)

    def _request(self, wish: CheckTarget) -> Request:
        from sayso.core.model import Declaration, Operation
        from sayso.gate.deciding.request import make_call, make_request, read_request

        who, workspace = self._who()
        if wish.operation is not None:
            called = make_call(f"{wish.operation} (check)", folder=workspace, workspace=workspace)
            return make_request(called, [Operation(wish.operation)], confidence=wish.confidence, **who)
        if self._session is None:
            return request_in_folder(wish.tool, wish.args or {}, wish.confidence, self._policy, **who)
        call = make_call(wish.tool, wish.args, folder=workspace, workspace=workspace)
        return read_request(call, Declaration(), self._policy, confidence=wish.confidence, **who)

    def _who(self) -> tuple[dict[str, Any], str]:
        """Return the agent and user of the session, if there is one, and its workspace."""
        if self._gate is None or self._session is None:
            return {"session": ""} if self._gate is not None else {}, ""
        from sayso.gate.deciding.request import requester_of_session
        from sayso.gate.gate import load_open_session
        from sayso.gate.rows.sessions import RowSelection

        with self._gate.store.read() as tx:
            row = load_open_session(self._gate, tx, self._session, RowSelection()).row
        return requester_of_session(row), row.workspace


@contextmanager
def open_decider(
    policy: Policy,
    preset: str | None,
    store: str | None,
    session: str | None,
    own: Callable[[], PolicySource | None],
    *,
    draft: bool,
) -> Iterator[Decider]:
    """Open the place to decide in. `own` finds your own policy file, if there is one and no other was named.

    With `draft` a file was named that is to be tried as it is; otherwise nothing is looser than in force.
    """
    from sayso.core.errors import MalformedRequest

    if preset is not None and session is not None:
        raise MalformedRequest(
            "a session is in a store, and --preset decides without one", hint="leave one out"
        )
    gate = None if preset is not None else _open_existing_store(policy, store, session)
    if gate is not None and not draft:
        from sayso.gate.policy.acting_policy import as_if_watching

        gate = as_if_watching(gate, own())
    if gate is not None:
        gate = _with_surfaces(gate)
    try:
        named = None if gate is None or session is None else _expand_session_id(gate, session)
        yield Decider(policy if gate is None else gate.policy, gate, store, named, waits=_waits(gate, policy))
    finally:
        if gate is not None:
            gate.store.close()


def _expand_session_id(gate: Gate, typed: str) -> str:
    from sayso.cli.short_ids import expand_session_id

    return expand_session_id(gate, typed)


def _waits(gate: Gate | None, policy: Policy) -> bool:
    """Return whether a gate on this store decides under something else than this policy."""
    return gate is not None and gate.policy.digest != policy.digest


def request_in_folder(
    tool: str, args: Mapping[str, Any], confidence: float, policy: Policy, **who: Any
) -> Request:
    """The request for a call of this tool, as a door would make it for a program in the working folder."""
    from sayso.core.model import Declaration
    from sayso.gate.deciding.request import make_call, read_request
    from sayso.reading.paths.ground import folder_here
    from sayso.reading.paths.places import find_workspace

    here = folder_here()
    call = make_call(tool, args, folder=here, workspace=find_workspace(here))
    return read_request(call, Declaration(), policy, confidence=confidence, **who)


def _with_surfaces(gate: Gate) -> Gate:
    """The gate as the service has it: without a place in the policy, notices go to the first surface."""
    if gate.policy.settings.notices is not None:
        return gate
    import msgspec

    return msgspec.structs.replace(gate, surfaces=_find_notice_places())


def _find_notice_places() -> tuple[str, ...]:
    """The surfaces that can be told notices. Without their file, nothing that speaks to them is loaded."""
    from sayso.gate.deliveries.remote_surface import SETTINGS_FILE
    from sayso.gate.open import gate_data_folder

    try:
        (gate_data_folder() / SETTINGS_FILE).lstat()
    except FileNotFoundError:
        return ()
    from sayso.surfaces.remote.settings_file import load_surface_settings, make_surfaces, notice_places

    return notice_places(make_surfaces(load_surface_settings()))


def _open_existing_store(policy: Policy, store: str | None, session: str | None) -> Gate | None:
    """The operator's store, opened to look; None if there is none yet. One that is unused is begun."""
    from sayso.gate.open import NoStore, UnusedStore, open_gate, open_to_look

    try:
        return open_to_look(store, policy=policy)
    except UnusedStore:
        open_gate(policy, store, decides=False).store.close()
        return open_to_look(store, policy=policy)
    except NoStore as error:
        if session is not None:
            raise
        if store is not None:
            print_note(error.message)
        return None
