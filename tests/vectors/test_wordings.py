"""Hundreds of wordings, each in the conversations where it matters: none is taken for anything it is not."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sayso.core.conversation.message import read_message
from sayso.core.text.phrases import Phrases
from tests.support.rows import each_row
from tests.support.wordings import (
    ADD,
    COMMIT,
    EDIT_A,
    EDIT_B,
    NPM_TEST,
    PLAN,
    PLAN_OF_STEPS,
    PUSH,
    STATUS,
    Step,
    edit,
    messages,
    play,
    said,
    verdict,
    with_senses,
)

TIGHTENING = (
    *("refusal", "prohibition", "forbids_elsewhere", "stop", "revoke_all", "clear_state", "correction"),
)
OTHERS = (
    *("revoke_push", "clear_allowlist", "query_allowlist", "query_consents", "switch", "done"),
    *("imperative", "nothing", "names_wrongly"),
)
GRANT = "Grant standing consent for: git push, npm test"
FOREIGN = Phrases(
    stop=("stopp", "halt", "arrête", "warte"),
    refuse=("nein", "non", "auf keinen Fall"),
    assent=("ja", "ja bitte", "sí", "si", "oui", "klar doch", "d'accord"),
)


@each_row("text", messages("messages", "assent"))
def test_a_clear_yes_answers_a_question_and_a_plan_and_grants_nothing_without_one(text: str) -> None:
    *_, heard, call = play("X", ADD, text, ADD)
    assert heard["kind"] == "assent"
    assert heard["answered"] == {"answer": "task"}
    assert call["verdict"] == "allow"
    assert [verdict("X", PLAN, text, each) for each in (EDIT_A, EDIT_B)] == ["allow", "allow"]
    assert verdict("X", text, ADD) == "ask"


@pytest.mark.parametrize("text", messages("messages", "names_push", "names_edit"))
def test_a_yes_with_an_act_never_answers_another_question_or_more_than_one_call(text: str) -> None:
    own, other = (PUSH, EDIT_B) if text in messages("messages", "names_push") else (EDIT_B, PUSH)
    *_, heard, call = play("X", own, text, own)
    assert heard["answered"] == {"answer": "once"}
    assert call["verdict"] == "allow"
    assert verdict("X", other, text, other) == "ask"
    assert verdict("X", text, own) == "ask"


@pytest.mark.parametrize("text", messages("messages", "names_doubtfully"))
def test_a_yes_that_may_mean_another_call_never_counts_before_it_was_asked_back(text: str) -> None:
    *_, heard, call = play("X", EDIT_B, text, EDIT_B)
    assert "Just to confirm" in said(heard)
    assert call["verdict"] == "ask"
    assert verdict("X", EDIT_B, text, "yes", EDIT_B) == "allow"


@each_row("text", messages("messages", "names_wrongly"))
def test_a_yes_with_more_than_its_act_never_lets_anything_run(text: str) -> None:
    assert [verdict("X", call, text, call) for call in (EDIT_B, PUSH)].count("allow") == 0
    assert verdict("X", EDIT_B, PUSH, text, PUSH) != "allow"


@each_row("name", ["src/a.py", "src/b.py", "a.py", "b.py"])
@each_row("text", ["only {}", "just {}", "{} only", "Only {}!", "just {} please"])
def test_a_limit_without_a_yes_answers_no_question_and_says_so(text: str, name: str) -> None:
    *_, heard, call = play("X", EDIT_B, text.format(name), EDIT_B)
    assert heard["answered"] is None
    assert "Nothing was answered" in said(heard)
    assert call["verdict"] == "ask"


@pytest.mark.parametrize("text", messages("messages", "once"))
def test_a_yes_for_once_never_covers_the_task(text: str) -> None:
    *_, heard, call, _, again = play("X", ADD, text, ADD, {"outcome": "ok"}, ADD)
    assert heard["answered"] == {"answer": "once"}
    assert (call["verdict"], again["verdict"]) == ("allow", "ask")
    assert verdict("X", PLAN, text, EDIT_A) == "ask"


@each_row("text", messages("messages", "medium"))
def test_a_hesitant_yes_never_counts_before_it_was_asked_back(text: str) -> None:
    *_, heard, again, call = play("X", ADD, text, text, ADD)
    assert heard["kind"] == "medium"
    assert heard["answered"] is None
    assert "Just to confirm" in said(heard)
    assert again["answered"] == {"answer": "task"}
    assert call["verdict"] == "allow"
    assert verdict("X", PLAN, text, EDIT_A) == "ask"
    assert verdict("X", PLAN, text, text, EDIT_A) == "allow"


@each_row("text", messages("messages", *TIGHTENING, *OTHERS))
def test_what_is_no_yes_never_lets_anything_run(text: str) -> None:
    assert verdict("X", PUSH, text, PUSH) != "allow"
    assert verdict("X", ADD, text, ADD) != "allow"
    assert verdict("X", PLAN, text, EDIT_B) != "allow"
    assert verdict("X", text, ADD) != "allow"


@each_row("text", messages("messages", "refusal"))
def test_a_no_is_never_taken_for_anything_else(text: str) -> None:
    *_, heard, call = play("X", ADD, text, ADD)
    assert heard["kind"] == "refusal"
    assert call["rule"] == "denied_call"
    assert verdict("X", PLAN, text, "yes", EDIT_B) == "ask"


@each_row("text", messages("messages", *TIGHTENING[1:]))
def test_what_takes_consent_back_never_leaves_any_for_the_task(text: str) -> None:
    assert verdict("X", ADD, "yes", text, ADD) == "ask"
    assert verdict("X", PLAN, "yes", text, EDIT_B) == "ask"
    assert verdict("X", PUSH, "yes", text, PUSH) == "ask"


@each_row("text", messages("messages", "switch", "done"))
def test_the_end_of_a_task_never_leaves_its_consent(text: str) -> None:
    *_, heard, call = play("X", ADD, "yes", text, ADD)
    assert heard["kind"] in ("switch", "done", "refusal", "correction")
    assert call["verdict"] == "ask"


@each_row("text", messages("messages", "prohibition", "stop", "revoke_all"))
def test_a_prohibition_stop_or_revocation_never_lets_standing_consent_run(text: str) -> None:
    assert verdict(GRANT, text, PUSH) == "ask"


@each_row("text", messages("messages", "prohibition"))
def test_a_forbidden_command_is_never_back_on_the_allowlist_in_the_next_turn(text: str) -> None:
    assert verdict(GRANT, text, "hm", PUSH) == "ask"


@each_row("text", messages("messages", "prohibition", "prohibition_later"))
def test_a_prohibition_never_leaves_a_standing_consent_of_long_ago(text: str) -> None:
    assert verdict(GRANT, "hm interesting", text.replace("↵", "\n"), "hm", PUSH) == "ask"


@each_row("text", messages("messages", "forbids_elsewhere", "edits_forbidden"))
def test_a_prohibition_of_edits_never_takes_the_last_yes_back_in_their_place(text: str) -> None:
    done: Step = {"outcome": "ok"}
    before = ("X", EDIT_B, "yes", EDIT_B, done, ADD, "yes", ADD, done)
    assert verdict(*before, text.replace("↵", "\n"), EDIT_B) == "ask"


@pytest.mark.parametrize("text", messages("messages", "entries_forbidden"))
def test_a_program_that_is_forbidden_never_runs_on_standing_consent(text: str) -> None:
    command, _, said_later = text.partition("; ")
    call: Step = {"call": {"operations": ["shell.run"], "command": command}}
    steps = (f"Grant standing consent for: {command}", "hm interesting", said_later, "hm", call)
    assert verdict(*steps) == "ask"


@each_row("text", messages("messages", "forbids_elsewhere"))
def test_a_prohibition_never_leaves_consent_to_edit_in_the_task(text: str) -> None:
    assert verdict("X", EDIT_B, "yes", text, EDIT_B) == "ask"


@each_row("text", messages("messages", "innocent"))
def test_a_message_about_the_work_never_takes_consent_back(text: str) -> None:
    *_, heard, call = play("X", ADD, "yes", text, ADD)
    assert heard["cleared"] == []
    assert call["verdict"] == "allow"
    assert verdict(GRANT, text, PUSH) == "allow"


@each_row("text", messages("messages", "innocent_later"))
def test_a_no_about_the_work_never_takes_an_earlier_yes_back(text: str) -> None:
    *_, heard, call = play("X", ADD, "yes", ADD, {"outcome": "ok"}, "hm interesting", text, ADD)
    assert heard["cleared"] == []
    assert call["verdict"] == "allow"


@each_row("text", ["no", "No!", "nope, sorry", *messages("messages", "unsaid")])
def test_a_bare_no_takes_an_earlier_yes_back(text: str) -> None:
    assert verdict("X", ADD, "yes", ADD, {"outcome": "ok"}, "hm interesting", text, ADD) == "ask"


@each_row("text", messages("messages", "revoke_push", "clear_allowlist"))
def test_a_command_taken_off_the_allowlist_is_never_there_afterwards(text: str) -> None:
    *_, heard, _, call = play(GRANT, text, "hm", PUSH)
    assert "Nothing was revoked" not in said(heard) or "npm test" in said(heard)
    assert call["verdict"] == "ask"


@each_row("text", messages("messages", "revoke_edit"))
def test_a_revocation_of_edits_never_leaves_consent_for_them(text: str) -> None:
    assert verdict("X", EDIT_B, "yes", text, EDIT_B) == "ask"


@each_row("text", messages("messages", "query_allowlist", "query_consents"))
def test_a_query_shows_the_lists_and_changes_nothing(text: str) -> None:
    *_, heard, call = play(GRANT, text, PUSH)
    assert "Session Allowlist:\n- git push (used 0 times)" in said(heard)
    assert call["rule"] == "allowlist"
    assert ("Current Workflow" in said(heard)) == (text in messages("messages", "query_consents"))


@each_row("text", messages("messages", "imperative"))
def test_an_order_lets_its_command_run_and_no_other(text: str) -> None:
    assert play("X", text, STATUS)[-1]["rule"] == "safe"
    assert verdict("X", text, PUSH) == "ask"


@each_row("text", messages("messages", "nothing"))
def test_what_says_nothing_never_changes_anything(text: str) -> None:
    *_, heard, call = play("X", ADD, "yes", text, ADD)
    assert heard["cleared"] == []
    assert call["verdict"] == "allow"
    assert verdict("X", text, STATUS) == "ask"


@each_row(("kept", "text"), with_senses("plans"))
def test_what_is_said_to_a_plan_never_keeps_more_than_it_means(kept: str, text: str) -> None:
    runs = {"a": {"a"}, "b": {"b"}, "both": {"a", "b"}, "nothing": set()}[kept]
    calls = {"a": EDIT_A, "b": EDIT_B}
    assert {name for name, call in calls.items() if verdict("X", PLAN, text, "yes", call) == "allow"} == runs
    if kept in "ab":  # restated, and not agreed to yet
        assert verdict("X", PLAN, text, calls[kept]) == "ask"


@each_row(("covers", "text"), with_senses("plan_texts"))
def test_what_a_plan_excludes_is_never_covered_by_a_yes(covers: str, text: str) -> None:
    steps = ("X", {"plan": text.replace("↵", "\n")}, "yes", "yes")
    calls = {"a": edit("a.py"), "b": edit("b.py")}
    runs = [name for name, call in calls.items() if verdict(*steps, call) == "allow"]
    assert " ".join(runs or ["nothing"]) == covers


@each_row(("kept", "text"), with_senses("plans3"))
def test_what_is_said_to_a_plan_of_several_steps_never_keeps_more_than_it_means(kept: str, text: str) -> None:
    calls = {"a": EDIT_A, "b": EDIT_B, "c": edit("src/c.py"), "commit": COMMIT, "test": NPM_TEST}
    runs = {name for name, call in calls.items() if verdict("X", PLAN_OF_STEPS, text, "yes", call) == "allow"}
    assert runs == set(kept.split())


@pytest.mark.parametrize(("asks", "text"), with_senses("plan_exclusions"))
def test_what_is_excluded_from_a_plan_never_runs_on_other_consent(asks: str, text: str) -> None:
    standing = "Grant standing consent for: git commit -m x, git push"
    calls = {"edit": EDIT_B, "commit": COMMIT, "push": PUSH}
    before = (standing, EDIT_B, "yes", EDIT_B, {"outcome": "ok"}, PLAN_OF_STEPS, text)
    asked = {name for name, call in calls.items() if verdict(*before, "yes", call) == "ask"}
    assert asked == ({asks} if asks != "nothing" else set())
    if asks in calls:
        assert verdict(*before, calls[asks]) == "ask"


@pytest.mark.parametrize("text", messages("messages", "refused_limits"))
def test_a_yes_with_a_limit_answers_no_question_and_says_so(text: str) -> None:
    *_, heard, call = play("X", PUSH, text, PUSH)
    assert said(heard)
    assert call["verdict"] == "ask"


@each_row(("outcome", "text"), with_senses("choices"))
def test_a_choice_among_questions_never_answers_another(outcome: str, text: str) -> None:
    heard = play("X", EDIT_A, PUSH, "yes", text)[-1]
    verdicts = [verdict("X", EDIT_A, PUSH, "yes", text, call) for call in (EDIT_A, PUSH)]
    results = [f"{each} {number}" for number, each in enumerate(verdicts, 1) if each != "ask"]
    if "Just to confirm" in said(heard):
        results.append("ask back 2")
        assert "git push" in said(heard)
    assert ", ".join(results or ["nothing"]) == outcome


@pytest.mark.parametrize("text", ["2", "git push", "the second"])
def test_a_hesitant_yes_and_a_bare_choice_never_answer_high_risk(text: str) -> None:
    *_, heard, call = play("X", EDIT_A, PUSH, "ok", text, PUSH)
    assert "Just to confirm" in said(heard)
    assert call["verdict"] == "ask"
    assert verdict("X", EDIT_A, PUSH, "ok", text, "yes", PUSH) == "allow"


@each_row("text", messages("choices"))
def test_a_choice_never_answers_where_nothing_was_asked(text: str) -> None:
    assert verdict("X", text, EDIT_A) == "ask"
    assert verdict("X", text, PUSH) == "ask"


@each_row(("sense", "text"), with_senses("languages"))
def test_words_of_other_languages_mean_what_the_operator_says_and_nothing_else(sense: str, text: str) -> None:
    message = read_message(text, (), FOREIGN)
    found = {"assent": message.assent == "high", "refusal": message.refusal, "stop": message.stop}
    assert [name for name, holds in found.items() if holds] == ([] if sense == "nothing" else [sense])


@each_row(("granted", "text"), with_senses("grants"))
def test_a_standing_grant_with_a_limit_never_grants_the_command(granted: str, text: str) -> None:
    assert verdict(text, PUSH) == ("allow" if granted == "git push" else "ask")
    assert ("(empty)" in said(play(text, "/allowlist")[-1])) == (granted == "nothing")


@each_row(("sense", "text"), with_senses("slashes"))
def test_a_sign_or_word_against_a_slash_command_never_lets_it_run(sense: str, text: str) -> None:
    assert verdict("X", f"/pr {text}", PUSH) == ("allow" if sense == "runs" else "ask")


def test_no_message_is_listed_under_two_senses() -> None:
    for file in (
        "messages",
        "plans",
        "plans3",
        "plan_texts",
        "choices",
        "languages",
        "grants",
        "slashes",
        "plan_exclusions",
    ):
        texts = sorted(text for _, text in with_senses(file))
        assert [one for one, next_one in pairwise(texts) if one == next_one] == []
