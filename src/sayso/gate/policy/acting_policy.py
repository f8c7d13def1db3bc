"""The policy that a gate acts under: its own, the file that it watches, or what is in force on its store."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.model import Mode
from sayso.core.policy import STRICTNESS, Policy, with_mode
from sayso.gate.gate import Gate, with_policy
from sayso.gate.policy.in_force import ROW, InForce, read_base, read_policy, read_preset, read_row
from sayso.gate.sealed_values import TamperedValue, find_value, lock_values
from sayso.gate.settings import find_own_policies, own_policy_places
from sayso.store.contract import Reader, Writer


class PolicySource(msgspec.Struct, frozen=True):
    """The file that a policy was loaded from, and the mode that was chosen over its own.

    A user who has no file yet has no path: the first file that comes to one of the `awaited` places counts.
    """

    path: Path | None
    mode: Mode | None = None
    awaited: tuple[Path, ...] = ()


def own_policy_source(mode: Mode | None) -> PolicySource:
    """Your own policy file; while you have none, the places where it may come."""
    files = find_own_policies()
    return PolicySource(files[0] if files else None, mode, own_policy_places())


def watch_policy(gate: Gate, source: PolicySource | None) -> Gate:
    """The same gate, under what is in force on its store and what this file says from now on.

    Without a file it is held to what is in force, and to its own policy.
    """
    from sayso.gate.policy.live import LivePolicyFile

    source = source or PolicySource(None)
    path = None if source.path is None else source.path.absolute()
    live = LivePolicyFile(gate, path, source.mode, source.awaited)
    return with_policy(msgspec.structs.replace(gate, live=live), live.policy_now())


def as_if_watching(gate: Gate, source: PolicySource | None) -> Gate:
    """The same gate, under the policy that one which watches this file would decide under. Writes nothing.

    Without a file, as one that is held to what is in force. If nobody can tell what that is, all is blocked.
    """
    from sayso.gate.policy.resolve import hold_to_row, read_file_content, resolve
    from sayso.policy.compare.strictest import block_all

    if gate.key is None:
        return gate
    with gate.store.read() as tx:
        now = tx.now
        try:
            row = read_row(gate, tx)
            before = read_preset(gate, tx) if row is None else read_policy(gate, tx, row)
        except TamperedValue:
            return with_policy(gate, block_all(gate.policy))
    if source is None or source.path is None:
        return with_policy(gate, hold_to_row(row, before, gate.policy, now).effective)
    found = resolve(row, before, read_file_content(source.path), now).effective
    tightened = found.tightened if before is None else before.tightened
    return with_policy(gate, with_mode(msgspec.structs.replace(found, tightened=tightened), source.mode))


def hold_to_policy_in_force(gate: Gate) -> Gate:
    """The same gate, under the policy in force if its own is a file that waits to be applied."""
    with gate.store.read() as tx:
        if tx.meta(ROW) is None:
            return gate
        try:
            row = read_row(gate, tx)
            if row is None:
                return gate
            found = read_policy(gate, tx, row)
        except TamperedValue:
            from sayso.policy.compare.strictest import ask_always

            return with_policy(gate, ask_always(gate.policy))
    if gate.policy.digest not in found.joined:
        return with_policy(gate, msgspec.structs.replace(gate.policy, tightened=found.tightened))
    strict = max(found.mode, gate.policy.mode, key=lambda mode: STRICTNESS[mode])
    return with_policy(gate, msgspec.structs.replace(found, mode=strict))


def with_policy_in_force(gate: Gate) -> Gate:
    """Return the gate under the policy in force, to show why it asks; as it is if nobody can tell."""
    try:
        found = load_policy_in_force(gate)
    except TamperedValue:
        return gate
    return gate if found is None else with_policy(gate, found)


def load_policy_in_force(gate: Gate) -> Policy | None:
    """Return the policy in force; without a file, what the store last decided under; None if it never did.

    TamperedValue if nobody can tell.
    """
    with gate.store.read() as tx:
        row = read_row(gate, tx)
        return read_preset(gate, tx) if row is None else read_policy(gate, tx, row)


def load_last_whole_policy(gate: Gate) -> Policy:
    """Return what the store decided under before anything waited; the gate's own policy if nobody knows."""
    if gate.key is None:
        return gate.policy
    with gate.store.read() as tx:
        try:
            row = read_row(gate, tx)
            found = read_preset(gate, tx) if row is None else read_policy(gate, tx, row)
            return read_base(gate, tx, row, found) or gate.policy
        except TamperedValue:
            return gate.policy


def policy_in_force(gate: Gate) -> str | None:
    """The digest of the policy in force: the sealed row's, else of the gate that was last opened to decide.

    None if the row was tampered with.
    """
    with gate.store.read() as tx:
        return _read_policy_in_force(gate, tx)


def _read_policy_in_force(gate: Gate, tx: Reader) -> str | None:
    if tx.meta(ROW) is None or gate.key is None:
        return tx.meta("policy")
    row = find_value(gate, tx, ROW, InForce)
    return None if row is None else row.digest


class OtherPolicy(SaysoError):
    """This depends on the policy in force, and the gate was opened under another one."""

    code = "other_policy"


def check_in_force(gate: Gate, tx: Writer) -> None:
    """Refuse an act that depends on the policy in force, if this gate has another one.

    Until the act is done no other one comes into force.
    """
    lock_values(tx, "in-force")
    if _read_policy_in_force(gate, tx) != gate.policy.digest:
        raise OtherPolicy(
            "another policy is in force on this store",
            hint="name the one in force with --policy or --preset, or start the service with this one",
        )
