"""The trusted channel: signed messages become requests that no other door can make.

- Nothing of a message is believed before its signature fits.
- Its id is stored first, and beside it which call it became. So a message counts at most once, whatever is
  sent again, by whom and to which service, also after the store was restored; and one that was cut off before
  it was decided is decided when it is sent again.
- What it asks for is decided like any other call, with the origin `trusted_channel`. A signature overrides
  nothing: what is blocked stays blocked.
- A request to change behaviour or memory carries its proposal, diff and all. Once it is allowed, the proposal
  is filed, and nothing more: an operator decides about it.
- Every refusal is recorded, up to a limit: strangers must not be able to fill the trail, nor to hide what was
  signed, which has a limit of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from sayso.core.audit import events
from sayso.core.digest import decode_canonical, parse_json, sha256
from sayso.core.errors import MalformedRequest, SaysoError
from sayso.core.model import Declaration, Operation, Origin
from sayso.core.proposals.diffs import DiffRefused, parse_diff
from sayso.core.proposals.proposal import ARGUMENT, ProposalRefused
from sayso.core.signed_messages import WINDOW, BadMessage, SignedMessage, check_message, is_signed
from sayso.core.words import visible
from sayso.gate.call_rows import Attempt, UnknownCall
from sayso.gate.deciding.request import make_call, read_request
from sayso.gate.decoding import convert_to
from sayso.gate.gate import Gate, time_trusted, writing
from sayso.gate.ledger.attempts import load_attempt_now, session_of_call
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call
from sayso.gate.proposals.file_proposal import ProposalBody, check_proposal, file_proposal, is_proposing
from sayso.gate.proposals.roots import load_roots
from sayso.gate.refusal_limit import RefusalLimit
from sayso.gate.rows.journal import record
from sayso.gate.sealed_values import (
    LockedKind,
    TamperedValue,
    lock_values,
    read_value_of_all_epochs,
    value_name,
    write_value,
)
from sayso.gate.sessions.reopen import open_session_at
from sayso.gate.trusted.settings_file import TrustedFile, load_trusted_file
from sayso.store.contract import StoreError

DOOR = "trusted"
OWNER = "trusted-channel"
REQUEST, RETRY = "sayso.request", "sayso.retry"
REMEMBERED = 2 * WINDOW
"""How long an id is remembered at least."""
MOST_OF_A_NAME = 200
"""How much of a folder's name and of a path is recorded that a refused proposal was for."""


LOCKED: tuple[LockedKind, ...] = ("trusted-id", "running-time", "proposal")
"""What a message changes values of, in the order in which everybody locks them: before any session."""


class MessageRefused(SaysoError):
    """The message does not count. `why` is a word for programs."""

    code = "message_refused"

    def __init__(self, why: str, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.why = why


class MessageUnreadable(MessageRefused):
    """The signature fits, and the body says nothing that we understand."""

    code = "message_unreadable"


class AlreadyReceived(MessageRefused):
    """A message with this id was received before: sent again it does nothing."""

    code = "already_received"


class IdReused(AlreadyReceived):
    """A message with this id was received before, and it said something else."""

    code = "id_reused"


class TrustedRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operation that the sender asks for."""

    operation: str
    args: dict[str, Any] = msgspec.field(default_factory=dict)
    confidence: float = 0.0


class TrustedRetry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request of before that the sender wants to try again, once somebody has answered."""

    call: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,80}$")]


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message's body, as Standard Webhooks recommends it. It claims nothing besides: no origin, no role."""

    type: str
    data: dict[str, Any]
    timestamp: str = ""


class _Received(msgspec.Struct, frozen=True):
    """An id that was received: when, with which body, and which call it became; "" if none yet."""

    at: float
    body: str
    call: str = ""


class RefusalLog:
    """Limits how many refusals are recorded in an hour, and counts those that are not.

    What was signed and what was not have a limit each.
    """

    def __init__(self) -> None:
        self._limits = {True: RefusalLimit(), False: RefusalLimit()}

    def take(self, now: float, *, signed: bool) -> int | None:
        """Return how many went unrecorded since the last; None if this one is not recorded either."""
        return self._limits[signed].take(now)

    def take_missed(self) -> int:
        """Return how many went unrecorded since the last that was, and count them no more."""
        return sum(limit.take_missed() for limit in self._limits.values())


