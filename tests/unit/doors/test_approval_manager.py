"""`ApprovalManager`: seed 004's table, flow chart and session memory, and every answer that is no yes."""

from __future__ import annotations

import contextlib
import enum
import inspect
import logging
import threading
from collections.abc import Callable
from typing import Any, assert_type

import pytest

from sayso import ApprovalManager, ApprovalMode, RiskLevel, SaysoError
from sayso.core.model import Mode, Risk
from sayso.doors.approval_manager import Prompt
from tests.support.rows import each_row

PARANOID, BALANCED, TRUSTING = ApprovalMode.PARANOID, ApprovalMode.BALANCED, ApprovalMode.TRUSTING
SAFE, MEDIUM, HIGH = RiskLevel.SAFE, RiskLevel.MEDIUM, RiskLevel.HIGH
ARGS = {"remote": "origin", "branch": "main"}
OTHER = {"remote": "origin", "branch": "release"}


class Person:
    """Answers every question alike, and counts them."""

    def __init__(self, says: Any) -> None:
        self.says = says
        self.asked: list[Prompt] = []

    def __call__(self, prompt: Prompt) -> Any:
        self.asked.append(prompt)
        return self.says() if callable(self.says) else self.says


def fails() -> None:
    raise RuntimeError("the window was closed")


async def later() -> bool:
    return True


class Truthy:
    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


NO_YES: dict[str, Any] = {
    "False": False,
    "None": None,
    "1": 1,
    "1.0": 1.0,
    "y": "y",
    "True as text": "True",
    "raises": fails,
    "a coroutine": later,
    "a list": [True],
    "whatever equals True": Truthy(),
}

TABLE = [
    # mode, risk, asked at the first use, the second use with the same arguments, and with others
    (PARANOID, SAFE, True, True, True),
    (PARANOID, MEDIUM, True, True, True),
    (PARANOID, HIGH, True, True, True),
    (BALANCED, SAFE, False, False, False),
    (BALANCED, MEDIUM, True, True, True),
    (BALANCED, HIGH, True, True, True),
    (TRUSTING, SAFE, True, False, False),
    (TRUSTING, MEDIUM, True, False, False),
    (TRUSTING, HIGH, True, False, True),
]
CELLS = [(mode, risk) for mode, risk, *_ in TABLE]


@pytest.mark.parametrize(("mode", "risk", "first", "again", "other"), TABLE)
def test_with_a_yes_every_cell_of_the_table_runs_and_asks_as_the_table_says(
    mode: ApprovalMode, risk: RiskLevel, first: bool, again: bool, other: bool
) -> None:
    person = Person(True)
    manager = ApprovalManager(mode, person)
    asked = []
    for args in (ARGS, ARGS, OTHER):
        before = len(person.asked)
        assert manager.request_approval("git_push", args, risk) is True
        asked.append(len(person.asked) > before)
    assert asked == [first, again, other]


@each_row("answer", NO_YES.values(), ids=NO_YES.keys())
@each_row(("mode", "risk"), CELLS)
def test_only_true_approves_in_every_cell_of_the_table(
    mode: ApprovalMode, risk: RiskLevel, answer: Any
) -> None:
    person = Person(answer)
    manager = ApprovalManager(mode, person)
    unasked = (mode, risk) == (BALANCED, SAFE)
    for times in (1, 2):
        assert manager.request_approval("git_push", ARGS, risk) is unasked
        assert len(person.asked) == (0 if unasked else times), "a no is not remembered either"
    assert manager.session_approvals == set()


@pytest.mark.parametrize(("mode", "risk"), CELLS)
def test_without_a_callback_nothing_runs_but_safe_in_balanced(mode: ApprovalMode, risk: RiskLevel) -> None:
    manager = ApprovalManager(mode, None)
    assert [manager.request_approval("git_push", ARGS, risk) for _ in range(2)] == (
        [True, True] if (mode, risk) == (BALANCED, SAFE) else [False, False]
    )


def test_a_denial_is_asked_again_and_a_later_yes_counts() -> None:
    person = Person(False)
    manager = ApprovalManager(TRUSTING, person)
    assert manager.request_approval("write_file", ARGS, MEDIUM) is False
    person.says = True
    assert manager.request_approval("write_file", ARGS, MEDIUM) is True
    assert len(person.asked) == 2


