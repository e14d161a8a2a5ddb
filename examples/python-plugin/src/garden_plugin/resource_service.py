"""ResourceService: checks each call, lets its kind work, and answers in form whatever comes."""

import logging
import re
import uuid
from collections.abc import Callable

import grpc
from crossbridge.provider.v1alpha1 import kind_pb2, outcome_pb2, resource_service_pb2_grpc
from crossbridge.provider.v1alpha1 import resource_service_pb2 as pb

from .call import Call, Failed, Refused, check, deadline, read
from .kind import Kind


class ResourceService(resource_service_pb2_grpc.ResourceServiceServicer):
    def __init__(self, kinds: list[Kind]):
        self.kinds = {kind.type.kind: kind for kind in kinds}

    def Observe(self, request, context):
        try:
            return self._work(request, context, lambda kind, call: kind.observe(call))
        except Failed as failed:
            return pb.ObserveResponse(failure=failed.failure)

    def Create(self, request, context):
        return pb.CreateResponse(
            outcome=self._change(request, context, lambda kind, call: kind.create(call, token(request.client_request_token)))
        )

    def Update(self, request, context):
        return pb.UpdateResponse(outcome=self._change(request, context, lambda kind, call: kind.update(call, request.etag)))

    def Delete(self, request, context):
        return pb.DeleteResponse(outcome=self._change(request, context, lambda kind, call: kind.delete(call, request.etag)))

    def PollOperation(self, request, context):
        return pb.PollOperationResponse(outcome=self._change(request, context, lambda kind, call: kind.poll(call, request.handle)))

    def _change(self, request, context, work: Callable[[Kind, Call], outcome_pb2.Outcome]) -> outcome_pb2.Outcome:
        try:
            return self._work(request, context, work)
        except Failed as failed:
            return outcome_pb2.Outcome(external_name=failed.name, failure=failed.failure)

    def _work(self, request, context, work):
        rpc = type(request).__name__.removesuffix("Request")
        metadata = dict(context.invocation_metadata())
        target = request.target
        said = (rpc, target.resource_type.kind, f"{target.owner.namespace}/{target.owner.name}", metadata.get("crossbridge-call-id", "-"))
        try:
            answer = work(*self._begin(request, context))
            logging.info("%s of %s for %s (call %s): done", *said)
            return answer
        except Failed as failed:
            logging.info("%s of %s for %s (call %s): %s", *said, failed.failure.reason)
            raise
        except Refused as refused:
            logging.info("%s of %s for %s (call %s): refused: %s", *said, refused)
            context.abort(refused.status, str(refused))
        except Exception as error:
            # Its text may hold anything, secrets too.
            where = error.__traceback__
            while where and where.tb_next:
                where = where.tb_next
            at = f"{where.tb_frame.f_code.co_filename}:{where.tb_lineno}" if where else "?"
            logging.error("%s of %s for %s (call %s): %s at %s", *said, type(error).__name__, at)
            raise Failed("INTERNAL", "PluginBug", "The plugin has a bug; its log says where.", effect="UNKNOWN") from None

    def _begin(self, request, context) -> tuple[Kind, Call]:
        """All that can refuse a call before its kind is asked."""
        is_change = not isinstance(request, (pb.ObserveRequest, pb.PollOperationRequest))
        end = deadline(context, is_change)
        check(request)
        kind = self.kinds.get(request.target.resource_type.kind)
        if kind is None or kind.type != request.target.resource_type:
            raise Refused("this plugin does not serve that resource type", grpc.StatusCode.NOT_FOUND)
        check_name(kind.described, request)
        wish = read(request.desired.parameters, "desired.parameters") if request.HasField("desired") else {}
        return kind, Call(request.target, wish, end, dict(request.desired.sensitive_values))


def check_name(kind: kind_pb2.ResourceKind, request) -> None:
    name, rules = request.target.external_name, kind.external_name
    is_given_later = rules.source == kind_pb2.EXTERNAL_NAME_SOURCE_PROVIDER
    if isinstance(request, pb.CreateRequest) and is_given_later:
        if name:
            raise Refused("target.external_name may not be set: the garden gives the name")
        return
    if not name:
        by_marker = kind_pb2.CREATE_RECOVERY_MARKER in kind.capabilities.create_recovery
        if isinstance(request, pb.PollOperationRequest) or isinstance(request, pb.ObserveRequest) and by_marker:
            return
        raise Refused("target.external_name is required, and is not set")
    if not re.fullmatch(rules.pattern, name):
        raise Failed("INVALID_SPEC", "InvalidName", f"The name {name!r} must match {rules.pattern}.", path="")


def token(text: str) -> str:
    try:
        if str(uuid.UUID(text)) == text.lower():
            return text.lower()
    except ValueError:
        pass
    raise Refused("client_request_token is malformed: not a UUID")
