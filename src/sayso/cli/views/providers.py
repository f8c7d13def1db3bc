"""The providers that people sign in with, as `sayso people providers` and `sayso doctor` show them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sayso.core.errors import SaysoError
from sayso.core.team import EMAIL, SUBJECT, Team
from sayso.core.words import visible
from sayso.doors.agents.doctor.canary import Diagnosis
from sayso.service.provider_pages import redirect_address
from sayso.service.providers.provider import ProviderDown, make_providers
from sayso.service.providers.settings_file import FILE_NAME, ProviderSettings, load_provider_settings


class ExaminedProvider(msgspec.Struct, frozen=True):
    """A provider without its secret, whether it answers now, and where it sends people back to."""

    name: str
    label: str
    issuer: str
    client_id: str
    redirects: tuple[str, ...]
    groups: dict[str, str]
    good: bool
    text: str


def examine_provider(settings: ProviderSettings, pages: Sequence[str]) -> ExaminedProvider:
    """Ask a provider what it publishes. `pages` are the addresses at which our page is found now."""
    try:
        make_providers([settings])[settings.name].metadata()
        good, text = True, "it can sign people in"
    except ProviderDown as error:
        good, text = False, error.why
    except SaysoError as error:
        good, text = False, error.message
    redirects = tuple(redirect_address(page, settings.name) for page in pages)
    groups = dict(settings.identity_provider.groups)
    return ExaminedProvider(
        settings.name, settings.shown, settings.issuer, settings.client_id, redirects, groups, good, text
    )


def provider_lines(one: ExaminedProvider) -> list[str]:
    confirms = ", ".join(f"{ours} as {theirs}" for ours, theirs in one.groups.items())
    return [
        f"{one.name} ({one.label}): {one.issuer}, as client {one.client_id}",
        *(f"  sends people back to {address}" for address in one.redirects),
        *([f"  has to confirm {visible(confirms)}"] if confirms else []),
        f"  {'ok ' if one.good else 'BAD'}  {visible(one.text)}",
    ]


def diagnose_providers(team: Team) -> list[Diagnosis]:
    """Return whether people of this team can sign in with the providers in oidc.json; nothing without one."""
    try:
        settings = load_provider_settings()
    except SaysoError as error:
        return [Diagnosis(FILE_NAME, good=False, text=visible(error.message))]
    return [_diagnose(examine_provider(one, ()), team) for one in settings]


def _diagnose(one: ExaminedProvider, team: Team) -> Diagnosis:
    begins = tuple(f"{kind}:{one.name}/" for kind in (SUBJECT, EMAIL))
    people = [name for name, person in team.people.items() if any(at.startswith(begins) for at in person.ids)]
    if not one.good:
        return Diagnosis(one.name, good=False, text=visible(one.text))
    if not people:
        return Diagnosis(one.name, good=False, text=f"nobody in the policy has an id of it ({begins[0]}…)")
    return Diagnosis(one.name, good=True, text=f"{one.text}: {visible(', '.join(people))}")
