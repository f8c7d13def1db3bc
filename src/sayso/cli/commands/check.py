"""`sayso check` and `sayso explain`: one decision, and how it came about."""

from __future__ import annotations

from typing import Annotated

import typer

from sayso.cli.checking import CheckArguments, check_and_print, explain_and_print
from sayso.cli.options import ApprovalOption, JsonOption, PolicyOption, PresetOption
from sayso.cli.short_ids import StoreOption, complete_ids, open_session_ids

DomainArg = Annotated[str | None, typer.Argument(metavar="DOMAIN", help="Such as email.")]
ActionArg = Annotated[str | None, typer.Argument(metavar="ACTION", help="Such as send.")]
ConfidenceArg = Annotated[
    str | None,
    typer.Argument(metavar="[CONFIDENCE]", help="The agent's confidence, 0 to 1; 0 if left out."),
]
ToolOption = Annotated[
    str | None,
    typer.Option("--tool", metavar="NAME", help="Decide a call of this tool, instead of DOMAIN and ACTION."),
]
GrantsOption = Annotated[
    str | None,
    typer.Option(
        "--session",
        metavar="ID",
        help="Decide in this session, with its grants.",
        autocompletion=complete_ids(open_session_ids),
    ),
]
ArgsOption = Annotated[str | None, typer.Option("--args", metavar="JSON", help="The arguments of the tool.")]


def check_operation(
    domain: DomainArg = None,
    action: ActionArg = None,
    confidence: ConfidenceArg = None,
    tool: ToolOption = None,
    args: ArgsOption = None,
    session: GrantsOption = None,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide one operation, or one call: may the agent do it now, must you be asked, or never?

    If you have a store, its reviews count and, with --session, its grants; what is blocked is recorded there,
    and you are alerted. With --preset, that preset alone decides. Nothing is used up.

    Examples: sayso check email send 0.9

    sayso check --tool pay --args '{"amount": 50}' --session s_4f
    """
    given = CheckArguments(
        domain, action, confidence, tool, args, session, store, policy, preset, approval, as_json
    )
    raise typer.Exit(check_and_print(given))


def explain_operation(
    domain: DomainArg = None,
    action: ActionArg = None,
    confidence: ConfidenceArg = None,
    tool: ToolOption = None,
    args: ArgsOption = None,
    session: GrantsOption = None,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide like check, and show every check it passed and why it did not apply.

    It records nothing and alerts nobody.
    """
    given = CheckArguments(
        domain, action, confidence, tool, args, session, store, policy, preset, approval, as_json
    )
    raise typer.Exit(explain_and_print(given))
