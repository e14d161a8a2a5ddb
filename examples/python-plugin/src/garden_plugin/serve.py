"""Where and how a plugin is served: socket, health, reflection, the end."""

import errno
import ipaddress
import logging
import os
import socket
import stat
from concurrent import futures
from pathlib import Path
from typing import Protocol
from urllib.parse import SplitResult, quote, urlsplit

import grpc
from crossbridge.provider.v1alpha1 import (
    plugin_service_pb2,
    plugin_service_pb2_grpc,
    resource_service_pb2,
    resource_service_pb2_grpc,
)
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from .drain import Running, drain
from .kind import Kind
from .plugin_service import PluginService
from .resource_service import ResourceService

CALLS_AT_ONCE = 64


class CannotServe(Exception):
    """For whoever started the plugin."""


class Stop(Protocol):
    """Until when it is served."""

    def wait(self) -> object: ...


def serve(endpoint: str, kinds: list[Kind], stop: Stop) -> None:
    """Serves until `stop` and until the calls that ran then have ended."""
    plugin, resource = PluginService(kinds), ResourceService(kinds)
    # Beside the calls there are streams of health and reflection.
    running = Running()
    server = grpc.server(futures.ThreadPoolExecutor(CALLS_AT_ONCE + 16), interceptors=[running])
    plugin_service_pb2_grpc.add_PluginServiceServicer_to_server(plugin, server)
    resource_service_pb2_grpc.add_ResourceServiceServicer_to_server(resource, server)
    services = [
        plugin_service_pb2.DESCRIPTOR.services_by_name["PluginService"].full_name,
        resource_service_pb2.DESCRIPTOR.services_by_name["ResourceService"].full_name,
    ]
    status = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    for name in ["", *services]:
        status.set(name, health_pb2.HealthCheckResponse.SERVING)
    reflection.enable_server_reflection([*services, health.SERVICE_NAME, reflection.SERVICE_NAME], server)

    bind(server, endpoint)
    server.start()
    logging.info("serving %s at %s", ", ".join(kind.type.kind for kind in kinds), endpoint)
    stop.wait()
    logging.info("stopping: running calls may end, no new ones begin")
    status.enter_graceful_shutdown()
    drain(server, running)
    logging.info("stopped")


def bind(server: grpc.Server, endpoint: str) -> None:
    try:
        # A path is taken as it is written: nothing in it is escaped.
        path = endpoint.removeprefix("unix://")
        url = urlsplit(endpoint)
        if path != endpoint and path.startswith("/"):
            bind_socket(server, Path(path))
        elif url.scheme == "http" and url.port and is_loopback(url.hostname):
            server.add_insecure_port(address(url))
        elif url.scheme == "https" and url.port:
            server.add_secure_port(address(url), mutual_tls())
        else:
            raise CannotServe("write unix:///path, https://host:port, or http://127.0.0.1:port on loopback")
    except (OSError, RuntimeError, ValueError) as error:
        raise CannotServe(str(error)) from error


def address(url: SplitResult) -> str:
    """As gRPC wants it: an IPv6 address in brackets."""
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    return f"{host}:{url.port}"


def bind_socket(server: grpc.Server, path: Path) -> None:
    """gRPC replaces a file that is there, so that another owner's must be found out before."""
    reject_if_in_use(path)
    before = os.umask(0o177)
    try:
        server.add_insecure_port(f"unix:{quote(str(path))}")
    finally:
        os.umask(before)


def reject_if_in_use(path: Path) -> None:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise CannotServe("there is a file that is no socket; remove it, or name another path")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        result = probe.connect_ex(str(path))
    if result == 0:
        raise CannotServe("another process serves there; stop it, or name another path")
    if result != errno.ECONNREFUSED:
        raise CannotServe(f"cannot find out whether another process serves there: {os.strerror(result)}")


def is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def mutual_tls() -> grpc.ServerCredentials:
    def pem(name: str) -> bytes:
        path = os.environ.get(name)
        if not path:
            raise CannotServe(f"an https endpoint needs mutual TLS: set {name} to a PEM file")
        return Path(path).read_bytes()

    pair = (pem("PROVIDER_PLUGIN_TLS_KEY"), pem("PROVIDER_PLUGIN_TLS_CERT"))
    return grpc.ssl_server_credentials([pair], pem("PROVIDER_PLUGIN_TLS_CA"), require_client_auth=True)
