"""Telegram, Slack, ntfy, a webhook's receiver and a mail server, as small servers on this machine.

Each keeps to the documented API of its original as far as Sayso uses it, and refuses what that would refuse.
"""

from __future__ import annotations

import hmac
import json
import socketserver
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import quote

from sayso.core.signed_messages import SignedMessage, check_message, sign_message

TOKEN = "123:secret-token"
SIGNING = "slack-signing-secret"
SECRET = b"0123456789abcdef0123456789abcdef"

Answer = tuple[str, dict[str, str], bytes]
"""Where a pressed button sends something: the path below our service, its headers and body."""


def strings_in(value: object) -> Iterator[str]:
    """Yield every text in what was sent, as its bytes are: `repr` would hide what acts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from strings_in([key, one])
    elif isinstance(value, list):
        for one in value:
            yield from strings_in(one)


class LoopbackService:
    """A server on a free port. `posts` is what arrived; while it is `down` it answers 503."""

    def __init__(self) -> None:
        self.down = False
        self.wish = ""
        """What Retry-After says while it is down."""
        self.posts: list[tuple[str, dict[str, str], bytes]] = []
        self.accepted: list[bytes] = []
        """What arrived while it was not down."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        raise NotImplementedError

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {key.lower(): value for key, value in self.headers.items()}
                service.posts.append((self.path, headers, body))
                busy = 429 if service.wish else 503
                status, told = (busy, {}) if service.down else service.answer(self.path, headers, body)
                if not service.down:
                    service.accepted.append(body)
                content = json.dumps(told).encode()
                self.send_response(status)
                if service.down and service.wish:
                    self.send_header("retry-after", service.wish)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        return Handler


class FakeTelegram(LoopbackService):
    """sendMessage, editMessageText and getUpdates with callback queries."""

    def __init__(self) -> None:
        self.messages: dict[int, dict[str, Any]] = {}
        self.updates: list[dict[str, Any]] = []
        self.received: list[str] = []
        super().__init__()

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        prefix = f"/bot{TOKEN}/"
        if not path.startswith(prefix):
            return 401, {"ok": False, "error_code": 401, "description": "Unauthorized"}
        what = json.loads(body)
        methods = {
            "sendMessage": self._send_message,
            "editMessageText": self._edit_message_text,
            "getUpdates": self._get_updates,
            "answerCallbackQuery": self._answer_callback_query,
        }
        return methods[path.removeprefix(prefix)](what)

    def _send_message(self, what: dict[str, Any]) -> tuple[int, Any]:
        if not 1 <= len(what["text"].encode("utf-16-le")) // 2 <= 4096:
            return 400, {"ok": False, "description": "Bad Request: message is too long"}
        for row in what.get("reply_markup", {}).get("inline_keyboard", []):
            for button in row:
                if "callback_data" in button and len(button["callback_data"].encode()) > 64:
                    return 400, {"ok": False, "description": "Bad Request: BUTTON_DATA_INVALID"}
        number = len(self.messages) + 1
        self.messages[number] = {"message_id": number, "chat": {"id": int(what["chat_id"])}, **what}
        return 200, {"ok": True, "result": self.messages[number]}

    def _edit_message_text(self, what: dict[str, Any]) -> tuple[int, Any]:
        if what["message_id"] not in self.messages:
            return 400, {"ok": False, "description": "Bad Request: message to edit not found"}
        message = self.messages[what["message_id"]]
        message["text"] = what["text"]
        message["reply_markup"] = what.get("reply_markup", {"inline_keyboard": []})
        return 200, {"ok": True, "result": message}

    def _answer_callback_query(self, what: dict[str, Any]) -> tuple[int, Any]:
        self.received.append(what["callback_query_id"])
        return 200, {"ok": True, "result": True}

    def _get_updates(self, what: dict[str, Any]) -> tuple[int, Any]:
        offset = what.get("offset", 0)
        return 200, {"ok": True, "result": [one for one in self.updates if one["update_id"] >= offset]}

    def with_buttons(self) -> list[int]:
        """Return the messages that show a button."""
        return [
            name for name, one in self.messages.items() if one.get("reply_markup", {}).get("inline_keyboard")
        ]

    def press(
        self,
        text: str,
        who: int,
        *,
        chat: int | None = None,
        data: str | None = None,
        on: int | None = None,
    ) -> None:
        """Somebody presses the button with this text, on this message or the newest that has it."""
        for message in [self.messages[on]] if on else reversed(self.messages.values()):
            for row in message.get("reply_markup", {}).get("inline_keyboard", []):
                for button in row:
                    if button["text"] == text:
                        self._press(message, who, data or button["callback_data"], chat)
                        return
        raise AssertionError(f"nothing shows a button {text!r}")

    def _press(self, message: dict[str, Any], who: int, data: str, chat: int | None) -> None:
        shown = {**message, "chat": {"id": chat or message["chat"]["id"]}}
        number = len(self.updates) + 1
        by = {"id": who, "username": "somebody"}
        query = {"id": str(number), "from": by, "message": shown, "data": data}
        self.updates.append({"update_id": number, "callback_query": query})


