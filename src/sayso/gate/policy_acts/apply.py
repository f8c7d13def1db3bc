"""Putting a policy file in force: the operator's act, after seeing what it loosens and tightens.

Two policies are told apart from the file: what gates decide under now, which may be the strictest of several
versions, and the last whole policy before anything waited.

- What applying loosens is found against the first: that is what ends.
- What the file tightens is found against the second: it counts already, so the first does not show it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from sayso.core.audit import events
from sayso.core.digest import sha256
from sayso.core.errors import SaysoError
from sayso.core.policy import Policy
from sayso.gate import words
from sayso.gate.audit.operator_transaction import operator_act
from sayso.gate.gate import Gate, writing
from sayso.gate.people.signed_acts import Acknowledgement, must_sign_acts, recording_bad_proofs, sign_act
from sayso.gate.people.tokens import Token
from sayso.gate.policy.in_force import (
    InForce,
    find_pinned,
    put_in_force,
    read_base,
    read_policy,
    read_preset,
    read_row,
)
from sayso.gate.policy.resolve import FileContent, parse_file_content, read_file_content, resolve
from sayso.gate.rows.journal import record
from sayso.gate.sealed_values import TamperedValue, lock_values
from sayso.gate.telemetry import log_policy_alert
from sayso.policy.compare.diff import DecisionChange, Difference, compare_policies
from sayso.policy.compare.other_change import OtherChange
from sayso.policy.compare.strictest import block_all
from sayso.store.contract import Reader, Writer

SUBJECT = "policy"
FileState = Literal["in_force", "waits", "tightens", "refused", "not_the_locked_one", "new"]


class CannotApply(SaysoError):
    """The file cannot be put in force as it is. Nothing changed."""

    code = "cannot_apply"


class PolicyStatus(msgspec.Struct, frozen=True):
    """How the policy file stands to the policy in force.

    `loosened` and `beyond` tell what applying the file loosens, `tightened` and the rest of `beyond` what it
    tightened already. `content` is the digest of the file's bytes, `shown` that of file and policy in force
    together; whoever applies it names what they saw. `must_sign`: on the page a passkey has to sign that.
    """

    file: str
    state: FileState
    content: str
    digest: str | None
    since: float | None = None
    by: str = ""
    locked: bool = False
    problem: str = ""
    loosened: tuple[DecisionChange, ...] = ()
    tightened: tuple[DecisionChange, ...] = ()
    beyond: tuple[OtherChange, ...] = ()
    shown: str = ""
    must_sign: bool = False

    @property
    def difference(self) -> Difference:
        return Difference(self.loosened, self.tightened, self.beyond)


def load_policy_status(gate: Gate, file: Path) -> PolicyStatus:
    """Compare the file with what is in force, in every situation that can matter."""
    content = read_file_content(file)
    with gate.store.read() as tx:
        row, before, lost = _load_in_force(gate, tx, content)
        pinned, now = find_pinned(gate, tx), tx.now
        must_sign, base = must_sign_acts(gate, tx), read_base(gate, tx, row, before)
    state = _state_of(pinned, row, before, content, now)
    found = PolicyStatus(
        str(file),
        state,
        content.digest,
        None if row is None else row.digest,
        None if row is None else row.at,
        "" if row is None else row.by,
        bool(pinned),
        content.problem or lost,
        shown=_digest_shown(row, before, content),
        must_sign=must_sign,
    )
    if state not in ("waits", "tightens") or before is None or content.policy is None:
        return found
    changes = compare_file(resolve(row, before, content, now).effective, base, content.policy)
    return msgspec.structs.replace(
        found, loosened=changes.loosened, tightened=changes.tightened, beyond=changes.beyond
    )


def compare_file(strict: Policy, base: Policy | None, file: Policy) -> Difference:
    """Return all that applying the file loosens against what gates decide under, and all it tightened before.

    `base` is the last whole policy in force; None if nobody knows it.
    """
    ends = Difference() if strict.digest == file.digest else compare_policies(strict, file)
    since = Difference() if base is None else compare_policies(base, file)
    ending = [one for one in ends.beyond if one.loosens]
    told = {one.what for one in ending}
    looser = [one for one in since.beyond if one.loosens and one.what not in told]
    stricter = (one for one in since.beyond if not one.loosens)
    return Difference(ends.loosened, since.tightened, (*looser, *ending, *stricter))


def find_file_state(gate: Gate, file: Path) -> FileState:
    """Return how the file stands, without comparing all decisions."""
    content = read_file_content(file)
    with gate.store.read() as tx:
        row, before, _ = _load_in_force(gate, tx, content)
        return _state_of(find_pinned(gate, tx), row, before, content, tx.now)


def apply_policy(
    gate: Gate, file: Path, *, by: str, content: str, shown: Acknowledgement | None = None
) -> PolicyStatus:
    """Put the file in force that the operator saw: its content has this digest.

    `shown` says what else they saw, and signs it; None where another act of theirs was signed for this one.
    """
    found = read_file_content(file)
    if found.digest != content:
        raise CannotApply("the policy file was changed meanwhile", hint="look at it again, then apply it")
    if found.policy is None:
        raise CannotApply(f"the policy file is refused: {found.problem}", hint="fix the file")
    with recording_bad_proofs(gate, "apply", SUBJECT, by), operator_act(gate) as tx:
        lock_values(tx, "in-force")
        row, before, _ = _load_in_force(gate, tx, found)
        _check_unlocked(find_pinned(gate, tx), found)
        signature = {} if shown is None else _sign(gate, tx, _digest_shown(row, before, found), by, shown)
        put_content_in_force(gate, tx, found, row, by=by, signature=signature)
    if gate.live is not None:
        gate.live.look_again()
    return load_policy_status(gate, file)


def _sign(gate: Gate, tx: Writer, digest: str, by: str, shown: Acknowledgement) -> dict[str, Any]:
    signature = sign_act(gate, tx, "apply", SUBJECT, digest, by=by, shown=shown)
    return {"shown" if name == "digest" else name: said for name, said in signature.items()}


def _digest_shown(row: InForce | None, before: Policy | None, content: FileContent) -> str:
    """Return the digest of what is applied over what. Once it is applied, it is another one.

    The same file is another policy where another version of Sayso has other presets.
    """
    over = None if before is None else (before.digest, 0.0, "")
    over = over if row is None else (row.digest, row.at, row.pin)
    means = None if content.policy is None else content.policy.digest
    return sha256(msgspec.json.encode((content.digest, means, over)))


def put_content_in_force(
    gate: Gate,
    tx: Writer,
    found: FileContent,
    row: InForce | None,
    *,
    by: str,
    signature: dict[str, Any],
) -> None:
    """Put what this file says in force, and record whose act it was."""
    if found.policy is None:
        raise CannotApply(f"the policy file is refused: {found.problem}", hint="fix the file")
    known = None if row is None else msgspec.structs.replace(row, told=())  # what comes next is news again
    put_in_force(gate, tx, found.policy, known, by=by)
    changed = events.PolicyChanged(found.policy.digest, why=words.POLICY_APPLIED, by=by, **signature)
    record(tx, changed, stream=gate.stream)


def digest_change(file: Path, old: str, new: str) -> str:
    """Return the digest of what a change of the policy file means: from which policy to which."""
    both = (parse_file_content(text.encode(), file).policy for text in (old, new))
    return sha256(msgspec.json.encode([None if one is None else one.digest for one in both]))


def put_proposed_in_force(gate: Gate, tx: Writer, file: Path, *, old: str, new: str, by: str) -> None:
    """Put a file in force that a proposal has changed from one text to the other, if the old one was.

    That was approved. A gate may have seen the change already, and joined the two. If anything else waits, in
    the file or in a preset of it, this waits as well.
    """
    found, was = (parse_file_content(text.encode(), file) for text in (new, old))
    lock_values(tx, "in-force")
    row, before, _ = _load_in_force(gate, tx, found)
    if row is None or before is None or found.policy is None or was.policy is None or find_pinned(gate, tx):
        return
    base = read_base(gate, tx, row, before)
    seen = base is not None and set(before.joined) == {base.digest, found.policy.digest}
    if was.policy.digest == (base.digest if base is not None and seen else before.digest):
        put_content_in_force(gate, tx, found, row, by=by, signature={})


def alert_refused_act(gate: Gate, act: str, token: Token) -> None:
    """Record and tell that somebody tried to change the policy who may not."""
    notice = f"{act} was refused: token {token.id}, role {token.role}"
    with writing(gate) as tx:
        record(tx, events.PolicyAlerted(gate.policy.digest, notice), agent=token.name, stream=gate.stream)
    log_policy_alert(notice)


def _check_unlocked(pinned: str, found: FileContent) -> None:
    if pinned and pinned != found.digest:
        raise CannotApply("the policy is locked, and this is not the file that was locked", hint=UNLOCK)


UNLOCK = "`sayso policy unlock` first"


def _load_in_force(gate: Gate, tx: Reader, file: FileContent) -> tuple[InForce | None, Policy | None, str]:
    """The row and its policy; without a row, the preset that the store decided under, if it did.

    If nobody can tell, gates may deny everything: the file is held against that, and the third part says so.
    """
    try:
        row = read_row(gate, tx)
        return row, read_preset(gate, tx) if row is None else read_policy(gate, tx, row), ""
    except TamperedValue:
        return None, None if file.policy is None else block_all(file.policy), words.POLICY_LOST


def _state_of(
    pinned: str, row: InForce | None, before: Policy | None, content: FileContent, now: float
) -> FileState:
    """Return what a gate that watches the file makes of it."""
    if pinned and pinned != content.digest:
        return "not_the_locked_one"
    if content.policy is None:
        return "refused"
    same = before is not None and before.digest == content.policy.digest
    if before is None or (row is None and same):
        return "new"
    if same:
        return "in_force"
    strict = resolve(row, before, content, now).effective
    return "tightens" if strict.digest == content.policy.digest else "waits"
