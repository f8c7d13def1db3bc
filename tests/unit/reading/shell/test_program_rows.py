"""The check of the program data refuses rows that contradict themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sayso.reading.shell.programs.compile import WrongEntry
from sayso.reading.shell.programs.shipped import FOLDER
from tests.support.rows import each_row
from tools.program_rows import find_contradictions, find_faults

SOUND = """
programs:
  look: {is: files.read, options: "-a,--all -o=write", operands: read*}
  fix:
    is: lint.check
    options: -w --check
    operands: list*
    modes: [{with: -w, is: files.edit}]
  rename: {is: files.write, options: -n, operands: read write, modes: [{with: -n, is: files.list}]}
  pack:
    is: files.edit
    options: -o=write
    operands: edit*
    modes: [{with: -o, is: files.write, operands: read*}]
  build:
    is: build.run
    options: --fix
    operands: text* here
    adds: {--fix: {is: files.edit}}
"""
CONTRADICTORY = [
    ("{is: files.edit, operands: read*}", "what it writes is only read: read*"),
    ("{is: files.edit, operands: text*}", "what it writes is only read: text*"),
    (
        "{is: git.show, options: -w, operands: read*, modes: [{is: files.edit, operands: list*, with: -w}]}",
        "what -w writes is only read: list*",
    ),
    ("{is: files.edit}", "it writes, and its operands are not named"),
    (
        "{is: lint.check, options: -w, adds: {-w: {is: files.edit}}}",
        "it writes, and its operands are not named",
    ),
    ("{is: files.read, operands: write*}", "it only reads, and what it is given is written: write*"),
    (
        "{is: lint.check, options: -w, operands: list*, adds: {-w: {is: files.edit}}}",
        "what -w adds is only read: list*",
    ),
    ("{is: secrets.read, risk: low}", "it is called low, and it is about secrets"),
    (
        "{is: secrets.read, options: -n, modes: [{with: -n, risk: low}]}",
        "-n is called low, and it is about secrets",
    ),
    ("{is: files.look}", "files.look is not an operation of operations.yaml"),
    (
        "{is: files.read, options: -x, modes: [{with: -x, is: code.run}]}",
        "code.run is not an operation of operations.yaml",
    ),
    ("{is: files.read, options: -x, adds: {-x: {is: files.list}}}", "-x adds nothing: its effect is low"),
    ("{is: files.search, options: -r, deep: -x}", "-x is not the first name of an option"),
    ("{is: scripts.run, risk: low, operands: script}", "it is called low in spite of script"),
    (
        "{is: scripts.run, options: -e=code, modes: [{with: -e, is: scripts.run, risk: low}]}",
        "-e is called low in spite of -e",
    ),
    ("{is: files.read, options: -x -o= -x=write}", "-x is there twice"),
    ("{is: files.read, number: true, options: -1 -12}", "-1 is read as a number"),
    (
        "{is: files.read, options: -x -y, modes: [{with: -x -y, risk: high}, {with: -y, risk: moderate}]}",
        "its mode 2 is never chosen",
    ),
    (
        "{is: git.show, subcommands: {a b: {is: git.show}, b c: {is: git.push}}}",
        "its subcommand b is there twice",
    ),
    (
        "{is: git.log, options: -w, operands: read, subcommands: {a: }, modes: [{with: -w, is: files.edit}]}",
        "-w writes only without a subcommand: name it under adds",
    ),
]


def _faults(row: str) -> list[str]:
    read = YAML(typ="safe")
    operations = read.load((FOLDER / "operations.yaml").read_text())
    return find_contradictions({"operations.yaml": operations, "x.yaml": read.load(row)})


def test_rows_that_say_what_they_write_are_sound() -> None:
    assert _faults(SOUND) == []


@each_row(("row", "fault"), CONTRADICTORY)
def test_a_row_that_contradicts_itself_is_refused(row: str, fault: str) -> None:
    assert _faults(f"programs:\n  tool:\n    {row}\n") == [f"tool: {fault}"]


def test_a_row_that_is_too_wide_to_be_reviewed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(f"programs:\n  tool: {{options: {'-a ' * 80}}}\n")
    assert find_faults(tmp_path)[0] == "x.yaml:2: wider than 200 columns"


@pytest.mark.parametrize(
    "row", ["{is: files.read, options: -x=place}", "{is: files.read, operands: place}", "{reads: all}"]
)
def test_a_row_with_words_that_the_format_does_not_have_is_not_compiled(row: str) -> None:
    with pytest.raises(WrongEntry):
        _faults(f"programs:\n  tool: {row}\n")


def test_the_data_that_is_shipped_has_no_fault() -> None:
    assert find_faults(FOLDER) == []
