"""Values of words: what a shell would hand to a program, as far as that can be told.

- A word made of literal text is known. Wildcards and braces make it a pattern.
- A variable is known if this line set it to literal text, and so are HOME and PWD.
- The output of commands is not known. If these only read, their own words stand for it (`vetted`): what they
  name is looked at as if it were named here.
- What expands twice, sets variables on the way or computes is odd, and never low risk.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from sayso.core.text.patterns import lazy_pattern
from sayso.reading.paths.budget import follow_links
from sayso.reading.paths.git_files import find_only_tree, may_name_ref_with_dash
from sayso.reading.shell.grammar.clauses import prints_number
from sayso.reading.shell.grammar.syntax import (
    Command,
    Compound,
    Function,
    Group,
    Literal,
    Odd,
    Pipeline,
    Sequence,
    Simple,
    Substitution,
    Variable,
    Word,
)
from sayso.reading.shell.state import ShellState, join_path
from sayso.reading.shell.value import MAX_CHOICES, MAX_TEXT, Value

_WILD = lazy_pattern(r"[*?\[]|\{[^{}]*(?:,|\.\.)[^{}]*\}")
_AT_HOME = lazy_pattern(r"~(?=/|\Z)")
_SUBSCRIPT = lazy_pattern(r"\$[#+^=~]*(?:\w+|[*@?$!-])(?:\[[\w,.^!*@:-]*\])*\[(?![\w,.^!*@:-]*\])")
_EXTENDED = lazy_pattern(r"[?*+@!]\(")
_RISKY_VARIABLES = frozenset({"IFS", "BASH_ENV", "PS4", "PROMPT_COMMAND"})
_PLAIN_PRINTERS = frozenset({"arch", "date", "hostname", "id", "nproc", "uname", "whoami"})
"""What these print holds no option, unless it is in their own words."""
_TOP_LEVEL = ["git", "rev-parse", "--show-toplevel"]
_HARMLESS_SPECIALS = frozenset("?#$!")
BACKGROUND = "1"
"""The beginning of `$!`: the number of a command that the line itself started."""


NONE_CHOSEN: Mapping[str, Value] = {}


def value_of_word(word: Word, state: ShellState, chosen: Mapping[str, Value] = NONE_CHOSEN) -> Value:
    """The value of this word here; several, where a variable in it may have several."""
    if word.value is not None:
        return Value(word.value)
    if state.may_be_zsh and "[" in word.text and _SUBSCRIPT.search(word.text) is not None:
        return Value(None, odd="zsh computes a name's subscript, which can run commands")
    for part in word.parts:
        if isinstance(part, Variable) and part.name not in chosen:
            several = state.variables.get(part.name)
            if several is not None and several.choices:
                return _each_choice(word, state, chosen, part.name, several.choices)
    return _value_of_parts(word, state, chosen)


def _each_choice(
    word: Word, state: ShellState, chosen: Mapping[str, Value], name: str, several: tuple[Value, ...]
) -> Value:
    found: list[Value] = []
    for one in several:
        made = value_of_word(word, state, {**chosen, name: one})
        if made.odd is not None or (made.text is None and not made.choices):
            return made
        found += made.choices or (made,)
        if len(found) > MAX_CHOICES:
            return Value(None)
    return Value(None, vetted=True, choices=tuple(found))


def _value_of_parts(  # noqa: C901 - one branch for each kind of part
    word: Word, state: ShellState, chosen: Mapping[str, Value]
) -> Value:
    joined = len(word.parts) > 1
    known: list[str] = []
    prefix: str | None = None
    wild = vetted = unknown = home = False
    for index, part in enumerate(word.parts):
        if isinstance(part, Literal):
            at_home = not (part.quoted or index) and state.home and _AT_HOME.match(part.text)
            known.append(state.home + part.text[1:] if at_home else part.text)
            if part.quoted:
                continue
            tilde = part.text[:1] == "~" and not "".join(known[:-1])
            if tilde and (index or (joined and "/" not in part.text)):
                return Value(None)  # a user, a tilde for itself, or for zsh the beginning
            home = home or (tilde and not at_home)
            if _EXTENDED.search(part.text):
                return Value(None, odd="a pattern in it is not understood")
            wild = wild or _WILD.search(part.text) is not None
        elif isinstance(part, Variable):
            value = chosen.get(part.name) or _read_variable(part, state)
            if value.odd is not None:
                return value
            if value.text is None or value.home:
                unknown, vetted = True, (vetted or not unknown) and value.vetted
                prefix = "".join(known) + value.prefix if prefix is None else prefix
            else:
                known.append(value.text)
                wild = wild or value.wild
        elif isinstance(part, Substitution) and (said := _echoed(part, state)) is not None:
            known.append(said)
        elif isinstance(part, Substitution) and (folder := _folder_said(part, state)) is not None:
            known.append(folder)
        elif isinstance(part, Substitution):
            vetted = (vetted or not unknown) and not part.is_file
            vetted, unknown = vetted or part.is_file, True
            begins = "/dev/fd/" if part.is_file else "rev" if prints_revision(part, state) else ""
            begins = "0" if not begins and prints_number(part.body) else begins
            prefix = "".join(known) + begins if prefix is None else prefix
        else:
            if part.why is not None:
                return Value(None, odd=part.why)
            vetted = (vetted or not unknown) and _is_computed(word)
            unknown = True
            begins = "0" if not joined and _is_computed(word) else ""
            prefix = "".join(known) + begins if prefix is None else prefix
    if unknown:
        whole = not joined or prefix == "/dev/fd/"
        return Value(None, vetted=vetted and whole, prefix=prefix or "")
    text = "".join(known)
    if len(text) > MAX_TEXT:
        return Value(None, odd="a value is too long to be followed")
    if not wild and _WILD.search(text) and _braces_unquoted(word):
        wild = True
    return Value(text, wild=wild, home=home)


def _braces_unquoted(word: Word) -> bool:
    """True if a brace or bracket that is split over parts (`{'a',b}`) may still expand."""
    return "{" in "".join(one.text for one in word.parts if isinstance(one, Literal) and not one.quoted)


def _echoed(part: Substitution, state: ShellState) -> str | None:
    """What `$(echo WORDS)` says, where each word is plain text and the whole is one word."""
    items = part.body.items
    command = items[0][1] if len(items) == 1 and not part.is_file else None
    if (
        not isinstance(command, Simple)
        or len(command.words) != 2
        or command.redirections
        or command.assignments
    ):
        return None
    name, text = command.words[0].value, command.words[1].value
    if name != "echo" or text is None or "echo" in state.functions or state.changed is not None:
        return None
    return text if text[:1] != "-" and not re.search(r"[\s*?\[\]\\]", text) else None


def prints_one_word(part: Substitution, state: ShellState) -> bool:
    """True for what prints one word, or none that is an option: a number, a date, `echo '*.py'`."""
    if prints_number(part.body) or prints_revision(part, state) or _folder_said(part, state) is not None:
        return True
    command = part.body.items[0][1] if len(part.body.items) == 1 else None
    words = [one.value for one in command.words] if isinstance(command, Simple) else []
    if not words or words[0] is None or words[0] in state.functions:
        return False
    if words[0] in _PLAIN_PRINTERS:
        return all(one is not None and " -" not in one for one in words)
    said = words[1] if len(words) == 2 and words[0] == "echo" else None
    return said is not None and re.search(r"^-|[\s\\]", said) is None


def _folder_said(part: Substitution, state: ShellState) -> str | None:
    """Return the folder that `$(pwd)`, `$(dirname "$0")` or git prints, where it is known."""
    items = part.body.items
    here = state.folders[0] if len(state.folders) == 1 else None
    commands = [
        one for _, one in items if isinstance(one, Simple) and not one.assignments and not one.redirections
    ]
    if not here or " " in here or len(commands) != len(items) or not commands[0].words:
        return None
    rows = [[value_of_word(word, state).text for word in one.words] for one in commands]
    if len(rows) == 2 and rows[0][:1] == ["cd"] and items[1][0] == "&&" and rows[1] == ["pwd"]:
        place = rows[0][1] if len(rows[0]) == 2 else None
        return None if place is None else follow_links(join_path(here, place))
    if len(rows) != 1 or "dirname" in state.functions or "pwd" in state.functions:
        return None
    if rows[0] == ["pwd"]:
        return here
    if len(rows[0]) == 2 and rows[0][0] == "dirname" and re.fullmatch(r"[\w./][\w./-]*", rows[0][1] or ""):
        return os.path.dirname((rows[0][1] or "").rstrip("/")) or "."  # noqa: PTH120 - as the program
    plain = not state.variables.keys() & {"GIT_DIR", "GIT_WORK_TREE"}
    return find_only_tree(here) if plain and rows[0] == _TOP_LEVEL else None


def prints_revision(part: Substitution, state: ShellState) -> bool:
    """True for commands of git that print a revision, a branch or a tag that does not begin with a dash."""
    items = part.body.items
    command = items[0][1] if len(items) == 1 else None
    if not isinstance(command, Simple) or command.assignments:
        return False
    words = [word.value for word in command.words]
    if words[:2] == ["git", "describe"]:
        plain = all(one is not None and _PLAIN_DESCRIPTION.fullmatch(one) for one in words[2:])
        return plain and not ref_may_begin_with_dash(state)
    if "--abbrev-ref" in words and ref_may_begin_with_dash(state):
        return False
    return words[:2] == ["git", "merge-base"] or (
        words[:2] == ["git", "rev-parse"]
        and not {"--sq", "--sq-quote"}.intersection(words)
        and all(one is not None and (one[:1] != "-" or one in _PLAIN_REVISIONS) for one in words[2:])
    )


def ref_may_begin_with_dash(state: ShellState) -> bool:
    """Return whether a branch or tag where the line runs may pass for an option; in doubt, yes."""
    return any(folder is None or may_name_ref_with_dash(folder) for folder in state.folders)


_PLAIN_DESCRIPTION = lazy_pattern(
    r"--(?:tags|always|all|long|exact-match|first-parent|abbrev=\d+|candidates=\d+)|[\w/^~@{}.][\w/^~@{}.-]*"
)
_PLAIN_REVISIONS = frozenset({"--verify", "--short", "--abbrev-ref", "-q", "--quiet"})


def _is_computed(word: Word) -> bool:
    """True for `$((1 + 2))` alone: digits, whatever they are."""
    return all(not (isinstance(one, Odd) and one.inner) for one in word.parts) and "$((" in word.text


def _read_variable(part: Variable, state: ShellState) -> Value:
    name = part.name
    if name in _RISKY_VARIABLES:
        return Value(None, odd=f"{name} can change how the line is read")
    if name in _HARMLESS_SPECIALS:
        return Value(None, vetted=True, prefix=BACKGROUND if name == "!" else "0")
    found = state.variables.get(name)
    if found is None:
        if name == "HOME" and state.home:
            return Value(state.home)
        if name in ("PWD", "OLDPWD") and name == "PWD" and len(state.folders) == 1 and state.folders[0]:
            return Value(state.folders[0])
        return Value(None)
    if found.text is not None and not part.quoted and (found.wild or re.search(r"[\s*?\[]", found.text)):
        return Value(None, vetted=found.vetted)
    return found if not (part.quoted and found.wild) else Value(found.text)


def substitutions_in(word: Word) -> Iterator[Sequence]:
    """The commands that run while this word is made."""
    for part in word.parts:
        if isinstance(part, Substitution):
            yield part.body
        elif isinstance(part, Odd):
            for inner in part.inner:
                yield from substitutions_in(inner)


def words_below(command: Command) -> Iterator[Word]:
    """Every word of a command and of those in it."""
    if isinstance(command, Simple):
        yield from command.words
        for one in command.redirections:
            yield from filter(None, (one.target, one.body))
    elif isinstance(command, Pipeline):
        for each in command.commands:
            yield from words_below(each)
    elif isinstance(command, Sequence):
        for _, each in command.items:
            yield from words_below(each)
    elif isinstance(command, (Group, Function)):
        yield from words_below(command.body)
    elif isinstance(command, Compound):
        yield from command.words
        for body in command.bodies:
            yield from words_below(body)
