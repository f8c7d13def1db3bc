"""The world that `make bench` measures in is decided as it claims."""

from __future__ import annotations

import pytest

from bench.decide import LARGE, SMALL
from bench.world import check, make_world


@pytest.mark.parametrize("domains", [SMALL, LARGE])
def test_every_case_of_the_benchmarks_is_decided_by_the_rule_that_it_names(domains: int) -> None:
    check(make_world(domains))
