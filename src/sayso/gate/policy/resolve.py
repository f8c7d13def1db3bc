"""Compare the policy in force with the policy file: which to decide under, and what to write."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sayso.core.digest import sha256
from sayso.core.errors import PolicyError
from sayso.core.policy import GUARDED_DOMAIN, STRICTNESS, Policy
from sayso.gate import words
from sayso.gate.policy.in_force import InForce
from sayso.policy.compare.strictest import block_domains, join_strictest, tightens_only
from sayso.policy.load import read_content, read_policy_bytes
from sayso.policy.problems import PolicyProblems

GUARDED = frozenset({GUARDED_DOMAIN})


class FileContent(msgspec.Struct, frozen=True):
    """One reading of the policy file: its digest, and its policy unless it was refused."""

    digest: str
    policy: Policy | None
    problem: str = ""


class Resolution(msgspec.Struct, frozen=True):
    """The result of comparing row and file: the policy to decide under, and what to write."""

    effective: Policy
    in_force: Policy | None = None
    """Put this in force; None to leave what is."""
    why: str = ""
    alert: str = ""


def read_file_content(path: Path, known: FileContent | None = None) -> FileContent:
    """Read the policy file. What cannot be read or is refused has no policy; what is known is not parsed."""
    try:
        content = read_policy_bytes(path)
    except PolicyProblems as error:
        missing = FileContent(sha256(str(error).encode()), None, str(error))
        return missing if known is None or known != missing else known
    if known is not None and known.digest == sha256(content):
        return known
    return parse_file_content(content, path)


def parse_file_content(content: bytes, path: Path) -> FileContent:
    """Return what these bytes of the policy file say."""
    digest = sha256(content)
    try:
        return FileContent(digest, read_content(content, path).policy)
    except PolicyProblems as error:
        return FileContent(digest, None, str(error))


def resolve(row: InForce | None, before: Policy | None, file: FileContent, now: float) -> Resolution:
    """Return what holds, given what is in force and what the file says.

    Without a row, `before` is the preset that the store decided under. It is None if there was none, or if
    what was in force was tampered with.
    """
    if row is not None and before is not None and row.pin and file.digest != row.pin:
        return Resolution(block_domains(before, GUARDED), alert=words.NOT_THE_PINNED_POLICY)
    if file.policy is None:
        if before is None:
            raise PolicyError(f"no policy is in force, and the file is refused: {file.problem}")
        return Resolution(before, alert=words.policy_file_refused(file.problem))
    if before is None or (row is None and before.digest == file.policy.digest):
        return Resolution(file.policy, file.policy, words.POLICY_OPENED)
    if before.digest == file.policy.digest:
        return Resolution(before)
    if file.policy.digest in before.joined:
        return Resolution(before, alert=words.POLICY_WAITS)
    if tightens_only(before, file.policy):
        return Resolution(file.policy, file.policy, words.POLICY_TIGHTENED)
    joined = join_strictest(before, file.policy, now)
    return Resolution(joined, joined, words.POLICY_JOINED, words.POLICY_WAITS)


def hold_to_row(row: InForce | None, before: Policy | None, own: Policy, now: float) -> Resolution:
    """Return what holds for a gate with a policy of its own and no file: nothing looser than in force."""
    if row is None or before is None:
        return Resolution(own)
    own = msgspec.structs.replace(own, tightened=before.tightened)
    if before.digest == own.digest or (not row.pin and tightens_only(before, own)):
        return Resolution(own)
    joined = join_strictest(before, own, now)
    mode = max(joined.mode, own.mode, key=STRICTNESS.__getitem__)
    held = msgspec.structs.replace(joined, mode=mode, tightened=before.tightened)
    return Resolution(block_domains(held, GUARDED) if row.pin else held, alert=words.POLICY_HELD)
