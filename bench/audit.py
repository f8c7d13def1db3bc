"""Verifying the audit trail against hashing the same bytes once.

There are two ways to say "SHA-256 over the same bytes", and both are measured. *Each entry*: one digest an
entry, as a chain needs them, in the barest loop. *One stream*: a single digest over all bytes together, which
is as quick as the hash itself can be and is what nobody can verify a chain with. In both the bytes lie in
memory; `verify_audit` reads them from its store within the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from sayso.gate.gate import Gate
from sayso.gate.rows.journal import record

ENTRIES = 100_000
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
            "verify, core": lambda: _clean_report(verify_rows(iter(rows))),
            "verify, store": lambda: _clean(gate),
        }
        theirs = {"each entry": lambda: _each(whole), "one stream": lambda: _stream(whole)}
        return [
            _row(what, against, race(f"{what} and SHA-256", _side(our), _side(their), ROUNDS, watch))
            for what, our in ours.items()
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
        while page := tx.entries(MAIN, after=rows[-1][0] if rows else 0, limit=PAGE):
            rows += ((row.seq, row.body, row.prev, row.hash) for row in page)
    return rows


def _clean(gate: Gate) -> None:
    verified = verify_audit(gate)
    if not verified.clean:
        raise AssertionError(f"the audit is not clean: {verified.reports[0].findings[:1]}")


def _clean_report(report: VerifyReport) -> None:
    if report.found or report.entries < ENTRIES:
        raise AssertionError(f"the audit is not clean: {report.findings[:1]}")


def _each(whole: Sequence[bytes]) -> None:
    for content in whole:
        sha256(content).digest()


def _stream(whole: Sequence[bytes]) -> None:
    sha256(b"".join(whole)).digest()


def _side(act: Callable[[], None]) -> Side:
    return Side(lambda _: act(), (None,))


def _row(what: str, against: str, result: Race) -> Row:
    ratio = result.left.median / result.right.median
    return Row(
        what=f"{what}, {ENTRIES:,}",
        against=f"SHA-256, {against}",
        ours=result.left.median / 1e6,
        theirs=result.right.median / 1e6,
        unit=" ms",
        ratio=ratio,
        aim=f"≤ {TIMES_HASHING:g}×",
        met=ratio <= TIMES_HASHING,
        spread=(result.left.spread, result.right.spread),
    )
