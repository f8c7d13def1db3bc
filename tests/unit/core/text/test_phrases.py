"""How phrases are found."""

from __future__ import annotations

import re

from sayso.core.text.phrases import pattern


def test_of_two_phrases_that_begin_alike_the_longer_one_is_found() -> None:
    for phrases in (("no", "no way"), ("no way", "no")):
        found = re.match(pattern(phrases), "no way")
        assert found is not None
        assert found[0] == "no way"
    found = re.match(pattern(("zz", "zzzz", "zz zz zz")), "zz-zz zz")
    assert found is not None
    assert found[0] == "zz-zz zz"
