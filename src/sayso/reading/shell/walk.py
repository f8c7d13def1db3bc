"""The walk over a line's tree: each simple command in the folder and state it runs in.

- A list of `&&` and `||` has two states, after success and after failure; where they differ at its end,
  the state is unknown. The names that a loop or a function sets are unknown after it.
- Words are known before their command is judged, and so are the commands inside them.
- A program's judgement asks for the commands it runs; the walk carries them out when the program is judged.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from sayso.core.model import Risk
from sayso.reading.shell.commands.assignments import (
    is_hook,
    judge_assignments,
    judge_secret_names,
    set_loop_variable,
)
from sayso.reading.shell.commands.redirect import judge_redirection
from sayso.reading.shell.commands.usage import judge_program
from sayso.reading.shell.files.guard import OWN, judge_own_program
from sayso.reading.shell.files.mentions import (
    judge_mentions,
    may_become_several,
    may_split,
    named_value,
    names_may_split,
    names_test,
    note_dashes,
    note_source,
    splits_pattern,
    vet,
)
from sayso.reading.shell.files.names import prints_names
from sayso.reading.shell.grammar.braces import spread_braces
from sayso.reading.shell.grammar.parse import parse_line
from sayso.reading.shell.grammar.syntax import (
    CannotTell,
    Command,
    Compound,
    Function,
    Group,
    Pipeline,
    Redirection,
    Sequence,
    Simple,
    Word,
)
from sayso.reading.shell.judge import InnerCommand, Invocation, Judge
from sayso.reading.shell.programs.known import NO_PROGRAMS, default_effect, find_addition, find_program
from sayso.reading.shell.programs.options import Argument
from sayso.reading.shell.running import find_name, judge_unknown_program, look_at_result
from sayso.reading.shell.state import ShellState
from sayso.reading.shell.text import join_lines
from sayso.reading.shell.value import Value
from sayso.reading.shell.words import substitutions_in, value_of_word, words_below

_LOOPS = frozenset({"for", "while_statement", "until_statement"})
_TAKERS = frozenset({"xargs", "parallel", "read", "mapfile", "readarray"})
"""Programs that make words of their input: only these ask which names are printed before them."""


# Lists, pipes and blocks


def walk_sequence(judge: Judge, body: Sequence, state: ShellState) -> None:
    """Judge commands in order. `state` becomes what holds after all of them."""
    failed: ShellState | None = None
    """The state if the list so far has failed; `state` is the one if it has not."""
    items = body.items
    for place, (joiner, command) in enumerate(items):
        if joiner == ";":
            if failed is not None:
                state.merge(failed)
            failed = None
        goes_on = place + 1 < len(items) and items[place + 1][0] != ";"
        before = state.folders
        if joiner == "||" and failed is not None:
            before = failed.folders
            walk_command(judge, command, failed)
            state.merge(failed)
            failed.add_folders(before)
            continue
        earlier = failed
        walk_command(judge, command, state)
        if goes_on or earlier is not None:
            failed = state.copy()
            failed.add_folders(before)
            if earlier is not None:
                failed.merge(earlier)
        elif before != state.folders:
            state.add_folders(before)
    if failed is not None:
        state.merge(failed)


def walk_command(judge: Judge, command: Command, state: ShellState) -> None:
    match command:
        case Simple():
            _walk_simple(judge, command, state)
        case Pipeline():
            _walk_pipeline(judge, command, state)
        case Sequence():
            walk_sequence(judge, command, state)
        case Group():
            inside = state.copy() if command.own_shell else state
            before, given = state.input, _walk_redirections(judge, command.redirections, state)
            inside.input = given or before
            walk_sequence(judge, command.body, inside)
            state.input = before
        case Compound():
            _walk_compound(judge, command, state)
        case Function():  # it may take a program's name; its commands count where it is called
            state.functions[command.name] = command
            judge.effect(default_effect("shell.inspect"), command.start, command.end)
            if is_hook(command.name):
                judge.doubt("a shell calls this function by itself", command.start, command.end)
                state.changed = "an earlier function may be called by the shell itself"


def _walk_compound(judge: Judge, command: Compound, state: ShellState) -> None:
    before = state.input
    state.input = _walk_redirections(judge, command.redirections, state) or before
    words = command.words
    if command.kind == "for":
        words = tuple(each for word in words for each in spread_braces(word))
    values = [_value(judge, word, state, shown=command.kind == "for") for word in words]
    if any(value.odd for value in values):
        judge.doubt("a word in it is not understood", command.start, command.end)
    if command.kind in _LOOPS:
        _walk_loop(judge, command, values, state)
    else:
        for body in command.bodies:
            branch = state.copy()
            walk_sequence(judge, body, branch)
            state.merge(branch)
    state.input = before
    if command.kind in ("test", "case"):
        judge.effect(default_effect("shell.inspect"), command.start, command.end)


def _walk_loop(judge: Judge, command: Compound, values: list[Value], state: ShellState) -> None:
    """Judge a loop's body, and once more in the state that it leaves behind for its next round."""
    folders = state.folders
    for _ in range(2):
        if command.variable is not None:
            set_loop_variable(judge, command, values, state)
        mark, folders, places = len(state.assigned), state.folders, len(state.changes.places)
        branch = state.copy()
        for body in command.bodies:
            walk_sequence(judge, body, branch)
        state.merge(branch)
        state.forget_since(mark)
        if len(state.assigned) == mark and state.folders == folders and len(state.changes.places) == places:
            return
    if state.folders != folders:
        state.folders = (None,)


