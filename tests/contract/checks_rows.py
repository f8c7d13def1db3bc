"""What a store promises of its rows: what is read back, in which order, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from sayso.core.audit import Entry, encode
from sayso.store.base import (
    KINDS,
    UNTOLD,
    AnyRow,
    GrantRow,
    MetaRow,
    NodeRow,
    QuestionRow,
    Reader,
    SecretRow,
    SendingRow,
    SessionRow,
    Store,
    StoreError,
)
from tests.contract import rows
from tests.contract.rows import NOON, call, entry, filed, grant, question, session

Open = Callable[[], Store]
"""Opens the same place each time: what one has committed, the next one finds."""


def check_every_row_is_read_back_as_it_was_stored(make: Open) -> None:
    store = make()
    with store.write() as w:
        rows.put_everything(w)
    with store.read() as r:
        assert rows.everything(r) == rows.EVERYTHING


def check_a_transaction_reads_its_own_writes(make: Open) -> None:
    with make().write() as w:
        rows.put_everything(w)
        assert rows.everything(w) == rows.EVERYTHING


def check_what_does_not_exist_is_not_found(make: Open) -> None:
    with make().read() as r:
        one: list[object] = [
            r.meta("x"),
            r.session("x"),
            r.grant("x"),
            r.denial("x", "x"),
            r.question("x"),
            r.call("x"),
        ]
        one += [
            r.open_question("x", "x"),
            r.call_by_host("x", "x"),
            r.call_by_key("x", "x", "x"),
            r.head("x"),
        ]
        assert one == [None] * len(one)
        many: list[Sequence[object]] = [
            r.sessions(),
            r.children("x"),
            r.grants("x"),
            r.grants("x", []),
            r.grants("x", [("a", "b")]),
        ]
        many += [r.spends(["x"]), r.spends([]), r.sendings("x", [("a", "b")]), r.reviews(), r.questions("x")]
        many += [r.questions(after="x"), r.calls_by_effect("x"), r.calls(states=["x"]), r.calls(states=[])]
        many += [
            r.entries("x"),
            r.filed("x"),
            r.streams(),
            r.nodes("x", [(0, 0)]),
            r.checkpoints(),
            r.secrets("x", 1),
        ]
        assert [list(found) for found in many] == [[]] * len(many)
        assert r.count_questions("x", since=0.0) == (0, 0)


def check_meta_keeps_the_last_value(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.set_meta("epoch", "1")
        w.set_meta("policy", "p")
    with store.write() as w:
        w.set_meta("epoch", "2")
    with store.read() as r:
        assert (r.meta("epoch"), r.meta("policy")) == ("2", "p")


def check_a_session_put_again_is_replaced_in_its_place(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name in ("b", "a", "c"):
            w.put_session(session(name))
    with store.write() as w:
        w.put_session(session("b", head=b"new", spends=9, mac=b"other"))
    with store.read() as r:
        assert r.session("b") == session("b", head=b"new", spends=9, mac=b"other")
        assert [row.id for row in r.sessions()] == ["b", "a", "c"]


def check_a_session_that_changes_keeps_whose_it_is_and_when_it_ended(make: Open) -> None:
    store = make()
    new = {"workspace": "/other", "head": b"new", "spends": 9, "mac": b"other"}
    with store.write() as w:
        for name in ("b", "a"):
            w.put_session(session(name, ended_at=NOON))
    with store.write() as w:
        w.change_session(session("b", owner="thief", user="x", agent="y", parent="a", opened_at=1.0, **new))
        assert w.session("b") == session("b", ended_at=NOON, **new)
    with pytest.raises(StoreError), store.write() as w:
        w.change_session(session("c"))
    with store.read() as r:
        assert list(r.sessions(open_only=False)) == [
            session("b", ended_at=NOON, **new), session("a", ended_at=NOON)
        ]  # fmt: skip
        assert r.session("c") is None


def check_sessions_are_listed_in_order_the_ended_ones_on_demand(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name, ended in (("c", None), ("b", NOON), ("a", None)):
            w.put_session(session(name, ended_at=ended))
    with store.read() as r:
        assert [row.id for row in r.sessions()] == ["c", "a"]
        assert [row.id for row in r.sessions(open_only=False)] == ["c", "b", "a"]
        assert [row.id for row in r.sessions(open_only=False, limit=2)] == ["c", "b"]
        assert [row.id for row in r.sessions(limit=1)] == ["c"]


def check_sessions_come_in_pages_of_one_owner_or_of_all(make: Open) -> None:
    store = make()
    opened = [(f"s{(number * 7) % 12:02}", "ana" if number % 2 else "bo") for number in range(12)]
    with store.write() as w:
        for number, (name, owner) in enumerate(opened):
            w.put_session(session(name, owner=owner, ended_at=NOON if number % 3 == 0 else None))
    names = [name for number, (name, _) in enumerate(opened) if number % 3]
    with store.read() as r:
        first = [row.id for row in r.sessions(limit=3)]
        second = [row.id for row in r.sessions(after=first[-1], limit=3)]
        third = [row.id for row in r.sessions(after=second[-1], limit=3)]
        assert [*first, *second, *third] == names
        assert list(r.sessions(after=third[-1])) == []
        assert list(r.sessions(after="unknown")) == []
        assert [row.id for row in r.sessions(after=opened[0][0])] == names  # behind one that has ended
        mine = [row.id for row in r.sessions(owner="ana")]
        assert mine == [name for name, owner in opened if owner == "ana" and name in names]
        assert [row.id for row in r.sessions(owner="ana", after=mine[0], limit=2)] == mine[1:3]
        every = [name for name, owner in opened if owner == "bo"]
        assert [row.id for row in r.sessions(owner="bo", open_only=False)] == every
        assert [row.id for row in r.sessions(owner="bo", open_only=False, after=every[0])] == every[1:]
        assert list(r.sessions(owner="nobody")) == []


def check_children_are_those_of_one_parent(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name, parent in (("root", None), ("b", "root"), ("other", "b"), ("a", "root")):
            w.put_session(session(name, parent=parent))
    with store.read() as r:
        assert [row.id for row in r.children("root")] == ["b", "a"]


def check_grants_come_in_the_order_given_and_from_one_session(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name, owner, value in (("z", "s1", "x"), ("a", "s1", "y"), ("m", "s2", "x"), ("b", "s1", "x")):
            w.add_grant(grant(name, session=owner, kind="tool", value=value))
    with store.read() as r:
        assert [row.id for row in r.grants("s1")] == ["z", "a", "b"]
        assert [row.id for row in r.grants("s1", [("tool", "x")])] == ["z", "b"]
        both = [("tool", "y"), ("tool", "x"), ("tool", "x"), ("command", "x")]
        assert [row.id for row in r.grants("s1", both)] == ["z", "a", "b"]
        assert list(r.grants("s1", [("x", "tool"), ("command", "y")])) == []
        assert list(r.grants("s1", [])) == []
        assert r.grant("m") == grant("m", session="s2", kind="tool", value="x")


def _give_six(store: Store) -> list[str]:
    """Six grants, given in another order than that in which they end, two at once; and others."""
    ends = {"e": 1.0, "b": 2.0, "d": 2.0, "a": 3.0, "f": 4.0, "c": UNTOLD - NOON}
    with store.write() as w:
        for name, owner, ended in (("s1", "ana", None), ("s2", "bo", None), ("s3", "ana", NOON)):
            w.put_session(session(name, owner=owner, ended_at=ended))
        for number, name in enumerate("fbcdea"):
            w.add_grant(grant(name, session=f"s{number % 2 + 1}", expires_at=NOON + ends[name]))
        w.add_grant(grant("over", expires_at=NOON))
        w.add_grant(grant("ended", session="s3", expires_at=NOON + 9))
        w.add_grant(grant("orphan", session="nobody's", expires_at=NOON + 9))
        w.add_spend(replace(rows.SPEND, grant="b", what="revoke"))
    return [*"ebdafc"]


def check_grants_that_have_not_ended_come_in_pages_the_first_to_end_first(make: Open) -> None:
    store = make()
    names = _give_six(store)
    with store.read() as r:
        assert [row.id for row in r.unexpired(NOON)] == names
        pages = [[row.id for row in r.unexpired(NOON, after=after, limit=2)] for after in ("", "b", "a")]
        assert [name for page in pages for name in page] == names
        assert list(r.unexpired(NOON, after="c")) == []
        assert list(r.unexpired(NOON, after="unknown")) == []
        assert [row.id for row in r.unexpired(NOON, after="ended")] == ["c"]
        assert [row.id for row in r.unexpired(NOON + 2)] == ["a", "f", "c"]
        assert [row.id for row in r.unexpired(NOON + 2, after="e")] == ["a", "f", "c"]
        assert r.unexpired(NOON)[0] == grant("e", session="s1", expires_at=NOON + 1)


def check_grants_that_have_not_ended_are_found_by_session_and_owner(make: Open) -> None:
    store = make()
    names = _give_six(store)
    with store.read() as r:
        mine = [name for name in names if name in "fce"]
        assert [row.id for row in r.unexpired(NOON, session="s1")] == mine
        assert [row.id for row in r.unexpired(NOON, owner="ana")] == mine
        assert [row.id for row in r.unexpired(NOON, owner="ana", after="e", limit=1)] == ["f"]
        assert [row.id for row in r.unexpired(NOON, session="s2", after="b")] == ["d", "a"]
        assert list(r.unexpired(NOON, session="s3")) == []
        assert list(r.unexpired(NOON, owner="nobody")) == []


def check_run_grants_are_found_until_they_end_or_are_revoked(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name, ended in (("s1", None), ("s2", NOON)):
            w.put_session(session(name, ended_at=ended))
        for name in ("d", "b", "c", "over"):
            w.add_grant(grant(name, kind="run", value=name, expires_at=NOON + (name != "over")))
        w.add_grant(grant("ended", session="s2", kind="run", expires_at=NOON + 1))
        w.add_grant(grant("other", kind="tool", value="run", expires_at=NOON + 1))
        w.add_spend(replace(rows.SPEND, grant="b", number=1, what="use"))
        w.add_spend(replace(rows.SPEND, grant="c", number=1, what="use"))
        w.add_spend(replace(rows.SPEND, grant="c", number=2, what="revoke"))
    with store.read() as r:
        assert [row.id for row in r.unrevoked_runs(NOON)] == ["b", "d"]
        assert [row.id for row in r.unrevoked_runs(NOON - 1)] == ["over", "b", "d"]
        assert list(r.unrevoked_runs(NOON + 1)) == []


def check_any_number_of_keys_can_be_asked_for(make: Open) -> None:
    store = make()
    names = [f"g{number:04}" for number in range(1300)]
    with store.write(durable=False) as w:
        for name in reversed(names):
            w.add_grant(grant(name, kind="tool", value=name))
            w.add_spend(replace(rows.SPEND, grant=name))
        w.add_nodes(NodeRow("main", 0, index, b"") for index in range(1300))
    with store.read() as r:
        assert [row.id for row in r.grants("s1", [("tool", name) for name in names])] == names[::-1]
        assert [row.grant for row in r.spends(reversed(names))] == names
        assert [row.index for row in r.nodes("main", [(0, i) for i in reversed(range(1300))])] == list(
            range(1300)
        )


def check_a_grant_is_added_once(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_grant(grant("g1"))
    with pytest.raises(StoreError), store.write() as w:
        w.add_grant(grant("g1", session="s2", value="everything"))
    with store.read() as r:
        assert r.grant("g1") == grant("g1")
        assert list(r.grants("s2")) == []


def check_spends_come_by_grant_and_number(make: Open) -> None:
    store = make()
    added = [("b", 1, "s1", "use"), ("a", 1, "s1", "use"), ("b", 2, "s1", "return"), ("c", 1, "s2", "revoke"),
             ("b", 3, "s1", "revoke")]  # fmt: skip
    with store.write() as w:
        for name, number, owner, what in added:
            w.add_spend(replace(rows.SPEND, grant=name, number=number, session=owner, what=what))
    with store.read() as r:
        found = [(row.grant, row.number, row.session, row.what) for row in r.spends(["c", "b", "a", "b"])]
        assert found == sorted(added)
        assert [row.number for row in r.spends(["b"])] == [1, 2, 3]


def check_a_number_of_a_grant_is_spent_once(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_spend(replace(rows.SPEND, number=3))
        w.add_spend(rows.SPEND)
        w.add_spend(replace(rows.SPEND, grant="g2"))
    for number in (1, 3):
        with pytest.raises(StoreError), store.write() as w:
            w.add_spend(replace(rows.SPEND, number=number, call="other"))
    with store.read() as r:
        assert list(r.spends(["g1"])) == [rows.SPEND, replace(rows.SPEND, number=3)]


def check_a_denial_put_again_is_the_newer_one(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.put_denial(rows.DENIAL)
        w.put_denial(replace(rows.DENIAL, turn=4, at=NOON + 1))
        w.put_denial(replace(rows.DENIAL, session="s2", turn=1))
    with store.read() as r:
        assert r.denial("s1", "d1") == replace(rows.DENIAL, turn=4, at=NOON + 1)
        assert r.denial("s1", "d2") is None


def check_sendings_are_found_by_domain_and_content_of_one_session(make: Open) -> None:
    store = make()
    sent = [
        replace(rows.SENDING, session=owner, domain=domain, content=content, operation=operation)
        for owner, domain, content, operation in (
            ("s1", "email", "x", "z"), ("s1", "chat", "x", "y"), ("s2", "email", "x", "w"),
            ("s1", "email", "x", "z"), ("s1", "email", "y", "a"),
        )
    ]  # fmt: skip
    with store.write() as w:
        for row in sent:
            w.add_sending(row)
    with store.read() as r:
        assert list(r.sendings("s1", [("email", "x")])) == [sent[0], sent[3]]
        assert list(r.sendings("s1", [("email", "y"), ("chat", "x")])) == [sent[1], sent[4]]
        assert list(r.sendings("s1", [])) == []


def check_a_review_put_again_is_the_newer_one(make: Open) -> None:
    store = make()
    seen = replace(rows.REVIEW, name="calendar", by=None)
    with store.write() as w:
        w.put_review(rows.REVIEW)
        w.put_review(seen)
        w.put_review(replace(rows.REVIEW, at=NOON + 9, by="bo"))
    with store.read() as r:
        newer = replace(rows.REVIEW, at=NOON + 9, by="bo")
        assert list(r.reviews()) == [seen, newer]
        assert list(r.reviews(["email", "shell", "calendar", "email"])) == [seen, newer]
        assert list(r.reviews(["email"])) == [newer]
        assert list(r.reviews([])) == []


def check_the_open_question_of_a_digest_is_found_until_it_is_closed(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_question(question("q1"))
        w.add_question(question("q2", digest="d2"))
        w.add_question(question("q3", session="s2"))
    with store.read() as r:
        assert r.open_question("s1", "d1") == question("q1")
        assert r.open_question("s2", "d2") is None
    with store.write() as w:
        assert w.close_question(rows.CLOSED)
        assert w.open_question("s1", "d1") is None
    with store.write() as w:
        w.add_question(question("q4"))
    with store.read() as r:
        assert r.open_question("s1", "d1") == question("q4")


def check_a_question_is_added_once(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_question(rows.QUESTION)
        assert w.close_question(rows.CLOSED)
    with pytest.raises(StoreError), store.write() as w:
        w.add_question(rows.QUESTION)
    with store.read() as r:
        assert r.question("q1") == rows.CLOSED


def check_the_first_answer_stands(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_question(rows.QUESTION)
    with store.write() as w:
        assert w.close_question(rows.CLOSED)
    second = replace(rows.CLOSED, answer="deny", by="bo")
    with store.write() as w:
        assert not w.close_question(second)
        assert not w.close_question(replace(second, state="expired"))
        assert not w.close_question(replace(second, id="unknown"))
    with store.read() as r:
        assert r.question("q1") == rows.CLOSED
        assert r.question("unknown") is None


def check_closing_a_question_as_open_is_refused(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_question(rows.QUESTION)
    with pytest.raises(StoreError), store.write() as w:
        w.close_question(replace(rows.QUESTION, answer="once"))
    with store.read() as r:
        assert r.question("q1") == rows.QUESTION


def _ask_twelve(store: Store) -> list[QuestionRow]:
    """Twelve questions whose ids and times are in no order, every third one closed."""
    asked = [
        question(f"q{(number * 7) % 12:02}", session="s1" if number % 2 else "s2", opened_at=NOON - number)
        for number in range(12)
    ]
    with store.write() as w:
        for row in asked:
            w.add_question(row)
        for row in asked[::3]:
            assert w.close_question(replace(row, state="expired", closed_at=NOON))
    with store.read() as r:
        return [found for row in asked if (found := r.question(row.id))]


def check_questions_come_in_pages_in_the_order_they_were_opened(make: Open) -> None:
    store = make()
    asked = _ask_twelve(store)
    opened = [row for row in asked if row.state == "open"]
    assert len(opened) == 8
    with store.read() as r:
        first = r.questions(limit=3)
        second = r.questions(after=first[-1].id, limit=3)
        third = r.questions(after=second[-1].id, limit=3)
        assert [*first, *second, *third] == opened
        assert list(r.questions(after=third[-1].id)) == []
        assert list(r.questions(after="unknown")) == []
        assert list(r.questions(after=asked[0].id)) == opened  # a page may begin behind a closed one


def check_questions_can_be_listed_by_session_and_state(make: Open) -> None:
    store = make()
    asked = _ask_twelve(store)
    with store.read() as r:
        assert list(r.questions(state=None)) == asked
        assert list(r.questions(state="expired")) == asked[::3]
        assert list(r.questions("s1", state=None)) == [row for row in asked if row.session == "s1"]
        mine = [row for row in asked if row.session == "s1" and row.state == "open"]
        assert list(r.questions("s1")) == mine
        assert list(r.questions("s1", after=mine[0].id, limit=2)) == mine[1:3]


def check_questions_can_be_listed_by_owner(make: Open) -> None:
    store = make()
    asked = _ask_twelve(store)
    with store.write() as w:
        for name, owner, ended in (("s1", "ana", NOON), ("s2", "bo", None)):
            w.put_session(session(name, owner=owner, ended_at=ended))
    with store.read() as r:
        mine = [row for row in asked if row.session == "s1"]
        assert list(r.questions(owner="ana", state=None)) == mine
        still = [row for row in mine if row.state == "open"]
        assert list(r.questions(owner="ana")) == still
        assert list(r.questions(owner="ana", after=still[0].id, limit=2)) == still[1:3]
        assert list(r.questions("s2", owner="bo", state="expired")) == [
            row for row in asked if row.session == "s2" and row.state == "expired"
        ]
        assert list(r.questions(owner="nobody")) == []


def check_questions_are_counted_by_session_state_and_time(make: Open) -> None:
    store = make()
    with store.write() as w:
        for number in range(6):
            w.add_question(question(f"q{number}", opened_at=NOON + number))
        w.add_question(question("other", session="s2", opened_at=NOON + 9))
        assert w.close_question(replace(rows.CLOSED, id="q5", opened_at=NOON + 5))
    with store.read() as r:
        assert r.count_questions("s1", since=NOON + 2) == (5, 4)
        assert r.count_questions("s2", since=NOON + 99) == (1, 0)
        assert r.count_open() == 6


def check_sessions_with_a_late_question_are_found(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_question(question("late", session="s3", expires_at=NOON))
        w.add_question(question("later", session="s3", expires_at=NOON - 1))
        w.add_question(question("other", session="s2", expires_at=NOON - 1))
        w.add_question(question("early", session="s1", expires_at=NOON + 1))
        w.add_question(question("closed", session="s4", expires_at=NOON))
        assert w.close_question(replace(rows.CLOSED, id="closed", session="s4", expires_at=NOON))
    with store.read() as r:
        assert list(r.late_sessions(NOON)) == ["s2", "s3"]


def check_calls_are_found_by_what_the_host_and_the_caller_named_them(make: Open) -> None:
    store = make()
    calls = [
        call("b", host_id="h1", key="k1"),
        call("a", host_id="h2", key="k1", tool="mail"),
        call("c", host_id="h1", session="s2", key="k1"),
        call("d"),
    ]
    with store.write() as w:
        for row in calls:
            w.put_call(row)
    with store.read() as r:
        assert r.call_by_host("s1", "h1") == calls[0]
        assert r.call_by_host("s2", "h1") == calls[2]
        assert r.call_by_host("s2", "h2") is None
        assert r.call_by_key("s1", "mail", "k1") == calls[1]
        assert r.call_by_key("s2", "shell", "k1") == calls[2]
        assert r.call_by_key("s2", "mail", "k1") is None
    with store.write() as w:
        w.put_call(call("e", host_id="h1", key="k1"))
    with store.read() as r:
        assert (r.call_by_host("s1", "h1"), r.call_by_key("s1", "shell", "k1")) == (
            call("e", host_id="h1", key="k1"),
            call("e", host_id="h1", key="k1"),
        )


def check_an_effect_is_found_in_every_session(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name, owner, effect in (("b", "s1", "x"), ("c", "s2", "y"), ("a", "s2", "x"), ("d", "s1", None)):
            w.put_call(call(name, session=owner, effect_key=effect))
    with store.read() as r:
        assert [row.id for row in r.calls_by_effect("x")] == ["b", "a"]


def check_calls_are_listed_by_state_in_their_order(make: Open) -> None:
    store = make()
    with store.write() as w:
        for name, state in (("c", "running"), ("b", "failed"), ("a", "running"), ("d", "ambiguous")):
            w.put_call(call(name, state=state))
    with store.write() as w:
        w.put_call(call("c", state="running", fence=2))
    with store.read() as r:
        assert [row.id for row in r.calls(states=["running"])] == ["c", "a"]
        assert [row.id for row in r.calls(states=["ambiguous", "running", "running"])] == ["c", "a", "d"]
        assert [row.id for row in r.calls(states=["ambiguous", "running"], limit=2)] == ["c", "a"]
        assert r.call("c") == call("c", state="running", fence=2)


def check_calls_that_may_be_runs_are_found_by_state(make: Open) -> None:
    store = make()
    kinds = {"d": "release", "c": None, "b": "", "a": "release"}
    with store.write() as w:
        for name, workflow in kinds.items():
            w.put_call(call(name, state="running", workflow=workflow))
        w.put_call(call("e", state="failed", workflow="release"))
    with store.read() as r:
        assert [row.id for row in r.calls(states=["running"], runs_only=True)] == ["d", "b", "a"]
        assert [row.id for row in r.calls(states=["running"], runs_only=True, limit=1)] == ["d"]
        assert [row.id for row in r.calls(states=["failed", "pending"], runs_only=True)] == ["e"]
    with store.write() as w:
        assert w.move_call(call("d", state="failed", workflow="release"), states=["running"], fence=0)
    with store.read() as r:
        assert [row.id for row in r.calls(states=["running"], runs_only=True)] == ["b", "a"]


def check_results_of_calls_that_ended_before_a_time_are_forgotten_and_nothing_else(make: Open) -> None:
    store = make()
    kept = [
        call("a", state="succeeded", result=b"new", ended_at=NOON),
        call("b", state="failed", ended_at=NOON - 1),
        call("c", state="running", fence=1, result=b"half"),
        call("d"),
    ]
    old = [call(name, state="succeeded", result=b"", ended_at=NOON - 1) for name in ("e", "f")]
    with store.write() as w:
        for row in (*kept, *old):
            w.put_call(row)
    with store.write() as w:
        assert w.drop_results(before=NOON) == 2
        assert w.drop_results(before=NOON) == 0
    with store.read() as r:
        assert [r.call(row.id) for row in kept] == kept
        assert [r.call(row.id) for row in old] == [replace(row, result=None) for row in old]


def check_a_call_moves_only_from_the_states_and_the_fence_given(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.put_call(call("c1", state="running", fence=2))
        w.put_call(call("c2", state="running", fence=2))
    done = call("c1", state="succeeded", fence=2, result=b"done", ended_at=NOON)
    with store.write() as w:
        assert not w.move_call(done, states=["running"], fence=1)
        assert not w.move_call(done, states=["running"], fence=3)
        assert not w.move_call(done, states=["allowed", "waiting"], fence=2)
        assert not w.move_call(done, states=[], fence=2)
        assert not w.move_call(replace(done, id="unknown"), states=["running"], fence=2)
        assert w.call("c1") == call("c1", state="running", fence=2)
        assert w.move_call(done, states=["allowed", "running"], fence=2)
        assert not w.move_call(done, states=["running"], fence=2)
    with store.read() as r:
        assert r.call("c1") == done
        assert r.call("c2") == call("c2", state="running", fence=2)
        assert r.call("unknown") is None


def check_entries_are_read_in_the_order_of_the_chain(make: Open) -> None:
    store = make()
    for seq in range(1, 13):
        with store.write(durable=False) as w:
            w.add_entry(entry(seq))
            assert w.head("main") == entry(seq)
            if seq <= 2:
                w.add_entry(entry(seq, "another"))
    with store.read() as r:
        assert list(r.entries("main")) == [entry(seq) for seq in range(1, 13)]
        assert list(r.entries("main", after=9)) == [entry(10), entry(11), entry(12)]
        assert list(r.entries("main", after=3, limit=2)) == [entry(4), entry(5)]
        assert list(r.entries("main", after=12)) == []
        assert list(r.filed("main")) == [filed(entry(seq)) for seq in range(1, 13)]
        assert list(r.filed("main", after=3, limit=2)) == [filed(entry(4)), filed(entry(5))]
        assert list(r.filed("main", after=-(2**63))) == list(r.filed("main"))
        assert list(r.filed("another")) == [filed(entry(seq, "another")) for seq in (1, 2)]
        assert (r.head("main"), r.head("another")) == (entry(12), entry(2, "another"))
        assert list(r.streams()) == ["another", "main"]


def check_operations_are_found_by_when_they_were_named_last(make: Open) -> None:
    store = make()
    odd = {"tool": 'x","operations":["fake.name"],"seq":1\0\\', "reason": rows.TEXT}
    said: list[tuple[str, tuple[str, ...]]] = [
        ("DECIDED", ("pruned.away",)),
        ("DECIDED", ("git.push", "files.edit")),
        ("DECIDED", ("git.push",)),
        ("ASKED", ("git.push",)),
        ("GRANTED", ("git.push",)),
        ("DECIDED", ()),
        ("DECIDED", ("größe.東京",)),
    ]
    bodies = [(event, encode(Entry(1, NOON, event, operations=names, details=odd))) for event, names in said]
    garbage = (rows.BYTES, b"", b'"operations":["half', b'"operations":[\xff],"seq":')
    with store.write() as w:
        for seq, (event, body) in enumerate([*bodies, *(("DECIDED", body) for body in garbage)], 1):
            w.add_entry(replace(entry(seq), event=event, body=body))
        w.prune_entries("main", before=2)
        alone = encode(Entry(1, NOON, "DECIDED", operations=("a.b",)))
        w.add_entry(replace(entry(1, "another"), event="DECIDED", body=alone))
    with store.read() as r:
        assert list(r.last_named("main", ["DECIDED", "ASKED"])) == [
            ("files.edit", "DECIDED", NOON + 2),
            ("git.push", "ASKED", NOON + 4),
            ("git.push", "DECIDED", NOON + 3),
            ("größe.東京", "DECIDED", NOON + 7),
        ]
        assert list(r.last_named("main", ["DECIDED"], after=2)) == [
            ("git.push", "DECIDED", NOON + 3),
            ("größe.東京", "DECIDED", NOON + 7),
        ]
        assert list(r.last_named("main", ["DECIDED"], after=11)) == []
        assert list(r.last_named("main", [])) == []
        assert list(r.last_named("another", ["DECIDED"])) == [("a.b", "DECIDED", NOON + 1)]
        assert list(r.last_named("gone", ["DECIDED"])) == []


def check_a_place_in_the_chain_is_taken_once_and_without_gaps(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.add_entry(entry(1))
        w.add_entry(entry(2))
    for seq in (1, 2, 4, 0):
        with pytest.raises(StoreError), store.write() as w:
            w.add_entry(replace(entry(seq), event="FORGED"))
    with pytest.raises(StoreError), store.write() as w:
        w.add_entry(entry(2, "begins too late"))
    with store.read() as r:
        assert list(r.entries("main")) == [entry(1), entry(2)]
        assert list(r.streams()) == ["main"]


def check_pruning_drops_bodies_and_nothing_else(make: Open) -> None:
    store = make()
    with store.write() as w:
        for seq in range(1, 6):
            w.add_entry(entry(seq))
        w.add_entry(entry(1, "another"))
    with store.write() as w:
        assert w.prune_entries("main", before=4) == 3
        assert w.prune_entries("main", before=5) == 1
        assert w.prune_entries("main", before=1) == 0
        assert w.prune_entries("unknown", before=9) == 0
    with store.read() as r:
        pruned = [replace(entry(seq), body=None) for seq in range(1, 5)]
        assert list(r.entries("main")) == [*pruned, entry(5)]
        assert list(r.filed("main")) == [filed(row) for row in (*pruned, entry(5))]
        assert r.head("another") == entry(1, "another")


def check_the_head_is_the_newest_entry_at_every_moment_of_a_transaction(make: Open) -> None:
    store = make()
    with store.write() as w:
        assert w.head("main") is None
        for seq in (1, 2):
            w.add_entry(entry(seq))
            assert w.head("main") == entry(seq)
        assert w.head("another") is None
    with store.write() as w:
        assert w.head("main") == entry(2)
        w.prune_entries("main", before=3)
        assert w.head("main") == replace(entry(2), body=None)
    with store.write() as w:
        assert w.head("main") == replace(entry(2), body=None)


def check_a_transaction_says_which_entry_it_added_last(make: Open) -> None:
    store = make()
    with store.write() as w:
        assert w.added("main") is None
        for seq in (1, 2):
            w.add_entry(entry(seq))
        assert (w.added("main"), w.added("another")) == (entry(2), None)
    with store.write() as w:
        assert (w.head("main"), w.added("main")) == (entry(2), None)


def check_nodes_are_found_by_their_places(make: Open) -> None:
    store = make()
    nodes = [
        NodeRow("main", level, index, bytes([level, index])) for level, index in ((0, 0), (0, 1), (1, 0))
    ]
    with store.write() as w:
        w.add_nodes(nodes)
        w.add_nodes([NodeRow("another", 0, 0, b"x")])
        w.add_nodes([])
    with store.read() as r:
        assert list(r.nodes("main", [(1, 0), (0, 1), (5, 5)])) == [nodes[1], nodes[2]]
        assert list(r.nodes("main", [])) == []
    with pytest.raises(StoreError), store.write() as w:
        w.add_nodes([NodeRow("main", 1, 0, b"other")])
    with store.read() as r:
        assert list(r.nodes("main", [(1, 0)])) == [nodes[2]]


def check_checkpoints_come_newest_first(make: Open) -> None:
    store = make()
    notes = [replace(rows.CHECKPOINT, size=size, note=f"note {size}") for size in (5, 9, 12)]
    with store.write() as w:
        for note in notes:
            w.add_checkpoint(note)
    with store.read() as r:
        assert list(r.checkpoints()) == [notes[2]]
        assert list(r.checkpoints(limit=9)) == notes[::-1]
        assert list(r.checkpoints(limit=2, skip=0)) == [notes[2], notes[1]]
        assert list(r.checkpoints(limit=2, skip=2)) == [notes[0]]
        assert list(r.checkpoints(limit=9, skip=3)) == []


def check_an_erased_secret_is_gone_and_the_others_stay(make: Open) -> None:
    store = make()
    secrets = [SecretRow("main", 1, name, b"salt", name.encode()) for name in ("b", "a")]
    with store.write() as w:
        for row in secrets:
            w.add_secret(row)
        w.add_secret(SecretRow("main", 2, "a", b"salt", b"two"))
    with pytest.raises(StoreError), store.write() as w:
        w.add_secret(SecretRow("main", 1, "a", b"salt", b"again"))
    with store.write() as w:
        assert list(w.secrets("main", 1)) == [secrets[1], secrets[0]]
        assert w.erase_secret("main", 1, "a")
        assert not w.erase_secret("main", 1, "a")
        assert not w.erase_secret("main", 3, "a")
    with store.read() as r:
        assert list(r.secrets("main", 1)) == [secrets[0]]
        assert list(r.secrets("main", 2)) == [SecretRow("main", 2, "a", b"salt", b"two")]


def check_every_row_of_every_kind_can_be_listed(make: Open) -> None:
    store = make()
    with store.read() as r:
        assert _all_rows(r) == []
    with store.write() as w:
        rows.put_everything(w)
        w.put_session(session("ended", ended_at=NOON))
        assert len(_all_rows(w)) == len(rows.EVERYTHING) + 1
    with store.read() as r:
        found = _all_rows(r)
    expected = [MetaRow("epoch", rows.TEXT), session("ended", ended_at=NOON), *rows.EVERYTHING[1:]]
    assert len(found) == len(expected)
    assert [row for row in expected if row not in found] == []


def check_a_long_list_is_whole_and_in_order(make: Open) -> None:
    """More rows than any page holds, of kinds that are ordered by one column and by several."""
    store, many = make(), 2_100
    with store.write() as w:
        w.put_rows(grant(f"g{number * 11 % many}") for number in range(many))
        w.put_rows(entry(seq, stream) for stream in ("b", "a") for seq in range(1, many + 1))
        w.put_rows(NodeRow("main", number % 3, number // 3, b"") for number in range(many))
    with store.read() as r:
        assert [row.id for row in r.every(GrantRow)] == [f"g{number * 11 % many}" for number in range(many)]
        entries = list(r.every(type(entry(1))))
        assert [row.seq for row in entries if row.stream == "a"] == list(range(1, many + 1))
        assert len(entries) == 2 * many
        assert len({(row.level, row.index) for row in r.every(NodeRow)}) == many


def check_rows_that_were_put_are_as_good_as_those_that_were_added(make: Open) -> None:
    store = make()
    with store.write() as w:
        w.put_rows([MetaRow("epoch", rows.TEXT), *_rows(rows.EVERYTHING[1:])])
        assert rows.everything(w) == rows.EVERYTHING
    with store.write() as w:  # and what is added goes on after them
        w.add_spend(replace(rows.SPEND, number=2))
        w.add_entry(entry(2))
        w.add_sending(replace(rows.SENDING, at=NOON + 1))
        w.add_checkpoint(replace(rows.CHECKPOINT, at=NOON + 1))
        w.put_session(session("s1", head=b"new"))
        w.set_meta("epoch", "2")
    with store.read() as r:
        assert [row.at for row in r.every(SendingRow)] == [NOON, NOON + 1]
        assert [row.at for row in r.checkpoints(limit=9)] == [NOON + 1, NOON]
        assert [row.head for row in r.every(SessionRow)] == [b"new"]
        assert [row.value for row in r.every(MetaRow)] == ["2"]


def check_a_row_that_is_stored_already_is_not_put_again(make: Open) -> None:
    store = make()
    with store.write() as w:
        rows.put_everything(w)
    once = [MetaRow("epoch", "other"), *_rows(rows.EVERYTHING[1:])]
    for row in once:
        if row in (rows.SENDING, rows.CHECKPOINT):
            continue  # these have no name: the same again is one more
        with pytest.raises(StoreError), store.write() as w:
            w.put_rows([call("new"), row])
    with store.read() as r:
        assert (rows.everything(r), r.call("new")) == (rows.EVERYTHING, None)


def _all_rows(reader: Reader) -> list[AnyRow]:
    return [row for kind in KINDS for row in reader.every(kind)]


def _rows(found: Sequence[object]) -> list[AnyRow]:
    return [row for row in found if isinstance(row, KINDS)]
