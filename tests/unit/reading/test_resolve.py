"""Calls become operations: which entry of `tools` is used, and what it makes of the call."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from sayso.core.model import Operation, Risk
from sayso.policy import PolicyProblems, load_preset, load_text
from sayso.reading.paths.own_places import home_folder
from tests.support.rows import each_row
from tests.unit.deciding import bare
from tests.unit.resolving import read_operations, target_for

HOME = "/home/ana"
WORK = "/home/ana/work"
TOOLS = """
domains:
  bank: {autonomous: [look], requires_approval: [transfer, transfer_large], blocked: []}
  tools: {autonomous: [calm_tool], requires_approval: [], blocked: []}
  notes: {autonomous: [], requires_approval: [send], blocked: [], fan_out: single, content_from: content}
tools:
  - {tool: transfer, operation: bank.transfer, when: "args.amount <= 100", target: args.iban}
  - {tool: "transfer*", operation: bank.transfer_large, risk: high}
  - {tool: "[lL]ook", operation: bank.look}
  - {tool: odd, operation: bank.look, when: "args.amount + 1"}
  - {tool: note, operation: notes.send}
  - {tool: sh, resolve: shell, from: args.command}
"""


def resolved(tool: str, args: dict[str, Any], text: str = TOOLS) -> tuple[Operation, ...]:
    found = read_operations(tool, args, load_text(text), folder=WORK, workspace=WORK, home=HOME)
    return tuple(map(bare, found))


def test_the_first_entry_that_fits_is_used() -> None:
    assert resolved("transfer", {"amount": 100}) == (Operation("bank.transfer"),)


def test_an_entry_whose_condition_is_false_is_passed_over() -> None:
    assert resolved("transfer", {"amount": 101}) == (Operation("bank.transfer_large", risk=Risk.HIGH),)


@pytest.mark.parametrize("args", [{}, {"amount": "lots"}, {"amount": None}])
def test_a_condition_that_fails_makes_high_what_it_may_be(args: dict[str, Any]) -> None:
    """Nobody can tell whether the entry fits, so the next one that does counts as well."""
    assert resolved("transfer", args) == (
        Operation("bank.transfer", reading=Risk.HIGH),
        Operation("bank.transfer_large", risk=Risk.HIGH, reading=Risk.HIGH),
    )


def test_a_condition_that_is_neither_true_nor_false_makes_its_operation_high() -> None:
    assert resolved("odd", {"amount": 1}) == (Operation("bank.look", reading=Risk.HIGH),)


def test_a_condition_sees_tool_and_folder() -> None:
    text = "tools: [{tool: '*', operation: a.b, when: \"tool == 'x' && cwd == '/home/ana/work'\"}]"
    assert resolved("x", {}, text) == (Operation("a.b"),)
    assert resolved("y", {}, text) == (Operation("tools.y"),)


def test_a_condition_without_the_extra_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cel", None)
    with pytest.raises(PolicyProblems, match=r"extra cel.*sayso\[cel\]"):
        load_text("tools: [{tool: x, operation: a.b, when: 'args.never_seen_before == 1'}]")


def test_names_of_tools_match_with_their_case() -> None:
    assert resolved("Look", {}) == resolved("look", {}) == (Operation("bank.look"),)
    assert resolved("LOOK", {}) == (Operation("tools.LOOK"),)


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("web_search", "tools.web_search"),
        ("mcp.mail/send it", "tools.mcp_mail_send_it"),
        ("-x", "tools._-x"),
        ("", "tools._"),
        ("\u202eevil", "tools._evil"),
        ("été", "tools.été"),
    ],
)
def test_a_tool_that_no_entry_fits_is_an_operation_of_its_own(tool: str, name: str) -> None:
    assert resolved(tool, {}) == (Operation(name),)


def test_a_tool_with_a_changed_name_does_not_borrow_what_another_may_do() -> None:
    assert resolved("calm_tool", {}) == (Operation("tools.calm_tool"),)
    assert resolved("calm tool", {}) == (Operation("tools.calm_tool", reading=Risk.HIGH),)


NAMED = """
extends: [balanced]
domains:
  tests: {autonomous: [run], requires_approval: [], blocked: []}
tools:
  - {tool: test, operation: tests.run, command: args.line}
