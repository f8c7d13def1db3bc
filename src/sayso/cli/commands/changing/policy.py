"""`sayso policy …`: read, check and compare policy files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.commands.changing.hindsight import replay_past, suggest_from_past
from sayso.cli.commands.changing.policy_file import policy_apply, policy_lock, policy_status, policy_unlock
from sayso.cli.opening import open_gate_to_look, show_or_json
from sayso.cli.options import (
    ApprovalOption,
    JsonOption,
    PolicyArg,
    PolicyOption,
    PresetOption,
    complete_presets,
)
from sayso.cli.policy_choice import choose_policy, global_approval, load_named_policy, print_note
from sayso.cli.short_ids import StoreOption
from sayso.core.text.counts import count_of

if TYPE_CHECKING:
    from sayso.core.policy import Domain, Policy
    from sayso.policy.lint import LintFinding

app = typer.Typer(
    help="Read, check, compare and apply policies.", no_args_is_help=True, rich_markup_mode=None
)
app.command("status", short_help="Show whether your file is in force, and locked.")(policy_status)
app.command("apply", short_help="Put your policy file in force.")(policy_apply)
app.command("lock", short_help="Lock your policy file.")(policy_lock)
app.command("unlock", short_help="Unlock your policy file.")(policy_unlock)

app.command("replay", short_help="Decide the recorded past again.")(replay_past)
app.command("suggest", short_help="Suggest changes from the recorded past.")(suggest_from_past)

FOUND = 1
PROJECT_FILE = ".sayso.yaml"
MAX_TESTS = 1_000_000
TIER_STYLES = {"autonomous": "green", "requires_approval": "yellow", "blocked": "red"}


@app.command("lint", short_help="Find gaps and doubtful entries.")
def policy_lint(
    file: PolicyArg = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Report gaps, shadowed entries, autonomous writes where trust is low and the like. Exit 1 on errors.

    If there is a store, its calls show which arguments a title may name. For a project's .sayso.yaml it
    reports what has no effect, because such a file can only tighten your policy.
    """
    from sayso.policy.lint import lint_policy as findings_of

    if file is not None and Path(file).name == PROJECT_FILE:
        findings = _lint_project_file(file, choose_policy(policy, preset, None))
    else:
        findings = findings_of(_find_policy(file, policy, preset, None), _load_arguments_seen(store))
    if as_json:
        _echo_json(findings)
    else:
        counted = count_of(len(findings), "finding")
        lines = [
            f"{one.severity}: {one.where}: {one.message}" + (f" ({one.hint})" if one.hint else "")
            for one in findings
        ]
        show_or_json(False, findings, [*lines, counted if findings else "No findings."])
    raise typer.Exit(FOUND if any(one.severity == "error" for one in findings) else 0)


def _lint_project_file(file: str, policy: Policy) -> list[LintFinding]:
    from sayso.core.errors import PolicyError
    from sayso.gate.policy.projects import read_project_file
    from sayso.policy.compare.vain_parts import find_vain_parts
    from sayso.policy.lint import LintFinding

    content, problem = read_project_file(file)
    if content is None:
        raise PolicyError(f"{file}: {problem}", hint="calls of its workspace ask until it can be read")
    text = content.decode(errors="surrogateescape")  # which the loader refuses, with a line
    why = "a project's file only tightens, so this does not count"
    return [LintFinding("warning", file, part, why) for part in find_vain_parts(policy, text, name=file)]


def _load_arguments_seen(store: str | None) -> dict[str, frozenset[str]]:
    """The arguments of calls in the operator's store, by tool; nothing where there is none to look into."""
    from sayso.core.errors import SaysoError
    from sayso.gate.figures.seen_arguments import collect_argument_names

    try:
        with open_gate_to_look(store) as gate:
            return collect_argument_names(gate)
    except SaysoError:
        return {}


