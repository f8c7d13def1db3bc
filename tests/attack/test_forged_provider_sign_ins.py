"""Sign-ins with a provider, forged, stolen, replayed, mixed up or drowned: nobody gets in unproven."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import warnings
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sayso.gate.open import open_gate
from sayso.policy import load_text
from sayso.service.providers import provider as provider_module
from tests.service.conftest import POLICY
from tests.support.gates import KEY as GATE_KEY
from tests.support.gates import Clock, clock, embedded, no_settings
from tests.support.providers import (
    CLIENT,
    KEY,
    ORIGIN,
    OTHER_KEY,
    SECRET,
    public_jwk,
    signed,
)
from tests.support.providers import ProviderPlace as Place
from tests.support.rows import each_row

__all__ = ["clock", "no_settings"]
PEOPLE = """
people:
  ana: {groups: [finance], ids: ["oidc:corp/248289761001"]}
  bo: {ids: ["email:corp/bo@example.com"]}
"""


@pytest.fixture
def place(clock: Clock, tmp_path: Any) -> Iterator[Place]:
    with embedded("memory", tmp_path, clock) as store, asyncio.Runner() as runner:
        made = Place(open_gate(load_text(POLICY + PEOPLE), store, key=GATE_KEY), runner, clock)
        yield made
        made.stop()


def refused(place: Place, told: httpx.Response, code: str = "sign_in_refused") -> None:
    assert (told.status_code, told.json()["code"]) == (403, code), told.text
    assert "set-cookie" not in told.headers
    assert place.signed_in() == []


def test_an_honest_token_signs_its_person_in_under_the_name_of_the_policy(place: Place) -> None:
    told = place.attempt(name="Mallory", preferred_username="root")
    assert (told.status_code, told.json()["name"]) == (200, "ana")
    assert place.signed_in() == [{"name": "ana", "by": "provider", "identity": "oidc:corp/248289761001"}]
    ((form, authorization),) = place.provider.forms
    assert form["redirect_uri"] == f"{ORIGIN}/sign-in/corp"
    assert len(form["code_verifier"]) == 43
    assert "client_secret" not in form
    name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
    assert (name, secret) == (CLIENT, "a+secret%3A+of%2Fthe+client")
    assert SECRET not in str(place.provider.gets)


def test_what_the_provider_is_asked_with_is_new_each_time_and_does_not_give_the_secrets_away(
    place: Place,
) -> None:
    who = place.visitor()
    first, second = who.begin(), who.begin()
    assert (first["response_type"], first["code_challenge_method"]) == ("code", "S256")
    for name in ("state", "nonce", "code_challenge"):
        assert first[name] != second[name]
        assert len(first[name]) == 43
    assert not {who.cookie, who.kept} & set(second.values())


NOT_OF_NOW = {"iat": {"iat": -661}, "future": {"iat": 61, "exp": 400}, "exp": {"iat": -400, "exp": -61}}


@each_row(
    "other",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "somebody else"},
        {"aud": ["somebody", "else"]},
        {"aud": []},
        {"aud": None},
        {"aud": [CLIENT, "another"]},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"azp": "another"},
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": ""},
        {"exp": None},
        {"exp": "2100-01-01"},
        {"exp": True},
        {"iat": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 248289761001},
        {"sub": ["248289761001"]},
        {"sub": "248289761001\n"},
        {"nbf": 4e9},
    ],
    ids=str,
)
def test_a_token_that_says_something_else_signs_nobody_in(place: Place, other: dict[str, Any]) -> None:
    refused(place, place.attempt(**other))


@each_row("times", NOT_OF_NOW.values(), ids=NOT_OF_NOW)
def test_a_token_of_another_time_signs_nobody_in(place: Place, times: dict[str, float]) -> None:
    refused(place, place.attempt(**{name: place.clock.now + value for name, value in times.items()}))


@pytest.mark.parametrize("times", [{"iat": 60, "exp": 300}, {"iat": -300, "exp": -59}], ids=str)
def test_clocks_may_differ_by_a_minute(place: Place, times: dict[str, float]) -> None:
    told = place.attempt(**{name: place.clock.now + value for name, value in times.items()})
    assert told.status_code == 200, told.text


def test_several_audiences_are_fine_if_it_was_given_to_us(place: Place) -> None:
    assert place.attempt(aud=[CLIENT, "another"], azp=CLIENT).status_code == 200


def _part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _by_hand(claims: dict[str, Any], **header: Any) -> str:
    """A token with a header that no library would write, and the signature of another."""
    head, body, _ = signed(claims).split(".")
    told = json.loads(base64.urlsafe_b64decode(head + "=="))
    return f"{_part({**told, **header})}.{body}.{signed(claims).split('.')[2]}"


def _hmac_with_public_key(claims: dict[str, Any]) -> str:
    """Sign with the public key, as if it were a shared secret: who looks at `alg` alone believes that."""
    pem = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    text = f"{_part({'alg': 'HS256', 'kid': 'k1', 'typ': 'JWT'})}.{_part(claims)}"
    mac = base64.urlsafe_b64encode(hmac.new(pem, text.encode(), sha256).digest()).decode().rstrip("=")
    return f"{text}.{mac}"


FORGED = {
    "none": lambda claims: jwt.encode(claims, "", "none", headers={"kid": "k1"}),
    "None": lambda claims: _by_hand(claims, alg="None"),
    "no signature": lambda claims: signed(claims).rpartition(".")[0] + ".",
    "HS256 with the public key": _hmac_with_public_key,
    "HS256 with the client's secret": lambda claims: signed(claims, SECRET.ljust(32, "x"), "HS256"),
    "another key": lambda claims: signed(claims, OTHER_KEY),
    "a key that is not published": lambda claims: signed(claims, OTHER_KEY, kid="k2"),
    "a key of its own in the header": lambda claims: signed(
        claims, OTHER_KEY, jwk=public_jwk(OTHER_KEY, "k1"), kid="k9"
    ),
    "an address of keys in the header": lambda claims: signed(
        claims, OTHER_KEY, jku="http://127.0.0.1:9/keys", kid="k9"
    ),
    "claims changed afterwards": lambda claims: ".".join(
        (signed(claims).split(".")[0], _part({**claims, "sub": "1"}), signed(claims).split(".")[2])
    ),
    "another algorithm of the same key": lambda claims: signed(claims, KEY, "PS256"),
    "an access token": lambda claims: signed(claims, typ="at+jwt"),
    "a critical header": lambda claims: signed(claims, crit=["x"], x=1),
    "two claims of one name": lambda claims: _signed_text(json.dumps(claims)[:-1] + ', "sub": "1"}'),
    "no claims": lambda claims: _signed_text("[]"),
    "not JSON": lambda claims: _signed_text("{"),
    "no token": lambda claims: "not.a.token",
    "nothing": lambda claims: "",
    "too large": lambda claims: signed({**claims, "x": "x" * 70_000}),
}


def _signed_text(text: str) -> str:
    return jwt.PyJWS().encode(text.encode(), KEY, "RS256", headers={"kid": "k1"})


@each_row("forge", FORGED.values(), ids=FORGED)
def test_a_forged_token_signs_nobody_in(place: Place, forge: Any) -> None:
    place.provider.token = forge
    refused(place, place.attempt())
    refused(place, place.attempt(sub="1"))


def test_a_key_that_signs_too_weakly_or_is_for_something_else_does_not_count(place: Place) -> None:
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505  that is the point
    place.provider.keys = [public_jwk(weak, "k1")]
    place.provider.token = lambda claims: _with_weak_key(claims, weak)
    refused(place, place.attempt())
    place.seconds += 4_000
    place.provider.keys = [{**public_jwk(KEY, "k1"), "use": "enc"}]
    place.provider.token = signed
    refused(place, place.attempt())


def _with_weak_key(claims: dict[str, Any], key: rsa.RSAPrivateKey) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return signed(claims, key)


def test_a_secret_among_the_published_keys_verifies_nothing(place: Place) -> None:
    place.provider.keys = [{"kty": "oct", "k": _part("x" * 40), "kid": "k1", "alg": "HS256"}]
    place.provider.token = lambda claims: signed(
        claims, base64.urlsafe_b64decode(_part("x" * 40) + "=="), "HS256"
    )
    refused(place, place.attempt())


def test_two_keys_that_could_both_be_meant_are_not_tried_one_after_the_other(place: Place) -> None:
    place.provider.keys = [public_jwk(KEY, "a"), public_jwk(OTHER_KEY, "b")]
    place.provider.token = lambda claims: jwt.encode(claims, KEY, "RS256")
    refused(place, place.attempt())


@pytest.mark.parametrize("alg", ["ES256", "ES384", "EdDSA", "PS256"])
def test_keys_of_each_kind_count_for_their_own_algorithm_alone(place: Place, alg: str) -> None:
    made: Any = {
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "ES384": ec.generate_private_key(ec.SECP384R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
        "PS256": KEY,
    }[alg]
    spelled = jwt.get_algorithm_by_name(alg).to_jwk(made.public_key(), as_dict=True)
    place.provider.keys = [{**spelled, "kid": "k1"}]
    place.provider.token = lambda claims: signed(claims, made, alg)
    assert place.attempt().status_code == 200


def test_new_keys_are_found_and_unknown_names_do_not_make_us_fetch_again_and_again(
    place: Place,
) -> None:
    assert place.attempt().status_code == 200
    place.provider.keys = [public_jwk(OTHER_KEY, "k2")]
    place.provider.token = lambda claims: signed(claims, OTHER_KEY, kid="k2")
    for _ in range(3):
        assert place.attempt().status_code == 403
    assert place.provider.gets.count("/jwks") == 1
    place.seconds += 31
    assert place.attempt().status_code == 200
    assert place.provider.gets.count("/jwks") == 2
    assert place.provider.gets.count("/.well-known/openid-configuration") == 1


# --- whose browser it is ---


def test_a_callback_in_another_browser_signs_nobody_in(place: Place) -> None:
    """Login CSRF, and a stolen address: the state belongs to the browser that began."""
    victim, attacker = place.visitor(), place.visitor()
    attacker.begin()
    code = place.provider.give_code(attacker.claims(place.provider, place.clock.now))
    refused(place, victim.come_back(code, state=attacker.asked["state"], page=attacker.kept))
    victim.begin()
    refused(place, victim.come_back(code, state=attacker.asked["state"]))
    refused(place, victim.come_back(code, state=attacker.asked["state"], page=attacker.kept))
    refused(place, victim.come_back(code))  # its own state, a code of somebody else's sign-in: the nonce


def test_a_state_that_is_not_the_attempts_own_is_refused_before_the_code_is_used(place: Place) -> None:
    who, other = place.visitor(), place.visitor()
    who.begin()
    other.begin()
    code = place.provider.give_code(who.claims(place.provider, place.clock.now))
    for state in ("", other.asked["state"], who.asked["state"][:-1], who.asked["nonce"]):
        refused(place, who.come_back(code, state=state))
    assert place.provider.forms == []
    assert who.come_back(code).status_code == 200


def test_a_cookie_that_another_port_of_this_host_set_is_not_enough(place: Place) -> None:
    victim, attacker = place.visitor(), place.visitor()
    attacker.begin()
    victim.begin()
    victim.cookie = attacker.cookie
    code = place.provider.give_code(attacker.claims(place.provider, place.clock.now))
    refused(place, victim.come_back(code, state=attacker.asked["state"]))


def test_only_the_page_itself_begins_and_ends_a_sign_in(place: Place) -> None:
    who = place.visitor()
    for origin in ("http://evil.example", "null", ""):
        assert who.try_to_begin(origin=origin).json()["code"] == "foreign_origin"
    who.begin()
    code = place.provider.give_code(who.claims(place.provider, place.clock.now))
    assert who.come_back(code, origin="http://evil.example").json()["code"] == "foreign_origin"
    assert place.provider.forms == []


def test_a_page_that_is_not_one_of_ours_has_no_redirection(place: Place) -> None:
    """Another name that the service answers to is not an address that providers may send people to."""
    headers = {"Origin": "http://other.test", "Host": "other.test"}
    told = place.service.post(None, "/sign-in/corp/begin", headers=headers)
    assert (told.status_code, told.json()["code"]) == (409, "other_page")


@pytest.mark.parametrize("lax", [False, True], ids=["codes once", "codes again and again"])
def test_a_callback_is_worth_nothing_a_second_time(place: Place, lax: bool) -> None:
    place.provider.reuses_codes = lax
    who = place.visitor()
    who.begin()
    code = place.provider.give_code(who.claims(place.provider, place.clock.now))
    assert who.come_back(code).status_code == 200
    assert who.come_back(code).json()["code"] == "sign_in_refused"
    assert len(place.signed_in()) == 1


def test_an_attempt_ends_after_ten_minutes(place: Place) -> None:
    who = place.visitor()
    who.begin()
    place.clock.now += 600
    refused(place, who.come_back(place.provider.give_code(who.claims(place.provider, place.clock.now))))
    assert place.provider.forms == []


@each_row("cookie", ["", "x", "A" * 75, "é", "=", "A" * 5_000])
def test_a_cookie_of_ones_own_making_begins_nothing(place: Place, cookie: str) -> None:
    who = place.visitor()
    who.begin()
    who.cookie = cookie
    refused(place, who.come_back("code"))
    assert place.provider.forms == []


@each_row("text", ["\ud800", "\x00", "x" * 10_000, "é"])
def test_a_callback_of_odd_text_is_refused(place: Place, text: str) -> None:
    for name in ("state", "page", "iss", "code"):
        who = place.visitor()
        who.begin()
        told = who.come_back(**{"code": "code", name: text})
        assert 400 <= told.status_code < 500, told.text
    assert place.signed_in() == []


def test_attempts_are_told_apart_by_provider(place: Place) -> None:
    """Mix-up: what one provider sent back never reaches another, nor does its token count for another."""
    who = place.visitor()
    who.begin("corp")
    code = place.other.give_code(who.claims(place.other, place.clock.now))
    refused(place, who.come_back(code, "other"))
    refused(place, who.come_back(code, "corp"))
    assert place.other.forms == []
    place.provider.token = lambda claims: signed({**claims, "iss": place.other.url})
    refused(place, place.attempt())


def test_the_same_subject_at_another_provider_is_somebody_else(place: Place) -> None:
    who = place.visitor()
    who.begin("other")
    told = who.come_back(place.other.give_code(who.claims(place.other, place.clock.now)), "other")
    refused(place, told, "not_on_team")


def test_an_answer_that_names_another_provider_is_refused_before_its_code_is_used(
    place: Place,
) -> None:
    who = place.visitor()
    who.begin()
    code = place.provider.give_code(who.claims(place.provider, place.clock.now))
    refused(place, who.come_back(code, iss=place.other.url))
    assert place.provider.forms == []
    assert who.come_back(code, iss=place.provider.url).status_code == 200


def test_a_provider_that_says_it_names_itself_has_to(place: Place) -> None:
    place.provider.published = {"authorization_response_iss_parameter_supported": True}
    refused(place, place.attempt())


# --- who gets in ---


@each_row("verified", [None, False, "true", 1, "yes"], ids=str)
def test_an_address_that_is_not_verified_is_nobodys(place: Place, verified: Any) -> None:
    told = place.attempt(sub="77", email="bo@example.com", email_verified=verified)
    refused(place, told, "not_on_team")


def test_a_verified_address_is_its_persons(place: Place) -> None:
    told = place.attempt(sub="77", email="bo@example.com")
    assert told.json()["name"] == "bo"
    assert place.signed_in()[0]["identity"] == "email:corp/bo@example.com"


@each_row(
    "other",
    [
        {"sub": "bo@example.com", "email": None},
        {"sub": "77", "email": "BO@example.com"},
        {"sub": "77", "email": "bo@example.com "},
        {"sub": "77", "email": ["bo@example.com"]},
        {"sub": "77", "name": "ana", "preferred_username": "ana"},
        {"sub": "248289761001 "},
        {"sub": "24828976100"},
    ],
    ids=str,
)
def test_somebody_whom_the_policy_does_not_name_does_not_get_in(place: Place, other: dict[str, Any]) -> None:
    told = place.attempt(**other)
    assert told.status_code == 403
    assert place.signed_in() == []


def test_who_is_not_named_is_told_the_id_that_is_missing(place: Place) -> None:
    told = place.attempt(sub="77", email="new@example.com")
    refused(place, told, "not_on_team")
    assert "oidc:corp/77 or email:corp/new@example.com" in told.json()["detail"]


# --- a provider that is not well ---


def test_a_provider_that_is_down_signs_nobody_in_and_is_left_alone_for_a_while(place: Place) -> None:
    place.provider.down = True
    for _ in range(3):
        told = place.visitor().try_to_begin()
        assert (told.status_code, told.json()["code"]) == (503, "provider_down")
    assert len(place.provider.gets) == 1
    place.provider.down = False
    place.seconds += 6
    assert place.attempt().status_code == 200
    place.provider.down = True
    assert place.attempt().json()["code"] == "provider_down"


def test_a_provider_that_nobody_listens_for_is_down(place: Place) -> None:
    place.provider.stop()
    told = place.visitor().try_to_begin()
    assert told.json()["code"] == "provider_down"
    assert "127.0.0.1" not in told.text


@pytest.mark.parametrize("how", ["endless", "drips"])
def test_a_provider_that_never_ends_its_answer_holds_nobody(
    place: Place, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_module, "LONGEST", 0.3)
    if how == "endless":
        place.provider.endless = True
    else:
        place.provider.drips.set()
    assert place.visitor().try_to_begin().json()["code"] == "provider_down"


@each_row(
    "published",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"token_endpoint": "http://evil.example/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "https://user@evil.example/"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": 1},
        {"x": "x" * 300_000},
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_provider_that_publishes_nonsense_signs_nobody_in(place: Place, published: dict[str, Any]) -> None:
    place.provider.published = published
    place.seconds += 6  # after a failure it is left alone
    told = place.visitor().try_to_begin()
    assert (told.status_code, told.json()["code"]) == (503, "provider_down")


def test_what_is_no_key_set_and_no_token_is_refused(place: Place) -> None:
    place.provider.keys = "x"  # type: ignore[assignment]
    assert place.attempt().json()["code"] == "provider_down"
    place.provider.token = lambda claims: 1  # type: ignore[assignment,return-value]
    assert place.attempt().json()["code"] == "provider_down"
    assert place.signed_in() == []


def test_nothing_is_stored_for_those_who_only_begin(place: Place) -> None:
    with place.gate.store.read() as tx:
        before = sum(1 for _ in tx.entries("main"))
    for _ in range(5):
        place.visitor().begin()
        refused(place, place.visitor().come_back("x"))
    with place.gate.store.read() as tx:
        assert sum(1 for _ in tx.entries("main")) == before


@each_row("name", ["nobody", "corp%00", "..", "corp/x"])
def test_a_provider_of_no_settings_is_none(place: Place, name: str) -> None:
    assert place.service.post(None, f"/sign-in/{name}/begin", headers={"Origin": ORIGIN}).status_code == 404
