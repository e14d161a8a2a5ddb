"""Requests and contexts for tests."""

import time
from types import SimpleNamespace

import grpc
from crossbridge.provider.v1alpha1 import resource_service_pb2 as resource
from crossbridge.provider.v1alpha1 import target_pb2

from garden_plugin.bed import Beds
from garden_plugin.call import Call, document

SECRET = "swordfish"


class Aborted(Exception):
    """What a call is reported instead of an answer."""


def context(*, left: float = 30.0, is_active: bool = True) -> SimpleNamespace:
    """What a call knows of its client."""

    def abort(status: grpc.StatusCode, text: str) -> None:
        raise Aborted(status, text)

    return SimpleNamespace(time_remaining=lambda: left, invocation_metadata=lambda: (), is_active=lambda: is_active, abort=abort)


def target(folder: str, name: str = "herbs") -> target_pb2.Target:
    config = target_pb2.ConfigContext(
        config_id="one", revision="1", settings=document({"folder": folder}), credentials={"key": SECRET.encode()}
    )
    owner = target_pb2.ObjectRef(name=name, uid="1")
    return target_pb2.Target(resource_type=Beds.type, config=config, owner=owner, external_name=name, ownership_marker="one")


def create(folder: str, name: str = "herbs") -> resource.CreateRequest:
    return resource.CreateRequest(
        target=target(folder, name),
        desired=target_pb2.DesiredState(parameters=document({"soil": "loam"})),
        client_request_token="123e4567-e89b-12d3-a456-426614174000",
    )


def call(folder: str, *, is_wanted=lambda: True) -> Call:
    return Call(target(folder), {"soil": "loam"}, time.time() + 30, is_wanted, {"/hidingPlace": SECRET})
