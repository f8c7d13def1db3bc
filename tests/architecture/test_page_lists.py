"""Lists that the page needs for itself say the same as the one place they come from."""

from __future__ import annotations

import re
from typing import get_args

from sayso.core import rulebook
from sayso.core.audit.events import Topic
from sayso.core.words import FOLD_AT
from tests.support.repository import ROOT

WEB = ROOT / "src" / "sayso" / "service" / "web"


def test_the_page_has_words_for_every_rule_and_for_no_other() -> None:
    text = (WEB / "lib" / "rules.js").read_text("utf-8")
    table = text[text.index("const RULES = {") : text.index("};")]
    named = set(re.findall(r"^\s*(\w+):", table, re.MULTILINE))
    rules = {row.name for row in vars(rulebook).values() if isinstance(row, rulebook.Rule)}
    assert len(rules) > 20
    assert named == rules


def test_the_page_listens_to_every_kind_of_event_that_is_sent() -> None:
    text = (WEB / "live" / "stream.js").read_text("utf-8")
    found = re.search(r"const KINDS = \[(.*?)\]", text, re.DOTALL)
    assert found is not None
    kinds = set(re.findall(r'"(\w+)"', found[1]))
    assert kinds == {*get_args(Topic), "waiting"}


def test_the_page_folds_foreign_text_where_everybody_does() -> None:
    found = re.search(r"const FOLD_AT = (\d+);", (WEB / "lib" / "visible.js").read_text("utf-8"))
    assert found is not None
    assert int(found[1]) == FOLD_AT
