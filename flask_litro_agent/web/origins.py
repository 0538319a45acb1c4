"""Hosts and origins, parsed by one strict grammar: what does not fit it is refused, never repaired.

A host is RFC 3986's ``host [":" port]`` without user, path or percent-encoding, in ASCII; an origin is RFC 6454's
serialisation with http or https.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Host", "parse_host", "parse_origin"]

_HOST = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?"
)
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#\\@]{1,300})", re.IGNORECASE)
_DEFAULT_PORT = {"http": 80, "https": 443}


class Host(NamedTuple):
    """A host in lower case, and its port where one is written."""

    name: str
    port: int | None


class Origin(NamedTuple):
    """An origin; the port is always known."""

    scheme: str
    name: str
    port: int

    def is_of(self, host: Host, *, secure: bool) -> bool:
        """Whether a page of this origin belongs to that host; on a secure request only an https page does."""
        if secure and self.scheme != "https":
            return False
        port = host.port if host.port is not None else _DEFAULT_PORT[self.scheme]
        return (self.name, self.port) == (host.name, port)


def parse_host(text: str) -> Host | None:
    """Return the host of a Host or X-Forwarded-Host value, None when it is not exactly one."""
    match = _HOST.fullmatch(text)
    if match is None or ".." in match["name"]:
        return None
    port = int(match["port"]) if match["port"] else None
    if port is not None and not 0 < port < 65536:
        return None
    return Host(match["name"].lower(), port)


def parse_origin(text: str) -> Origin | None:
    """Return the origin of an Origin value, None for ``null``, a list, or anything else."""
    match = _ORIGIN.fullmatch(text)
    host = parse_host(match["host"]) if match else None
    if match is None or host is None:
        return None
    scheme = match["scheme"].lower()
    return Origin(scheme, host.name, host.port if host.port is not None else _DEFAULT_PORT[scheme])
