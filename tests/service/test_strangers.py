"""Connections without a token: only so many and only for so long, and a new one always has its say."""

from __future__ import annotations

from sayso.service.http.connections import Strangers
from sayso.service.http.state import ServiceSettings
from sayso.service.serve import fit_to_file_limit
from tests.support.gates import Clock


class Caller:
    """A connection that remembers whether it was closed."""

    def __init__(self) -> None:
        self.out = False

    def show_out(self) -> None:
        self.out = True


def came(strangers: Strangers, count: int) -> list[Caller]:
    callers = [Caller() for _ in range(count)]
    for caller in callers:
        strangers.come(caller)
    return callers


def test_the_one_that_was_silent_longest_makes_room_for_a_new_one() -> None:
    strangers = Strangers(3, 30.0, Clock())
    first, second, third = came(strangers, 3)
    strangers.hear(first)
    (fourth,) = came(strangers, 1)
    assert [one.out for one in (first, second, third, fourth)] == [False, True, False, False]
    assert len(strangers) == 3


def test_if_all_have_spoken_the_oldest_goes_and_never_the_newest() -> None:
    strangers = Strangers(2, 30.0, Clock())
    first, second = came(strangers, 2)
    strangers.hear(second)
    strangers.hear(first)
    (third,) = came(strangers, 1)
    assert [one.out for one in (second, first, third)] == [True, False, False]


def test_whoever_has_shown_a_token_is_not_closed_however_many_come() -> None:
    strangers = Strangers(2, 30.0, Clock())
    (known,) = came(strangers, 1)
    strangers.hear(known)
    strangers.forget(known)
    came(strangers, 100)
    assert not known.out
    strangers.come(known)
    assert not known.out, "and once it was answered, it is the newest"


def test_a_stranger_is_closed_after_its_time_and_a_letter_now_and_then_does_not_prolong_it() -> None:
    clock = Clock()
    strangers = Strangers(9, 30.0, clock)
    silent, slow, answered = came(strangers, 3)
    for _ in range(3):
        clock.now += 10
        strangers.hear(slow)
        strangers.forget(answered)
        strangers.come(answered)
    strangers.sweep()
    assert [one.out for one in (silent, slow, answered)] == [True, True, False]


def test_strangers_and_waits_never_take_all_files_of_the_process() -> None:
    few = fit_to_file_limit(ServiceSettings(), 256)
    assert few.strangers + few.all_waits < 256
    many = fit_to_file_limit(ServiceSettings(), 1_000_000)
    assert (many.strangers, many.all_waits) == (ServiceSettings().strangers, ServiceSettings().all_waits)
