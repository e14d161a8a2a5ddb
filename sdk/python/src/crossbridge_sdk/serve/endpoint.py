"""Where a plugin is served."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

# The environment variable that names the address to serve.
ENDPOINT = "PROVIDER_PLUGIN_ENDPOINT"


class ServeError(Exception):
    """Why a plugin could not be served, and what to do."""


@dataclass(frozen=True)
class UnixEndpoint:
    """`unix:///path`: only its owner can reach it."""

    path: Path


@dataclass(frozen=True)
class TcpEndpoint:
    """`http://` on this machine, `https://` with mutual TLS. The address is as gRPC takes it."""

    address: str
    tls: bool


def parse(endpoint: str) -> UnixEndpoint | TcpEndpoint:
    """Reads an endpoint. Rejects plaintext beyond this machine."""
    scheme, separator, rest = endpoint.partition("://")
    if not separator:
        raise _unservable(endpoint, "write unix:///path, http://127.0.0.1:port or https://host:port")
    if scheme == "unix":
        if not rest.startswith("/"):
            raise _unservable(endpoint, "a socket needs an absolute path: unix:///path")
        # A path is taken as it is written: nothing in it is escaped.
        return UnixEndpoint(Path(rest))
    if scheme not in ("http", "https"):
        raise _unservable(endpoint, f"{scheme} is none of unix, http, https")
    try:
        url = urlsplit(endpoint)
        host, port = url.hostname, url.port
    except ValueError as error:
        raise _unservable(endpoint, f"{error}; write {scheme}://host:port") from None
    if not host or port is None or url.path.strip("/"):
        raise _unservable(endpoint, f"write {scheme}://host:port")
    if scheme == "http" and not _is_loopback(host):
        why = "plaintext is served on loopback only, as calls carry credentials; use https, or a unix socket"
        raise _unservable(endpoint, why)
    return TcpEndpoint(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", tls=scheme == "https")


def _is_loopback(host: str) -> bool:
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(address.split("%")[0]).is_loopback for address in found)


def _unservable(endpoint: str, why: str) -> ServeError:
    return ServeError(f'cannot serve at "{endpoint}": {why}')
