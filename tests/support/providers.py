"""A provider of OpenID Connect on this machine that says what a test wants, and browsers that go to it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from sayso.gate.gate import Gate
from sayso.service.app import make_app
from sayso.service.http.state import ServiceSettings
from sayso.service.pages import page_routes
from sayso.service.provider_pages import ATTEMPT_COOKIE, provider_routes
from sayso.service.providers.provider import Provider
from sayso.service.providers.settings_file import GroupsSettings, ProviderSettings
from tests.support.authenticator import ORIGIN as DEVICE_ORIGIN
from tests.support.gates import Clock
from tests.support.service import HOST, Service

ORIGIN = f"http://{HOST}"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CLIENT, SECRET = "sayso", "a secret: of/the client"
Content = Mapping[str, Any] | bytes
Tokens = Callable[[dict[str, Any]], str]


def public_jwk(key: rsa.RSAPrivateKey, kid: str) -> dict[str, Any]:
    return {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig", "alg": "RS256"}


def signed(claims: dict[str, Any], key: Any = KEY, alg: str = "RS256", **header: Any) -> str:
    return jwt.encode(claims, key, alg, headers={"kid": "k1", **header})


class LoopbackProvider:
    """Publishes itself and its keys, and gives a token for every code that it gave out, once."""

    def __init__(self) -> None:
        self.keys = [public_jwk(KEY, "k1")]
        self.token: Tokens = signed
        self.published: dict[str, Any] = {}
        """What it says of itself besides what is so."""
        self.gets: list[str] = []
        self.forms: list[tuple[dict[str, str], str]] = []
        self.down = False
        self.drips = threading.Event()
        self.endless = False
        self.reuses_codes = False
        self._codes: dict[str, dict[str, Any]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._stopped = threading.Event()
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def settings(self, name: str = "corp", **more: Any) -> ProviderSettings:
        return ProviderSettings(name, self.url, CLIENT, SECRET, **more)

    def give_code(self, claims: dict[str, Any]) -> str:
        """Return a code for somebody who signed in here, of whom the token then says this."""
        code = f"code-{len(self._codes)}"
        self._codes[code] = claims
        return code

    def stop(self) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def get(self, path: str) -> Content:
        if path == "/jwks":
            return {"keys": self.keys}
        places = {name: f"{self.url}/{name}" for name in ("authorization_endpoint", "token_endpoint")}
        return {"issuer": self.url, **places, "jwks_uri": f"{self.url}/jwks", **self.published}

    def redeem(self, form: dict[str, str]) -> tuple[int, Content]:
        code = form.get("code", "")
        claims = self._codes.get(code) if self.reuses_codes else self._codes.pop(code, None)
        if claims is None:
            return 400, {"error": "invalid_grant"}
        return 200, {"id_token": self.token(claims), "access_token": "x", "token_type": "Bearer"}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.gets.append(self.path)
                self.reply(200, provider.get(self.path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                provider.forms.append((form, self.headers.get("authorization", "")))
                self.reply(*provider.redeem(form))

            def reply(self, status: int, told: Content) -> None:
                content = told if isinstance(told, bytes) else json.dumps(told).encode()
                with suppress(OSError):
                    self.send_response(503 if provider.down else status)
                    self.send_header("content-type", "application/json")
                    self.end_headers()
                    while provider.drips.is_set() and not provider._stopped.wait(0.02):
                        self.wfile.write(b" ")
                    while provider.endless and not provider._stopped.is_set():
                        self.wfile.write(b" " * 65_536)
                    self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        return Handler


class Visitor:
    """One browser on the sign-in page: its cookie for the attempt, and what its page keeps."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.cookie = ""
        self.kept = ""
        self.asked: dict[str, str] = {}
        """What the provider was asked with, at the last beginning."""

    def begin(self, provider: str = "corp") -> dict[str, str]:
        told = self.try_to_begin(provider)
        assert told.status_code == 200, told.text
        self.cookie = told.cookies[ATTEMPT_COOKIE]
        self.kept = told.json()["page"]
        parts = urlsplit(told.json()["url"])
        self.asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        return self.asked

    def try_to_begin(self, provider: str = "corp", origin: str = ORIGIN) -> Any:
        return self.service.post(None, f"/sign-in/{provider}/begin", headers={"Origin": origin})

    def come_back(self, code: str, provider: str = "corp", origin: str = ORIGIN, **other: Any) -> Any:
        """Post what the provider sent back."""
        body = {"code": code, "state": self.asked.get("state", ""), "page": self.kept, **other}
        headers = {"Origin": origin, "Cookie": f"{ATTEMPT_COOKIE}={self.cookie}".encode()}
        content = json.dumps(body).encode()
        return self.service.post(None, f"/sign-in/{provider}", headers=headers, content=content)

    def claims(self, provider: LoopbackProvider, now: float, **other: Any) -> dict[str, Any]:
        """Return what an honest token says of ana, in answer to this browser's attempt."""
        who = {"sub": "248289761001", "email": "ana@example.com", "email_verified": True}
        times = {"iat": now, "exp": now + 300}
        said = {"iss": provider.url, "aud": CLIENT, "nonce": self.asked["nonce"], **times, **who}
        return {name: value for name, value in {**said, **other}.items() if value is not None}


class ProviderPlace:
    """A service with one honest-looking provider, and another one beside it."""

    def __init__(
        self, gate: Gate, runner: asyncio.Runner, clock: Clock, groups: GroupsSettings | None = None
    ) -> None:
        self.clock, self.seconds = clock, 0.0
        self.provider, self.other = LoopbackProvider(), LoopbackProvider()
        settings = (self.provider.settings(label="Example Corp", groups=groups), self.other.settings("other"))
        known = {one.name: one.identity_provider for one in settings}
        self.gate = msgspec.structs.replace(gate, providers=known)
        self.service = Service(self.gate, runner)
        providers = {one.name: Provider(one, clock=lambda: self.seconds) for one in settings}
        pages = [*page_routes(self.gate), *provider_routes(self.gate, providers, (ORIGIN,))]
        wanted = ServiceSettings(origins=(DEVICE_ORIGIN,), ping=60.0)  # a heartbeat ends no stream here
        self.service.app = make_app(self.gate, hosts=(HOST, "other.test"), pages=pages, settings=wanted)
        self.service.running = self.service.app.state.running

    def visitor(self) -> Visitor:
        return Visitor(self.service)

    def attempt(self, **other: Any) -> httpx.Response:
        """Somebody signs in, and the token says this besides, or leaves it out."""
        who = self.visitor()
        who.begin()
        told: httpx.Response = who.come_back(
            self.provider.give_code(who.claims(self.provider, self.clock.now, **other))
        )
        return told

    def signed_in(self) -> list[Any]:
        with self.gate.store.read() as tx:
            rows = [one for one in tx.entries("main") if one.event == "SIGNED_IN"]
        return [json.loads(one.body or b"{}")["details"] for one in rows]

    def stop(self) -> None:
        self.provider.stop()
        self.other.stop()
