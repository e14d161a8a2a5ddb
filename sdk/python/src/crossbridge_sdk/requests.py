"""What is checked of a request before the author's code sees it, in the order of the contract's fields."""

from __future__ import annotations

import functools
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from . import violation
from ._proto import discovery_service_pb2, options_pb2, plugin_service_pb2, resource_service_pb2, target_pb2
from .document import parse_object
from .published import check_type
from .violation import STATE_LIMIT, Violation, missing, quoted

# The stubs of descriptors know nothing of extensions.
_IS_REQUIRED: Any = options_pb2.is_required


def check(request: Message) -> None:
    """Rejects a request that lacks a REQUIRED field, or in which one is malformed. Raises a `Violation`."""
    _check_required(request)
    match request:
        case resource_service_pb2.ObserveRequest() | resource_service_pb2.PollOperationRequest():
            _check_resource(request)
        case resource_service_pb2.CreateRequest():
            _check_resource(request)
            violation.uuid(request.client_request_token, "client_request_token")
        case resource_service_pb2.UpdateRequest():
            _check_resource(request)
            violation.required(request.target.external_name, "target.external_name")
            for index, path in enumerate(request.changed_paths):
                violation.pointer(path, f"changed_paths[{index}]")
        case resource_service_pb2.DeleteRequest():
            _check_resource(request)
            violation.required(request.target.external_name, "target.external_name")
        case discovery_service_pb2.ListExternalRequest():
            _check_type(request.resource_type, "resource_type")
            _check_config(request.config, "config")
            if request.HasField("filter"):
                parse_object(request.filter.json, "filter.json")
            _check_page(request.page_size)
        case plugin_service_pb2.CheckConfigRequest():
            _check_config(request.config, "config")
        case plugin_service_pb2.GetResourceKindRequest():
            _check_type(request.resource_type, "resource_type")
        case plugin_service_pb2.ListResourceKindsRequest():
            _check_page(request.page_size)


def _check_resource(request: Any) -> None:
    _check_target(request.target)
    if request.HasField("desired"):
        _check_desired(request.desired)
    if isinstance(request, resource_service_pb2.PollOperationRequest):
        violation.at_most(request.handle, STATE_LIMIT, "handle")


def _check_required(message: Message, path: str = "") -> None:
    """Walks the descriptors: every field that the contract marks as required is set, in what is set."""
    for name, is_part, is_required in _fields(message.DESCRIPTOR):
        is_set = message.HasField(name) if is_part else bool(getattr(message, name))
        if is_required and not is_set:
            raise missing(path + name)
        if is_part and is_set:
            _check_required(getattr(message, name), f"{path}{name}.")


@functools.cache
def _fields(descriptor: Any) -> list[tuple[str, bool, bool]]:
    """Returns the fields of a message: name, whether it is one message, whether it is REQUIRED."""
    return [
        (one.name, one.type == FieldDescriptor.TYPE_MESSAGE and not one.is_repeated, one.GetOptions().Extensions[_IS_REQUIRED])
        for one in descriptor.fields
    ]


def _check_type(resource_type: target_pb2.ResourceType, at: str) -> None:
    try:
        check_type(resource_type)
    except Violation as broken:
        raise broken.within(at) from None


def _check_config(config: target_pb2.ConfigContext, at: str) -> None:
    if config.HasField("settings"):
        parse_object(config.settings.json, f"{at}.settings.json")
    if not 0 <= config.credentials_expire_time.nanos < 10**9:
        raise Violation(f"{at}.credentials_expire_time", "is out of range: a time of the calendar is allowed")


def _check_target(target: target_pb2.Target) -> None:
    violation.marker(target.ownership_marker, "target.ownership_marker")
    violation.marker(target.former_marker, "target.former_marker")
    violation.at_most(target.provider_state, STATE_LIMIT, "target.provider_state")
    _check_type(target.resource_type, "target.resource_type")
    _check_config(target.config, "target.config")


def _check_desired(desired: target_pb2.DesiredState) -> None:
    parse_object(desired.parameters.json, "desired.parameters.json")
    for pointer in desired.sensitive_values:
        violation.pointer(pointer, f"desired.sensitive_values[{quoted(pointer)}]")


def _check_page(size: int) -> None:
    if size < 0:
        raise Violation("page_size", "is out of range: 0 or more is allowed")
