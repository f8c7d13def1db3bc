"""Verifying the audit trail against hashing the same bytes once.

There are two ways to say "SHA-256 over the same bytes", and both are measured. *Each entry*: one digest an
entry, as a chain needs them, in the barest loop. *One stream*: a single digest over all bytes together, which
is as quick as the hash itself can be and is what nobody can verify a chain with. In both the bytes lie in
memory; `verify_audit` reads them from its store within the time.

The store has a million entries, and is verified on all cores, as `sayso audit verify` does it. To hold those
in memory as well would take a gigabyte: the hashes are made of the first 100,000 of them, ten times over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256

import msgspec

from bench.durable import DOMAINS, a_gate, on_disk
from bench.measure import Race, Row, Side, Watch, race
from bench.world import make_world
from sayso.core.audit.entry import MAIN, TAG
from sayso.core.audit.entry import ChainRow as Stored
from sayso.core.audit.events import Decided
from sayso.core.audit.verify import VerifyReport, verify_rows
from sayso.gate.audit.checkpoints import sign_audit
from sayso.gate.audit.verify import verify_audit
from sayso.gate.audit.workers import count_cores
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record

ENTRIES = 1_000_000
IN_MEMORY = 100_000
PAGE = 5_000
ROUNDS = 5
TIMES_HASHING = 4.0


def verify_against_hashing(watch: Watch) -> list[Row]:
    """The core's verify over rows in memory, and the gate's over its store, against both ways of hashing."""
    with on_disk() as folder, a_gate(folder) as gate:
        _fill(gate, watch)
        rows = _stored(gate)
        whole = [TAG + prev + body for _, body, prev, _ in rows if body is not None]
        ours = {
            IN_MEMORY: ("verify, core", lambda: _clean_report(verify_rows(iter(rows)))),
            ENTRIES: ("verify, store, all cores", lambda: _clean(gate)),
        }
        theirs = {"each entry": _each, "one stream": _stream}
        return [
            _row(
                f"{what}, {entries:,}",
                against,
                race(f"{what} and SHA-256", _side(our), _side(partial(their, whole, entries)), ROUNDS, watch),
            )
            for entries, (what, our) in ours.items()
            for against, their in theirs.items()
        ]


def _fill(gate: Gate, watch: Watch) -> None:
    """Entries as an allow writes them, many in a transaction; signed at the end."""
    allow = _allow()
    for start in range(0, ENTRIES, PAGE):
        with gate.store.write(durable=False) as tx:
            for n in range(start, start + PAGE):
                digest = sha256(b"call %d" % n).hexdigest()
                operations = (f"domain{n % DOMAINS:04}.label",)
                event = msgspec.structs.replace(allow, digest=digest)
                record(tx, event, session="s_bench", agent="agent", operations=operations)
        watch("audit (writing it first)", start // PAGE + 1, ENTRIES // PAGE)
    sign_audit(gate)


def _allow() -> Decided:
    return Decided(
        digest="",
        tool="label",
        origin="agent",
        verdict="allow",
        rule="operation_grant",
        reason="granted by the operator for this session",
        risk="medium",
        grants=("g_" + "0" * 24,),
        policy=make_world(DOMAINS).policy.digest,
    )


def _stored(gate: Gate) -> list[Stored]:
    rows: list[Stored] = []
    with gate.store.read() as tx:
        while len(rows) < IN_MEMORY:
            page = tx.entry_tuples(MAIN, after=len(rows), limit=PAGE)
            rows += (row[:4] for row in page)
    return rows


def _clean(gate: Gate) -> None:
    verified = verify_audit(gate, processes=count_cores())
    if not verified.clean:
        raise AssertionError(f"the audit is not clean: {verified.reports[0].findings[:1]}")


def _clean_report(report: VerifyReport) -> None:
    if report.found or report.entries < IN_MEMORY:
        raise AssertionError(f"the audit is not clean: {report.findings[:1]}")


def _each(whole: Sequence[bytes], entries: int) -> None:
    for _ in range(entries // len(whole)):
        for content in whole:
            sha256(content).digest()


def _stream(whole: Sequence[bytes], entries: int) -> None:
    hashed = sha256()
    for _ in range(entries // len(whole)):
        hashed.update(b"".join(whole))
    hashed.digest()


def _side(act: Callable[[], None]) -> Side:
    return Side(lambda _: act(), (None,))


def _row(what: str, against: str, result: Race) -> Row:
    ratio = result.left.median / result.right.median
    return Row(
        what=what,
        against=f"SHA-256, {against}",
        ours=result.left.median / 1e6,
        theirs=result.right.median / 1e6,
        unit=" ms",
        ratio=ratio,
        aim=f"≤ {TIMES_HASHING:g}×",
        met=ratio <= TIMES_HASHING,
        spread=(result.left.spread, result.right.spread),
    )
