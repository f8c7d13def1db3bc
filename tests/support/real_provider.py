"""A certified provider of OpenID Connect from npm (tools/provider), as a process on this machine."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.repository import ROOT

TOOLS = ROOT / ".venv" / "provider"
NODE = ROOT / ".venv" / "bin" / "node"
CLIENT, SECRET = "sayso", "client secret"


class RealProvider:
    """The process. It serves once it is told of its client and accounts."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.issuer = self._told("issuer")

    def serve(self, *redirects: str, accounts: Mapping[str, Mapping[str, Any]]) -> None:
        client = {"client_id": CLIENT, "client_secret": SECRET, "redirect_uris": redirects}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"client": client, "accounts": accounts}) + "\n")
        self._process.stdin.flush()
        self._told("ready")

    def _told(self, about: str) -> str:
        """What our script tells about this. The provider itself also writes there, as it pleases."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(f"{about} "):
                return line.removeprefix(f"{about} ").strip()
        raise AssertionError(f"the provider ended before it told its {about}")


@contextmanager
def real_provider() -> Iterator[RealProvider]:
    library = TOOLS / "node_modules" / "oidc-provider" / "lib" / "index.js"
    if not library.is_file():
        told = "the provider is not installed: make .venv/.provider"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(told)
    command = [str(NODE), str(ROOT / "tools" / "provider" / "serve.mjs"), str(library)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield RealProvider(process)
        finally:
            process.kill()
