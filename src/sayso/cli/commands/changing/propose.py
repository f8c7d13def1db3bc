"""`sayso propose …` and `sayso undo`: changes of policy and memory that wait, and can be undone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.opening import open_gate_to_act, show_or_json
from sayso.cli.options import ApprovalOption, JsonOption, PolicyOption, PresetOption
from sayso.cli.policy_choice import choose_policy
from sayso.cli.short_ids import StoreOption

if TYPE_CHECKING:
    from sayso.core.proposals.proposal import Proposal
    from sayso.gate.proposals.view import ProposalView

app = typer.Typer(no_args_is_help=True, help="Proposed changes to the policy, memory and prompts.")
ProposalId = Annotated[str, typer.Argument(metavar="ID", help="Its id, as `sayso propose list` shows it.")]
DUE = "due: a running service applies it within a minute"
WhyOption = Annotated[str, typer.Option("--why", metavar="TEXT", help="Why, for the record.")]


@app.command("new", short_help="File a proposal.")
def file_new(
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why the change is wanted.")],
    diff: Annotated[
        Path | None, typer.Option("--diff", metavar="FILE", help="A unified diff of one file; - reads stdin.")
    ] = None,
    new: Annotated[
        Path | None,
        typer.Option("--new", metavar="FILE", help="The file as it should be, instead of a diff."),
    ] = None,
    path: Annotated[
        str, typer.Option("--path", metavar="FILE", help="Which file --new replaces.")
    ] = "policy.yaml",
    root: Annotated[
        str,
        typer.Option(
            "--root", metavar="NAME", help="Which folder the file is in: policy, or one in settings.json."
        ),
    ] = "policy",
    undo: Annotated[
        Path | None,
        typer.Option("--undo", metavar="FILE", help="A diff that undoes the change; by default the reverse."),
    ] = None,
    store: StoreOption = None,
    policy: PolicyOption = None,
    preset: PresetOption = None,
    approval: ApprovalOption = None,
    as_json: JsonOption = False,
) -> None:
    """File a change. It applies once you have approved it and it has cooled, as the policy in force says.

    Example: sayso propose new --new draft.yaml --reason "tests may run unasked"
    """
    from sayso.cli.operator_name import operator_name
    from sayso.gate.proposals.file_proposal import REVERSE, ProposalBody, file_proposal
    from sayso.gate.proposals.roots import load_roots

    change = _read_change(diff, new, root, path)
    back = REVERSE if undo is None else _read_exactly(undo)
    with open_gate_to_act(store, choose_policy(policy, preset, approval)) as gate:
        body = ProposalBody(root, change, back, reason)
        made = file_proposal(gate, load_roots(), body, by=operator_name(), proposer="operator")
    show_or_json(as_json, made, [f"Filed {made.id}.", f"Approve it with: sayso propose approve {made.id}"])


def _read_change(diff: Path | None, new: Path | None, root: str, path: str) -> str:
    """Return the diff that was given, or the one that leads to the file as it should be."""
    from sayso.core.errors import MalformedRequest
    from sayso.core.proposals.diffs import make_diff
    from sayso.gate.proposals.files import read_file_text
    from sayso.gate.proposals.roots import load_roots

    if (diff is None) == (new is None):
        raise MalformedRequest("give --diff or --new, and not both", hint="--new draft.yaml --reason ...")
    if diff is not None:
        return _read_exactly(diff)
    before = read_file_text(load_roots().identify(root), path)
    return make_diff(path, before, _read_exactly(Path(str(new))))


def _read_exactly(file: Path) -> str:
    """Return the text of a file, or of stdin for `-`, with the line ends that it has."""
    from sayso.core.errors import MalformedRequest

    content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedRequest(f"{file} is not text", hint="save it as UTF-8") from error


@app.command("list", short_help="List proposals.")
def list_all(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List every proposal: what waits for you first, then what moves by itself, then the past."""
    from sayso.gate.proposals.roots import load_roots
    from sayso.gate.proposals.settle import recover_here
    from sayso.gate.proposals.view import view_proposals

    with open_gate_to_act(store) as gate:
        recover_here(gate)
        found = view_proposals(gate, load_roots())
    show_or_json(as_json, found, [_line(one) for one in found] or ["There are no proposals."])


