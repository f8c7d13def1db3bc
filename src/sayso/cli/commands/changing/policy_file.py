"""`sayso policy status | apply | lock | unlock`: the policy file, and what is in force."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.opening import open_gate_to_act, open_gate_to_look, show_or_json
from sayso.cli.options import JsonOption, PolicyOption
from sayso.cli.policy_choice import print_note
from sayso.cli.short_ids import StoreOption

if TYPE_CHECKING:
    from sayso.gate.gate import Gate
    from sayso.gate.policy_acts.apply import PolicyStatus

YesOption = Annotated[bool, typer.Option("--yes", help="Apply it without asking.")]
AllOption = Annotated[bool, typer.Option("--all", help="Show every change, however many.")]
ASK_TO_APPLY = "Put it in force? y, n, or a to see every change"
TRIES = 5
"""How often a file is shown again that others put something else in force for meanwhile."""
STATES = {
    "in_force": "It is in force.",
    "waits": (
        "It loosens what is in force, and waits: `sayso policy apply` puts it in force. "
        "What it tightens counts already."
    ),
    "tightens": "It only tightens what is in force; a gate that watches it puts it in force by itself.",
    "refused": "It is refused; what was in force before stays.",
    "not_the_locked_one": "It is not the file that was locked: the locked policy stays in force.",
    "new": "Nothing is in force on this store yet.",
}
LOOSENS_NOTHING = (
    "It waits because an earlier version of it was not applied. Applying it loosens nothing: "
    "`sayso policy apply` puts it in force."
)


def policy_status(
    policy: PolicyOption = None,
    everything: AllOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show whether your policy file is in force, what it would change, and whether it is locked.

    Many changes are summed up; --all lists each.
    """
    from sayso.gate.policy_acts.apply import load_policy_status
    from sayso.gate.policy_acts.lock import load_pin

    with open_gate_to_look(store, sealed=True) as gate:
        found = load_policy_status(gate, _find_file(policy))
        with gate.store.read() as tx:
            pin = load_pin(gate, tx)
    pinned = [] if pin is None else [f"{pin.path} was locked by {pin.by}."]
    lines = [*_status_lines(found, everything), *pinned, *_project_lines(Path(found.file))]
    show_or_json(as_json, found, lines)


def policy_apply(
    policy: PolicyOption = None,
    yes: YesOption = False,
    everything: AllOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put your policy file in force, after showing what it loosens and tightens.

    A running service or program follows it from its next decision on. What one of them puts in force while
    you look is shown again.
    """
    from sayso.gate.policy_acts.apply import load_policy_status

    file = _find_file(policy)
    with open_gate_to_act(store) as gate:
        before, found, tries = load_policy_status(gate, file), None, TRIES
        while found is None:
            if not as_json:
                show_or_json(False, before, _status_lines(before, everything))
            if before.state != "in_force" and not yes and not _is_confirmed(before):
                raise typer.Exit(1)
            tries -= 1
            found = _apply_as_shown(gate, file, before, last=not tries)
            if found is None:
                print_note("what is in force changed meanwhile: look at it again")
                before = load_policy_status(gate, file)
    show_or_json(as_json, found, [] if found is before else ["Applied. It is in force."])


def _apply_as_shown(gate: Gate, file: Path, before: PolicyStatus, *, last: bool) -> PolicyStatus | None:
    """Put the file in force as it was shown; None if it is not so by now, and it can be shown again."""
    from sayso.cli.operator_name import operator_name
    from sayso.core.errors import NotSeen
    from sayso.gate.people.signed_acts import Acknowledgement
    from sayso.gate.policy_acts.apply import apply_policy

    if before.state == "in_force":
        return before
    seen = Acknowledgement(before.shown)
    try:
        return apply_policy(gate, file, by=operator_name(), content=before.content, shown=seen)
    except NotSeen:
        if last:
            raise
        return None


def _is_confirmed(status: PolicyStatus) -> bool:
    """Ask until the answer is yes or no; what is neither is no."""
    while (answer := typer.prompt(ASK_TO_APPLY, default="n").strip().lower()) == "a":
        show_or_json(False, status, _status_lines(status, everything=True))
    return answer in ("y", "yes")


def policy_lock(policy: PolicyOption = None, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Lock your policy file: make it immutable, and pin what it says.

    If it is changed anyway, the locked policy stays in force, changes to the guard itself are denied,
    and you are alerted. Where the system does not permit immutable files, it is made read-only.
    """
    from sayso.cli.operator_name import operator_name
    from sayso.gate.policy_acts.lock import lock_policy

    with open_gate_to_act(store) as gate:
        pin = lock_policy(gate, _find_file(policy), by=operator_name())
    told = {"file": pin.path, "digest": pin.digest, "how": pin.how}
    weaker = "It is read-only: this system or file system does not permit immutable files here."
    how = "It is immutable." if pin.how == "immutable" else weaker
    show_or_json(as_json, told, [f"Locked: {pin.path}", how])


def policy_unlock(
    policy: PolicyOption = None, store: StoreOption = None, as_json: JsonOption = False
) -> None:
    """Unlock your policy file. What was changed in it meanwhile counts as any change does.

    What it tightens counts at once; what it loosens waits until you apply it.
    """
    from sayso.cli.operator_name import operator_name
    from sayso.gate.policy_acts.lock import unlock_policy

    file = _find_file(policy)
    with open_gate_to_act(store) as gate:
        unlock_policy(gate, file, by=operator_name())
    show_or_json(as_json, {"file": str(file)}, [f"Unlocked: {file}"])


def _find_file(policy: Path | None) -> Path:
    from sayso.core.errors import MalformedRequest
    from sayso.gate.settings import find_own_policies, gate_config_folder

    found = [policy] if policy is not None else find_own_policies()
    if not found:
        hint = f"`sayso init` writes one in {gate_config_folder()}; --policy names another"
        raise MalformedRequest("you have no policy file", hint=hint)
    return found[0].absolute()


def _project_lines(file: Path) -> list[str]:
    """What the file of the project in the working folder does, if there is one."""
    from sayso.doors.python.calls.door import workspace_here
    from sayso.gate import words
    from sayso.gate.policy.projects import NAME, find_project_file
    from sayso.gate.policy.resolve import read_file_content

    policy, workspace = read_file_content(file).policy, workspace_here()
    found = None if policy is None else find_project_file(policy, workspace)
    if found is None:
        return []
    own = f"{workspace}/{NAME}"
    if found.problem:
        return [words.project_file_refused(own, found.problem)]
    return [f"{words.project_file_counts(own)}."]


def _status_lines(found: PolicyStatus, everything: bool) -> list[str]:
    from sayso.cli.views.policy_change import describe_difference
    from sayso.gate.policy_acts.file_flags import read_protection

    needless = found.state == "waits" and not found.difference.loosens
    lines = [f"{found.file}: {LOOSENS_NOTHING if needless else STATES[found.state]}"]
    lines += found.problem.splitlines()
    if found.state in ("waits", "tightens"):
        lines += describe_difference(found.difference, everything=everything)
    if found.locked:
        lines.append(f"Locked; the file is {read_protection(Path(found.file)) or 'not protected'}.")
    return lines