def test_what_was_once_approved_in_balanced_is_not_remembered_in_trusting() -> None:
    person = Person(True)
    manager = ApprovalManager(BALANCED, person)
    manager.request_approval("write_file", ARGS, MEDIUM)
    manager.mode = TRUSTING
    person.says = False
    assert manager.request_approval("write_file", ARGS, MEDIUM) is False


def test_what_trusting_remembers_does_not_serve_in_paranoid() -> None:
    person = Person(True)
    manager = ApprovalManager(TRUSTING, person)
    manager.request_approval("write_file", ARGS, MEDIUM)
    manager.mode = PARANOID
    person.says = False
    assert manager.mode is PARANOID
    assert manager.request_approval("write_file", ARGS, MEDIUM) is False


def test_a_tool_is_remembered_by_its_exact_name() -> None:
    person = Person(True)
    manager = ApprovalManager(TRUSTING, person)
    manager.request_approval("write_file", ARGS, MEDIUM)
    person.says = False
    for name in ("write_fil", "write_file2", "Write_File", "write_file.x", "tools.write_file"):
        assert manager.request_approval(name, ARGS, MEDIUM) is False


def test_what_is_remembered_covers_its_own_risk_and_below_never_above() -> None:
    person = Person(True)
    manager = ApprovalManager(TRUSTING, person)
    manager.request_approval("tool", ARGS, SAFE)
    person.says = False
    assert manager.request_approval("tool", ARGS, MEDIUM) is False
    assert manager.request_approval("tool", ARGS, HIGH) is False
    person.says = True
    manager.request_approval("tool", ARGS, MEDIUM)
    person.says = False
    assert manager.request_approval("tool", OTHER, SAFE) is True
    assert manager.request_approval("tool", OTHER, HIGH) is False


# --- session memory ---


def test_session_approvals_names_tools_and_at_high_risk_their_arguments_too() -> None:
    manager = ApprovalManager(TRUSTING, Person(True))
    assert manager.session_approvals == set()
    manager.request_approval("write_file", ARGS, MEDIUM)
    assert manager.session_approvals == {"write_file"}
    manager.request_approval("git_push", ARGS, HIGH)
    manager.request_approval("git_push", OTHER, HIGH)
    names = sorted(manager.session_approvals)
    assert names[2] == "write_file"
    assert [name.partition("#")[0] for name in names[:2]] == ["git_push", "git_push"]
    assert all(len(name.partition("#")[2]) == 64 for name in names[:2])


@pytest.mark.parametrize("mode", [PARANOID, BALANCED])
def test_only_trusting_remembers(mode: ApprovalMode) -> None:
    manager = ApprovalManager(mode, Person(True))
    manager.request_approval("write_file", ARGS, MEDIUM)
    assert manager.session_approvals == set()


def test_a_name_put_in_by_hand_grants_nothing() -> None:
    manager = ApprovalManager(TRUSTING, Person(False))
    held: Any = manager.session_approvals
    with pytest.raises(AttributeError):
        held.add("write_file")
    with pytest.raises(AttributeError):
        setattr(manager, "session_approvals", {"write_file"})  # noqa: B010  mypy would refuse the plain spelling
    held |= {"write_file"}
    assert manager.request_approval("write_file", ARGS, MEDIUM) is False


def test_clearing_the_session_forgets_everything() -> None:
    person = Person(True)
    manager = ApprovalManager(TRUSTING, person)
    manager.request_approval("write_file", ARGS, MEDIUM)
    manager.request_approval("git_push", ARGS, HIGH)
    assert_type(manager.clear_session(), None)
    assert manager.session_approvals == set()
    person.says = False
    assert manager.request_approval("write_file", ARGS, MEDIUM) is False
    assert manager.request_approval("git_push", ARGS, HIGH) is False


def test_a_new_manager_starts_clean() -> None:
    ApprovalManager(TRUSTING, Person(True)).request_approval("write_file", ARGS, MEDIUM)
    assert ApprovalManager(TRUSTING, Person(False)).request_approval("write_file", ARGS, MEDIUM) is False


def test_a_yes_to_a_question_from_before_a_clearing_approves_nothing() -> None:
    def clear_and_agree(prompt: Prompt) -> bool:
        manager.clear_session()
        return True

    manager = ApprovalManager(TRUSTING, clear_and_agree)
    assert manager.request_approval("write_file", ARGS, MEDIUM) is False
    assert manager.session_approvals == set()


