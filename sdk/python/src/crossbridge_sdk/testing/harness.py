"""The plugin under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from .. import document
from .._proto import discovery_service_pb2, plugin_service_pb2, target_pb2
from ..metadata import Metadata
from ..plugin import Plugin
from ..published import PublishedKind
from ..resource import Resource
from ..service import Service
from .answer import failure_of
from .cut import Cut, LabGuard, cut_with_place
from .test_resource import TestResource

P = TypeVar("P", bound=BaseModel)
S = TypeVar("S", bound=BaseModel)

# Most points of one creation at which the plugin is killed.
MOST_POINTS = 2000


def written(value: BaseModel | Mapping[str, Any]) -> target_pb2.Document:
    """Returns the document of a model, or of JSON."""
    json = document.write(value) if isinstance(value, BaseModel) else dict(value)
    return target_pb2.Document(json=document.text(json))


class Harness:
    """A plugin in this process, the config of its calls, and the means to start it anew.

    `plugin` is called once for each replica now, and again at each `restart`. The upstream, and nothing else, is what it shares between them.
    """

    def __init__(
        self,
        plugin: Callable[[], Plugin],
        *,
        settings: BaseModel | Mapping[str, Any] | None = None,
        credentials: Mapping[str, bytes | str] | None = None,
        replicas: int = 1,
    ) -> None:
        self._plugin = plugin
        self._replicas = [self._started() for _ in range(replicas)]
        given = {key: value.encode() if isinstance(value, str) else value for key, value in (credentials or {}).items()}
        self.config = target_pb2.ConfigContext(
            config_id="lab", revision="1", settings=None if settings is None else written(settings), credentials=given
        )

    def _started(self) -> Service:
        declared = self._plugin().declared()
        return Service(declared, LabGuard(declared.info.max_concurrent_calls))

    def restart(self) -> None:
        """Creates every replica anew, as after `kill -9`: later calls come to one that knows nothing of the earlier ones."""
        self._replicas = [self._started() for _ in self._replicas]

    def service(self, replica: int = 0) -> Service:
        """Returns the replica that takes the next call."""
        return self._replicas[replica]

    async def check_config(self) -> str:
        """Returns whom the upstream takes us for. Raises the failure of a config that is not usable."""
        request = plugin_service_pb2.CheckConfigRequest(config=self.config)
        response = await self.service().check_config(request, Metadata(timeout=30))
        if response.HasField("failure"):
            raise failure_of(response.failure)
        return response.identity

    async def list(
        self,
        kind: type[Resource[Any, Any]],
        *,
        filter: BaseModel | Mapping[str, Any] | None = None,  # noqa: A002 (the contract's word)
        page_size: int = 0,
        page_token: str = "",
        include_parameters: bool = False,
    ) -> discovery_service_pb2.ListExternalResponse:
        """Returns a page of what exists. Raises the failure of a list that could not be read."""
        request = discovery_service_pb2.ListExternalRequest(
            resource_type=self._published(kind).wire.resource_type,
            config=self.config,
            filter=None if filter is None else written(filter),
            page_size=page_size,
            page_token=page_token,
            include_parameters=include_parameters,
        )
        response = await self.service().list_external(request, Metadata(timeout=30))
        if response.HasField("failure"):
            raise failure_of(response.failure)
        return response

    def _published(self, kind: type[Resource[Any, Any]]) -> PublishedKind:
        for served in self.service().kinds.values():
            if type(served.published.resource) is kind:
                return served.published
        raise LookupError(f"the plugin does not serve {kind.__qualname__}")

    def resource(
        self,
        kind: type[Resource[P, S]],
        parameters: P | Mapping[str, Any],
        *,
        name: str = "",
        sensitive: Mapping[str, str] | None = None,
    ) -> TestResource[P, S]:
        """Returns a managed resource of this kind and desired state that is not created yet. `name`: where the user gives it."""
        desired = target_pb2.DesiredState(parameters=written(parameters), sensitive_values=dict(sensitive or {}))
        return TestResource(self, self._published(kind), desired, name)

    async def killed_in_create(self, create: Callable[[int], TestResource[P, S]], count: Callable[[TestResource[P, S]], int]) -> int:
        """Judges the kit's `durable/killed-in-create-one-resource`, at every point; returns how many there were.

        The plugin is killed before Create, at each of its points, and at its end, each time with another resource; it is created anew and called
        again as the bridge would; and `count` reports how many the upstream then has of it. At last it is removed.
        """
        for point in range(MOST_POINTS):
            resource = create(point)
            cut, place = await cut_with_place(point, resource.create())
            self.restart()
            await resource.recover()
            found = count(resource)
            where = "when Create had ended and its answer was lost" if cut is Cut.ENDED else place
            assert found == 1, f"durable/killed-in-create-one-resource: killed {where}, there are {found}"
            (await resource.follow(await resource.delete())).completed()
            if cut is Cut.ENDED:
                return point + 1
        raise AssertionError(f"Create has more than {MOST_POINTS} points")
