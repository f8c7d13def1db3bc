"""Checkpoints and receipts in the formats of C2SP, and the key that signs them."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.audit.checkpoint import (
    BadCheckpoint,
    Checkpoint,
    Signer,
    checkpoint_text,
    decode_base64,
    open_checkpoint,
    parse_checkpoint,
    parse_note,
    sign_checkpoint,
)
from sayso.core.audit.entry import leaf_content, read_entry, split_leaf
from sayso.core.audit.merkle import Frontier, extend_tree, prove_inclusion
from sayso.core.audit.receipt import Receipt, check_receipt, format_receipt, parse_receipt
from sayso.core.errors import SaysoError
from sayso.gate.rows.keys import (
    KeyRefused,
    SigningKey,
    format_verifier_key,
    load_key,
    load_or_make_key,
    make_key,
    make_signer,
    make_verifier,
    note_key_id,
    parse_verifier_key,
    public_key_of,
    save_key,
)
from tests.support.audit_trails import KEY, ORIGIN, TRUSTED, rows

POINT = Checkpoint(ORIGIN, 20_852_163, bytes(range(32)))
NOTE = sign_checkpoint(POINT, [make_signer(KEY)])


def test_a_checkpoint_is_origin_size_root_a_blank_line_and_a_signature() -> None:
    text, _, signed = NOTE.decode().rpartition("\n\n")
    assert text == f"{ORIGIN}\n20852163\n{base64.b64encode(POINT.root).decode()}"
    dash, name, encoded = signed.removesuffix("\n").split(" ")
    assert (dash, name) == ("\u2014", ORIGIN)
    content = base64.b64decode(encoded)
    assert content[:4] == note_key_id(ORIGIN, public_key_of(KEY))
    assert len(content) == 4 + 64
    assert TRUSTED[0].verify(f"{text}\n".encode(), content[4:])


def test_a_signed_checkpoint_opens_with_the_key_that_is_trusted() -> None:
    assert open_checkpoint(NOTE, TRUSTED, ORIGIN) == POINT


def test_key_ids_are_made_as_the_note_format_makes_them() -> None:
    # The checksum database of Go publishes this key; its id stands in the middle.
    known = parse_verifier_key("sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8")
    assert known.key_id.hex() == "033de0ae"


def test_a_public_key_can_be_handed_on_as_text() -> None:
    text = format_verifier_key(ORIGIN, public_key_of(KEY))
    assert open_checkpoint(NOTE, [parse_verifier_key(text)]) == POINT
    for broken in (text[:-4], text.replace("+", "-", 1), text.replace("sayso", "other"), "", "a+b+c"):
        with pytest.raises(KeyRefused):
            parse_verifier_key(broken)


def test_signatures_of_unknown_keys_are_passed_over_but_do_not_count() -> None:
    witness = make_key("witness.example")
    note = sign_checkpoint(POINT, [make_signer(witness), make_signer(KEY)])
    assert open_checkpoint(note, TRUSTED) == POINT
    with pytest.raises(BadCheckpoint, match="no key"):
        open_checkpoint(sign_checkpoint(POINT, [make_signer(witness)]), TRUSTED)
    with pytest.raises(BadCheckpoint, match="no key"):
        open_checkpoint(NOTE, [])


def test_one_false_signature_of_a_trusted_key_spoils_the_note() -> None:
    liar = Signer(ORIGIN, note_key_id(ORIGIN, public_key_of(KEY)), lambda text: bytes(64))
    with pytest.raises(BadCheckpoint, match="false"):
        open_checkpoint(sign_checkpoint(POINT, [make_signer(KEY), liar]), TRUSTED)


def test_a_checkpoint_of_another_log_is_refused() -> None:
    with pytest.raises(BadCheckpoint, match="not of"):
        open_checkpoint(NOTE, TRUSTED, "sayso.example/other")


@given(st.integers(0, len(NOTE) - 1), st.integers(1, 255))
def test_no_byte_of_a_signed_checkpoint_can_change(at: int, mask: int) -> None:
    changed = NOTE[:at] + bytes([NOTE[at] ^ mask]) + NOTE[at + 1 :]
    with pytest.raises(BadCheckpoint):
        open_checkpoint(changed, TRUSTED, ORIGIN)


def test_a_signature_without_its_dash_is_none() -> None:
    bare = NOTE.replace("\N{EM DASH} ".encode(), b"")
    assert bare != NOTE
    with pytest.raises(BadCheckpoint) as refused:
        open_checkpoint(bare, TRUSTED, ORIGIN)
    assert refused.value.code == "checkpoint"


@given(st.binary(max_size=200))
def test_garbage_is_refused_in_one_way_only(garbage: bytes) -> None:
    for reader in (lambda: open_checkpoint(garbage, TRUSTED), lambda: parse_receipt(garbage)):
        with pytest.raises(BadCheckpoint):
            reader()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "log\n1\n",
        "log\n1\nAAAA\n",
        f"log\n01\n{'A' * 43}=\n",
        f"log\n-1\n{'A' * 43}=\n",
        f"log\n1\n{'A' * 43}=",
        f"log\n\n1\n{'A' * 43}=\n",
        f"log\n1\n{'A' * 43}=\n\n",
        f"\n1\n{'A' * 43}=\n",
        f"lo\tg\n1\n{'A' * 43}=\n",
        f"log\n١\n{'A' * 43}=\n",
        f"log\n1\n{'A' * 42}B=\n",
    ],
)
def test_a_checkpoint_has_one_spelling(text: str) -> None:
    with pytest.raises(BadCheckpoint):
        parse_checkpoint(text)


def test_extension_lines_are_kept_and_signed() -> None:
    extended = msgspec.structs.replace(POINT, extensions=("one", "two"))
    assert open_checkpoint(sign_checkpoint(extended, [make_signer(KEY)]), TRUSTED) == extended


@pytest.mark.parametrize(
    "changed",
    [{"origin": "two\nlines"}, {"origin": ""}, {"size": -1}, {"root": b"short"}, {"extensions": ("",)}],
)
def test_what_cannot_be_written_on_one_line_is_not_signed(changed: dict[str, object]) -> None:
    with pytest.raises(BadCheckpoint):
        checkpoint_text(msgspec.structs.replace(POINT, **changed))


def test_a_note_without_signatures_or_with_too_many_is_refused() -> None:
    with pytest.raises(BadCheckpoint, match="needs a signature"):
        sign_checkpoint(POINT, [])
    assert len(parse_note(sign_checkpoint(POINT, [make_signer(KEY)] * 16)).signatures) == 16
    with pytest.raises(BadCheckpoint):
        parse_note(sign_checkpoint(POINT, [make_signer(KEY)] * 33))
    with pytest.raises(BadCheckpoint, match="not read"):
        parse_note(NOTE + b"x" * (1 << 20))


@pytest.mark.parametrize("text", ["YQ", "YQ= =", "YR==", "YQ==\n", "Y-==", "é"])
def test_base64_has_one_spelling(text: str) -> None:
    with pytest.raises(BadCheckpoint):
        decode_base64(text)


# --- receipts ---


def receipt(index: int = 4, size: int = 9) -> bytes:
    stored = list(rows(size))
    leaves = [row[3] for row in stored]
    tree = extend_tree(Frontier(), leaves)[0]
    path = prove_inclusion(index, size, lambda height, first, count: leaves[first : first + count])
    _, body, prev, _ = stored[index]
    assert body is not None
    note = sign_checkpoint(Checkpoint(ORIGIN, size, tree.root), [make_signer(KEY)])
    return format_receipt(Receipt(leaf_content(prev, body), index, path, note))


@pytest.mark.parametrize("size", [1, 2, 9, 64])
def test_a_receipt_proves_its_entry_offline(size: int) -> None:
    for index in range(size):
        proven, checkpoint = check_receipt(receipt(index, size), TRUSTED, ORIGIN)
        assert checkpoint.size == size
        assert read_entry(split_leaf(proven.content)[1]).seq == index + 1


def test_a_receipt_for_another_entry_place_or_log_proves_nothing() -> None:
    good = parse_receipt(receipt())
    other = parse_receipt(receipt(5))
    forged = [
        msgspec.structs.replace(good, content=other.content),
        msgspec.structs.replace(good, index=5),
        msgspec.structs.replace(good, path=other.path),
        msgspec.structs.replace(good, path=good.path[:-1]),
        msgspec.structs.replace(good, checkpoint=NOTE),
        msgspec.structs.replace(good, checkpoint=b""),
    ]
    for each in forged:
        with pytest.raises(BadCheckpoint):
            check_receipt(format_receipt(each), TRUSTED, ORIGIN)
    with pytest.raises(BadCheckpoint):
        check_receipt(receipt(), TRUSTED, "sayso.example/other")


def test_what_is_no_leaf_of_ours_is_not_taken_apart() -> None:
    for content in (b"", b"sayso/audit/1\n" + bytes(32), b"sayso/audit/2\n" + bytes(60)):
        with pytest.raises(SaysoError):
            split_leaf(content)


# --- keys ---


def test_a_key_is_saved_for_its_owner_only_and_loaded_again(tmp_path: Path) -> None:
    save_key(KEY, tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert load_key(ORIGIN, tmp_path / "key") == KEY


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622, 0o601, 0o777])
def test_a_key_file_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    save_key(KEY, tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(KeyRefused, match="others can"):
        load_key(ORIGIN, tmp_path / "key")


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    save_key(KEY, tmp_path / "key")
    with pytest.raises(KeyRefused, match="exists"):
        save_key(make_key(ORIGIN), tmp_path / "key")
    assert load_or_make_key(ORIGIN, tmp_path / "key") == KEY


def test_a_key_is_made_on_first_use_and_leaves_nothing_else_behind(tmp_path: Path) -> None:
    made = load_or_make_key(ORIGIN, tmp_path / "key")
    assert load_or_make_key(ORIGIN, tmp_path / "key") == made
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 44, b"A" * 44, base64.b64encode(bytes(33))])
def test_a_file_without_a_key_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(KeyRefused, match="does not hold a key"):
        load_key(ORIGIN, tmp_path / "key")


def test_a_link_a_folder_and_nothing_are_refused_as_key_files(tmp_path: Path) -> None:
    save_key(KEY, tmp_path / "key")
    (tmp_path / "link").symlink_to(tmp_path / "key")
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("link", "missing", "pipe", "."):
        with pytest.raises(KeyRefused):
            load_key(ORIGIN, tmp_path / name)


@pytest.mark.parametrize("name", ["", "two words", "a+b", "a\nb", "a\u00a0b"])
def test_a_name_that_would_break_a_note_is_refused(name: str) -> None:
    with pytest.raises(KeyRefused):
        make_key(name)
    with pytest.raises(BadCheckpoint):
        sign_checkpoint(POINT, [Signer(name, b"1234", lambda text: bytes(64))])


def test_a_key_does_not_show_its_secret() -> None:
    key = SigningKey(ORIGIN, b"s3cret" + bytes(26))
    assert "s3cret" not in repr(key)
    assert "s3cret" not in str([key])


def test_bytes_that_are_no_public_key_are_refused() -> None:
    with pytest.raises(KeyRefused):
        make_verifier(ORIGIN, b"short")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"tlog-proof@v1", b"tlog-proof@v2"),
        (b"index 4\n", b"index 04\n"),
        (b"index 4\n", b"index -4\n"),
        (b"index 4\n", b"index +4\n"),
        (b"index 4\n", b"place 4\n"),
        (b"extra ", b"other "),
    ],
)
def test_a_receipt_in_another_form_is_not_read(old: bytes, new: bytes) -> None:
    good = receipt()
    assert old in good
    with pytest.raises(BadCheckpoint):
        parse_receipt(good.replace(old, new, 1))


def test_a_path_has_as_many_steps_as_a_size_has_bits_and_no_more() -> None:
    good = parse_receipt(receipt())
    for steps in (0, 64):
        path = (bytes(32),) * steps
        long = Receipt(good.content, good.index, path, good.checkpoint)
        assert parse_receipt(format_receipt(long)).path == path
    with pytest.raises(BadCheckpoint):
        parse_receipt(format_receipt(Receipt(good.content, good.index, (bytes(32),) * 65, good.checkpoint)))