"""


@pytest.mark.parametrize(
    ("line", "reading", "more"),
    [
        ("pytest -q", Risk.MODERATE, []),
        ("git status", None, []),
        ("git push --force", Risk.HIGH, []),
        ("frobnicate", Risk.HIGH, []),
        ("", None, []),
        (["git", "status"], None, []),
        (["git", ["push"]], Risk.HIGH, []),
        ({"run": "git status"}, Risk.HIGH, []),
        ("sayso approve q_1", Risk.HIGH, ["self_modification.run_guard_command"]),
        ("pytest; echo > ~/.config/sayso/policy.yaml", Risk.HIGH, ["self_modification.modify_policy"]),
    ],
)
def test_the_line_of_an_operation_that_an_entry_names_is_read_as_well(
    line: object, reading: Risk | None, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    policy, home = load_text(NAMED), home_folder()
    first, *rest = read_operations("test", {"line": line}, policy, folder="/w", workspace="/w", home=home)
    assert (first.name, first.reading, [one.name for one in rest]) == ("tests.run", reading, more)


def test_a_named_operation_without_its_line_is_what_the_entry_says() -> None:
    (one,) = read_operations("test", {}, load_text(NAMED), folder="/w", workspace="/w", home="/home/ana")
    assert (one.name, one.reading) == ("tests.run", None)


def test_a_command_line_is_what_it_does_and_one_that_is_not_understood_is_high() -> None:
    (listing,) = resolved("sh", {"command": "ls"})
    (unknown,) = resolved("sh", {"command": "frobnicate"})
    assert (listing.name, listing.reading) == ("files.list", Risk.LOW)
    assert (unknown.name, unknown.reading) == ("shell.run", Risk.HIGH)


def test_content_is_the_digest_of_the_argument_the_domain_names() -> None:
    (one,) = resolved("note", {"content": {"b": 1, "a": 2}, "to": "x"})
    (same,) = resolved("note", {"to": "y", "content": {"a": 2, "b": 1}})
    (other,) = resolved("note", {"content": "else"})
    assert one.content is not None
    assert one.content == same.content != other.content
    assert resolved("note", {})[0].content is None


def test_content_that_has_no_one_spelling_is_high() -> None:
    assert resolved("note", {"content": float("nan")}) == (Operation("notes.send", reading=Risk.HIGH),)


@each_row("name", ["cwd", "workdir", "working_directory"])
def test_a_patch_is_read_in_the_folder_that_its_call_names(name: str) -> None:
    work = {"folder": "/people/u/work", "workspace": "/people/u/work", "home": "/people/u"}
    patch = "*** Begin Patch\n*** Add File: settings.json\n+{}\n*** End Patch"
    found = read_operations("apply_patch", {"input": patch, name: ".claude"}, load_preset("coding"), **work)
    assert any(one.barred for one in found)
    plain = read_operations("apply_patch", {"input": patch, name: "src"}, load_preset("coding"), **work)
    assert not any(one.barred for one in plain)


def test_the_target_is_the_argument_the_entry_names() -> None:
    policy = load_text(TOOLS)

    def target(tool: str, args: dict[str, Any]) -> str | None:
        return target_for(tool, args, policy, folder=WORK, workspace=WORK)

    assert target("transfer", {"amount": 1, "iban": "DE00"}) == "DE00"
    assert target("transfer", {"amount": 1}) is None
    assert target("look", {"iban": "DE00"}) is None
    assert target("unheard_of", {"iban": "DE00"}) is None


@pytest.mark.parametrize(("iban", "target"), [(["A", "B"], "A, B"), (["A", "A"], "A"), (7, "7"), ("", "")])
def test_targets_that_are_no_single_text_are_still_targets(iban: object, target: str) -> None:
    """A call without a target is covered wherever a plan allows the operation, so none is lost."""
    args = {"amount": 1, "iban": iban}
    assert target_for("transfer", args, load_text(TOOLS), folder=WORK, workspace=WORK) == target


@each_row(
    ("tool", "operation"),
    [
        ("git_status", "git.status"),
        ("git_diff", "git.diff"),
        ("git_log", "git.log"),
        ("git_push", "git.push"),
        ("git_commit", "git.commit"),
        ("git_reset", "git.reset_hard"),
        ("git_merge", "git.merge"),
        ("get_background_output", "shell.background_output"),
        ("run_bash", "shell.run"),
        ("run_bash_background", "shell.run_background"),
        ("interrupt_background_process", "shell.interrupt"),
    ],
)
@each_row("preset", ["balanced", "trusting", "gateway", "coding"])
def test_the_usual_tools_are_known_to_the_presets(preset: str, tool: str, operation: str) -> None:
    policy = load_preset(preset)
    (found,) = read_operations(tool, {}, policy, folder=WORK, workspace=WORK, home=HOME)
    assert found.name == operation
    assert policy.entry(operation).tier is not None
