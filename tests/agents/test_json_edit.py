"""Changing somebody else's JSON by its text: what is not ours stays, byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.doors.agents.settings import json_edit

ENTRY = {"hooks": [{"type": "command", "command": "sayso /hook.py"}]}
PATH = ("hooks", "PreToolUse")
FILES = {
    "nothing": "",
    "blank": "\n",
    "an empty object": "{}",
    "an empty object in lines": "{\n}\n",
    "no hooks": '{\n  "model": "opus"\n}\n',
    "four spaces": '{\n    "model": "opus",\n    "env": {"A": "1"}\n}',
    "tabs": '{\n\t"model": "opus"\n}\n',
    "windows": '{\r\n  "model": "opus"\r\n}\r\n',
    "one line": '{"model":"opus","hooks":{"Stop":[]}}',
    "other hooks": '{\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  }\n}\n',
    "our event": '{\n  "hooks": {\n    "PreToolUse": [\n      {"hooks": []}\n    ]\n  }\n}\n',
    "comments": '// mine\n{\n  // the model\n  "model": "opus", /* why */\n  "hooks": {} // none yet\n}\n',
    "trailing commas": '{\n  "hooks": {\n    "PreToolUse": [\n      {"hooks": []},\n    ],\n  },\n}\n',
    "a byte order mark": '\ufeff{\n  "a": "\u00e4"\n}\n',
    "an address with slashes": '{"url": "https://example.org/*x*/", "b": "\\"//"}',
}


def plain(text: str) -> Any:
    return json_edit.load_value(json_edit.parse_text(text)) if text.strip() else {}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_an_entry_is_added_and_nothing_else_changes(text: str) -> None:
    after = json_edit.append_to_list(text, PATH, ENTRY)
    found, before = plain(after), plain(text)
    assert found["hooks"]["PreToolUse"][-1] == ENTRY
    found["hooks"]["PreToolUse"].pop()
    if not found["hooks"]["PreToolUse"]:
        del found["hooks"]["PreToolUse"]
    if not found["hooks"] and "hooks" not in before:
        del found["hooks"]
    assert found == before


@pytest.mark.parametrize("name", sorted(set(FILES) - {"nothing", "blank", "an empty object", "comments"}))
def test_taking_the_entry_off_restores_every_byte(name: str) -> None:
    text = FILES[name]
    after = json_edit.append_to_list(text, PATH, ENTRY)
    assert json_edit.remove_items(after, PATH, [ENTRY]) == text.replace("{\n}", "{}")


@pytest.mark.parametrize("before", ["    // mine\n", "    /* mine */\n", "\n", ""])
def test_every_entry_is_indented_as_the_file_is(before: str) -> None:
    text = f'{{\n{before}    "ui": {{"theme": "x"}}\n}}\n'
    for event in ("PreToolUse", "PostToolUse"):
        text = json_edit.append_to_list(text, ("hooks", event), ENTRY)
    wanted = json.dumps({"hooks": {"PreToolUse": [ENTRY], "PostToolUse": [ENTRY]}}, indent=4)
    assert text.endswith(",\n" + wanted.removeprefix("{\n") + "\n")


BROKEN = (
    "[", "{", '{"a" 1}', '{"a":1,"a":2}', '{"a":1}}', "null", "[]", '{"hooks":[]}', "{'a':1}", '{"a":01}',
    '{"hooks":{"PreToolUse":{}}}', "{a:1}", "/* open", '{"a":"\n"}', "[" * 100_000,
)  # fmt: skip


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_what_is_no_settings_file_is_refused(text: str) -> None:
    with pytest.raises(json_edit.BrokenFile):
        json_edit.append_to_list(text, PATH, ENTRY)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=4), st.sampled_from([None, 2, 4]))
def test_any_object_survives_an_entry_and_its_removal(value: dict[str, Any], indent: int | None) -> None:
    value.pop("hooks", None)
    text = json.dumps(value, indent=indent)
    after = json_edit.append_to_list(text, PATH, ENTRY)
    assert json.loads(after) == {**value, "hooks": {"PreToolUse": [ENTRY]}}
    assert json_edit.remove_items(after, PATH, [ENTRY]) == text
