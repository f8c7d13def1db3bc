"""A team with two groups, a bank that two of finance have to approve, and its people as they answer."""

from __future__ import annotations

import msgspec

from sayso.core.model import Operation, Request
from sayso.core.policy import Policy
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate, writing
from sayso.gate.people.answerers import Answerer, at_terminal, on_page, on_surface
from sayso.gate.policy.in_force import put_in_force
from sayso.gate.questions.answer import QuestionStanding
from sayso.gate.sessions.sessions import open_session
from sayso.policy import load_text
from tests.support.answers import answer_question

TEAM = """
extends: [balanced]
people:
  ana: {{groups: [finance], ids: [account:ana, page:ana, surface:phone/1, "token:{ana}"]}}
  bo: {{groups: [finance], ids: [account:bo, page:bo, surface:phone/2, "token:{bo}"]}}
  cy: {{groups: [finance, leads], ids: [account:cy, page:cy]}}
  di: {{groups: [leads, oncall], ids: [account:di, page:di]}}
  ed: {{ids: [account:ed, page:ed]}}
approvals:
  - {{domain: bank, risk: high, from: [finance], needed: {needed}{more}}}
break_glass: [{glass}]
domains:
  bank: {{autonomous: [], requires_approval: [pay, look], blocked: [close]}}
operations:
  bank.pay: {{risk: high}}
settings: {{question_lasts: {lasts}}}
"""
ANA, BO, CY, DI, ED = (on_page(name) for name in ("ana", "bo", "cy", "di", "ed"))


def team_policy(
    needed: int = 2,
    more: str = "",
    *,
    ana: str = "t_a",
    bo: str = "t_b",
    lasts: str = "2h",
    without: str = "nobody",
    glass: str = "oncall",
) -> Policy:
    text = TEAM.format(needed=needed, more=more, ana=ana, bo=bo, lasts=lasts, glass=glass)
    return load_text("\n".join(line for line in text.splitlines() if not line.startswith(f"  {without}:")))


def under(gate: Gate, policy: Policy) -> Gate:
    """The gate under this policy, which its operator has put in force."""
    return acting_under(under_since(gate, policy), policy)


def under_since(gate: Gate, policy: Policy) -> Gate:
    """The same, with the times at which the policy was tightened on this store."""
    with writing(gate) as tx:
        _, in_force = put_in_force(gate, tx, policy, None)
    return acting_under(gate, in_force)


def acting_under(gate: Gate, policy: Policy) -> Gate:
    """The gate of somebody who acts under this policy, whichever is in force."""
    return msgspec.structs.replace(gate, policy=policy, base=None, live=None)


def pay(session: str, amount: int = 5) -> Request:
    call = make_call("pay", {"amount": amount})
    return make_request(call, [Operation("bank.pay")], session=session)


def asks(gate: Gate, session: str | None = None, amount: int = 5) -> tuple[Request, str]:
    """A payment that is asked about; the request, and the question's id."""
    request = pay(session or open_session(gate, agent="payer", owner="t_agent"), amount)
    made = authorize(gate, request)
    question = made.question
    assert question is not None, (made.decision.rule, made.decision.reason)
    return request, question.id


def allow(
    gate: Gate, question: str, who: Answerer | None, answer: str = "once", **how: object
) -> QuestionStanding:
    name = "somebody" if who is None else who.identity.rpartition(":")[2]
    return answer_question(gate, question, answer, by=name, who=who, **how)


def verdict(gate: Gate, request: Request) -> str:
    return authorize(gate, request).decision.verdict.value


__all__ = ["ANA", "BO", "CY", "DI", "ED", "allow", "asks", "at_terminal", "on_page", "on_surface", "pay"]
