"""Bad files of every kind: one readable refusal, quickly, and never a policy."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.policy import PolicyProblems, load_file, load_text, read_text

BOMB = "a: &a [x, x, x, x]\n" + "\n".join(
    f"{name}: &{name} [*{below}, *{below}, *{below}, *{below}]"
    for below, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def refusal(content: bytes, folder: Path) -> PolicyProblems:
    file = folder / "policy.yaml"
    file.write_bytes(content)
    with pytest.raises(PolicyProblems) as caught:
        load_file(file)
    assert str(caught.value).startswith(str(file))
    return caught.value


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"# nothing but a comment\n", "empty"),
        (b"---\n", "empty"),
        (b"null\n", "empty"),
        (b"{}", "empty"),
        (b"[]", "must be a map"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "NUL"),
        (b"mode: balanced\nreason: \xff\xfe", "not UTF-8"),
        ("mode: balanced".encode("utf-16"), "NUL"),
        (b"mode: bal\x00anced", "NUL"),
        (b"mode: bal\x07anced", "not YAML"),
        (b"mode: [balanced", "not YAML"),
        (b"mode: 'balanced", "not YAML"),
        (b"mode: balanced\n  settings: {}", "not YAML"),
        (b"\tmode: balanced", "not YAML"),
        (b'{"mode": "balanced"', "not YAML"),
        (b'{"mode" "balanced"}', "not YAML"),
        (b"mode: !!python/object/apply:os.system ['true']", "tag"),
        (b"mode: !!str balanced", "tag"),
        (b"mode: !secret balanced", "tag"),
        (b"mode: &m balanced", "anchor"),
        (b"mode: *m", "alias"),
        (b"<<: {mode: balanced}\nmode: paranoid", "unknown key"),
        (BOMB.encode(), "anchor"),
        (b"mode: balanced\n---\nmode: trusting", "second document"),
        (b"%YAML 1.1\n---\nmode: balanced", "directives"),
        (b"%TAG ! tag:example.com,2000:\n---\nmode: balanced", "directives"),
        (b'mode: "\\ud800"', "half a character"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"a":' * 50_000, "nested deeper"),
        (b"a:\n" + b"".join(b" " * depth + b"a:\n" for depth in range(1, 500)), "nested deeper"),
        (b"- " * 50_000, "nested deeper"),
        (b"x" * 50_000_000, "larger than 1,000,000 bytes"),
    ],
    ids=lambda value: repr(value[:24]) if isinstance(value, bytes) else "",
)
def test_a_bad_file_is_refused_in_one_readable_error(content: bytes, words: str, tmp_path: Path) -> None:
    assert words in str(refusal(content, tmp_path))


def test_the_place_of_a_byte_that_is_no_text_is_told(tmp_path: Path) -> None:
    (problem,) = refusal(b"mode: balanced\nxx: \xff", tmp_path).problems
    assert (problem.line, problem.column) == (2, 5)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyProblems, match="cannot be read"):
        load_file(tmp_path / "none.yaml")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyProblems, match="cannot be read"):
        load_file(tmp_path)


def test_a_link_that_goes_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to(tmp_path / "a.yaml")
    with pytest.raises(PolicyProblems, match="cannot be read"):
        load_file(tmp_path / "a.yaml")


def test_a_path_that_is_none_is_refused() -> None:
    with pytest.raises(PolicyProblems, match="cannot be read"):
        load_file("bad\0name.yaml")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no endless file here")
def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(PolicyProblems, match="cannot be read: it is a device"):
        load_file("/dev/zero")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_that_nobody_writes_to_is_refused_without_waiting(tmp_path: Path, linked: bool) -> None:
    """In a process of its own, so that waiting would end as a failure."""
    pipe, link = tmp_path / "pipe", tmp_path / "link.yaml"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    script = "import sys; from sayso.policy import load_file; load_file(sys.argv[1])"
    named = str(link if linked else pipe)
    command = [sys.executable, "-c", script, named]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "cannot be read: it is a pipe" in done.stderr


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no such sockets here")
def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a short name: that of a socket may not be long
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("door")
        with pytest.raises(PolicyProblems, match="cannot be read: it is a socket"):
            load_file("door")


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    """The superuser may read everything, so the refusal shows only for others."""
    file = tmp_path / "policy.yaml"
    file.write_text("mode: paranoid", encoding="utf-8")
    file.chmod(0)
    if os.access(file, os.R_OK):
        assert load_file(file).mode.value == "paranoid"
        return
    with pytest.raises(PolicyProblems, match="cannot be read"):
        load_file(file)


def test_text_that_cannot_be_written_down_is_refused() -> None:
    with pytest.raises(PolicyProblems, match="not UTF-8"):
        load_text("mode: \ud800")


def test_an_expression_nested_without_end_is_refused() -> None:
    when = "(" * 400 + "true" + ")" * 400
    with pytest.raises(PolicyProblems, match="does not compile"):
        load_text(f"tools: [{{tool: x, operation: a.b, when: '{when}'}}]")


def test_a_digit_that_never_ends_is_no_number() -> None:
    with pytest.raises(PolicyProblems, match="confidence_threshold"):
        load_text(f"settings: {{confidence_threshold: {'9' * 5000}}}")
    with pytest.raises(PolicyProblems, match="task_idle_turns"):
        load_text(f"settings: {{task_idle_turns: {'9' * 400}}}")
    with pytest.raises(PolicyProblems, match="confidence_threshold"):
        load_text("settings: {confidence_threshold: 1e999}")


@given(st.text(alphabet=st.sampled_from("mode: balanced{}[],\n-'\"&*!|>%@`#?\t\\0x~<"), max_size=60))
def test_any_text_is_a_policy_or_a_refusal(text: str) -> None:
    try:
        loaded = read_text(text)
    except PolicyProblems:
        return
    assert loaded.policy.digest == loaded.digest


PIECES = [
    *("mode: ", "balanced", "domains: ", "email: ", "self_modification: ", "autonomous: ", "last_reviewed: "),
    *(
        "workflows: ",
        "slash_commands: ",
        "/x: ",
        "operations: ",
        "email.send",
        "tools: ",
        "tool: ",
        "extends: ",
    ),
    *("{", "}", "[", "]", ", ", "\n", "  ", "- ", "&a ", "*a ", "!!str ", "? ", ": ", "12", "null"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_any_pieces_of_a_policy_are_a_policy_or_a_refusal(pieces: list[str]) -> None:
    try:
        loaded = read_text("".join(pieces))
    except PolicyProblems:
        return
    assert loaded.policy.digest


@given(st.binary(max_size=200))
def test_any_bytes_are_a_policy_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_bytes(content)
    try:
        policy = load_file(file)
    except PolicyProblems:
        return
    assert policy.digest


@pytest.mark.parametrize(
    "text",
    [
        "mode: balanced\n" + "".join(f"k{index}: x\n" for index in range(3_000)),
        "mode: balanced\n" * 3_000,
        "workflows: {w: {operations: [" + "a.b, " * 5_000 + "]}}",
        "mode: [" + "&a x, " * 5_000 + "]",
    ],
    ids=["unknown keys", "duplicate keys", "undeclared operations", "anchors"],
)
def test_a_file_full_of_problems_is_refused_at_the_hundredth(text: str) -> None:
    with pytest.raises(PolicyProblems) as caught:
        load_text(text)
    assert len(caught.value.problems) == 100
