"""The first steps of a newcomer, in the order of the docs: none of them ends in an error or a broken line."""

from __future__ import annotations

import pytest

from tests.e2e.operator_place import Place
from tests.support.postgres_place import new_url

pytestmark = pytest.mark.cold


@pytest.mark.parametrize("where", ["file", "database"])
def test_a_store_that_was_just_made_takes_the_first_act_of_its_operator(
    place: Place, request: pytest.FixtureRequest, where: str
) -> None:
    chosen: tuple[str, ...] = ()
    if where == "database":
        chosen = ("--store", new_url(request.getfixturevalue("postgres_server")))
    made = place.sayso("store", "init", *chosen)
    assert made.returncode == 0, made.stderr
    token = place.sayso("token", "new", "host", "app", *chosen)
    assert token.returncode == 0, token.stderr
    assert "sayso_host_" in token.stdout
    stopped = place.sayso("stop", "--all", *chosen)
    assert stopped.returncode == 0, stopped.stderr
    verified = place.sayso("audit", "verify", *chosen)
    assert verified.returncode == 0, verified.stdout
    assert "Verified: nothing in it was changed." in verified.stdout


def test_where_the_first_policy_was_written_is_told_in_lines_of_80_columns(place: Place) -> None:
    deep = place.home / ("a" * 30) / ("b" * 30)
    place.environment |= {"XDG_CONFIG_HOME": str(deep), "COLUMNS": "80"}
    told = place.sayso("init").stdout.splitlines()
    assert [line for line in told if len(line) > 80 and str(deep) not in line] == []
    assert any(line.strip() == "extending preset balanced." or line.endswith(" balanced.") for line in told)
    assert str(deep / "sayso" / "policy.yaml") in "\n".join(told), "a path stays whole, to be copied"
