"""The acts and names a message speaks of, in any form: "pushes", "force-push", "deployment", "b.py"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sayso.core.text.patterns import lazy_pattern
from sayso.core.text.phrases import ACTS
from sayso.core.text.programs import is_program


def speaks_of_act(words: str) -> bool:
    """Whether folded words hold a verb or noun of what an agent does."""
    return any(not ACT_STEMS.isdisjoint(_stems(name)) for name in _NAME.findall(words))


def speaks_of_strong_act(words: str) -> bool:
    """Whether folded words hold an act that changes or sends something; "read", "open" and "use" are none."""
    return any(not _STRONG_STEMS.isdisjoint(_stems(name)) for name in _NAME.findall(words))


def names_file(words: str) -> bool:
    """Whether folded words name a file or folder: "b.py", "src/"."""
    return _FILE.search(words) is not None


def names_target(words: str) -> bool:
    """Whether folded words name a file, a branch everybody knows, or a program."""
    return names_file(words) or any(
        word in _BRANCHES or is_program(word, as_speech=False) for word in words.split()
    )


def speaks_of_act_or_target(words: str) -> bool:
    """Whether folded words hold an act, a file, a branch everybody knows, or a program."""
    return speaks_of_act(words) or names_target(words)


def contains_forbidden(command: str, forbidden: Iterable[str]) -> bool:
    """Whether a command holds one of the words or names that a prohibition forbids, in any form."""
    spelled = set()
    for name in _NAME.findall(command.lower()):
        spelled |= {name, name.rpartition("/")[2], *_stems(name)}
    return not spelled.isdisjoint(forbidden)


def find_names(said: str) -> Iterator[str]:
    """The names and verbs in folded words, as `contains_forbidden` compares them."""
    for name in _NAME.findall(said):
        if name in _SMALL:
            continue
        if re.search(r"[./]", name):
            yield name.rpartition("/")[2]
        else:
            yield from (stem for stem in _stems(name) if stem not in _SMALL)


def _stems(name: str) -> Iterator[str]:
    return map(_stem, filter(None, re.split(r"[\W_]+", name)))


def _stem(word: str) -> str:
    word = _NOUNS.get(word, word)
    bare = re.sub(r"(?:ments?|ing|ed|es|s|e)$", "", word) if len(word) > 3 else word
    return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] else bare


_NAME = lazy_pattern(r"[\w./\\~-]*\w")
_FILE = lazy_pattern(r"(?<![\w.])[\w./\\~-]*(?:[\w~-]\.[a-z]\w*|\w/|/\w)[\w./\\~-]*")
_BRANCHES = frozenset({"main", "master", "production", "prod", "staging"})
# Nouns whose stem is not that of their verb.
_NOUNS = {
    noun + plural: verb
    for noun, verb in (
        *(
            ("publication", "publish"),
            ("deletion", "delete"),
            ("removal", "remove"),
            ("submission", "submit"),
        ),
        *(("installation", "install"), ("modification", "modify"), ("execution", "execute")),
        *(("creation", "create"), ("migration", "migrate"), ("alteration", "alter"), ("sent", "send")),
        *(("committed", "commit"), ("written", "write"), ("modified", "modify"), ("ran", "run")),
    )
    for plural in ("", "s")
}
ACT = f"(?:{'|'.join(ACTS)})"
ACT_STEMS = frozenset(map(_stem, ACTS))
DONE_TO = f"(?:{'|'.join(re.sub('[ey]$', '', act) for act in ACTS)}|stopp|dropp|gett|shipp|run|writt)"
"""How the participle of an act begins: "edited", "pushing"."""
_MILD = (
    "run", "use", "call", "open", "read", "make", "add", "create", "start", "launch", "enable", "disable",
    "mess", "force", "fetch", "pull", "build", "format", "download", "move", "write", "test", "restart",
)  # fmt: skip
_STRONG_STEMS = ACT_STEMS - frozenset(map(_stem, _MILD))
_SMALL = frozenset({
    "a", "an", "the", "any", "anything", "everything", "else", "it", "this", "that", "these", "those", "them",
    "they", "me", "my", "you", "your", "to", "on", "in", "of", "for", "and", "or", "nor", "at", "by", "with",
    "from", "into", "please", "do", "be", "is", "are", "was", "ever", "again", "now", "then", "yet", "more",
    "so", "just", "ok", "i", "we", "us", "all", "no", "not", "want", "thing", "things", "must", "may",
    "off", "limits", "alone", "should", "can", "could", "allowed", "permitted", "consent", "allow", "permit",
    "under", "circumstances", "myself", "hand", "further", "better", "isn't", "aren't", "approve", "proceed",
    "continue", "go", "ahead", "before", "first", "u", "there", "nothing", "nobody", "neither", "never", "if",
    "means", "account", "case", "time", "sure", "ensure", "have", "has", "business", "right",
    "permission", "approval", "forbidden", "prohibited", "banned", "disallowed", "later", "each", "every",
    "stop", "quit", "cease", "enough", "postpone", "delay", "using", "use", "gets", "will", "s", "t", "re",
    "d", "ll", "ve", "m", "supposed", "barred", "object", "against", "letting", "needs", "need", "say",
    "said", "asked", "ask", "one", "agent", "okay", "out", "question", "option", "table", "shouldn",
    "can't", "shouldn't", "didn't", "won't", "don't", "isn", "aren", "don", "auto",
})  # fmt: skip
