"""Cards that a surface fetches, instead of being sent them."""

from __future__ import annotations

from collections.abc import Callable

from sayso.gate.deliveries.cards import describe_approvals_on, make_card
from sayso.gate.deliveries.remote_surface import QuestionCard, RemoteSurface
from sayso.gate.gate import Gate
from sayso.gate.questions.expiry import ends_at, is_answerable
from sayso.gate.questions.read import questions_in
from sayso.gate.questions.retell import retell

MOST_CARDS = 50
MOST_LOOKED_AT = 1_000
"""How many open questions are looked through: some are held back, and shown there later or not at all."""


def open_cards(gate: Gate, surface: RemoteSurface, link: Callable[[str], str | None]) -> list[QuestionCard]:
    """Return the cards of the questions that wait on this surface, oldest first; 50 at most."""
    with gate.store.read() as tx:
        rows = tx.questions(limit=MOST_LOOKED_AT)
        here = (one for one in rows if tx.delivery(surface.name, one.id) is not None)
        open_ones = [one for one in here if is_answerable(gate, one, tx.now)][:MOST_CARDS]
        return [
            make_card(
                gate,
                surface,
                retell(gate, tx, one.question),
                ends_at(gate, one.row),
                link(one.row.id),
                describe_approvals_on(gate, tx, surface, one),
            )
            for one in questions_in(gate, tx, open_ones)
        ]
