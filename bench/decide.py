"""The decision against its peers, and against itself with a policy eighty times as large."""

from __future__ import annotations

from bench.measure import Race, Row, Side, Watch, race
from bench.peers import PEERS, Peer, Tiers, wrong_answers
from bench.world import NOW, World, make_world
from sayso.core.deciding.decide import decide
from sayso.core.model import Request
from sayso.core.policy import Policy

SMALL, LARGE = 12, 1_000
ROUNDS_WITH_PEER, ROUNDS_WITH_ITSELF = 40, 200
TIMES_ITSELF = 1.3


def decide_against_peers(watch: Watch) -> list[Row]:
    """Whole decisions, against the peers' plain look-ups of the same operations in the same order."""
    world = make_world(SMALL)
    ours = _ours(world)
    rows = []
    for peer in PEERS:
        if peer.possible:
            result = race(f"decide and {peer.name}", ours, _theirs(peer, world), ROUNDS_WITH_PEER, watch)
            rows.append(_peer_row(peer, result))
    return rows


def decide_with_larger_policy(watch: Watch) -> list[Row]:
    """The same session and mix of requests under a policy of 1,000 × 10 operations."""
    what = f"decide, {LARGE:,}×10"
    small, large = _ours(make_world(SMALL)), _ours(make_world(LARGE))
    result = race(what, small, large, ROUNDS_WITH_ITSELF, watch)
    return [
        Row(
            what=what,
            against=f"itself, {SMALL}×10",
            ours=result.right.median / 1e3,
            theirs=result.left.median / 1e3,
            unit=" µs",
            ratio=result.ratio,
            aim=f"≤ {TIMES_ITSELF:g}×",
            met=result.ratio <= TIMES_ITSELF,
            spread=(result.right.spread, result.left.spread),
        )
    ]


def tiers_of(policy: Policy) -> Tiers:
    return {name: entry.tier.value for name, entry in policy.table.items() if entry.tier is not None}


def _ours(world: World) -> Side:
    policy, view = world.policy, world.view

    def answer(request: Request) -> object:
        return decide(request, policy, view, NOW)

    return Side(answer, world.requests)


def _theirs(peer: Peer, world: World) -> Side:
    tiers = tiers_of(world.policy)
    prepare, answer = peer.build(tiers)
    wrong = wrong_answers(tiers, prepare, answer)
    if wrong:
        raise AssertionError(f"{peer.name} gives {wrong[0]} another tier, so measuring it says nothing")
    return Side(answer, [prepare(request.operations[0].name) for request in world.requests])


def _peer_row(peer: Peer, result: Race) -> Row:
    return Row(
        what=f"decide, {SMALL}×10",
        against=f"{peer.name}, {peer.way}",
        ours=result.left.per_second / 1e3,
        theirs=result.right.per_second / 1e3,
        unit=" k/s",
        ratio=result.ratio,
        aim="none" if peer.times is None else f"≥ {peer.times:g}×",
        met=None if peer.times is None else result.ratio >= peer.times,
        spread=(result.left.spread, result.right.spread),
    )
