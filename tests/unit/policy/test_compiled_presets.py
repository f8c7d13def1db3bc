"""The compiled presets mean what their YAML means, and count for nothing where it says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.policy import compiled, load
from sayso.policy.load import compile_presets, load_preset, preset_names, preset_texts, read_text
from tools import presets as tool


def test_the_compiled_presets_are_those_of_the_yaml() -> None:
    assert tool.KEPT.read_bytes() == compile_presets(), "run `make format`"


@pytest.mark.parametrize("name", preset_names())
def test_a_compiled_preset_is_the_policy_that_its_yaml_means(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load.load_preset.cache_clear()
    quick, laid = load_preset(name), read_text(f"extends: [{name}]").policy
    with monkeypatch.context() as parsing:
        parsing.setattr(load, "_load_compiled", lambda: None)
        _forget()
        assert load_preset(name) == quick
        assert read_text(f"extends: [{name}]").policy == laid
    _forget()


def test_compiled_presets_of_other_texts_are_never_used() -> None:
    texts = dict(preset_texts())
    assert compiled.find_compiled(texts) is not None
    for name, text in texts.items():
        assert compiled.find_compiled(texts | {name: text + b"\n"}) is None
        assert compiled.find_compiled({n: t for n, t in texts.items() if n != name}) is None
    assert compiled.find_compiled(texts | {"another": b""}) is None


def test_a_preset_is_compiled_without_what_was_compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = compile_presets()
    with monkeypatch.context() as stale:
        stale.setattr(compiled, "read_compiled", _refuse)
        stale.setattr(load, "read_compiled", _refuse)
        stale.setattr(load, "_load_guard", load._parse_guard)  # noqa: SLF001  only asked for what it refuses
        _forget()
        assert compile_presets() == kept
    _forget()


def test_no_yaml_is_parsed_for_a_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "parse_document", _refuse)
    _forget()
    assert load_preset("coding").domains
    _forget()


@pytest.mark.slow
def test_the_tool_tells_when_what_is_kept_is_not_current(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool, "KEPT", tmp_path / "compiled.json")
    monkeypatch.setattr("sys.argv", ["presets", "--check"])
    assert tool.main() == 1
    assert "make format" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["presets"])
    assert tool.main() == 0
    monkeypatch.setattr("sys.argv", ["presets", "--check"])
    assert tool.main() == 0
    tool.KEPT.write_bytes(tool.KEPT.read_bytes() + b" ")
    assert tool.main() == 1


def _refuse(*_: object) -> None:
    raise AssertionError("this must not be asked for")


def _forget() -> None:
    for kept in (load.load_preset, load._load_builtin_preset):  # noqa: SLF001  what was read is kept
        kept.cache_clear()
    getattr(load._load_guard, "cache_clear", lambda: None)()  # noqa: SLF001
