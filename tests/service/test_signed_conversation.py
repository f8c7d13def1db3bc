"""Where an answer has to be signed, no message in a conversation gives it, however it is put or brought."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.core.model import Assurance
from sayso.gate.people.passkeys import Level, require_passkeys
from sayso.gate.sessions.messages import record_message
from tests.service.test_conversation import CLAIMED, GRANT, call, say
from tests.service.test_passkeys import Desk, desk, service
from tests.support.service import PUSH, WRITE, Service

__all__ = ["desk", "service"]


def shown(service: Service, session: str, wanted: dict[str, Any], who: str = "host") -> Any:
    asked = call(service, session, wanted, who)
    told = service.told(who, "POST", f"/v1/questions/{asked['question']}/show")
    return asked | told


def is_open(service: Service, question: str) -> bool:
    return bool(service.told("operator", "GET", f"/v1/questions/{question}")["state"] == "open")


@pytest.mark.parametrize(
    "said", ["yes", "go ahead", "allow", "yes, just this once", "ok", "yes, git push origin"]
)
def test_no_yes_in_a_conversation_allows_high_risk_once_there_is_a_passkey(
    service: Service, desk: Desk, said: str
) -> None:
    session = service.opened()
    desk.register()
    asked = shown(service, session, PUSH)
    assert f"sayso approve {asked['question']}" in asked["text"]
    heard = say(service, session, said)
    assert heard["answered"] is None
    assert f"sayso approve {asked['question']}" in "\n".join(heard["announced"])
    heard = say(service, session, "yes")
    assert heard["answered"] is None
    assert is_open(service, asked["question"])
    assert service.told("operator", "GET", "/v1/grants") == []


def test_a_question_opened_before_the_passkey_is_not_answered_by_a_yes_after_it(
    service: Service, desk: Desk
) -> None:
    session = service.opened()
    asked = shown(service, session, PUSH)
    desk.register()
    assert say(service, session, "yes")["answered"] is None
    assert is_open(service, asked["question"])


def test_a_program_that_hears_in_its_own_process_is_no_way_around_the_passkey(
    service: Service, desk: Desk
) -> None:
    session = service.opened()
    desk.register()
    asked = shown(service, session, PUSH)
    assert record_message(service.gate, session, "yes", Assurance.ASSURED).answered is None
    assert is_open(service, asked["question"])


def test_a_claimed_yes_that_the_operator_confirms_does_not_sign_the_call_it_answers(
    service: Service, desk: Desk
) -> None:
    session = service.opened(CLAIMED)
    desk.register()
    asked = shown(service, session, PUSH, CLAIMED)
    claim = say(service, session, "yes", CLAIMED)["question"]
    body = {"answer": "once"}
    desk.answer(claim, body | {"proof": desk.proof(claim, body)})
    assert is_open(service, asked["question"])
    assert service.told("operator", "GET", "/v1/grants") == []


def test_a_no_and_what_need_not_be_signed_are_still_answered_in_the_conversation(
    service: Service, desk: Desk
) -> None:
    session = service.opened()
    desk.register()
    shown(service, session, PUSH)
    assert say(service, session, "no")["answered"] == "deny"
    assert "passkey" not in shown(service, session, WRITE)["text"]
    assert say(service, session, "yes")["answered"] is not None


def test_where_everything_has_to_be_signed_no_yes_in_a_conversation_counts(service: Service) -> None:
    session = service.opened()
    require_passkeys(service.gate, "all", by="ana")
    asked = shown(service, session, WRITE)
    assert say(service, session, "yes")["answered"] is None
    assert is_open(service, asked["question"])


def test_where_nothing_has_to_be_signed_a_yes_in_a_conversation_counts(service: Service, desk: Desk) -> None:
    session = service.opened()
    desk.register()
    require_passkeys(service.gate, "never", by="ana")
    shown(service, session, PUSH)
    assert say(service, session, "yes")["answered"] == "once"


def test_standing_consent_that_the_user_wrote_holds_for_high_risk_without_a_signature(
    service: Service, desk: Desk
) -> None:
    """It is no answer to a question but the user's own rule, which wins over risk until taken back."""
    session = service.opened()
    desk.register()
    heard = say(service, session, GRANT)
    assert "git push origin (high, used 0 times)" in "\n".join(heard["announced"])
    allowed = call(service, session, PUSH, "host")
    assert (allowed["status"], allowed["rule"]) == ("allowed", "allowlist")
    say(service, session, "Revoke consent for: git push origin")
    assert call(service, session, PUSH, "host")["status"] == "pending"


@pytest.mark.parametrize("level", ["high", "all"])
def test_standing_consent_holds_for_its_exact_command_only_whatever_has_to_be_signed(
    service: Service, level: Level
) -> None:
    session = service.opened()
    require_passkeys(service.gate, level, by="ana")
    say(service, session, GRANT)
    other = PUSH | {"args": {"line": "git push --force"}, "command": "git push --force"}
    assert call(service, session, other, "host")["status"] == "pending"
    assert call(service, session, PUSH, "host")["status"] == "allowed"


def test_standing_consent_that_was_only_claimed_is_confirmed_by_a_signature_at_high_risk(
    service: Service, desk: Desk
) -> None:
    session = service.opened(CLAIMED)
    desk.register()
    claim = say(service, session, GRANT, CLAIMED)["question"]
    body = {"answer": "once"}
    assert desk.answer(claim, body).status_code == 403
    assert call(service, session, PUSH, CLAIMED)["status"] == "pending"
    assert desk.answer(claim, body | {"proof": desk.proof(claim, body)}).status_code == 200
    assert call(service, session, PUSH, CLAIMED)["rule"] == "allowlist"
