"""Problems of a policy file: all at once, each at its place, with a hint."""

from __future__ import annotations

import pytest

from sayso.core.model import Mode
from sayso.policy import PolicyProblem, PolicyProblems, load_text, read_text
from sayso.policy.load import lay_over
from tests.support.rows import each_row


def problems(text: str) -> tuple[PolicyProblem, ...]:
    with pytest.raises(PolicyProblems) as caught:
        load_text(text)
    return caught.value.problems


def places(text: str) -> list[tuple[int, int]]:
    return [(problem.line, problem.column) for problem in problems(text)]


def test_the_language_version_may_be_left_out_and_only_1_is_known() -> None:
    assert load_text("mode: paranoid").mode is Mode.PARANOID
    for other in ("2", "0", "'1'", "true", "[1]", "null"):
        (problem,) = problems(f"sayso: {other}\nmode: paranoid")
        assert (problem.line, problem.column) == (1, 8)
        assert problem.message == "sayso: this program knows version 1 only"


def test_all_problems_of_a_file_come_at_once_in_the_order_of_their_places() -> None:
    found = problems(
        "mode: balenced\n"
        "settings:\n"
        "  confidence_threshold: 1.5\n"
        "  safe: 'yes'\n"
        "domains:\n"
        "  email:\n"
        "    autonomous: [read, send]\n"
        "    requires_approval: [send]\n"
        "    blocked: delete\n"
        "    trust: high\n"
        "extends: [balance]\n"
    )
    assert [(problem.line, problem.column) for problem in found] == [
        (1, 7),
        (3, 25),
        (4, 9),
        (8, 25),
        (9, 14),
        (10, 5),
        (11, 11),
    ]


def test_a_problem_is_told_with_file_line_column_and_hint() -> None:
    with pytest.raises(PolicyProblems) as caught:
        load_text("mode: balenced", name="my.yaml")
    assert str(caught.value) == "my.yaml:1:7: unknown mode 'balenced' (did you mean balanced?)"