class FakeSlack(LoopbackService):
    """chat.postMessage and chat.update, and buttons that are sent to us signed."""

    def __init__(self) -> None:
        self.messages: dict[str, dict[str, Any]] = {}
        self.presses = 0
        super().__init__()

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return 200, {"ok": False, "error": "invalid_auth"}
        what = json.loads(body)
        for block in what.get("blocks", []):
            if block["type"] == "section" and len(block["text"]["text"]) > 3000:
                return 200, {"ok": False, "error": "invalid_blocks"}
        if path == "/api/chat.postMessage":
            name = f"{len(self.messages) + 1}.0001"
            self.messages[name] = what
            return 200, {"ok": True, "ts": name, "channel": what["channel"]}
        if path == "/api/chat.update" and what["ts"] in self.messages:
            self.messages[what["ts"]] = what
            return 200, {"ok": True, "ts": what["ts"]}
        return 200, {"ok": False, "error": "message_not_found"}

    def with_buttons(self) -> list[str]:
        """Return the messages that show a button."""
        return [
            name for name, one in self.messages.items() if any("elements" in block for block in one["blocks"])
        ]

    def press(
        self,
        text: str,
        who: str,
        *,
        secret: str = SIGNING,
        at: float | None = None,
        on: str | None = None,
    ) -> Answer:
        """What Slack sends us when somebody presses this button, on this or the newest message with it."""
        for name in [on] if on else reversed(self.messages):
            for block in self.messages[name].get("blocks", []):
                for button in block.get("elements", []):
                    if button["text"]["text"] == text:
                        return self._payload(name, button, who, secret, at)
        raise AssertionError(f"nothing shows a button {text!r}")

    def _payload(self, name: str, button: dict[str, Any], who: str, secret: str, at: float | None) -> Answer:
        place = {"type": "message", "message_ts": name, "channel_id": self.messages[name]["channel"]}
        user = {"id": who}
        self.presses += 1
        pressed = {**button, "action_ts": f"{time.time():.6f}{self.presses}"}
        payload = {"type": "block_actions", "user": user, "container": place, "actions": [pressed]}
        body = f"payload={quote(json.dumps(payload))}".encode()
        sent = str(int(time.time() if at is None else at))
        mac = hmac.new(secret.encode(), f"v0:{sent}:".encode() + body, "sha256").hexdigest()
        headers = {"x-slack-request-timestamp": sent, "x-slack-signature": f"v0={mac}"}
        return "slack", headers, body


class FakeNtfy(LoopbackService):
    """Publishing as JSON, and buttons that call us."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        super().__init__()

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        what = json.loads(body)
        if len(what.get("actions", [])) > 3:
            return 400, {"code": 40018, "error": "too many actions"}
        if len(what["message"].encode()) > 4096:
            return 413, {"code": 41301, "error": "it would be sent as an attachment"}
        self.messages.append(what)
        return 200, {"id": f"m{len(self.messages)}", "event": "message", "topic": what["topic"]}

    def press(self, text: str) -> Answer:
        for message in reversed(self.messages):
            for button in message.get("actions", []):
                if button["label"] == text:
                    return "phone", button["headers"], button["body"].encode()
        raise AssertionError(f"nothing shows a button {text!r}")


class FakeReceiver(LoopbackService):
    """A receiver of webhooks that checks signatures and takes each id once."""

    def __init__(self) -> None:
        self.taken: dict[str, dict[str, Any]] = {}
        self.replies = 0
        super().__init__()

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        signed = SignedMessage(
            headers["webhook-id"], headers["webhook-timestamp"], headers["webhook-signature"], body
        )
        check_message(signed, [SECRET], time.time())
        self.taken.setdefault(headers["webhook-id"], json.loads(body))
        return 204, {}

    def reply(self, answer: str, by: str, *, secret: bytes = SECRET, **changed: str) -> Answer:
        """What somebody's program sends us after it was sent a question."""
        card = [one["data"] for one in self.taken.values() if one["type"] == "question.asked"][-1]
        token = next(one["token"] for one in card["answers"] if one["answer"] == answer)
        told = {"question": card["question"], "answer": answer, "token": token, "by": by, **changed}
        body, sent = json.dumps(told).encode(), int(time.time())
        self.replies += 1
        name = f"back{self.replies}"
        headers = {
            "webhook-id": name,
            "webhook-timestamp": str(sent),
            "webhook-signature": sign_message(secret, name, sent, body),
        }
        return "hook", headers, body


class FakeMailServer:
    """Speaks as much SMTP as it takes to receive a mail. While it is `down` it takes none."""

    def __init__(self) -> None:
        self.mails: list[str] = []
        self.down = False
        server, mails = self, self.mails

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self._say("421 not now" if server.down else "220 test")
                if server.down:
                    return
                for raw in self.rfile:
                    word = raw.decode().strip().upper()
                    if word.startswith("DATA"):
                        self._say("354 go on")
                        lines = iter(lambda: self.rfile.readline().decode().rstrip("\r\n"), ".")
                        mails.append("\n".join(lines))
                        self._say("250 taken")
                    elif word.startswith("QUIT"):
                        self._say("221 bye")
                        return
                    else:
                        self._say("250 ok")

            def _say(self, line: str) -> None:
                self.wfile.write(f"{line}\r\n".encode())

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def port(self) -> int:
        return cast("tuple[str, int]", self._server.server_address)[1]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
