"""`make mutants`: plant every mutant of core, one process each, and tell which ones no test noticed.

What was caught stays caught until its file changes (the results are kept in mutants/); survivors are tried
again each time. A survivor that alters nothing stands in explained.yaml with the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ruamel.yaml import YAML

from tests.mutation.checks import TRAIL, Cases, caught_by, keep_vectors, ready
from tests.mutation.operators import Mutant, mutants
from tests.mutation.planting import plant

ROOT = Path(__file__).parents[2]
CORE = ROOT / "src/sayso/core"
RESULTS = ROOT / "mutants/results.jsonl"
EXPLAINED = Path(__file__).parent / "explained.yaml"
WHOLE = (
    "deciding.rules",
    "deciding.subject",
    "deciding.decide",
    "grants",
    "deciding.offers",
    "deciding.questions",
    "conversation.replies.answers",
    "conversation.replies.asked",
    "conversation.replies.naming",
    "conversation.replies.plans",
    "conversation.hear",
    "conversation.hearing",
    "conversation.consents",
    "conversation.lifecycle",
    "conversation.clearing",
    "session.state",
    "session.applying",
    "policy",
    "digest",
    "model",
    "decision",
    "ledger",
)
SAMPLED = {
    **dict.fromkeys(
        (
            "conversation.message",
            "conversation.standing_consent",
            "conversation.assent",
            "plans.plan",
            "plans.reading",
            "plans.promised_names",
            "session.plan_text",
            "plans.markup",
            "plans.edit",
            "plans.pieces",
            "plans.clause_senses",
            "plans.narrow",
            "plans.names",
            "text.unmask",
            "text.phrases",
            "text.look_alikes",
        ),
        12,
    ),
    **dict.fromkeys(TRAIL, 10),
}
"""Of these files every so manyth mutant is tried."""
SECONDS = 60
"""Of the processor, so that a busy machine alters nothing."""
MEMORY = 4 * 1024**3


class Result(NamedTuple):
    """How one mutant fared: `caught` is the check that noticed, or nothing."""

    key: str
    source: str
    caught: str | None


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    known = {} if options.fresh else _known()
    explained: dict[str, str] = YAML(typ="safe").load(EXPLAINED) or {}
    keep_vectors()
    cases = ready()
    modules = options.module or [*WHOLE, *SAMPLED]
    left = [_run(module, cases, known, explained, options) for module in modules]
    return 1 if any(left) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--module", action="append", choices=[*WHOLE, *SAMPLED], help="only this file")
    parser.add_argument("--only", default="", help="only mutants with this text in their name")
    parser.add_argument("--thorough", action="store_true", help="try the slow properties, too")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    return parser.parse_args(arguments)


def _run(
    module: str,
    cases: Cases,
    known: dict[tuple[str, str], Result],
    explained: dict[str, str],
    options: argparse.Namespace,
) -> int:
    """Try one file's mutants and tell the score; returns how many survivors nobody has explained."""
    chosen, total = _chosen(module)
    source = hashlib.sha256((CORE / f"{module.replace('.', '/')}.py").read_bytes()).hexdigest()[:12]
    wanted = [mutant for mutant in chosen if options.only in mutant.key]
    new = [mutant for mutant in wanted if (mutant.key, source) not in known]
    results = [known[mutant.key, source] for mutant in wanted if (mutant.key, source) in known]
    started = time.monotonic()
    if new:
        _sound(module, cases, options.thorough)
    for result in _tried(new, cases, source, options):
        results.append(result)
        _progress(module, len(results), len(wanted), sum(one.caught is None for one in results))
    return _tell(module, results, total, explained, time.monotonic() - started)


def _sound(module: str, cases: Cases, thorough: bool) -> None:
    """Without a mutant every check must pass, or each mutant would seem to be caught."""
    started = [_forked(partial(caught_by, module, made, thorough)) for made in (None, cases)]
    for pid, pipe in started:
        caught = _read(pipe, os.waitpid(pid, 0)[1])
        if caught is not None:
            sys.exit(f"{module}: the checks fail without a mutant: {caught}")


def _chosen(module: str) -> tuple[list[Mutant], int]:
    """All mutants of a file, or a sample of them that is always the same one."""
    every = list(mutants(module, (CORE / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")))
    if module not in SAMPLED:
        return every, len(every)
    chosen = set(random.Random(module).sample(range(len(every)), -(-len(every) // SAMPLED[module])))
    return [mutant for at, mutant in enumerate(every) if at in chosen], len(every)


def _tried(new: Iterable[Mutant], cases: Cases, source: str, options: argparse.Namespace) -> Iterator[Result]:
    """Each mutant in a process of its own, so many at a time; results as they come, and kept."""
    RESULTS.parent.mkdir(exist_ok=True)
    waiting, running = iter(new), dict[int, tuple[Mutant, int]]()
    with RESULTS.open("a", encoding="utf-8") as kept:
        while True:
            while len(running) < options.jobs and (mutant := next(waiting, None)) is not None:
                pid, pipe = _forked(partial(_judged, mutant, cases, options.thorough))
                running[pid] = mutant, pipe
            if not running:
                return
            pid, status = os.wait()
            mutant, pipe = running.pop(pid)
            result = Result(mutant.key, source, _read(pipe, status))
            kept.write(json.dumps(result) + "\n")
            kept.flush()
            yield result


def _judged(mutant: Mutant, cases: Cases, thorough: bool) -> str | None:
    anew = plant(mutant)
    return caught_by(mutant.module, None if anew else cases, thorough)


def _forked(work: Callable[[], str | None]) -> tuple[int, int]:
    """Start the work in a child; it writes what caught the mutant, and nothing if nothing did."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        _confine()
        caught = work()
    except BaseException as error:  # noqa: BLE001 - whatever a mutant raises, it was noticed
        caught = f"{type(error).__name__}: {error}"
    os.write(writing, (caught or "").encode()[:300])
    os._exit(0 if caught is None else 1)


def _confine() -> None:
    """Quiet, and at an end some time whatever the mutant does."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))


def _read(pipe: int, status: int) -> str | None:
    with os.fdopen(pipe, encoding="utf-8", errors="replace") as text:
        said = text.read()
    if os.WIFSIGNALED(status):
        return "it does not end" if os.WTERMSIG(status) == signal.SIGXCPU else "the process died"
    return None if os.WEXITSTATUS(status) == 0 else said


def _known() -> dict[tuple[str, str], Result]:
    """What earlier runs caught, by mutant and content of its file."""
    if not RESULTS.exists():
        return {}
    results = (Result(*json.loads(line)) for line in RESULTS.read_text(encoding="utf-8").splitlines())
    return {(one.key, one.source): one for one in results if one.caught is not None}


def _progress(module: str, done: int, total: int, survived: int) -> None:
    if sys.stdout.isatty():
        _say(f"\r{module}: {done}/{total}, {survived} survived ", end="")
    elif done % 50 == 0:
        _say(f"{module}: {done}/{total}, {survived} survived")


def _tell(module: str, results: list[Result], total: int, explained: dict[str, str], took: float) -> int:
    survivors = [result.key for result in results if result.caught is None]
    unexplained = [key for key in survivors if key not in explained]
    sample = f" (a sample of {total})" if len(results) < total else ""
    score = f"{len(results) - len(survivors)} of {len(results)}{sample} caught"
    _say(f"\r{module}: {score}; survivors explained: {len(survivors) - len(unexplained)}; {took:.0f} s")
    for key in unexplained:
        _say(f"  survived: {key}")
    return len(unexplained)


def _say(text: str, end: str = "\n") -> None:
    sys.stdout.write(text + end)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