@app.command("show", short_help="Show a proposal and its diff.")
def show_one(proposal: ProposalId, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show what a proposal changes, and for the policy which decisions it loosens and tightens."""
    from sayso.gate.proposals.roots import load_roots
    from sayso.gate.proposals.settle import recover_here
    from sayso.gate.proposals.view import view_proposal

    with open_gate_to_act(store) as gate:
        recover_here(gate)
        found = view_proposal(gate, load_roots(), proposal)
    show_or_json(as_json, found, _detail(found))


@app.command("approve", short_help="Approve a proposal.")
def approve(proposal: ProposalId, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Approve: it applies once it has cooled. The service does that by itself."""
    from sayso.cli.operator_name import operator_name
    from sayso.gate.people.answerers import at_terminal
    from sayso.gate.proposals.file_proposal import approve_proposal
    from sayso.gate.proposals.roots import load_roots
    from sayso.gate.proposals.view import view_proposal

    with open_gate_to_act(store) as gate:
        by = operator_name()
        approved = approve_proposal(gate, proposal, by=by, who=at_terminal(by))
        found = view_proposal(gate, load_roots(), proposal)
    lines = [f"{approved.id} is {_standing(found)}."]
    show_or_json(as_json, approved, [*lines, *_hindrance_lines(found)])


@app.command("reject", short_help="Reject a proposal.")
def reject(
    proposal: ProposalId, why: WhyOption = "", store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Reject a proposal that nobody has decided yet."""
    from sayso.cli.operator_name import operator_name
    from sayso.gate.proposals.file_proposal import reject_proposal

    with open_gate_to_act(store) as gate:
        _tell(reject_proposal(gate, proposal, by=operator_name(), why=why), as_json)


@app.command("withdraw", short_help="Withdraw a proposal.")
def withdraw(
    proposal: ProposalId, why: WhyOption = "", store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Withdraw a proposal that has not been applied."""
    from sayso.cli.operator_name import operator_name
    from sayso.gate.open import gate_data_folder
    from sayso.gate.proposals.carry_out import withdraw_proposal
    from sayso.gate.proposals.roots import load_roots
    from sayso.gate.proposals.settle import LOCK

    with open_gate_to_act(store) as gate:
        lock, by = gate_data_folder() / LOCK, operator_name()
        _tell(withdraw_proposal(gate, load_roots(), proposal, by=by, lock=lock, why=why), as_json)


@app.command("apply", short_help="Apply a proposal that has cooled.")
def apply_now(proposal: ProposalId, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Apply a proposal that was approved and has cooled; the running service does so by itself."""
    from sayso.cli.operator_name import operator_name
    from sayso.gate.open import gate_data_folder
    from sayso.gate.proposals.carry_out import apply_proposal
    from sayso.gate.proposals.roots import load_roots
    from sayso.gate.proposals.settle import LOCK

    with open_gate_to_act(store) as gate:
        lock = gate_data_folder() / LOCK
        _tell(apply_proposal(gate, load_roots(), proposal, by=operator_name(), lock=lock), as_json)


def undo_applied(proposal: ProposalId, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Undo a proposal that was applied, if its file has not changed since."""
    from sayso.cli.operator_name import operator_name
    from sayso.gate.open import gate_data_folder
    from sayso.gate.proposals.carry_out import undo_proposal
    from sayso.gate.proposals.roots import load_roots
    from sayso.gate.proposals.settle import LOCK

    with open_gate_to_act(store) as gate:
        lock = gate_data_folder() / LOCK
        _tell(undo_proposal(gate, load_roots(), proposal, by=operator_name(), lock=lock), as_json)


def _tell(one: Proposal, as_json: bool) -> None:
    show_or_json(as_json, one, [f"{one.id} is {one.state}."])


def _line(one: ProposalView) -> str:
    from sayso.core.words import visible

    proposal = one.proposal
    file, reason = visible(f"{proposal.root}/{proposal.path}"), visible(proposal.reason)
    return f"{proposal.id}  {_standing(one)}  {file}: {reason}"


def _standing(one: ProposalView) -> str:
    """The state in words, with the time that matters in it."""
    from sayso.core.durations import describe_left
    from sayso.core.words import visible

    state = one.proposal.state
    if state == "proposed" and one.proposal.note:
        return f"proposed again: {visible(one.proposal.note)}"
    if state == "proposed":
        cools = f"in {describe_left(one.cools_in)} if you approve it"
        return f"proposed, applies {cools if one.cools_in > 0 else 'once you approve it'}"
    if state == "approved" and one.proposal.note:
        return f"approved, and could not be applied: {visible(one.proposal.note)}"
    if state == "approved":
        left = describe_left(one.cools_in)
        return f"approved, applies in {left}" if one.cools_in > 0 else f"approved, {DUE}"
    if state == "applied":
        return f"applied, can be undone for {describe_left(one.undo_for)}"
    return state


def _detail(one: ProposalView) -> list[str]:
    from sayso.core.durations import describe_left
    from sayso.core.proposals.diffs import diff_lines, parse_diff
    from sayso.core.words import visible

    proposal = one.proposal
    lines = [
        f"{proposal.id}: {_standing(one)}",
        f"file: {proposal.root}/{visible(proposal.path)}",
        f"by {visible(proposal.by)}, {visible(proposal.operation)}: {visible(proposal.reason)}",
        f"{_describe_cooling(proposal)}, can be undone for {describe_left(proposal.undo_window)}",
        *_history_lines(proposal),
        *_hindrance_lines(one),
    ]
    lines += ["", *(visible(line, fold=None) for line in diff_lines(parse_diff(proposal.diff)))]
    if one.undo_change is not None:
        lines += ["", "Undoing it is a change of its own:"]
        lines += [visible(line, fold=None) for line in diff_lines(one.undo_change)]
    if one.effect is not None and (one.effect.loosened or one.effect.tightened):
        undoing = ["Undoing it now would change:"] if proposal.state == "applied" else []
        lines += ["", *undoing, *(f"loosened: {visible(text, fold=None)}" for text in one.effect.loosened)]
        lines += [f"tightened: {visible(text, fold=None)}" for text in one.effect.tightened]
    return lines


def _hindrance_lines(one: ProposalView) -> list[str]:
    from sayso.core.words import visible

    return [] if one.fits else [f"It cannot be carried out now: {visible(one.hindrance)}."]


def _describe_cooling(proposal: Proposal) -> str:
    from sayso.core.durations import describe_left

    return f"cools for {describe_left(proposal.cooling)}" if proposal.cooling else "does not have to cool"


def _history_lines(proposal: Proposal) -> Iterator[str]:
    """Yield when it was proposed, decided and applied, and who decided it, with their reason."""
    from sayso.cli.views.operator import format_moment
    from sayso.core.words import visible

    yield f"proposed {format_moment(proposal.proposed_at)}"
    if proposal.decided_at is not None:
        why = f": {visible(proposal.note)}" if proposal.note else ""
        yield f"decided by {visible(proposal.decided_by)}, {format_moment(proposal.decided_at)}{why}"
    if proposal.applied_at is not None:
        yield f"applied {format_moment(proposal.applied_at)}"
