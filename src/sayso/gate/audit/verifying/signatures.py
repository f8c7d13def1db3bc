"""The signatures of passkeys in the trail, checked again from its entries alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import msgspec

from sayso.core.audit import events
from sayso.core.audit.anchors import AuditFinding, FindingKind
from sayso.gate.rows.webauthn import (
    BadProof,
    Proof,
    act_challenge,
    answer_challenge,
    check_passkey_proof,
    decode_base64url,
    public_key_hash,
)

PASSKEY_EVENTS = frozenset(
    {
        events.Answered.event,
        events.ProposalChanged.event,
        events.DomainReviewed.event,
        events.PolicyChanged.event,
        events.PasskeyAdded.event,
        events.PasskeyRemoved.event,
    }
)
SIGNED_STATES = {"approved": "approve", "undoing": "undo"}
"""The state of a proposal whose entry a signature covers, and the act that was signed."""


class SignedAnswer(msgspec.Struct, frozen=True):
    """The details of an entry ANSWERED that a signature covers."""

    question: str
    digest: str
    answer: str
    by: str
    proof: Proof
    edited: str = ""

    @property
    def challenge(self) -> bytes:
        return answer_challenge(self.question, self.digest, self.answer, self.edited)


class SignedProposal(msgspec.Struct, frozen=True):
    """The details of an entry PROPOSAL that a signature covers."""

    proposal: str
    state: str
    digest: str
    by: str
    proof: Proof

    @property
    def challenge(self) -> bytes:
        return act_challenge(SIGNED_STATES.get(self.state, ""), self.proposal, self.digest)


class SignedReview(msgspec.Struct, frozen=True):
    """The details of an entry REVIEWED that a signature covers."""

    domain: str
    digest: str
    by: str
    proof: Proof

    @property
    def challenge(self) -> bytes:
        return act_challenge("keep", self.domain, self.digest)


class SignedPolicy(msgspec.Struct, frozen=True):
    """The details of an entry POLICY that a signature covers."""

    shown: str
    by: str
    proof: Proof

    @property
    def challenge(self) -> bytes:
        return act_challenge("apply", "policy", self.shown)


SignedEntry = SignedAnswer | SignedProposal | SignedReview | SignedPolicy


_decode_added = msgspec.json.Decoder(events.PasskeyAdded).decode
_decode_removed = msgspec.json.Decoder(events.PasskeyRemoved).decode
_decode_signed: dict[str, Callable[[msgspec.Raw], SignedEntry]] = {
    events.Answered.event: msgspec.json.Decoder(SignedAnswer).decode,
    events.ProposalChanged.event: msgspec.json.Decoder(SignedProposal).decode,
    events.DomainReviewed.event: msgspec.json.Decoder(SignedReview).decode,
    events.PolicyChanged.event: msgspec.json.Decoder(SignedPolicy).decode,
}
PasskeyName = tuple[str, str]
"""A credential and the name of its public key."""


class Proofs:
    """The passkeys in the entries of all streams, and the signatures that do not hold.

    A passkey may be added in one stream and used in another, so a signature by an unknown passkey is checked
    at the end.
    """

    def __init__(self) -> None:
        self.findings: dict[str, list[AuditFinding]] = defaultdict(list)
        self._keys: dict[PasskeyName, tuple[events.PasskeyAdded, str, int]] = {}
        self._removed: set[tuple[str, PasskeyName]] = set()
        self._waiting: list[tuple[str, int, SignedEntry]] = []

    def take_entry(self, stream: str, seq: int, event: str, details: msgspec.Raw) -> None:
        """Take in one entry. Entries of a stream come in their order."""
        try:
            if event == events.PasskeyAdded.event:
                self._add(stream, seq, _decode_added(details))
            elif event == events.PasskeyRemoved.event:
                one = _decode_removed(details)
                self._removed.add((stream, (one.credential or "", one.key or "")))
            elif b'"proof"' in bytes(details):
                self._take_signed(stream, seq, _decode_signed[event](details))
        except msgspec.MsgspecError:
            self._add_finding(stream, seq, f"what entry {seq} says of a passkey cannot be read")

    def end(self, *, pruned: bool) -> None:
        """Check what is left once all entries were read. `pruned`: missing public keys are not a fault."""
        for stream, seq, signed in self._waiting:
            added = self._keys.get(_passkey_name(signed))
            if added is not None:
                self._check(stream, seq, signed, added)
            elif not pruned:
                self._add_finding(stream, seq, f"entry {seq} is signed by a passkey that was never added")
        self._waiting.clear()

    def _add(self, stream: str, seq: int, added: events.PasskeyAdded) -> None:
        try:
            fits = public_key_hash(decode_base64url(added.public_key)) == added.key
        except BadProof:
            fits = False
        if not fits:
            self._add_finding(stream, seq, f"the public key in entry {seq} is not the one it names")
            return
        self._keys[added.credential, added.key] = (added, stream, seq)
        self._removed.discard((stream, (added.credential, added.key)))

    def _take_signed(self, stream: str, seq: int, signed: SignedEntry) -> None:
        if (stream, _passkey_name(signed)) in self._removed:
            self._add_finding(stream, seq, f"entry {seq} is signed by a passkey that was removed before")
            return
        added = self._keys.get(_passkey_name(signed))
        if added is None:
            self._waiting.append((stream, seq, signed))
        else:
            self._check(stream, seq, signed, added)

    def _check(
        self, stream: str, seq: int, signed: SignedEntry, known: tuple[events.PasskeyAdded, str, int]
    ) -> None:
        added, where, since = known
        if added.user != signed.by:
            self._add_finding(stream, seq, f"entry {seq} is signed by a passkey of another")
        if where == stream and since > seq:
            self._add_finding(stream, seq, f"entry {seq} is signed by a passkey that was added only later")
        try:
            key = decode_base64url(added.public_key)
            check_passkey_proof(signed.proof, key, added.place, signed.challenge)
        except BadProof as error:
            self._add_finding(stream, seq, f"the signature in entry {seq} does not hold: {error.message}")

    def _add_finding(self, stream: str, seq: int, text: str) -> None:
        self.findings[stream].append(AuditFinding(FindingKind.PROOF, seq, text))


def _passkey_name(signed: SignedEntry) -> PasskeyName:
    return (signed.proof.credential, signed.proof.key)