@app.command("show", short_help="Show the policy after merging.")
def policy_show(
    file: PolicyArg = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the policy after merging: domains by tier, marks, settings."""
    in_force = _find_policy(file, policy, preset, approval)
    if as_json:
        _echo_json(_policy_to_json(in_force))
    else:
        _print_policy(in_force)


@app.command("test", short_help="Check decisions against expected ones.")
def policy_test(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Expected decisions, YAML.")],
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide what FILE expects and report every difference. Exit 1 if there is any.

    FILE is a list such as:

    - {check: [email, send, 0.9], expect: ask}

    - {call: pay, args: {amount: 500}, expect: deny}
    """
    import time

    from sayso.cli.decider import request_in_folder
    from sayso.cli.views.wrapping import echo_line
    from sayso.policy.expectations import read_expectations, run_expectations

    expectations = read_expectations(_read_tests(file), name=str(file))
    in_force = choose_policy(policy, preset, approval)
    results = run_expectations(expectations, in_force, request_in_folder, now=time.time())
    failed = [result for result in results if not result.passed]
    if as_json:
        _echo_json({"passed": len(results) - len(failed), "failed": failed})
    else:
        for result in failed:
            expected = result.expectation
            echo_line(f"{file}:{expected.line}: {expected}: expected {expected.expected}, got {result.got}")
            echo_line(f"  because {result.reason}")
        typer.echo(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    raise typer.Exit(FOUND if failed else 0)


@app.command("diff", short_help="Show what changed between two policies.")
def policy_diff(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="The policy as it was: a file, or a preset.",
            autocompletion=complete_presets,
        ),
    ],
    b: Annotated[
        str,
        typer.Argument(
            metavar="B",
            help="The policy as it would be: a file, or a preset.",
            autocompletion=complete_presets,
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Show every operation that B decides differently, loosened or tightened. Exit 1 if any is loosened.

    Example: sayso policy diff graph policy.yaml
    """
    from sayso.policy.compare.diff import compare_policies as difference_of
    from sayso.policy.compare.diff import difference_lines

    difference = difference_of(load_named_policy(a).policy, load_named_policy(b).policy)
    if as_json:
        _echo_json(difference)
    else:
        show_or_json(False, difference, list(difference_lines(difference)))
    raise typer.Exit(FOUND if difference.loosens else 0)


@app.command("schema", short_help="Print the JSON Schema of a policy file.")
def policy_schema() -> None:
    """Print the JSON Schema of a policy file, for editors that complete and check."""
    from sayso.policy.schema import schema_text

    typer.echo(schema_text().rstrip())


def _find_policy(file: str | None, policy: Path | None, preset: str | None, approval: str | None) -> Policy:
    """The policy named in so many words, or the one every other command would take."""
    from sayso.core.errors import MalformedRequest
    from sayso.gate.settings import in_chosen_mode

    if file is None:
        return choose_policy(policy, preset, approval)
    if policy is not None or preset is not None:
        raise MalformedRequest("name one policy", hint="leave --policy and --preset out")
    loaded = load_named_policy(file)
    for warning in loaded.warnings:
        print_note(str(warning))
    return in_chosen_mode(loaded.policy, approval or global_approval())


def _echo_json(value: object) -> None:
    import msgspec

    typer.echo(msgspec.json.encode(value).decode())


def _read_tests(file: Path) -> str:
    from sayso.core.errors import PolicyError
    from sayso.policy.parsing.file_bytes import read_bytes

    try:
        return read_bytes(file, MAX_TESTS + 1).decode()
    except (OSError, ValueError) as error:
        raise PolicyError(f"cannot read {file}: {error}", hint="name a UTF-8 text file") from error


@app.command("review", short_help="Review what agents may do unasked.")
def policy_review(
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="DOMAIN", help="Keep this domain's permissions; may be repeated."),
    ] = None,
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Keep every domain.")] = False,
    tighten: Annotated[
        list[str] | None,
        typer.Option(
            "--tighten",
            metavar="OPERATION",
            help="Propose that this permission asks from now on; may be repeated.",
        ),
    ] = None,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Walk through each domain: how often each permission was used, asked about and refused since last time.

    In a terminal it asks for each domain whether to keep it, to make its permissions ask, or to let it
    decay. What you do not keep decays by itself: from then on it asks. What is to ask at once is filed as a
    proposal for your policy file. `--keep`, `--keep-all` and `--tighten` answer without asking.
    """
    from sayso.cli.opening import open_gate_to_act
    from sayso.cli.operator_name import operator_name
    from sayso.cli.views.review import ReviewOutcome, broken_glass_lines, review_lines, walk_reviews
    from sayso.gate.people.team_view import find_broken_glass
    from sayso.gate.proposals.roots import load_roots
    from sayso.gate.upkeep.review import keep_domain, load_domain_reviews
    from sayso.gate.upkeep.tighten import propose_to_ask

    whole, by = True, operator_name()
    with open_gate_to_act(store, choose_policy(policy, preset, approval)) as gate:
        found = load_domain_reviews(gate)
        if not as_json:
            for line in broken_glass_lines(find_broken_glass(gate)):
                print_note(line)
        outcome = ReviewOutcome(
            lambda domain: keep_domain(gate, domain, by=by),
            lambda operation: propose_to_ask(gate, load_roots(), operation, by=by).id,
        )
        for operation in tighten or []:
            outcome.tighten(operation)
        for domain in [one.domain for one in found] if keep_all else keep or []:
            outcome.keep(domain)
        walks = not (keep or keep_all or tighten or as_json) and sys.stdin.isatty()
        if walks:
            whole = walk_reviews(found, outcome)
        found = load_domain_reviews(gate)
    lines = [] if walks else [line for one in found for line in review_lines(one)]
    show_or_json(as_json, found, [*lines, *outcome.lines()])
    if not whole:
        raise typer.Exit(1)


def _policy_to_json(policy: Policy) -> dict[str, object]:
    from sayso.policy.build import settings_to_dict

    parts = ("mode", "settings", "decay", "domains", "categories", "slash_commands", "workflows", "digest")
    risks = {name: entry.risk.word for name, entry in policy.table.items() if entry.risk is not None}
    told: dict[str, object] = {part: getattr(policy, part) for part in parts}
    return told | {"settings": settings_to_dict(policy.settings), "risks": risks}


def _print_policy(policy: Policy) -> None:
    from rich.table import Table
    from rich.text import Text

    from sayso.cli.views.decision import make_console
    from sayso.policy.build import settings_to_dict

    out = make_console()
    out.print(Text(f"Mode {policy.mode.value}", style="bold"))
    for name, domain in policy.domains.items():
        out.print(Text(f"\n{name}", style="bold cyan"))
        lists = Table.grid(padding=(0, 2, 0, 2))
        for tier, style in TIER_STYLES.items():
            actions = _format_actions(policy, name, domain, tier) or "(none)"
            lists.add_row(Text(tier.replace("_", " "), style=style), Text(actions))
        out.print(lists)
    out.print()
    out.print("! high risk, ~ low risk, * only through the trusted channel", style="dim")
    slashes = ", ".join(
        f"{name} ({', '.join(one.operations) or one.query})" for name, one in policy.slash_commands.items()
    )
    if slashes:
        out.print(Text(f"Slash commands: {slashes}"))
    settings = (f"{key}: {_as_in_file(value)}" for key, value in settings_to_dict(policy.settings).items())
    out.print(Text(f"Settings: {', '.join(settings)}"))


def _as_in_file(value: object) -> str:
    """Write a setting as the policy file does: false and null, not False and None."""
    return value if isinstance(value, str) else json.dumps(value)


def _format_actions(policy: Policy, name: str, domain: Domain, tier: str) -> str:
    return ", ".join(
        action + _format_marks(policy, f"{name}.{action}", action in domain.trusted_channel_required)
        for action in getattr(domain, tier)
    )


def _format_marks(policy: Policy, operation: str, trusted: bool) -> str:
    risk = policy.entry(operation).risk
    level = {None: "", 0: "~", 1: "", 2: "!"}[risk]
    return level + ("*" if trusted else "")
