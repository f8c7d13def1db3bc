"""docs/policy.md against the code: its keys, defaults, examples, presets, resolvers and printed output."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from msgspec import NODEFAULT, Struct

from sayso.core.durations import format_duration
from sayso.core.model import Risk
from sayso.core.policy import Decay, Detail, Domain, Policy, PolicyWorkflow, Settings, SlashCommand, Tool
from sayso.core.team import ApprovalRule, Person, QuietHours
from sayso.core.text.phrases import Phrases
from sayso.policy import load_preset, preset_names, read_text
from sayso.policy.build import TIMES, settings_to_dict
from sayso.policy.compare.vain_parts import find_vain_parts
from sayso.policy.file import PolicyFile, RiskWord
from sayso.policy.lint import lint_policy
from sayso.policy.load import LoadedPolicy, lay_over
from sayso.reading.resolve import operations_for
from tests.support.pages import agrees
from tests.support.repository import PUBLISHED_SCHEMA, ROOT
from tests.support.rows import each_row

PAGE = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```\n", PAGE, re.MULTILINE | re.DOTALL)
POLICIES = [text for kind, text in BLOCKS if kind == "yaml" and not text.startswith("- ")]
(EXPECTED,) = [text for kind, text in BLOCKS if kind == "yaml" and text.startswith("- ")]
BASE = read_text(POLICIES[0]).policy
CONSOLE = [text for kind, text in BLOCKS if kind == "console"]
TOP = "Top level"
CORE: dict[str, type[Struct]] = {
    "settings": Settings,
    "phrases": Phrases,
    "consent_decay": Decay,
    "domains": Domain,
    "operations": Detail,
    "tools": Tool,
    "slash_commands": SlashCommand,
    "workflows": PolicyWorkflow,
    "people": Person,
    "approvals": ApprovalRule,
    "quiet_hours": QuietHours,
}
FRAMES = {
    TOP: "{example}",
    "domains": "domains: {{shop: {{{example}}}}}",
    "operations": "operations: {{bank.pay: {{{example}}}}}",
    "tools": "tools: [{example}]",
    "slash_commands": "slash_commands: {{/shop: {{{example}}}}}",
    "workflows": "workflows: {{shop: {{{example}}}}}",
    "people": "people: {{ana: {{{example}}}}}",
    "approvals": "people: {{ana: {{groups: [finance], ids: [page:ana]}}, "
    "bo: {{groups: [finance], ids: [page:bo]}}, cy: {{groups: [finance, leads], ids: [page:cy]}}}}\n"
    "approvals: [{{{example}}}]",
}


class Row(typing.NamedTuple):
    """One key of the page."""

    section: str
    key: str
    meaning: str
    default: str
    example: str


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table_under(heading: str, page: str = PAGE) -> list[list[str]]:
    """The rows of the first table under a heading, without its head."""
    section = page.partition(f"\n{heading}\n")[2].partition("\n#")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [cells(line) for line in lines[2:]]


def rows_in(section: str, page: str = PAGE) -> list[Row]:
    heading = f"## {TOP}" if section == TOP else f"### `{section}`"
    found = []
    for key, meaning, default, example in table_under(heading, page):
        found.append(Row(section, key.strip("`"), meaning, default, example.strip("`")))
    return found


def struct_in(kind: Any) -> type[Struct] | None:
    """The struct that a type of the policy file holds, if it holds one."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return kind
    return next((found for one in typing.get_args(kind) if (found := struct_in(one))), None)


def sections() -> dict[str, type[Struct]]:
    """Every map of the policy file, by the key it is written under."""
    hints = typing.get_type_hints(PolicyFile)
    return {TOP: PolicyFile} | {key: struct for key, kind in hints.items() if (struct := struct_in(kind))}


SECTIONS = sections()
CALLS = [tuple(row) for row in table_under("Under the policy at the top, in a workspace:")]
ROWS = [row for section in SECTIONS for row in rows_in(section)]


