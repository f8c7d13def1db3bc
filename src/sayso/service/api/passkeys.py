"""Passkeys over HTTP: registering and removing them, signing in, and what an answer has to have signed.

Only a browser that signed in within the last minutes, by link or passkey, adds and removes passkeys: a cookie
that was stolen, or a token, must not bring a passkey of its own.
"""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from sayso.gate.people.passkey_sign_in import (
    begin_registration,
    begin_sign_in,
    finish_registration,
    finish_sign_in,
    get_options,
)
from sayso.gate.people.passkeys import Level, Passkey, list_passkeys, remove_passkey, required
from sayso.gate.questions.read import find_question
from sayso.gate.rows.webauthn import Proof
from sayso.service.api.answers import check_body
from sayso.service.api.edits import edited
from sayso.service.api.shapes import AnswerBody
from sayso.service.api.signed_answers import challenge
from sayso.service.http.auth import BROWSER
from sayso.service.http.endpoints import OPERATORS, Context, Endpoint
from sayso.service.http.problems import Refused
from sayso.service.pages import SignedIn, signed_in

FRESH = 300.0
"""For how long after signing in a browser may add and remove passkeys."""
STALE = "sign in again first: passkeys are added and removed within five minutes of signing in"
ELSEWHERE = "passkeys cannot be used here"
UNSAFE_PLACE = "open the page at http://localhost or https; browsers keep passkeys for no other place"


class NewBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The passkey that a browser made, as `PublicKeyCredential.toJSON()` has it, and what to call it."""

    name: str
    credential: dict[str, Any]


class PasskeyTold(msgspec.Struct, frozen=True):
    id: str
    name: str
    place: str
    made_at: float
    used_at: float | None


class PasskeysTold(msgspec.Struct, frozen=True):
    """Your passkeys, and what has to be signed; `require` is null as long as nobody chose."""

    passkeys: tuple[PasskeyTold, ...]
    require: Level | None


def begin(context: Context) -> dict[str, Any]:
    """The options for `navigator.credentials.create`."""
    _check_fresh(context)
    if not _origins(context):
        raise Refused(409, "no_passkeys_here", ELSEWHERE, hint=UNSAFE_PLACE)
    return begin_registration(context.gate, context.token.name)


def finish(context: Context) -> PasskeyTold:
    _check_fresh(context)
    body: NewBody = context.body
    user, made = context.token.name, body.credential
    return _told(finish_registration(context.gate, user, body.name, made, _origins(context)))


def list_own(context: Context) -> PasskeysTold:
    passkeys = list_passkeys(context.gate, context.token.name)
    return PasskeysTold(tuple(map(_told, passkeys)), required(context.gate))


def remove(context: Context) -> PasskeyTold:
    _check_fresh(context)
    user = context.token.name
    return _told(remove_passkey(context.gate, context.parameters["passkey"], by=user, of=user))


def begin_signing_in(context: Context) -> dict[str, Any]:
    """The options for `navigator.credentials.get`. Nobody is named in them."""
    return begin_sign_in(context.gate)


def finish_signing_in(context: Context) -> Response:
    name, browser = finish_sign_in(context.gate, context.body, _origins(context))
    secure = not any(origin.startswith("http:") for origin in _origins(context))
    return signed_in(context.gate, name, browser, secure=secure)


def what_to_sign(context: Context) -> dict[str, Any]:
    """The options for `navigator.credentials.get` to sign this answer; it is then sent with the proof."""
    body: AnswerBody = context.body
    found = find_question(context.gate, context.parameters["question"])
    asked = found.question
    check_body(found.row, body)
    instead = edited(context, asked, body).digest if body.answer == "edit" else ""
    mine = [one.credential for one in list_passkeys(context.gate, context.token.name)]
    if not mine:
        raise Refused(409, "no_passkey", "you have no passkey here", hint="add one, or answer at a terminal")
    return get_options(challenge(asked, body, instead), mine)


def _origins(context: Context) -> tuple[str, ...]:
    return context.running.settings.origins


def _check_fresh(context: Context) -> None:
    token = context.token
    with context.gate.store.read() as tx:
        age = tx.now - token.made_at
    if not token.id.startswith(BROWSER):
        raise Refused(403, "forbidden", "only a person at a signed-in browser does this")
    if not 0 <= age <= FRESH:
        raise Refused(403, "sign_in_again", STALE)


def _told(passkey: Passkey) -> PasskeyTold:
    return PasskeyTold(passkey.id, passkey.name, passkey.place, passkey.made_at, passkey.used_at)


OPTIONS: Any = dict[str, Any]
ENDPOINTS = (
    Endpoint("GET", "/v1/passkeys", OPERATORS, "Your passkeys", list_own, result=PasskeysTold),
    Endpoint("POST", "/v1/passkeys/options", OPERATORS, "Begin a passkey", begin, result=OPTIONS),
    Endpoint("POST", "/v1/passkeys", OPERATORS, "Keep a passkey", finish, NewBody, PasskeyTold, 201),
    Endpoint("DELETE", "/v1/passkeys/{passkey}", OPERATORS, "Remove a passkey", remove, result=PasskeyTold),
    Endpoint(
        "POST",
        "/v1/sign-in/options",
        frozenset(),
        "Begin to sign in with a passkey",
        begin_signing_in,
        result=OPTIONS,
    ),
    Endpoint(
        "POST", "/v1/sign-in", frozenset(), "Sign in with a passkey", finish_signing_in, Proof, SignedIn
    ),
    Endpoint(
        "POST",
        "/v1/questions/{question}/challenge",
        OPERATORS,
        "What a passkey has to sign for an answer",
        what_to_sign,
        AnswerBody,
        OPTIONS,
    ),
)
