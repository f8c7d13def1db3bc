"""The rows that are loaded with a session: for one decision, all that is live, or what is over as well.

- What is live the sealed row of the session names: grants and open questions. They are looked up by name, so
  what is over costs nothing, however much of it there is.
- A live row that was changed, or is gone, is noticed. A row that the session does not name grants nothing,
  whoever wrote it. It is noticed by whoever looks up what it is for, and by `audit verify`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from sayso.core.decision import Question
from sayso.core.grants import Grant, GrantKey, HeldGrant
from sayso.gate import words
from sayso.gate.rows.row_seals import Sealer, SessionState
from sayso.store.contract import GrantRow, QuestionRow, Reader

MOST_OPEN = 10_000


class RowSelection(msgspec.Struct, frozen=True):
    """Which rows to load with a session: the grants of these keys, and the open question about this digest.

    With `live`, every live grant and open question as well, and what free retries stem from. `names`: and
    these grants, whatever became of them. `over`: and every grant that is over. `calls`: and the calls under
    way.
    """

    keys: tuple[GrantKey, ...] = ()
    digest: str | None = None
    live: bool = False
    names: tuple[str, ...] = ()
    over: bool = False
    calls: bool = False


class SelectedGrants(msgspec.Struct, frozen=True):
    """The grants as they are, those that are missing, and what was noticed."""

    held: dict[GrantKey, tuple[HeldGrant, ...]]
    missing: frozenset[str] = frozenset()
    findings: tuple[str, ...] = ()


def load_grants(
    tx: Reader, sealer: Sealer, session: str, kept: SessionState, wanted: RowSelection
) -> SelectedGrants:
    """A row that does not fit its seal is not one of them, and one that the session does not name is over."""
    loading = _Loading(sealer, kept)
    if wanted.over:
        loading.add(tx.grants(session))
    elif wanted.keys:
        loading.add(tx.grants(session, wanted.keys))
    if wanted.live and not wanted.over:
        loading.add_named(tx, session, (*kept.spent, *wanted.names))
        loading.add_named(tx, session, loading.find_stems())
    if not (wanted.live or wanted.over):
        return SelectedGrants(loading.held, findings=tuple(loading.findings))
    missing = frozenset(kept.spent) - loading.sound
    gone = (words.deleted_outside(f"grant {name}") for name in sorted(missing))
    return SelectedGrants(loading.held, missing, (*loading.findings, *gone))


class _Loading:
    """The grants of a session while they are loaded. Each row is looked at once."""

    def __init__(self, sealer: Sealer, kept: SessionState) -> None:
        self._sealer = sealer
        self._kept = kept
        self._seen: set[str] = set()
        self.held: dict[GrantKey, tuple[HeldGrant, ...]] = {}
        self.sound: set[str] = set()
        """The names of the grants whose rows are as we wrote them."""
        self.findings: list[str] = []

    def add_named(self, tx: Reader, session: str, names: Iterable[str]) -> None:
        """Add the grants of these names, in this order."""
        left = [name for name in dict.fromkeys(names) if name not in self._seen]
        found = {row.id: row for row in tx.grants_named(session, left)} if left else {}
        self.add([found[name] for name in left if name in found])

    def add(self, rows: Sequence[GrantRow]) -> None:
        for row in rows:
            self._seen.add(row.id)
            grant = self._sealer.open_grant(row)
            if grant is None:
                if not self._sealer.is_void(row):
                    self.findings.append(words.changed_or_void(f"grant {row.id}"))
                continue
            self.sound.add(grant.id)
            became, key = self._kept.spent.get(grant.id), grant.key
            one = _dead_grant(grant, self._kept) if became is None else HeldGrant(grant, became.used)
            self.held[key] = (*self.held[key], one) if key in self.held else (one,)

    def find_stems(self) -> tuple[str, ...]:
        """What retries stem from, grants among it: where these are cleared, the retries end as well."""
        return tuple([stem for row in self.held.values() for one in row for stem in one.grant.stems])


def _dead_grant(grant: Grant, kept: SessionState) -> HeldGrant:
    """A grant that the session does not name: used up, expired or revoked. It is dead in any case."""
    if grant.uses is None:
        return HeldGrant(grant, revoked=True)
    return HeldGrant(grant, grant.uses, revoked=grant.id in kept.ended)


def load_questions(
    tx: Reader, sealer: Sealer, session: str, kept: SessionState, wanted: RowSelection
) -> tuple[dict[str, Question], tuple[str, ...]]:
    """Return the open questions, and signs of tampering: a tampered or reopened question is not answered."""
    questions: dict[str, Question] = {}
    findings: list[str] = []
    for row in _find_question_rows(tx, session, wanted):
        question = sealer.open_question(row)
        if question is None:
            findings.append(words.changed_outside(f"question {row.id}"))
        elif row.id in kept.questions:
            questions[row.id] = question
        elif tx.now < row.expires_at:
            findings.append(words.reopened_outside(row.id))
    return questions, tuple(findings)


def _find_question_rows(tx: Reader, session: str, wanted: RowSelection) -> Sequence[QuestionRow]:
    if wanted.live or wanted.over:
        return tx.questions(session, limit=MOST_OPEN)
    found = tx.open_question(session, wanted.digest) if wanted.digest is not None else None
    return () if found is None else (found,)
