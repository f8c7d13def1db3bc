"""One policy file laid over another: actions move, maps merge key by key, scalars are replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from sayso.core.model import Tier
from sayso.core.policy import GUARDED_DOMAIN
from sayso.policy.file import DomainFile, PhrasesFile, PolicyFile

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

TIER_LISTS = tuple(tier.value for tier in Tier)


def merge_files(under: PolicyFile, over: PolicyFile) -> PolicyFile:
    """Merge both. Where they differ, `over` wins."""
    return PolicyFile(
        sayso=1,
        mode=_later_if_set(under.mode, over.mode),
        settings=_merge_if_set(under.settings, over.settings),
        phrases=_merge_phrases(under.phrases, over.phrases),
        categories=_merge_maps(under.categories, over.categories, _take_later),
        consent_decay=_merge_if_set(under.consent_decay, over.consent_decay),
        vip_contacts=_merge_maps(under.vip_contacts, over.vip_contacts, _take_later),
        family_contacts=_merge_maps(under.family_contacts, over.family_contacts, _take_later),
        domains=_merge_maps(under.domains, over.domains, _merge_domains),
        operations=_merge_maps(under.operations, over.operations, _merge_fields),
        tools=(*(over.tools or ()), *(under.tools or ())),
        slash_commands=_merge_maps(under.slash_commands, over.slash_commands, _take_later),
        workflows=_merge_maps(under.workflows, over.workflows, _take_later),
        programs=_merge_maps(under.programs, over.programs, _take_later),
        people=_merge_maps(under.people, over.people, _take_later),
        approvals=(*(over.approvals or ()), *(under.approvals or ())),
        break_glass=_later_if_set(under.break_glass, over.break_glass),
        quiet_hours=_later_if_set(under.quiet_hours, over.quiet_hours),
    )


def _merge_phrases(under: PhrasesFile | UnsetType, over: PhrasesFile | UnsetType) -> PhrasesFile | UnsetType:
    """Phrases only add up: no file takes one away that lies under it."""
    files = [file for file in (under, over) if not isinstance(file, UnsetType)]
    if not files:
        return UNSET
    kinds = ("stop", "refuse", "assent")
    return PhrasesFile(
        **{
            kind: tuple(dict.fromkeys(phrase for file in files for phrase in getattr(file, kind) or ()))
            for kind in kinds
        }
    )


def find_unblocked_actions(over: PolicyFile, *under: PolicyFile) -> list[tuple[str, str]]:
    """The actions of self_modification that are blocked below and that `over` would move: to which list."""
    after = (over.domains or {}).get(GUARDED_DOMAIN)
    if after is None:
        return []
    guards = [(file.domains or {}).get(GUARDED_DOMAIN) for file in under]
    blocked = {action for guard in guards if guard is not None for action in guard.blocked}
    free = [name for name in TIER_LISTS if name != Tier.BLOCKED.value]
    return [(name, action) for name in free for action in getattr(after, name) if action in blocked]


def _merge_domains(under: DomainFile, over: DomainFile) -> DomainFile:
    """The actions that `over` names move to the list it names them in; the rest stay where they were."""
    named = {action for name in TIER_LISTS for action in getattr(over, name)}
    lists = {name: _merge_actions(getattr(under, name), getattr(over, name), named) for name in TIER_LISTS}
    marks = tuple(
        dict.fromkeys((*(under.trusted_channel_required or ()), *(over.trusted_channel_required or ())))
    )
    details = _merge_fields(under, over)
    return msgspec.structs.replace(details, **lists, trusted_channel_required=marks)


def _merge_actions(before: tuple[str, ...], after: tuple[str, ...], named: set[str]) -> tuple[str, ...]:
    kept = (action for action in before if action not in named or action in after)
    return tuple(dict.fromkeys((*kept, *after)))


def _merge_fields(under: S, over: S) -> S:
    """The fields that `over` sets, the others from `under`."""
    given = {name: getattr(over, name) for name in over.__struct_fields__ if getattr(over, name) is not UNSET}
    return msgspec.structs.replace(under, **given)


def _take_later(under: T, over: T) -> T:
    return over


def _later_if_set(under: T | UnsetType, over: T | UnsetType) -> T | UnsetType:
    return under if isinstance(over, UnsetType) else over


def _merge_if_set(under: S | UnsetType, over: S | UnsetType) -> S | UnsetType:
    if isinstance(under, UnsetType) or isinstance(over, UnsetType):
        return _later_if_set(under, over)
    return _merge_fields(under, over)


def _merge_maps(
    under: Mapping[str, T] | UnsetType, over: Mapping[str, T] | UnsetType, join: Callable[[T, T], T]
) -> dict[str, T]:
    """Both maps, key by key; where both have a key, its values are joined."""
    merged = dict(under or {})
    for key, value in (over or {}).items():
        merged[key] = join(merged[key], value) if key in merged else value
    return merged
