"""Made-up Makefiles: every line that `make -n` prints is found, or the file is not read."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from itertools import filterfalse
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sayso.reading.shell.files.tasks import find_tasks

EXAMPLES = 20_000 if os.environ.get("SAYSO_ALL") else 300
FILES = ("a.c", "b.c", "a.x", "sub/c.c", "sub/d.x", "t3.c")
SHOWN_UNKNOWN = re.compile(r" ?\$__unknown ?")
BUILT_IN = re.compile(r"cc +(-c )? *\S+ |rm ")
"""What make does by its own rules: it compiles, and deletes what came between."""
EXPORTED = re.compile(r"\Aexport [^\n]*\n")

variables = st.sampled_from(["A", "B", "C"])
files = st.sampled_from([*FILES, "a.o", "sub/c.o", "none.o"])
targets = st.sampled_from(["t1", "t2", "t3", "t4", "a.o", "sub/c.o", "sub/d.y", "b.x", "t1 t2"])
patterns = st.sampled_from(["%.o", "%.y", "t%", "sub/%.o", "%", "lib%.o"])
words = st.sampled_from(
    ["one", "two.c", "a.c b.c", "x/y.c", "-g", "it's", '"q"', "a;b", "$$X", "%", "", "\\\n  next", "\\#h"]
)
references = st.builds(
    str.format,
    st.sampled_from(
        [
            "$({0})",
            "${{{0}}}",
            "${0}",
            "$({0}:.c=.o)",
            "$({0}:%.c=x%y)",
            "$(patsubst %.c,%.o,$({0}))",
            "$(if $({0}),yes,no)",
            "$(if $({0}), $({1}))",
            "$(call {0},p,$({1}))",
            "$(filter %.c,$({0}))",
            "$(filter-out a%,$({0}))",
            "$(word 2,$({0}))",
            "$(wordlist 2,3,a b c $({0}))",
            "$(addprefix p/,$({0}))",
            "$(sort $({0}) $({1}))",
            "$(foreach v,$({0}),<$(v)>)",
            "$(wildcard *.c)",
            "$(strip  $({0}) $({1}) )",
            "$(subst a,bb,$({0}))",
            "$(or $({0}),$({1}))",
            "$(and $({0}),$({1}))",
            "$(dir $({0}))",
            "$(notdir $({0}))",
            "$(basename $({0}))",
            "$(suffix $({0}))",
            "$(lastword $({0}))",
            "$(firstword $({0}))",
            "$({0}$({1}))",
            "$(subst $(comma),.,a,b)",
            "$(1)",
            "$(words $({0}))",
            "$(findstring a,$({0}))",
            "$(abspath $({0}))",
        ]
    ),
    variables,
    variables,
)
values = st.lists(st.one_of(words, references), max_size=3).map(" ".join)
assignments = st.builds(
    "{}{} {} {}".format,
    st.sampled_from(["", "", "", "", "override ", "export "]),
    variables,
    st.sampled_from(["=", ":=", "+=", "?=", "::="]),
    values,
)
automatic = st.sampled_from(
    ["$@", "$<", "$^", "$+", "$*", "$(@D)", "$(<F)", "$(^F)", "$?", "${@F}", "'$@'", '"$<"', "$|"]
)
steps = st.builds(
    "\t{}echo {}".format,
    st.sampled_from(["", "@", "-", "@- "]),
    st.lists(st.one_of(words, references, automatic), max_size=4).map(" ".join),
)
needs = st.lists(st.one_of(targets, files, variables.map("$({})".format)), max_size=3).map(" ".join)
heads = st.one_of(
    st.builds("{}{} {}".format, targets, st.sampled_from([":", ":", ":", "::", "&:"]), needs),
    st.builds(
        "{}: {}".format,
        patterns,
        st.one_of(needs, st.sampled_from(["%.c", "%.x", "%.o", "a%.c", "%.c | t4"])),
    ),
    st.builds("{}: {} | {}".format, targets, needs, needs),
    st.builds("{}: {}: {}".format, targets, patterns, st.sampled_from(["%.c", "%.x", "a.c"])),
    st.builds("{}: {} ; echo {}".format, targets, needs, values.filter(lambda text: "\n" not in text)),
    st.builds("$({}): {}".format, variables, needs),
    st.sampled_from([".c.o:", ".x.y:", ".x:"]),
)
rules = st.builds(lambda head, lines: "\n".join([head, *lines]), heads, st.lists(steps, max_size=3))
plain = st.one_of(
    assignments,
    assignments,
    rules,
    rules,
    rules,
    st.builds("{}: {}".format, targets, assignments),
    st.builds(
        "define {}\n{}\nendef".format, variables, st.lists(values, min_size=1, max_size=2).map("\n".join)
    ),
    st.sampled_from(
        [
            ".PHONY: t1 t2",
            "-include none.mk",
            "include inc.mk",
            "# a comment \\\nand more",
            "",
            ".DEFAULT_GOAL := t2",
            "export",
            "include $(A)",
            "$(B)",
            "$(info hi)",
        ]
    ),
)
conditions = st.one_of(
    st.builds("{} {}".format, st.sampled_from(["ifdef", "ifndef"]), variables),
    st.builds(
        "{} ({},{})".format, st.sampled_from(["ifeq", "ifneq"]), values.filter(str.isalpha), references
    ),
)
branches = st.builds(
    lambda condition, yes, no: "\n".join([condition, *yes, "else", *no, "endif"]),
    conditions,
    st.lists(st.one_of(plain, steps), max_size=2),
    st.lists(st.one_of(plain, steps), max_size=2),
)
makefiles = st.lists(st.one_of(plain, plain, plain, branches), min_size=1, max_size=8).map(
    lambda lines: "comma := ,\nA = a.c b.x\nB := one $(A)\n" + "\n".join(lines) + "\n"
)
goals = st.sampled_from(
    [(), (), ("t1",), ("t2",), ("t3",), ("a.o",), ("sub/c.o", "t4"), ("sub/d.y",), ("none",)]
)


def _run_make(folder: str, goal: tuple[str, ...], given_settings: Mapping[str, str]) -> list[str]:
    shown = subprocess.run(
        [
            "/usr/bin/make",
            "-n",
            "--no-print-directory",
            *goal,
            *(f"{k}={v}" for k, v in given_settings.items()),
        ],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return [
        line for line in shown.stdout.split("\n") if line and not line.startswith("make: ") and line != "hi"
    ]


def _fits(texts: list[str], line: str) -> bool:
    for text in texts:
        for one in EXPORTED.sub("", text).split("\n"):
            pieces = SHOWN_UNKNOWN.split(" ".join(one.split()))
            if re.fullmatch(
                ".*".join(re.escape(one).replace(r"\*", ".*") for one in pieces), " ".join(line.split())
            ):
                return True
    return False


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    makefiles,
    st.one_of(assignments, rules),
    goals,
    st.sampled_from([{}, {}, {"A": "given.c"}]),
)
def test_every_line_that_make_would_run_is_found(
    text: str, included: str, goal: tuple[str, ...], given_settings: Mapping[str, str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_text("")
        Path(folder, "Makefile").write_text(text)
        Path(folder, "inc.mk").write_text(included + "\n")
        found = find_tasks("make", folder, goal, given_settings)
        if found is not None:
            texts = [task.text for task in found]
            for line in filterfalse(BUILT_IN.match, _run_make(folder, goal, given_settings)):
                assert _fits(texts, line), (line, texts)
