"""The reading of a command line as it is printed: what decided is marked, however long the line is."""

from __future__ import annotations

from typing import Any

from sayso.cli.views.shell_line import shell_lines


def told(line: str, part: str, risk: str = "high") -> dict[str, Any]:
    start = line.index(part)
    found = {
        "risk": risk, "operation": "files.delete", "why": "deletes", "text": part,
        "start": start, "end": start + len(part), "blocked": False,
    }  # fmt: skip
    return {"line": line, "risk": risk, "parts": [found], "files": []}


def printed(line: str, part: str, risk: str = "high") -> list[str]:
    rows = list(shell_lines(told(line, part, risk)))
    return rows[: rows.index(f"risk: {risk}")]


def test_a_short_line_has_its_part_marked() -> None:
    assert printed("ls; rm -rf x", "rm -rf x") == ["ls; rm -rf x", "    ^^^^^^^^"]


def test_a_line_of_low_risk_has_no_mark() -> None:
    assert printed("ls", "ls", "low") == ["ls"]


def test_a_long_line_is_shown_whole_in_rows_that_fit_with_its_part_marked() -> None:
    line = "ls " * 30 + "&& rm -rf build && " + "ls " * 30
    rows = printed(line.strip(), "rm -rf build")
    carets = [row for row in rows if "^" in row]
    shown = [row for row in rows if "^" not in row]
    assert "".join(shown) == line.strip()
    assert all(len(row) <= 78 for row in rows)
    above = rows[rows.index(carets[0]) - 1]
    assert [above[at] for at, mark in enumerate(carets[0]) if mark == "^"] == list("rm -rf build")


def test_a_part_that_goes_on_in_the_next_row_is_marked_in_both() -> None:
    rows = printed("x" * 100, "x" * 100)
    assert [len(row) for row in rows] == [78, 78, 22, 22]
    assert rows[1] == "^" * 78
    assert rows[3] == "^" * 22


def test_each_row_of_a_here_document_is_a_row() -> None:
    rows = printed("cat <<EOF\nhi $(rm -rf x)\nEOF", "rm -rf x")
    assert rows == ["cat <<EOF", "hi $(rm -rf x)", "     ^^^^^^^^", "EOF"]


def test_what_a_terminal_would_obey_is_spelled_out_and_not_measured() -> None:
    rows = printed("ls \x1b[2J; rm -rf x", "rm -rf x")
    assert len(rows) == 1
    assert "\x1b" not in rows[0]
