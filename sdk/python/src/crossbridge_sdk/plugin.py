"""A plugin: its kinds, its config, its limits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from . import document, schema, violation
from ._proto import plugin_service_pb2
from .call import ConfigCall
from .failure import Failure
from .log import CallFilter
from .published import DeclarationError, PublishedKind
from .resource import Resource
from .serve import ENDPOINT, ServeError, serve
from .service import Declared
from .violation import LABEL_LIMIT, Violation, quoted

# Contract packages that this SDK speaks.
CONTRACT_VERSIONS = ("v1alpha1",)
DEFAULT_CONCURRENT_CALLS = 256
DEFAULT_MESSAGE_BYTES = 4 << 20
# What is cancelled at the end may last so long, in seconds.
END_GRACE = 2.0


@dataclass(frozen=True)
class CredentialKey:
    """A credential that the plugin understands. `required`: it must be there, unless there are none at all, which means ambient identity."""

    name: str
    description: str = ""
    required: bool = False


class Plugin:
    """A plugin: its kinds, what configures it, and the limits under which it is served.

    The name is a DNS subdomain of at most 63 bytes that stays the same for ever, the version a semantic one. `settings` is the model of what a
    `ProviderConfig` holds. `check_config` tries a config, changing nothing, and returns whom the upstream takes us for: account,
    subscription, project; without it every config whose settings can be read is good. `failures` is the one table of what the upstream's own
    exceptions mean: `{botocore.exceptions.ClientError: of_client_error}`.
    """

    def __init__(
        self,
        name: str,
        version: str,
        resources: Sequence[Resource[Any, Any]],
        *,
        settings: type[BaseModel] | None = None,
        credentials: Sequence[CredentialKey] = (),
        check_config: Callable[[ConfigCall], str | Awaitable[str]] | None = None,
        failures: Mapping[type[Exception], Callable[[Any], Failure]] | None = None,
        max_concurrent_calls: int = DEFAULT_CONCURRENT_CALLS,
        max_message_bytes: int = DEFAULT_MESSAGE_BYTES,
    ) -> None:
        self.name = name
        self.version = version
        self.resources = list(resources)
        self.settings = settings
        self.credentials = list(credentials)
        self.check_config = check_config
        self.failures = dict(failures or {})
        self.max_concurrent_calls = max_concurrent_calls
        self.max_message_bytes = max_message_bytes

    def serve(self) -> None:
        """Serves at the endpoint that `PROVIDER_PLUGIN_ENDPOINT` names until SIGTERM or SIGINT; then lets running calls end, and returns.

        A mistake in the declarations, or an endpoint that cannot be served, ends the process with an error.
        """
        if not logging.getLogger().handlers:
            handler = logging.StreamHandler()
            handler.addFilter(CallFilter())
            logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", handlers=[handler])
        try:
            asyncio.run(self._serve_until_signal())
        except (DeclarationError, ServeError) as error:
            sys.exit(f"{self.name}: {error}")

    async def _serve_until_signal(self) -> None:
        with _stop_signals() as stop:
            endpoint = os.environ.get(ENDPOINT, "")
            if not endpoint:
                raise ServeError(
                    f"set {ENDPOINT} to the address at which the bridge finds this plugin: unix:///path, https://host:port, or http://127.0.0.1:port"
                )
            await self.serve_at(endpoint, stop)
        await _end_of_tasks()

    async def serve_at(self, endpoint: str, stop: asyncio.Event) -> None:
        """Serves at this endpoint until `stop` is set; then lets running calls end, and returns.

        Raises `DeclarationError` and `ServeError`.
        """
        await serve(self.declared(), endpoint, stop)

    def declared(self) -> Declared:
        """Puts the declarations together and checks them. Raises `DeclarationError`."""
        kinds: dict[str, PublishedKind] = {}
        for resource in self.resources:
            kind = PublishedKind(resource)
            if kind.type in kinds:
                raise DeclarationError(f"kind {kind.type} is registered twice: by {kinds[kind.type].place}, and by {kind.place}")
            kinds[kind.type] = kind
        if not kinds:
            raise DeclarationError("the plugin has no kind: give it at least one resource")
        _check_required_examples(list(kinds.values()))
        if self.max_concurrent_calls < 1 or self.max_message_bytes < 1:
            raise DeclarationError("a plugin that takes no calls, or no bytes, serves no caller")
        try:
            info = self._info(lists_external=any(kind.listable for kind in kinds.values()))
        except (Violation, schema.NotStructural) as problem:
            raise DeclarationError(f"the plugin's {problem}") from None
        return Declared(
            info=info,
            kinds=kinds,
            settings=self.settings,
            check_config=self.check_config,
            required_credentials=[key.name for key in self.credentials if key.required],
            failures=self.failures,
        )

    def _info(self, *, lists_external: bool) -> plugin_service_pb2.GetPluginInfoResponse:
        violation.dns_subdomain(self.name, "name", LABEL_LIMIT)
        violation.semantic_version(self.version, "version")
        for index, key in enumerate(self.credentials):
            violation.secret_key(key.name, f"credential_keys[{index}].name")
        violation.distinct([key.name for key in self.credentials], "credential_keys", "name")
        config_schema = ""
        if self.settings is not None:
            try:
                config_schema = document.text(schema.structural(self.settings))
            except schema.NotStructural as problem:
                raise schema.NotStructural(f"config_schema_json, the type of the settings: {problem}") from None
        return plugin_service_pb2.GetPluginInfoResponse(
            name=self.name,
            version=self.version,
            contract_versions=CONTRACT_VERSIONS,
            features=[plugin_service_pb2.FEATURE_LIST_EXTERNAL] if lists_external else [],
            instance_id=str(uuid.uuid4()),
            max_concurrent_calls=self.max_concurrent_calls,
            max_message_bytes=self.max_message_bytes,
            config_schema_json=config_schema,
            credential_keys=[
                plugin_service_pb2.CredentialKey(name=key.name, description=key.description, required=key.required) for key in self.credentials
            ],
        )


async def _end_of_tasks() -> None:
    """Ends the process in spite of calls that ignore their cancellation: they were answered at their deadlines."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        _, left = await asyncio.wait(tasks, timeout=END_GRACE)
        if left:
            logging.getLogger("crossbridge_sdk").warning("%d tasks ignore their cancellation", len(left))
            logging.shutdown()
            os._exit(0)


def _check_required_examples(kinds: Sequence[PublishedKind]) -> None:
    """An example can only require one that is there."""
    names = {f"{kind.kind.kind}/{example.name}" for kind in kinds for example in kind.kind.examples}
    for kind in kinds:
        for example in kind.kind.examples:
            for required in example.requires:
                if required not in names:
                    name = quoted(example.name)
                    raise DeclarationError(f"kind {kind.kind.kind}: example {name} requires {quoted(required)}, which no kind has ({kind.place})")


@contextlib.contextmanager
def _stop_signals() -> Iterator[asyncio.Event]:
    """Is set at SIGTERM and SIGINT, from now on, whichever thread the kernel hands them to."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
