"""What a store promises of what was read ahead: it is what a read would find, whatever was written since."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from sayso.store.contract import Ahead, Batch, QuestionRow, Reader, Store, Writer
from tests.contract import rows
from tests.contract.checks.batches import fail_batch, fail_in
from tests.contract.rows import CALL, GRANT, NOON, QUESTION, SPEND
from tests.support.places import Open

KEYS = (("call", "d1"), ("command", "x"))
AHEAD = Ahead(
    sessions=frozenset({"s1", "s2"}),
    calls=frozenset({"c1", "c2", "none"}),
    host_ids=frozenset({("s1", "host"), ("s1", "new"), ("s1", ""), ("s2", "host")}),
    call_keys=frozenset({("s1", "shell", "key"), ("s1", "shell", "new"), ("s1", "shell", "")}),
    effects=frozenset({"effect", "new", ""}),
    grants_by_key=frozenset({("s1", KEYS)}),
    grants=frozenset({"g0", "g1"}),
    questions=frozenset({("s1", "q0"), ("s1", "q1")}),
    questions_of=frozenset({"s1", "s2"}),
    approvals=frozenset({("s1", "d1")}),
    open_questions=frozenset({("s1", "d1"), ("s1", "d2")}),
    counted=frozenset({"s1"}),
)
NAMED = replace(CALL, id="c2", host_id="host", key="key", effect_key="effect", question="q1")
APPROVAL = replace(GRANT, id="g0", kind="call", value="d1")


def seen(r: Reader) -> list[Any]:
    """All that was read ahead, as it is now."""
    return [
        [r.session(name) for name in ("s1", "s2")],
        [r.call(name) for name in ("c1", "c2", "c3", "c4", "none")],
        [r.call_by_host(of, name) for of in ("s1", "s2") for name in ("host", "new", "")],
        [r.call_by_key("s1", "shell", name) for name in ("key", "new", "")],
        [[*r.calls_by_effect(name)] for name in ("effect", "new", "")],
        [[*r.grants("s1", KEYS)], [*r.grants("s1", KEYS[:1])], [*r.grants("s1")], [*r.grants("s2")]],
        [r.grant(name) for name in ("g0", "g1", "g2")],
        [[*r.spends(["g0"])], [*r.spends(["g0", "g2"])]],
        [r.question(name) for name in ("q0", "q1", "q2", "q3")],
        [[*r.questions("s1")], [*r.questions("s1", limit=1)], [*r.questions("s2")]],
        [r.open_question("s1", digest) for digest in ("d1", "d2")],
        [r.count_open("s1"), r.count_open("s2"), r.count_open()],
        [{row.id for row in r.grants_named("s1", names)} for names in (["g0"], ["g2", "g1", "g0"])],
    ]


def _name_a_call_anew(w: Writer) -> None:
    w.put_call(replace(NAMED, id="c3", host_id="new", key="new", effect_key="new"))
    w.put_call(replace(NAMED, id="c4", effect_key="new"))


def _move_calls(w: Writer) -> None:
    assert w.move_call(replace(NAMED, state="failed", fence=1), states=("pending",), fence=0)
    other = replace(CALL, effect_key="effect", state="running")
    assert w.move_call(other, states=("pending",), fence=0)


def _take_names_away(w: Writer) -> None:
    """A call without a name is not the one whose name is empty."""
    w.put_call(replace(NAMED, effect_key=None, host_id=None, key=None))


def _add_grants(w: Writer) -> None:
    w.add_grant(replace(GRANT, id="g1", kind="command", value="x"))
    w.add_grant(replace(GRANT, id="g2", kind="tool", value="x"))
    w.add_spend(replace(SPEND, grant="g0", number=2))
    w.add_last_spend(replace(SPEND, grant="g0", what="revoke"))


def _ask(w: Writer) -> None:
    w.add_question(replace(QUESTION, id="q2", digest="d2", opened_at=NOON + 1))
    w.add_question(replace(QUESTION, id="q3", opened_at=NOON + 2))


def _close(w: Writer) -> None:
    assert w.close_question(closed("q1"))
    assert not w.close_question(closed("q1"))
    assert not w.close_question(closed("none"))


def closed(name: str) -> QuestionRow:
    return replace(rows.CLOSED, id=name)


STEPS: tuple[Callable[[Writer], object], ...] = (
    lambda w: w.change_session(rows.session("s1", head=b"new")),
    _name_a_call_anew,
    _move_calls,
    _add_grants,
    _ask,
    _close,
    _take_names_away,
    lambda w: w.drop_results(before=NOON),
)


def _fill(store: Store) -> None:
    with store.write() as w:
        w.put_session(rows.session("s1"))
        w.put_session(rows.session("s2"))
        for row in (CALL, NAMED):
            w.put_call(row)
        w.add_grant(APPROVAL)
        w.add_spend(replace(SPEND, grant="g0"))
        w.add_question(replace(QUESTION, id="q0"))
        w.add_question(QUESTION)


def _run(batch: Batch, *, undone: bool) -> list[Any]:
    """What is seen after each step; with `undone`, each is done and undone first."""
    found: list[Any] = []
    for step in STEPS:
        if undone:
            fail_in(batch, partial(_see_after, step=step, found=found))
        with batch.write() as w:
            step(w)
            found.append(seen(w))
        with batch.read() as r:
            found.append(seen(r))
    return found


def _compare(make: Open, *, undone: bool) -> None:
    """The same steps in a batch that is lost, and in one that has read ahead."""
    store, found = make(), []
    _fill(store)
    fail_batch(store, lambda batch: found.append(_run(batch, undone=undone)))
    with store.batch() as batch:
        batch.read_ahead(AHEAD)
        with batch.read() as r:
            begun = seen(r)
        again = _run(batch, undone=undone)
    assert again == found[0]
    with store.read() as r:
        assert seen(r) == again[-1] != begun


def _see_after(w: Writer, step: Callable[[Writer], object], found: list[Any]) -> None:
    step(w)
    found.append(seen(w))


def check_what_was_read_ahead_is_what_a_read_finds(make: Open) -> None:
    _compare(make, undone=False)


def check_what_was_undone_does_not_change_what_was_read_ahead(make: Open) -> None:
    _compare(make, undone=True)


def check_only_what_belongs_to_a_held_session_is_believed(make: Open) -> None:
    """Read ahead without its session, it may be changed by others before it is needed."""
    store, other = make(), make()
    if other is store or store.local:  # nobody else writes while a transaction does
        return
    with store.write() as w:
        w.put_session(rows.session("s1"))
        w.put_call(NAMED)
        w.add_question(QUESTION)
    with store.batch() as batch:
        batch.read_ahead(replace(AHEAD, sessions=frozenset(), calls=frozenset(), effects=frozenset()))
        with other.write() as w:
            w.put_call(replace(NAMED, state="failed"))
            w.close_question(rows.CLOSED)
        with batch.read() as r:
            assert r.call_by_host("s1", "host") == replace(NAMED, state="failed")
            assert r.call_by_key("s1", "shell", "key") == replace(NAMED, state="failed")
            assert (r.question("q1"), [*r.questions("s1")]) == (rows.CLOSED, [])
            assert r.count_open("s1") == 0
