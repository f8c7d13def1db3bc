"""The phrases Sayso listens for in a user's message, as data.

Everything is lower case with straight apostrophes, as messages are once they are folded. A phrase matches as
whole words; `pattern` turns a list of them into one expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec


class Phrases(msgspec.Struct, frozen=True):
    """Phrases of other languages that the operator's file adds. They add to the English ones, only."""

    stop: tuple[str, ...] = ()
    refuse: tuple[str, ...] = ()
    assent: tuple[str, ...] = ()


STOP_PHRASES = ("stop", "wait", "cancel", "hold on", "not yet")
"""A stop wherever they stand in the user's own words."""

STOP_OPENINGS = ("halt", "abort", "pause", "hang on")
"""A stop where a clause begins with them."""

STOP_CLAUSES = (
    "hold it", "hold up", "hold off", "hold everything", "hold your horses", "hold", "cease",
    "cease and desist", "desist", "freeze", "stand down", "stand by", "suspend", "interrupt",
    "knock it off", "cut it out", "back off", "time out", "timeout", "do nothing", "do nothing more",
    "do nothing else", "quit", "quit it", "whoa", "emergency brake", "kill it", "woah", "on hold",
    "put it on hold", "put this on hold", "put everything on hold", "put that on hold", "hold the phone",
    "hold your fire", "hold fire", "terminate", "end this", "end it", "shut it down", "shut down", "kill",
    "slow down", "not just yet", "not so fast", "i'm cancelling", "i'm canceling", "i am cancelling",
    "drop everything", "ctrl-c", "ctrl c", "too fast", "you're too fast", "you're going too fast",
    "easy there", "easy now", "break", "esc", "escape", "hangon", "stopp", "stahp", "sotp", "stpo", "wiat",
    "waitt", "cancle",
)  # fmt: skip
"""A stop where a clause is nothing else but them and small words."""

HIGH_PHRASES = (
    "go ahead", "proceed", "yes", "yep", "yeah", "sounds good", "looks good", "do it", "ship it",
    "make it so", "let's do it", "let's go", "approved", "confirmed", "y", "yup", "yea", "lgtm",
    "go for it", "please do", "absolutely", "definitely", "certainly", "of course", "by all means",
    "affirmative", "agreed", "approve", "i approve", "approve it", "i approve it", "allow", "allow it",
    "yess", "yesss", "yes yes", "aye", "do so", "please do so", "let's do this", "let's go ahead",
    "looks great", "sounds great", "sgtm", "i agree", "i confirm", "accept", "accepted", "i accept",
    "i consent", "i give my consent", "you have my consent", "you have my approval",
    "you have my permission", "permission granted", "for sure", "i'm good with that", "i'm good with it",
    "i'm good with this", "i am good with that", "approve this", "i allow it", "i allow this",
    "i authorize this", "i authorize it", "i authorise this", "let's do that", "the answer is yes",
    "my answer is yes", "it's a yes", "that's a yes", "it is a yes", "i approve this", "i approve that",
    "i allow that", "i authorize that", "i authorise it", "i authorise that", "go right ahead", "i say yes",
    "you have my ok", "you have my okay", "you have my go-ahead", "you have my blessing", "make it happen",
    "roger that", "let's roll", "fire away", "sounds perfect", "looks perfect",
    "looks right", "looks correct", "consent given", "consent granted", "access granted",
    "i give consent", "i give you permission", "i give you my permission", "i give you my consent",
    "you have permission", "you've got my ok", "you've got my okay", "you've got my permission",
    "i'll allow it", "i'll allow that", "i'll allow this", "i permit it", "i permit this", "i permit that",
    "i'd say yes", "i would say yes", "you're good to go", "you are good to go",
)  # fmt: skip

PLAN_PHRASES = (
    "i approve the plan",
    "approve the plan",
    "plan approved",
    "execute the plan",
    "run the plan",
    "follow the plan",
)
"""A yes that speaks of the plan: it answers no question."""

MEDIUM_PHRASES = (
    "ok", "okay", "sure", "fine", "that works", "continue", "k", "kk", "okey", "okie", "okey dokey", "mkay",
    "alright", "all right", "why not", "works for me", "looks fine", "looks okay", "looks ok",
    "sounds fine", "sounds ok", "sounds okay", "sounds like a plan", "happy with it", "happy with this",
    "happy with that", "i guess", "i guess so", "i suppose", "i suppose so", "go", "go on", "carry on",
    "keep going", "do that", "do this", "granted", "allowed", "ya", "yas", "totally", "indeed", "feel free",
    "be my guest", "good to go", "we're good to go", "thumbs up", "green light", "you have the green light",
    "seems fine", "seems good", "seems ok", "seems okay", "looks alright", "looks all right", "ye", "yeh",
    "very well", "roger", "i think so", "that's right", "that's correct", "that is right", "that is correct",
    "get going", "get on with it", "get it done", "let's get it done",
)  # fmt: skip
"""A yes that is asked back once."""

