"""The decision about a request, with everything needed to say why and to ask a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from sayso.core.durations import QUESTION_LASTS
from sayso.core.effects import Effect
from sayso.core.model import Piece, Request, Risk, Verdict
from sayso.core.policy import Terms
from sayso.core.rulebook import CONFIDENT, source_of


class Ruling(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of one check for one operation."""

    verdict: Verdict
    rule: str
    reason: str
    announce: str | None = None
    grants: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """The decision for one operation of the call. `undecayed` is its risk with decay left aside."""

    operation: str
    category: str
    category_words: str
    undecayed: Risk
    risk: Risk
    weight: Risk
    ruling: Ruling


def operations_of(items: Sequence[Item]) -> tuple[str, ...]:
    """The operations that these items are about, each once."""
    if len(items) == 1:
        return (items[0].operation,)
    return tuple(dict.fromkeys(item.operation for item in items))


class Offer(msgspec.Struct, frozen=True):
    """An answer a person may give, and in words what it would allow."""

    answer: str
    words: str


class Decision(msgspec.Struct, frozen=True):
    """Allow, ask or deny, with the rule that decided, the reason and what to announce. Never a bare bool.

    `effects` are to be applied together with the audit entry. `offers` are filled in when a person is asked.
    """

    verdict: Verdict
    rule: str
    reason: str
    announce: str | None
    items: tuple[Item, ...]
    grants: tuple[str, ...]
    effects: tuple[Effect, ...]
    offers: tuple[Offer, ...] = ()

    @property
    def outcome(self) -> str:
        """The same in the words of the consent graph."""
        return "VISIBLE" if self.rule == CONFIDENT.name else OUTCOMES[self.verdict]

    @property
    def source(self) -> str:
        """The origin of the consent, in the seeds' words."""
        return source_of(self.rule)

    @property
    def items_to_ask(self) -> tuple[Item, ...]:
        """Return the items a question lists: only the operations that need asking."""
        return tuple(item for item in self.items if item.ruling.verdict is Verdict.ASK)

    @property
    def risk(self) -> Risk:
        items = self.items
        return items[0].risk if len(items) == 1 else max((item.risk for item in items), default=Risk.LOW)


class Question(msgspec.Struct, frozen=True):
    """What an ask opens for a person; answered once. `task` is what "for this task" means.

    `bundle` is the label of what was checked ahead in one go; `later` names what will be asked when reached.
    `policy` is the digest of the one it was asked under, which computed the offers. `claim` is the message
    that a host says the user wrote, if that is what is asked. `complete` means that `text` shows all of the
    call, with nothing folded. `confirms_task`: a yes also says that the long task goes on.
    """

    id: str
    request: Request
    items: tuple[Item, ...]
    offers: tuple[Offer, ...]
    text: str
    turn: int
    opened_at: float
    task: str | None = None
    bundle: str | None = None
    later: tuple[str, ...] = ()
    policy: str = ""
    claim: str | None = None
    terms: Mapping[str, Terms] = {}
    """What the policy says of each operation asked about; an approval lasts while it is no stricter."""
    complete: bool = False
    confirms_task: bool = False
    lasts: float = QUESTION_LASTS
    """Seconds for which it can be answered."""

    @property
    def risk(self) -> Risk:
        return max(item.risk for item in self.items)

    @property
    def item_ids(self) -> tuple[str, ...]:
        """Return the names of the items in an answer: their numbers."""
        return tuple(str(number) for number, _ in enumerate(self.items, 1))

    @property
    def because(self) -> tuple[Piece, ...]:
        """The parts of the call that made what is asked for what it is, as far as its readers said so."""
        asked = {item.operation for item in self.items}
        told = (one.because for one in self.request.operations if one.name in asked)
        return tuple(dict.fromkeys(piece for pieces in told for piece in pieces))

    def offers_answer(self, answer: str) -> bool:
        return any(offer.answer == answer for offer in self.offers)


OUTCOMES = {Verdict.ALLOW: "SILENT", Verdict.ASK: "FORCED", Verdict.DENY: "BLOCKED"}
