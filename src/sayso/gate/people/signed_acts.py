"""Acts of an operator besides answers that a passkey signs: on proposals, reviews, and applying a policy.

- They count as high risk. Where such an answer needs a signature on the page, so do they.
- What is signed names the act, its subject, and the digest of what was shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import msgspec

from sayso.core.audit import events
from sayso.core.errors import NotSeen
from sayso.core.model import Risk
from sayso.gate.gate import Gate, writing
from sayso.gate.people.passkeys import ProofNeeded, Signing, needs_proof, proof_to_details, use_passkey
from sayso.gate.rows.journal import record
from sayso.gate.rows.webauthn import BadProof, act_challenge
from sayso.store.contract import Reader, Writer

Act = Literal["approve", "undo", "keep", "apply"]


class Acknowledgement(msgspec.Struct, frozen=True):
    """What somebody was shown who acts, by its digest, and what proves who it is.

    Without `signing` the act comes from a terminal, which asks for no passkey.
    """

    seen: str | None = None
    signing: Signing | None = None


AT_A_TERMINAL = Acknowledgement()


def must_sign_acts(gate: Gate, tx: Reader) -> bool:
    """Return whether such an act on the page needs a passkey's signature."""
    return needs_proof(gate, tx, Risk.HIGH)


def sign_act(
    gate: Gate, tx: Writer, act: Act, subject: str, digest: str, *, by: str, shown: Acknowledgement
) -> dict[str, Any]:
    """Return what the entry of this act says of its signature.

    Refused to whoever was shown something else, and on the page without a signature where one is needed.
    """
    signing = shown.signing
    if shown.seen != digest and (signing is not None or shown.seen is not None):
        raise NotSeen("it is not as you were shown it", hint="look at it again")
    if signing is not None and signing.proof is not None:
        challenge = act_challenge(act, subject, digest)
        passkey = use_passkey(
            gate, tx, signing.proof, challenge, signing.origins, by=by, identity=signing.identity
        )
        return {"digest": digest, "proof": proof_to_details(signing.proof, passkey)}
    if not must_sign_acts(gate, tx):
        return {}
    if signing is not None:
        raise ProofNeeded("this has to be signed with a passkey", hint="sign it, or do it at a terminal")
    return {"signed": False}


@contextmanager
def recording_bad_proofs(gate: Gate, act: Act, subject: str, by: str) -> Iterator[None]:
    """Record a signature that does not hold, and refuse what came with it."""
    try:
        yield
    except BadProof as error:
        with writing(gate) as tx:
            record(tx, events.ProofRefused(subject, act, by, why=error.message), stream=gate.stream)
        raise
