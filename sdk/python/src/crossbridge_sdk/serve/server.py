"""A server from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any, cast

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from ..service import Declared, Service
from . import unix_socket
from .client_name import ClientName, OnlyFrom
from .endpoint import ServeError, UnixEndpoint, parse
from .handlers import Handlers
from .tls import Certificates

# Their type stubs know nothing of asyncio.
health_aio: Any = cast("Any", health).aio
reflection_aio: Any = cast("Any", reflection).aio

logger = logging.getLogger("crossbridge_sdk")

REFLECTION_V1 = "grpc.reflection.v1.ServerReflection"
# HTTP/2 streams beside the calls: health, reflection.
SPARE_STREAMS = 64
# Longest life of a call that runs when the plugin stops, in seconds: calls have deadlines of at most a minute.
LONGEST_CALL = 65.0
# How long streams of health and reflection may last once no call runs any more, and the last answers are on their way.
CLOSE_GRACE = 0.5
TICK = 0.02


async def serve(declared: Declared, endpoint: str, stop: asyncio.Event) -> None:
    """Serves until `stop` is set and the calls that ran then have ended."""
    at = parse(endpoint)
    service = Service(declared)
    handlers = Handlers(service)
    demanded = ClientName.of_environment() if not isinstance(at, UnixEndpoint) and at.tls else None
    server = grpc.aio.server(
        interceptors=[OnlyFrom(demanded)] if demanded else None,
        options=[
            ("grpc.max_receive_message_length", declared.info.max_message_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_concurrent_streams", declared.info.max_concurrent_calls + SPARE_STREAMS),
            ("grpc.so_reuseport", 0),
        ],
    )
    status = await _add_services(server, handlers)
    with contextlib.ExitStack() as bound:
        if isinstance(at, UnixEndpoint):
            bound.enter_context(unix_socket.bound(at.path, server.add_insecure_port))
        else:
            credentials = Certificates().credentials() if at.tls else None
            try:
                if credentials is None:
                    server.add_insecure_port(at.address)
                else:
                    server.add_secure_port(at.address, credentials)
            except RuntimeError as error:
                raise ServeError(f'cannot serve at "{endpoint}": {error}') from None
        await server.start()
        kinds = ", ".join(kind.published.kind.kind for kind in service.kinds.values())
        logger.info("serving %s %s at %s: %s", declared.info.name, declared.info.version, endpoint, kinds)
        try:
            await stop.wait()
            logger.info("stopping: running calls may end, no new ones begin")
        finally:
            await _drain(server, handlers, status)
    logger.info("stopped")


async def _add_services(server: grpc.aio.Server, handlers: Handlers) -> Any:
    services = handlers.services()
    server.add_generic_rpc_handlers(tuple(services.values()))
    status = health_aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    for name in services:
        await status.set(name, health_pb2.HealthCheckResponse.SERVING)
    names = [*services, health.SERVICE_NAME, reflection.SERVICE_NAME]
    reflection.enable_server_reflection(names, server)
    # Its messages are those of v1alpha under another name.
    reflector = reflection_aio.ReflectionServicer(names)

    async def reflect(
        requests: AsyncIterator[reflection_pb2.ServerReflectionRequest], context: grpc.aio.ServicerContext[object, object]
    ) -> AsyncIterator[reflection_pb2.ServerReflectionResponse]:
        async for response in reflector.ServerReflectionInfo(requests, context):
            yield response

    method = grpc.stream_stream_rpc_method_handler(
        reflect,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(REFLECTION_V1, {"ServerReflectionInfo": method}),))
    return status


async def _drain(server: grpc.aio.Server, handlers: Handlers, status: Any) -> None:
    """Begins no further call, waits for those that run, and ends the streams of health and reflection."""
    handlers.stopping = True
    await status.enter_graceful_shutdown()
    ending = asyncio.create_task(server.stop(LONGEST_CALL))
    until = asyncio.get_running_loop().time() + LONGEST_CALL
    while handlers.running and asyncio.get_running_loop().time() < until:
        await asyncio.wait({ending}, timeout=TICK)
        if ending.done() and handlers.running:
            await asyncio.sleep(TICK)
    await asyncio.wait({ending}, timeout=CLOSE_GRACE)
    if not ending.done():
        logger.debug("connections were still open, without calls")
        await server.stop(None)
    await ending
