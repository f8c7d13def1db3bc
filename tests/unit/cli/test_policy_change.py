"""What a policy file would change, on one screen."""

from __future__ import annotations

from sayso.cli.views.policy_change import LONGER, READ_AT_ONCE, describe_difference
from sayso.policy import load_preset
from sayso.policy.compare.diff import DecisionChange, Difference, compare_policies, difference_lines
from sayso.policy.compare.other_change import OtherChange


def eased(number: int, domain: str = "git") -> tuple[DecisionChange, ...]:
    names = (f"{domain}.act_{count}" for count in range(number))
    return tuple(DecisionChange(name, "ask", "allow", ("in every mode",)) for name in names)


def test_a_few_changes_are_all_shown_and_many_only_if_that_is_wanted() -> None:
    few, many = Difference(eased(READ_AT_ONCE)), Difference(eased(READ_AT_ONCE + 1))
    assert describe_difference(few, everything=False) == list(difference_lines(few))
    assert describe_difference(many, everything=True) == list(difference_lines(many))
    assert describe_difference(many, everything=False)[-1] == LONGER


def test_what_was_blocked_is_named_and_the_rest_counted_by_domain() -> None:
    freed = tuple(DecisionChange("files.read_secrets", "deny", after, ()) for after in ("ask", "allow"))
    beyond = (OtherChange("tool Bash", "shell", "unlisted", True), OtherChange("quiet_hours", "", "x", False))
    loosened = (*freed, *eased(20), *eased(3, "files"), DecisionChange("*", "ask", "allow", ()))
    tightened = (DecisionChange("cron.add", "allow", "ask", ()),)
    assert describe_difference(Difference(loosened, tightened, beyond), everything=False) == [
        "It loosens:",
        "  blocked before, no longer: 1 operation (files.read_secrets)",
        "  asked before, allowed in more situations: 24 operations (git 20, files 3, unlisted 1)",
        "  other parts: 1 (tool 1)",
        "It tightens:",
        "  decisions: 1 operation (cron 1)",
        "  other parts: 1 (quiet_hours 1)",
        LONGER,
    ]


def test_a_preset_against_another_fits_a_screen_and_counts_every_operation() -> None:
    found = compare_policies(load_preset("coding"), load_preset("trusting"))
    lines = describe_difference(found, everything=False)
    assert sum(len(line) // 80 + 1 for line in lines) < 24
    freed = {one.operation for one in found.loosened if one.before == "deny"}
    assert all(name in lines[1] for name in freed)
    rest = {one.operation for one in found.loosened if one.before != "deny"}
    assert f"{len(rest)} operations" in lines[2]
