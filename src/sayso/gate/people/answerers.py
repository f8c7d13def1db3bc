"""Answerers and requesters: the ids that a door authenticated, and the people of the team they belong to.

- A name in a request is never an id. A token's id is random, a page's name comes from its one-time link, a
  surface's id from the surface, a terminal's from the operating system.
- An id counts for as long as what proves it does: a token until it is revoked, a page as long as the passkey
  is registered that it signed in or signed with.
"""

from __future__ import annotations

import msgspec

from sayso.core.team import PAGE, SURFACE, TERMINAL, TOKEN, Team
from sayso.gate.gate import Gate
from sayso.gate.people.passkeys import has_passkey
from sayso.gate.people.tokens import find_token_record
from sayso.store.contract import Reader

BROWSER_OWNER = "browser:"
"""How the owner of a session is called that a signed-in browser opened."""


class Answerer(msgspec.Struct, frozen=True):
    """Somebody who answers: their id, and the passkey that vouches for it, if there is one.

    `press` tells one answer of theirs from the next, where it came from a surface: it counts once.
    """

    identity: str
    passkey: str | None = None
    press: str = ""


class Requesters(msgspec.Struct, frozen=True):
    """The people behind a session. `local`: a program on this machine opened it, under some account of it."""

    people: frozenset[str]
    local: bool = False

    def asked_as(self, identity: str) -> bool:
        """Return whether whoever has this id counts as having asked, whoever they are.

        A program's own account must not approve what the program asks for.
        """
        return self.local and identity.startswith(f"{TERMINAL}:")


def at_terminal(account: str) -> Answerer:
    """Return who answers at a terminal of this machine, by the operating system's account."""
    return Answerer(f"{TERMINAL}:{account}")


def on_page(name: str, passkey: str | None = None, identity: str = "") -> Answerer:
    """Return who answers in a browser that signed in under this name, or by the id that a provider proved."""
    return Answerer(identity or f"{PAGE}:{name}", passkey)


def with_token(token: str) -> Answerer:
    """Return who answers with this token, by its id."""
    return Answerer(f"{TOKEN}:{token}")


def on_surface(surface: str, person: str) -> Answerer:
    """Return who answers on this surface, by the surface's own name for them."""
    return Answerer(f"{SURFACE}:{surface}/{person}")


def is_vouched_for(gate: Gate, tx: Reader, identity: str, passkey: str | None) -> bool:
    """Return whether what proved this id still does."""
    kind, _, name = identity.partition(":")
    if kind == TOKEN:
        found = find_token_record(gate, tx, name)
        if found is None or found.role != "operator":
            return False
    return passkey is None or has_passkey(gate, tx, passkey)


def find_requesters(gate: Gate, tx: Reader, session: str, team: Team) -> Requesters:
    """Return whose the session is, and those it was started from: by their tokens, pages and users."""
    people: set[str] = set()
    local = False
    name: str | None = session
    while name is not None:
        row = tx.session(name)
        if row is None:
            break
        ids = _ids_of_owner(gate, tx, row.owner, team)
        local = local or not ids
        if row.owner.startswith(BROWSER_OWNER):
            people.add(row.owner.removeprefix(BROWSER_OWNER))  # whichever way they signed in
        if row.user:
            people.add(row.user)  # also somebody whom a policy that is not applied yet leaves out
            ids |= {f"{TERMINAL}:{row.user}", f"{PAGE}:{row.user}"}
        people |= {person for one in ids for person in team.owners.get(one, ())}
        name = row.parent
    return Requesters(frozenset(people), local)


def _ids_of_owner(gate: Gate, tx: Reader, owner: str, team: Team) -> set[str]:
    """Return the ids of a session's owner. Whose a token is that nobody declares, its issuer answers for.

    So does the issuer of a token that it was issued with. Where two policies are in force, both have to
    declare it.
    """
    if owner.startswith(BROWSER_OWNER):
        return {f"{PAGE}:{owner.removeprefix(BROWSER_OWNER)}"}
    ids: set[str] = set()
    identity = f"{TOKEN}:{owner}" if owner.startswith("t_") else ""
    while identity and identity not in ids:
        ids.add(identity)
        if any(identity in one.ids for one in team.people.values()):
            break
        kind, _, name = identity.partition(":")
        found = find_token_record(gate, tx, name, revoked=True) if kind == TOKEN else None
        identity = "" if found is None else found.issuer
    return ids
