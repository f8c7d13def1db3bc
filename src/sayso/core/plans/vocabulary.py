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


class Against(msgspec.Struct, frozen=True):
    """Words that take something out of a plan.

    `before`: they come before what they exclude, so the rest of their sentence is out. `after`: they come
    after it ("b.py is off limits"), so the whole sentence is out.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]


AGAINST = Against(
    before=(
        "not|never|no|nothing|nobody|none of|no one|neither|nor|cannot|without|except(?:ing)?|minus|save for",
        "exclud(?:e|es|ing)|avoid(?:s|ing)?|skip(?:s|ping)?|omit(?:s|ting)?|ignor(?:e|es|ing)|spar(?:e|es|ing)",
        "refrain(?:s|ing)?|abstain(?:s|ing)?|desist(?:s|ing)?|forgo(?:es|ing)?|forego(?:es|ing)?|eschew(?:s|ing)?",
        "refus(?:e|es|ing)|declin(?:e|es|ing)|resist(?:s|ing)?|bypass(?:es|ing)?|exempt(?:s|ing)?|shun(?:s|ning)?",
        "hold(?:ing)? (?:off|back)|stay(?:s|ing)? (?:out|away|off|clear)|steer(?:s|ing)? (?:clear|away)",
        "keep(?:s|ing)?|leav(?:e|es|ing)|preserv(?:e|es|ing)|retain(?:s|ing)?|protect(?:s|ing)?|hands off",
        "shy(?:ing)? away|back(?:ing)? (?:off|away)|opt(?:ing)? out|stop(?:s|ping)?|rather than|instead of",
        "in place of|other than|apart from|aside from|outside(?: of)?|but for|as opposed to|in lieu of",
        "(?:all|everything|anything|(?:all|any|every|each)(?: of)?(?: the)? \\w+) but|short of|far from",
        "besides(?!,)|with the exception of|exceptions? (?:is|are|being)",
        "forbid(?:s|ding)?|prohibit(?:s|ing)?|ban(?:s|ning)?|defer(?:s|ring)?|postpon(?:e|es|ing)|unless|lest",
        "drop(?:s|ping)? (?:the )?(?:idea|plan)|pass(?:ing)? on|set(?:ting)? aside|free of|unable|hardly",
        "forget(?:s|ting)?|neglect(?:s|ing)?|reject(?:s|ing)?|barring|circumvent(?:s|ing)?|elid(?:e|es|ing)",
        "nicht|kein(?:e[nmrs]?)?|ohne|niemals|pas|sans|jamais|nunca|nao|sem|niet|geen|zonder|senza",
    ),
    after=(
        "untouched|unchanged|unmodified|unedited|unaffected|unaltered|intact|out of scope|out of bounds",
        "excepted|off[- ]limits",
        "as[- ]is|as (?:it|they) (?:is|are|was|were)|alone|excluded|exempt(?:ed)?|forbidden",
        "prohibited|banned|skipped|ignored|omitted|avoided|spared|left out|left as|kept|preserved|taboo",
        "(?:is|are|be) (?:protected|frozen|read[- ]only|locked|mine|yours)|postponed|deferred",
        "stays?|remains?",
    ),
)
"""What excludes, in some languages. To read too much into it is safe."""

NO_PROMISE = (
    "optional(?:ly)?|could|might|maybe|perhaps|possibly|alternative(?:ly|s)?|eventually|later|next time",
    "if you (?:want|like|prefer|wish|agree|approve|say|ask|tell|confirm|allow)",
    "would you|let me know|follow-?ups?|in (?:the )?future",
    "yourself|yourselves|if (?:needed|necessary|required|desired|wanted)|non-?goals?|future work|not planned",
    "(?:left|leave|open|up|for) (?:for|to) (?:you|others|later)",
    "your (?:part|job|task|turn|side)|some(?:one|body) else",
    "already|previously|so far|(?:i|we)(?:'ve| have| had)|was|were|has been|have been",
    "(?:you|they|he|she|someone|somebody|the user|others)(?:'ll|'d| (?:have|need) to)",
    "(?:you|they|he|she|someone|somebody|the user|others) (?:will|would|can|could|should|must|may|might)",
    "some ?day|another time|tomorrow|in theory|hypothetically|pretend|imagine|suppose",
)
"""What makes a sentence an offer, a look back, or about what others do."""

DENIED_ITEM = (
    "no|nope|none|never|n/a|skip(?:ped)?|later|not (?:needed|necessary|required|now|yet|planned|included"
    "|today|here)"
    "|not (?:in|part of) (?:this|the) plan|out of scope|optional"
)
"""What is put behind a step, in brackets or behind a colon or dash, to say that it is not done."""

LABELS = _words(
    """action actions all approach change changes code commit details edit edits file files finally first
    fix fixes following goal here i i'll implementation modifications now objective operations our overview
    plan proposal proposed scope solution step steps summary target targets task tasks test testing tests
    then these this todo verification verify we we'll what will work"""
)
"""Words of a heading under which a plan says what it does. Under any other nothing is promised."""

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

BEFORE_TARGETS = _words(
    """a about above add after all also an and any are as at be below besides both but by called change
    changes class classes code command component components config configuration define e.g. each edit edits
    either empty entire existing expand extend file files first fix folder folders following for from
    function functions helper helpers i i.e. in include including inside into is it its just like list
    look method methods missing module modules my named namely need new next now obsolete of old on one
    only onto or our over page pages patch plus pytest python read run same script scripts see starting
    step steps target targets test tests that the their then these this those three through to touch
    touching two under unit unused update updates use using via we whole with within write"""
)
"""Words that may stand right before a target. After any other word it is not clear what becomes of it."""

OPENERS = _words(
    """a all an any as at both by each every existing for from in inside into its it new of on one our over so
    that the their these this those three to two under using via which with within"""
)
"""Words that may begin a part of a sentence which goes on with the verb of the part before."""

FILLERS = _words(
    """a all also an and as both do file files first folder folders for function functions go in it its make
    module modules now of on one ones part parts please plus step steps that the these then this those to
    too touch two well with work"""
)
"""Words in a change to a plan that neither take away nor add."""

CHOOSING = _words(
    """ahead allow allowed approve approved be begin beginning begins can could confirmed first go just let
    let's lets may next now ok okay only proceed please start starting starts sure thanks then yea yeah yep
    yes you yup"""
)
"""Words beside a name that choose it: "yes, a.py first", "start with a.py". What they name stays, alone."""

PRAISE = _words(
    """amazing are awesome better best correct excellent exactly fine good great is it's like look looks love
    nice perfect right seem seems sound sounds that's well works"""
)
"""Words beside a name that praise: the plan for it, or the thing as it is. Nobody can tell which."""

ADDING = _words("also too plus additionally besides moreover and")
"""Words that begin or end what is agreed to as well: "and a.py too"."""

POSTPONE = (
    "later|tomorrow|tonight|afterwards|another time|next (?:time|week)|yet|until|till|before|after|once",
    "when|first",
    "on hold|separately|at the end|eventually|soon|in a (?:bit|while|moment|minute)",
)
"""What puts something off."""

FOR_THE_USER = (
    "i|i'll|i'd|i'm|i've|me|my|myself|mine|we|we'll|us|our|ourselves|ask|check with|confirm|approval",
    "permission|manual(?:ly)?|by hand|review",
)
"""What keeps something for the user."""
