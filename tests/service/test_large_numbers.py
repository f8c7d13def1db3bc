"""Over HTTP and a connection, a whole number that a double holds stays the number it is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.programs import say
from tests.support.service import Service as InProcess
from tests.support.service_process import Home, Service

pytestmark = pytest.mark.each_store

LARGE = {"id": 2**53 + 2, "big": 2**60, "more": [10**16, {"deep": 10**21}], "amount": 10.0, "rate": 0.5}
TOLD = (
    '"big":1152921504606846976,"id":9007199254740994,'
    '"more":[10000000000000000,{"deep":1000000000000000000000}]'
)


def test_what_http_tells_of_a_call_and_what_it_lets_run_is_what_was_sent(service: InProcess) -> None:
    call: dict[str, Any] = {"tool": "write_file", "args": {"path": "a.txt", **LARGE}}
    session = service.opened()
    question = service.asked("host", call, session=session)
    assert TOLD in service.get("operator", f"/v1/questions/{question}").text
    service.answer(question, "once")
    allowed = service.post("host", "/v1/calls", {**call, "session": session})
    assert allowed.json()["status"] == "allowed"
    assert TOLD in allowed.text
    assert TOLD in service.get("operator", "/v1/history").text


def test_a_connected_program_gets_the_very_numbers_that_it_passed(home: Home, served: Service) -> None:
    with served.connect(home.token("host")) as gate, served.connect(home.token("operator")) as operator:

        @gate.capability()
        @gate.requires_consent("tasks.create")
        def create(anything: Any, number: int, rate: float) -> list[str]:
            return [repr(anything), repr(number), repr(rate)]

        given = {"anything": [2**60, 10**21], "number": 10**17, "rate": 1e17}
        late = gate.run("create", given, wait=0)
        (question,) = operator.questions()
        assert question["arguments"] == given
        assert type(question["arguments"]["anything"][1]) is int
        say(operator, question["id"], "once")
        result = gate.retry(late.operation_id or "")
        assert result.value == [repr([2**60, 10**21]), repr(10**17), "1e+17"]
