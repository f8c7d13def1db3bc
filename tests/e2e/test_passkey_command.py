"""`sayso passkey` as a real process, beside a gate that knows a passkey."""

from __future__ import annotations

from sayso.gate.gate import Gate
from sayso.gate.people.passkeys import list_passkeys, load_required_level
from tests.e2e.operator_place import Place
from tests.support.answers import digest_of
from tests.support.authenticator import Authenticator
from tests.support.signing import added, asked


def test_passkeys_are_listed_and_removed_at_a_terminal(place: Place, gate: Gate) -> None:
    passkey = added(gate, Authenticator())
    told = place.sayso("passkey", "list").stdout
    assert f"{passkey.id}  ana: desk, for localhost" in told
    assert "high risk" in told
    assert place.sayso("passkey", "remove", passkey.id).returncode == 0
    assert list_passkeys(gate) == []
    assert place.sayso("passkey", "remove", passkey.id).returncode == 1


def test_what_has_to_be_signed_is_chosen_at_a_terminal(place: Place, gate: Gate) -> None:
    assert place.told("passkey", "require", "all") == {"require": "all"}
    assert load_required_level(gate) == "all"
    assert place.sayso("passkey", "require", "sometimes").returncode == 2
    assert place.told("passkey", "remove", "--all") == {"removed": 0}


def test_a_person_at_the_terminal_allows_without_a_passkey_and_the_trail_says_so(
    place: Place, gate: Gate
) -> None:
    added(gate, Authenticator())
    question = asked(gate)
    seen = ("--seen", digest_of(gate, question))
    assert place.sayso("approve", question, *seen, "--preset", "chat").returncode == 0
    with gate.store.read() as tx:
        (row,) = [row for row in tx.entries("main") if row.event == "ANSWERED"]
    assert b'"signed":false' in (row.body or b"")
    assert place.sayso("audit", "verify").returncode == 0
