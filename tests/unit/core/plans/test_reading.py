"""Reading a plan's text: what names a target, and what a quotation or a "not" takes away."""

from __future__ import annotations

import pytest

from sayso.core.plans.plan import read_plan
from sayso.core.plans.reading import split_statements


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ('I will edit "foo" in a.py and b.py.', ("a.py", "b.py")),
        ('I will edit "never" in a.py and b.py.', ()),
        ("I will edit a.py and won't touch b.py.", ("a.py",)),
        ("I will edit a.py but b.py will not change.", ()),
        ("I will edit `src/core`.", ("src/core",)),
        ("I will edit src/core.", ()),
        ("I will edit ./src/core.", ("./src/core",)),
        ("I will edit https://example.org/a.py.", ()),
        ("I will edit `https://example.org/a.py`.", ()),
    ],
)
def test_a_plan_names_the_files_that_a_person_would_say_it_promises_to_change(
    text: str, targets: tuple[str, ...]
) -> None:
    assert read_plan(text, ()).targets == targets


def test_a_paragraph_goes_on_after_fenced_code_as_if_it_were_not_there() -> None:
    text = "I will not edit a.py\n```\nx = 1\n```\nor b.py."
    assert split_statements(text) == split_statements("I will not edit a.py\nor b.py.")
    assert read_plan(text, ()).targets == ()


def test_a_line_that_begins_with_two_quotations_is_no_fenced_code() -> None:
    assert read_plan("«one»«two» I will edit c.py.", ()).targets == ("c.py",)
