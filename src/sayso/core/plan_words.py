"""The words by which a plan is read, as data: files, changes, scope, success, everyday words for operations.

An operation counts only if the policy declares it, so a row too many here names nothing by itself.
"""

from __future__ import annotations

import msgspec


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FILE_TYPES = _words(
    """bash c cc cfg conf cpp cs css csv dart env ex exs fs go gradle graphql h hpp hs html ini ipynb java jl
    js json json5 jsonl jsx kt kts less lock lua m md mdc mdx mjs mm php pl png proto ps1 py pyi r rake rb rs
    rst sass sbt scala scss sh sql svelte svg swift tf toml ts tsx txt vue xml yaml yml zig zsh"""
)
FILE_NAMES = _words("Dockerfile Makefile Gemfile Rakefile Procfile Justfile README LICENSE CHANGELOG")
NOT_FILES = _words("asp.net d3.js next.js node.js nuxt.js react.js three.js vue.js")

CHANGE_VERBS = _words(
    """add adjust allow change convert create delete drop edit extract fix handle implement improve inline
    insert introduce merge migrate modify move raise refactor remove rename replace return rewrite split
    update use validate wrap write"""
)
"""Verbs that say what will change. With a specific object they are a specific change."""

VAGUE = _words(
    """a all an and any anything as at bug bugs by change changes code everything few file files fix fixes for
    from here improvement improvements in into issue issues it its more necessary needed of on or other our
    problem problems required rest some something stuff that the them there these they thing things this those
    to up way we where which with work your"""
)
"""Words that make no object specific: "fix the bug in it" says nothing."""

AGAINST = (
    "not|never|no|nothing|none of|neither|nor|cannot|without|except|excluding|avoid(?:ing)?|skip(?:ping)?",
    "instead of|rather than|other than|apart from|leave|leaving|keep|omit(?:ting)?|untouched|unchanged",
    "out of scope|off limits|as[- ]is|alone",
    "nicht|kein(?:e[nmrs]?)?|ohne|niemals|pas|sans|jamais|nunca|nao|sem|niet|geen|zonder|senza",
)
"""What takes the rest of a sentence out of the plan, in some languages. To read too much into it is safe."""

NO_PROMISE = (
    "optional(?:ly)?|could|might|maybe|perhaps|possibly|alternative(?:ly|s)?|eventually|later|next time",
    "if you (?:want|like|prefer|wish|agree|approve)|would you|let me know|follow-?up|in (?:the )?future",
    "already|previously|so far|(?:i|we)(?:'ve| have| had)|was|were|has been|have been",
)
"""What makes a sentence an offer or a look back."""

SCOPES = (
    r"(?<!the )(?<!not )\bonly\b",
    r"\b(?:limited|restricted|confined) to\b",
    r"\bnothing (?:else|more)\b",
    r"\bno (?:other|further|more) \w+",
    r"\bnowhere else\b",
    r"\b(?:single|one|two|three|four|five|six|\d{1,3}) (?:files?|functions?|lines?|places?|commits?)\b",
    r"\bout of scope\b",
    r"\bscope\s*:",
)
"""What bounds a plan."""

SUCCESSES = (
    r"\btests?\b[^.;]{0,40}\bpass(?:es)?\b",
    r"\bpass(?:es)? (?:all |the ){0,2}tests?\b",
    r"\buntil\b",
    r"\b(?:should|must|then) (?:all |still )?(?:pass|return|equal|print|show|succeed|raise|fail|exit)s?\b",
    r"\b(?:verify|check|confirm) that\b",
    r"\b(?:ensure|make sure)\b",
    r"\b(?:success|acceptance|done when)\b",
    r"\bexpect(?:s|ed)?\b",
    r"\b(?:is|are|be|stays?) green\b",
)
"""What tells that a plan succeeded."""

A_FILE, THE_FILE, ANYTHING = "a file", "the file", ""


class Everyday(msgspec.Struct, frozen=True):
    """Everyday words for operations.

    `objects` is what must follow the verb: `A_FILE` later in the sentence, `THE_FILE` as the verb's direct
    object (who removes a line from a file does not remove the file), or an expression.
    """

    verbs: str
    objects: str
    operations: tuple[str, ...]


EVERYDAY = (
    Everyday("edit|change|update|modify|refactor|fix|replace|adjust|rewrite|rename", A_FILE, ("files.edit",)),
    Everyday("add|insert|extract|implement|remove|introduce|write", A_FILE, ("files.edit",)),
    Everyday("create|write|add", THE_FILE, ("files.create", "files.write")),
    Everyday("delete|remove", THE_FILE, ("files.delete",)),
    Everyday("move|rename", THE_FILE, ("files.move", "files.rename")),
    Everyday("read|open|inspect", THE_FILE, ("files.read",)),
    Everyday("commit", r"(?!\s+(?:to|messages?|hash|history|hooks?|[0-9a-f]{6,40})\b)", ("git.commit",)),
    Everyday("stage", r"\s+(?:all|both|changes|everything|files|it|my|the|them|these|those)\b", ("git.add",)),
    Everyday("stage", THE_FILE, ("git.add",)),
    Everyday("push", ANYTHING, ("git.push",)),
    Everyday("create|open|make", r"\s+(?:an? |the )?(?:new )?branch\b", ("git.branch",)),
    Everyday("create|open|make", r"\s+(?:an? |the )?(?:pull request|pr)\b", ("pr.create",)),
    Everyday(
        "run|rerun", r"\s+(?:(?:the|all|unit|full|existing|new) ){0,3}(?:tests?|pytest)\b", ("tests.run",)
    ),
    Everyday("test", r"\s*(?:$|[,.;:)]|(?:it|everything|the changes?)\b)", ("tests.run",)),
    Everyday("run|rerun", r"\s+(?:the )?lint(?:er)?\b", ("lint.run",)),
    Everyday("lint", ANYTHING, ("lint.run",)),
    Everyday("run|rerun", r"\s+(?:the )?build\b", ("build.run",)),
    Everyday(
        "build", r"\s*(?:$|[,.;:)]|(?:it|the (?:app|docs|image|package|project|site))\b)", ("build.run",)
    ),
)