def test_what_is_remembered_lives_a_day_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(True)
    manager = ApprovalManager(TRUSTING, person)
    monkeypatch.setattr("time.monotonic", lambda: 1_000.0)
    manager.request_approval("write_file", ARGS, MEDIUM)
    person.says = False
    monkeypatch.setattr("time.monotonic", lambda: 1_000.0 + 86_399)
    assert manager.request_approval("write_file", ARGS, MEDIUM) is True
    monkeypatch.setattr("time.monotonic", lambda: 1_000.0 + 86_400)
    assert manager.session_approvals == set()
    assert manager.request_approval("write_file", ARGS, MEDIUM) is False


def test_a_yes_two_hours_late_approves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def comes_back_late(prompt: Prompt) -> bool:
        monkeypatch.setattr("time.monotonic", lambda: 1_000.0 + 7_200)
        return True

    monkeypatch.setattr("time.monotonic", lambda: 1_000.0)
    manager = ApprovalManager(TRUSTING, comes_back_late)
    assert manager.request_approval("write_file", ARGS, MEDIUM) is False
    assert manager.session_approvals == set()


def test_a_tool_named_by_a_member_of_an_enum_is_the_tool_of_that_name() -> None:
    class Tool(str, enum.Enum):  # noqa: UP042  its str() is not its value, which is the point
        WRITE = "write_file"

    manager = ApprovalManager(TRUSTING, Person(True))
    manager.request_approval(Tool.WRITE, ARGS, MEDIUM)
    manager.ui_callback = Person(False)
    assert manager.request_approval("write_file", ARGS, MEDIUM) is True


def test_a_callback_that_asks_for_another_tool_first_gives_each_its_own_answer() -> None:
    def asks_back(prompt: Prompt) -> bool:
        return prompt.tool == "outer" and not manager.request_approval("inner", {}, MEDIUM)

    manager = ApprovalManager(TRUSTING, asks_back)
    assert manager.request_approval("outer", {}, MEDIUM) is True
    assert manager.session_approvals == {"outer"}


def test_a_callback_that_asks_itself_for_ever_ends_as_a_no() -> None:
    manager = ApprovalManager(TRUSTING, lambda prompt: manager.request_approval("tool", {}, HIGH))
    assert manager.request_approval("tool", {}, HIGH) is False
    assert manager.session_approvals == set()


def test_an_interrupt_while_asking_goes_on_and_leaves_nothing_open() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    person = Person(interrupted)
    manager = ApprovalManager(TRUSTING, person)
    with pytest.raises(KeyboardInterrupt):
        manager.request_approval("tool", ARGS, SAFE)
    person.says = True
    assert manager.request_approval("tool", ARGS, HIGH) is True


# --- what a call must say ---


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "write file",
        "a/b",
        "a#b",
        "a..b",
        ".a",
        "-a",
        "a\n",
        "a\u200bb",
        "e\u0301",
        "*",
        7,
        None,
        b"a",
    ],
)
def test_a_name_that_is_no_operation_is_denied_unasked_and_logged(
    name: Any, caplog: pytest.LogCaptureFixture
) -> None:
    person = Person(True)
    for mode in ApprovalMode:
        assert ApprovalManager(mode, person).request_approval(name, {}, SAFE) is False
    assert person.asked == []
    assert len(caplog.records) == 3
    assert all("\n" not in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(
    "args",
    [
        None,
        [],
        "",
        0,
        [("a", 1)],
        {"a": object()},
        {"a": b"x"},
        {1: "a"},
        {"a": float("nan")},
        {"a": "\ud800"},
        {"a": 2**60 + 1},
    ],
)
def test_arguments_that_cannot_be_bound_to_an_approval_are_denied_unasked(args: Any) -> None:
    person = Person(True)
    assert ApprovalManager(BALANCED, person).request_approval("read_file", args, SAFE) is False
    assert person.asked == []


@pytest.mark.parametrize(
    "risk", ["LOW", "Safe", "none", "", None, 0, 1, True, Mode.BALANCED, {"risk": "low"}]
)
def test_an_unknown_risk_is_denied_unasked(risk: Any) -> None:
    person = Person(True)
    assert ApprovalManager(BALANCED, person).request_approval("read_file", {}, risk) is False
    assert person.asked == []


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("safe", SAFE), ("SAFE", SAFE), ("low", SAFE), ("tier 1", SAFE), (Risk.LOW, SAFE),
        ("medium", MEDIUM), ("MEDIUM", MEDIUM), ("moderate", MEDIUM), (Risk.MODERATE, MEDIUM),
        ("high", HIGH), ("HIGH", HIGH), ("risky", HIGH), (Risk.HIGH, HIGH),
    ],
)  # fmt: skip
def test_risks_go_by_all_their_names(said: str | Risk, meant: RiskLevel) -> None:
    person = Person(True)
    assert ApprovalManager(PARANOID, person).request_approval("tool", {}, said) is True
    assert person.asked[0].risk is meant


