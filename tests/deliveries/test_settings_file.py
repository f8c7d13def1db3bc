"""The file of the surfaces: what opens a surface to anybody, or shows a secret later, is never written."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from sayso.cli.commands.surfaces import add_one, app
from sayso.surfaces.remote.exchange import SendingFailed, post
from sayso.surfaces.remote.mail import MailSettings
from sayso.surfaces.remote.settings_file import KINDS, SurfacesRefused, add_surface, load_surface_settings

SLACK = {"name": "work", "token": "xoxb-1", "signing_secret": "0123456789abcdef", "channel": "C1"}


@pytest.mark.parametrize("key", ["token", "signing_secret", "channel"])
@pytest.mark.parametrize("wrong", ["", "hush-hush\r", " hush-hush", "hush\nhush"])
def test_an_empty_or_broken_value_is_refused_and_not_shown(tmp_path: Path, key: str, wrong: str) -> None:
    file = tmp_path / "surfaces.json"
    with pytest.raises(SurfacesRefused, match=key) as refused:
        add_surface("slack", {**SLACK, key: wrong}, file)
    assert "hush" not in str(refused.value)
    assert load_surface_settings(file) == ()


def test_nobody_gets_a_secret_to_answer_as_somebody_else(tmp_path: Path) -> None:
    file = tmp_path / "surfaces.json"
    vault = {"name": "vault", "secret": f"whsec_{'QUJD' * 10}", "approvers": ["ana"]}
    with pytest.raises(SurfacesRefused, match="could answer as any of its approvers"):
        add_surface("obsidian", {**vault, "approvers": ["ana", "bo"]}, file)
    add_surface("obsidian", vault, file)
    with pytest.raises(SurfacesRefused, match="another surface has the same secret"):
        add_surface("obsidian", {**vault, "name": "of-bo", "approvers": ["bo"]}, file)
    with pytest.raises(SurfacesRefused, match="another surface has the same secret"):
        add_surface("webhook", {**vault, "name": "hook", "url": "http://127.0.0.1:1/"}, file)
    assert len(load_surface_settings(file)) == 1


BOT = {"name": "work", "token": "1:a", "chat": "1", "approvers": ["1"]}


@pytest.mark.parametrize(("kind", "first"), [("telegram", BOT), ("slack", SLACK)])
def test_no_two_surfaces_have_one_bot_which_would_take_the_answers_of_the_other(
    tmp_path: Path, kind: str, first: dict[str, object]
) -> None:
    """Telegram gives an answer to whoever asks for it first, and an app of Slack has one address for them."""
    file = tmp_path / "surfaces.json"
    add_surface(kind, first, file)
    with pytest.raises(SurfacesRefused, match="home: work has the same"):
        add_surface(kind, {**first, "name": "home", "chat" if kind == "telegram" else "channel": "2"}, file)
    assert [one.name for one in load_surface_settings(file)] == ["work"]


def test_what_cannot_be_sent_is_not_repeated() -> None:
    with pytest.raises(SendingFailed) as failed:
        post("http://127.0.0.1:1/", b"", {"authorization": "Bearer hush\r"}, timeout=1.0)
    assert "hush" not in str(failed.value)


def test_a_secret_that_is_left_open_is_asked_for_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    values = ["host=h", "sender=a@b.c", "to=d@e.f", "user=me", "password="]
    added = CliRunner().invoke(app, ["add", "mail", "post", *values], input="hush-hush\n")
    assert added.exit_code == 0, added.output
    listed = CliRunner().invoke(app, ["list"])
    assert "password=…" in listed.output
    assert "hush" not in added.output + listed.output
    (kept,) = load_surface_settings()
    assert isinstance(kept, MailSettings)
    assert kept.password == "hush-hush"


@pytest.mark.parametrize("kind", KINDS)
def test_the_help_names_all_that_a_kind_needs(kind: str) -> None:
    (line,) = (one for one in (add_one.__doc__ or "").splitlines() if one.split()[:1] == [kind])
    for field in msgspec.structs.fields(KINDS[kind]):
        if (field.required and field.name != "name") or field.name in ("approvers", "answers"):
            assert field.name in line
