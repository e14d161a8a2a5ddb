"""The contract's services as gRPC serves them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import Message

from .._proto import discovery_service_pb2, plugin_service_pb2, resource_service_pb2
from ..failure import Rejected, place
from ..metadata import Metadata
from ..service import Service

logger = logging.getLogger("crossbridge_sdk")

_FILES = (plugin_service_pb2.DESCRIPTOR, resource_service_pb2.DESCRIPTOR, discovery_service_pb2.DESCRIPTOR)
_MESSAGES = {
    name: getattr(module, name)
    for module in (plugin_service_pb2, resource_service_pb2, discovery_service_pb2)
    for name in module.DESCRIPTOR.message_types_by_name
}


class Handlers:
    """The calls of one server: how many run, and whether more may begin."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._handled = 0
        self.stopping = False

    @property
    def running(self) -> int:
        """Calls that are not yet answered, and author's code that still runs."""
        return max(self._handled, self._service.guard.running)

    def services(self) -> dict[str, Any]:
        """Returns the services by their full names. Discovery is one of them if a kind is listable."""
        found = {}
        for file in _FILES:
            for service in file.services_by_name.values():
                if service.name != "DiscoveryService" or self._service.lists_external:
                    methods = {method.name: self._handler(method) for method in service.methods}
                    found[service.full_name] = grpc.method_handlers_generic_handler(service.full_name, methods)
        return found

    def _handler(self, method: Any) -> Any:
        request, response = _MESSAGES[method.input_type.name], _MESSAGES[method.output_type.name]
        snake_case = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in method.name).lstrip("_")
        return grpc.unary_unary_rpc_method_handler(
            self._answering(getattr(self._service, snake_case)),
            request_deserializer=request.FromString,
            response_serializer=response.SerializeToString,
        )

    def _answering(self, answer: Callable[[Any, Metadata], Awaitable[Message]]) -> Callable[..., Awaitable[Message]]:
        async def answered(request: Message, context: grpc.aio.ServicerContext[Any, Any]) -> Message:
            if self.stopping:
                await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the plugin is stopping: nothing was done")
            timeout = context.time_remaining()
            self._handled += 1
            try:
                return await answer(request, Metadata.read(context.invocation_metadata() or (), timeout))
            except Rejected as rejected:
                logger.info("rejected: %s: %s", rejected.status.name, rejected.message)
                status, message = rejected.status, rejected.message
            except Exception as error:  # noqa: BLE001 (gRPC would log it with its text)
                logger.error("a bug of the SDK: %s", place(error))
                status, message = grpc.StatusCode.INTERNAL, "internal error in the SDK; see the log of the plugin"
            finally:
                self._handled -= 1
            await context.abort(status, message)
            raise AssertionError

        return answered