def _walk_pipeline(judge: Judge, command: Pipeline, state: ShellState) -> None:
    """Judge each command of a pipeline; names that go on to xargs are looked at as paths."""
    printed: Value | None = None
    mark = len(state.assigned)
    for index, one in enumerate(command.commands):
        own = state.copy()
        if index:
            own.input = printed
            if isinstance(one, Simple) and any(word.value in ("xargs", "parallel") for word in one.words):
                before = [word for each in command.commands[:index] for word in words_below(each)]
                judge.spend(len(before))
                judge_mentions(judge, before, own)
        walk_command(judge, one, own)
        printed = _printed_by(one, own)
        later = command.commands[index + 1 :]
        behind = later[0] if later else None
        takes_names = isinstance(behind, Simple) and _TAKERS.isdisjoint(word.value for word in behind.words)
        if printed.text is None and later and not takes_names:
            so_far = Pipeline(command.commands[: index + 1], command.start, command.end)
            printed = _names_printed(so_far, state)
        if not later:  # zsh runs the last command in the shell itself, and bash may
            state.merge(own)
            state.forget_since(mark)


def _names_printed(command: Pipeline, state: ShellState) -> Value:
    """Return what a pipeline prints, as words for another command."""
    found = named_value(state) if prints_names(command, state) else Value(None)
    source = " | ".join(" ".join(word.text for word in words_below(one)) for one in command.commands)
    return found if OWN.search(source) is None else msgspec.structs.replace(found, source=source)


def _printed_by(command: Command, state: ShellState) -> Value:
    """Return the text that a command prints, where its words say it."""
    words = command.words if isinstance(command, Simple) and not command.redirections else ()
    if not words or words[0].value != "echo" or "echo" in state.functions:
        return Value(None)
    values = [value_of_word(word, state) for word in words[1:]]
    known = [one.text for one in values if one.text is not None and not one.home]
    return Value(" ".join(known) if len(known) == len(values) else None)


# Words