def keys_of(struct: type[Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(struct)]


def lint_texts(policy: Policy | LoadedPolicy) -> list[str]:
    return [str(finding) for finding in lint_policy(policy)]


def choices_in(kind: Any) -> set[object]:
    """The words a key may be given."""
    if typing.get_origin(kind) is Literal:
        return set(typing.get_args(kind))
    return {word for one in typing.get_args(kind) for word in choices_in(one)}


def choices_of(row: Row) -> set[object]:
    names = {field.encode_name: field.name for field in msgspec.structs.fields(SECTIONS[row.section])}
    return choices_in(typing.get_type_hints(SECTIONS[row.section])[names[row.key]])


def default_of(row: Row) -> str:
    """A key's default as the page writes it, taken from the types and the policy they make."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(SECTIONS[row.section])}
    if fields[row.key].required:
        return "required"
    ruled = row.section != TOP and fields[row.key].name in CORE[row.section].__struct_fields__
    if len(choices_of(row)) == 1 and not ruled:
        return f"`{choices_of(row).pop()}`"
    if row.section == TOP:
        if row.key == "mode":
            return f"`{read_text('sayso: 1').policy.mode.value}`"
        return "`[]`" if row.key in ("extends", "tools", "approvals", "break_glass") else "`{}`"
    core = {field.name: field for field in msgspec.structs.fields(CORE[row.section])}
    default = core[fields[row.key].name].default
    assert default is not NODEFAULT
    if default is None:
        return "none"
    if isinstance(default, Risk):
        return f"`{default.word}`"
    shown = format_duration(default) if row.key in TIMES else default
    return f"`{json.dumps(shown) if not isinstance(shown, str | float) else written(shown)}`"


def written(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def frame_example(row: Row) -> str:
    """A row's example as a policy file."""
    example = row.example
    if row.section == "domains":
        lists = (name for name in ("autonomous", "requires_approval", "blocked") if f"{name}:" not in example)
        example = ", ".join([*(f"{name}: []" for name in lists), example])
    return FRAMES.get(row.section, f"{row.section}: {{{{{{example}}}}}}").format(example=example)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_page_leaves_no_key_out_and_invents_none(section: str) -> None:
    assert [row.key for row in rows_in(section)] == keys_of(SECTIONS[section])


@pytest.mark.parametrize("section", SECTIONS)
def test_the_published_schema_has_exactly_the_keys_of_the_page(section: str) -> None:
    schema = json.loads(PUBLISHED_SCHEMA.read_text("utf-8"))["$defs"][SECTIONS[section].__name__]
    assert sorted(row.key for row in rows_in(section)) == sorted(schema["properties"])
    assert {row.key for row in rows_in(section) if row.default == "required"} == set(
        schema.get("required", ())
    )


def test_a_section_for_a_key_that_is_gone_does_not_stay_on_the_page() -> None:
    assert set(re.findall(r"^### `(\w+)`$", PAGE, re.MULTILINE)) == set(SECTIONS) - {TOP} == set(CORE)


@each_row("row", ROWS, ids=lambda row: f"{row.section}.{row.key}")
def test_no_default_on_the_page_differs_from_the_code(row: Row) -> None:
    assert row.default == default_of(row)


@each_row("row", ROWS, ids=lambda row: f"{row.section}.{row.key}")
def test_no_meaning_hides_a_word_that_may_be_written(row: Row) -> None:
    choices = choices_of(row)
    wanted = {risk.word for risk in Risk} if choices == set(typing.get_args(RiskWord)) else choices
    if row.key != "weight" and (row.section, row.key) != ("tools", "risk"):  # they name the words of `risk`
        assert [word for word in wanted - {1} if f"`{word}`" not in row.meaning] == []
    assert row.meaning.endswith(".")


@each_row("row", ROWS, ids=lambda row: f"{row.section}.{row.key}")
def test_no_example_of_a_key_fails_to_load_or_has_lint_findings(row: Row) -> None:
    assert re.search(rf"(^|[{{, ]){row.key}: ", row.example)
    if (row.section, row.key) == ("operations", "reading"):  # in no file but the operator's own
        text = f"extends: [coding]\noperations: {{git.fetch: {{{row.example}}}}}"
        assert lint_texts(read_text(text)) == []
        return
    text = frame_example(row)
    assert lint_texts(lay_over(BASE, text, name="example")) == []
    if row.key in ("extends", "vip_contacts", "family_contacts", "last_reviewed"):
        assert read_text(text).warnings == ()


def test_the_projects_file_on_the_page_says_nothing_in_vain() -> None:
    (text,) = (text for kind, text in BLOCKS if kind == "yml")
    assert find_vain_parts(load_preset("balanced"), text) == []
    assert find_vain_parts(load_preset("balanced"), f"{text}mode: trusting\n") != []


@pytest.mark.parametrize("text", POLICIES)
def test_no_policy_on_the_page_fails_to_load_or_has_lint_findings(text: str) -> None:
    assert lint_texts(read_text(text)) == []


def test_a_wrong_default_a_missing_key_and_an_invented_one_would_be_noticed() -> None:
    wrong = PAGE.replace("| `0.85` |", "| `0.8` |").replace("| `unlisted` |", "| `unknown` |")
    rows = rows_in("settings", wrong)
    assert rows[0].default != default_of(rows[0])
    assert [row.key for row in rows] != keys_of(SECTIONS["settings"])


@pytest.mark.parametrize(("call", "operations"), CALLS)
def test_no_call_on_the_page_becomes_other_operations(call: str, operations: str, tmp_path: Path) -> None:
    tool, _, args = call.strip("`").partition(" ")
    work = tmp_path / "garden"
    work.mkdir()
    made = operations_for(
        tool,
        json.loads(args),
        BASE,
        folder=str(work),
        workspace=str(work),
        home=str(tmp_path / "home"),
    )
    told = [f"`{one.name}`{' read as high' if one.reading is Risk.HIGH else ''}" for one in made]
    assert ", ".join(told) == operations


def test_every_preset_is_on_the_page_with_exactly_what_it_changes() -> None:
    plain = settings_to_dict(Settings()) | {"mode": "balanced"}
    told = {name.strip("`"): re.findall(r"`([^`]+)`", cell) for name, _, cell in table_under("## Presets")}
    assert sorted(told) == sorted(preset_names())
    for name, differing in told.items():
        policy = load_preset(name)
        real = settings_to_dict(policy.settings) | {"mode": policy.mode.value}
        changed = [
            f"{key}: {json.dumps(real[key]).strip(chr(34))}" for key in plain if real[key] != plain[key]
        ]
        assert sorted(differing) == sorted(changed), name


@pytest.mark.slow
@pytest.mark.parametrize("shown", CONSOLE)
def test_no_command_on_the_page_prints_anything_else(shown: str, tmp_path: Path) -> None:
    new = POLICIES[0].replace("[pay], blocked: [pay_large]", "[pay, pay_large], blocked: []")
    assert new != POLICIES[0]
    for name, text in (("policy", POLICIES[0]), ("new", new), ("expected", EXPECTED)):
        (tmp_path / f"{name}.yaml").write_text(text)
    command = shown.splitlines()[0].removeprefix("$ ")
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert agrees(f"$ {command}\n{done.stdout}", shown), done.stdout + done.stderr
