"""The bytes of entries: what an event is called and what its details say never changes unnoticed."""

from __future__ import annotations

import pytest

from sayso.core.audit import events
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record

DECIDED = ("d1", "Bash", "agent", "allow", "safe", "it is safe", "low", (), "p1")
SPELLED = [
    (
        events.Decided(*DECIDED),
        (
            b'{"digest":"d1","grants":[],"origin":"agent","policy":"p1","reason":"it is safe","risk":"low",'
            b'"rule":"safe","tool":"Bash","verdict":"allow"},"event":"DECIDED"'
        ),
    ),
    (
        events.Asked(*DECIDED, notice="n", question="q1", task="", bundle="b", call="c1", again=True),
        (
            b'{"again":true,"bundle":"b","call":"c1","digest":"d1","grants":[],"notice":"n","origin":"agent",'
            b'"policy":"p1","question":"q1","reason":"it is safe","risk":"low","rule":"safe","task":"",'
            b'"tool":"Bash","verdict":"allow"},"event":"ASKED"'
        ),
    ),
    (
        events.Answered("q1", "once", "ana"),
        b'{"answer":"once","by":"ana","question":"q1"},"event":"ANSWERED"',
    ),
    (
        events.Answered("q1", "edit", "ana", "d1", "", ("g1",), "p1", edited="d2", signed=False),
        (
            b'{"answer":"edit","by":"ana","digest":"d1","edited":"d2","grants":["g1"],"policy":"p1",'
            b'"question":"q1","reason":"","signed":false},"event":"ANSWERED"'
        ),
    ),
    (
        events.Granted("g1", "operation", "high", by="ana", seconds=900, uses=None, policy="p1"),
        (
            b'{"by":"ana","grant":"g1","kind":"operation","policy":"p1","risk":"high","seconds":900,'
            b'"uses":null},"event":"GRANTED"'
        ),
    ),
    (events.Revoked("ana", call="c1"), b'{"by":"ana","call":"c1"},"event":"REVOKED"'),
    (
        events.Executed("c1", "d1", "failed", rule="safe", claimed=True),
        b'{"call":"c1","claimed":true,"digest":"d1","rule":"safe","state":"failed"},"event":"EXECUTED"',
    ),
    (
        events.MessageHeard("stop", 3, ("file edits",), "the user said stop"),
        b'{"cleared":["file edits"],"kind":"stop","turn":3,"why":"the user said stop"},"event":"HEARD"',
    ),
    (events.SessionEnded(), b'{},"event":"SESSION_ENDED"'),
    (events.UserInitiated(), b'{},"event":"USER_INITIATED"'),
    (
        events.ClockTrusted("ana", was=1.5, now=2.0),
        b'{"by":"ana","now":2,"was":1.5},"event":"CLOCK"',
    ),
    (
        events.Joined({"worker-1": events.StreamEnd("5dc9", 41)}),
        b'{"streams":{"worker-1":{"root":"5dc9","size":41}}},"event":"JOINED"',
    ),
]


@pytest.mark.parametrize(("event", "spelled"), SPELLED, ids=[one.event for one, _ in SPELLED])
def test_an_entry_is_not_spelled_otherwise_than_it_always_was(
    gate: Gate, event: events.AuditEvent, spelled: bytes
) -> None:
    with gate.store.write() as tx:
        seq = record(tx, event, session="s1", agent="a1", operations=("git.push",))
    with gate.store.read() as tx:
        (row,) = tx.entries("main", after=seq - 1, limit=1)
    head, _, rest = (row.body or b"").partition(b'"details":')
    assert head.startswith(b'{"agent":"a1","at":"')
    assert rest == spelled + b',"operations":["git.push"],"seq":%d,"session":"s1","stream":"main"}' % seq
    assert row.event == event.event
