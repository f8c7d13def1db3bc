"""`python -m bench [--json]`: measure everything, print the table, say what is met and what is missed.

`python -m bench --scale` measures what one machine carries instead, and draws it (`bench/series.py`).
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.metadata import version

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench.against import BEFORE, service_against_before
from bench.approvals import calls_after_many_approvals
from bench.audit import verify_against_hashing
from bench.chart import draw_charts, scale_table
from bench.counts import Count, count_everything
from bench.decide import LARGE, SMALL, decide_against_peers, decide_with_larger_policy
from bench.decorated import decorated_calls
from bench.durable import DURABLE_PEERS, allow_against_commit, allow_against_peers
from bench.figures import figures_of_long_trails
from bench.gateway import gateway_against_direct_call
from bench.hook import hook_against_bare_python
from bench.measure import Row, Watch
from bench.peers import PEERS
from bench.postgres import a_server, find_missing_packages
from bench.questions import many_questions_against_few
from bench.replay import replay_of_a_year
from bench.series import SMALL as SMALL_PLAN
from bench.series import Plan, run_series
from bench.service import many_questions_over_http, many_waiting_connections
from bench.services import services_on_postgres
from bench.shell import shell_against_bare_parse
from bench.startup import commands_against_bare_python
from bench.threads import threads_on_sqlite
from bench.world import MIX, REQUESTS, check, make_world
from tools.scale_page import save_measured

BENCHMARKS: tuple[Callable[[Watch], list[Row]], ...] = (
    decide_against_peers,
    decide_with_larger_policy,
    allow_against_commit,
    allow_against_peers,
    verify_against_hashing,
    figures_of_long_trails,
    replay_of_a_year,
    many_questions_against_few,
    decorated_calls,
    calls_after_many_approvals,
    threads_on_sqlite,
    many_questions_over_http,
    many_waiting_connections,
    services_on_postgres,
    service_against_before,
    commands_against_bare_python,
    shell_against_bare_parse,
    hook_against_bare_python,
    gateway_against_direct_call,
)
"""A further measurement is a further function here; it returns its rows of the table."""

EVERY_PEER = (*PEERS, *DURABLE_PEERS)

out = Console()
err = Console(stderr=True)


def main() -> int:
    """0 when everything was measured, met or missed; 1 when a peer or the PostgreSQL server is missing."""
    options = _parse_options()
    if options.scale:
        return _run_scale(options)
    if not (_peers_are_there() & _postgres_is_there()):
        return 1
    if not os.environ.get(BEFORE):
        err.print(f"{BEFORE} names no checkout, so the service is not measured against its code of before")
    for domains in (SMALL, LARGE):
        check(make_world(domains))
    machine = _machine()
    began = time.perf_counter()
    counts, rows = count_everything(), _measure()
    if options.json:
        sys.stdout.write(_json(machine, rows, counts))
    else:
        _show(machine, rows, counts, time.perf_counter() - began)
    return 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure us against our peers.")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    scale = parser.add_argument_group("what one machine carries")
    scale.add_argument(
        "--scale", action="store_true", help="measure agents, services and history instead of the peers"
    )
    scale.add_argument("--small", action="store_true", help="a short series, to see that everything works")
    scale.add_argument("--seconds", type=float, metavar="N", help="how long each measurement takes")
    scale.add_argument("--history", metavar="N,N", help="lengths of the history, instead of 0,100000,1000000")
    scale.add_argument(
        "--postgres", metavar="ADDRESS", help="measure on this server instead of one of our own"
    )
    scale.add_argument("--save", action="store_true", help="put the figures and the chart into docs/scale.md")
    return parser.parse_args()


def _run_scale(options: argparse.Namespace) -> int:
    if not _postgres_is_there(own=options.postgres is None):
        return 1
    plan = SMALL_PLAN if options.small else Plan()
    if options.seconds:
        plan = msgspec.structs.replace(plan, seconds=options.seconds)
    if options.history:
        lengths = tuple(int(length) for length in options.history.split(","))
        plan = msgspec.structs.replace(plan, history=lengths)
    server = nullcontext(options.postgres) if options.postgres else a_server()
    with server as address, _progress(every=True) as watch:
        measured = run_series(plan, address, watch)
    if options.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(measured), indent=2).decode() + "\n")
    else:
        out.print(scale_table(measured))
        out.print("\n".join(draw_charts(measured)), highlight=False, soft_wrap=True)
        machine = ", ".join(f"{name} {value}" for name, value in measured.machine.items())
        out.print(f"{measured.date}, {machine}", style="dim", highlight=False)
    if options.save:
        save_measured(measured)
    return 0


def _postgres_is_there(*, own: bool = True) -> bool:
    """Whether there is a PostgreSQL to measure on; if not, say so loudly."""
    missing = find_missing_packages(own=own)
    for name in missing:
        err.print(
            f"MISSING: {name} is not installed, and without it PostgreSQL cannot be measured",
            style="bold red",
        )
    if missing:
        err.print("To install it and measure: make bench", style="bold")
    return not missing


def _peers_are_there() -> bool:
    """Say which peer this Python cannot have, and loudly which one is missing."""
    for name in dict.fromkeys(peer.package for peer in EVERY_PEER if not peer.possible):
        err.print(f"{name} has no build for this Python and is not measured", style="bold yellow")
    missing = dict.fromkeys(peer.package for peer in EVERY_PEER if peer.possible and not peer.installed)
    for name in missing:
        err.print(f"MISSING: {name} is not installed, and without it nothing is measured", style="bold red")
    if missing:
        err.print("To install the peers and measure: make bench", style="bold")
    return not missing


def _measure() -> list[Row]:
    """The rows of all benchmarks."""
    with _progress() as watch:
        return [row for benchmark in BENCHMARKS for row in benchmark(watch)]


@contextmanager
def _progress(*, every: bool = False) -> Iterator[Watch]:
    """A bar for people who watch, and lines for logs: one for each thing measured, or for every step."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        bar = progress.add_task("")

        def watch(what: str, done: int, of: int) -> None:
            progress.update(bar, description=f"measuring {what}", completed=done, total=of)
            if (every or done == 1) and not err.is_terminal:
                err.print(f"measuring {what}")

        yield watch


