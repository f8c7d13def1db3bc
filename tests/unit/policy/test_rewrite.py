"""A policy's text in which a permission asks: the smallest change, in every way to write a list."""

from __future__ import annotations

import pytest

from sayso.core.errors import PolicyError
from sayso.core.model import Tier
from sayso.policy import load_text
from sayso.policy.compare.diff import compare_policies
from sayso.policy.rewrite import ignore_confidence, make_it_ask

LISTS = "autonomous: [read, list], requires_approval: [send], blocked: []"
QUOTED = LISTS.replace("read", '"read"')
BLOCK = """extends: [balanced]
domains:
  mail:
    autonomous:  # what may be
      - list
      - read  # always
    requires_approval: []
    blocked:
      - wipe
"""
TEXTS = {
    "flow": f"extends: [balanced]\ndomains:\n  mail: {{{LISTS}}}  # mine\n",
    "quoted": f"extends: [balanced]\ndomains:\n  mail: {{{QUOTED}}}\n",
    "last": f"extends: [balanced]\ndomains:\n  mail: {{{LISTS.replace('read, list', 'list, read')}}}\n",
    "only": f"extends: [balanced]\ndomains:\n  mail: {{{LISTS.replace('read, list', 'read')}}}\n",
    "block": BLOCK,
    "only in a block": BLOCK.replace("      - list\n", ""),
    "both in blocks": BLOCK.replace("requires_approval: []", "requires_approval:\n    - send"),
    "json": '{"extends": ["balanced"], "domains": {"mail":\n'
    ' {"autonomous": ["read"], "requires_approval": [],\n "blocked": []}}}\n',
}


OTHER = "extends: [coding]\ndomains:\n  x: {autonomous: [], requires_approval: [a], blocked: []}\n"
PRESET = [
    "extends: [coding]",
    "extends: [coding]\n",
    OTHER,
    '{"extends": ["coding"]}',
    '{"extends": ["coding"], "domains": {}}\n',
    "extends: [coding]\ndomains: {}\n",
]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_one_permission_asks_and_nothing_else_changes(text: str) -> None:
    after = make_it_ask(text, "mail", "read")
    before, wanted = load_text(text, name="a"), load_text(after, name="b")
    found = compare_policies(before, wanted)
    assert wanted.entry("mail.read").tier is Tier.REQUIRES_APPROVAL
    assert {one.operation for one in found.tightened} == {"mail.read"}
    assert (found.loosened, found.beyond, found.loosens) == ((), (), False)
    touched = ("read", "autonomous", "requires_approval", "blocked: []")
    kept = [line for line in text.split("\n") if not any(word in line for word in touched)]
    assert [line for line in kept if line not in after.split("\n")] == []


@pytest.mark.parametrize("text", PRESET)
def test_what_a_preset_allows_is_moved_in_a_domain_of_the_file(text: str) -> None:
    wanted = load_text(make_it_ask(text, "files", "search"), name="b")
    found = compare_policies(load_text(text, name="a"), wanted)
    assert wanted.entry("files.search").tier is Tier.REQUIRES_APPROVAL
    assert {one.operation for one in found.tightened} == {"files.search"}
    assert not found.loosens


@pytest.mark.parametrize("wrong", ["domains: []", "domains: null", "domains: {files: {autonomous: []}}"])
def test_where_there_is_no_place_for_it_nothing_is_guessed(wrong: str) -> None:
    with pytest.raises(PolicyError):
        make_it_ask(f"extends: [coding]\n{wrong}\n", "files", "search")


GRAPH = "mail: {autonomous: [list], requires_approval: [read], blocked: []}\n"
ASKS = f"extends: [graph]\ndomains:\n  {GRAPH}"
CONFIDENT = {
    "no operations": ASKS,
    "no line's end": ASKS.rstrip(),
    "operations in a block": f"{ASKS}operations:\n  mail.list: {{risk: low}}\n",
    "operations in braces": f"{ASKS}operations: {{mail.list: {{risk: low}}}}\n",
    "no operations in braces": f"{ASKS}operations: {{}}\n",
    "the operation in a block": f"{ASKS}operations:\n  mail.read:\n    risk: low  # mine\n",
    "the operation in braces": f"{ASKS}operations: {{mail.read: {{risk: low}}}}\n",
    "confidence in braces": f"{ASKS}operations: {{mail.read: {{confidence_bypass: true, risk: low}}}}\n",
    "confidence in a block": f"{ASKS}operations:\n  mail.read:\n    confidence_bypass: true  # mine\n",
    "graph form": GRAPH,
    "graph form in a block": "mail:\n  autonomous: [list]\n  requires_approval: [read]\n  blocked: []\n",
    "json": '{"extends": ["graph"],\n "domains": {"mail":\n  {"autonomous": ["list"],'
    ' "requires_approval": ["read"], "blocked": []}}}\n',
}


@pytest.mark.parametrize("text", CONFIDENT.values(), ids=CONFIDENT)
def test_confidence_counts_no_more_for_what_asks(text: str) -> None:
    before = load_text(text, name="a")
    after = load_text(ignore_confidence(text, "mail", "read"), name="b")
    assert before.entry("mail.read").confidence_bypass
    assert not after.entry("mail.read").confidence_bypass
    found = compare_policies(before, after)
    assert {one.operation for one in found.tightened} == {"mail.read"}
    assert (found.loosened, found.loosens) == ((), False)
    comments = [line.partition("#")[2] for line in text.split("\n")]
    assert all(comment in ignore_confidence(text, "mail", "read") for comment in comments)


@pytest.mark.parametrize("wrong", ["operations: []", "operations: {mail.read: 1}", "operations: null"])
def test_what_is_no_map_is_not_made_one(wrong: str) -> None:
    with pytest.raises(PolicyError):
        ignore_confidence(f"{ASKS}{wrong}\n", "mail", "read")
