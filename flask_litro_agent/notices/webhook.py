"""One signed POST to the address that the site named, as the Standard Webhooks specification (1.0.0) has it.

    webhook-id          the message's: the same at every attempt, so a receiver knows what it has had
    webhook-timestamp   seconds since the epoch, of this attempt
    webhook-signature   v1,<base64 of HMAC-SHA256 over "id.timestamp.body">

The address may hold a secret of its own, as those of chat services do: no error and no log has more than its host.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from flask_litro_agent.contracts import Stop
from flask_litro_agent.providers import http
from flask_litro_agent.providers.refusals import retry_after

__all__ = ["Answer", "Webhook"]

_LIMITS: Final = http.Limits(connect_seconds=5.0, idle_seconds=10.0, total_seconds=15.0, max_bytes=64 * 1024)
_GONE: Final = 410


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of an attempt: ``said`` is a piece of a sentence; ``retry_after`` in seconds, when it was asked for."""

    is_taken: bool
    said: str
    is_final: bool = False
    retry_after: float | None = None


class Webhook:
    """The receiver of one site's messages; ``secret`` is the key that it checks signatures with."""

    def __init__(self, url: str, secret: str, *, limits: http.Limits = _LIMITS) -> None:
        self._url = url
        self._key = base64.b64decode(secret.removeprefix("whsec_"))
        self._limits = limits

    @property
    def host(self) -> str:
        """Where it goes, without what the address may keep secret."""
        return urlsplit(self._url).netloc

    @property
    def is_private(self) -> bool:
        """Whether nobody on the way can read it: it is encrypted, or stays on this machine."""
        place = urlsplit(self._url)
        return place.scheme == "https" or place.hostname in ("localhost", "127.0.0.1", "::1")

    def post(self, message_id: str, body: bytes, *, at: int) -> Answer:
        """Send it now, ``at`` seconds since the epoch. No redirect is followed, and the answer's body is not read."""
        headers = {
            "content-type": "application/json",
            "user-agent": "flask-litro-agent",
            "webhook-id": message_id,
            "webhook-timestamp": str(at),
            "webhook-signature": self.signature(message_id, body, at=at),
        }
        try:
            with http.post(
                self._url, headers=headers, body=body, limits=self._limits, stop=Stop()
            ) as exchange:
                return _answer(exchange)
        except http.UpstreamFailed as failed:
            return Answer(False, f"could not be reached ({failed.error.code})")

    def signature(self, message_id: str, body: bytes, *, at: int) -> str:
        """Return the header's value."""
        signed = b".".join((message_id.encode(), str(at).encode(), body))
        return f"v1,{base64.b64encode(hmac.digest(self._key, signed, hashlib.sha256)).decode()}"


def _answer(exchange: http.Exchange) -> Answer:
    status = exchange.status
    if 200 <= status < 300:
        return Answer(True, f"answered {status}")
    said = f"answered {status}" + (", and redirects are not followed" if 300 <= status < 400 else "")
    return Answer(False, said, is_final=status == _GONE, retry_after=retry_after(exchange.headers))
