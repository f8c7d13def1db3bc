"""What can happen in a random life: each act uses something up or ends it, and leaves probes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sayso.core.model import Risk
from sayso.gate.deciding.authorize import authorize
from sayso.gate.gate import Gate
from sayso.gate.ledger.lease import park_call, unpark_call
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call, start_ungated
from sayso.gate.people.browsers import find_browser, make_link, sign_out, use_link
from sayso.gate.people.passkeys import needs_proof, require_passkeys
from sayso.gate.people.tokens import find_token, issue_token, revoke_token
from sayso.gate.questions.read import TamperedQuestion, find_question
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import close_session, open_session
from tests.property.row_attacks import Act, Life, allowed, command, edit
from tests.support.answers import answer_question
from tests.support.asking import bare
from tests.support.by_hand import Copy, load_by_a_yes, save_by_a_yes

PASSKEYS = ("meta", "passkeys")


def goes_unsigned(risk: Risk) -> Callable[[Gate], bool]:
    """Whether an answer that allows this risk need not be signed."""

    def goes(gate: Gate) -> bool:
        with gate.store.read() as tx:
            return not needs_proof(gate, tx, risk)

    return goes


def use_up(life: Life, session: str, number: int) -> None:
    request = edit(session, number)
    question = authorize(life.gate, request).question
    if question is not None:
        answer_question(life.gate, question.id, "once", by="ana")
        if life.random.random() < 0.8 and allowed(life.gate, request):
            life.add_call("an approval that was used", request)


def deny(life: Life, session: str, number: int) -> None:
    call = start_call(life.gate, edit(session, number), holder="one")
    if call.question is None:
        return
    answer_question(life.gate, call.question, "deny", by="ana")
    life.add_call("a call that was denied", edit(session, number))
    retry_call(life.gate, call.call, holder="one")
    life.add("a denied call retried", lambda gate: retry_call(gate, call.call, holder="two").runs)
    life.add("a denied call gone on with", lambda gate: unpark_call(gate, call.call, holder="x").runs)


def revoke(life: Life, session: str, number: int) -> None:
    record_message(life.gate, session, f"Grant standing consent for: deploy {number}")
    if life.random.random() < 0.5:
        allowed(life.gate, command(session, number))
    record_message(life.gate, session, f"Revoke consent for: deploy {number}")
    life.add_call("consent that was revoked", command(session, number))


def stop(life: Life, session: str, number: int) -> None:
    give_grant(life.gate, session, by="ana", operation="files.edit", uses=2)
    record_message(life.gate, session, life.random.choice(("stop", "Revoke all consent")))
    life.add_call("a grant from before a stop", edit(session, number))


def end(life: Life, session: str, number: int) -> None:
    if len(life.sessions) < 2 or life.random.random() < 0.6:
        return
    record_message(life.gate, session, f"Grant standing consent for: deploy {number}")
    close_session(life.gate, session)
    life.sessions.remove(session)
    life.add_call("a session that ended", command(session, number))


def revoke_a_token(life: Life, session: str, number: int) -> None:
    secret, token = issue_token(life.gate, "agent", f"agent {number}", by="ana")
    life.keep_copy()
    revoke_token(life.gate, token.id, by="ana")

    def lets_in(gate: Gate) -> bool:
        with gate.store.read() as tx:
            return find_token(gate, tx, secret) is not None

    life.add("a token that was revoked", lets_in)


def sign_in_and_out(life: Life, session: str, number: int) -> None:
    code = make_link(life.gate, "ana")
    cookie = use_link(life.gate, code)
    life.keep_copy()
    sign_out(life.gate, cookie)
    life.add("a link that was used", lambda gate: bool(use_link(gate, code)))
    life.add("a browser that was signed out", lambda gate: find_browser(gate, cookie) is not None)


def demand_passkeys(life: Life, session: str, number: int) -> None:
    require_passkeys(life.gate, "never", by="ana")
    life.keep_copy()
    require_passkeys(life.gate, "all", by="ana")
    if not life.has_probe("an answer that must be signed"):
        life.add("an answer that must be signed", goes_unsigned(Risk.LOW), rows=(PASSKEYS,))


def hand_off(life: Life, session: str, number: int) -> None:
    def opened(gate: Gate) -> str:
        return open_session(gate, agent="tester", owner="host", user=f"of {number}")

    first = opened(life.gate)
    record_message(life.gate, first, f"Grant standing consent for: deploy {number}")
    save_by_a_yes(life.gate, first)
    life.keep_copy()
    load_by_a_yes(life.gate, opened(life.gate))
    life.add("a hand-off that was taken", lambda gate: bool(load_by_a_yes(gate, opened(gate))))


def have_an_effect(life: Life, session: str, number: int) -> None:
    key = f"effect {number}"
    call = start_ungated(life.gate, bare(session), holder="one", effect_key=key)
    end_call(life.gate, call.call, call.fence, "succeeded")

    def happens(gate: Gate) -> bool:
        fresh = open_session(gate, agent="tester", owner="host")
        return start_ungated(gate, bare(fresh), holder="two", effect_key=key).runs

    life.add("an effect that happened", happens)


def park_and_end(life: Life, session: str, number: int) -> None:
    question = authorize(life.gate, edit(session, number)).question
    call = start_ungated(life.gate, bare(session), holder="one")
    if question is None:
        return
    life.keep_copy()
    park_call(life.gate, call.call, call.fence, question.id)
    life.keep_copy()
    resumed = unpark_call(life.gate, call.call, holder="one", fence=call.fence)
    end_call(life.gate, call.call, resumed.fence, "succeeded")

    def goes_on(gate: Gate) -> bool:
        return unpark_call(gate, call.call, holder="two", fence=call.fence).runs

    def ends(gate: Gate) -> bool:
        end_call(gate, call.call, resumed.fence, "failed")
        return True

    life.add("a call that ended, gone on with", goes_on)
    life.add("a call that ended, ended again", ends)


def answer_twice(life: Life, session: str, number: int) -> None:
    question = authorize(life.gate, edit(session, number)).question
    if question is None:
        return
    name = question.id
    answer_question(life.gate, name, "deny", by="ana")

    def grants(gate: Gate) -> bool:
        return bool(answer_question(gate, name, "once", by="bob").yours)

    life.add("a question that was closed", grants)


def run_on_a_lasting_grant(life: Life, session: str, number: int) -> None:
    """A call that waited runs and ends, and what allowed it lives on."""
    call = start_call(life.gate, edit(session, number), holder="one", key=f"key {number}")
    if call.question is None:
        return
    life.keep_copy()
    answer_question(life.gate, call.question, "always", by="ana")
    life.keep_copy()
    run = retry_call(life.gate, call.call, holder="one")
    end_call(life.gate, call.call, run.fence, life.random.choice(("succeeded", "failed", "ambiguous")))
    life.add("a call that ended, started again", lambda gate: retry_call(gate, call.call, holder="x").runs)


def show_and_close(life: Life, session: str, number: int) -> None:
    """A question is closed; until its store begins anew nobody is shown it as one that waits."""
    question = authorize(life.gate, edit(session, number)).question
    if question is None:
        return
    life.keep_copy()
    answer_question(life.gate, question.id, "deny", by="ana")
    epoch = life.gate.sealer.epoch

    def is_shown_as_open(gate: Gate) -> bool:
        return find_question(gate, question.id).row.state == "open" and gate.sealer.epoch == epoch

    life.add("a question that was closed, shown as open", is_shown_as_open)


def show_rewritten(life: Life, session: str, number: int) -> None:
    """Somebody rewrites a question for as long as people look at it."""
    question = authorize(life.gate, edit(session, number)).question
    if question is None:
        return
    truth = life.place.hand.copy("questions")
    told = life.place.reported()
    life.place.hand.put_back(
        {"questions": {**truth["questions"], (question.id,): rewritten(truth, question.id)}}
    )
    with pytest.raises(TamperedQuestion):
        find_question(life.gate, question.id)
    assert life.place.reported() > told
    life.place.hand.put_back(truth)
    assert find_question(life.gate, question.id).question == question


def rewritten(copy: Copy, question: str) -> Any:
    """The row of a question with a text of somebody else's."""
    row = copy["questions"][question,]
    body = row["body"] if isinstance(row, dict) else row.body
    changed = {"body": bytes(body).replace(b".py", b".md")}
    return {**row, **changed} if isinstance(row, dict) else msgspec.structs.replace(row, **changed)


ACTS: tuple[Act, ...] = (
    use_up, use_up, deny, revoke, stop, end, revoke_a_token, sign_in_and_out, demand_passkeys, hand_off,
    have_an_effect, park_and_end, answer_twice, run_on_a_lasting_grant, run_on_a_lasting_grant,
    show_and_close, show_rewritten,
)  # fmt: skip
