"""Which arguments of a call a person may edit before allowing it. Every surface shows what is found here.

- Messages and workflows are confirmed as they are, or denied.
- The program that asks knows its functions and their state. Elsewhere, calls that have a state cannot be
  edited, and the arguments of a function take what it declares; where it declares nothing, values keep their
  kinds.
- Of an evaluated call, only the arguments of a tool can be edited, not who asks or in which context.
"""

from __future__ import annotations

import msgspec

from sayso.core import words
from sayso.core.decision import Question
from sayso.core.digest import decode_canonical
from sayso.gate.questions.argument_types import ArgumentType, argument_types
from sayso.gate.questions.evaluated_calls import EVALUATED
from sayso.gate.questions.evaluated_calls import OPERATION as EVALUATED_OPERATION
from sayso.gate.questions.evaluated_calls import TOOL as EVALUATED_TOOL


class EditableArguments(msgspec.Struct, frozen=True):
    """The arguments of a call that a person may edit."""

    arguments: tuple[str, ...]
    same_kinds: bool = False
    """Whether values keep their kind and no argument comes or goes: a program's own function is called."""
    types: dict[str, ArgumentType] = {}
    """What arguments take, by name, as far as their program declared it."""


def find_editable(asked: Question, *, elsewhere: bool = False) -> EditableArguments | None:
    """Return what can be edited, or None. `elsewhere` means outside the program that asks."""
    nothing_allows = all(offer.answer == "deny" for offer in asked.offers)
    if nothing_allows or reason_not_editable(asked, elsewhere=elsewhere) is not None:
        return None
    call = asked.request.call
    evaluated = call.schema == EVALUATED_TOOL
    names = tuple(name for name in decode_canonical(call.arguments) if not (evaluated and name == EVALUATED))
    known = "" if asked.request.declared is None else asked.request.declared.parameters
    same_kinds = elsewhere and bool(call.schema or known) and not evaluated
    types = argument_types(known, decode_canonical(call.arguments))
    return EditableArguments(names, same_kinds, types) if names else None


def reason_not_editable(asked: Question, *, elsewhere: bool = False) -> str | None:
    """Return why an edit of this question is refused, whatever it changes; None if it is not."""
    request = asked.request
    if asked.claim is not None:
        return words.MESSAGE_AS_IT_IS
    if request.workflow is not None:
        return words.WORKFLOW_AS_IT_IS
    unknown_here = request.call.state is not None or request.declared is None
    if elsewhere and (unknown_here or request.call.schema == EVALUATED_OPERATION):
        return words.EDITED_BY_PROGRAM
    return None
