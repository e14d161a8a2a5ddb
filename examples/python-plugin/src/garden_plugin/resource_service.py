"""ResourceService: checks each call, lets its kind work, and answers in form whatever comes."""

import re
import uuid
from collections.abc import Callable

import grpc
from crossbridge.provider.v1alpha1 import kind_pb2, outcome_pb2, resource_service_pb2_grpc
from crossbridge.provider.v1alpha1 import resource_service_pb2 as pb

from .call import Call, Failed, Rejected, check, deadline, read
from .guard import call_id, guarded
from .kind import Kind


class ResourceService(resource_service_pb2_grpc.ResourceServiceServicer):
    def __init__(self, kinds: list[Kind]):
        self.kinds = {kind.type.kind: kind for kind in kinds}

    def Observe(self, request, context):
        return self._answer(
            request,
            context,
            lambda kind, call: kind.observe(call),
            lambda failed: pb.ObserveResponse(failure=failed.failure),
        )

    def Create(self, request, context):
        return self._change(
            request, context, pb.CreateResponse, lambda kind, call: kind.create(call, token(request.client_request_token))
        )

    def Update(self, request, context):
        return self._change(request, context, pb.UpdateResponse, lambda kind, call: kind.update(call, request.etag))

    def Delete(self, request, context):
        return self._change(request, context, pb.DeleteResponse, lambda kind, call: kind.delete(call, request.etag))

    def PollOperation(self, request, context):
        return self._change(request, context, pb.PollOperationResponse, lambda kind, call: kind.poll(call, request.handle))

    def _change(self, request, context, response, work: Callable[[Kind, Call], outcome_pb2.Outcome]):
        """A call that an outcome answers."""
        return self._answer(
            request,
            context,
            lambda kind, call: response(outcome=work(kind, call)),
            lambda failed: response(outcome=outcome_pb2.Outcome(external_name=failed.name, failure=failed.failure)),
        )

    def _answer(self, request, context, work, failure):
        rpc, target = type(request).__name__.removesuffix("Request"), request.target
        owner = f"{target.owner.namespace}/{target.owner.name}"
        said = f"{rpc} of {target.resource_type.kind} for {owner} (call {call_id(context)})"
        return guarded(said, context, lambda: work(*self._begin(request, context)), failure)

    def _begin(self, request, context) -> tuple[Kind, Call]:
        """All that can reject a call before its kind is asked."""
        is_change = not isinstance(request, (pb.ObserveRequest, pb.PollOperationRequest))
        end = deadline(context, is_change)
        check(request)
        kind = self.kinds.get(request.target.resource_type.kind)
        if kind is None or kind.type != request.target.resource_type:
            raise Rejected("this plugin does not serve that resource type", grpc.StatusCode.NOT_FOUND)
        check_name(kind.described, request)
        desired = read(request.desired.parameters, "desired.parameters") if request.HasField("desired") else {}
        return kind, Call(request.target, desired, end, context.is_active, dict(request.desired.sensitive_values))


def check_name(kind: kind_pb2.ResourceKind, request) -> None:
    name, rules = request.target.external_name, kind.external_name
    is_given_later = rules.source == kind_pb2.EXTERNAL_NAME_SOURCE_PROVIDER
    if isinstance(request, pb.CreateRequest) and is_given_later:
        if name:
            raise Rejected("target.external_name may not be set: the garden gives the name")
        return
    if not name:
        by_marker = kind_pb2.CREATE_RECOVERY_MARKER in kind.capabilities.create_recovery
        if isinstance(request, pb.PollOperationRequest) or isinstance(request, pb.ObserveRequest) and by_marker:
            return
        raise Rejected("target.external_name is required, and is not set")
    if len(name.encode()) > rules.max_length > 0:
        raise Failed("INVALID_SPEC", "InvalidName", f"A name has at most {rules.max_length} bytes.", path="")
    if not re.fullmatch(rules.pattern, name):
        raise Failed("INVALID_SPEC", "InvalidName", f"The name {name!r} must match {rules.pattern}.", path="")
    # 0: no limit of its own.
    if len(name.encode()) > rules.max_length > 0:
        raise Failed("INVALID_SPEC", "InvalidName", f"A name has {rules.max_length} bytes at most.", path="")


def token(text: str) -> str:
    try:
        if str(uuid.UUID(text)) == text.lower():
            return text.lower()
    except ValueError:
        pass
    raise Rejected("client_request_token is malformed: not a UUID")
