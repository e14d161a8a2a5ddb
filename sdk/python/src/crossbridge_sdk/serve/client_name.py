"""Which clients are served: those whose certificate bears the name that the environment demands."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any

import grpc
import grpc.aio

from .endpoint import ServeError

CLIENT_NAME = "PROVIDER_PLUGIN_TLS_CLIENT_NAME"

_DNS_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*", re.IGNORECASE)


class ClientName:
    """The DNS name or IP address that must be among the subject alternative names of a client's certificate."""

    def __init__(self, name: str) -> None:
        self._name = name.lower()
        self._address = _address(name)
        if self._address is None and not _DNS_NAME.fullmatch(name):
            raise ServeError(f"{CLIENT_NAME} is neither a DNS name nor an IP address: {name!r}")

    @classmethod
    def of_environment(cls) -> ClientName | None:
        """Returns what is demanded; None: every certificate of the authority will do."""
        name = os.environ.get(CLIENT_NAME)
        return cls(name) if name else None

    def is_borne_by(self, peer: Mapping[str, Iterable[bytes]]) -> bool:
        """Tells whether the peer's certificate, of a handshake that succeeded, bears the name. Its common name does not count."""
        if self._address is not None:
            return any(_address(_text(found)) == self._address for found in peer.get("peer_ip") or ())
        return any(self._matches(_text(found).lower()) for found in peer.get("peer_dns") or ())

    def _matches(self, found: str) -> bool:
        if found.startswith("*."):
            label, dot, rest = self._name.partition(".")
            # None for all names of a top-level domain, as elsewhere.
            return bool(label and dot) and "." in rest and rest == found[2:]
        return found == self._name


class OnlyFrom(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # Its type has no parameters where it runs.
    """Ends each call of a client that does not bear the name, before anything of it is served."""

    def __init__(self, name: ClientName) -> None:
        self._name = name

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any) -> Any:
        """Returns the method's handler, with the check before it."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        if handler.response_streaming:
            return _with_behaviour(handler, self._checked_stream(handler.stream_stream or handler.unary_stream))
        return _with_behaviour(handler, self._checked(handler.stream_unary or handler.unary_unary))

    async def _check(self, context: Any) -> None:
        if not self._name.is_borne_by(context.auth_context() or {}):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, f"the client's certificate does not bear the name that {CLIENT_NAME} demands")

    def _checked(self, behaviour: Any) -> Any:
        async def checked(request: Any, context: Any) -> Any:
            await self._check(context)
            return await behaviour(request, context)

        return checked

    def _checked_stream(self, behaviour: Any) -> Any:
        async def checked(request: Any, context: Any) -> AsyncIterator[Any]:
            await self._check(context)
            answers = behaviour(request, context)
            if hasattr(answers, "__aiter__"):
                async for answer in answers:
                    yield answer
            else:
                # It writes to the context by itself.
                await answers

        return checked


def _with_behaviour(handler: Any, behaviour: Any) -> Any:
    shape = ("stream" if handler.request_streaming else "unary") + "_" + ("stream" if handler.response_streaming else "unary")
    build = getattr(grpc, f"{shape}_rpc_method_handler")
    return build(behaviour, request_deserializer=handler.request_deserializer, response_serializer=handler.response_serializer)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _text(found: bytes) -> str:
    return found.decode("utf-8", "replace")
