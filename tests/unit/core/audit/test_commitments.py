"""Sensitive values: the entry holds a commitment, and erasing value and salt leaves the chain whole."""

from __future__ import annotations

from itertools import count

import msgspec
import pytest

from sayso.core.audit.commitments import (
    RevealState,
    SaltedValue,
    commitment_of,
    opens,
    reveal_values,
)
from sayso.core.audit.entry import AuditEntry, AuditError, genesis
from sayso.core.audit.verify import verify_rows
from tests.support.audit_trails import append_entry, commit_values

SECRETS = {"recipient": "ana@example.com", "body": {"text": "hello", "parts": [1, 2]}}


def salts() -> object:
    numbers = count(1)
    return lambda: next(numbers).to_bytes(32, "big")


def sealed() -> tuple[dict[str, str], dict[str, SaltedValue]]:
    committed, kept = commit_values(SECRETS, salts())  # type: ignore[arg-type]
    return committed, {each.name: each for each in kept}


def test_what_is_kept_opens_its_commitment_and_is_shown() -> None:
    committed, kept = sealed()
    assert {name: shown.value for name, shown in reveal_values(committed, kept).items()} == SECRETS


def test_an_erased_value_is_told_as_erased_and_the_chain_still_verifies() -> None:
    committed, kept = sealed()
    body, head = append_entry(genesis(), AuditEntry(1, 1.0, "DECIDED", commitments=committed))
    assert b"ana@example.com" not in body
    del kept["recipient"]
    shown = reveal_values(committed, kept)
    assert shown["recipient"].state is RevealState.ERASED
    assert shown["recipient"].value is None
    assert shown["body"].state is RevealState.KEPT
    assert verify_rows([(1, body, genesis().hash, head.hash)]).clean


@pytest.mark.parametrize(
    "change",
    [
        {"value": b'"eve@example.com"'},
        {"salt": bytes(32)},
        {"salt": b"short"},
        {"name": "body"},
        {"value": b"{"},
    ],
)
def test_a_value_that_was_put_in_its_place_is_told_as_forged(change: dict[str, object]) -> None:
    committed, kept = sealed()
    kept["recipient"] = msgspec.structs.replace(kept["recipient"], **change)
    shown = reveal_values(committed, kept)["recipient"]
    assert shown.state is RevealState.FORGED
    assert shown.value is None


def test_the_same_value_under_another_salt_or_name_has_another_commitment() -> None:
    hashes = {
        commitment_of(SaltedValue(name, value, salt * 32))
        for name in ("to", "cc")
        for value in (b'"a"', b'"b"')
        for salt in (b"1", b"2")
    }
    assert len(hashes) == 8


def test_a_short_salt_is_refused() -> None:
    with pytest.raises(AuditError, match="32 bytes"):
        commit_values({"one": 1}, lambda: bytes(16))


def test_a_value_that_is_not_canonical_cannot_be_slipped_under_its_commitment() -> None:
    broken = SaltedValue("to", b"{not json", bytes(32))
    assert opens(broken, commitment_of(broken))
    assert reveal_values({"to": commitment_of(broken)}, {"to": broken})["to"].state is RevealState.FORGED