@each_row(
    ("text", "place", "message", "hint"),
    [
        ("mode: balanced\ndomians: {}", (2, 1), "unknown key 'domians'", "did you mean domains?"),
        ("settings: {saef: auto}", (1, 12), "unknown key 'saef'", "did you mean safe?"),
        ("mode: balanced\nnotices: phone", (2, 1), "unknown key 'notices'", "settings: {notices: …}"),
        ("mode: balanced\nmode: trusting", (2, 1), "stands here twice", "line 1"),
        ('{"mode": "balanced",\n "mode": "trusting"}', (2, 2), "stands here twice", "line 1"),
        ("settings: {safe: auto, safe: ask}", (1, 24), "stands here twice", "line 1"),
        (
            "domains: {a: {autonomous: [x], requires_approval: []}}",
            (1, 14),
            "a has no blocked",
            "blocked: []",
        ),
        (
            "domains: {a: {autonomous: [x], requires_approval: [], blocked: [x]}}",
            (1, 65),
            "is listed in",
            "one of",
        ),
        ("operations: {a.b: {risk: hihg}}", (1, 26), "unknown risk 'hihg'", "high"),
        ("operations: {a.b: {risk: 3}}", (1, 26), "risk must be", ""),
        ("operations: {push: {risk: high}}", (1, 14), "'push'", "domain.action"),
        ("settings: {confidence_threshold: 1.01}", (1, 34), "cannot be 1.01", "0 to 1"),
        ("settings: {confidence_threshold: -0.1}", (1, 34), "cannot be -0.1", "0 to 1"),
        ("settings: {confidence_threshold: .nan}", (1, 34), "not a number", "0 to 1"),
        ("settings: {confidence_threshold: .inf}", (1, 34), "not a number", "0 to 1"),
        ('{"settings": {"confidence_threshold": NaN}}', (1, 39), "must be a number", "0 to 1"),
        ("settings: {confidence_threshold: '0.9'}", (1, 34), "must be a number, and is text", ""),
        ("settings: {confidence_threshold: true}", (1, 34), "must be a number, and is true or false", ""),
        ("settings: {confidence_bypass: yes}", (1, 31), "must be true or false, and is text", ""),
        ("settings: {confidence_bypass: 1}", (1, 31), "must be true or false, and is a whole number", ""),
        (
            "domains: {a: {autonomous: [], requires_approval: [], blocked: [], cooling_period_hours: 1e308}}",
            (1, 89),
            "cannot be 1e+308",
            "1,000,000",
        ),
        (
            "domains: {a: {autonomous: [], requires_approval: [], blocked: [], undo_window_days: 1000001}}",
            (1, 85),
            "cannot be 1000001",
            "1,000,000",
        ),
        ("settings: {task_idle_turns: 2.5}", (1, 29), "must be a whole number", ""),
        ("settings: {task_idle_turns: 0}", (1, 29), "cannot be 0", "1 or more"),
        ("settings: {question_lasts: 8d}", (1, 28), "question_lasts cannot be 8d", "7d at most"),
        ("settings: {question_lasts: 169h}", (1, 28), "cannot be 169h", "7d at most"),
        ("settings: {approval_lasts: 25h}", (1, 28), "approval_lasts cannot be 25h", "24h at most"),
        ("settings: {approval_lasts: 0s}", (1, 28), "cannot be '0s'", "such as 90s, 15m, 2h or 7d"),
        ("settings: {approval_lasts: -5m}", (1, 28), "cannot be '-5m'", "15m"),
        ("settings: {approval_lasts: 15}", (1, 28), "must be a time, and is a whole number", "15m"),
        ("settings: {approval_lasts: '15'}", (1, 28), "cannot be '15'", "15m"),
        ("settings: {approval_lasts: soon}", (1, 28), "cannot be 'soon'", "15m"),
        ("settings: {approval_lasts: null}", (1, 28), "must be a time", "15m"),
        ("settings: {approval_lasts: [15m]}", (1, 28), "must be a time, and is a list", "15m"),
        ("settings:\n  open_questions: 0", (2, 19), "cannot be 0", "1 to 1,000"),
        ("settings: {open_questions: 1001}", (1, 28), "cannot be 1001", "1 to 1,000"),
        ("settings: {questions_per_hour: 10001}", (1, 32), "cannot be 10001", "1 to 10,000"),
        ("settings: {questions_per_hour: 2.5}", (1, 32), "must be a whole number", ""),
        ("settings: {question_last: 2h}", (1, 12), "unknown key 'question_last'", "question_lasts"),
        ("settings: {unlisted: allow}", (1, 22), "unknown unlisted 'allow'", "ask, block"),
        ("consent_decay: {review_interval_days: 0.5}\nmode: balanced", (1, 39), "cannot be 0.5", "1 day"),
        ("operations: {git.fetch: {reading: accepted}}", (1, 26), "sets no risk", "beside it"),
        (
            "extends: [coding]\noperations: {git.fetch: {reading: accepted, weight: low}}",
            (2, 26),
            "sets no risk",
            "beside it",
        ),
        (
            "operations: {git.push: {risk: low, reading: accepted}}",
            (1, 36),
            "a reading of git.push can never be accepted",
            "such as git.fetch",
        ),
        ("operations: {git.fetch: {risk: low, reading: yes}}", (1, 46), "reading 'yes'", "accepted"),
        ("extends: [nothing]", (1, 11), "no preset 'nothing'", "balanced"),
        ("extends: [balancd]", (1, 11), "no preset 'balancd'", "did you mean balanced?"),
        ("extends: [_work]", (1, 11), "no preset '_work'", ""),
        ("extends: [chat, chat]", (1, 17), "extended twice", "once"),
        ("extends: balanced", (1, 10), "must be a list, and is text", ""),
        ("mode: [balanced]", (1, 7), "must be one of", ""),
        ("domains: []", (1, 10), "must be a map, and is a list", ""),
        (
            "domains: {a b: {autonomous: [], requires_approval: [], blocked: []}}",
            (1, 11),
            "'a b'",
            "one word",
        ),
        (
            "domains: {a: {autonomous: [x y], requires_approval: [], blocked: []}}",
            (1, 28),
            "'x y'",
            "one word",
        ),
        (
            "domains: {a: {autonomous: [1], requires_approval: [], blocked: []}}",
            (1, 28),
            "must be text",
            "quotes",
        ),
        (
            "domains: {a: {autonomous: null, requires_approval: [], blocked: []}}",
            (1, 27),
            "must be a list",
            "",
        ),
        ("slash_commands: {/x: {operations: [a.b]}}", (1, 36), "nothing declares", "list it"),
        ("slash_commands: {/x: {}}", (1, 18), "operations or a query", ""),
        ("slash_commands: {x: {query: allowlist}}", (1, 18), "'x'", "begins with /"),
        ("workflows:\n  w: {operations:\n    - a.b}", (3, 5), "", ""),
        ("workflows:\n  w:\n    operations:\n    - a.b", (4, 7), "w names a.b", "list it"),
        ("tools: [{tool: x}]", (1, 9), "names no operation", "operation or resolve"),
        ("tools: [{operation: a.b}]", (1, 9), "has no tool", "tool"),
        ("tools: [{tool: x, resolve: recipient, from: args.to}]", (1, 9), "needs a domain", ""),
        ("tools: [{tool: x, resolve: url, domain: n}]", (1, 9), "needs an argument", "from"),
        ("tools: [{tool: x, resolve: path, from: args.p}]", (1, 9), "what the tool does", "operation"),
        ("tools: [{tool: x, operation: a.b, domain: c}]", (1, 9), "not of the domain c", ""),
        ("tools: [{tool: x, operation: a.b, from: args}]", (1, 41), "'args'", "args.to"),
        ("tools: [{tool: x, operation: a.b, from: 'to, args'}]", (1, 41), "'to, args'", "args.to"),
        ("tools: [{tool: x, operation: a.b, target: the file}]", (1, 43), "'the file'", "args.to"),
        ("tools: [{tool: x, operation: a.b, when: 'args.n <'}]", (1, 35), "does not compile", ""),
        ("vip_contacts: {darcy: +15550100001}\nmode: balanced", (1, 23), "must be text", "quotes"),
        ("? [a]\n: 1\nmode: balanced", (1, 3), "a key must be text", ""),
        ("1: x\nmode: balanced", (1, 1), "a key must be text", ""),
        ("- mode: balanced", (1, 1), "must be a map, and is a list", ""),
        ("just text", (1, 1), "must be a map, and is text", ""),
    ],
)
def test_a_problem_is_found_at_its_place(text: str, place: tuple[int, int], message: str, hint: str) -> None:
    found = problems(text)
    here = [problem for problem in found if (problem.line, problem.column) == place]
    assert here, found
    assert any(message in problem.message and hint in problem.hint for problem in here), found


