"""One managed resource: what a bridge would know of it, and the calls that it would send."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from .._proto import resource_service_pb2, target_pb2
from ..failure import FailureCode, Rejected
from ..kind import RecoveryWay
from ..metadata import Metadata
from ..published import PublishedKind
from .answer import Answer, ObserveAnswer

if TYPE_CHECKING:
    from .harness import Harness

P = TypeVar("P", bound=BaseModel)
S = TypeVar("S", bound=BaseModel)

# Between two polls, where the operation sets no `poll_after`, in seconds.
PAUSE = 0.01
# How long an operation is followed, where the kind sets no limit.
PATIENCE = 60.0
CALL_TIMEOUT = 30.0


class TestResource(Generic[P, S]):
    """One managed resource that a test drives.

    Beside its desired state it holds what the plugin's answers reported, and what a bridge stores: the token, the external name, the provider
    state, the etag, the handle of an operation. A call that is cut teaches it nothing.
    """

    __test__ = False

    def __init__(self, harness: Harness, kind: PublishedKind, desired: target_pb2.DesiredState, name: str) -> None:
        uid = uuid.uuid4()
        self._harness = harness
        self._kind = kind
        self._desired = desired
        self._given_name = name
        self._replica = 0
        self._etag = ""
        self.handle = ""
        """The handle of the operation that runs; empty: none."""
        self.client_request_token = str(uuid.uuid4())
        """The token of its creation: the same at every repeat."""
        self.target = target_pb2.Target(
            resource_type=kind.wire.resource_type,
            config=harness.config,
            owner=target_pb2.ObjectRef(namespace="lab" if kind.kind.namespaced else "", name="thing", uid=str(uid), generation=1),
            external_name=name,
            ownership_marker=f"cb-lab-{uid.hex}",
        )

    @property
    def external_name(self) -> str:
        """The name that is known by now; empty: none."""
        return self.target.external_name

    @property
    def ownership_marker(self) -> str:
        """The marker that its calls carry."""
        return self.target.ownership_marker

    def set_parameters(self, parameters: P | Mapping[str, Any]) -> None:
        """Replaces the desired parameters from now on."""
        from .harness import written  # noqa: PLC0415 (they know each other)

        self._desired.parameters.CopyFrom(written(parameters))
        self.target.owner.generation += 1

    def on_replica(self, replica: int) -> TestResource[P, S]:
        """Sends the next calls to this replica."""
        self._replica = replica
        return self

    async def observe(self) -> ObserveAnswer[P, S]:
        """Sends Observe, and keeps the name, state and etag of the answer."""
        request = resource_service_pb2.ObserveRequest(target=self.target, desired=self._desired)
        answer = await _or_rejected(self._service.observe(request, self._metadata))
        if not isinstance(answer, Rejected) and answer.HasField("observation"):
            self._keep(answer.observation.external_name, answer.observation.provider_state)
            self._etag = answer.observation.etag
        return ObserveAnswer(self._kind.parameters, self._kind.status, answer)

    async def create(self) -> Answer[P, S]:
        """Asks for its creation, for the first time."""
        return await self._create(outcome_unknown=False)

    async def repeat(self) -> Answer[P, S]:
        """Asks again, as a bridge that does not know how the first call ended."""
        return await self._create(outcome_unknown=True)

    async def _create(self, *, outcome_unknown: bool) -> Answer[P, S]:
        request = resource_service_pb2.CreateRequest(
            target=self.target, desired=self._desired, client_request_token=self.client_request_token, outcome_unknown=outcome_unknown
        )
        request.target.external_name = self._given_name
        return self._kept(await _or_rejected(self._service.create(request, self._metadata)))

    async def update(self) -> Answer[P, S]:
        """Sends Update with the desired state."""
        request = resource_service_pb2.UpdateRequest(target=self.target, desired=self._desired, etag=self._etag)
        return self._kept(await _or_rejected(self._service.update(request, self._metadata)))

    async def delete(self) -> Answer[P, S]:
        """Sends Delete, which may answer with an operation to follow."""
        request = resource_service_pb2.DeleteRequest(target=self.target, desired=self._desired, etag=self._etag)
        return self._kept(await _or_rejected(self._service.delete(request, self._metadata)))

    async def poll(self) -> Answer[P, S]:
        """Asks once where the operation has got to."""
        request = resource_service_pb2.PollOperationRequest(target=self.target, desired=self._desired, handle=self.handle)
        return self._kept(await _or_rejected(self._service.poll_operation(request, self._metadata)))

    async def follow(self, first: Answer[P, S]) -> Answer[P, S]:
        """Polls until the operation has ended, no sooner than it asks to be; the last answer. What is no operation is its own end."""
        limit = self._kind.wire.timeouts.create_timeout.seconds or PATIENCE
        until = time.monotonic() + limit
        answer = first
        while not isinstance(answer.answer, Rejected) and answer.answer.HasField("operation"):
            operation = answer.answer.operation
            assert time.monotonic() < until, f"the operation did not end within {limit} s: {operation}"
            await asyncio.sleep(operation.poll_after.ToNanoseconds() / 1e9 if operation.HasField("poll_after") else PAUSE)
            answer = await self.poll()
        return answer

    async def recover(self) -> None:
        """Recovers a creation with an unknown outcome, as the bridge would by the recovery that the kind declares.

        It observes, by name or marker, or asks again with the same token, and follows the operation if there is one.
        """
        assert self._kind.kind.ways, f"{self._kind.type} declares no recovery: a person is asked"
        if self._kind.kind.ways[0] is not RecoveryWay.CLIENT_TOKEN:
            await asyncio.sleep(self._window)
            observed = (await self.observe()).answer
            if not isinstance(observed, Rejected) and observed.HasField("observation"):
                return
        # Once to resolve it, once more to see that it is resolved.
        for _ in range(2):
            answer = await self.follow(await self.repeat())
            if answer.outcome().HasField("failure"):
                failure = answer.failure()
                assert failure.code in (FailureCode.ALREADY_EXISTS, FailureCode.CONFLICT), f"a repeat failed: {failure}"
            await asyncio.sleep(self._window)
        assert self.external_name, "after the repeat its name is unknown"

    @property
    def _window(self) -> float:
        """For how long absence is not to be believed after a creation in doubt, in seconds."""
        capabilities = self._kind.wire.capabilities
        return (capabilities.consistency_window.ToNanoseconds() + capabilities.late_margin.ToNanoseconds()) / 1e9

    @property
    def _service(self) -> Any:
        return self._harness.service(self._replica)

    @property
    def _metadata(self) -> Metadata:
        timeouts = self._kind.wire.timeouts
        return Metadata(timeout=timeouts.call_timeout.ToNanoseconds() / 1e9 if timeouts.HasField("call_timeout") else CALL_TIMEOUT)

    def _kept(self, answer: Any) -> Answer[P, S]:
        """Takes in what a bridge would store."""
        if isinstance(answer, Rejected):
            return Answer(self._kind.parameters, self._kind.status, answer)
        outcome = answer.outcome
        self._keep(outcome.external_name, outcome.provider_state)
        self.handle = outcome.operation.handle
        if outcome.HasField("operation"):
            self._etag = ""
        elif outcome.HasField("completed"):
            self._etag = outcome.completed.observation.etag
        return Answer(self._kind.parameters, self._kind.status, outcome)

    def _keep(self, name: str, state: str) -> None:
        self.target.external_name = self.target.external_name or name
        # Empty keeps the former one.
        self.target.provider_state = state or self.target.provider_state


async def _or_rejected(call: Awaitable[Any]) -> Any:
    try:
        return await call
    except Rejected as rejected:
        return rejected
