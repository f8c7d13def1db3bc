"""What a store promises of calls: how they are found, and from where they may move."""

from __future__ import annotations

from msgspec.structs import replace

from tests.contract.rows import NOON, call, question
from tests.support.places import Open


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
        assert [row.id for row in r.calls(states=["failed"])] == ["b"]
        assert [row.id for row in r.calls(states=["running", "failed"])] == ["c", "b", "a"]
        assert r.call("c") == call("c", state="running", fence=2)


def check_what_the_calls_of_a_session_hold_is_counted_until_they_are_over(make: Open) -> None:
    store = make()
    kinds = (("a", "s1", "running"), ("b", "s1", "pending"), ("c", "s1", "failed"), ("d", "s2", "running"))
    with store.write() as w:
        for number, (name, owner, state) in enumerate(kinds):
            w.put_call(call(name, session=owner, state=state, body=b"x" * 10**number))
    with store.read() as r:
        assert r.bytes_of_calls("s1") == 11
        assert r.bytes_of_calls("s2") == 1_000
        assert r.bytes_of_calls("s3") == 0


def check_a_pending_call_whose_question_is_closed_holds_nothing(make: Open) -> None:
    store = make()
    kinds = (("a", "open", "pending"), ("b", "answered", "pending"), ("c", "answered", "running"))
    with store.write() as w:
        for number, (name, stands, state) in enumerate(kinds):
            w.add_question(question(f"q{name}", state=stands))
            w.put_call(call(name, session="s1", state=state, body=b"x" * 10**number, question=f"q{name}"))
    with store.read() as r:
        assert r.bytes_of_calls("s1") == 101


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
    states = (("e", "succeeded"), ("f", "succeeded"), ("g", "failed"), ("h", "ambiguous"))
    old = [call(name, state=state, result=b"", ended_at=NOON - 1) for name, state in states]
    with store.write() as w:
        for row in (*kept, *old):
            w.put_call(row)
    with store.write() as w:
        assert w.drop_results(before=NOON) == len(old)
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