def test_one_fault_makes_one_problem() -> None:
    assert len(problems("settings: {confidence_threshold: 2}")) == 1
    assert len(problems("mode: balanced\ndomians: {email: {autonomous: [x]}}")) == 1


def test_two_names_that_look_the_same_are_refused() -> None:
    text = "domains: {git: {autonomous: [push], requires_approval: [Push], blocked: []}}"
    assert "look the same" in problems(text)[0].message


def test_a_missing_preset_circle_is_told_with_its_way() -> None:
    presets = {"a": b"extends: [b]", "b": b"extends: [a]", "graph": b"mode: balanced"}
    with pytest.raises(PolicyProblems, match=r"preset b:1:11: extends goes in a circle: a > b > a"):
        read_text("extends: [a]", presets=presets)


def test_no_preset_accepts_a_reading() -> None:
    presets = {"a": b"operations: {git.fetch: {risk: low, reading: accepted}}"}
    with pytest.raises(PolicyProblems, match=r"preset a:1:37: a reading is accepted in the operator's own"):
        read_text("extends: [a]", presets=presets)


def test_no_project_file_accepts_a_reading() -> None:
    policy = load_text("extends: [coding]\noperations: {git.fetch: {risk: low, reading: accepted}}")
    text = "operations: {git.fetch: {risk: low, reading: accepted}}"
    with pytest.raises(
        PolicyProblems, match=r".sayso.yaml:1:37: a reading is accepted in the operator's own"
    ):
        lay_over(policy, text, name=".sayso.yaml")
    assert lay_over(policy, "mode: paranoid", name=".sayso.yaml").entry("git.fetch").accepted


def test_a_preset_that_extends_itself_is_a_circle() -> None:
    with pytest.raises(PolicyProblems, match="in a circle: a > a"):
        read_text("extends: [a]", presets={"a": b"extends: [a]"})


def test_a_key_given_twice_hides_no_other_problem_and_the_first_counts() -> None:
    text = "mode: balanced\nmode: balenced\nsettings: {saef: auto, safe: auto, safe: never}\ntoolz: []\n"
    assert places(text) == [(2, 1), (3, 12), (3, 36), (4, 1)]
    assert places("mode: balenced\nmode: balanced\n") == [(1, 7), (2, 1)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("mode: &m balenced\nextends: [nothing]", [(1, 7), (1, 7), (2, 11)]),
        ("mode: *m\nextends: [nothing]", [(1, 7), (2, 11)]),
        ("mode: !!str 12\nextends: [nothing]", [(1, 7), (2, 11)]),
        ("!!str mode: balenced\nextends: [nothing]", [(1, 1), (1, 13), (2, 11)]),
        ("settings: !!map {saef: auto}\nextends: [nothing]", [(1, 11), (1, 18), (2, 11)]),
        ('mode: "\\ud800"\nextends: [nothing]', [(1, 7), (2, 11)]),
        ("*m : x\nextends: [nothing]", [(1, 1), (2, 11)]),
        ("? [a]\n: x\nextends: [nothing]", [(1, 3), (3, 11)]),
        ("%YAML 1.2\n---\nextends: [nothing]", [(2, 1), (3, 11)]),
        ("mode: balenced\n---\nmode: balanced", [(1, 7), (2, 1)]),
        ("1: x", [(1, 1)]),
        ("tools: [*t, {tool: x}, 5, {tool: y}]", [(1, 9), (1, 13), (1, 24), (1, 27)]),
        ("email: *e\nfiles: {autonomous: [], blocked: []}", [(1, 8), (2, 8)]),
        ("!!map {}", [(1, 1)]),
        ("!!str x", [(1, 1)]),
    ],
)
def test_what_yaml_may_not_do_here_hides_no_other_problem(text: str, found: list[tuple[int, int]]) -> None:
    assert places(text) == found