@pytest.mark.parametrize("mode", ["yolo", "Balanced", "", None, 1, True, Risk.LOW, [], {"mode": "balanced"}])
def test_another_mode_is_an_error_that_names_the_valid_ones(mode: Any) -> None:
    for kind in (SaysoError, ValueError):
        with pytest.raises(kind, match="paranoid, balanced or trusting"):
            ApprovalManager(mode, None)
    manager = ApprovalManager(PARANOID, None)
    with pytest.raises(SaysoError, match="paranoid, balanced or trusting"):
        manager.mode = mode
    assert manager.mode is PARANOID


def test_a_fault_in_the_arguments_themselves_is_a_no(caplog: pytest.LogCaptureFixture) -> None:
    class Faulty(dict[str, Any]):
        def keys(self) -> Any:
            raise RuntimeError("secret=hunter2")

        def __iter__(self) -> Any:
            raise RuntimeError("secret=hunter2")

    class Strange(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def strange() -> None:
        raise Strange

    assert ApprovalManager(BALANCED, None).request_approval("read_file", Faulty(a=1), SAFE) is False
    assert ApprovalManager(BALANCED, Person(strange)).request_approval("write_file", {}, MEDIUM) is False
    assert "hunter2" not in caplog.text


def test_what_is_asked_is_what_was_given_whatever_the_callback_does_to_it() -> None:
    def meddle(prompt: Prompt) -> bool:
        args: Any = prompt.args
        args["branch"] = "release"
        args["deep"]["list"].append("x")
        return True

    manager = ApprovalManager(TRUSTING, meddle)
    given = {**ARGS, "deep": {"list": ["a"]}}
    manager.request_approval("git_push", given, HIGH)
    assert given == {**ARGS, "deep": {"list": ["a"]}}
    manager.ui_callback = Person(False)
    assert manager.request_approval("git_push", given, HIGH) is True
    assert manager.request_approval("git_push", {**given, "branch": "release"}, HIGH) is False


# --- the callback ---


def test_the_callback_gets_a_prompt_with_the_tool_its_arguments_the_risk_and_the_mode() -> None:
    person = Person(True)
    ApprovalManager(PARANOID, person).request_approval("git_push", ARGS, HIGH)
    (prompt,) = person.asked
    assert (prompt.tool, prompt.args, prompt.risk, prompt.mode) == ("git_push", ARGS, HIGH, PARANOID)
    assert list(prompt.args) == list(ARGS), "in the order given"


class Window:
    """A callback that is a method of something."""

    def ask(self, tool_name: str, tool_args: dict[str, Any], risk_level: RiskLevel) -> bool:
        return (tool_name, tool_args, risk_level) == ("git_push", ARGS, HIGH)


def test_a_callback_of_three_arguments_gets_tool_arguments_and_risk() -> None:
    assert ApprovalManager(BALANCED, Window().ask).request_approval("git_push", ARGS, HIGH) is True
    assert ApprovalManager(BALANCED, lambda t, a, r: r is HIGH).request_approval("x", {}, "high") is True


@pytest.mark.parametrize(
    "callback", [lambda: True, lambda a, b: True, lambda a, b, c, d: True, "yes", 1, True]
)
def test_a_callback_that_can_be_shown_nothing_approves_nothing(callback: Any) -> None:
    assert ApprovalManager(BALANCED, callback).request_approval("git_push", ARGS, HIGH) is False


@pytest.mark.parametrize(
    "callback", [lambda *all_: all_[0].risk is HIGH, lambda p, wait=3, default=True: default]
)
def test_a_callback_that_can_take_one_argument_gets_the_prompt(callback: Callable[..., object]) -> None:
    assert ApprovalManager(BALANCED, callback).request_approval("git_push", ARGS, HIGH) is True


def test_a_no_that_is_not_false_is_logged_and_names_no_values(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "sayso"):
        ApprovalManager(BALANCED, Person("yes")).request_approval("git_push", {"token": "hunter2"}, HIGH)
    assert "only True approves" in caplog.text
    assert "hunter2" not in caplog.text


# --- threads ---


def test_two_threads_never_show_two_questions_at_once_and_one_answer_serves_both() -> None:
    together = threading.Barrier(8)
    both_open = threading.Barrier(2)
    met, asked = [], []
    answers: list[bool] = []

    def ask(prompt: Prompt) -> bool:
        asked.append(prompt.tool)
        with contextlib.suppress(threading.BrokenBarrierError):
            both_open.wait(0.3)
            met.append(prompt.tool)
        return True

    def work(tool: str) -> None:
        together.wait()
        answers.append(manager.request_approval(tool, {}, MEDIUM))

    manager = ApprovalManager(TRUSTING, ask)
    threads = [threading.Thread(target=work, args=(tool,)) for tool in ("a", "b") * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 8
    assert sorted(asked) == ["a", "b"]
    assert met == []
    assert manager.session_approvals == {"a", "b"}


def test_an_identical_request_of_another_thread_is_its_own_turn_and_asked_after_a_denial() -> None:
    showing = threading.Event()
    answers: list[bool] = []

    def ask(prompt: Prompt) -> bool:
        asked.append(prompt)
        if len(asked) == 1:
            other.start()
            showing.wait(10)
            return False
        return True

    def second() -> None:
        showing.set()
        answers.append(manager.request_approval("tool", {}, MEDIUM))

    asked: list[Prompt] = []
    other = threading.Thread(target=second)
    manager = ApprovalManager(BALANCED, ask)
    assert manager.request_approval("tool", {}, MEDIUM) is False
    other.join()
    assert answers == [True]


def test_what_needs_no_question_does_not_wait_for_an_open_one() -> None:
    def ask(prompt: Prompt) -> bool:
        thread = threading.Thread(target=lambda: answers.append(manager.request_approval("read", {}, SAFE)))
        thread.start()
        thread.join(10)
        return True

    answers: list[bool] = []
    manager = ApprovalManager(BALANCED, ask)
    assert manager.request_approval("write", {}, MEDIUM) is True
    assert answers == [True]


def test_many_requests_leave_no_litter() -> None:
    manager = ApprovalManager(BALANCED, lambda prompt: prompt.args["n"] % 2 == 0)
    for number in range(50):
        manager.request_approval("write", {"n": number}, MEDIUM)
        manager.request_approval("read", {"n": number}, SAFE)
    session = vars(manager)["_session"]
    assert len(session.all_grants) + len(session.denials) + len(session.questions) <= 1


# --- the interface ---


def test_the_interface_is_the_seeds() -> None:
    manager = ApprovalManager(mode=ApprovalMode("balanced"), ui_callback=None)
    assert_type(manager.mode, ApprovalMode)
    assert_type(manager.session_approvals, frozenset[str])
    assert_type(manager.request_approval(tool_name="t", tool_args={}, risk_level=RiskLevel.SAFE), bool)
    assert {mode.name: mode.value for mode in ApprovalMode} == {
        "PARANOID": "paranoid", "BALANCED": "balanced", "TRUSTING": "trusting",
    }  # fmt: skip
    assert [level.name for level in RiskLevel] == ["SAFE", "MEDIUM", "HIGH"]
    parameters = inspect.signature(ApprovalManager.request_approval).parameters
    assert list(parameters) == ["self", "tool_name", "tool_args", "risk_level"]


def test_what_the_types_refuse_is_refused_at_run_time_too() -> None:
    manager = ApprovalManager(BALANCED, None)
    assert manager.request_approval("t", [], SAFE) is False  # type: ignore[arg-type]
    assert manager.request_approval("t", {}, 1) is False  # type: ignore[arg-type]
    with pytest.raises(SaysoError):
        ApprovalManager(None, None)  # type: ignore[arg-type]
