"""Rows to store: every field filled with something that a careless store would lose."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from sayso.store.contract import (
    CallRow,
    CheckpointRow,
    DeliveryRow,
    EntryRow,
    EntryTuple,
    GrantRow,
    NodeRow,
    QuestionRow,
    Reader,
    ReviewRow,
    SecretRow,
    SessionRow,
    SpendRow,
    SummaryRow,
    Writer,
)

NOON = 1_800_000_000.123456
BYTES = bytes(range(256))
TEXT = "größe 'x' \"y\" ? %s \\ \n 東京 🙂"

SESSION = SessionRow("s1", "token", "agent", "ana", TEXT, None, NOON, None, BYTES, 2**40, b"\0mac")
GRANT = GrantRow("g1", "s1", "command", TEXT, BYTES, 7, b"mac\0", NOON + 900)
SPEND = SpendRow("g1", 1, "s1", "use", "c1", NOON)
QUESTION = QuestionRow("q1", "s1", "d1", BYTES, NOON, NOON + 7200)
CLOSED = replace(QUESTION, state="answered", answer="once", reason=TEXT, by="ana", closed_at=NOON + 1)
CALL = CallRow("c1", "s1", "d1", "shell", BYTES, "pending", NOON)
FULL_CALL = CallRow(
    "c2",
    "s1",
    "d2",
    "shell",
    b"",
    "running",
    NOON,
    "host",
    "key",
    "effect",
    "q1",
    2**40,
    "me",
    NOON,
    BYTES,
    NOON,
    TEXT,
)
ENTRY = EntryRow("main", 1, NOON, "GRANTED", "s1", BYTES, b"\0" * 32, b"\1" * 32)
NODE = NodeRow("main", 0, 0, BYTES)
CHECKPOINT = CheckpointRow(2**40, NOON, TEXT)
SECRET = SecretRow("main", 1, "token", BYTES, b"\0")
REVIEW = ReviewRow("email", NOON, "ana", BYTES)
SUMMARY = SummaryRow("main", "hour", TEXT, 2**40, BYTES)
DELIVERY = DeliveryRow("phone", "q1", "question", "shown", NOON, 3, 2, NOON - 1, BYTES, TEXT, TEXT)


def entry(seq: int, stream: str = "main") -> EntryRow:
    return replace(ENTRY, stream=stream, seq=seq, at=NOON + seq, hash=bytes([seq % 256]) * 32)


def filed(row: EntryRow) -> EntryTuple:
    return (row.seq, row.body, row.prev, row.hash, row.at, row.event, row.session)


def session(name: str, **fields: Any) -> SessionRow:
    return replace(SESSION, id=name, **fields)


def grant(name: str, **fields: Any) -> GrantRow:
    return replace(GRANT, id=name, **fields)


def question(name: str, **fields: Any) -> QuestionRow:
    return replace(QUESTION, id=name, **fields)


def call(name: str, **fields: Any) -> CallRow:
    return replace(CALL, id=name, **fields)


def put_everything(writer: Writer) -> None:
    """One row in every table."""
    writer.set_meta("epoch", TEXT)
    writer.put_session(SESSION)
    writer.add_grant(GRANT)
    writer.add_spend(SPEND)
    writer.add_question(QUESTION)
    writer.put_call(CALL)
    writer.put_call(FULL_CALL)
    writer.add_entry(ENTRY)
    writer.add_nodes([NODE])
    writer.add_checkpoint(CHECKPOINT)
    writer.add_secret(SECRET)
    writer.put_review(REVIEW)
    writer.put_summaries([SUMMARY])
    writer.add_delivery(DELIVERY)


def everything(reader: Reader) -> list[object]:
    """What `put_everything` put there."""
    return [
        reader.meta("epoch"),
        reader.session("s1"),
        reader.grant("g1"),
        *reader.spends(["g1"]),
        reader.question("q1"),
        reader.call("c1"),
        reader.call("c2"),
        *reader.entries("main"),
        *reader.nodes("main", [(0, 0)]),
        *reader.checkpoints(),
        *reader.secrets("main", 1),
        *reader.reviews(),
        *reader.summaries("main", "hour", [(TEXT, 2**40)]),
        reader.delivery("phone", "q1"),
    ]


EVERYTHING: list[object] = [
    TEXT, SESSION, GRANT, SPEND, QUESTION, CALL, FULL_CALL, ENTRY, NODE, CHECKPOINT, SECRET,
    REVIEW, SUMMARY, DELIVERY,
]  # fmt: skip
