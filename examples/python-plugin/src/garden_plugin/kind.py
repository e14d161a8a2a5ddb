"""What a kind of resource offers to the services."""

from typing import Protocol

from crossbridge.provider.v1alpha1 import kind_pb2, outcome_pb2, resource_service_pb2, target_pb2

from .call import Call


class Kind(Protocol):
    """One kind. Its methods raise `call.Failed` for what the garden rejects."""

    type: target_pb2.ResourceType
    described: kind_pb2.ResourceKind

    def observe(self, call: Call) -> resource_service_pb2.ObserveResponse: ...
    def create(self, call: Call, token: str) -> outcome_pb2.Outcome: ...
    def update(self, call: Call, etag: str) -> outcome_pb2.Outcome: ...
    def delete(self, call: Call, etag: str) -> outcome_pb2.Outcome: ...
    def poll(self, call: Call, handle: str) -> outcome_pb2.Outcome: ...
