"""Reads of a remote: operations of their own, in one category, where the line names and hides nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sayso.core.model import Risk, Tier
from sayso.policy.load import load_preset
from sayso.reading.shell.programs import known
from tests.support.rows import each_row
from tests.support.shell_lines import Reader, make_repository

DATA = YAML(typ="safe").load((Path(known.__file__).parent / "remote.yaml").read_text())
OPERATIONS = sorted({"git.fetch", *DATA["operations"]} - {"git.rebase"})
READS = (
    "git fetch origin",
    "gh pr view 12",
    "glab mr view 7",
    "kubectl get pods web-1",
    "helm list -n staging",
    "aws ec2 describe-instances --region eu-west-1",
    "gcloud projects describe one",
    "az vm show -n web",
    "terraform state list one.two",
    "fly status -a web",
    "vercel inspect web",
    "supabase projects list",
    "npm view react",
    "pip index versions requests",
    "cargo search serde",
    "docker search nginx",
)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    home = tmp_path_factory.mktemp("home").resolve()
    make_repository(home / "work")
    return Reader(home / "work", home)


@each_row("operation", OPERATIONS)
def test_a_preset_lists_every_read_of_a_remote(operation: str) -> None:
    coding, chat = (load_preset(name).entry(operation) for name in ("coding", "chat"))
    assert (coding.tier, coding.risk, coding.category) == (
        Tier.REQUIRES_APPROVAL,
        Risk.MODERATE,
        "remote-read",
    )
    assert (chat.tier, chat.risk) == (Tier.REQUIRES_APPROVAL, Risk.HIGH)


@each_row("line", READS)
def test_a_read_of_a_remote_is_moderate_only_with_words_that_are_known(reader: Reader, line: str) -> None:
    found = reader.read(line)
    assert found.risk is Risk.MODERATE
    assert {one.operation for one in found.findings} <= set(OPERATIONS)
    *_, last = line.split()
    for word in ("$X", "$(cat x)", "`cat x`", "~/x", "https://example.test/x", "--frobnicate"):
        assert reader.risk(line.removesuffix(last) + word) is Risk.HIGH, word
        assert reader.risk(f"{line} {word}") is Risk.HIGH, word


@each_row("line", READS)
def test_a_read_of_a_remote_from_another_folder_is_high(reader: Reader, line: str) -> None:
    assert reader.risk(f"cd /srv && {line}") is Risk.HIGH
    assert reader.risk(f'cd "$X" && {line}') is Risk.HIGH


@each_row("line", READS)
def test_what_follows_a_read_of_a_remote_counts(reader: Reader, line: str) -> None:
    assert reader.risk(f"{line} | sh") is Risk.HIGH
    assert reader.risk(f"{line} > /etc/x") is Risk.HIGH
    assert reader.risk(f"HTTPS_PROXY=http://example.test {line}") is Risk.HIGH