@pytest.mark.parametrize(
    "fault",
    [
        "mode: balenced",
        "mode: balanced\nmode: balanced",
        "mode: &m balanced",
        "extends: [nothing]",
        "extends: balanced",
        "domains: {email: {autonomous: send, requires_approval: [], blocked: []}}",
        "domains: {email: {autonomous: *s, requires_approval: [], blocked: []}}",
        "domians: {email: {autonomous: [send], requires_approval: [], blocked: []}}",
    ],
)
@pytest.mark.parametrize("kind", ["slash_commands: {/x", "workflows: {w"])
def test_an_operation_that_nothing_declares_is_told_beside_other_problems(fault: str, kind: str) -> None:
    found = problems(f"{kind}: {{operations: [ghost.walk]}}}}\n{fault}")
    assert len(found) == 2
    assert "names ghost.walk, which nothing declares" in found[0].message
    assert found[0].line == 1


@pytest.mark.parametrize(
    "fault",
    [
        "domains: {email: {autonomous: send, requires_approval: [], blocked: []}}",
        "domains: {email: {autonomous: *s, requires_approval: [], blocked: []}}",
        "domains: {email: {autonomous: [send], autonomous: [], requires_approval: [], blocked: []}}",
        "domains: {email: {autonomous: [], autonomous: [send], requires_approval: [], blocked: []}}",
        "domains: *d",
        "operations: *o",
        "tools: [{tool: mail, operation: *o}]",
        "domians: {email: {autonomous: [send], requires_approval: [], blocked: []}}",
        "operations: {email.send: high}",
        "tools: [{tool: mail, operation: email.send, opeartion: email.send}]",
    ],
)
def test_an_operation_in_a_part_that_could_not_be_read_is_not_called_undeclared(fault: str) -> None:
    assert [one.line for one in problems(f"workflows: {{w: {{operations: [email.send]}}}}\n{fault}")] == [2]


@pytest.mark.parametrize(
    "extends", ["[balancd]", "balanced", "[balanced, balanced]", "[*b]", "[]\nextends: [chat]"]
)
def test_an_operation_of_a_preset_that_could_not_be_laid_under_is_not_called_undeclared(extends: str) -> None:
    found = problems(f"workflows: {{w: {{operations: [git.add, ghost.walk]}}}}\nextends: {extends}")
    assert [one.message for one in found if "nothing declares" in one.message] == [
        "w names ghost.walk, which nothing declares"
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("tools: [{tool: x, operation: 5}]", (1, 30)),
        ("tools: [{tool: x, resolve: nose}]", (1, 28)),
        ("tools: [{tool: x, resolve: path, operation: files.read, from: 5}]", (1, 63)),
        ("slash_commands: {/x: {operations: 5}}", (1, 35)),
        ("slash_commands: {/x: {operations: [walk]}}", (1, 36)),
    ],
)
def test_a_part_that_could_not_be_read_is_not_called_missing(text: str, place: tuple[int, int]) -> None:
    assert places(text) == [place]


def test_an_argument_may_be_named_with_or_without_args_before_it() -> None:
    lists = "autonomous: [], requires_approval: [], blocked: []"
    text = (
        "tools: [{tool: x, resolve: recipient, domain: email,\n"
        "         from: 'to, cc.names', context: thread, target: id}]\n"
        f"domains: {{email: {{{lists}, content_from: args.content}}}}"
    )
    policy = load_text(text)
    tool = policy.tools[0]
    assert (tool.source, tool.context, tool.target) == ("to, cc.names", "thread", "id")
    assert policy.domains["email"].content_from == "args.content"
    assert places(text.replace("args.content", "args")) == [(3, 85)]


@pytest.mark.parametrize(
    ("phrases", "said"),
    [
        ("{stopp: [x]}", "unknown key 'stopp'"),
        ("{stop: stopp}", "must be a list"),
        ("{stop: ['']}", "a phrase is one word or a few"),
        ("{assent: ['1+1']}", "a phrase is one word or a few"),
    ],
)
def test_phrases_that_make_no_sense_are_refused_with_their_line(phrases: str, said: str) -> None:
    with pytest.raises(PolicyProblems) as refused:
        load_text(f"extends: [chat]\nphrases: {phrases}\n")
    assert said in str(refused.value)
    assert "policy:2:" in str(refused.value)
