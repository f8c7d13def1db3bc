"""Statements that consent has ended: "my consent for file edits is withdrawn", "everything revoked".

A noun of consent beside a word for its end, in a statement of the user's own. What is between them is
named by it; without a name it is all consent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.refusing.denials import with_apostrophes
from sayso.core.text.unmask import clause_spans

CONSENT_NOUN = "(?:consents?|permissions?|approvals?|grants?|authori[sz]ations?|access|rights|privileges)"


def says_all_ended(own: str) -> bool:
    """Whether a statement in folded own words takes all consent back."""
    own = with_apostrophes(own)
    return any(
        _ALL_ENDED.fullmatch(words) and own[start + len(words) : start + len(words) + 1] != ":"
        for words, start in _statements(own)
    )


def find_ended_names(own: str) -> Iterator[tuple[int, int]]:
    """Where in folded own words the names are for which consent is said to have ended."""
    for words, start in _statements(_SPLITTING_COLON.sub(" ", own)):
        found = _ENDED.fullmatch(words)
        if found is not None:
            name = next(name for name in ("for", "of", "bare", "order", "taken") if found[name])
            yield start + found.start(name), start + found.end(name)


def spell_out_order(text: str) -> str:
    """A text with "/allowlist clear" and "/revoke X" spelled out as the orders they mean."""
    if _BARE_ORDER.fullmatch(text):
        return "Revoke all consent"
    if _CLEAR_ORDER.fullmatch(text):
        return "Clear session allowlist"
    found = _REVOKE_ORDER.fullmatch(text)
    if found is None:
        return text
    named = found["named"]
    return f"Revoke all consent{found['rest']}" if named is None else f"Revoke consent for: {named}"


def find_entries_to_drop(own: str, entries: Sequence[str]) -> list[str]:
    """The entries, folded, that folded own words order to drop: "remove git push", "take a and b off"."""
    one = "|".join(re.escape(entry) for entry in sorted(entries, key=len, reverse=True))
    several = rf"(?:{one})(?:(?: and| or| plus| &)+(?: the)? (?:{one}))*"
    order = re.compile(
        rf"{_LEAD}(?:{_DROP}|{_TAKEN})(?: (?:both|each|all|of|the))* (?P<named>{several}){_OFF}"
    )
    found = (order.fullmatch(" ".join(words.split())) for words, _ in _statements(own) if entries)
    named = [match["named"] for match in found if match is not None]
    return [entry for entry in entries if any(_names(text, entry) for text in named)]


def _names(text: str, entry: str) -> bool:
    return re.search(rf"(?<!\S){re.escape(entry)}(?!\S)", text) is not None


def _statements(own: str) -> Iterator[tuple[str, int]]:
    """The clauses that ask nothing, each with where it begins."""
    for start, end, asked in clause_spans(own):
        words = own[start:end]
        ahead = len(words) - len(words.lstrip())
        if not asked:
            yield words.strip(), start + ahead


_LEAD = (
    r"(?:(?:please|now|ok|okay|so|and|but|also|then|just|actually|no|yes|hereby|i|i\s+would\s+like\s+to|i'd\s+like\s+to"
    r"|can\s+you|could\s+you)\s+)*"
)
_DROP = (
    "(?:remove|delete|drop|take(?: back| away)?|strike|kick|scratch|pull|forget|unlist|delist|unallow"
    "|disallow)"
)
_OFF = r"(?: (?:off|out|away|again|please|now|from (?:the|my) list|off (?:the|my) list))*"
_KINDS = (
    r"(?:(?:the|my|any|your|all|of|every|each|single|absolutely|standing|session|task|given|granted"
    r"|existing|previous"
    r"|last|current|earlier)\s+)*"
)
_IS = r"(?:(?:is|are|has|have|been|be|now|hereby|considered|to)\s+)*"
_GONE = (
    r"(?:revoked|withdrawn|rescinded|retracted|over|ended|ends|expired|expires?|void|gone|cancel?led"
    r"|terminated|lifted|null"
    r"|no\s+longer\s+(?:holds?|valid|stands?|appl(?:y|ies)|given|granted|in\s+force)|not\s+valid)"
)
_TAIL = (
    r"(?:\s+(?:now|here|please|again|immediately|at\s+once|right\s+now|right\s+away|any\s?more|any\s+longer|so\s+far"
    r"|today|back))*"
)
_TAKEN = r"(?:revok(?:e|ed|ing)?|withdr[ae]wn?|rescind(?:ed)?|retract(?:ed)?|strip|cancel|pull)"
_UNGRANT = r"(?:unapprove|disallow|ungrant|de-?authori[sz]e|unauthori[sz]e|void|annul|terminate|suspend)"
_ALL_ENDED = lazy_pattern(
    rf"{_LEAD}(?:"
    rf"(?:consider\s+|regard\s+)?(?:{_KINDS}{CONSENT_NOUN}|everything|all|all\s+of\s+(?:it"
    rf"|them))\s+{_IS}(?:as\s+)?{_GONE}"
    rf"|(?:i(?:'ve|\s+have)?\s+|i\s+want\s+to\s+)?{_TAKEN}\s+(?:both|absolutely\s+everything"
    rf"|{_KINDS}{CONSENT_NOUN}"
    r"(?:\s+(?:given|granted)(?:\s+so\s+far)?)?)"
    rf"|i\s+(?:did\s+not|didn't|never)\s+consent(?:ed)?(?:\s+to\s+(?:this|that|it|any\s+of\s+(?:this|that"
    rf"|it)))?"
    rf"|(?:remove|end|undo|expire|terminate|void|delete|cancel|drop)\s+{_KINDS}consents?"
    rf"|clear\s+(?:everything|all(?:\s+of\s+it)?)|{_TAKEN}\s+the\s+(?:whole\s+)?lot"
    rf"|(?:take\s+(?:away|back)|remove|delete|{_TAKEN})\s+(?:all|every)\s+{_KINDS}{CONSENT_NOUN}"
    rf"|(?:take\s+(?:away|back)|{_UNGRANT})\s+(?:everything|all(?:\s+of\s+it)?|{_KINDS}{CONSENT_NOUN})"
    rf"|take\s+(?:everything|{_KINDS}{CONSENT_NOUN})\s+(?:away|off)(?:\s+(?:me|you))?"
    rf"|(?:you|the\s+agent|agents?)(?:'ve|\s+have|\s+has)?\s+los[te]s?\s+{_KINDS}{CONSENT_NOUN}"
    rf"|(?:{_TAKEN}|{_UNGRANT}|take\s+(?:away|back))\s+(?:what|whatever|everything|all|anything)(?:\s+that)?\s+i(?:'ve|\s+have)?\s+"
    r"(?:granted|allowed|approved|gave|given|consented\s+to|agreed\s+to)(?:\s+(?:you|to\s+you))?"
    r"|i\s+(?:do\s+not|don't|no\s+longer|never)\s+consent(?:\s+to\s+any(?:thing|\s+of\s+(?:this|that|it)))?"
    r"|i\s+(?:have\s+not|haven't|have\s+never|never|did\s+not|didn't)\s+consent(?:ed)?\s+to\s+any(?:thing"
    r"|\s+of\s+(?:this|that|it))"
    rf"|i\s+(?:have\s+not|haven't|never|have\s+never|did\s+not|didn't)\s+(?:give|gave"
    rf"|given)\s+(?:you\s+)?{_KINDS}{CONSENT_NOUN}"
    rf"|(?:there\s+is\s+|there's\s+|you\s+have\s+|i\s+give\s+)?no\s+{_KINDS}consent"
    rf"|consent\s+(?:is\s+)?not\s+given"
    rf"|i\s+un-?consent|i\s+want\s+{_KINDS}{CONSENT_NOUN}\s+back"
    rf"|(?:reset|strip|drop|clear)\s+{_KINDS}(?:permissions?|consents?|approvals?)"
    r"|(?:forget|undo|drop|ignore)\s+(?:everything|all|anything|whatever)(?:\s+that)?\s+i(?:'ve|\s+have)?"
    r"\s+(?:approved|allowed|granted|agreed\s+to|consented\s+to)"
    rf"|revok(?:e|ing)?[\s-]+all[\s-]+(?:{CONSENT_NOUN}))"
    rf"{_TAIL}"
)
_NAME = r"[^\s,;:!?\n][^,;:!?\n]{0,200}?"
_ENDED = lazy_pattern(
    rf"{_LEAD}(?:{_KINDS}{CONSENT_NOUN}\s+(?:for|to|of|on)\s+(?P<for>{_NAME})\s+{_IS}{_GONE}"
    rf"|(?:take\s+back|withdraw|retract|rescind)\s+(?:the\s+"
    rf"|my\s+)?(?P<taken>[\w-]+(?:\s+[\w-]+){{0,2}})\s+{CONSENT_NOUN}"
    rf"|no\s+longer\s+{_KINDS}{CONSENT_NOUN}\s+(?:for|to|of|on)\s+(?P<order>{_NAME})"
    rf"|(?!(?:the|a|an|it|this|that|which|who|all|my|your"
    rf"|everything)\b)(?P<of>{_NAME})\s+{CONSENT_NOUN}\s+{_IS}{_GONE}"
    rf"|(?!(?:the|a|an|it|this|that|which|who|all|my|your|everything|i"
    rf"|consider)\b)(?P<bare>[\w./-]+(?:\s+[\w./-]+){{0,3}}?)"
    r"\s+(?:revoked|withdrawn|rescinded))"
    rf"{_TAIL}"
)
_SPLITTING_COLON = lazy_pattern(r":(?=\s+(?:revoked|withdrawn|rescinded)\b|\s+\S)")
_CLEAR_ORDER = lazy_pattern(r"\s*/allowlist\s+(?:clear|empty|reset|wipe|off)[\s.!]*", re.IGNORECASE)
_BARE_ORDER = lazy_pattern(r"\s*/(?:revoke|clear|reset)[\s.!]*", re.IGNORECASE)
_REVOKE_ORDER = lazy_pattern(
    r"\s*(?:/allowlist\s+(?:(?:remove|rm|delete|drop|revoke)\b:?|-(?=\s*\w))|/revoke\b:?)"
    r"(?:\s+(?:all|everything)(?P<rest>\b.*)|\s*(?P<named>\S.*))",
    re.IGNORECASE,
)