def record_missed(gate: Gate, log: RefusalLog) -> None:
    """Record how many refusals were not: in a process that ends, nobody would know of them."""
    missed = log.take_missed()
    if missed:
        with writing(gate) as tx:
            record(tx, events.TrustedMessageRefused("limit", "", "", "", missed), stream=gate.stream)


def receive_message(
    gate: Gate, file: Path, message: SignedMessage, *, source: str, log: RefusalLog
) -> Attempt:
    """Check a message and decide what it asks for. A message that does not count is refused, and recorded."""
    signed, proposal = False, None
    try:
        trusted = load_trusted_file(file)
        signed = is_signed(message, trusted.every_secret())
        _check_sender(gate, trusted, message, source)
        asked = _parse(message.body)
        _take_id(gate, message)
        proposal = _read_proposal(asked)
        if proposal is not None:
            check_proposal(load_roots(), proposal, proposer="trusted_channel")
        return _decide_and_file(gate, message, asked)
    except StoreError:  # it is not refused: whoever sent it tries again
        raise
    except SaysoError as error:
        about = _describe_proposal(proposal, error) if isinstance(error, ProposalRefused) else {}
        _record_refusal(gate, message, source, error, log, about, signed=signed)
        raise


def _check_sender(gate: Gate, trusted: TrustedFile, message: SignedMessage, source: str) -> None:
    if not trusted.allows_source(source):
        raise MessageRefused("source", "messages are not taken from this address")
    with gate.store.read() as tx:
        now, sure = tx.now, time_trusted(gate, tx)
    if not sure:
        raise MessageRefused("clock", "our own clock cannot be trusted now", hint="sayso store clock")
    try:
        check_message(message, trusted.live_secrets(now), now)
    except BadMessage as error:
        raise MessageRefused(error.why, error.message, error.hint) from error


def _parse(body: bytes) -> TrustedRequest | TrustedRetry:
    kinds: dict[str, type[TrustedRequest | TrustedRetry]] = {
        REQUEST: TrustedRequest,
        RETRY: TrustedRetry,
    }
    try:
        told = convert_to(parse_json(body), _Envelope)
        if told.type not in kinds:
            raise MessageUnreadable("type", f"unknown type {told.type!r}", hint=f"use {' or '.join(kinds)}")
        return convert_to(told.data, kinds[told.type])
    except (msgspec.ValidationError, MalformedRequest) as error:
        raise MessageUnreadable("body", f"the body cannot be read: {error}") from error


def _take_id(gate: Gate, message: SignedMessage) -> None:
    """Store the id. One that became a call already, in any process, is refused."""
    name, body = _name_id(message), sha256(message.body)
    try:
        with writing(gate) as tx:
            lock_values(tx, "trusted-id")
            seen = read_value_of_all_epochs(gate, tx, name, _Received)
            if seen is None:
                write_value(gate, tx, name, _Received(tx.now, body), until=tx.now + REMEMBERED)
    except TamperedValue as error:
        raise MessageRefused("tampered", error.message, error.hint) from error
    if seen is not None and seen.body != body:
        raise IdReused(
            "replay", "a message with this id was received before, and then it said something else"
        )
    if seen is not None and seen.call:
        raise AlreadyReceived("replay", f"a message with this id was received before: {seen.call}")


def _decide_and_file(gate: Gate, message: SignedMessage, asked: TrustedRequest | TrustedRetry) -> Attempt:
    """Decide it, note which call it became, and file its proposal: all of it or nothing.

    So a message that was cut off at any point can be sent again. A proposal that cannot be filed is the end
    of its call, and that is kept.
    """
    refusal: SaysoError | None = None
    with gate.marked_store.batch():
        with gate.marked_store.write() as tx:
            for kind in LOCKED:
                lock_values(tx, kind)
        attempt = _decide(gate, message, asked)
        _note_call(gate, message, attempt)
        try:
            attempt = _file_if_allowed(gate, attempt)
        except StoreError:
            raise
        except SaysoError as error:
            refusal = error
    if refusal is not None:
        raise refusal
    return attempt


