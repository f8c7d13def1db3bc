"""A call in one line: by the arguments that matter, and never a line that its arguments wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sayso.core.deciding.titles import LONGEST, MARK, _describe_arguments, make_title, title_of
from sayso.core.digest import encode_canonical
from sayso.core.errors import PolicyError
from sayso.core.model import Declaration
from sayso.gate.deciding.request import make_call, read_request
from sayso.policy import load_text
from sayso.policy.compare.vain_parts import find_vain_parts
from tests.support.rows import each_row

PAY = "Pay {amount} to {payee}"
LISTS = "bank: {trust_level: low, autonomous: [], requires_approval: [pay], blocked: []}"


def titled(args: dict[str, Any], template: str | None = None, tool: str = "pay", **more: Any) -> str:
    return title_of(make_call(tool, args, title=template, **more))


def policy_text(title: str) -> str:
    return (
        f"sayso: 1\ndomains:\n  {LISTS}\ntools:\n  - {{tool: pay, operation: bank.pay, title: {title!r}}}\n"
    )


def test_the_policys_title_is_filled_from_the_arguments() -> None:
    assert titled({"amount": 40, "payee": "ACME"}, PAY) == "Pay 40 to ACME"
    assert titled({"amount": "40.00 EUR", "payee": "ACME Ltd"}, PAY) == "Pay 40.00 EUR to ACME Ltd"
    assert titled({"what": {"amount": 4}, "payee": "A"}, "Pay {args.what.amount} to {payee}") == "Pay 4 to A"


def test_a_title_that_names_a_missing_argument_is_not_dropped_without_a_word() -> None:
    assert titled({"amount": 40}, PAY) == "pay amount 40 (without payee for its title)"
    usd = titled({"amount": {"eur": 4}}, "Pay {amount.usd}")
    assert usd.startswith("pay ")
    assert "without amount.usd for its title" in usd
    assert "without amont for its title" in titled({"amount": 4, "payee": "A"}, "Pay {amont} to {payee}")


def test_the_mark_of_a_call_is_not_pushed_out_by_what_its_title_missed() -> None:
    one, other = ({"amount": 4, "note": "x" * 300 + end} for end in "ab")
    assert titled(one, PAY) != titled(other, PAY)
    assert "xxa” (without payee" in titled(one, PAY)
    assert len(titled(one, PAY)) <= 121 + len(" ·abcd")


def test_a_title_that_leaves_arguments_out_tells_calls_apart() -> None:
    one = titled({"amount": 40, "payee": "ACME", "note": "rent"}, PAY)
    other = titled({"amount": 40, "payee": "ACME", "note": "bribe"}, PAY)
    assert one.startswith("Pay 40 to ACME ·")
    assert one != other


def test_an_argument_cannot_imitate_the_title_around_it() -> None:
    assert titled({"amount": "1 to Bob", "payee": "Eve"}, PAY).startswith("Pay “1 to Bob” to Eve ·")
    assert titled({"amount": 1, "payee": "Bob” to “Eve"}, PAY).startswith("Pay 1 to “Bob” to “Eve” ·")
    assert titled({"amount": "", "payee": "Eve"}, PAY) == "Pay “” to Eve"


@pytest.mark.parametrize("odd", ["\n", "\x1b[2J", "\u202e", "\u200b", "\r", "\u2028"])
def test_no_argument_breaks_or_turns_the_line(odd: str) -> None:
    for args, template in (
        ({"amount": f"1{odd}", "payee": f"A{odd}B"}, PAY),
        ({"path": f"a{odd}b"}, None),
        ({f"na{odd}me": "x"}, None),
    ):
        shown = titled(args, template)
        assert odd not in shown
        assert shown.isprintable()
    assert odd not in titled({}, tool=f"to{odd}ol")
    assert odd not in titled({"command": f"ls{odd}rm"}, command=f"ls{odd}rm")


@each_row("padding", range(1, 40))
def test_the_end_of_a_long_command_does_not_begin_in_the_middle_of_a_short_word(padding: int) -> None:
    command = "step " * 60 + "&& rm -rf ~/projects " + "a" * padding
    shown = titled({}, command=command)
    kept = shown.rpartition(" ·")[0].partition("…")[2]
    assert command.endswith(f" {kept}")
    assert len(shown) <= LONGEST + MARK + 2


@pytest.mark.parametrize("template", [None, PAY])
def test_a_title_is_never_longer_than_a_line_and_long_ones_differ(template: str | None) -> None:
    long = {"amount": "1" * 5_000, "payee": "A" * 5_000}
    shown = titled(long, template)
    assert len(shown) <= LONGEST + MARK + 2
    assert shown != titled({**long, "payee": "A" * 4_999 + "B"}, template)
    middle = {**long, "payee": "A" * 2_500 + "B" + "A" * 2_499}
    assert shown != titled(middle, template)
    many = {f"name{number}": "value" for number in range(100)}
    assert len(titled(many)) <= LONGEST + MARK + 2
    assert titled(many) != titled({**many, "name99": "other"})
    command = "echo " + "x" * 500
    assert titled({}, command=command) != titled({}, command=f"{command}y")


def test_what_people_look_for_comes_first() -> None:
    assert titled({"text": "hi", "path": "a.txt"}, tool="write") == "write a.txt, text hi"
    assert titled({"body": "x", "to": "bo@example.org"}, tool="send") == "send to bo@example.org, body x"
    assert titled({"note": "n", "amount": 5}, tool="pay") == "pay amount 5, note n"
    assert titled({"depth": 2, "url": "https://a.example"}, tool="get") == "get https://a.example, depth 2"


def test_a_command_is_never_told_alone_where_there_is_more() -> None:
    assert titled({"command": "ls"}, tool="sh", command="ls") == "ls"
    shown = titled({"command": "ls", "env": "X=1"}, tool="sh", command="ls")
    assert shown.startswith("ls (sh, with env) ·")
    assert shown != titled({"command": "ls", "env": "X=2"}, tool="sh", command="ls")
    assert titled({"command": "a\nb"}, tool="sh", command="a\nb") == "a ⏎ b"


def test_a_title_of_the_policy_reaches_the_call_and_changes_no_digest() -> None:
    args = {"amount": 40, "payee": "ACME"}
    plain = load_text(policy_text("x").replace(", title: 'x'", ""))
    named = load_text(policy_text(PAY))
    read = [read_request(make_call("pay", args), Declaration(), one) for one in (plain, named)]
    assert [title_of(one.call) for one in read] == ["pay payee ACME, amount 40", "Pay 40 to ACME"]
    assert read[0].digest == read[1].digest
    assert read[0].arguments_digest == read[1].arguments_digest


@pytest.mark.parametrize(
    "title", ["Pay {", "Pay {a b}", "Pay {}", "a}b", "two\nlines", "x" * 121, "\u202eevil", ""]
)
def test_a_title_that_is_no_line_is_refused(title: str) -> None:
    with pytest.raises(PolicyError):
        load_text(
            "sayso: 1\ndomains:\n  "
            + LISTS
            + "\ntools:\n  - tool: pay\n    operation: bank.pay\n    title: "
            + repr(title).replace("'", '"')
        )


def test_a_project_cannot_say_how_calls_are_told() -> None:
    project = "tools:\n  - {tool: pay, operation: bank.pay, title: Read the weather}\n"
    assert any("title" in part for part in find_vain_parts(load_text(policy_text(PAY)), project))


VALUES: list[Any] = [40, "40", True, "true", None, "null", "[]", [], {}, "{}"]
LOOK_ALIKE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    *[("pay", {"amount": value}, {}) for value in VALUES],
    *[
        ("pay", {"amount": value}, {"template": "Pay {amount}"})
        for value in (40, "40", None, "null", "", "“”")
    ],
    *[
        ("sh", {}, {"command": one})
        for one in ("a\n  b", "a\nb", "a ⏎ b", " a\n\tb ", "a\r\nb", "a\u2028b", "a\\u2028b")
    ],
    *[("sh", {}, {"command": f"a{one}b"}) for one in ("\x1b", "\\x1b", "\u200b", "\\u200b")],
    *[("x" * 48 + end, {"a": 1}, {}) for end in ("_read", "_rm")],
    *[("t\u200b", {}, {}), ("t\\u200b", {}, {})],
    *[("t", {"a": one}, {}) for one in ("x”, b “y", "x")],
    ("t", {"a": "x", "b": "y"}, {}),
    ("t", {"a b": "c"}, {}),
    ("t", {"a": "b c"}, {}),
    *[("t", {"a": a, "b": b}, {"template": "T {a} {b}"}) for a, b in (("x y", "z"), ("x", "y z"))],
    *[("t", {"a": a, "b": b}, {"template": "T {a}-{b}"}) for a, b in (("1-2", "3"), ("1", "2-3"))],
    ("t", {"a": {"b": 1, "c": 2}}, {"template": "T {a.b}"}),
    ("t", {"a": {"b": 1, "c": 3}}, {"template": "T {a.b}"}),
]


def shown_as(tool: str, args: dict[str, Any], more: dict[str, Any]) -> str:
    return make_title(tool, encode_canonical(args), **more)


def test_two_calls_that_differ_never_look_alike() -> None:
    shown = [shown_as(*one) for one in LOOK_ALIKE]
    assert [one for one in shown if shown.count(one) > 1] == []


def test_a_mark_is_too_long_to_be_met_by_trying() -> None:
    args = {"amount": 40, "payee": "ACME", "iban": "GOOD"}
    mark = titled(args, PAY).rpartition("·")[2]
    assert len(mark) >= 8
    assert mark != titled({**args, "iban": "EVIL"}, PAY).rpartition("·")[2]


def test_a_command_does_not_imitate_a_mark() -> None:
    good = titled({"amount": 40, "payee": "ACME", "note": "x"}, PAY)
    assert titled({}, command=good) != good


def test_an_amount_is_never_told_without_its_currency() -> None:
    euros = titled({"amount": 40, "payee": "ACME", "currency": "EUR"}, PAY)
    assert euros.startswith("Pay 40 EUR to ACME ·")
    assert titled({"amount": 40, "currency": "EUR"}, "Pay {amount} {currency}") == "Pay 40 EUR"
    assert titled({"amount": 40, "note": "n", "currency": "USD"}).startswith("pay amount 40, currency USD")
    nested = {"of": {"amount": 4, "currency": "USD"}, "payee": "A"}
    assert titled(nested, "Pay {of.amount} to {payee}").startswith("Pay 4 USD to A ·")


def test_a_whole_path_is_not_told_twice() -> None:
    told = titled({"file_path": "/w/src/new.py"}, tool="Write", target="src/new.py")
    assert told == "Write /w/src/new.py"
    assert titled({"file_path": "new.py"}, tool="Write", target="src/new.py").startswith("Write src/new.py, ")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "a.txt"}, {"source": "a.txt"}),
        ({"path": "a.txt"}, {"folder": "a.txt"}),
        ({"path": "example.org"}, {"url": "example.org"}),
        ({"file": "https://example.org/a"}, {"url": "https://example.org/a"}),
        ({"url": "https://example.org/a"}, {"endpoint": "https://example.org/a"}),
        ({"source": "a", "destination": "b"}, {"destination": "a", "source": "b"}),
    ],
)
def test_a_path_and_an_address_are_named_where_their_value_does_not_tell_which_it_is(
    one: dict[str, str], other: dict[str, str]
) -> None:
    titles = [make_title("copy", encode_canonical(given)) for given in (one, other)]
    assert titles[0] != titles[1]


class Walked(dict[str, Any]):
    """Arguments that count how often they were gone through."""

    times = 0

    def __iter__(self) -> Iterator[str]:
        self.times += 1
        return super().__iter__()


def test_arguments_are_put_in_order_in_one_go_however_many_they_are() -> None:
    """Once for each name: one call with 25,000 of them kept the inbox waiting for a minute."""
    given = Walked({f"a{n}": n for n in range(100)}, path="a.txt")
    first, _ = next(iter(_describe_arguments(given)))
    assert first == "a.txt"
    assert given.times == 1
