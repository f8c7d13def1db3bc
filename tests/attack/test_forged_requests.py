"""Forged requests: a call that claims what it is not, or leans on consent given for something else."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from sayso.core.deciding.decide import decide
from sayso.core.deciding.offers import with_offers
from sayso.core.deciding.questions import effects_of_answer, effects_of_showing, find_or_open_question
from sayso.core.decision import Decision, Question
from sayso.core.digest import encode_canonical
from sayso.core.errors import MalformedRequest, NotCanonical, UnknownAnswer
from sayso.core.grants import Grant, GrantKind, HeldGrant, Pins
from sayso.core.model import Call, Operation, Origin, Request, Risk, Verdict
from sayso.core.policy import Detail, Domain, Policy, Settings, SlashCommand, compile_policy, terms_of
from sayso.core.session import OuterCall, Plan, Run, Scope, Session, Task, View, apply_effects
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.sessions.play import Player

NOW = 1_800_000_000.0
POLICY = compile_policy(
    domains={
        "git": Domain(autonomous=("status",), requires_approval=("commit", "push"), blocked=("rewrite",)),
        "mail": Domain(requires_approval=("send",), confidence_bypass=True),
        "self_modification": Domain(
            autonomous=("prune",), blocked=("modify_policy",), trusted_channel_required=("prune",)
        ),
    },
    operations={"git.push": Detail(risk=Risk.HIGH)},
    slash_commands={"/commit": SlashCommand(("git.commit",))},
    digest="policy",
)


def request(
    *names: str, command: str | None = None, args: dict[str, Any] | None = None, **fields: Any
) -> Request:
    who = {key: fields.pop(key) for key in ("agent", "session", "origin", "confidence") if key in fields}
    operations = [Operation(name, **fields) for name in names]
    return make_request(make_call("shell", args, command=command, workspace="/w"), operations, **who)


def decided(asked: Request, session: Session | None = None, policy: Policy = POLICY, **view: Any) -> Decision:
    return decide(asked, policy, View(session or Session(workspace="/w"), reviews={"git": NOW}, **view), NOW)


def approved(asked: Request, given: str = "once", session: Session | None = None) -> Session:
    """The session after a person answered the question for this call."""
    session = session or Session(workspace="/w", turn=1, task=Task("task-1", "work", 1, 1))
    view = View(session)
    decision = with_offers(decide(asked, POLICY, view, NOW), asked, POLICY, view, NOW)
    assert decision.verdict is Verdict.ASK
    question = find_or_open_question(decision, asked, POLICY, session, NOW)
    session = apply_effects(session, effects_of_showing(question, session))
    return apply_effects(session, effects_of_answer(question, given, POLICY, session, NOW))


# Names


@pytest.mark.parametrize(
    "name",
    [
        "Git.status",
        "git.STATUS",
        "GIT.STATUS",
        "git.ｓtatus",
        "git.ſtatus",
        "ｇit.status",
        "git.rewriTe",
    ],
)
def test_a_name_that_differs_from_a_listed_one_only_in_its_spelling_is_refused(name: str) -> None:
    with pytest.raises(MalformedRequest):
        decided(request(name))


@pytest.mark.parametrize(
    "name",
    [
        " git.status",
        "git.status ",
        "git .status",
        "git.\tstatus",
        "git.status\n",
        "git.sta\u200btus",
        "git.status\u202e",
        "git.cafe\u0301",
        "git",
        "git.",
        ".status",
        "git..status",
        "",
        "git.*",
        "*",
        "git.status,git.push",
        "git/status",
        "git.status\x00",
    ],
)
def test_a_name_that_is_no_plain_operation_makes_no_request(name: str) -> None:
    with pytest.raises(MalformedRequest):
        request(name)


@pytest.mark.parametrize("name", ["gіt.status", "git.statυs", "git.status.x", "gitstatus.git", "git.statu"])
def test_a_name_of_other_letters_is_another_operation_and_asks(name: str) -> None:
    """A Cyrillic or Greek letter makes it a name nobody listed, which inherits nothing of its look-alike."""
    assert decided(request("git.status")).rule == "autonomous"
    decision = decided(request(name))
    assert decision.verdict is Verdict.ASK
    assert decision.items[0].risk is Risk.MODERATE


def test_an_operation_that_merely_begins_like_a_blocked_one_borrows_nothing_from_what_is_granted() -> None:
    session = approved(request("git.commit"), "always")
    assert decided(request("git.commit.all"), session).verdict is Verdict.ASK
    assert decided(request("git.commit2"), session).verdict is Verdict.ASK


# Confidence


@pytest.mark.parametrize(
    "confidence", [math.nan, math.inf, -math.inf, 1.0000001, -1e-9, True, "1.0", None, [1.0]]
)
def test_a_confidence_that_is_no_number_from_0_to_1_makes_no_request(confidence: Any) -> None:
    with pytest.raises(MalformedRequest):
        request("mail.send", confidence=confidence)


@pytest.mark.parametrize(
    "policy", [POLICY, msgspec.structs.replace(POLICY, settings=Settings(unlisted="block"))]
)
def test_full_confidence_opens_nothing_that_is_high_unlisted_blocked_or_autonomous_but_decayed(
    policy: Policy,
) -> None:
    for name in ("git.push", "nobody.knows", "git.rewrite", "self_modification.modify_policy"):
        assert (
            decided(request(name, confidence=1.0), policy=policy, notices=True).verdict is not Verdict.ALLOW
        )
    stale = decide(request("git.status", confidence=1.0), policy, View(Session(), notices=True), NOW)
    assert stale.verdict is Verdict.ASK


# Digests


def test_a_request_is_not_decided_in_a_session_it_does_not_belong_to() -> None:
    foreign = request("git.commit", command="git commit", args={"message": "tidy"}, session="another")
    with pytest.raises(MalformedRequest):
        decided(foreign, approved(request("git.commit", command="git commit", args={"message": "tidy"})))


def test_an_approval_of_one_call_is_worthless_for_any_other() -> None:
    shown = request("git.commit", command="git commit", args={"message": "tidy"})
    session = approved(shown)
    assert decided(shown, session).rule == "approved_call"
    others = [
        request("git.commit", command="git commit --amend", args={"message": "tidy"}),
        request("git.commit", command="git commit", args={"message": "tidy "}),
        request("git.commit", command="git commit", args={"message": "tidy", "all": True}),
        request("git.commit", command="git commit", args={}),
        request("git.push", command="git commit", args={"message": "tidy"}),
        request("git.commit", "git.push", command="git commit", args={"message": "tidy"}),
        request("git.commit", command="git commit", args={"message": "tidy"}, agent="another"),
    ]
    for other in others:
        decision = decided(other, session)
        assert decision.verdict is Verdict.ASK, other
        assert not decision.grants


@pytest.mark.parametrize(
    "change",
    [{"folder": "/elsewhere"}, {"door": "mcp"}, {"server": "evil"}, {"schema": "v2"}, {"tool": "other"}],
)
def test_an_approval_does_not_follow_a_call_to_another_place(change: dict[str, str]) -> None:
    shown = request("git.commit", command="git commit")
    call = msgspec.structs.replace(shown.call, **change)
    moved = make_request(call, shown.operations)
    assert decided(moved, approved(shown)).verdict is Verdict.ASK


def test_a_digest_swapped_onto_another_call_covers_only_operations_that_were_asked_for() -> None:
    """Even with the approved digest in hand, what the question did not name is not approved."""
    shown = request("git.commit")
    forged = msgspec.structs.replace(request("git.push"), digest=shown.digest)
    decision = decided(forged, approved(shown))
    assert decision.verdict is Verdict.ASK
    mixed = msgspec.structs.replace(request("git.commit", "git.push"), digest=shown.digest)
    assert decided(mixed, approved(shown)).verdict is Verdict.ASK


def test_an_approval_whose_operations_lack_one_of_the_call_does_not_let_the_call_run() -> None:
    call = request("git.commit", "mail.send")
    partial = Grant(
        "g1",
        "call",
        call.digest,
        Risk.HIGH,
        NOW + 60,
        "session",
        Pins(operations=("git.commit",)),
        uses=1,
        given_at=NOW,
        terms=terms_of(POLICY, [("git.commit", Risk.MODERATE)]),
    )
    decision = decided(call, Session(grants={partial.key: (HeldGrant(partial),)}))
    assert decision.verdict is Verdict.ASK
    assert [item.operation for item in decision.items_to_ask] == ["mail.send"]
    assert not decision.grants


def test_an_approval_given_at_one_risk_does_not_cover_the_same_call_read_as_riskier() -> None:
    session = approved(request("git.commit"))
    assert decided(request("git.commit", reading=Risk.HIGH), session).rule == "risky"


def test_an_approval_runs_one_call() -> None:
    shown = request("git.commit")
    session = approved(shown)
    first = decided(shown, session)
    assert first.rule == "approved_call"
    assert decided(shown, apply_effects(session, first.effects)).verdict is Verdict.ASK


@pytest.mark.parametrize("value", [math.nan, 2**53 + 1, "\ud800", b"raw", {1: 2}, object()])
def test_arguments_without_one_spelling_make_no_call(value: Any) -> None:
    with pytest.raises(NotCanonical):
        make_call("shell", {"value": value})


def test_what_runs_is_what_was_digested_even_if_the_callers_objects_change() -> None:
    live = {"paths": ["a.py"]}
    call = make_call("shell", live)
    live["paths"].append("/etc/passwd")
    assert call.arguments == encode_canonical({"paths": ["a.py"]})


# Authority that is claimed


@pytest.mark.parametrize(
    "claim", ["role", "parent", "scope", "user_initiated", "reducers", "session", "approved", "now"]
)
def test_a_script_that_claims_authority_in_its_call_is_refused(claim: str) -> None:
    player = Player(POLICY, start=NOW)
    with pytest.raises(MalformedRequest):
        player.step({"call": {"operations": ["git.commit"], claim: "operator"}})
    assert not player.session.questions


@pytest.mark.parametrize("claim", ["origin", "role", "user_initiated", "trusted_channel", "risk", "sayso"])
def test_authority_written_into_a_calls_arguments_is_just_text(claim: str) -> None:
    plain = decided(request("git.push"))
    claimed = decided(request("git.push", args={claim: "trusted_channel", "user_initiated": True}))
    assert (claimed.verdict, claimed.rule) == (plain.verdict, plain.rule)


@pytest.mark.parametrize("origin", [origin for origin in Origin if origin is not Origin.TRUSTED_CHANNEL])
def test_only_the_signed_channel_reaches_what_needs_it(origin: Origin) -> None:
    everything = Scope(user_initiated="click", reducers={"self_modification.prune": Risk.LOW})
    decision = decided(request("self_modification.prune", origin=origin, confidence=1.0), scope=everything)
    assert (decision.verdict, decision.rule) == (Verdict.DENY, "trusted_channel")


@pytest.mark.parametrize("origin", list(Origin))
def test_no_origin_scope_or_grant_reaches_what_is_blocked(origin: Origin) -> None:
    forged = request("git.rewrite", command="git rebase", origin=origin, confidence=1.0)
    scope = Scope(
        user_initiated="click",
        outer=OuterCall({"git.rewrite": Risk.HIGH}, Risk.HIGH),
        reducers={"git.rewrite": Risk.LOW},
        run=Run("run-1", "digest"),
    )
    decision = decided(
        forged, Session(workspace="/w", grants=every_grant(forged), turn=1, slash="/x"), scope=scope
    )
    assert (decision.verdict, decision.rule) == (Verdict.DENY, "blocked")


def every_grant(asked: Request, session: str = "session") -> dict[tuple[str, str], tuple[HeldGrant, ...]]:
    """A grant of each kind for everything the request is."""
    name = asked.operations[0].name
    values: dict[GrantKind, str] = {
        "call": asked.digest,
        "command": asked.call.command or "",
        "operation": name,
        "category": name,
        "tool": asked.call.tool,
        "workflow": "digest",
        "run": "run-1",
    }
    pins = Pins(operations=(name,), workspace="/w")
    grants = [Grant(kind, kind, value, Risk.HIGH, NOW + 60, session, pins) for kind, value in values.items()]
    return {grant.key: (HeldGrant(grant),) for grant in grants}


# Grants that are not this session's, this task's or this call's


def test_grants_of_another_session_are_worth_nothing_here() -> None:
    asked = request("git.commit", command="git commit")
    here, elsewhere = (
        Session(workspace="/w", grants=every_grant(asked, of)) for of in ("session", "another")
    )
    assert decided(asked, here).verdict is Verdict.ALLOW
    assert decided(asked, elsewhere).verdict is Verdict.ASK


def test_an_operation_granted_for_exact_arguments_does_not_stretch_to_others() -> None:
    session = approved(request("mail.send", args={"to": "darcy"}), "always")
    session = apply_effects(session, decided(request("mail.send", args={"to": "darcy"}), session).effects)
    assert decided(request("mail.send", args={"to": "darcy"}), session).rule == "operation_grant"
    assert decided(request("mail.send", args={"to": "everybody"}), session).verdict is Verdict.ASK


def test_an_allowlisted_command_covers_neither_a_longer_one_nor_another_workspace() -> None:
    player = Player(POLICY, start=NOW, workspace="/w")
    player.step({"hear": "Grant standing consent for: git push"})
    asked = {"operations": ["git.push"]}
    assert player.step({"call": {**asked, "command": "git push"}})["rule"] == "allowlist"
    for command in (
        "git push --force",
        "git push; rm -rf /",
        "a && git push",
        "git  push",
        "GIT PUSH",
        "git push\nid",
    ):
        assert player.step({"call": {**asked, "command": command}})["verdict"] == "ask"
    moved = msgspec.structs.replace(player.session, workspace="/v")
    call = Call("shell", command="git push", workspace="/v")
    assert decided(make_request(call, [Operation("git.push")]), moved).verdict is Verdict.ASK


def test_a_plan_covers_no_operation_or_target_it_did_not_name() -> None:
    player = Player(POLICY, start=NOW, workspace="/w")
    player.step({"hear": "tidy a.py"})
    player.step({"plan": {"targets": ["a.py"], "changes": ["rename it"], "operations": ["git.commit"]}})
    player.step({"hear": "yes"})
    assert isinstance(player.session.plan, Plan)
    assert player.step({"call": {"operations": ["git.commit"], "target": "a.py"}})["rule"] == "plan"
    assert player.step({"call": {"operations": ["git.commit"], "target": "/etc/passwd"}})["verdict"] == "ask"


@pytest.mark.parametrize("origin", ["subagent", "schedule", "user"])
def test_a_slash_command_serves_only_the_agent_the_user_talks_to(origin: str) -> None:
    player = Player(POLICY, start=NOW)
    player.step({"hear": "/commit"})
    assert player.step({"call": {"operations": ["git.commit"], "origin": origin}})["verdict"] == "ask"
    assert player.step({"call": {"operations": ["git.commit"]}})["rule"] == "slash_command"


# Answers


@pytest.mark.parametrize(
    "given", ["Once", "once ", "yes", "allow", "true", "", "always!", "deny\x00", "ONCE"]
)
def test_only_an_exact_answer_is_one(given: str) -> None:
    with pytest.raises(UnknownAnswer):
        approved(request("git.commit"), given)


def test_an_answer_wider_than_what_was_offered_is_refused() -> None:
    for given in ("task", "temporary", "always", "remember"):
        with pytest.raises(UnknownAnswer):
            approved(request("git.push"), given)


def test_a_question_that_was_never_opened_cannot_be_answered() -> None:
    with pytest.raises(UnknownAnswer):
        effects_of_answer(opened("git.push")[0], "once", POLICY, Session(turn=1), NOW)


def test_a_copy_of_an_open_question_with_wider_offers_or_another_call_gets_nothing_more() -> None:
    """What counts is the question that was opened, not the one that is handed back."""
    question, session = opened("git.push")
    wider = msgspec.structs.replace(question, offers=opened("git.commit")[0].offers)
    with pytest.raises(UnknownAnswer):
        effects_of_answer(wider, "always", POLICY, session, NOW)
    other = request("git.commit")
    swapped = msgspec.structs.replace(question, request=other)
    try:
        after = apply_effects(
            session, effects_of_answer(swapped, "once", POLICY, session, NOW, seen=question.request.digest)
        )
    except UnknownAnswer:
        return
    assert decided(other, after).verdict is Verdict.ASK


def opened(name: str) -> tuple[Question, Session]:
    session, asked = Session(turn=1), request(name)
    decision = with_offers(decide(asked, POLICY, View(session), NOW), asked, POLICY, View(session), NOW)
    question = find_or_open_question(decision, asked, POLICY, session, NOW)
    return question, apply_effects(session, effects_of_showing(question, session))
