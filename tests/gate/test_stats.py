"""The figures of `sayso stats`, each from a session made so that it has one known value."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sayso.core.audit.events import BY_RULE, DECISIONS, event_of
from sayso.core.decision import Decision, Item, Ruling
from sayso.core.model import Operation, Request, Risk, Verdict
from sayso.core.session import Scope
from sayso.gate.deciding.authorize import authorize, record_decision
from sayso.gate.deciding.request import make_call, make_request
from sayso.gate.figures.charts import compute_figures_and_charts
from sayso.gate.figures.figures import Figures, compute_figures
from sayso.gate.gate import Gate, with_policy, writing
from sayso.gate.questions.expiry import expire_questions
from sayso.gate.sessions.messages import record_message, record_task_start
from sayso.gate.sessions.operator_grants import give_grant
from sayso.gate.sessions.sessions import open_session
from sayso.gate.words import SURFACE_TEST, doctor_name
from sayso.policy import load_text
from tests.support.answers import answer_question
from tests.support.asking import approve, edit
from tests.support.gates import Clock


def command(session: str, line: str = "git push", operation: str = "git.push") -> Request:
    return make_request(make_call("shell", {}, command=line), [Operation(operation)], session=session)


def decided(verdict: Verdict, rule: str) -> Decision:
    ruling = Ruling(verdict, rule, "a test")
    item = Item("git.push", "git.push", "git", Risk.HIGH, Risk.HIGH, Risk.HIGH, ruling)
    return Decision(verdict, rule, "a test", None, (item,), (), ())


def test_without_decisions_there_is_nothing_to_measure(gate: Gate) -> None:
    assert compute_figures(gate) == Figures(0, 0, 0, 0, 0, 0, None, 0, None, {}, None, None, None, 0, 0, 0, 0)


def test_a_call_that_joins_its_open_question_is_no_second_prompt(
    gate: Gate, session: str, clock: Clock
) -> None:
    for _ in range(3):
        authorize(gate, edit(session))
        clock.now += 1
    found = compute_figures(gate)
    assert (found.asked, found.prompts, found.decisions) == (3, 1, 3)


def test_prompts_are_counted_by_category_and_task_with_high_risk_aside(gate: Gate, session: str) -> None:
    record_task_start(gate, session, "one")
    approve(gate, edit(session), "task")
    authorize(gate, edit(session, "b.py"))
    approve(gate, command(session), "once")
    record_task_start(gate, session, "two")
    for target in ("a.py", "b.py", "c.py"):
        approve(gate, edit(session, target), "deny")
    found = compute_figures(gate)
    assert (found.prompts_per_category_per_task, found.most_prompts_in_a_category_of_a_task) == (2.0, 3)


def test_high_risk_that_ran_unasked_lowers_the_share_and_is_named(gate: Gate, session: str) -> None:
    approve(gate, command(session), "once")
    assert authorize(gate, command(session)).decision.rule == "approved_call"
    assert compute_figures(gate).high_risk_asked == 1.0
    record_message(gate, session, "Grant standing consent for: git push")
    for _ in range(3):
        authorize(gate, command(session))
    found = compute_figures(gate)
    assert (found.high_risk_asked, found.high_risk_unasked) == (0.25, {"allowlist": 3})


def test_repeated_commands_count_as_covered_by_the_allowlist_or_as_asked_again(
    gate: Gate, session: str
) -> None:
    for _ in range(2):
        approve(gate, command(session), "once")
        authorize(gate, command(session))
    approve(gate, edit(session), "once")
    assert compute_figures(gate).repeated_commands_on_allowlist == 0.0
    record_message(gate, session, "Grant standing consent for: git push, git fetch")
    for line in ("git push", "git push", "git push", "git fetch"):
        authorize(gate, command(session, line))
    assert compute_figures(gate).repeated_commands_on_allowlist == 0.75


def test_avoided_are_the_calls_that_an_earlier_consent_covered(gate: Gate, session: str) -> None:
    give_grant(gate, session, operation="files.edit", by="ana")
    for target in ("a.py", "b.py"):
        authorize(gate, edit(session, target))
    approve(gate, command(session), "once")
    authorize(gate, command(session))
    found = compute_figures(gate)
    assert (found.prompts, found.avoided, found.allowed) == (1, 2, 3)


def test_prompts_per_hour_counts_the_hours_in_which_anything_was_decided(
    gate: Gate, session: str, clock: Clock
) -> None:
    for hours in (0, 1, 100):
        authorize(gate, edit(session, f"{hours}.py"))
        authorize(gate, edit(session, f"{hours}-too.py"))
        clock.now += hours * 3_600
    authorize(gate, edit(session, "last.py"))
    assert compute_figures(gate).prompts_per_hour == pytest.approx(7 / 3)


def test_times_to_answer_give_a_median_and_those_nobody_can_read_in(
    gate: Gate, session: str, clock: Clock
) -> None:
    for number, seconds in enumerate((0.5, 0.999, 1.0, 8.0, 60.0)):
        question = authorize(gate, edit(session, f"{number}.py")).question
        assert question is not None
        clock.now += seconds
        answer_question(gate, question.id, "deny", by="ana")
    found = compute_figures(gate)
    assert found.median_time_to_answer == pytest.approx(1.0)
    assert (found.answers, found.answers_too_fast) == (5, 2)


def test_a_question_counts_as_expired_whether_or_not_somebody_closed_it(
    gate: Gate, session: str, clock: Clock
) -> None:
    authorize(gate, edit(session))
    assert compute_figures(gate).expired == 0
    clock.now += 7_200
    assert compute_figures(gate).expired == 1
    expire_questions(gate)
    assert compute_figures(gate).expired == 1


def test_the_figures_can_be_of_one_session_and_of_recent_times(
    gate: Gate, session: str, clock: Clock
) -> None:
    other = open_session(gate, agent="other", owner="host")
    authorize(gate, edit(session))
    clock.now += 3_600
    authorize(gate, edit(other))
    assert (compute_figures(gate).prompts, compute_figures(gate, session=other).prompts) == (2, 1)
    assert compute_figures(gate, session=other).decisions == 1
    assert compute_figures(gate, since=clock.now).decisions == 1
    assert compute_figures(gate, since=clock.now).prompts == 1


def test_entries_whose_bodies_were_pruned_are_left_out_and_said_to_be(gate: Gate, session: str) -> None:
    for target in ("a.py", "b.py"):
        authorize(gate, edit(session, target))
    with gate.store.write() as tx:
        newest = tx.head("main")
        assert newest is not None
        tx.prune_entries("main", before=newest.seq)
    found = compute_figures(gate)
    assert (found.decisions, found.pruned) == (1, 1)


def test_one_that_cannot_be_read_is_left_out_and_said_to_be(gate: Gate, session: str) -> None:
    authorize(gate, edit(session))
    with gate.store.write() as tx:
        newest = tx.head("main")
        assert newest is not None
        tx.add_entry(replace(newest, seq=newest.seq + 1, body=b"{}", prev=newest.hash, hash=bytes(32)))
    found = compute_figures(gate)
    assert (found.decisions, found.pruned) == (1, 1)


def test_figures_with_charts_are_the_same_figures(gate: Gate, session: str, clock: Clock) -> None:
    approve(gate, edit(session), "once")
    clock.now += 4_000
    authorize(gate, command(session))
    for since in (0.0, clock.now - 100):
        assert compute_figures_and_charts(gate, since=since)[0] == compute_figures(gate, since=since)


def test_answers_are_told_by_agent_and_by_category(gate: Gate, clock: Clock) -> None:
    def asked(agent: str, session: str, operation: str, path: str, seconds: float) -> None:
        call = make_call("tool", {"path": path})
        request = make_request(call, [Operation(operation)], session=session, agent=agent)
        question = authorize(gate, request).question
        assert question is not None
        clock.now += seconds
        answer_question(gate, question.id, "deny", by="ana")

    one, two = (open_session(gate, agent=agent, owner="host") for agent in ("one", "two"))
    for number, seconds in enumerate((0.5, 0.9, 30.0)):
        asked("one", one, "files.edit", f"{number}", seconds)
    asked("one", one, "git.push", "x", 60.0)
    asked("two", two, "git.push", "x", 90.0)
    waits = make_request(make_call("tool", {}), [Operation("git.push")], session=two, agent="two")
    authorize(gate, waits)
    _, charts = compute_figures_and_charts(gate)
    told: dict[str, object] = {
        tally.name: (tally.prompts, tally.answers, tally.median_time_to_answer, tally.answers_too_fast)
        for tally in (*charts.agents, *charts.categories)
    }
    assert told == {
        "one": (4, 4, pytest.approx(15.45), 2),
        "two": (2, 1, pytest.approx(90.0), 0),
        "file-edit": (3, 3, pytest.approx(0.9), 2),
        "git-remote": (3, 2, pytest.approx(75.0), 0),
    }
    assert sum(tally.prompts for tally in charts.hours) == 6


def test_an_operation_in_two_categories_of_a_question_counts_in_both(gate: Gate, session: str) -> None:
    both = [Operation("files.edit"), Operation("git.push")]
    authorize(gate, make_request(make_call("tool", {}), both, session=session))
    _, charts = compute_figures_and_charts(gate)
    assert {tally.name: tally.prompts for tally in charts.categories} == {"file-edit": 1, "git-remote": 1}


def test_questions_of_a_category_that_the_policy_renamed_are_not_lost(gate: Gate, session: str) -> None:
    authorize(gate, make_request(make_call("tool", {}), [Operation("git.push")], session=session))
    renamed = load_text("extends: [chat]\ncategories: {far: far}\noperations: {git.push: {category: far}}\n")
    _, charts = compute_figures_and_charts(with_policy(gate, renamed))
    assert {one.name: (one.asked, one.prompts) for one in charts.categories} == {
        "far": (1, 0),
        "git-remote": (0, 1),
    }


def test_an_event_that_records_a_decision_is_in_the_list_of_them() -> None:
    rules = (*BY_RULE, "ask")
    assert {event_of(decided(verdict, rule)).event for verdict in Verdict for rule in rules} == set(DECISIONS)


@pytest.mark.parametrize("rule", BY_RULE)
def test_no_allow_is_left_out_of_the_figures_for_having_an_event_of_its_own(
    gate: Gate, session: str, rule: str
) -> None:
    request = command(session)
    for _ in range(3):
        with writing(gate) as tx:
            record_decision(gate, tx, request, decided(Verdict.ALLOW, rule))
    found, charts = compute_figures_and_charts(gate)
    assert (found.decisions, found.allowed, found.high_risk_unasked) == (3, 3, {rule: 3})
    assert found.high_risk_asked == 0
    assert [one.allowed for one in (*charts.hours, *charts.agents, *charts.categories)] == [3, 3, 3]


def test_a_click_of_the_users_own_is_counted_like_any_decision(gate: Gate, session: str) -> None:
    for _ in range(3):
        authorize(gate, command(session), Scope(user_initiated="git.push"))
    found = compute_figures(gate)
    assert (found.decisions, found.allowed, found.high_risk_unasked) == (3, 3, {"user_initiated": 3})


def test_every_figure_of_a_history_that_was_counted_by_hand(gate: Gate, session: str, clock: Clock) -> None:
    record_task_start(gate, session, "one")
    asked = authorize(gate, edit(session)).question
    assert asked is not None
    clock.now += 10
    answer_question(gate, asked.id, "task", by="ana")  # 1st question, answered after 10 s
    for target in ("a.py", "b.py", "c.py"):
        authorize(gate, edit(session, target))  # the approval itself, and 2 that the task's consent covers
    pushed = authorize(gate, command(session)).question
    assert pushed is not None
    clock.now += 0.5
    answer_question(gate, pushed.id, "once", by="ana")  # 2nd question, high risk, answered too fast
    authorize(gate, command(session))  # runs on its approval
    authorize(gate, command(session))  # 3rd question, for a command seen before
    clock.now += 3 * 3_600
    expire_questions(gate)  # nobody answered it
    record_message(gate, session, "Grant standing consent for: git push")
    authorize(gate, command(session))  # the allowlist covers it: high risk, unasked
    found = compute_figures(gate)
    assert (found.decisions, found.allowed, found.asked, found.denied) == (8, 5, 3, 0)
    assert (found.prompts, found.avoided) == (3, 3)
    assert (found.prompts_per_category_per_task, found.most_prompts_in_a_category_of_a_task) == (1.0, 1)
    assert found.high_risk_asked == pytest.approx(2 / 3)
    assert found.high_risk_unasked == {"allowlist": 1}
    assert found.repeated_commands_on_allowlist == 0.5
    assert found.prompts_per_hour == 1.5
    assert (found.answers, found.median_time_to_answer, found.answers_too_fast) == (2, 5.25, 1)
    assert found.expired == 1
    assert (found.rated, found.rated_clear) == (0, None)


def test_what_sayso_tries_by_itself_is_no_decision_or_question_of_an_agent(gate: Gate, session: str) -> None:
    """The canaries of the doctor, and the questions of `sayso surfaces test`."""
    authorize(gate, edit(session))
    real, charts = compute_figures_and_charts(gate)
    doctor = open_session(gate, agent=doctor_name("claude-code"), owner="host")
    never = Operation("self_modification.modify_soul_md")
    blocked = make_request(make_call("Write", {}), [never], session=doctor)
    assert authorize(gate, replace(blocked, agent=doctor_name("claude-code"))).decision.rule == "blocked"
    tried = open_session(gate, agent=SURFACE_TEST, owner="operator")
    test = make_request(make_call("test", {}), [Operation("sayso.test_surface")], session=tried)
    question = authorize(gate, replace(test, agent=SURFACE_TEST)).question
    assert question is not None
    answer_question(gate, question.id, "once", by="ana")
    found, after = compute_figures_and_charts(gate)
    assert (found.decisions, found.denied, found.prompts, found.answers) == (real.decisions, 0, 1, 0)
    assert found == real
    assert (after.agents, after.hours) == (charts.agents, charts.hours)
    assert "sayso.test_surface" not in {one.name for one in after.categories}


def test_an_agent_that_takes_such_a_name_hides_nothing_that_ran(gate: Gate) -> None:
    session = open_session(gate, agent=SURFACE_TEST, owner="host")
    with writing(gate) as tx:
        made = replace(edit(session), agent=SURFACE_TEST)
        record_decision(gate, tx, made, decided(Verdict.ALLOW, "autonomous"))
    found = compute_figures(gate)
    assert (found.decisions, found.allowed, found.high_risk_unasked) == (1, 1, {"autonomous": 1})
