"""Mutual TLS from files that the environment names, read anew once they have changed."""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path
from typing import Any, cast

import grpc

from .endpoint import ServeError

logger = logging.getLogger("crossbridge_sdk")

CERTIFICATE = "PROVIDER_PLUGIN_TLS_CERT"
KEY = "PROVIDER_PLUGIN_TLS_KEY"
CLIENTS = "PROVIDER_PLUGIN_TLS_CA"

_Version = tuple[tuple[int, int, int], ...]


class Certificates:
    """The plugin's certificate and key, and the CA of those who may call."""

    def __init__(self) -> None:
        self._paths = [_path(variable) for variable in (CERTIFICATE, KEY, CLIENTS)]
        for variable, path in zip((CERTIFICATE, KEY, CLIENTS), self._paths, strict=True):
            try:
                path.read_bytes()
            except OSError as error:
                raise ServeError(f"cannot read the file that {variable} names: {error}") from None
        try:
            self._version, self._loaded = self._version_now(), self._load()
        except (OSError, ssl.SSLError) as error:
            raise ServeError(f"the certificate, its key and the CA cannot be used: {error}") from None
        self._failed: _Version | None = None

    def credentials(self) -> grpc.ServerCredentials:
        """Returns credentials that follow the files. A client without a certificate of that CA is not served."""
        return grpc.dynamic_ssl_server_credentials(self._loaded, cast("Any", self.changed), require_client_authentication=True)

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Returns what is to be used from now on, if that has changed. Called at each new connection."""
        version: _Version = ()
        try:
            version = self._version_now()
            if version in (self._version, self._failed):
                return None
            loaded = self._load()
        except (OSError, ssl.SSLError) as error:
            if version != self._failed or not version:
                # An SSL error names no contents.
                logger.warning("failed to read the changed TLS files: %s: those that were read last count", error)
            self._failed = version
            return None
        self._version, self._failed = version, None
        logger.info("the TLS files were read anew")
        return loaded

    def _version_now(self) -> _Version:
        return tuple((found.st_mtime_ns, found.st_ino, found.st_size) for found in (path.stat() for path in self._paths))

    def _load(self) -> grpc.ServerCertificateConfiguration:
        certificate, key, clients = self._paths
        # What cannot be used would break each handshake: found out here.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.load_verify_locations(clients)
        return grpc.ssl_server_certificate_configuration([(key.read_bytes(), certificate.read_bytes())], clients.read_bytes())


def _path(variable: str) -> Path:
    path = os.environ.get(variable)
    if not path:
        raise ServeError(f"an https endpoint needs mutual TLS: set {variable} to a PEM file")
    return Path(path)