ONCE_PHRASES = (
    "once", "just once", "only once", "this once", "just this once", "only this once", "just the once",
    "one time", "just one time", "this time", "just this time", "only this time", "this time only",
    "once only", "one time only", "for this one time", "this one time", "allow once", "allow it once",
    "approve once", "just this one time", "only this one time",
)  # fmt: skip
"""A yes that covers the one call it answers."""

POLITE = (
    "please", "pls", "plz", "pretty please", "please and thank you", "thanks", "thank you", "thx",
    "thanks a lot", "thanks so much", "thanks in advance", "thank you very much", "thank you so much",
    "many thanks", "cheers",
)  # fmt: skip

YES_SIGNS = "\u2705\u2714\u2611\U0001f44d\U0001f44c\U0001f4af\U0001f197\U0001f646\U0001fae1"
"""Emoji that say yes by themselves: check marks, thumbs up, OK, 100."""

NO_SIGNS = "\u274c\u274e\u2716\u2717\u2718\u26d4\U0001f44e\U0001f6ab\U0001f645"
"""Emoji that say no by themselves: crosses, no entry, thumbs down."""

STOP_SIGNS = "\u270b\u23f8\u23f9\U0001f6d1\U0001f91a\U0001f590"
"""Emoji that say stop by themselves: the stop sign, a raised hand, pause."""

SIGN_NAMES = {
    ":+1:": "\U0001f44d",
    ":thumbsup:": "\U0001f44d",
    ":thumbs_up:": "\U0001f44d",
    ":white_check_mark:": "\u2705",
    ":heavy_check_mark:": "\u2714",
    ":ok_hand:": "\U0001f44c",
    ":ok:": "\U0001f197",
    ":100:": "\U0001f4af",
    ":-1:": "\U0001f44e",
    ":thumbsdown:": "\U0001f44e",
    ":thumbs_down:": "\U0001f44e",
    ":x:": "\u274c",
    ":no_entry:": "\u26d4",
    ":no_entry_sign:": "\U0001f6ab",
    ":octagonal_sign:": "\U0001f6d1",
    ":stop_sign:": "\U0001f6d1",
    ":raised_hand:": "\u270b",
    ":hand:": "\u270b",
}
"""The names that chats write for these emoji."""

REFUSALS = (
    "no", "not", "nope", "nah", "no no", "no way", "no please", "no thanks", "no thank you", "never",
    "never mind", "nevermind", "not now", "not really", "not like this", "not like that", "absolutely not",
    "certainly not", "definitely not", "of course not", "please not", "rather not", "i'd rather not",
    "i would rather not", "i refuse", "i don't think so", "i do not think so", "don't think so", "don't",
    "dont", "do not", "don't do it", "denied", "deny", "deny it", "declined", "decline", "rejected",
    "reject", "reject it", "negative", "forget it", "leave it", "not this", "not that", "not this one",
    "not that one", "not this time", "not today", "no go", "n", "hard no", "that's a no", "thats a no",
    "that is a no", "it's a no", "none", "none of them", "none of these", "neither", "neither of them",
    "nay", "naw", "refused", "refuse", "veto", "disapproved", "not approved", "as if", "fat chance",
    "in your dreams", "over my dead body", "nvm", "never you mind", "forget about it", "forget that",
    "drop it", "drop that", "skip it", "skip this", "skip that", "skip this one", "skip that one",
    "i decline", "i disagree", "disagree", "i object", "objection", "thumbs down", "not a chance",
    "not happening", "out of the question", "let's not", "lets not", "let us not", "keep it as is",
    "keep it as it is", "leave it as is", "leave it as it is", "leave it alone", "it's a no from me",
    "that's a no from me", "not in a million years", "not under any circumstances", "not for now",
    "not right now", "not at the moment", "not at this time", "not at all", "not that way", "yes and no",
    "my answer is no", "the answer is no", "i'd say no", "i would say no", "that's a hard no", "a hard no",
    "big no", "a big no", "not gonna happen", "not going to happen", "i'd prefer not", "i would prefer not",
    "i'd prefer not to", "i reject this", "i reject it", "i reject that", "i refuse this", "i refuse it",
    "i deny this", "i deny it", "i deny that", "i'm not approving this", "i'm not approving it",
    "i am not approving this", "i'm not allowing this", "permission denied", "request denied",
    "consent denied", "not allowed", "not acceptable", "unacceptable", "that's unacceptable", "forbidden",
    "by no means", "hard pass", "i'll pass", "i pass", "skip", "bad idea", "that's a bad idea",
    "terrible idea", "nuh uh", "nu uh", "uh uh", "nopes", "negatory", "pass", "you wish", "dream on",
    "let it be", "leave that", "when pigs fly", "i'm against it", "i'm against this", "i'm against that",
    "i am against it", "i am against this", "i am against that", "refrain", "refrain from it",
    "refrain from that", "refrain from this", "i'd rather not do it", "i'd rather not do that",
    "i'd rather not do this", "i reject", "big fat no", "a big fat no", "not for me", "not necessary",
    "not needed", "that's not necessary", "that's not needed", "that is not necessary", "that is not needed",
    "that won't be necessary", "that won't be needed", "in no way", "let's skip it", "let's skip that",
    "let's skip this", "let's leave it", "let's leave that", "i'm afraid not", "vetoed", "never mind that",
    "never mind it",
)  # fmt: skip
"""A clause that is one of these is a refusal."""

