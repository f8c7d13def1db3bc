"""A random life of a gate, and somebody who puts rows back.

Every act that uses up, denies, stops, ends or revokes something leaves a probe, which tries to have it once
more. Rows are copied at random moments, and later any of them are put back, or taken away for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.model import Operation, Request, Risk, Verdict
from sayso.gate.authorize import authorize
from sayso.gate.calls import retry_call, start_call, start_ungated
from sayso.gate.conversation import hear_message
from sayso.gate.gate import Gate
from sayso.gate.grants import give_grant
from sayso.gate.lease import park_call, unpark_call
from sayso.gate.outcome import end_call
from sayso.gate.passkeys import proof_needed, require_passkeys
from sayso.gate.request import make_call, make_request
from sayso.gate.sessions import end_session, open_session
from sayso.gate.signin import make_link, sign_out, signed_in, use_link
from sayso.gate.tokens import find_token, issue_token, revoke_token
from tests.attack.by_hand import Copy, Place, load_by_a_yes, save_by_a_yes
from tests.gate.answers import answer_question

LOSABLE = ("entries", "nodes", "secrets")
"""Tables of the audit trail: with these put back, what was reported may be gone as well."""

NAME = ("meta", ("name",))
"""Without its name a store is another one, which is a matter of its own."""

Chosen = list[tuple[str, tuple[Any, ...]]]


class Probe(msgspec.Struct, frozen=True):
    """Something that must not come true again: what it is, and a try to have it.

    Where the row of `session` is another than it was, the try has to be reported.
    """

    what: str
    comes_true: Callable[[Gate], bool]
    session: str = ""


def edit(session: str, number: int) -> Request:
    call = make_call("edit", {"path": f"{number}.py"}, target=f"{number}.py")
    return make_request(call, [Operation("files.edit")], session=session)


def bare(session: str) -> Request:
    """A call that needs no consent by itself."""
    return make_request(make_call("work", {}), [Operation("capability.work")], session=session)


def command(session: str, number: int) -> Request:
    call = make_call("shell", {}, command=f"deploy {number}")
    return make_request(call, [Operation("git.push")], session=session)


def allowed(gate: Gate, request: Request) -> bool:
    return authorize(gate, request).decision.verdict is Verdict.ALLOW


class Life:
    """A gate that is used at random."""

    def __init__(self, place: Place, seed: int) -> None:
        self.place = place
        self.random = Random(seed)
        self.number = 0
        self.probes: list[Probe] = []
        self.copies: list[Copy] = []
        self.sessions: list[str] = []
        self.new_session()

    @property
    def gate(self) -> Gate:
        return self.place.gate

    def new_session(self) -> str:
        self.number += 1
        session = open_session(self.gate, agent="tester", owner="host", user=f"user {self.number}")
        self.sessions.append(session)
        return session

    def live(self, steps: int) -> None:
        for _ in range(steps):
            if self.random.random() < 0.3:
                self.copies.append(self.place.hand.copy())
            self.number += 1
            act = self.random.choice(ACTS)
            with suppress(
                SaysoError
            ):  # in a session that ended or was tampered with nothing is done any more
                act(self, self.random.choice(self.sessions), self.number)
        if self.random.random() < 0.7:
            self.new_session()

    def add(self, what: str, comes_true: Callable[[Gate], bool], session: str = "") -> None:
        self.probes.append(Probe(what, comes_true, session))

    def add_call(self, what: str, request: Request) -> None:
        """A call that must not be allowed any more; deciding it meets the row of its session."""
        self.add(what, lambda gate: allowed(gate, request), request.session)

    # --- the attack ---

    def attack(self) -> None:
        """Put any rows back to any earlier moment, look, open anew, look, and maybe put all right again."""
        truth = self.place.hand.copy()
        nothing: Copy = {table: {} for table in truth}
        copy = self.random.choice([*self.copies, nothing])
        chosen = self.choose(copy, truth)
        self.place.hand.put_back(copy, chosen)
        changed = {
            (table, str(key[0])) for table, key in chosen if copy[table].get(key) != truth[table].get(key)
        }
        loses = any(table in LOSABLE for table, _ in changed)
        if self.random.random() < 0.6:
            self.look(set() if loses else changed)
        if self.random.random() < 0.6:
            self.place.restart()
            self.look(set())
        if self.random.random() < 0.5:
            self.place.hand.put_back(truth, [one for one in chosen if one[0] not in LOSABLE])
            self.look(set())
        self.sessions = self.sessions[-4:]

    def choose(self, copy: Copy, truth: Copy) -> Chosen:
        """Whole tables, some rows of some tables, or one row."""
        tables = self.random.sample(sorted(truth), self.random.randint(1, len(truth)))
        if self.random.random() < 0.7:
            tables = [table for table in tables if table not in LOSABLE] or ["sessions"]
        share = self.random.choice((1.0, 1.0, 0.5, 0.1))
        rows = [(table, key) for table in tables for key in sorted({**copy[table], **truth[table]}, key=str)]
        return [row for row in rows if row != NAME and self.random.random() < share]

    def look(self, changed: set[tuple[str, str]]) -> None:
        """Try everything that must not come true. What met a session that was changed has to be reported."""
        for probe in self.probes:
            met = ("sessions", probe.session) in changed
            before = self.place.reported() if met else 0
            with suppress(SaysoError):
                assert not probe.comes_true(self.gate), probe.what
            assert not met or self.place.reported() > before, f"{probe.what}: not reported"


# --- what can happen ---


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
    hear_message(life.gate, session, f"Grant standing consent for: deploy {number}")
    if life.random.random() < 0.5:
        allowed(life.gate, command(session, number))
    hear_message(life.gate, session, f"Revoke consent for: deploy {number}")
    life.add_call("consent that was revoked", command(session, number))


def stop(life: Life, session: str, number: int) -> None:
    give_grant(life.gate, session, by="ana", operation="files.edit", uses=2)
    hear_message(life.gate, session, life.random.choice(("stop", "Revoke all consent")))
    life.add_call("a grant from before a stop", edit(session, number))


def end(life: Life, session: str, number: int) -> None:
    if len(life.sessions) < 2 or life.random.random() < 0.6:
        return
    hear_message(life.gate, session, f"Grant standing consent for: deploy {number}")
    end_session(life.gate, session)
    life.sessions.remove(session)
    life.add_call("a session that ended", command(session, number))


def revoke_a_token(life: Life, session: str, number: int) -> None:
    secret, token = issue_token(life.gate, "agent", f"agent {number}", by="ana")
    life.copies.append(life.place.hand.copy())
    revoke_token(life.gate, token.id, by="ana")

    def lets_in(gate: Gate) -> bool:
        with gate.store.read() as tx:
            return find_token(gate, tx, secret) is not None

    life.add("a token that was revoked", lets_in)


def sign_in_and_out(life: Life, session: str, number: int) -> None:
    code = make_link(life.gate, "ana")
    cookie = use_link(life.gate, code)
    life.copies.append(life.place.hand.copy())
    sign_out(life.gate, cookie)
    life.add("a link that was used", lambda gate: bool(use_link(gate, code)))
    life.add("a browser that was signed out", lambda gate: signed_in(gate, cookie) is not None)


def demand_passkeys(life: Life, session: str, number: int) -> None:
    require_passkeys(life.gate, "never", by="ana")
    life.copies.append(life.place.hand.copy())
    require_passkeys(life.gate, "all", by="ana")
    if any(probe.what == "an answer that must be signed" for probe in life.probes):
        return

    def goes_without(gate: Gate) -> bool:
        with gate.store.read() as tx:
            return not proof_needed(gate, tx, Risk.LOW)

    life.add("an answer that must be signed", goes_without)


def hand_off(life: Life, session: str, number: int) -> None:
    def opened(gate: Gate) -> str:
        return open_session(gate, agent="tester", owner="host", user=f"of {number}")

    first = opened(life.gate)
    hear_message(life.gate, first, f"Grant standing consent for: deploy {number}")
    save_by_a_yes(life.gate, first)
    life.copies.append(life.place.hand.copy())
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
    life.copies.append(life.place.hand.copy())
    park_call(life.gate, call.call, call.fence, question.id)
    life.copies.append(life.place.hand.copy())
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


ACTS: tuple[Callable[[Life, str, int], None], ...] = (
    use_up, use_up, deny, revoke, stop, end, revoke_a_token, sign_in_and_out, demand_passkeys, hand_off,
    have_an_effect, park_and_end, answer_twice,
)  # fmt: skip
