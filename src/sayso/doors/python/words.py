"""Sentences about what a program passes to its functions and gets back."""

from __future__ import annotations

from sayso.core.words import LONGEST_NAME, visible

END_UNRECORDED = "find out what it did before you make it again; `sayso calls` shows it until you resolve it"


def end_unrecorded(call: str, why: str) -> str:
    return f"{call} was started, and how it ended could not be recorded: {why}"


RESULT_DROPPED = "results are kept for 24 hours"


def no_json_form(kind: str) -> str:
    return f"a value of type {visible(kind, LONGEST_NAME)} has no JSON form"


def no_json_key(kind: str) -> str:
    return (
        f"a dict with a key of type {visible(kind, LONGEST_NAME)} has no JSON form: keys are text or numbers"
    )


def only_key_is(key: str) -> str:
    return f"a dict whose only key is {key} looks like bytes, which are written that way"


def not_written_so(kind: str) -> str:
    return f"a {visible(kind, LONGEST_NAME)} would be written in another way"


WRITE_IT_SO = "pass it as it is shown: dates, paths and numbers in their own form"
NOT_A_NUMBER = "it contains NaN or infinity"
HALF_A_CHARACTER = "it contains a lone surrogate, half a character"
KEYS_ALIKE = "two of its keys are the same in JSON"


def not_exactly_in_json(kind: str, why: str) -> str:
    return f"JSON cannot represent this {visible(kind, LONGEST_NAME)} exactly: {why}"


def model_failed(kind: str, error: str) -> str:
    return f"{no_json_form(kind)}: its model_dump raised {visible(error, LONGEST_NAME)}"


def not_the_same_again(kind: str) -> str:
    kind = visible(kind, LONGEST_NAME)
    return f"the {kind} would not come back as the same value: it would be another {kind}, not equal to it"


ONLY_FIELDS = (
    "only what can be written down comes back: no secrets, no private attributes, nothing that equals only "
    "itself; declare plain types and build the object in the function"
)


ONLY_DECLARED = "leave it out, or declare it in the type of the parameter"


def undeclared_key(where: str) -> str:
    return f"its type does not declare {visible(where, LONGEST_NAME)}"


def not_a_number(kind: str) -> str:
    return f"a {visible(kind, LONGEST_NAME)} that is not a number equals nothing, not even what was approved"


def enum_of_others(kind: str) -> str:
    return (
        f"the values of the enum {visible(kind, LONGEST_NAME)} are neither all text nor all whole numbers, "
        "so no member can be read back from what was approved"
    )


def use_other_enum(name: str) -> str:
    return f"give its members such values, or declare {name}: str and look the member up by its name"


def subclass_passed(kind: str, declared: str) -> str:
    kind, declared = visible(kind, LONGEST_NAME), visible(declared, LONGEST_NAME)
    return f"a {kind} is passed where a {declared} is declared, and would lose what only {kind} has"


def none_of(kind: str, names: str) -> str:
    return f"a {visible(kind, LONGEST_NAME)} is none of {visible(names, LONGEST_NAME)}"


ONE_OF_THEM = "pass one of these"
WAITS_FOR_ITSELF = "this run waits for itself: it was started again inside itself, with the same key"


def still_running(call: str) -> str:
    """Somebody else runs this call, and the time to wait for its end is over."""
    return f"it is still running, started by another caller: call retry with {call} to get its result"


def not_kept_step(step: str) -> str:
    return f"what the step {step} returned could not be kept, so the run cannot go on after it"


def not_kept(why: str | None) -> str:
    """The result of a call that ran, where what it returned is not there to be told."""
    return f"it ran, but what it returned was not kept: {why or RESULT_DROPPED}"


def not_passed_on(why: str) -> str:
    return f"it ran, but what it returned cannot be passed on: {why}"


NAME_ITS_SESSION = "or it belongs to somebody else's session: then name that session (session=…)"

WITHDRAWN = (
    "the question was withdrawn, because its session ended or was cleared: make the call again "
    "(a session opened with session(key=…) outlives the program)"
)
