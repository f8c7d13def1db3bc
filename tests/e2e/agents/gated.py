"""A user whose coding agent is gated: the real `sayso install` and `sayso serve`, and a person who answers.

The person answers through the API that the page uses, with an operator's token.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import httpx

from tests.e2e.agents.model import PROMPT, Model, ToolCall, serve_model
from tests.e2e.agents.place import PATIENCE, Ended, Place, Program, put_on_path, run_program

POLICY = """\
sayso: 1
domains:
  work: {{autonomous: [{autonomous}], requires_approval: [{requires_approval}], blocked: [{blocked}]}}
tools:
  - {{tool: "*", operation: work.run}}
"""
TIERS = ("autonomous", "requires_approval", "blocked")


class Gated:
    """One user, one agent, and a policy that puts every call of the agent into one tier."""

    def __init__(self, program: Program, place: Place, tier: str) -> None:
        self.program, self.place = program, place
        self.settings = place.config / "sayso"
        self.settings.mkdir(mode=0o700)
        self.policy = self.settings / "policy.yaml"
        lists = {name: "run" if name == tier else "" for name in TIERS}
        self.policy.write_text(POLICY.format(**lists), encoding="utf-8")

    def allow_tools(self, *tools: str) -> None:
        """Let the policy allow these tools, whatever it says of the rest."""
        domain, _, rest = self.policy.read_text(encoding="utf-8").partition("tools:\n")
        more = "  helpers: {autonomous: [run], requires_approval: [], blocked: []}\n"
        entries = "".join(f"  - {{tool: {tool}, operation: helpers.run}}\n" for tool in tools)
        self.policy.write_text(f"{domain}{more}tools:\n{entries}{rest}", encoding="utf-8")

    def start_sayso(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "sayso", *arguments],
            cwd=self.place.work, env=self.place.environment(), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def try_sayso(self, *arguments: str) -> Ended:
        """Run a command of Sayso as this user, to its end."""
        with self.start_sayso(*arguments) as command:
            out, err = command.communicate(timeout=PATIENCE)
        return Ended(command.returncode, out, err)

    def sayso(self, *arguments: str) -> str:
        """Run a command of Sayso that must succeed; return what it printed."""
        ended = self.try_sayso(*arguments)
        assert ended.code == 0, ended
        return ended.out

    def install(self, *more: str) -> str:
        return self.sayso("install", self.program.name, "--yes", *more)

    @contextmanager
    def serving(self, answer: str | None = None) -> Iterator[Serving]:
        """Run the service, with a person who looks at every question, and may answer it."""
        token = json.loads(self.sayso("token", "new", "operator", "ana", "--json"))["token"]
        with self.start_sayso("serve", "--port", "0") as service:
            assert service.stdout is not None
            line = service.stdout.readline()
            found = re.match(r"Sayso serves on (http://\S+)", line)
            try:
                assert found is not None, line
                with Serving(service, found[1], token).watching(answer) as serving:
                    yield serving
            finally:
                service.kill()

    @contextmanager
    def scripted(self, *more: str, script: dict[str, list[ToolCall]] | None = None) -> Iterator[Model]:
        """A model that asks for the command which writes the file; the agent is set up and has the hook."""
        asked = script or {PROMPT: [self.program.shell_call(self.place.writing)]}
        with serve_model(self.program.api, asked) as model:
            self.program.configure(self.place, model.url)
            put_on_path(self.program, self.place)
            self.install(*more)
            self.program.accept_hooks(self.place)
            yield model

    def run(self, model: Model, prompt: str = PROMPT) -> Model:
        """Run the agent to its end; a result of the call must have come back to the model."""
        ended = run_program(self.program, self.place, model, prompt)
        assert model.results(), ended
        return model


class Serving:
    """The service, and somebody at its page who answers every question the same way."""

    def __init__(self, service: subprocess.Popen[str], url: str, token: str) -> None:
        self.service = service
        self.http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE)
        self.questions: dict[str, dict[str, Any]] = {}

    def get(self, path: str) -> Any:
        response = self.http.get(path)
        response.raise_for_status()
        return response.json()

    @contextmanager
    def watching(self, answer: str | None) -> Iterator[Self]:
        """Look at each question as it comes, and answer it if there is an answer, until the service ends."""
        thread = threading.Thread(target=self._watch, args=(answer,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.service.kill()
            thread.join(PATIENCE)
            self.http.close()

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """Let the service hang, as on a machine that swaps: it accepts connections and answers nobody."""
        self.service.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.service.send_signal(signal.SIGCONT)

    def _watch(self, answer: str | None) -> None:
        with suppress(httpx.TransportError), self.http.stream("GET", "/v1/events") as events:
            for line in events.iter_lines():
                if line.startswith("event:"):
                    self._look(answer)

    def _look(self, answer: str | None) -> None:
        for question in self.get("/v1/questions"):
            self.questions[question["id"]] = question
            if answer is not None:
                said = {"answer": answer, "digest": question["digest"]}
                self.http.post(f"/v1/questions/{question['id']}/answer", json=said).raise_for_status()


def find_hook(file: Path) -> int | None:
    """Return the id of a hook that runs now and reads this file."""
    return _find_process(
        lambda words: str(file) in words and any(word.endswith("/hook.py") for word in words[:4])
    )


def find_service(place: Place) -> int | None:
    """Return the id of a service that runs now on a socket of this user."""
    return _find_process(lambda words: "serve" in words and any(str(place.runtime) in word for word in words))


def _find_process(is_wanted: Callable[[list[str]], bool]) -> int | None:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            if is_wanted(words):
                return int(folder.name)
    return None
