"""More that can happen in a random life: reviews, passkeys, sessions with keys, stops, ended calls."""

from __future__ import annotations

from collections.abc import Callable

from sayso.core.model import Operation, Request, Risk
from sayso.gate.deciding.authorize import authorize
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.gate import Gate
from sayso.gate.ledger.lease import park_call, unpark_call
from sayso.gate.ledger.outcome import end_call
from sayso.gate.ledger.recovery import resolve_call
from sayso.gate.ledger.retry import retry_call
from sayso.gate.ledger.start import start_call, start_ungated
from sayso.gate.people.passkey_sign_in import sign_in_options
from sayso.gate.people.passkeys import (
    forget_passkeys,
    list_passkeys,
    remove_passkey,
    require_passkeys,
    verify_passkey,
)
from sayso.gate.sessions.messages import record_message
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.reopen import SessionWish, open_session_by_key
from sayso.gate.sessions.revoke import revoke_by_name
from sayso.gate.sessions.sessions import close_session, open_session
from sayso.gate.sessions.stop import resume_session
from sayso.policy import load_text
from tests.property.row_acts import PASSKEYS, goes_unsigned
from tests.property.row_attacks import Act, Life, allowed, command, edit
from tests.support.answers import answer_question
from tests.support.asking import bare
from tests.support.authenticator import Authenticator
from tests.support.signing import ORIGINS, registered

MONTH = 31 * 86_400.0
DOMAINS = tuple(f"post{number}" for number in range(6))
_DOMAIN = "{trust_level: high, autonomous: [read], requires_approval: [], blocked: []}"
POLICY = load_text(
    "extends: [chat]\ndomains:\n" + "".join(f"  {name}: {_DOMAIN}\n" for name in DOMAINS), name="a life"
)
CHALLENGE = b"somebody wants this signed, again"
SIGNED = "high risk that must be signed"


def new(gate: Gate, number: int, parent: str | None = None) -> str:
    """A session that no other act knows."""
    return open_session(gate, agent="tester", owner="host", user=f"of {number}", parent=parent)


# --- reviews ---


def reads(domain: str) -> Callable[[Gate], bool]:
    """Whether what the policy lists as autonomous runs unasked."""

    def read(gate: Gate) -> bool:
        call, operation = make_call("read", {}), Operation(f"{domain}.read")
        return allowed(gate, make_request(call, [operation], session=new(gate, 0)))

    return read


def review(gate: Gate, domain: str, at: float | None = None) -> None:
    """The operator reviews a domain now; at 0 its review is void."""
    with gate.store.write() as tx:
        before = next(iter(tx.reviews([domain])), None)
        when = tx.now if at is None else at
        tx.put_review(gate.sealer.review(domain, when, "ana", before=before))


def void_a_review(life: Life, session: str, number: int) -> None:
    domain = life.random.choice(DOMAINS)
    if life.has_probe(domain):
        return
    if life.random.random() < 0.7:
        review(life.gate, domain)
        life.keep_copy()
    review(life.gate, domain, 0.0)
    life.add(domain, reads(domain), rows=(("reviews", domain),))


def let_permissions_decay(life: Life, session: str, number: int) -> None:
    if not life.ages or not life.place.pass_time(MONTH):
        return
    life.ages = False
    for domain in DOMAINS:
        if not life.has_probe(domain):
            life.add(domain, reads(domain), rows=(("reviews", domain), ("reviews", f"{domain}.read")))


# --- passkeys ---


def signs(device: Authenticator) -> Callable[[Gate], bool]:
    """Whether what this passkey signs now is accepted."""

    def sign(gate: Gate) -> bool:
        proof = device.get(sign_in_options(CHALLENGE))
        with gate.store.read() as tx:
            return bool(verify_passkey(gate, tx, proof, CHALLENGE, ORIGINS))

    return sign


def remove_a_passkey(life: Life, session: str, number: int) -> None:
    device = registered(life.gate, f"operator {number}")
    life.keep_copy()
    remove_passkey(life.gate, list_passkeys(life.gate, f"operator {number}")[0].id, by="ana")
    life.add("a passkey that was removed", signs(device), rows=(PASSKEYS,))


def keep_a_passkey(life: Life, session: str, number: int) -> None:
    life.keep_copy()
    if not life.has_probe(SIGNED):
        registered(life.gate, "ana")
        life.add(SIGNED, goes_unsigned(Risk.HIGH), rows=(PASSKEYS,))


def begin_passkeys_again(life: Life, session: str, number: int) -> None:
    """The operator looks after the passkeys: all go, and until they are there again everything is signed."""
    forget_passkeys(life.gate, by="ana")
    require_passkeys(life.gate, "all", by="ana")
    if not life.has_probe(SIGNED):
        life.add(SIGNED, goes_unsigned(Risk.HIGH), rows=(PASSKEYS,))


