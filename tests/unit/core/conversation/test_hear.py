"""Hearing a message: what a hook only claims, what is told, when a task begins."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sayso.core.conversation.consents import list_allowlist_entries, list_category_grants
from sayso.core.conversation.hear import hear_text
from sayso.core.conversation.hearing import Heard
from sayso.core.effects import GrantRevoked, MessageClaimed
from sayso.core.grants import Grant, HeldGrant, Pins
from sayso.core.model import Assurance, Risk
from sayso.core.policy import Domain, SlashCommand, compile_policy
from sayso.core.session import PendingPrompt, Plan, Session, Task, apply_effects
from sayso.core.session.plan_text import PlanText

NOW = 1_800_000_000.0
POLICY = compile_policy(
    domains={"git": Domain(requires_approval=("commit",))},
    slash_commands={"/commit": SlashCommand(("git.commit",)), "/allowlist": SlashCommand(query="allowlist")},
)
TASK = Task("session.t1", "work", 1, 4)


def heard(session: Session, text: str, **how: Any) -> tuple[Heard, Session]:
    told = hear_text(session, text, POLICY, NOW, **how)
    return told, apply_effects(session, told.effects)


def entry(name: str, command: str, workspace: str = "/w", **fields: Any) -> HeldGrant:
    given = Grant(name, "command", command, Risk.LOW, NOW + 60, "session", Pins(workspace=workspace))
    return HeldGrant(msgspec.structs.replace(given, **fields))


def listing(*entries: HeldGrant, **fields: Any) -> Session:
    rows: dict[tuple[str, str], tuple[HeldGrant, ...]] = {}
    for each in entries:
        rows[each.grant.key] = (*rows.get(each.grant.key, ()), each)
    return Session(workspace="/w", turn=4, grants=rows, **fields)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Grant standing consent for: git push", "grant"),
        ("/commit", "slash"),
        ("yes", "assent"),
        ("ok", "medium"),
        ("yes, but skip the tests", "modify"),
        ("please run `git status`", "imperative"),
        ("fix the parser", None),
    ],
)
def test_what_a_hook_claims_the_user_allowed_is_put_to_the_operator(text: str, kind: str | None) -> None:
    told, after = heard(Session(), text, assurance=Assurance.CLAIMED)
    claimed = [effect for effect in told.effects if isinstance(effect, MessageClaimed)]
    assert claimed == ([] if kind is None else [MessageClaimed(text, kind)])
    assert bool([line for line in told.did if line.startswith("claimed only")]) is bool(claimed)
    assert (after.all_grants, after.slash, after.imperatives) == ((), None, ())


def test_a_stop_is_told_to_be_lifted_by_what_lifts_it_and_by_nothing_else() -> None:
    _, stopped = heard(Session(), "stop")
    assert "the stop is lifted" not in heard(stopped, "stop")[0].did
    assert "the stop is lifted" in heard(stopped, "fix the parser")[0].did
    assert "the stop is lifted" not in heard(Session(), "fix the parser")[0].did


def test_what_stands_for_this_turn_is_told() -> None:
    told, after = heard(Session(), "/commit")
    assert "/commit stands for this turn" in told.did
    assert after.slash == "/commit"
    told, after = heard(Session(), "please run `git status`")
    assert (told.did, after.imperatives) == ((), ("git status",))


def test_what_was_idle_or_never_started_is_told_to_have_ended() -> None:
    idle, _ = heard(Session(turn=30, task=TASK, tasks=1), "fix the parser")
    assert "task and plan consent, unused approvals (idle)" in idle.cleared
    plan = Plan("session.p1", PlanText("a plan"), 2, 2, accepted=True)
    late, _ = heard(Session(turn=6, plan=plan, task=TASK, tasks=1), "fix the parser")
    assert late.cleared == ("plan consent (not started within 3 turns)",)
    assert late.announced == ("The plan was not started in time, clearing its consent",)


# The allowlist


def test_the_allowlist_is_what_is_live_in_this_workspace() -> None:
    here, there = entry("g1", "git push"), entry("g2", "git push", "/v")
    over = entry("g3", "git status", expires_at=NOW)
    other = HeldGrant(Grant("g4", "operation", "git.commit", Risk.LOW, NOW + 60, "session"))
    session = listing(here, there, over, other)
    assert list_allowlist_entries(session, NOW) == [here]


def test_a_revoked_command_is_revoked_in_every_workspace_and_an_unknown_one_is_said_to_be_none() -> None:
    session = listing(entry("g1", "git push"), entry("g2", "git push", "/v"), entry("g3", "git status"))
    told, after = heard(session, "Revoke consent for: git push")
    revoked = [effect for effect in told.effects if isinstance(effect, GrantRevoked)]
    assert [effect.grant for effect in revoked] == ["g1", "g2"]
    assert told.cleared == ("standing consent for git push",)
    assert [held.grant.id for held in after.all_grants if not held.revoked] == ["g3"]
    assert told.announced == ("Session Allowlist:\n- git status (low, used 0 times)",)
    told, _ = heard(session, "Revoke consent for: git fetch")
    assert told.cleared == ()
    assert "no standing consent for git fetch" in told.did


def test_clearing_the_allowlist_shows_it_empty() -> None:
    told, after = heard(listing(entry("g1", "git push")), "Clear session allowlist")
    assert after.all_grants == ()
    assert told.announced == ("Session allowlist cleared", "Session Allowlist:\n(empty)")


def test_revoking_all_consent_shows_the_empty_allowlist() -> None:
    told, after = heard(listing(entry("g1", "git push"), task=TASK), "Revoke all consent")
    assert after.all_grants == ()
    assert told.announced == ("All consent revoked", "Session Allowlist:\n(empty)")


def test_granting_what_stands_on_the_list_already_shows_the_list_with_risks() -> None:
    told, after = heard(listing(entry("g1", "git push")), "Grant standing consent for: git push")
    assert [held.grant.id for held in after.all_grants] == ["g1"]
    assert told.announced == ("Session Allowlist:\n- git push (low, used 0 times)",)
    assert "standing consent granted" in told.did


def test_a_query_shows_the_list_without_risks_and_on_request_the_consents_of_the_task() -> None:
    session = listing(entry("g1", "git push"), task=TASK, tasks=1)
    told, _ = heard(session, "/allowlist")
    assert told.announced == ("Session Allowlist:\n- git push (used 0 times)",)
    (everything,) = heard(session, "What have I consented to?")[0].announced
    assert everything.startswith('Session Allowlist:\n- git push (used 0 times)\n\nCurrent Workflow: "work"')
    assert everything.endswith('To revoke: "Revoke consent for: <command>" or "Revoke all consent"')


# Tasks


def of_the_task(task: str, **fields: Any) -> HeldGrant:
    given = Grant(
        "g1", "category", "git-local", Risk.MODERATE, NOW + 60, "session", ends_with="task", bound_to=task
    )
    return HeldGrant(msgspec.structs.replace(given, **fields))


def test_consented_to_is_what_is_live_and_was_given_in_this_task() -> None:
    good = of_the_task(TASK.id)
    assert list_category_grants(listing(good, task=TASK), NOW) == [good.grant]
    assert list_category_grants(listing(good), NOW) == []
    assert list_category_grants(listing(of_the_task("session.t0"), task=TASK), NOW) == []
    assert list_category_grants(listing(of_the_task(TASK.id, expires_at=NOW), task=TASK), NOW) == []
    assert list_category_grants(listing(of_the_task(TASK.id, kind="operation"), task=TASK), NOW) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("fix   the\nparser", "fix the parser"),
        ("yes", "task 1"),
        ("f" * 70, "f" * 60),
    ],
)
def test_a_message_without_a_task_begins_one_named_after_it(text: str, name: str) -> None:
    _, after = heard(Session(turn=4), text)
    assert after.task == Task("session.t1", name, 5, 5)
    assert after.tasks == 1


@pytest.mark.parametrize(("text", "same"), [("stop", True), ("that's wrong", True), ("done", False)])
def test_after_a_stop_or_a_correction_the_same_work_goes_on_as_a_new_task(text: str, same: bool) -> None:
    _, after = heard(Session(turn=4, task=TASK, tasks=1), text)
    assert after.task is not None
    assert after.task.id == "session.t2"
    assert (after.task.name == "work") is same


@pytest.mark.parametrize(("turn", "asks"), [(25, True), (24, False), (26, False), (50, True), (0, False)])
def test_every_25_turns_a_task_with_consents_has_to_be_confirmed(turn: int, asks: bool) -> None:
    task = msgspec.structs.replace(TASK, active=turn)
    session = msgspec.structs.replace(listing(of_the_task(TASK.id), task=task, tasks=1), turn=turn)
    told, after = heard(session, "fix the parser")
    assert after.task is not None
    assert after.task.unconfirmed is asks
    assert (after.pending == PendingPrompt("still", turn + 1)) is asks
    assert ("Still working on work, consent still valid?" in told.announced) is asks
    without = Session(turn=turn, task=task, tasks=1)
    assert heard(without, "fix the parser")[1].pending is None


def test_a_slash_command_can_query_and_without_a_task_there_is_none_to_show() -> None:
    policy = msgspec.structs.replace(POLICY, slash_commands={"/mine": SlashCommand(query="consents")})
    (shown,) = hear_text(Session(), "/mine", policy, NOW).announced
    assert 'Current Workflow: "none"' in shown


def test_a_list_that_cannot_be_taken_as_it_stands_is_told() -> None:
    told, after = heard(Session(), "Grant standing consent for:")
    assert after.all_grants == ()
    assert told.announced


def test_a_new_topic_names_the_task() -> None:
    _, after = heard(Session(turn=4, task=TASK, tasks=1), f"actually, let's work on {'d' * 70} instead")
    assert after.task is not None
    assert (after.task.id, len(after.task.name)) == ("session.t2", 60)
    assert "d" * 50 in after.task.name