NO_WORDS = (
    "(?:(?:no+)+|no+pe+|nop|na+h+|nay|naw"
    r"|negative(?!\s+(?:numbers?|values?|integers?|ind\w+|tests?|cases?|offsets?|amounts?)\b))"
)
"""A message that begins with one of these is a refusal, whatever follows."""

NO_IDIOMS = (
    "no problem", "no problems", "no prob", "no worries", "no worry", "no objection", "no objections",
    "no issue", "no issues", "no concerns", "no complaints", "no questions", "no doubt", "no trouble",
    "no sweat", "no need to ask", "no biggie", "no rush", "no hurry", "no probs", "no notes", "np",
    "not a problem",
    "i have no objection", "i have no objections", "i don't mind",
)  # fmt: skip
"""What refuses nothing, if an assent follows: "no problem, go ahead"."""

HARMLESS_DONTS = (
    "worry", "forget", "hesitate", "know", "mind", "care", "understand", "see", "remember", "be afraid",
    "be shy", "panic", "get me wrong", "ask",
)  # fmt: skip
"""What may follow "don't" without refusing anything: "don't forget the tests"."""

ACTS = (
    "touch", "edit", "change", "modify", "alter", "delete", "remove", "erase", "drop", "push", "commit",
    "deploy", "publish", "release", "send", "run", "execute", "install", "uninstall", "merge", "write",
    "create", "add", "make", "rename", "move", "overwrite", "reset", "rebase", "revert", "amend", "use",
    "call", "open", "read", "upload", "download", "ship", "submit", "post", "start", "restart", "launch",
    "enable", "disable", "mess", "force", "fetch", "pull", "clone", "checkout", "stash", "tag", "build",
    "format", "refactor", "rewrite", "replace", "update", "upgrade",
)  # fmt: skip
"""Verbs of what an agent does: in the middle of a sentence "not" forbids only before one of them."""

DONE_PHRASES = ("done", "complete", "finished", "next", "next task")

CHANGE_WORDS = (
    "but", "however", "though", "and", "also", "plus", "except", "excluding", "skip", "leave", "without",
    "only", "just", "instead", "don't", "do not", "with", "if", "unless", "as long as", "provided",
)  # fmt: skip
"""What may follow a yes and turns it into a yes to something else."""

LIMIT_WORDS = (
    "not", "never", "when", "whenever", "while", "until", "till", "once", "after", "before", "as soon as",
    "providing", "assuming", "given that", "on condition", "in case", "so long as", "although", "excluding",
    "exclude", "avoid", "ignore", "omit", "apart from", "other than", "rather than", "for now", "for today",
    "for the", "for", "some", "part", "half", "this one", "this call", "today", "during", "on", "in", "to",
    "at most", "up to",
)  # fmt: skip
"""What may follow a yes and limits it in a way that a question cannot take."""


APOSTROPHES_LEFT_OUT = (
    "dont", "doesnt", "didnt", "wont", "wouldnt", "cant", "couldnt", "shouldnt", "mustnt", "isnt", "arent",
    "wasnt", "werent", "hasnt", "havent", "neednt", "shant",
)  # fmt: skip
"""Denials as people type them in a hurry."""


def pattern(phrases: Iterable[str]) -> str:
    """An expression for any of the phrases, the longest first, with white space or a dash between words."""
    longest_first = sorted(phrases, key=len, reverse=True)
    return "|".join(re.escape(phrase).replace(r"\ ", r"(?:\s+|-)") for phrase in longest_first)