def _value(judge: Judge, word: Word, state: ShellState, *, shown: bool = True) -> Value:
    """Return the value of a word, and judge the commands in it on the way."""
    if word.value is not None:
        return Value(word.value)
    before = len(judge.findings)
    if shown and "$" in word.text:
        judge_secret_names(judge, word, state)
    for body in substitutions_in(word):
        judge.deeper(word.start, word.end)
        walk_sequence(judge, body, state.copy())
        judge.depth -= 1
    found = value_of_word(word, state)
    if found.wild or found.choices:
        splits = splits_pattern(word, state) and names_may_split(state)
        return Value(None) if splits else note_dashes(found, state)
    if found.text is not None:
        judge.spend(len(found.text) // 50)
        return found
    if found.vetted:
        found = vet(judge, word, found, state, before)
    return note_source(found, word, state)


def _walk_redirections(judge: Judge, several: tuple[Redirection, ...], state: ShellState) -> Value | None:
    """Judge redirections, and return the text that one of them puts on the standard input."""
    body: Value | None = None
    for one in several:
        word = one.body if one.operator == "<<" else one.target
        value = None if word is None else _value(judge, word, state)
        body = judge_redirection(judge, one, value, state) or body
    return body


# Commands


def _walk_simple(judge: Judge, command: Simple, state: ShellState) -> None:
    body = state.input
    if command.redirections:
        given = _walk_redirections(judge, command.redirections, state)
        body = given if body is None or given is None else Value(None)  # zsh reads from both
        body = body or state.input
    for one in command.assignments:
        inner = [_value(judge, each, state) for each in one.inner]
        value = Value(None) if one.value is None else _value(judge, one.value, state)
        judge_assignments(judge, one, value, inner, command, state)
    words = command.words
    if not words:
        if not command.assignments and not command.redirections:
            judge.doubt("it is empty", command.start, command.end)
        return
    arguments = _arguments(judge, words, state)
    for one in command.assignments:  # a function sees them, and POSIX keeps those before a builtin
        if one.name in state.variables:
            state.forget(one.name)
        elif words[0].value != "read":
            state.assigned.append(one.name)
    before, state.input = state.input, body
    walk_words(judge, InnerCommand(arguments, state, command.start, command.end, body))
    state.input = before


def _arguments(judge: Judge, words: tuple[Word, ...], state: ShellState) -> tuple[Argument, ...]:
    """Return the words that the shell hands over."""
    shown = words[0].value not in ("test", "[")
    judge.spend(len(words))
    found = tuple(each for word in words for each in _expand(judge, word, state, shown=shown))
    odd = next((one for one in found if one.value.odd is not None), None)
    if odd is not None:
        judge.doubt(odd.value.odd or "", odd.start, odd.end)
    if names_test(words):  # `-v a[$(…)]` among words that the shell splits runs commands
        for word in words:
            if word.value is None and may_split(word, state):
                judge.doubt("what it becomes may be a test that runs commands", word.start, word.end)
    return found


def _expand(judge: Judge, word: Word, state: ShellState, *, shown: bool) -> Iterator[Argument]:
    """Yield the words that the shell makes of this one."""
    if word.value is not None:
        yield Argument(Value(word.value), word.start, word.end)
    elif word.text in ('"$@"', "$@") and state.arguments is not None:
        yield from (Argument(one, word.start, word.end) for one in state.arguments)
    else:
        for each in spread_braces(word) if "{" in word.text else (word,):
            value = _value(judge, each, state, shown=shown)
            if value.text == "" and not any(getattr(part, "quoted", True) for part in each.parts):
                continue  # an empty value without quotes is no word
            named = value.vetted and value.prefix == "./"
            if value.text is None and not named and may_become_several(each, state):
                value = msgspec.structs.replace(value, splits=True)
            yield Argument(value, each.start, each.end)


def walk_words(judge: Judge, asked: InnerCommand) -> None:
    """Judge one command by its words, the first of which is its program; then what it runs in turn."""
    assert not isinstance(asked.run, str)  # noqa: S101 - a script is not run by its words
    arguments, state, start, end = asked.run, asked.state, asked.start, asked.end
    judge.commands.append(arguments)
    first = arguments[0] if arguments else Argument(Value(None), start, end)
    name = first.value.text
    if not name or first.value.wild or first.value.home:
        judge.doubt("which program it runs is not known until it runs", first.start, first.end)
        judge_own_program(judge, first, arguments[1:])
        return
    if state.changed is not None:
        judge.doubt(state.changed, start, end)
    if name in state.functions and not asked.without_functions:
        _call_function(judge, state.functions[name], asked)
        return
    invocation = Invocation(name, arguments[1:], state, start, end, asked.body)
    judge.deeper(start, end)
    before = len(judge.findings)
    shorter = find_name(judge, first, invocation)
    if shorter is not None:
        name = invocation.name = shorter
        program = find_program(name, judge.added)
        if program is None:
            judge_unknown_program(judge, first, invocation)
        else:
            judge_program(judge, program, invocation)
    _carry_out(judge)
    look_at_result(judge, invocation, before, of_project=asked.of_project)
    addition = find_addition(name, judge.added) if judge.added else None
    if addition is not None:  # what the operator says of a known program counts where it is stricter
        other = judge.start_again(NO_PROGRAMS)
        judge_program(other, addition, invocation)
        _carry_out(other)
        judge.findings += [
            one for one in other.findings if one.risk is not Risk.LOW and one.operation != "shell.run"
        ]
    judge.depth -= 1


def _carry_out(judge: Judge) -> None:
    """Judge the commands and scripts that a program has asked for."""
    asked, judge.requests = judge.requests, []
    for one in asked:
        if isinstance(one.run, str):
            _walk_script(judge, one.run, one)
        else:
            walk_words(judge, one)


def _call_function(judge: Judge, function: Function, asked: InnerCommand) -> None:
    if function.name in judge.running:
        raise CannotTell("a function calls itself", asked.start, asked.end)
    judge.running.append(function.name)
    judge.deeper(asked.start, asked.end)
    state, mark = asked.state, len(asked.state.assigned)
    inside = state.copy()
    inside.bind(tuple(one.value for one in asked.run[1:] if isinstance(one, Argument)))
    walk_sequence(judge, function.body, inside)
    inside.bind(state.arguments)
    state.merge(inside)
    state.forget_since(mark)
    judge.depth -= 1
    judge.running.pop()


def _walk_script(judge: Judge, text: str, asked: InnerCommand) -> None:
    """Judge command lines that stand in a word of this line, or in a file."""
    start, end, outer, before = asked.start, asked.end, judge.window, len(judge.findings)
    given = asked.state.arguments
    key = repr((text, [one.text for one in given or ()], asked.state.folders))
    if key in judge.running:  # the same commands, which are being judged
        if given is not None and any(one.text is None for one in given):
            judge.doubt("a script runs itself", start, end)
        return
    judge.deeper(start, end)
    judge.running.append(key)
    try:
        judge.spend(len(text) // 50)
        joined = join_lines(text).text
        body = parse_line(joined)
        if outer is None:
            judge.window = (start, end, joined)
        walk_sequence(judge, body, asked.state)
    except CannotTell as found:
        judge.window = outer
        judge.doubt(found.why, start, end)
    finally:
        judge.window = outer
        judge.depth -= 1
        judge.running.pop()
    if asked.named:
        for place, one in enumerate(judge.findings[before:], before):
            if one.risk is not Risk.LOW:
                judge.findings[place] = msgspec.structs.replace(one, why=f"{asked.named}: {one.why}")
