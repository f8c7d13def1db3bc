"""Passkeys over HTTP: registering and removing them, signing in, and what an answer has to have signed.

Only a browser that signed in within the last minutes, in any way, adds and removes passkeys: a cookie that
was stolen, or a token, must not bring a passkey of its own.
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
    sign_in_options,
)
from sayso.gate.people.passkeys import Level, Passkey, list_passkeys, load_required_level, remove_passkey
from sayso.gate.questions.read import find_question
from sayso.gate.rows.webauthn import Proof
from sayso.service.api.asking.answers import check_answer_body
from sayso.service.api.asking.edits import request_from_edit
from sayso.service.api.asking.signed_answers import challenge_for_answer
from sayso.service.http.auth import BROWSER, proven_identity
from sayso.service.http.endpoints import OPERATORS, Context, Endpoint
from sayso.service.http.problems import RequestRefused
from sayso.service.pages import SignedInUser, sign_in_response
from sayso.service.shapes import AnswerBody

FRESH = 300.0
"""For how long after signing in a browser may add and remove passkeys."""
STALE = "sign in again first: passkeys are added and removed within five minutes of signing in"
ELSEWHERE = "passkeys cannot be used here"
UNSAFE_PLACE = "open the page at http://localhost or https; browsers keep passkeys for no other place"


class NewPasskeyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The passkey that a browser made, as `PublicKeyCredential.toJSON()` has it, and what to call it."""

    name: str
    credential: dict[str, Any]


class PasskeyView(msgspec.Struct, frozen=True):
    id: str
    name: str
    place: str
    made_at: float
    used_at: float | None


class PasskeysView(msgspec.Struct, frozen=True):
    """Your passkeys, and what has to be signed; `require` is null as long as nobody chose."""

    passkeys: tuple[PasskeyView, ...]
    require: Level | None


def post_passkey_options(context: Context) -> dict[str, Any]:
    """The options for `navigator.credentials.create`."""
    _check_fresh(context)
    if not _origins(context):
        raise RequestRefused(409, "no_passkeys_here", ELSEWHERE, hint=UNSAFE_PLACE)
    return begin_registration(context.gate, context.token.name, proven_identity(context.token))


def post_passkey(context: Context) -> PasskeyView:
    _check_fresh(context)
    body: NewPasskeyBody = context.body
    user, made = context.token.name, body.credential
    identity = proven_identity(context.token)
    return _describe_passkey(
        finish_registration(context.gate, user, body.name, made, _origins(context), identity=identity)
    )


def list_own_passkeys(context: Context) -> PasskeysView:
    passkeys = list_passkeys(context.gate, context.token.name, proven_identity(context.token))
    return PasskeysView(tuple(map(_describe_passkey, passkeys)), load_required_level(context.gate))


def delete_passkey(context: Context) -> PasskeyView:
    _check_fresh(context)
    user = context.token.name
    passkey, identity = context.parameters["passkey"], proven_identity(context.token)
    return _describe_passkey(remove_passkey(context.gate, passkey, by=user, of=user, identity=identity))


def post_sign_in_options(context: Context) -> dict[str, Any]:
    """The options for `navigator.credentials.get`. Nobody is named in them."""
    return begin_sign_in(context.gate)


def post_sign_in(context: Context) -> Response:
    name, browser = finish_sign_in(context.gate, context.body, _origins(context))
    secure = not any(origin.startswith("http:") for origin in _origins(context))
    return sign_in_response(context.gate, name, browser, secure=secure)


def post_answer_challenge(context: Context) -> dict[str, Any]:
    """The options for `navigator.credentials.get` to sign this answer; it is then sent with the proof."""
    body: AnswerBody = context.body
    found = find_question(context.gate, context.parameters["question"])
    asked = found.question
    check_answer_body(found.row, body)
    instead = request_from_edit(context, asked, body).digest if body.answer == "edit" else ""
    return signing_options(context, challenge_for_answer(asked, body, instead))


def signing_options(context: Context, challenge: bytes) -> dict[str, Any]:
    """The options for `navigator.credentials.get` to sign this with a passkey of whoever asks."""
    found = list_passkeys(context.gate, context.token.name, proven_identity(context.token))
    mine = [one.credential for one in found]
    if not mine:
        raise RequestRefused(
            409, "no_passkey", "you have no passkey here", hint="add one, or answer at a terminal"
        )
    return sign_in_options(challenge, mine)


def _origins(context: Context) -> tuple[str, ...]:
    return context.running.settings.origins


def _check_fresh(context: Context) -> None:
    token = context.token
    with context.gate.store.read() as tx:
        age = tx.now - token.made_at
    if not token.id.startswith(BROWSER):
        raise RequestRefused(403, "forbidden", "only a person at a signed-in browser does this")
    if not 0 <= age <= FRESH:
        raise RequestRefused(403, "sign_in_again", STALE)


def _describe_passkey(passkey: Passkey) -> PasskeyView:
    return PasskeyView(passkey.id, passkey.name, passkey.place, passkey.made_at, passkey.used_at)


OPTIONS: Any = dict[str, Any]
ENDPOINTS = (
    Endpoint("GET", "/v1/passkeys", OPERATORS, "List your passkeys", list_own_passkeys, result=PasskeysView),
    Endpoint(
        "POST",
        "/v1/passkeys/options",
        OPERATORS,
        "Begin to register a passkey",
        post_passkey_options,
        result=OPTIONS,
    ),
    Endpoint(
        "POST",
        "/v1/passkeys",
        OPERATORS,
        "Register a passkey",
        post_passkey,
        NewPasskeyBody,
        PasskeyView,
        201,
    ),
    Endpoint(
        "DELETE", "/v1/passkeys/{passkey}", OPERATORS, "Remove a passkey", delete_passkey, result=PasskeyView
    ),
    Endpoint(
        "POST",
        "/v1/sign-in/options",
        frozenset(),
        "Begin to sign in with a passkey",
        post_sign_in_options,
        result=OPTIONS,
    ),
    Endpoint("POST", "/v1/sign-in", frozenset(), "Sign in with a passkey", post_sign_in, Proof, SignedInUser),
    Endpoint(
        "POST",
        "/v1/questions/{question}/challenge",
        OPERATORS,
        "Get the challenge that a passkey signs for an answer",
        post_answer_challenge,
        AnswerBody,
        OPTIONS,
    ),
)
