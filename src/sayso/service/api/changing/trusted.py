"""The trusted channel: signed messages, and nothing else that is sent here, count."""

from __future__ import annotations

import logging

from sayso.core.signed_messages import SignedMessage
from sayso.gate.open import gate_data_folder
from sayso.gate.trusted.receive import receive_message
from sayso.gate.trusted.settings_file import FILE_NAME, TrustedRefused
from sayso.service.api.call_body import describe_call
from sayso.service.http.endpoints import Context, Endpoint, UnreadBody
from sayso.wire import TRUSTED_PATH, CallView

log = logging.getLogger("sayso.service")


def post_signed_message(context: Context) -> CallView:
    """Check the signature and decide what the message asks for."""
    body: UnreadBody = context.body
    message = SignedMessage(
        body.headers.get("webhook-id", ""),
        body.headers.get("webhook-timestamp", ""),
        body.headers.get("webhook-signature", ""),
        body.content,
    )
    running = context.running
    file = running.settings.trusted_file or gate_data_folder() / FILE_NAME
    try:
        attempt = receive_message(
            context.gate, file, message, source=body.source, log=running.refused_messages
        )
    except TrustedRefused as error:  # strangers learn neither where the file is nor what is wrong with it
        log.warning("the trusted channel is closed: %s", error.message)
        raise TrustedRefused("there is no trusted channel here") from error
    return describe_call(context.gate, attempt)


ENDPOINTS = (
    Endpoint(
        "POST",
        TRUSTED_PATH,
        frozenset(),
        "Send a signed message through the trusted channel",
        post_signed_message,
        result=CallView,
        raw=True,
    ),
)
