"""`sayso policy …`: read, check and compare policy files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.choice import Approval, Json, PolicyFile, Preset, chosen

if TYPE_CHECKING:
    from sayso.core.policy import Domain, Policy

app = typer.Typer(help="Read, check and compare policies.", no_args_is_help=True, rich_markup_mode=None)

FOUND = 1
TIERS = ("autonomous", "requires_approval", "blocked")


@app.command()
def lint(policy: PolicyFile = None, preset: Preset = None, as_json: Json = False) -> None:
    """What is wrong or doubtful: gaps, shadowed entries, free writes in low-trust domains. Exit 1 on errors."""
    from sayso.policy.lint import lint as findings_of

    findings = findings_of(chosen(policy, preset, None))
    if as_json:
        typer.echo(json.dumps([{key: getattr(one, key) for key in one.__struct_fields__} for one in findings]))
    else:
        for one in findings:
            typer.echo(f"{one.severity}: {one.where}: {one.message}" + (f" ({one.hint})" if one.hint else ""))
        typer.echo(f"{len(findings)} findings" if findings else "Nothing to find fault with.")
    raise typer.Exit(FOUND if any(one.severity == "error" for one in findings) else 0)


@app.command()
def show(
    policy: PolicyFile = None, preset: Preset = None, approval: Approval = None, as_json: Json = False
) -> None:
    """The policy as it stands after merging: domains by tiers, marks, settings."""
    in_force = chosen(policy, preset, approval)
    if as_json:
        typer.echo(json.dumps(_told(in_force), ensure_ascii=False))
    else:
        _show(in_force)


@app.command()
def test(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Expected decisions, YAML.")],
    policy: PolicyFile = None,
    preset: Preset = None,
    approval: Approval = None,
) -> None:
    """Decide what FILE expects, and say where it comes out otherwise. Exit 1 if anything does.

    FILE is a list such as: - {check: [email, send, 0.9], expect: ask}
    """
    import time

    from sayso.policy.load import text_of
    from sayso.policy.testing import read_expectations, run

    expectations = read_expectations(text_of(file), name=str(file))
    results = run(expectations, chosen(policy, preset, approval), now=time.time())
    failed = [result for result in results if not result.ok]
    for result in failed:
        expected = result.expectation
        typer.echo(
            f"{file}:{expected.line}: {expected.operation} at {expected.confidence:g}: "
            f"expected {expected.expected}, got {result.got} ({result.reason})"
        )
    typer.echo(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    raise typer.Exit(FOUND if failed else 0)


@app.command()
def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="The policy as it was.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The policy as it would be.")],
    as_json: Json = False,
) -> None:
    """Every operation whose decision changes from A to B, loosened and tightened apart. Exit 1 if any loosens."""
    from sayso.policy import load_file
    from sayso.policy.diff import diff as difference_of
    from sayso.policy.diff import lines, told

    difference = difference_of(load_file(a), load_file(b))
    if as_json:
        typer.echo(json.dumps(told(difference), ensure_ascii=False))
    else:
        for line in lines(difference):
            typer.echo(line)
    raise typer.Exit(FOUND if difference.loosens else 0)


@app.command()
def schema() -> None:
    """The JSON Schema of a policy file, for editors that complete and check."""
    from sayso.policy.schema import text

    typer.echo(text().rstrip())


def _told(policy: Policy) -> dict[str, object]:
    return {
        "mode": policy.mode.value,
        "settings": {key: getattr(policy.settings, key) for key in policy.settings.__struct_fields__},
        "domains": {
            name: {key: getattr(domain, key) for key in domain.__struct_fields__}
            for name, domain in policy.domains.items()
        },
        "slash_commands": {name: list(one.operations) for name, one in policy.slash_commands.items()},
        "workflows": {name: list(one.operations) for name, one in policy.workflows.items()},
        "digest": policy.digest,
    }


def _show(policy: Policy) -> None:
    from rich.table import Table
    from rich.text import Text

    from sayso.cli.show import console

    out = console()
    table = Table(title=f"Mode {policy.mode.value}", title_justify="left", show_lines=True)
    for head in ("domain", *TIERS):
        table.add_column(head.replace("_", " "), no_wrap=head == "domain")
    for name, domain in policy.domains.items():
        table.add_row(name, *(Text(_actions(policy, name, domain, tier)) for tier in TIERS))
    out.print(table)
    out.print("! high risk, ~ low risk, * only through the trusted channel", style="dim")
    slashes = ", ".join(
        f"{name} ({', '.join(one.operations) or one.query})" for name, one in policy.slash_commands.items()
    )
    if slashes:
        out.print(Text(f"Slash commands: {slashes}"))
    settings = (f"{key}: {getattr(policy.settings, key)}" for key in policy.settings.__struct_fields__)
    out.print(Text(f"Settings: {', '.join(settings)}"))


def _actions(policy: Policy, name: str, domain: Domain, tier: str) -> str:
    return ", ".join(
        action + _marks(policy, f"{name}.{action}", action in domain.trusted_channel_required)
        for action in getattr(domain, tier)
    )


def _marks(policy: Policy, operation: str, trusted: bool) -> str:
    risk = policy.entry(operation).risk
    level = {None: "", 0: "~", 1: "", 2: "!"}[risk]
    return level + ("*" if trusted else "")
