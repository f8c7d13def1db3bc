"""No line of a patch that its host understands, and Sayso does not, changes a file unasked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sayso import Called, Session
from sayso.core.model import Risk
from tests.attack.opening import a_gate, answer_last
from tests.support.hidden_patches import BEGIN, EDIT, END, HIDDEN, OTHER, RUST_BLANKS

NAMES = ("input", "patch", "command", "text", "diff", "x")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """An agent that may edit files for this task."""
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "deep").symlink_to("src/deep")
    with a_gate("extends: [coding]") as gate:
        session = gate.session(workspace=str(tmp_path))
        session.hear("Edit a.py")
        assert apply(session, EDIT).asked
        answer_last(gate, session.id, "task")
        assert apply(session, EDIT).allowed
        yield session


def apply(session: Session, patch: Any, name: str = "input") -> Called:
    return session.call("apply_patch", {name: patch})


def is_high(called: Called) -> bool:
    return not called.allowed and max(item.risk for item in called.decision.items) is Risk.HIGH


@pytest.mark.parametrize("blank", RUST_BLANKS, ids=ascii)
def test_no_blanks_that_codex_trims_hide_a_header(session: Session, blank: str) -> None:
    for count, verb in product((1, 33), ("Add", "Update", "Delete")):
        patch = f"{BEGIN}{blank * count}*** {verb} File: AGENTS.md{blank * count}\n+x{END}"
        assert apply(session, patch).decision.rule == "blocked", verb
        patch = f"{BEGIN}*** Add File: src/b.py\n+x\n{blank * count}*** {verb} File: ../beside.py\n+x{END}"
        assert is_high(apply(session, patch)), verb


@pytest.mark.parametrize("patch", (HIDDEN | OTHER).values(), ids=(HIDDEN | OTHER).keys())
def test_no_patch_changes_the_guard_by_a_line_that_is_not_understood(session: Session, patch: str) -> None:
    for name, path in product(NAMES, ("AGENTS.md", ".claude/settings.json")):
        assert apply(session, patch.format(path), name).decision.rule == "blocked", (name, path)
    text = patch.format(".sayso.yaml")
    for shape in (["apply_patch", text], {"deep": [text]}, json.dumps({"patch": text})):
        assert apply(session, shape).decision.rule == "blocked", shape


@pytest.mark.parametrize("patch", (HIDDEN | OTHER).values(), ids=(HIDDEN | OTHER).keys())
def test_no_consent_to_edits_reaches_further_by_such_a_line(session: Session, patch: str) -> None:
    for path in (".env", ".git/hooks/pre-commit", "../../beside/x.py"):
        assert is_high(apply(session, patch.format(path))), path


def test_a_patch_tool_that_is_given_no_patch_is_high_risk(session: Session) -> None:
    given: tuple[Any, ...] = ("", "x", "x\ny", "rm -rf src", [], 5, None, "see AGENTS", f"{BEGIN}{END}")
    for name, one in product(NAMES, given):
        assert is_high(apply(session, one, name)), one
    assert is_high(session.call("apply_patch", {}))


ORDINARY = {
    "add": f"{BEGIN}*** Add File: src/b.py\n+# see AGENTS.md\n+*** Add File: .env{END}",
    "edit": f"{BEGIN}*** Update File: src/a.py\n@@ def f\n one\n\n-two\n+three\n*** End of File{END}\n",
    "several": f"{BEGIN}*** Update File: src/a.py\n-one\n+two\n"
    f"*** Add File: src/b.py \n+x\n  *** Update File: src/b.py\n+y{END}",
    "here-document": f"<<EOF\n{EDIT}\nEOF\n",
    "line ends of DOS": EDIT.replace("\n", "\r\n"),
    "unified": "--- a/src/a.py\n+++ b/src/a.py\n"
    "@@ -1,2 +1,2 @@ def f\n-- one\n+two\n x\n\\ No newline at end of file\n",
    "git": "diff --git a/src/n.py b/src/n.py\n"
    "new file mode 100644\nindex 00..12\n--- /dev/null\n+++ b/src/n.py\n@@ -0,0 +1 @@\n+x\n",
    "blocks": "src/a.py\n```python\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n```\n",
}


@pytest.mark.parametrize("patch", ORDINARY.values(), ids=ORDINARY.keys())
def test_one_yes_to_edits_goes_for_ordinary_patches(session: Session, patch: str) -> None:
    for name in NAMES:
        assert apply(session, patch, name).allowed, name
        assert session.call("apply_patch", {name: patch, "explanation": "Two lines:\nno patch."}).allowed, (
            name
        )
    assert apply(session, ["apply_patch", patch]).allowed


def test_each_file_of_a_patch_is_judged_by_what_is_done_to_it(session: Session) -> None:
    def operations(patch: str) -> set[str]:
        return {item.operation for item in apply(session, f"{BEGIN}{patch}{END}").decision.items}

    assert operations("*** Add File: a\n+x") == {"files.write"}
    assert operations("*** Update File: a\n@@\n-x\n+y") == {"files.edit"}
    assert operations("*** Delete File: a") == {"files.delete"}
    assert operations("*** Update File: a\n*** Move to: b\n@@\n-x\n+y") == {"files.delete", "files.write"}
    assert operations("*** Delete File: ../a\n*** Add File: b\n+x") == {
        "files.delete_outside_workspace",
        "files.write",
    }
    assert operations("*** Add File: ../a\n+x\n*** Delete File: b") == {
        "files.write_outside_workspace",
        "files.delete",
    }


def test_a_tool_that_only_shows_a_patch_is_no_risk(session: Session) -> None:
    assert session.call("show_diff", {"diff": "@@ ... @@\nsee AGENTS.md\n"}).decision.rule != "blocked"