def _machine() -> dict[str, str]:
    """What one must know to read the figures; with more load than processors they are low, on both sides."""
    peers = dict.fromkeys(peer.package for peer in EVERY_PEER if peer.possible)
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "processors": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown",
        "peers": ", ".join(f"{name} {version(name)}" for name in peers),
    }


def _show(machine: dict[str, str], rows: list[Row], counts: list[Count], seconds: float) -> None:
    out.print(_mix_table())
    out.print(_row_table(rows))
    out.print(_count_table(counts))
    out.print(", ".join(f"{name} {value}" for name, value in machine.items()), style="dim", highlight=False)
    aims = [(f"{row.what} against {row.against}", row.met) for row in rows if row.met is not None]
    aims += [(one.what, one.met) for one in counts if one.met is not None]
    missed = [what for what, met in aims if not met]
    said = f"{len(aims) - len(missed)} of {len(aims)} aims met, in {seconds:.0f} s."
    if missed:
        said += f" Missed: {'; '.join(missed)}."
    out.print(said, style="bold", highlight=False)


def _mix_table() -> Table:
    totals: Counter[str] = Counter()
    for case in MIX:
        totals[case.verdict.value] += case.percent
    shares = ", ".join(f"{percent} % {verdict}" for verdict, percent in totals.items())
    title = f"{REQUESTS:,} requests: {shares}"
    table = Table("share", "verdict", "rule", "case", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), title=title)
    for case in MIX:
        table.add_row(f"{case.percent} %", case.verdict.value, case.rule, case.what)
    return table


def _row_table(rows: list[Row]) -> Table:
    headings = ("what", "against", "ours", "theirs", "ratio", "aim", "")
    table = Table(*headings, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), title="measured in this run")
    for row in rows:
        ours, theirs = (_figure(row, side) for side in (0, 1))
        table.add_row(row.what, row.against, ours, theirs, f"{row.ratio:.2f}×", row.aim, _verdict(row.met))
    return table


def _count_table(counts: list[Count]) -> Table:
    headings = ("what", "counted", "aim", "")
    table = Table(*headings, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), title="counted in this run")
    for one in counts:
        table.add_row(one.what, one.figure, one.aim, _verdict(one.met))
    return table


def _verdict(met: bool | None) -> str:
    return "" if met is None else "[green]met" if met else "[bold red]MISSED"


def _figure(row: Row, side: int) -> str:
    value = (row.ours, row.theirs)[side]
    digits = f"{value:,.0f}" if value >= 20 else f"{value:.2f}"
    return f"{digits}{row.unit} ±{row.spread[side] / 2:.0%}"


def _json(machine: dict[str, str], rows: list[Row], counts: list[Count]) -> str:
    mix = [
        {"percent": case.percent, "verdict": case.verdict.value, "rule": case.rule, "case": case.what}
        for case in MIX
    ]
    document = {"machine": machine, "requests": REQUESTS, "mix": mix, "rows": rows, "counts": counts}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


if __name__ == "__main__":
    sys.exit(main())
