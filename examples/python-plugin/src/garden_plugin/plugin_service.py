"""PluginService: what this plugin is and what it serves."""

import hashlib
import json
import time
import uuid
from importlib.metadata import version

import grpc
from crossbridge.provider.v1alpha1 import plugin_service_pb2 as pb
from crossbridge.provider.v1alpha1 import plugin_service_pb2_grpc

from . import garden
from .call import Call, Failed, Refused, check, deadline
from .kind import Kind

NAME = "garden.example.org"
SETTINGS = {
    "type": "object",
    "required": ["folder"],
    "properties": {"folder": {"type": "string", "description": "Where the garden is, on the plugin's machine. It must exist."}},
}


class PluginService(plugin_service_pb2_grpc.PluginServiceServicer):
    def __init__(self, kinds: list[Kind]):
        self.kinds = {kind.type.kind: kind for kind in kinds}
        self.instance = str(uuid.uuid4())

    def GetPluginInfo(self, request, context):
        return pb.GetPluginInfoResponse(
            name=NAME,
            version=version("garden-plugin"),
            contract_versions=["v1alpha1"],
            instance_id=self.instance,
            max_concurrent_calls=64,
            config_schema_json=json.dumps(SETTINGS),
            credential_keys=[pb.CredentialKey(name="key", description="Opens the gate.", required=True)],
        )

    def ListResourceKinds(self, request, context):
        names = sorted(self.kinds)
        if request.page_size < 0:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "page_size is negative")
        if request.page_token and request.page_token not in names:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "page_token is of no page of this plugin")
        rest = [name for name in names if name > request.page_token]
        page = rest[: request.page_size or len(rest)]
        summaries = [pb.ResourceKindSummary(resource_type=self.kinds[name].type, digest=digest(self.kinds[name])) for name in page]
        return pb.ListResourceKindsResponse(kinds=summaries, next_page_token=page[-1] if len(page) < len(rest) else "")

    def GetResourceKind(self, request, context):
        try:
            check(request)
        except Refused as refused:
            context.abort(refused.status, str(refused))
        kind = self.kinds.get(request.resource_type.kind)
        if kind is None or kind.type != request.resource_type:
            context.abort(grpc.StatusCode.NOT_FOUND, "this plugin does not serve that resource type")
        return pb.GetResourceKindResponse(resource_kind=kind.described)

    def CheckConfig(self, request, context):
        try:
            check(request)
            identity = garden.enter(request.config, deadline(context, changes=False))
        except Refused as refused:
            context.abort(refused.status, str(refused))
        except Failed as failed:
            return pb.CheckConfigResponse(failure=failed.failure)
        return pb.CheckConfigResponse(identity=str(identity.folder))


def digest(kind: Kind) -> str:
    return hashlib.sha256(kind.described.SerializeToString(deterministic=True)).hexdigest()
