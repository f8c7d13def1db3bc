"""The file of the surfaces: what opens a surface to anybody, or shows a secret later, is never written."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.surfaces.remote.exchange import SendingFailed, post
from sayso.surfaces.remote.settings_file import SurfacesRefused, add_surface, load_surface_settings

SLACK = {"name": "work", "token": "xoxb-1", "signing_secret": "0123456789abcdef", "channel": "C1"}


@pytest.mark.parametrize("key", ["token", "signing_secret", "channel"])
@pytest.mark.parametrize("wrong", ["", "hush-hush\r", " hush-hush", "hush\nhush"])
def test_an_empty_or_broken_value_is_refused_and_not_shown(tmp_path: Path, key: str, wrong: str) -> None:
    file = tmp_path / "surfaces.json"
    with pytest.raises(SurfacesRefused, match=key) as refused:
        add_surface("slack", {**SLACK, key: wrong}, file)
    assert "hush" not in str(refused.value)
    assert load_surface_settings(file) == ()


def test_what_cannot_be_sent_is_not_repeated() -> None:
    with pytest.raises(SendingFailed) as failed:
        post("http://127.0.0.1:1/", b"", {"authorization": "Bearer hush\r"}, timeout=1.0)
    assert "hush" not in str(failed.value)