def _note_call(gate: Gate, message: SignedMessage, attempt: Attempt) -> None:
    """Store which call the message became, and record it, once."""
    request = attempt.record.request
    with writing(gate) as tx:
        lock_values(tx, "trusted-id")
        seen = read_value_of_all_epochs(gate, tx, _name_id(message), _Received)
        if seen is None or not seen.call:
            known = _Received(tx.now, sha256(message.body), attempt.call)
            write_value(gate, tx, _name_id(message), known, until=tx.now + REMEMBERED)
            received = events.TrustedMessageReceived(message.id, attempt.call)
            names = tuple(one.name for one in request.operations)
            record(tx, received, session=request.session, operations=names, stream=gate.stream)


def _name_id(message: SignedMessage) -> str:
    return value_name("trusted-id", sha256(message.id.encode()))


def _decide(gate: Gate, message: SignedMessage, asked: TrustedRequest | TrustedRetry) -> Attempt:
    place = value_name("session-of", OWNER)
    described = {"agent": "trusted channel"}
    session = open_session_at(gate, place, owner=OWNER, describe=lambda: described).session
    if isinstance(asked, TrustedRetry):
        if session_of_call(gate, asked.call) != session:
            raise UnknownCall.of(asked.call)
        return retry_call(gate, asked.call, holder=OWNER)
    request = read_request(
        make_call(asked.operation, asked.args, door=DOOR),
        Declaration((Operation(asked.operation),), "host"),
        gate.policy,
        agent="trusted channel",
        session=session,
        origin=Origin.TRUSTED_CHANNEL,
        confidence=asked.confidence,
    )
    return start_call(gate, request, holder=OWNER, host_id=message.id)


def _read_proposal(asked: TrustedRequest | TrustedRetry) -> ProposalBody | None:
    """Return the proposal that a request has to carry; prose alone is refused."""
    if isinstance(asked, TrustedRetry) or not is_proposing(asked.operation):
        return None
    takes = "args.proposal takes root, diff, undo and reason"
    if ARGUMENT not in asked.args:
        raise ProposalRefused(f"the request carries no proposal; {takes}", reason="no_proposal")
    try:
        return convert_to(asked.args[ARGUMENT], ProposalBody)
    except msgspec.ValidationError as error:
        raise ProposalRefused(
            f"the proposal cannot be read: {error}", hint=takes, reason="no_proposal"
        ) from error


def _file_if_allowed(gate: Gate, attempt: Attempt) -> Attempt:
    """File the proposal of a request that was allowed just now. That it was allowed approves nothing."""
    request = attempt.record.request
    operation = request.operations[0].name
    if not attempt.runs or not is_proposing(operation):
        return attempt
    body = convert_to(decode_canonical(request.call.arguments)[ARGUMENT], ProposalBody)
    try:
        filed = file_proposal(
            gate, load_roots(), body, by=request.agent, proposer="trusted_channel", operation=operation
        )
    except SaysoError as error:
        end_call(gate, attempt.call, attempt.fence, "failed", None, error.message)
        raise
    end_call(
        gate, attempt.call, attempt.fence, "succeeded", msgspec.json.encode({"proposal": filed.id}), None
    )
    return load_attempt_now(gate, attempt.call, request.session)


def _record_refusal(
    gate: Gate,
    message: SignedMessage,
    source: str,
    error: SaysoError,
    log: RefusalLog,
    about: dict[str, str],
    *,
    signed: bool,
) -> None:
    """Record the attempt. What a stranger sent is told shortened, and as data."""
    with gate.store.read() as tx:
        missed = log.take(tx.now, signed=signed)
    if missed is None:
        return
    why = error.why if isinstance(error, MessageRefused) else error.code
    refused = events.TrustedMessageRefused(
        why, source[:60], message.id[:60], sha256(message.body), missed or msgspec.UNSET, **about
    )
    with writing(gate) as tx:
        record(tx, refused, stream=gate.stream)


def _describe_proposal(proposal: ProposalBody | None, error: ProposalRefused) -> dict[str, str]:
    """Return why a proposal was not filed, and for which file it was, shortened."""
    if proposal is None:
        return {"reason": error.reason}
    try:
        path = parse_diff(proposal.diff).path
    except DiffRefused:
        path = ""
    return {
        "reason": error.reason,
        "root": visible(proposal.root[:MOST_OF_A_NAME]),
        "path": visible(path[:MOST_OF_A_NAME]),
    }