# --- sessions ---


def by_key(gate: Gate, number: int) -> str:
    asked = SessionWish(agent="tester", user=f"of {number}")
    opened = open_session_by_key(
        gate, f"key {number}", owner="host", asked=asked, agent="tester", workspace=lambda: "/"
    )
    return opened.session


def end_by_key(life: Life, session: str, number: int) -> None:
    first = by_key(life.gate, number)
    life.keep_copy()
    close_session(life.gate, first)
    if life.random.random() < 0.5:
        by_key(life.gate, number)
    life.add("a session that ended, by its key", lambda gate: by_key(gate, number) == first)


def stop_by_key(life: Life, session: str, number: int) -> None:
    """Who has the key does not get rid of the stop, unless the whole store begins again."""
    life.keep_copy()
    first = by_key(life.gate, number)
    epoch = life.gate.sealer.epoch
    record_message(life.gate, first, "stop")

    def escapes(gate: Gate) -> bool:
        return by_key(gate, number) != first and gate.sealer.epoch == epoch

    life.add("a stop, by the key of its session", escapes)


def stop_again(life: Life, session: str, number: int) -> None:
    mine = new(life.gate, number)
    give_grant(life.gate, mine, by="ana", operation="files.edit")
    record_message(life.gate, mine, f"Grant standing consent for: deploy {number}")
    life.keep_copy()
    record_message(life.gate, mine, "stop")
    resume_session(life.gate, mine, by="ana")
    life.add_call("a grant from before a stop that was lifted", edit(mine, number))
    life.keep_copy()
    if life.random.random() < 0.7:
        record_message(life.gate, mine, "stop")
        life.add_call("a session stopped again", command(mine, number))


def stop_a_parent(life: Life, session: str, number: int) -> None:
    parent = new(life.gate, number)
    child = new(life.gate, number, parent)
    give_grant(life.gate, child, by="ana", operation="files.edit")
    life.keep_copy()
    record_message(life.gate, parent, "stop")
    life.add_call("a grant in a child of a stopped session", edit(child, number))


# --- calls ---


def approved(gate: Gate, request: Request) -> None:
    question = authorize(gate, request).question
    if question is not None:
        answer_question(gate, question.id, "once", by="ana")


def goes_on(call: str, fence: int | None) -> Callable[[Gate], bool]:
    """Whether a call that waited runs on, from the top or where it waits."""
    return lambda gate: unpark_call(gate, call, holder="two", fence=fence).runs


def end_by_name(life: Life, session: str, number: int) -> None:
    """A call that waits ends because its consent is taken back by name."""
    gate, mine = life.gate, new(life.gate, number)
    approved(gate, edit(mine, number))
    call = start_call(gate, edit(mine, number), holder="one")
    inner = authorize(gate, edit(mine, -number)).question
    if inner is None:
        return
    park_call(gate, call.call, call.fence, inner.id)
    answer_question(gate, inner.id, "once", by="ana")
    life.keep_copy()
    if life.random.random() < 0.5:
        revoke_by_name(gate, mine, life.random.choice((call.call, "file-edit", "files.edit")), by="ana")
    else:
        record_message(gate, mine, "Revoke consent for: file edits")
    life.keep_copy()
    if life.random.random() < 0.5:
        unpark_call(gate, call.call, holder="one")

    for fence in (None, call.fence):
        life.add("a call ended by name, gone on with", goes_on(call.call, fence))
    life.add("a call ended by name, retried", lambda gate: retry_call(gate, call.call, holder="x").runs)


def claim_an_end(life: Life, session: str, number: int) -> None:
    """The agent says that its call failed, or nobody knows and the operator says that it ran."""
    key = f"claimed {number}"
    call = start_ungated(life.gate, bare(session), holder="one", effect_key=key)
    life.keep_copy()
    if life.random.random() < 0.5:
        end_call(life.gate, call.call, call.fence, "failed", claimed=True)
    else:
        end_call(life.gate, call.call, call.fence, "ambiguous")
        life.keep_copy()
        resolve_call(life.gate, call.call, "succeeded", by="ana")

    def happens(gate: Gate) -> bool:
        return start_ungated(gate, bare(new(gate, 0)), holder="two", effect_key=key).runs

    life.add("an effect of which nobody trusted says that it failed", happens)


ENDINGS: tuple[Act, ...] = (
    void_a_review, void_a_review, let_permissions_decay, remove_a_passkey, keep_a_passkey,
    begin_passkeys_again, end_by_key, stop_by_key, stop_again, stop_a_parent, end_by_name, claim_an_end,
)  # fmt: skip
