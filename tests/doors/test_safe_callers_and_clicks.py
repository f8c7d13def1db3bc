"""Safe callers lower a risk while they are on the stack; a click is the consent for what it started."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from sayso import Sayso, SaysoError
from sayso.doors.python.calls.results import ConsentDenied, ConsentRequired
from tests.support.people import Person, answer_open, events

# --- safe callers ---


def eval_js(gate: Sayso) -> None:
    @gate.requires_consent("notes.eval_js", risk="high")
    def js() -> str:
        return "evaluated"

    @gate.reduces_risk_for("notes.eval_js", "low")
    def briefing() -> str:
        return js()

    @gate.reduces_risk_for("notes.eval_js", "moderate")
    def careful() -> str:
        return js()

    @gate.reduces_risk_for("notes.eval_js", "low")
    def both() -> str:
        return careful()

    @gate.reduces_risk_for("notes.eval_js", "moderate")
    def both_ways() -> str:
        return briefing()

    @gate.reduces_risk_for("notes.eval_js", "low")
    def falls() -> None:
        raise LookupError

    for one in (js, briefing, careful, both, both_ways, falls):
        globals()[one.__name__] = one


def called(name: str) -> str:
    found: str = globals()[name]()
    return found


def test_inside_a_safe_caller_the_operation_passes_and_outside_it_asks(gate: Sayso) -> None:
    eval_js(gate)
    assert called("briefing") == "evaluated"
    with pytest.raises(ConsentRequired) as raised:
        called("js")
    assert raised.value.risk.word == "high"


def test_lowered_to_moderate_it_is_asked_at_that_risk(gate: Sayso) -> None:
    eval_js(gate)
    with pytest.raises(ConsentRequired) as raised:
        called("careful")
    assert raised.value.risk.word == "moderate"


def test_the_innermost_safe_caller_counts(gate: Sayso) -> None:
    eval_js(gate)
    with pytest.raises(ConsentRequired):
        called("both")
    assert called("both_ways") == "evaluated"


def test_a_safe_caller_that_fails_leaves_nothing_behind(gate: Sayso) -> None:
    eval_js(gate)
    with pytest.raises(LookupError):
        called("falls")
    with pytest.raises(ConsentRequired):
        called("js")


def test_a_safe_caller_lowers_only_what_it_names_and_never_what_is_always_asked(gate: Sayso) -> None:
    @gate.requires_consent("tasks.purge", risk="low")
    def purge() -> None: ...

    @gate.requires_consent("mail.send", risk="moderate")
    def send() -> None: ...

    @gate.reduces_risk_for("tasks.purge", "low")
    def safe() -> None:
        with pytest.raises(ConsentRequired):
            send()
        purge()

    with pytest.raises(ConsentRequired):
        safe()
    with pytest.raises(SaysoError):
        gate.reduces_risk_for("mail.send", "high")
    with pytest.raises(SaysoError):
        gate.reduces_risk_for("mail.send", "none")


def test_a_reducer_does_not_raise_a_low_risk(gate: Sayso) -> None:
    @gate.requires_consent("notes.read", risk="low")
    def look() -> None: ...

    @gate.reduces_risk_for("notes.read", "moderate")
    def careful() -> None:
        look()

    with pytest.raises(ConsentRequired) as raised:
        careful()
    assert raised.value.risk.word == "low"


def test_an_async_safe_caller_covers_its_body_and_lists_itself(gate: Sayso) -> None:
    @gate.requires_consent("notes.eval_js", risk="high")
    async def js() -> str:
        return "evaluated"

    @gate.capability()
    @gate.reduces_risk_for("notes.eval_js", "low")
    @gate.requires_consent("tasks.list", risk="low")
    async def briefing() -> str:
        await asyncio.sleep(0)
        return await js()

    with gate.user_initiated("dashboard.briefing"):
        pass
    (caller,) = gate.list_risk_reducers()["notes.eval_js"]
    assert caller.endswith("briefing")
    assert gate.list_risk_reducers() == {"notes.eval_js": {caller: "low"}}
    with pytest.raises(ConsentRequired):
        asyncio.run(briefing())
    answer_open(gate)
    assert asyncio.run(briefing()) == "evaluated"


def test_a_safe_caller_run_by_name_is_safe_too(gate: Sayso, person: Person) -> None:
    @gate.requires_consent("notes.eval_js", risk="high")
    def js() -> str:
        return "evaluated"

    @gate.capability()
    @gate.reduces_risk_for("notes.eval_js", "low")
    @gate.requires_consent("tasks.list", risk="low")
    def briefing() -> str:
        return js()

    person.says("once")
    assert gate.run("briefing").value == "evaluated"
    assert person.asked == ["tasks.list"]


# --- clicks ---


def test_what_the_user_clicked_runs_with_everything_in_it_and_is_told_apart_in_the_audit(gate: Sayso) -> None:
    @gate.requires_consent("mail.send", risk="high")
    def send() -> str:
        return "sent"

    @gate.requires_consent("tasks.create", risk="moderate")
    def create() -> str:
        return send()

    with gate.user_initiated("dashboard.create"):
        with gate.user_initiated("dashboard.again"):
            assert create() == "sent"
        assert send() == "sent"
    assert events(gate).count("USER_INITIATED") == 2
    assert events(gate).count("USER_INITIATED_COVERED") == 3
    with pytest.raises(ConsentRequired):
        send()


def test_a_click_overrides_no_block_and_nothing_that_is_always_asked(gate: Sayso) -> None:
    @gate.requires_consent("tasks.wipe")
    def wipe() -> None: ...

    @gate.requires_consent("tasks.purge")
    def purge() -> None: ...

    with gate.user_initiated("dashboard.wipe"):
        with pytest.raises(ConsentDenied):
            wipe()
        with pytest.raises(ConsentRequired):
            purge()


def test_a_click_that_fails_is_over(gate: Sayso) -> None:
    @gate.requires_consent("mail.send")
    def send() -> None: ...

    with pytest.raises(LookupError), gate.user_initiated("dashboard.create"):
        raise LookupError
    with pytest.raises(ConsentRequired):
        send()


def test_a_click_left_in_another_task_is_closed_there(gate: Sayso) -> None:
    @gate.requires_consent("mail.send")
    async def send() -> None: ...

    @asynccontextmanager
    async def clicked() -> AsyncIterator[None]:
        with gate.user_initiated("dashboard.create"):
            yield

    async def main() -> None:
        scope = clicked()
        await asyncio.create_task(scope.__aenter__())
        await asyncio.create_task(scope.__aexit__(None, None, None))
        with pytest.raises(ConsentRequired):
            await send()

    asyncio.run(main())


def test_an_endpoint_behind_a_button_asks_nobody(gate: Sayso) -> None:
    @gate.requires_consent("tasks.create")
    def create(payload: dict[str, str]) -> str:
        return payload["title"]

    def endpoint(payload: dict[str, str]) -> str:
        with gate.user_initiated("dashboard.user_job_create"):
            return create(payload)

    assert endpoint({"title": "x"}) == "x"
    with pytest.raises(ConsentRequired):
        create({"title": "x"})


def test_approving_all_covers_each_child_under_its_own_name(gate: Sayso) -> None:
    done: list[str] = []

    @gate.requires_consent("mail.send", risk="high")
    def side_effect(child: str) -> None:
        done.append(child)

    for child in ("a", "b"):
        with gate.user_initiated(f"thread.cascade_approve_{child}"):
            side_effect(child)
    assert done == ["a", "b"]
    with gate.gate.store.read() as tx:
        clicks = [row.body or b"" for row in tx.entries("main", limit=1000) if row.event == "USER_INITIATED"]
    named = [f"thread.cascade_approve_{child}".encode() for child in "ab"]
    assert all(name in body for name, body in zip(named, clicks, strict=True))
