"""The conversation over HTTP: hosts tell what the user said, and how sure that is decides what it may do."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.store.contract import MetaRow
from tests.support.service import PUSH, READ, WRITE, Service

pytestmark = pytest.mark.each_store

GRANT = "Grant standing consent for: git push origin"
CLAIMED = "claimed_host"


def say(service: Service, session: str, text: str, who: str = "host") -> Any:
    return service.told(who, "POST", f"/v1/sessions/{session}/messages", {"text": text})


def call(service: Service, session: str, wanted: dict[str, Any], who: str = "host") -> Any:
    return service.told(who, "POST", "/v1/calls", {**wanted, "session": session})


def test_an_assured_message_grants_what_it_says(service: Service) -> None:
    session = service.opened()
    heard = say(service, session, GRANT)
    assert (heard["kind"], heard["assured"]) == ("grant", True)
    told = call(service, session, PUSH)
    assert (told["status"], told["announce"]) == ("allowed", "Using session allowlist: git push origin")


def test_a_message_is_claimed_unless_whoever_made_the_token_said_otherwise(service: Service) -> None:
    session = service.opened(CLAIMED)
    assert not say(service, session, GRANT, CLAIMED)["assured"]
    assert call(service, session, PUSH, CLAIMED)["status"] == "pending"
    assert service.told("operator", "GET", "/v1/grants") == []


def test_a_claimed_message_counts_once_the_operator_says_that_it_was_said(service: Service) -> None:
    session = service.opened(CLAIMED)
    told = say(service, session, GRANT, CLAIMED)
    asked = service.told("operator", "GET", f"/v1/questions/{told['question']}")
    assert (asked["tool"], asked["rule"], asked["risk"]) == ("message", "claimed", "high")
    assert "claimed" in service.told("operator", "GET", f"/v1/questions/{told['question']}/why")["why"]
    shown = service.post(CLAIMED, f"/v1/questions/{told['question']}/show")
    assert shown.status_code == 404, "it is not asked where it was said"
    answer = f"/v1/questions/{told['question']}/answer"
    assert service.post(CLAIMED, answer, {"answer": "once"}).status_code == 403
    assert service.post("operator", answer, {"answer": "edit", "edited": {"text": "x"}}).status_code == 409
    service.told("operator", "POST", answer, {"answer": "once", "digest": asked["digest"]})
    assert call(service, session, PUSH, CLAIMED)["announce"] == "Using session allowlist: git push origin"


def test_a_token_edited_by_hand_to_be_assured_lets_nobody_in(service: Service) -> None:
    session = service.opened(CLAIMED)
    with service.gate.store.write() as tx:
        (place,) = [row for row in tx.every(MetaRow) if service.tokens[CLAIMED].id in row.value]
        assert '"assured":false' in place.value
        tx.set_meta(place.name, place.value.replace('"assured":false', '"assured":true'))
    refused = service.post(CLAIMED, f"/v1/sessions/{session}/messages", {"text": GRANT})
    assert refused.status_code == 401
    assert service.told("operator", "GET", "/v1/grants") == []


def test_an_assured_token_cannot_be_made_over_http(service: Service) -> None:
    body = {"role": "host", "name": "me", "assured": True}
    assert service.post("operator", "/v1/tokens", body).status_code == 422
    made = service.told("operator", "POST", "/v1/tokens", {"role": "host", "name": "me"})
    assert made["token"]["assured"] is False


def test_a_claimed_stop_stops_at_once(service: Service) -> None:
    session = service.opened(CLAIMED)
    assert say(service, session, "wait, stop", CLAIMED)["kind"] == "stop"
    assert call(service, session, READ, CLAIMED)["rule"] == "stopped"


def test_the_operators_stop_is_lifted_by_no_claimed_message(service: Service) -> None:
    session = service.opened(CLAIMED)
    service.asked(CLAIMED, WRITE, session=session)
    service.told("operator", "POST", f"/v1/sessions/{session}/stop")
    assert service.told("operator", "GET", f"/v1/sessions/{session}")["stopped"]
    assert service.told("operator", "GET", "/v1/questions") == [], "open questions end with a stop"
    say(service, session, "go on with the parser", CLAIMED)
    assert call(service, session, READ, CLAIMED)["rule"] == "stopped"


def test_a_message_says_nothing_but_its_text(service: Service) -> None:
    session = service.opened()
    for more in ({"assured": True}, {"assurance": 1}, {"by": "operator"}, {"turn": 5}):
        refused = service.post("host", f"/v1/sessions/{session}/messages", {"text": "yes", **more})
        assert refused.status_code == 422


def test_a_question_put_in_the_conversation_is_answered_by_the_next_message(service: Service) -> None:
    session = service.opened()
    asked = call(service, session, WRITE)
    shown = service.told("host", "POST", f"/v1/questions/{asked['question']}/show")
    assert "files.write" in shown["text"]
    assert say(service, session, "yes")["answered"] == "once"
    retried = service.told("host", "POST", f"/v1/calls/{asked['operation_id']}/retry")
    assert retried["status"] == "allowed"


def test_a_question_cannot_be_put_into_anothers_conversation(service: Service) -> None:
    question = service.asked()
    assert service.post("host", f"/v1/questions/{question}/show").status_code == 404


def test_a_task_begins_and_ends_with_what_was_consented_in_it(service: Service) -> None:
    session = service.opened()
    service.told("host", "POST", f"/v1/sessions/{session}/tasks", {"name": "parser"})
    asked = call(service, session, WRITE)
    service.told("operator", "POST", f"/v1/questions/{asked['question']}/answer", {"answer": "task"})
    assert call(service, session, {"tool": "write_file", "args": {"path": "z"}})["status"] == "allowed"
    ended = service.told("host", "DELETE", f"/v1/sessions/{session}/tasks")
    assert ended["announced"]
    assert call(service, session, {"tool": "write_file", "args": {"path": "y"}})["status"] == "pending"


def test_a_plan_is_told_with_what_was_read_in_it(service: Service) -> None:
    session = service.opened()
    plan = {"targets": ["a.txt"], "changes": ["rename f"], "operations": ["files.write"]}
    told = service.told("host", "POST", f"/v1/sessions/{session}/plans", {"plan": plan})
    assert (told["concrete"], told["operations"]) == (True, ["files.write"])
    assert say(service, session, "go ahead")["kind"] == "assent"
    assert call(service, session, WRITE)["rule"] == "plan"
    every: list[dict[str, Any]] = [
        {"plan": {"target": []}},
        {"plan": 5},
        {"plan": {"operations": ["no.such"]}},
        {},
    ]
    for wrong in every:
        assert 400 <= service.post("host", f"/v1/sessions/{session}/plans", wrong).status_code < 500


def test_the_allowlist_is_handed_to_the_next_context_once(service: Service) -> None:
    first = service.opened(user="ann", workspace="/w")
    say(service, first, GRANT)
    offer = service.told("host", "GET", f"/v1/sessions/{first}/handoff/offer")
    assert "Save session allowlist for next context?" in offer["ask"]
    refused = service.post("host", f"/v1/sessions/{first}/handoff/save")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_agreed")
    say(service, first, "yes")
    service.told("host", "POST", f"/v1/sessions/{first}/handoff/save")
    second = service.opened(user="ann", workspace="/w")
    assert "git push origin" in service.told("host", "GET", f"/v1/sessions/{second}/handoff")["ask"]
    refused = service.post("host", f"/v1/sessions/{second}/handoff/take")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_agreed")
    say(service, second, "yes")
    taken = service.told("host", "POST", f"/v1/sessions/{second}/handoff/take")
    assert taken["commands"] == ["git push origin"]
    third = service.opened(user="ann", workspace="/w")
    assert service.told("host", "POST", f"/v1/sessions/{third}/handoff/take")["commands"] == []


def test_a_host_whose_word_is_only_claimed_hands_over_no_consent(service: Service) -> None:
    session = service.opened(CLAIMED, user="ann", workspace="/w")
    for way in ("save", "take"):
        refused = service.post(CLAIMED, f"/v1/sessions/{session}/handoff/{way}")
        assert (refused.status_code, refused.json()["code"]) == (403, "not_assured")


def test_an_ended_session_decides_nothing(service: Service) -> None:
    session = service.opened()
    service.told("host", "DELETE", f"/v1/sessions/{session}")
    assert service.post("host", "/v1/calls", {**WRITE, "session": session}).status_code == 404
    assert service.told("host", "GET", "/v1/sessions") == []


@pytest.mark.parametrize("body", [{"agent": "x" * 1_001}, {"agent": "a", "owner": "t_1"}, {"turn": 3}])
def test_a_session_names_its_agent_and_nothing_that_is_not_the_hosts_to_say(
    service: Service, body: dict[str, Any]
) -> None:
    assert service.post("host", "/v1/sessions", body).status_code == 422


PLAN = {"targets": ["a.txt"], "changes": ["rename f"], "operations": ["files.write"]}


def test_a_yes_does_not_count_before_the_rendering_was_shown(service: Service) -> None:
    session = service.opened()
    told = service.told("host", "POST", f"/v1/sessions/{session}/plans", {"plan": PLAN, "shown": False})
    assert told["covers"] == {"files.write": ["a.txt"]}
    heard = say(service, session, "go ahead")
    assert heard["announced"] == [f"{told['shown']}\nProceed with this?"]
    assert "accepted" in say(service, session, "yes")["did"][0]
    assert call(service, session, WRITE)["rule"] == "plan"


def test_a_host_whose_word_is_only_claimed_cannot_say_that_the_rendering_was_shown(service: Service) -> None:
    session = service.opened(CLAIMED)
    path = f"/v1/sessions/{session}/plans"
    service.told(CLAIMED, "POST", path, {"plan": PLAN, "shown": True})
    with service.gate.store.read() as tx:
        row = tx.session(session)
    assert row is not None
    assert b'"shown":true' not in row.head
    whether = say(service, session, "yes", CLAIMED)["question"]
    asked = service.told("operator", "GET", f"/v1/questions/{whether}")
    assert "files.write on a.txt" in str(asked["offers"]), "the operator sees what the yes would cover"
    service.told(
        "operator", "POST", f"/v1/questions/{whether}/answer", {"answer": "once", "digest": asked["digest"]}
    )
    assert call(service, session, WRITE, CLAIMED)["rule"] == "plan"
